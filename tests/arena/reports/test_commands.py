"""The command `report`: files of every command together, as text and JSON, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.results import write_results
from tests.arena.reports.rows import row


def test_files_of_several_commands_are_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of tasks, of the laboratory and of coverage, of two files: JSON has `rows`, and each measure by its name."""
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    write_results(one, [row(0, 1.0, tokens=5), row(0, 0.0, memory="full-history", tokens=10)])
    lines = [
        row(0, 0.0),
        row(0, 1.0, agent="context-reader"),
        {"table": "coverage", "traces": "t", "system": "s"},
    ]
    other.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"cut off')
    assert main(["report", str(one), str(other), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(each["memory"], each["agent"], each["sr"]) for each in said["rows"]] == [
        ("mage", "context-reader", 1.0),
        ("full-history", "plan", 0.0),
        ("mage", "plan", 0.0),  # the last file has the last word
    ]
    assert said["coverage"] == [lines[2]]
    assert main(["report", str(one), str(other)]) == 0
    text = capsys.readouterr().out
    for title in ("Main results", "Each series", "over the same tasks", "Laboratory", "Coverage of t"):
        assert f"{title}: no model acted" in text
    assert main(["report", str(one), "--html", str(tmp_path / "page.html")]) == 0
    assert "Main results" in (tmp_path / "page.html").read_text()


def test_what_cannot_be_read_or_written_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is missing or empty, a line that is no row, a page that has no folder: one line, and status 2."""
    out = tmp_path / "rows.jsonl"
    assert main(["report", str(out)]) == 2
    assert capsys.readouterr().err == f"Error: there is no file {out}\n"
    out.touch()
    assert main(["report", str(out)]) == 2
    assert capsys.readouterr().err == f"Error: {out} has no rows\n"
    for line, why in (("nonsense", "this is no JSON"), ("[1]", "no row of the arena's"), ("{}", "no row of")):
        out.write_text(f"{line}\n")
        assert main(["report", str(out)]) == 2
        assert why in capsys.readouterr().err
    write_results(out, [row(0, 1.0)])
    assert main(["report", str(out), "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert capsys.readouterr().err.startswith("Error: this cannot be read or written")
