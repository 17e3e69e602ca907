"""A series of tasks: resumed, in order, whoever fails."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.arena.domains.registry import NAMES
from benchmarks.arena.domains.results import (
    BadResults,
    in_order,
    key_of,
    read_results,
    write_results,
    written,
)
from benchmarks.arena.domains.running import run_task
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings
from tests.arena.domains.cases import SMALL, actions_of

ROOT: Final = Path(__file__).resolve().parents[3]
SHOP: Final = Settings(domain="shopping", size="small")


def test_a_last_row_without_its_lines_end_is_counted(tmp_path: Path) -> None:
    """An editor may take the last line's end away: the row is whole, and neither lost from a report nor run again."""
    out = tmp_path / "rows.jsonl"
    write_results(out, [told(SHOP, 0), told(SHOP, 1)])
    whole = out.read_text()
    out.write_text(whole.rstrip("\n"))
    assert read_results(out) == [told(SHOP, 0), told(SHOP, 1)]
    out.write_text(whole[:-3])
    assert read_results(out) == [told(SHOP, 0)]


def told(settings: Settings, number: int) -> dict[str, Any]:
    """Run a task that is over at once, for tests of the series alone."""
    return {"settings": settings.document(), "number": number, "outcome": "finished", "sr": 1.0, "ps": 1.0}


def dying(settings: Settings, number: int) -> dict[str, Any]:
    """Run a task whose process dies, where it is the one in the middle."""
    if number == 1:
        os._exit(3)
    return told(settings, number)


def holding(_settings: Settings, _number: int) -> dict[str, Any]:
    """Say that a task is running, and never end it."""
    with open(os.environ["ARENA_PIPE"], "w", encoding="utf-8") as pipe:
        pipe.write("here\n")
        pipe.flush()
        threading.Event().wait()
    return {}


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_a_row_that_says_where_its_numbers_come_from(name: str) -> None:
    """Run by the agent under its own memory, a plan is right; each number has its origin, each cap is there."""
    row: Any = run_task(Settings(domain=name, size="small", seed=4), 1)
    assert (row["outcome"], row["sr"], row["ps"], row["answered"]) == ("finished", 1, 1, 1)
    assert ("soft_ps" in row) == (name == "travel")
    assert row["steps"] == row["trace"]["steps"] == len(actions_of(SMALL[name].task(4, 1)))
    assert set(row["endings"]) == {"answered"}
    assert row["stopped_by_cap"] == 0
    assert row["summaries"] == len(row["right"]) == len(row["answers"])
    assert (
        row["tokens"]
        == row["tokens_by_call"]["model"]["prompt"] + row["tokens_by_call"]["model"]["completion"]
    )
    assert row["tokens_by_call"]["model"]["estimated"] == row["tokens_by_call"]["model"]["calls"]
    assert "no model was asked" in row["origin"]["tokens"]
    assert row["caps"]["steps"] == 3 * row["caps"]["subtask"] * len(row["right"])
    assert json.loads(written(row)) == row


def test_a_killed_series_resumes_to_the_same_file(tmp_path: Path) -> None:
    """Killed after any row, within a line too, the same call comes to the same bytes, and runs nothing twice."""
    whole = tmp_path / "whole.jsonl"
    run_series(SHOP, 3, whole)
    lines = whole.read_text().splitlines(keepends=True)
    assert len(lines) == 3
    for kept in ("", lines[0], lines[1][:40], lines[2] + lines[0][:-1], lines[2] + lines[0]):
        out = tmp_path / "killed.jsonl"
        out.write_text(kept)
        ran: list[int] = []

        def noted(settings: Settings, number: int, ran: list[int] = ran) -> dict[str, Any]:
            ran.append(number)
            return run_task(settings, number)

        run_series(SHOP, 3, out, run=noted)
        assert out.read_bytes() == whole.read_bytes()
        assert len(ran) == 3 - sum(line.rstrip() in kept for line in lines)


def test_a_process_and_its_hash_seed_change_nothing(tmp_path: Path) -> None:
    """In another process, with another order of sets, the rows of all domains are the same."""
    program = (
        "from pathlib import Path; import sys\n"
        "from benchmarks.arena.domains.settings import Settings\n"
        "from benchmarks.arena.domains.series import run_series\n"
        f"for name in {NAMES}: run_series(Settings(domain=name, size='small', seed=9), 1, Path(sys.argv[1]))"
    )
    there, here = tmp_path / "there", tmp_path / "here"
    environment = {**os.environ, "PYTHONHASHSEED": "12", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program, str(there)], check=True, env=environment)
    for name in NAMES:
        run_series(Settings(domain=name, size="small", seed=9), 1, here)
    assert here.read_bytes() == there.read_bytes()


def test_more_tasks_go_on_from_those_that_are_there(tmp_path: Path) -> None:
    """Asked for more, a series runs what is new; asked for fewer, it leaves the others in the file."""
    out = tmp_path / "rows.jsonl"
    assert len(run_series(SHOP, 2, out, run=told)) == 2
    heard: list[tuple[int, int]] = []
    rows = run_series(SHOP, 4, out, run=told, progress=lambda _row, done, count: heard.append((done, count)))
    assert [row["number"] for row in rows] == [0, 1, 2, 3]
    assert heard == [(3, 4), (4, 4)]
    assert len(run_series(SHOP, 1, out, run=told)) == 1
    assert len(read_results(out)) == 4


def test_several_series_share_a_file(tmp_path: Path) -> None:
    """Rows of other settings stay as they are, whatever was run first."""
    out, other = tmp_path / "rows.jsonl", tmp_path / "other.jsonl"
    series = [SHOP, Settings(domain="math"), Settings(domain="shopping", memory="full-history")]
    for settings in series:
        run_series(settings, 2, out, run=told)
    for settings in reversed(series):
        run_series(settings, 2, other, run=told)
    assert out.read_bytes() == other.read_bytes()
    assert len(read_results(out)) == 6


def test_a_task_that_fails_stops_no_other(tmp_path: Path) -> None:
    """What is raised in a task is a row that says it, is worth 0 and counts; the tasks after it run."""
    rows = run_series(Settings(domain="travel", data=Path(__file__)), 2, tmp_path / "rows.jsonl")
    assert [row["outcome"] for row in rows] == ["failed", "failed"]
    assert "this is no JSON" in str(rows[0]["detail"])
    assert [(row["sr"], row["ps"]) for row in rows] == [(0, 0), (0, 0)]


def test_a_process_that_dies_takes_no_other_task_with_it(tmp_path: Path) -> None:
    """The task that kills its process is a failed row, all the others have theirs."""
    rows = run_series(SHOP, 4, tmp_path / "rows.jsonl", workers=2, run=dying)
    assert [row["outcome"] for row in rows] == ["finished", "failed", "finished", "finished"]
    assert rows[1]["detail"] == "the process that ran it died"


def test_workers_end_with_whoever_started_them(tmp_path: Path) -> None:
    """Killed without a word, a series leaves no worker behind that would go on asking a model."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = (
        "from pathlib import Path; import sys\n"
        "from benchmarks.arena.domains.series import run_series\n"
        "from tests.arena.domains.test_series import SHOP, holding\n"
        "if __name__ == '__main__': run_series(SHOP, 2, Path(sys.argv[1]), workers=2, run=holding)"
    )
    environment = {**os.environ, "ARENA_PIPE": str(pipe), "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "rows")], env=environment)
    with pipe.open(encoding="utf-8") as held:
        assert held.readline() == "here\n"
        started.kill()
        started.wait()
        assert select.select([held], [], [], 60)[0]
        assert held.read() in ("", "here\n")  # it ends when all workers that hold it have ended


def test_an_interrupt_leaves_what_is_done(tmp_path: Path) -> None:
    """Ctrl-C passes through; the rows before it are in the file, and the series goes on from there."""
    out = tmp_path / "rows.jsonl"

    def interrupted(settings: Settings, number: int) -> dict[str, Any]:
        if number == 2:
            raise KeyboardInterrupt
        return told(settings, number)

    with pytest.raises(KeyboardInterrupt):
        run_series(SHOP, 3, out, run=interrupted)
    assert [row["number"] for row in read_results(out)] == [0, 1]
    assert len(run_series(SHOP, 3, out, run=told)) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense\n", "line 1: this is no JSON"),
        ('{"a": 1}\n', "no row"),
        ("[]\n", "no row"),
        ("\udcff\n", "read"),
    ],
)
def test_a_file_that_is_no_file_of_rows_is_not_touched(tmp_path: Path, text: str, why: str) -> None:
    """A whole line that is no row is refused by its number, and the file stays as it is."""
    out = tmp_path / "rows.jsonl"
    out.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadResults, match=why):
        run_series(SHOP, 1, out, run=told)
    assert out.read_bytes() == text.encode(errors="surrogateescape")


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """No folder, no file: one line says so."""
    with pytest.raises(BadResults, match="cannot be written"):
        write_results(tmp_path / "missing" / "rows.jsonl", [])


def test_the_last_row_of_a_task_counts() -> None:
    """Where a task was run again, its newer row stands."""
    old, new = told(SHOP, 0), {**told(SHOP, 0), "sr": 0.0}
    assert in_order([old, told(SHOP, 1), new]) == [new, told(SHOP, 1)]
    assert key_of(old) == key_of(new)


def test_what_a_result_depends_on_is_in_its_settings() -> None:
    """Another model, mode, seed or file of data is another series; an address and a folder are not told."""
    model = Settings(domain="travel", agent="model", model="m", base_url="http://user:secret@host/v1")
    assert "secret" not in f"{model!r}{model.document()}"
    changed = [
        Settings(domain="travel", agent="model", model="n"),
        Settings(domain="travel", agent="model", model="m", judge="j"),
        Settings(domain="travel", agent="model", model="m", mode="text"),
        Settings(domain="travel", agent="model", model="m", temperature=None),
        Settings(domain="travel", agent="model", model="m", data=Path(__file__)),
        Settings(domain="travel", agent="model", model="m", seed=1),
        Settings(domain="travel", agent="model", model="m", size="small"),
    ]
    documents = [json.dumps(each.document()) for each in (model, *changed)]
    assert len(set(documents)) == len(documents)
    assert model.document() == Settings(domain="travel", agent="model", model="m", judge="m").document()
