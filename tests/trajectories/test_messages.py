"""Chat messages, read into turns and steps."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Command, Grow
from mage.trajectories.fields import Json, Spot
from mage.trajectories.messages import Conversation, Said, conversation, joined, steps_of, task_of
from mage.trajectories.oddities import Oddities
from mage.trajectories.trajectory import Malformed, Steps
from tests.trajectories.samples import (
    CONTENTS,
    HEAD,
    JSON,
    RUN,
    TEXT,
    TURNS,
    call,
    contents,
    flat,
    result,
)

STEPS: tuple[Steps, ...] = ("messages", "tools")


def _read(messages: list[Json], odd: Oddities | None = None) -> Conversation:
    spots = [Spot(message, (place,)) for place, message in enumerate(messages)]
    found = conversation(spots, Oddities() if odd is None else odd)
    assert isinstance(found, Conversation), found
    return found


def _steps(talk: Conversation, steps: Steps) -> list[Command]:
    return [made.command for made in steps_of(talk.turns, steps, Oddities())]


def _reply(*calls: Json, content: Json = None) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def _said_of(messages: list[Json], steps: Steps = "messages") -> list[str]:
    """Return what is said of messages to be unusual, and where first."""
    odd = Oddities()
    list(steps_of(_read(messages, odd).turns, steps, odd))
    return list(map(str, odd.remarks))


def test_turns_of_a_small_run() -> None:
    """A run of three assistant messages gives three steps; results stand where they came, under their tool."""
    talk = _read(RUN)
    assert task_of(talk.head) == "Keep the garden.\n\nIs the pond frozen?"
    assert _steps(talk, "messages") == [
        Grow("I will look.", "Please do."),
        Grow('look({"at": "pond"})\nmeasure({})', "tool measure:\n-3\n\ntool look:\nice"),
        Grow("Yes, frozen.", ""),
    ]


def test_tool_steps_of_a_small_run() -> None:
    """Each call is a step with its own result, in call order, whatever order the results came in (D11)."""
    assert _steps(_read(RUN), "tools") == [
        Grow('look({"at": "pond"})', "ice"),
        Grow("measure({})", "-3"),
    ]


@given(HEAD, TURNS)
def test_every_content_is_kept(head: list[Json], turns: list[list[Json]]) -> None:
    """All that anyone said stands in the task, or in the step where it was said."""
    talk = _read(head + flat(turns))
    task = task_of(talk.head)
    assert all(text in task for message in head for text in _texts(message))
    for step, turn in zip(_steps(talk, "messages"), turns, strict=True):
        assert isinstance(step, Grow)
        assert all(text in step.action for text in _texts(turn[0]))
        assert all(text in step.observation for message in turn[1:] for text in _texts(message))


@given(HEAD, TURNS)
def test_every_call_is_a_step(head: list[Json], turns: list[list[Json]]) -> None:
    """With tool steps there is a step for each call, with the content of the result that names it."""
    steps = _steps(_read(head + flat(turns)), "tools")
    expected: list[Grow] = []
    for reply, *after in turns:
        assert isinstance(reply, dict)
        made = reply.get("tool_calls", [])
        assert isinstance(made, list)
        expected.extend(Grow(_spelled(each), _answer(each, after)) for each in made)
    assert expected == steps


def _texts(message: Json) -> list[str]:
    assert isinstance(message, dict)
    made = message.get("tool_calls", [])
    assert isinstance(made, list)
    return contents(message["content"]) + [_spelled(each) for each in made]


def _spelled(made: Json) -> str:
    assert isinstance(made, dict)
    function = made["function"]
    assert isinstance(function, dict)
    return f"{function['name']}({function['arguments']})"


def _answer(made: Json, after: list[Json]) -> str:
    assert isinstance(made, dict)
    for message in after:
        if isinstance(message, dict) and message.get("tool_call_id") == made["id"]:
            return "\n".join(contents(message["content"]))
    return ""


def test_id_used_twice_names_the_call_that_is_open() -> None:
    """A recorder that uses an id again gives each call the result that follows it."""
    run = [_reply(call("c", "a", "")), result("c", "1"), _reply(call("c", "b", "")), result("c", "2")]
    assert _steps(_read(run), "tools") == [Grow("a()", "1"), Grow("b()", "2")]


def test_id_open_twice_is_answered_in_order() -> None:
    """Two open calls with one id, or with none, take their results in call order."""
    for key in ("c", None):
        run = [_reply(call(key, "a", ""), call(key, "b", "")), result(key, "1"), result(key, "2")]
        assert _steps(_read(run), "tools") == [Grow("a()", "1"), Grow("b()", "2")]


def test_result_answers_the_latest_message_that_called() -> None:
    """Where an id was used before by a call that nothing came back for, the result is the newer call's."""
    run = [_reply(call("c", "a", "")), _reply(call("c", "b", "")), result("c", "2")]
    assert _steps(_read(run), "tools") == [Grow("a()", ""), Grow("b()", "2")]


def test_late_result_belongs_to_its_call() -> None:
    """A result that comes after the next reply is the result of its own call, and an observation where it came."""
    run = [_reply(call("c", "a", "")), _reply(content="waiting"), result("c", "1")]
    talk = _read(run)
    assert _steps(talk, "tools") == [Grow("a()", "1")]
    assert _steps(talk, "messages") == [Grow("a()", ""), Grow("waiting", "1")]


def test_call_without_result_has_an_empty_one() -> None:
    """A run that stopped inside a call keeps the call."""
    assert _steps(_read([_reply(call("c", "a", ""))]), "tools") == [Grow("a()", "")]


@pytest.mark.parametrize(
    ("run", "place"),
    [
        ([_reply(), result("c", "1")], 1),
        ([_reply(call("c", "a", "")), result("d", "1")], 1),
        ([_reply(call("c", "a", "")), {"role": "tool", "content": "1"}], 1),
        ([_reply(), result("c", "1"), _reply(call("c", "a", ""))], 1),
    ],
)
def test_result_of_no_call_is_an_observation_that_says_so(run: list[Json], place: int) -> None:
    """A result that nobody called for, or called for only later, is kept where it came, and said."""
    told = "tool (result of no call):\n1"
    talk = _read(run)
    assert told == next(step.observation for step in _steps(talk, "messages") if isinstance(step, Grow))
    assert Grow("", told) in _steps(talk, "tools")
    assert f"a result of no call before it, kept as an observation at [{place}]" in _said_of(run)


def test_older_result_of_no_call_names_its_function() -> None:
    """Where a result names a function that nobody called, the observation has the name."""
    run: list[Json] = [_reply(), {"role": "function", "name": "a", "content": "1"}]
    assert _steps(_read(run), "messages") == [Grow("", "function a (result of no call):\n1")]


def test_result_of_no_call_before_the_agent_speaks_is_told_with_the_task() -> None:
    """What an agent was told before it first spoke is its task, whoever said it."""
    talk = _read([result("c", "1"), {"role": "user", "content": "Go."}, _reply(content="ok")])
    assert task_of(talk.head) == "tool (result of no call):\n1\n\nGo."


def test_second_result_of_a_call_stands_beside_the_first() -> None:
    """Both results of one call are kept, in both readings, and said."""
    run = [_reply(call("c", "a", "")), result("c", "1"), result("c", "2"), result("c", "3")]
    assert _steps(_read(run), "tools") == [Grow("a()", "1\n\n2\n\n3")]
    assert _steps(_read(run), "messages") == [Grow("a()", "tool a:\n1\n\ntool a:\n2\n\ntool a:\n3")]
    assert _said_of(run) == [
        "another result of a call that has one, kept beside it, 2 times, first at [2]",
    ]


def test_unknown_role_is_an_observation_by_that_role() -> None:
    """The last record of mini-SWE-agent 2, by the role `exit`, is observed as such, alone or among others."""
    leave: Json = {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted"}}
    alone, among = [_reply(), leave], [_reply(call("c", "a", "")), result("c", "1"), leave]
    assert _steps(_read(alone), "messages") == [Grow("", "exit:\ndone")]
    assert _steps(_read(among), "messages") == [Grow("a()", "tool a:\n1\n\nexit:\ndone")]
    assert _said_of(alone) == [
        "the field 'extra' of a message, left out at [1]",
        "a message by the role 'exit', kept as an observation at [1]",
    ]


def test_name_is_told_with_the_role() -> None:
    """Where several people have one role, an observation tells who it was; a tool has the name of its call."""
    bob: Json = {"role": "user", "name": "Bob", "content": "Go."}
    named: Json = {"role": "tool", "tool_call_id": "c", "name": "a", "content": "1"}
    assert _steps(_read([_reply(), bob]), "messages") == [Grow("", "user Bob:\nGo.")]
    assert task_of(_read([bob]).head) == "user Bob:\nGo."
    run = [_reply(call("c", "a", "")), named]
    assert (_steps(_read(run), "messages"), _said_of(run)) == ([Grow("a()", "1")], [])


def test_name_that_is_not_that_of_the_call_is_said() -> None:
    """A result with the name of another tool is its call's, and a result of no call keeps its name."""
    other: Json = {"role": "tool", "tool_call_id": "c", "name": "b", "content": "1"}
    assert _said_of([_reply(call("c", "a", "")), other]) == [
        "a result by the name 'b' of a call by another at [1]"
    ]
    assert _steps(_read([_reply(), other]), "messages") == [Grow("", "tool b (result of no call):\n1")]


def test_long_role_is_said_shortened() -> None:
    """A remark does not repeat a role of fifty thousand characters; the observation has all of it."""
    run: list[Json] = [_reply(), {"role": "x" * 50_000, "content": ""}]
    assert all(len(told) < 200 for told in _said_of(run))
    assert "x" * 50_000 in str(_steps(_read(run), "messages"))


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
        (_reply(call("c", "a", "{")), "a tool call with arguments that are no JSON, kept as written at"),
        (_reply(call("c", "a", "")), "a tool call without a result at [1]"),
        (_reply({"id": "c"}), "a tool call in no known form, kept as JSON at [1].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": {"id": "c"}}, "tool calls that are no list at [1].tool_calls"),
        ({"role": "user", "content": "", "cost": 1}, "the field 'cost' of a message, left out at [1]"),
    ],
)
def test_what_is_unusual_is_said(message: Json, said: str) -> None:
    """Whatever is missing, or in no known form, is read, and said with its place."""
    assert any(told.startswith(said) for told in _said_of([_reply(), message]))


def test_what_tool_steps_leave_out_is_said() -> None:
    """With tool steps what the agent and others say is left out, and that is said."""
    assert _said_of(RUN, "tools") == [
        "what the agent said, left out by --steps tools, 2 times, first at [2]",
        "a message by the role 'user', left out by --steps tools at [3]",
    ]


def test_usual_run_has_no_remarks() -> None:
    """Nothing is said of a run in which nothing is unusual."""
    assert _said_of(RUN) == []


def test_steps_know_their_records() -> None:
    """A step knows the messages that it was made of: a turn all of them, a tool step its call and result."""
    talk = _read(RUN)
    indices = {
        steps: [[entry.index for entry in made.entries] for made in steps_of(talk.turns, steps, Oddities())]
        for steps in STEPS
    }
    assert indices == {"messages": [[2, 3], [4, 5, 6], [7]], "tools": [[4, 6], [4, 5]]}


def test_newer_records_without_a_role_are_read() -> None:
    """A response with what it put out is one message of the agent; an output answers the call it names."""
    output: Json = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c", "id": "f", "name": "look", "arguments": "{}"},
    ]
    run: list[Json] = [
        {"object": "response", "output": output, "extra": {}},
        {"type": "function_call_output", "call_id": "c", "output": "ice"},
        {"type": "function_call", "call_id": "d", "name": "skate", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "d", "output": "crack"},
    ]
    assert _steps(_read(run), "messages") == [Grow("I look.\nlook({})", "ice"), Grow("skate({})", "crack")]
    assert _steps(_read(run), "tools") == [Grow("look({})", "ice"), Grow("skate({})", "crack")]
    assert _said_of(run) == [
        "an item of a response that is neither said nor called, left out at [0].output[0]"
    ]


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
    talk = _read(list(messages))
    steps = [(step.action, step.observation) for step in _steps(talk, "messages") if isinstance(step, Grow)]
    kept = "\n".join([task_of(talk.head), *(text for step in steps for text in step)])
    for message in messages:
        for text in _strings(message):
            assert text in kept or json.dumps(text, ensure_ascii=False)[1:-1] in kept


@given(st.lists(_any_message(), max_size=6))
def test_tool_steps_keep_every_call_and_result(messages: list[dict[str, Json]]) -> None:
    """With tool steps no call and no result is lost, after the agent first spoke."""
    talk = _read(list(messages))
    kept = "\n".join(
        [
            text
            for step in _steps(talk, "tools")
            if isinstance(step, Grow)
            for text in (step.action, step.observation)
        ]
    )
    for turn in talk.turns:
        assert all(str(each) in kept for each in turn.calls)
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
    found = conversation([Spot(each, (place,)) for place, each in enumerate([RUN[0], message])], Oddities())
    assert isinstance(found, Malformed)
    assert found.path[0] == 1


def test_older_function_messages_are_results() -> None:
    """A `function` message answers the open call of that function."""
    older: Json = {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}
    talk = _read([older, {"role": "function", "name": "a", "content": "1"}])
    assert _steps(talk, "tools") == [Grow("a({})", "1")]


def test_refusal_is_part_of_what_the_agent_said() -> None:
    """A refusal stands in the action, also where there is no content."""
    talk = _read([{"role": "assistant", "content": None, "refusal": "I will not."}])
    assert _steps(talk, "messages") == [Grow("I will not.", "")]


def test_several_messages_are_told_apart() -> None:
    """One message is its text; several are each under who said it, so none can pass for another's."""
    assert joined([]) == ""
    assert joined([Said("user", "a")]) == "a"
    assert joined([Said("tool look", "a"), Said("user", "b")]) == "tool look:\na\n\nuser:\nb"
