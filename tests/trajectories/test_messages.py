"""Chat messages, read into turns and steps."""

from __future__ import annotations

import json

from hypothesis import given

from mage.chat import canonical
from mage.engine import Grow
from mage.trajectories.messages import Said, joined, steps_of, task_of
from mage.trajectories.trajectory import Json, Oddities, Steps
from tests.trajectories.chats import commands_of, remarks_on, reply, talk_of
from tests.trajectories.samples import (
    HEAD,
    RUN,
    TURNS,
    call,
    contents,
    flat,
    result,
)

STEPS: tuple[Steps, ...] = ("messages", "tools")


def test_turns_of_a_small_run() -> None:
    """A run of three assistant messages gives three steps; results stand where they came, under their tool."""
    talk = talk_of(RUN)
    assert task_of(talk.head) == "Keep the garden.\n\nIs the pond frozen?"
    assert commands_of(talk, "messages") == [
        Grow("I will look.", "Please do."),
        Grow('look {"at":"pond"}\nmeasure {}', "tool measure:\n-3\n\ntool look:\nice"),
        Grow("Yes, frozen.", ""),
    ]


def test_tool_steps_of_a_small_run() -> None:
    """Each call is a step with its own result, in call order, whatever order the results came in (D11)."""
    assert commands_of(talk_of(RUN), "tools") == [
        Grow('look {"at":"pond"}', "ice"),
        Grow("measure {}", "-3"),
    ]


@given(HEAD, TURNS)
def test_every_content_is_kept(head: list[Json], turns: list[list[Json]]) -> None:
    """All that anyone said stands in the task, or in the step where it was said."""
    talk = talk_of(head + flat(turns))
    task = task_of(talk.head)
    assert all(text in task for message in head for text in _texts(message))
    for step, turn in zip(commands_of(talk, "messages"), turns, strict=True):
        assert isinstance(step, Grow)
        assert all(text in step.action for text in _texts(turn[0]))
        assert all(text in step.observation for message in turn[1:] for text in _texts(message))


@given(HEAD, TURNS)
def test_every_call_is_a_step(head: list[Json], turns: list[list[Json]]) -> None:
    """With tool steps there is a step for each call, with the content of the result that names it."""
    steps = commands_of(talk_of(head + flat(turns)), "tools")
    expected: list[Grow] = []
    for first, *after in turns:
        assert isinstance(first, dict)
        made = first.get("tool_calls", [])
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
    return _action(str(function["name"]), str(function["arguments"]))


def _action(name: str, arguments: str) -> str:
    """Return a call as a live one is spelled; what is no JSON object stays as it was written."""
    try:
        read = json.loads(arguments) if arguments.strip() else {}
        return f"{name} {canonical(read) if isinstance(read, dict) else arguments}"
    except ValueError:
        return f"{name} {arguments}"


def _answer(made: Json, after: list[Json]) -> str:
    assert isinstance(made, dict)
    for message in after:
        if isinstance(message, dict) and message.get("tool_call_id") == made["id"]:
            return "\n".join(contents(message["content"]))
    return ""


def test_id_used_twice_names_the_call_that_is_open() -> None:
    """A recorder that uses an id again gives each call the result that follows it."""
    run = [reply(call("c", "a", "")), result("c", "1"), reply(call("c", "b", "")), result("c", "2")]
    assert commands_of(talk_of(run), "tools") == [Grow("a {}", "1"), Grow("b {}", "2")]


def test_id_open_twice_is_answered_in_order() -> None:
    """Two open calls with one id, or with none, take their results in call order."""
    for key in ("c", None):
        run = [reply(call(key, "a", ""), call(key, "b", "")), result(key, "1"), result(key, "2")]
        assert commands_of(talk_of(run), "tools") == [Grow("a {}", "1"), Grow("b {}", "2")]


def test_result_answers_the_latest_message_that_called() -> None:
    """Where an id was used before by a call that nothing came back for, the result is the newer call's."""
    run = [reply(call("c", "a", "")), reply(call("c", "b", "")), result("c", "2")]
    assert commands_of(talk_of(run), "tools") == [Grow("a {}", ""), Grow("b {}", "2")]


def test_late_result_belongs_to_its_call() -> None:
    """A result that comes after the next reply is the result of its own call, and an observation where it came."""
    run = [reply(call("c", "a", "")), reply(content="waiting"), result("c", "1")]
    talk = talk_of(run)
    assert commands_of(talk, "tools") == [Grow("a {}", "1")]
    assert commands_of(talk, "messages") == [Grow("a {}", ""), Grow("waiting", "1")]


def test_call_without_result_has_an_empty_one() -> None:
    """A run that stopped inside a call keeps the call."""
    assert commands_of(talk_of([reply(call("c", "a", ""))]), "tools") == [Grow("a {}", "")]


def test_steps_know_their_records() -> None:
    """A step knows the messages that it was made of: a turn all of them, a tool step its call and result."""
    talk = talk_of(RUN)
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
    assert commands_of(talk_of(run), "messages") == [
        Grow("I look.\nlook {}", "ice"),
        Grow("skate {}", "crack"),
    ]
    assert commands_of(talk_of(run), "tools") == [Grow("look {}", "ice"), Grow("skate {}", "crack")]
    assert remarks_on(run) == [
        "an item of a response that is neither said nor called, left out at [0].output[0]"
    ]


def test_older_function_messages_are_results() -> None:
    """A `function` message answers the open call of that function."""
    older: Json = {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}
    talk = talk_of([older, {"role": "function", "name": "a", "content": "1"}])
    assert commands_of(talk, "tools") == [Grow("a {}", "1")]


def test_refusal_is_part_of_what_the_agent_said() -> None:
    """A refusal stands in the action, also where there is no content."""
    talk = talk_of([{"role": "assistant", "content": None, "refusal": "I will not."}])
    assert commands_of(talk, "messages") == [Grow("I will not.", "")]


def test_several_messages_are_told_apart() -> None:
    """One message is its text; several are each under who said it, so none can pass for another's."""
    assert joined([]) == ""
    assert joined([Said("user", "a")]) == "a"
    assert joined([Said("tool look", "a"), Said("user", "b")]) == "tool look:\na\n\nuser:\nb"
