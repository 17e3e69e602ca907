"""What is unusual in a chat: read all the same, kept, and said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Grow
from mage.trajectories.messages import conversation, steps_of, task_of
from mage.trajectories.trajectory import Json, Malformed, Oddities, Spot
from tests.trajectories.chats import commands_of, remarks_on, reply, talk_of
from tests.trajectories.samples import CONTENTS, JSON, RUN, TEXT, call, result


@pytest.mark.parametrize(
    ("run", "place"),
    [
        ([reply(), result("c", "1")], 1),
        ([reply(call("c", "a", "")), result("d", "1")], 1),
        ([reply(call("c", "a", "")), {"role": "tool", "content": "1"}], 1),
        ([reply(), result("c", "1"), reply(call("c", "a", ""))], 1),
    ],
)
def test_result_of_no_call_is_an_observation_that_says_so(run: list[Json], place: int) -> None:
    """A result that nobody called for, or called for only later, is kept where it came, and said."""
    told = "tool (result of no call):\n1"
    talk = talk_of(run)
    assert told == next(step.observation for step in commands_of(talk, "messages") if isinstance(step, Grow))
    assert Grow("", told) in commands_of(talk, "tools")
    assert f"a result of no call before it, kept as an observation at [{place}]" in remarks_on(run)


def test_older_result_of_no_call_names_its_function() -> None:
    """Where a result names a function that nobody called, the observation has the name."""
    run: list[Json] = [reply(), {"role": "function", "name": "a", "content": "1"}]
    assert commands_of(talk_of(run), "messages") == [Grow("", "function a (result of no call):\n1")]


def test_result_of_no_call_before_the_agent_speaks_is_told_with_the_task() -> None:
    """What an agent was told before it first spoke is its task, whoever said it."""
    talk = talk_of([result("c", "1"), {"role": "user", "content": "Go."}, reply(content="ok")])
    assert task_of(talk.head) == "tool (result of no call):\n1\n\nGo."


def test_second_result_of_a_call_stands_beside_the_first() -> None:
    """Both results of one call are kept, in both readings, and said."""
    run = [reply(call("c", "a", "")), result("c", "1"), result("c", "2"), result("c", "3")]
    assert commands_of(talk_of(run), "tools") == [Grow("a {}", "1\n\n2\n\n3")]
    assert commands_of(talk_of(run), "messages") == [Grow("a {}", "tool a:\n1\n\ntool a:\n2\n\ntool a:\n3")]
    assert remarks_on(run) == [
        "another result of a call that has one, kept beside it, 2 times, first at [2]",
    ]


def test_unknown_role_is_an_observation_by_that_role() -> None:
    """The last record of mini-SWE-agent 2, by the role `exit`, is observed as such, alone or among others."""
    leave: Json = {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted"}}
    alone, among = [reply(), leave], [reply(call("c", "a", "")), result("c", "1"), leave]
    assert commands_of(talk_of(alone), "messages") == [Grow("", "exit:\ndone")]
    assert commands_of(talk_of(among), "messages") == [Grow("a {}", "tool a:\n1\n\nexit:\ndone")]
    assert remarks_on(alone) == [
        "the field 'extra' of a message, left out at [1]",
        "a message by the role 'exit', kept as an observation at [1]",
    ]


def test_name_is_told_with_the_role() -> None:
    """Where several people have one role, an observation tells who it was; a tool has the name of its call."""
    bob: Json = {"role": "user", "name": "Bob", "content": "Go."}
    named: Json = {"role": "tool", "tool_call_id": "c", "name": "a", "content": "1"}
    assert commands_of(talk_of([reply(), bob]), "messages") == [Grow("", "user Bob:\nGo.")]
    assert task_of(talk_of([bob]).head) == "user Bob:\nGo."
    run = [reply(call("c", "a", "")), named]
    assert (commands_of(talk_of(run), "messages"), remarks_on(run)) == ([Grow("a {}", "1")], [])


def test_name_that_is_not_that_of_the_call_is_said() -> None:
    """A result with the name of another tool is its call's, and a result of no call keeps its name."""
    other: Json = {"role": "tool", "tool_call_id": "c", "name": "b", "content": "1"}
    assert remarks_on([reply(call("c", "a", "")), other]) == [
        "a result by the name 'b' of a call by another at [1]"
    ]
    assert commands_of(talk_of([reply(), other]), "messages") == [Grow("", "tool b (result of no call):\n1")]


def test_long_role_is_said_shortened() -> None:
    """A remark does not repeat a role of fifty thousand characters; the observation has all of it."""
    run: list[Json] = [reply(), {"role": "x" * 50_000, "content": ""}]
    assert all(len(told) < 200 for told in remarks_on(run))
    assert "x" * 50_000 in str(commands_of(talk_of(run), "messages"))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user"}, "a record without content at [1]"),
        ({"role": "user", "content": None}, "a record without content at [1]"),
        ({"role": "user", "content": 5}, "content that is no text, kept as JSON at [1].content"),
        (
            {"role": "user", "content": [5]},
            "a part of a content that is no text, kept as JSON at [1].content",
        ),
        (reply(call("c", "a", "{")), "a tool call with arguments that are no JSON, kept as written at"),
        (reply(call("c", "a", "")), "a tool call without a result at [1]"),
        (reply({"id": "c"}), "a tool call in no known form, kept as JSON at [1].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": {"id": "c"}}, "tool calls that are no list at [1].tool_calls"),
        ({"role": "user", "content": "", "cost": 1}, "the field 'cost' of a message, left out at [1]"),
    ],
)
def test_what_is_unusual_is_said(message: Json, said: str) -> None:
    """Whatever is missing, or in no known form, is read, and said with its place."""
    assert any(told.startswith(said) for told in remarks_on([reply(), message]))


def test_what_tool_steps_leave_out_is_said() -> None:
    """With tool steps what the agent and others say is left out, and that is said."""
    assert remarks_on(RUN, "tools") == [
        "what the agent said, left out by --steps tools, 2 times, first at [2]",
        "a message by the role 'user', left out by --steps tools at [3]",
    ]


def test_usual_run_has_no_remarks() -> None:
    """Nothing is said of a run in which nothing is unusual."""
    assert remarks_on(RUN) == []


def _named(name: str, arguments: str) -> Json:
    return {"name": name, "arguments": arguments}


@st.composite
def _any_message(draw: st.DrawFn) -> dict[str, Json]:
    """An object with a role, and whatever else under the names that chats use."""
    roles = st.sampled_from(["system", "user", "assistant", "tool", "function", "exit"]) | TEXT
    keys = st.sampled_from(["c", "d"]) | JSON
    made = st.builds(call, keys, TEXT | JSON, TEXT | JSON) | JSON
    fields: dict[str, st.SearchStrategy[Json]] = {
        "content": CONTENTS | JSON,
        "tool_calls": st.lists(made, max_size=3) | JSON,
        "function_call": st.builds(_named, TEXT, TEXT) | JSON,
        "tool_call_id": keys,
        "name": TEXT | JSON,
        "refusal": TEXT,
    }
    chosen = draw(st.fixed_dictionaries({}, optional=fields))
    return {"role": draw(roles), **chosen}


@given(st.lists(_any_message(), max_size=6))
def test_any_list_of_messages_is_read_and_every_text_is_kept(messages: list[dict[str, Json]]) -> None:
    """Whatever objects with a role a chat holds, each text of each stands in the task or in a step."""
    talk = talk_of(list(messages))
    steps = [
        (step.action, step.observation) for step in commands_of(talk, "messages") if isinstance(step, Grow)
    ]
    kept = "\n".join([task_of(talk.head), *(text for step in steps for text in step)])
    for message in messages:
        for text in _strings(message):
            assert text in kept or json.dumps(text, ensure_ascii=False)[1:-1] in kept


@given(st.lists(_any_message(), max_size=6))
def test_tool_steps_keep_every_call_and_result(messages: list[dict[str, Json]]) -> None:
    """With tool steps no call and no result is lost, after the agent first spoke."""
    talk = talk_of(list(messages))
    kept = "\n".join(
        [
            text
            for step in commands_of(talk, "tools")
            if isinstance(step, Grow)
            for text in (step.action, step.observation)
        ]
    )
    for turn in talk.turns:
        assert all(each.action in kept for each in turn.calls)
        assert all(said.text in kept for said in turn.after if said.kind in ("result", "loose"))


def _strings(message: dict[str, Json]) -> list[str]:
    """Return every text of a message: its content, its refusal, and what it calls."""
    calls = (
        [message.get("tool_calls"), message.get("function_call")] if message["role"] == "assistant" else []
    )
    refusal = message.get("refusal") if message["role"] == "assistant" else None
    return [*_inside(message.get("content")), *_inside(refusal), *_of_calls(calls)]


def _of_calls(calls: Json) -> list[str]:
    """Return the texts of calls; the ids of calls in a known form are no content (D15)."""
    if isinstance(calls, list):
        return [text for each in calls for text in _of_calls(each)]
    if isinstance(calls, dict) and isinstance(function := calls.get("function"), dict):
        return _of_calls({key: function[key] for key in ("name", "arguments") if key in function})
    if isinstance(calls, dict):
        return [text for key in ("name", "arguments") for text in _inside(calls.get(key))]
    return _inside(calls)


def _inside(value: Json) -> list[str]:
    """Return every string in a value; of a part that is a text only the text."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for each in value for text in _inside(each)]
    if isinstance(value, dict):
        if isinstance(text := value.get("text"), str):
            return [text]
        return [text for each in value.values() for text in _inside(each)]
    return []


@pytest.mark.parametrize("message", [5, "user", {}, {"role": 5}, {"content": "x"}, {"type": "message"}])
def test_what_is_no_message_is_refused_at_its_place(message: Json) -> None:
    """A record without a role that is a string is no message."""
    with pytest.raises(Malformed) as found:
        conversation([Spot(each, (place,)) for place, each in enumerate([RUN[0], message])], Oddities())
    assert found.value.path[0] == 1


def test_what_an_agent_said_beside_its_calls_is_a_thought() -> None:
    """With tool steps its content, else a field of its own, stands before the first call as live; content is without it."""
    calls: list[Json] = [call("c1", "look", "{}"), call("c2", "go", "{}")]
    results: list[Json] = [{"role": "tool", "tool_call_id": key, "content": key} for key in ("c1", "c2")]
    told: list[dict[str, Json]] = [
        {"content": "Hm."},
        {"reasoning_content": "Hm."},
        {"content": "Hm.", "reasoning": "long"},
    ]
    for said in told:
        run: list[Json] = [{"role": "assistant", "tool_calls": calls, **said}, *results]
        (made, second) = steps_of(talk_of(run).turns, "tools", Oddities())
        assert (made.command, made.thought, second.thought) == (Grow("look {}", "c1"), "Hm.", "")
        assert not any("reasoning" in remark for remark in remarks_on(run, "tools"))
    odd: Json = {"role": "assistant", "content": "", "reasoning": {"a": 5}}
    assert any("'reasoning'" in remark for remark in remarks_on([odd]))
