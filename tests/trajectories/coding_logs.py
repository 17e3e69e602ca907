"""Logs of coding agents as tests write them, record by record, in the shapes of their clients."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from returns.pipeline import is_successful

from mage.engine import ExecutionState, State, check, replay, view
from mage.trajectories import Steps, Trajectory, load

Row: TypeAlias = dict[str, Any]


def lines(*rows: Row) -> bytes:
    """Return rows as JSON Lines."""
    return b"".join([json.dumps(row).encode() + b"\n" for row in rows])


def read(*rows: Row, steps: Steps = "messages") -> tuple[Trajectory, ...]:
    """Return what a log holds; it must be read, and each session must replay and hold every invariant."""
    loaded = load(lines(*rows), file="log.jsonl", steps=steps)
    assert is_successful(loaded), loaded.failure()
    for trajectory in loaded.unwrap():
        check(state_of(trajectory))
    return loaded.unwrap()


def state_of(trajectory: Trajectory) -> State:
    """Return the state that a session leads to."""
    return replay(trajectory.commands).unwrap()


def shown_of(trajectory: Trajectory) -> ExecutionState:
    """Return what the agent is shown at the end of a session."""
    return view(state_of(trajectory))


def remarks_of(trajectory: Trajectory) -> list[str]:
    """Return what is said of a log to be unusual."""
    return list(map(str, trajectory.remarks))


# -- Claude Code ---------------------------------------------------------------------------------------

_AT = "2026-10-02T08:{0:02}:{1:02}.500Z"


def record(uuid: str, parent: str | None, kind: str, **more: Any) -> Row:
    """Return a record of a session; its time comes from the digits of its id."""
    number = int("".join(filter(str.isdigit, uuid)) or 0) % 3600
    at = _AT.format(number // 60, number % 60)
    base = {"uuid": uuid, "parentUuid": parent, "type": kind, "timestamp": at, "isSidechain": False}
    return {**base, "sessionId": "5e55", "cwd": "/home/pond", "version": "2.1.7", **more}


def said(uuid: str, parent: str | None, text: str, **more: Any) -> Row:
    """Return what a person said."""
    return record(uuid, parent, "user", message={"role": "user", "content": text}, **more)


def replied(uuid: str, parent: str | None, *blocks: Row | str, reply: str = "", **more: Any) -> Row:
    """Return a record of a reply; `reply` is the id that all records of it share."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    message = {
        "id": reply or f"msg_{uuid}",
        "role": "assistant",
        "model": "claude-pond-4",
        "content": content,
        "usage": {"input_tokens": 30, "output_tokens": len(uuid)},
    }
    return record(uuid, parent, "assistant", message=message, **more)


def call(key: str, name: str, **given: Any) -> Row:
    """Return the block of a call."""
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def returned(uuid: str, parent: str | None, key: str, content: Any, *others: Row, **more: Any) -> Row:
    """Return what came back from a call."""
    block = {"type": "tool_result", "tool_use_id": key, "content": content}
    return record(uuid, parent, "user", message={"role": "user", "content": [block, *others]}, **more)


def boundary(uuid: str, after: str, *kept: str, **more: Any) -> Row:
    """Return the beginning of a compaction, which keeps the records of these ids."""
    about: Row = {"trigger": "auto", "preTokens": 150_000}
    if kept:
        about["preservedMessages"] = {"anchorUuid": f"{uuid}s", "uuids": list(kept)}
    return record(
        uuid,
        None,
        "system",
        subtype="compact_boundary",
        logicalParentUuid=after,
        compactMetadata=about,
        **more,
    )


def summary(uuid: str, parent: str | None, text: str) -> Row:
    """Return the text of a compaction."""
    return said(uuid, parent, text, isCompactSummary=True)


# -- Codex ---------------------------------------------------------------------------------------------


def row(kind: str, payload: Any) -> Row:
    """Return a line of a rollout."""
    return {"timestamp": "2026-10-02T08:00:01.250Z", "type": kind, "payload": payload}


def begun(**more: Any) -> Row:
    """Return the first line."""
    return row("session_meta", {"id": "c0de", "cwd": "/home/pond", "cli_version": "0.153.0", **more})


def heard(text: str, role: str = "user") -> Row:
    """Return a message; one of the assistant is what it said."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return row("response_item", {"type": "message", "role": role, "content": content})


def spoken(text: str) -> Row:
    """Return what the model said."""
    return heard(text, "assistant")


def ran(key: str, command: str) -> Row:
    """Return a call."""
    arguments = json.dumps({"cmd": command})
    return row(
        "response_item", {"type": "function_call", "name": "exec", "arguments": arguments, "call_id": key}
    )


def output(key: str, text: str) -> Row:
    """Return what came back from a call."""
    return row("response_item", {"type": "function_call_output", "call_id": key, "output": text})


def event(kind: str, **more: Any) -> Row:
    """Return a mirror of what happened."""
    return row("event_msg", {"type": kind, **more})


# -- whole sessions ------------------------------------------------------------------------------------

CLAUDE_CODE: tuple[Row, ...] = (
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    said("u1", None, "Mend the pump."),
    replied("a2", "u1", {"type": "thinking", "thinking": "Where is it?", "signature": "s"}, reply="m1"),
    replied("a3", "a2", "Looking.", reply="m1"),
    replied("a4", "a3", call("t1", "Read", file_path="pump.py"), reply="m1"),
    replied("a5", "a4", call("t2", "Bash", command="pytest tests/test_pump.py"), reply="m1"),
    returned("r6", "a4", "t1", "FLOW = 7"),
    returned("r7", "r6", "t2", [{"type": "text", "text": "1 failed: test_flow_4711"}]),
    replied("a8", "r7", call("t3", "Edit", file_path="pump.py", old="7", new="8")),
    returned("r9", "a8", "t3", "edited"),
    said("u10", "r7", "Do not edit, tell me."),  # gone back to before the edit
    replied("a11", "u10", "FLOW is 7."),
    boundary("c12", "a11"),
    summary("c12s", "c12", "The pump's flow was looked at."),
    said("u13", "c12s", "Now set it to 9."),
    replied("a14", "u13", call("t4", "Edit", file_path="pump.py", old="7", new="9")),
    returned("r15", "a14", "t4", "edited"),
    replied("a16", "r15", "Set."),
    replied("s17", None, "Side work.", isSidechain=True, agentId="b7"),
    {"type": "last-prompt", "leafUuid": "a16", "sessionId": "5e55"},
)
"""A session with split replies, parallel calls, a rewind, a compaction and a subagent."""

CODEX: tuple[Row, ...] = (
    begun(),
    row("turn_context", {"model": "pond-5-codex"}),
    heard("<environment_context>\n<cwd>/home/pond</cwd>\n</environment_context>"),
    heard("Mend the pump."),
    row("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Where?"}]}),
    ran("c1", "cat pump.py"),
    ran("c2", "pytest tests/test_pump.py"),
    output("c1", "FLOW = 7"),
    output("c2", "1 failed: test_flow_4711"),
    event("token_count", info={"last_token_usage": {"input_tokens": 90}}),
    spoken("The flow is 7."),
    heard("Set it to 8."),
    ran("c3", "sed -i s/7/8/ pump.py"),
    output("c3", ""),
    event("thread_rolled_back", num_turns=1),
    heard("Set it to 9."),
    ran("c4", "sed -i s/7/9/ pump.py"),
    output("c4", ""),
    row(
        "compacted",
        {"message": "", "replacement_history": [{"type": "compaction", "encrypted_content": "g4s"}]},
    ),
    spoken("Done."),
)
"""A session with parallel calls, a roll back, and a compaction that is encrypted."""
