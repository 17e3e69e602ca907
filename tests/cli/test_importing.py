"""`mage import` of traces and logs: what becomes a session, and what is said of compactions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mage import Session
from mage.engine import Grow
from tests.cli.runner import mage
from tests.trajectories.coding_logs import CLAUDE_CODE, CODEX, lines, replied, said
from tests.trajectories.samples import TAU_BENCH, encoded


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(name: str, data: bytes) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_log_becomes_sessions_with_their_meta() -> None:
    """The session and its subagent are there, with times and what the log says beside each step; the command says what was lost."""
    _write("pump.jsonl", lines(*CLAUDE_CODE))
    ran = mage("import", "pump.jsonl", "work.db")
    assert (ran.status, ran.err) == (0, "")
    assert "made work.db#pump, with" in ran.out
    assert "made work.db#pump/agent-b7, with 1 step of pump.jsonl (claude-code)" in ran.out
    assert "1 of which it used again: pump.py; mage show work.db#pump --inside 0 has them" in ran.out
    with Session.open("work.db", "pump") as session:
        entry = session.history()[1]
        assert entry.at == 1_790_928_002_500_000
        assert entry.meta["calls"] == ["t1", "t2"]
    assert mage("check", "work.db#pump").status == 0
    assert "test_flow_4711" in mage("show", "work.db#pump", "--inside", "0").out


def test_logs_of_subagents_are_found_beside_it() -> None:
    """A newer client puts them into a folder that is called as the log is; one that cannot be told is passed over."""
    _write("pump.jsonl", lines(*CLAUDE_CODE[:-2]))
    side = [said("u1", None, "Look left."), replied("a2", "u1", "Left.")]
    _write(
        "pump/subagents/agent-d9.jsonl",
        lines(*[row | {"isSidechain": True, "agentId": "d9"} for row in side]),
    )
    _write("pump/subagents/agent-d9.meta.json", b'{"agentType": "Explore", "toolUseId": "t1"}')
    _write("pump/subagents/other.jsonl", b"{}\n")
    assert mage("import", "pump.jsonl", "work.db#mine").status == 0
    with Session.open("work.db", "mine/agent-d9") as session:
        assert session.state().task == "Look left."
        assert session.history()[0].meta["agent"] == {"agentType": "Explore", "toolUseId": "t1"}


def test_nothing_is_made_where_one_session_is_there_already() -> None:
    """Of a log with a subagent all sessions are made, or none."""
    _write("pump.jsonl", lines(*CLAUDE_CODE))
    Session.open("work.db", "pump/agent-b7", task="Mine.").close()
    ran = mage("import", "pump.jsonl", "work.db#pump")
    assert (ran.status, ran.out) == (1, "")
    assert "work.db#pump/agent-b7 is there already" in ran.err
    assert mage("show", "work.db#pump").status == 1


def test_with_tools_each_call_is_a_step() -> None:
    """`--steps tools` is that of `mage replay`."""
    _write("rollout.jsonl", lines(*CODEX))
    assert mage("import", "rollout.jsonl", "work.db#r", "--steps", "tools").status == 0
    with Session.open("work.db", "r") as session:
        calls = [entry.meta.get("call") for entry in session.history() if isinstance(entry.command, Grow)]
    assert calls[:2] == ["c1", "c2"]


def test_json_has_all_of_it() -> None:
    """Each session with its compactions, names and remarks as values."""
    _write("rollout.jsonl", lines(*CODEX))
    found = json.loads(mage("import", "rollout.jsonl", "work.db", "--json").out)
    (session,) = found["sessions"]
    assert (found["format"], session["session"]) == ("codex", "work.db#rollout")
    assert session["compactions"][0]["names"] > 0
    assert any("left out" in remark["what"] for remark in session["remarks"])


def test_trace_of_several_tasks_becomes_as_many_sessions() -> None:
    """Each task has its own name behind that of the file."""
    _write("runs.json", encoded(TAU_BENCH))
    ran = mage("import", "runs.json", "work.db")
    assert "made work.db#runs/7," in ran.out
    assert "made work.db#runs/b," in ran.out
    assert mage("check", "work.db#runs/7").status == 0


def test_format_may_be_named() -> None:
    """A format that there is not is a usage error; one that does not fit is refused in one line."""
    _write("runs.json", encoded(TAU_BENCH))
    assert mage("import", "runs.json", "work.db", "--format", "tau").status == 2
    ran = mage("import", "runs.json", "work.db", "--format", "swe-agent")
    assert (ran.status, ran.err.count("\n")) == (1, 1)
