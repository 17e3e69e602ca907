"""Where a run lost its thread: said of what each prompt showed, or refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.registry import NAMES
from benchmarks.arena.domains.results import read_results, write_results
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings
from benchmarks.arena.domains.world import played
from benchmarks.arena.reports.threads import NoThread, as_lines, needs_of, threads
from mage.chat import parse_action
from tests.arena.domains.cases import FULL, SMALL, actions_of
from tests.arena.domains.provider import knowing
from tests.llm.server import Answer, Request, ScriptedServer, calls


@pytest.mark.parametrize("name", NAMES)
def test_what_a_subtask_needs_stands_in_the_claims_before_it(name: str) -> None:
    """In each domain later subtasks speak of earlier results, and these are what the oracle's claims say."""
    task = FULL[name].task(3, 1)
    closed = played(task.rules, actions_of(task)).closed
    needed = [list(needs_of(task, closed, place)) for place in range(len(task.plan))]
    assert needed[0] == []
    assert sum(map(len, needed)) >= len(task.plan) - 2
    for place, each in enumerate(needed):
        claims = " ".join(part.claim for part in task.plan[:place])
        unsaid = [what for what, value in each if not value]
        assert not unsaid
        if name != "travel":  # a slot without a wish is as the first traveller's, whose plan is in the task
            assert [value for _, value in each if value not in claims] == []


@pytest.mark.parametrize("memory", ["mage", "full-history"])
@pytest.mark.parametrize("name", ["search", "math"])
def test_a_plan_that_claims_everything_loses_nothing(tmp_path: Path, name: str, memory: str) -> None:
    """Under full history, and under MAGE with the oracle's claims, each prompt of the answers has what it needs."""
    settings = Settings(domain=name, size="small", memory=memory, sessions=tmp_path)
    rows = run_series(settings, 1, tmp_path / "rows.jsonl")
    (thread,) = threads(rows, f"{name}-0-0", memory, tmp_path)
    assert thread.lost is None
    assert [part.right for part in thread.parts] == [True] * 4
    assert sum(part.prompts for part in thread.parts) >= rows[0]["steps"]  # type: ignore[operator]  # a number, in JSON
    assert any(part.needed for part in thread.parts)
    assert (
        list(as_lines(thread))[-1]
        == "  Nothing that a subtask needs was missing when its answer was asked for."
    )


def test_a_summary_that_drops_a_value_is_where_the_thread_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model whose summary says nothing of an answer: the value and the first subtask that lacks it are named."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    task = SMALL["math"].task(2, 0)
    knows = knowing([task])

    def forgetting(request: Request) -> Answer:
        answer = knows(request)
        said = json.loads(getattr(answer, "body", b"{}"))
        made = (said["choices"][0]["message"].get("tool_calls") or [{}])[0].get("function", {})
        if made.get("name") == "compress" and "Part 1 " in made["arguments"]:
            return calls("compress", text="A part was answered.")
        return answer

    out, kept = tmp_path / "rows.jsonl", tmp_path / "kept"
    kept.mkdir()
    with ScriptedServer(answering=forgetting) as server:
        settings = Settings(
            domain="math", agent="model", model="m", size="small", seed=2, base_url=server.url, sessions=kept
        )
        (row,) = run_series(settings, 1, out)
    assert row["sr"] == 1  # the script knows the plan, whatever it is shown
    value = parse_action(task.plan[0].actions[-1])[1]["expression"]
    (thread,) = threads([row], "math-2-0", None, kept)
    lost = thread.lost
    assert lost is not None
    assert [(each.what, each.value) for each in lost.lost] == [("the result of subtask 1", value)]
    assert main(["report", str(out), "--task", "math-2-0", "--memory", "mage", "--sessions", str(kept)]) == 0
    told = capsys.readouterr().out
    assert f"The thread is lost at subtask {lost.number}" in told
    assert str(value) in told
    assert main(["report", str(out), "--task", "math-2-0", "--sessions", str(kept), "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["threads"]
    assert said["lost_at"] == lost.number


def test_what_cannot_be_said_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No such task, no such memory, no kept sessions, a memory whose prompts are in no session, data of the user."""
    out = tmp_path / "rows.jsonl"
    settings = Settings(domain="shopping", size="small")
    rows: list[Any] = list(run_series(settings, 1, out))
    assert main(["report", str(out), "--task", "shopping-9-9"]) == 2
    assert capsys.readouterr().err == "Error: no row is of the task 'shopping-9-9'; there are shopping-0-0\n"
    assert main(["report", str(out), "--task", "shopping-0-0", "--memory", "bm25"]) == 2
    assert "shopping-0-0 was not run with 'bm25', but with mage" in capsys.readouterr().err
    assert main(["report", str(out), "--task", "shopping-0-0"]) == 2
    assert "run with --sessions DIR" in capsys.readouterr().err
    assert main(["report", str(out), "--task", "shopping-0-0", "--sessions", str(tmp_path)]) == 2
    assert "was not kept in this folder" in capsys.readouterr().err
    assert main(["report", str(out), "--memory", "mage"]) == 2
    assert capsys.readouterr().err == "Error: --memory and --sessions go with --task ID\n"
    row = {**rows[0], "settings": {**rows[0]["settings"], "memory": "mem0"}}
    with pytest.raises(NoThread, match="stands in no session"):
        threads([row], "shopping-0-0", None, tmp_path)
    write_results(out, [row])
    assert len(read_results(out)) == 1
