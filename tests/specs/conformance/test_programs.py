"""A program of somebody's own is compared from the command line; what is wrong with it is said without a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mage.engine import Compress, Grow, Start
from specs import differential, exhaustive
from specs.conformance import Disagreement, compare
from tests.specs.conformance.faulty import FAULTS, Faulty

ROOT = Path(__file__).resolve().parents[3]


def program(folder: Path, source: str) -> str:
    """Write a program in Python; return its path, relative to the folder that it stands in."""
    mine = folder / "mine"
    mine.write_text(f"#!{sys.executable}\nimport sys; sys.path.insert(0, {str(ROOT)!r})\n{source}\n")
    mine.chmod(0o700)
    return "./mine"


def differs(arguments: list[str]) -> int:
    """Compare a few random sequences with a program."""
    return differential.main(["--sequences", "12", "--workers", "1", "--seed", "7", *arguments])


def test_the_engine_as_a_program_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is named by a relative path is compared, by random histories and by all short ones."""
    monkeypatch.chdir(tmp_path)
    mine = program(tmp_path, "from specs.conformance.serve import main; main()")
    assert differs(["--oracle", mine]) == 0
    assert everything(["--oracle", mine]) == 0


def test_a_faulty_program_is_shown_by_a_handful_of_commands(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands that are printed of a program with a fault, pasted, show the fault again; they are the fewest."""
    monkeypatch.chdir(tmp_path)
    source = "from tests.specs.conformance.faulty import main; main('never falls back')"
    assert differs(["--oracle", program(tmp_path, source)]) == 1
    _, _, code = capfd.readouterr().err.partition("after\n")
    names: dict[str, list[object]] = {}
    exec(code, names)
    commands = names["commands"]
    assert [type(command) for command in commands] == [Start, Grow, Compress]
    with pytest.raises(Disagreement) as again:
        compare(Faulty(FAULTS["never falls back"]), commands)  # type: ignore[arg-type]
    assert again.value.commands == tuple(commands)


def everything(arguments: list[str]) -> int:
    """Compare every sequence of two commands with a program."""
    return exhaustive.main(["--depth", "2", *arguments])


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("sys.exit(3)", 2, "ended with status 3"),
        ("print('Hello!')", 2, "answered b'Hello!'"),
        ("""sys.stdin.readline(); print('{"state":0}', flush=True)""", 1, "ended with status 0"),
    ],
)
def test_a_program_that_does_not_answer_is_named(
    source: str,
    status: int,
    words: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that ends or greets is named, whether at its start or later, by both commands."""
    monkeypatch.chdir(tmp_path)
    mine = program(tmp_path, source)
    for command in (differs, everything):
        assert command(["--oracle", mine]) == status
        said = capfd.readouterr().err
        assert words in said
        assert "Traceback" not in said


def test_a_program_that_is_not_there_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A path that names no program is said, and nothing is compared."""
    assert differs(["--oracle", str(tmp_path / "none")]) == 2
    assert "none cannot be compared with" in capfd.readouterr().err
