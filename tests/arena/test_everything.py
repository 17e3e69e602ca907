"""The command for all of the arena: its parts, what is left out and why, and how it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains import commands
from benchmarks.arena.domains.sweeps import sweep
from benchmarks.arena.everything import Part, _ran  # its parts take minutes, so they are stood in for here


def test_what_cannot_be_measured_is_named_and_the_rest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without traces, a checkout, games and SymPy the laboratory is left; its rows and the page stand in the folder."""
    monkeypatch.setattr("benchmarks.arena.everything.find_spec", lambda _name: None)
    whole = sweep
    monkeypatch.setattr(commands, "sweep", lambda *given: whole(*given)[:2])  # the first series alone
    out = tmp_path / "out"
    asked = ["all", "--small", "--out", str(out), "--traces", str(tmp_path / "none"), "--workers", "1"]
    assert main(asked) == 0
    said = capsys.readouterr().err
    left = ["coverage", "state-bench", "cooking", "plans-mage", "plans-full-history"]
    assert [name for name in left if f"-- {name} is left out: " in said] == left
    assert sorted(each.name for each in out.iterdir()) == ["lab.jsonl", "lab.txt", "report.html"]
    rows = (out / "lab.jsonl").read_bytes()
    assert main(asked) == 0  # nothing is measured twice
    assert (out / "lab.jsonl").read_bytes() == rows


@pytest.mark.parametrize("resumes", [False, True])
def test_a_part_that_is_there_is_measured_again_only_where_it_goes_on(tmp_path: Path, resumes: bool) -> None:
    """Coverage and the follower write their file at their end, so one that is there is whole; others go on with theirs."""
    asked: list[list[str]] = []

    def run(arguments: list[str]) -> int:
        asked.append(arguments)
        print(json.dumps("told"))
        return 3

    file = tmp_path / "x.jsonl"
    part = Part("x", ("do", "it"), resumes=resumes)
    assert _ran(part, file, run) == 3
    assert file.with_suffix(".txt").read_text(encoding="utf-8") == '"told"\n'
    file.write_text("")
    assert _ran(part, file, run) == (3 if resumes else 0)
    assert asked == [["do", "it", "--out", str(file)]] * (2 if resumes else 1)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with status 2."""
    (tmp_path / "file").write_text("")
    assert main(["all", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "cannot be made" in capsys.readouterr().err
