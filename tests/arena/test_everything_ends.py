"""The command for all of it: what an interruption, a failure and an older folder come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.everything import run_all


def _asked(folder: Path, *more: str) -> list[str]:
    (folder / "traces").mkdir(exist_ok=True)
    return ["all", "--small", "--out", str(folder / "out"), "--traces", str(folder / "traces"), *more]


class Parts:
    """Carries out the parts of `all` by writing a row, and ends one of them with a status."""

    def __init__(self, name: str = "", status: int = 0) -> None:
        self.asked: list[str] = []
        self._name, self._status = name, status

    def __call__(self, arguments: list[str]) -> int:
        """Carry out one."""
        self.asked.append(arguments[0])
        if arguments[0] == "report":
            return 0
        Path(arguments[arguments.index("--out") + 1]).write_text("{}\n")
        return self._status if arguments[0] == self._name else 0


def _all(arguments: list[str], run: Parts, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("benchmarks.arena.everything.run_all", lambda chosen, _run: run_all(chosen, run))
    return main(arguments)


def test_an_interruption_ends_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the interrupted part alone: no other part begins, and nothing is reported."""
    run = Parts("lab", 130)
    assert _all(_asked(tmp_path), run, monkeypatch) == 130
    assert run.asked[-1] == "lab"


def test_a_part_that_fails_takes_nothing_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are measured and reported, and the status says that one failed."""
    run = Parts("coverage", 1)
    assert _all(_asked(tmp_path), run, monkeypatch) == 1
    assert "lab" in run.asked
    assert run.asked[-1] == "report"


def test_rows_of_another_command_are_not_taken_for_this_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of another seed is refused for what cannot go on; another number of workers changes nothing."""
    assert _all(_asked(tmp_path), Parts(), monkeypatch) == 0
    again = Parts()
    assert _all(_asked(tmp_path, "--workers", "1"), again, monkeypatch) == 0
    assert "coverage" not in again.asked
    capsys.readouterr()
    assert _all(_asked(tmp_path, "--seed", "7"), Parts(), monkeypatch) == 2
    assert "coverage.jsonl is of another command" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["coverage"], ["follow", "--cooking", "1"]])
def test_a_file_that_cannot_be_made_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """In a line, and not with a traceback when all is done."""
    assert main([*command, "--out", str(tmp_path / "no" / "rows.jsonl")]) == 1
    assert "there is no folder" in capsys.readouterr().err
