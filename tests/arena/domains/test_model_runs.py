"""The same tasks with a model over HTTP: a scripted server that knows the plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena.domains.registry import NAMES
from benchmarks.arena.domains.results import read_results
from benchmarks.arena.domains.running import run_task
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings
from tests.arena.domains.cases import SMALL, actions_of
from tests.arena.domains.provider import knowing
from tests.llm.server import Raw, ScriptedServer, Status, says


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine, and no address of another server."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asking(url: str, name: str, **more: Any) -> Settings:
    return Settings(domain=name, agent="model", model="m", size="small", seed=2, base_url=url, **more)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_behind_a_server_solves_a_task(name: str) -> None:
    """With a model that does what the plan says everything is right; calls, tokens and their origin are in the row."""
    task = SMALL[name].task(2, 0)
    with ScriptedServer(answering=knowing([task])) as server:
        row = run_task(asking(server.url, name), 0)
    assert (row["outcome"], row["sr"], row["ps"]) == ("finished", 1, 1), row
    asked = [request for request in server.requests if request.body.get("tools")]
    assert len(asked) == len(actions_of(task)) + len(task.plan) + 1  # each action, each summary, the end
    spent: Any = row["tokens_by_call"]
    assert spent["judge"]["calls"] == len(task.plan)
    assert row["tokens"] == sum(each["prompt"] + each["completion"] for each in spent.values())
    assert {tool["function"]["name"] for tool in asked[0].body["tools"]} >= {
        tool.name for tool in task.rules.tools
    }
    system = " ".join(asked[0].body["messages"][0]["content"].split())
    assert " ".join(task.rules.manual.split()) in system
    assert "http" not in str(row["settings"])


def test_a_file_is_the_same_whatever_the_workers(tmp_path: Path) -> None:
    """Two workers over HTTP come to the file of one, byte for byte."""
    tasks = [SMALL["shopping"].task(2, number) for number in range(2)]
    files = []
    for workers in (1, 2):
        out = tmp_path / f"{workers}.jsonl"
        with ScriptedServer(answering=knowing(tasks)) as server:
            rows = run_series(asking(server.url, "shopping"), 2, out, workers=workers)
        assert [row["sr"] for row in rows] == [1, 1]
        files.append(out.read_bytes())
    assert files[0] == files[1]


def test_a_server_that_is_down_is_a_failed_row_that_can_be_tried_again(tmp_path: Path) -> None:
    """The task counts as nothing and says why, the next one runs; tried again, the kept session goes on."""
    tasks = [SMALL["shopping"].task(2, number) for number in range(2)]
    knows = knowing(tasks)
    out, kept = tmp_path / "rows.jsonl", tmp_path / "kept"
    kept.mkdir()
    asked = 0

    def fails_once(request: Any) -> Any:
        nonlocal asked
        asked += 1
        return Status(401) if asked == 7 else knows(request)

    with ScriptedServer(answering=fails_once) as server:
        settings = asking(server.url, "shopping", sessions=kept)
        first, second = run_series(settings, 2, out)
        assert (first["outcome"], first["reason"], first["sr"]) == ("failed", "model: rejected", 0)
        assert second["sr"] == 1
        before = len(server.requests)
        assert [row["sr"] for row in run_series(settings, 2, out)] == [0, 1]
        assert len(server.requests) == before  # what has failed is kept, unless it is asked for
        first, second = run_series(settings, 2, out, again=True)
        assert (first["sr"], second["sr"]) == (1, 1)
        whole = len(actions_of(tasks[0])) + 2 * len(tasks[0].plan) + 1
        assert len(server.requests) - before == whole - 6  # the six that were answered are not asked again
    assert len(read_results(out)) == 2
    assert len(list(kept.iterdir())) >= 2


def test_a_run_that_is_over_is_marked_from_its_session_alone(tmp_path: Path) -> None:
    """Killed between its end and its row, a run is not asked anything again, and marked by the path in its session."""
    task = SMALL["search"].task(2, 0)
    with ScriptedServer(answering=knowing([task])) as server:
        settings = asking(server.url, "search", sessions=tmp_path)
        row = run_task(settings, 0)
        asked = len(server.requests)
        assert run_task(settings, 0) == row
        assert len(server.requests) == asked
    assert row["sr"] == 1


def test_what_a_model_leaves_out_counts_nothing() -> None:
    """A model that finishes at once has answered nothing; one that babbles is a failed run. Both are rows, worth 0."""

    def finishing(request: Any) -> Raw:
        return says("Action: finish[]") if request.body.get("tools") else says("{}")

    with ScriptedServer(answering=finishing) as server:
        row = run_task(asking(server.url, "travel"), 0)
    assert (row["outcome"], row["sr"], row["ps"], row["soft_ps"], row["answered"]) == ("failed", 0, 0, 0, 0)
    assert row["right"] == [None, None]
    with ScriptedServer(answering=knowing([])) as server:
        row = run_task(asking(server.url, "physics", mode="text"), 0)
    assert (row["outcome"], row["sr"], row["stopped_by_cap"]) == ("failed", 0, 0)
