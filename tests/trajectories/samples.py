"""Small traces of every format, written for these tests, and strategies that bend them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

from hypothesis import strategies as st
from returns.pipeline import is_successful

from mage.bundle import encode_bundle, pack
from mage.chat import canonical
from mage.codec import encode_journal
from mage.engine import Accept, Command, Compress, Grow, Revise, Start, State, StepId, apply, replay
from mage.stores import NOTHING, MemoryStore, Record, draft, seal
from mage.trajectories import Steps, TraceError, Trajectory, load
from mage.trajectories.trajectory import Json
from tests.trajectories.coding_logs import CLAUDE_CODE, CODEX

RUN: Final[list[Json]] = [
    {"role": "system", "content": "Keep the garden."},
    {"role": "user", "content": "Is the pond frozen?"},
    {"role": "assistant", "content": "I will look."},
    {"role": "user", "content": "Please do."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "pond"}'}},
            {"id": "c2", "type": "function", "function": {"name": "measure", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "-3"},
    {"role": "tool", "tool_call_id": "c1", "content": "ice"},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes, frozen."}]},
]
CHAT: Final[Json] = {"messages": RUN}
TAU_BENCH: Final[Json] = [
    {"task_id": 7, "trial": 0, "reward": 0.0, "info": {}, "traj": RUN},
    {"task_id": 7, "trial": 1, "reward": 1.0, "info": {}, "traj": [*RUN[:5], *RUN[5:7], RUN[2]]},
    {"task_id": "b", "trial": 0, "reward": 1, "info": None, "traj": RUN[:2]},
]
SWE_AGENT: Final[Json] = {
    "trajectory": [
        {
            "action": "ls\n",
            "observation": "pond.py",
            "thought": "Look around.\n",
            "response": "Look around.\n```\nls\n```",
            "state": "{}",
        },
        {"action": "cat pond.py", "observation": "ice = 1", "thought": "Read it.", "response": "Read it."},
    ],
    "history": [
        {"role": "system", "content": "You fix programs."},
        {"role": "user", "content": "The pond is wrong."},
        {"role": "assistant", "content": "Look around.", "thought": "Look around.", "action": "ls"},
        {"role": "user", "content": "pond.py"},
    ],
    "info": {"exit_status": "submitted"},
}
SWE_AGENT_HISTORY: Final[Json] = {
    "history": [
        {"role": "system", "content": "You fix programs."},
        {"role": "user", "content": "The pond is wrong."},
        {
            "role": "assistant",
            "content": "Look around.",
            "thought": "Look around.",
            "action": "ls",
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "pond.py", "tool_call_ids": ["x"]},
        {"role": "assistant", "content": "Done."},
    ]
}
TOT_CROSSWORDS: Final[Json] = [
    [
        {"total_step": 0, "env_step": 1, "actions": ["h1. alder"], "info": {"r": 0.2}, "count": {"sure": 1}},
        {"actions": ["h1. alder", "v1. aspen"], "info": {"r": 0.4}, "count": {"sure": 2}},
        {"actions": ["h1. alder", "v2. larch"], "info": {"r": 0.3}, "count": {"sure": 0}},
        {"actions": ["h2. maple"], "info": {"r": 0.1}, "count": {"sure": 3}},
    ],
    [{"actions": ["v5. cedar"], "info": {}, "count": {}}],
]
WHO_AND_WHEN: Final[Json] = {
    "history": [
        {"role": "human", "content": "How deep is the pond?\n"},
        {"role": "Orchestrator (thought)", "content": "Somebody must measure."},
        {"role": "Orchestrator (-> Diver)", "content": "Measure it."},
        {"role": "Diver", "content": "Two metres."},
    ],
    "question": "How deep is the pond?",
    "ground_truth": "3 m",
    "mistake_agent": "Diver",
    "mistake_step": "3",
    "mistake_reason": "The tape was wet.",
}
ATIF: Final[Json] = {
    "schema_version": "ATIF-v1.8",
    "agent": {"name": "gardener", "version": "2"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Is the pond frozen?"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look.",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "look", "arguments": {"at": "pond"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "ice"}]},
        },
        {
            "step_id": 3,
            "source": "system",
            "message": "",
            "observation": {"results": [{"content": "It is."}]},
            "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
        },
        {"step_id": 4, "source": "agent", "message": [{"type": "text", "text": "Yes, frozen."}]},
    ],
}
JSON_SAMPLES: Final[dict[str, list[Json]]] = {
    "atif": [ATIF],
    "claude-code": [list(CLAUDE_CODE)],
    "codex": [list(CODEX)],
    "chat": [CHAT, RUN, [CHAT, CHAT]],
    "swe-agent": [SWE_AGENT, SWE_AGENT_HISTORY],
    "tau-bench": [TAU_BENCH],
    "tot-crosswords": [TOT_CROSSWORDS],
    "who-and-when": [WHO_AND_WHEN],
}
COMMANDS: Final[tuple[Command, ...]] = (
    Start("Keep the garden."),
    Grow("look", "ice"),
    Compress("The pond is frozen."),
    Accept(),
    Grow("skate", "crack"),
    Revise(StepId(1), "The ice is thin."),
)
JOURNAL: Final = b"".join(encode_journal(COMMANDS))


def records(commands: tuple[Command, ...]) -> list[Record]:
    """Return the records of a history; their salts are no secret, so that every run has the same."""
    sealed: list[Record] = []
    state: State | None = None
    head = NOTHING
    for command in commands:
        sealed.append(seal(head, draft(state, command, {}), lambda: "no secret, no 16"))
        head = sealed[-1].head
        state = apply(state, command).unwrap()
    return sealed


def bundled(*, lineage: bool) -> bytes:
    """Return the bundle of a session `ice`, which was forked from `pond` (all of `COMMANDS`) after its fourth command."""
    forked = records((*COMMANDS[:4], Grow("fish", "a pike"), Compress("One pike caught."), Accept()))
    store = MemoryStore()
    store.create("pond", records(COMMANDS))
    store.append("ice", store.fork("pond", "ice", 4), forked[4:])
    return b"".join(encode_bundle(pack(store, "ice", lineage=lineage)))


BUNDLE: Final = bundled(lineage=True)


def encoded(value: Json) -> bytes:
    """Return a value as a file."""
    return json.dumps(value).encode()


def lines(values: list[Json]) -> bytes:
    """Return values as a JSON Lines file."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def loaded(
    value: Json, *, steps: Steps = "messages", format_name: str | None = None
) -> tuple[Trajectory, ...]:
    """Return what a value's file holds; the file must be sound."""
    result = load(encoded(value), file="t.json", format=format_name, steps=steps)
    assert is_successful(result), str(result.failure())
    return result.unwrap()


def refused(data: bytes, *, format_name: str | None = None) -> TraceError:
    """Return why a file is refused."""
    result = load(data, file="t.json", format=format_name)
    assert not is_successful(result)
    return result.failure()


def grown(trajectory: Trajectory) -> list[tuple[str, str]]:
    """Return the contents of the steps, in the order of the trace."""
    return [
        (command.action, command.observation) for command in trajectory.commands if isinstance(command, Grow)
    ]


def task(trajectory: Trajectory) -> str:
    """Return the task of a trajectory."""
    first = trajectory.commands[0]
    assert isinstance(first, Start)
    return first.task


def final_state(trajectory: Trajectory) -> State:
    """Return where a trajectory ends; it must replay."""
    result = replay(trajectory.commands)
    assert is_successful(result), str(result.failure())
    return result.unwrap()


def calls_made(work: Callable[[], object]) -> int:
    """Return how many calls a piece of work makes, of Python's functions and of others, on any machine."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made


TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def _places(value: Json) -> list[tuple[str | int, ...]]:
    """Return the path of every value inside `value`, itself first."""
    found: list[tuple[str | int, ...]] = [()]
    children: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    for key, child in children:
        found.extend((key, *below) for below in _places(child))
    return found


def _edited(value: Json, path: tuple[str | int, ...], new: list[Json]) -> list[Json]:
    """Return `value` with what stands at `path` replaced by what `new` holds: one value, or none."""
    if not path:
        return new
    if isinstance(value, dict):
        below = {
            key: _edited(child, path[1:], new) if key == path[0] else [child] for key, child in value.items()
        }
        return [{key: child for key, children in below.items() for child in children}]
    assert isinstance(value, list)
    return [
        [
            child
            for place, old in enumerate(value)
            for child in (_edited(old, path[1:], new) if place == path[0] else [old])
        ]
    ]


@st.composite
def bent(draw: st.DrawFn, value: Json) -> Json:
    """A sound trace of which one value is deleted or replaced by any JSON."""
    path = draw(st.sampled_from(_places(value)))
    edited = _edited(value, path, draw(st.lists(JSON, max_size=1)))
    return edited[0] if edited else None


def _text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(url: str) -> Json:
    return [{"type": "image_url", "image_url": {"url": url}}]


PARTS: st.SearchStrategy[Json] = TEXT.map(_text_part) | TEXT
CONTENTS: st.SearchStrategy[Json] = st.one_of(TEXT, st.none(), st.lists(PARTS, max_size=3), TEXT.map(_image))


def contents(content: Json) -> list[str]:
    """Return the strings that a message's content holds, however it holds them."""
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    assert isinstance(content, list)
    found: list[str] = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict) and isinstance(text := part.get("text"), str):
            found.append(text)
        elif isinstance(part, dict):
            found.append(canonical(part))
    return found


def call(key: Json, name: str, arguments: Json) -> Json:
    """Return a tool call as OpenAI's API has it."""
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(key: Json, content: Json) -> Json:
    """Return the result of a tool call."""
    return {"role": "tool", "tool_call_id": key, "content": content}


def message(role: str, content: Json) -> Json:
    """Return a message by anyone but a tool."""
    return {"role": role, "content": content}


@st.composite
def turns(draw: st.DrawFn, *, salt: str = "") -> list[Json]:
    """An assistant message with calls, the results of some of them in any order, and what people then say."""
    calls = draw(st.lists(st.tuples(TEXT, TEXT), max_size=3))
    keys = [f"{salt}{place}" for place in range(len(calls))]
    answered = draw(st.permutations(keys))[: draw(st.integers(0, len(keys)))]
    reply: dict[str, Json] = {"role": "assistant", "content": draw(CONTENTS)}
    if calls:
        reply["tool_calls"] = [call(key, *made) for key, made in zip(keys, calls, strict=True)]
    said = draw(st.lists(st.builds(message, st.sampled_from(["user", "system"]), CONTENTS), max_size=2))
    return [reply, *[result(key, draw(CONTENTS)) for key in answered], *said]


HEAD = st.lists(st.builds(message, st.sampled_from(["system", "developer", "user"]), CONTENTS), max_size=3)
TURNS = st.lists(turns(), max_size=4)


def flat(groups: list[list[Json]]) -> list[Json]:
    """Return what several lists hold, one after the other."""
    return [each for group in groups for each in group]
