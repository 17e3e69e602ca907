"""Chat messages, read into turns and steps."""

from __future__ import annotations

import pytest
from hypothesis import given

from mage.engine import Grow
from mage.trajectories.fields import Json, Spot
from mage.trajectories.messages import Conversation, Said, conversation, joined, steps_of, task_of
from mage.trajectories.trajectory import Malformed
from tests.trajectories.samples import HEAD, RUN, TURNS, call, contents, flat, result


def _read(messages: list[Json]) -> Conversation:
    found = conversation([Spot(message, (place,)) for place, message in enumerate(messages)])
    assert isinstance(found, Conversation), found
    return found


def test_turns_of_a_small_run() -> None:
    """A run of three assistant messages gives three steps; results stand where they came, under their tool."""
    talk = _read(RUN)
    assert task_of(talk.head) == "Keep the garden.\n\nIs the pond frozen?"
    assert list(steps_of(talk.turns, "messages")) == [
        Grow("I will look.", "Please do."),
        Grow('look({"at": "pond"})\nmeasure({})', "tool measure:\n-3\n\ntool look:\nice"),
        Grow("Yes, frozen.", ""),
    ]


def test_tool_steps_of_a_small_run() -> None:
    """Each call is a step with its own result, in call order, whatever order the results came in (D11)."""
    assert list(steps_of(_read(RUN).turns, "tools")) == [
        Grow('look({"at": "pond"})', "ice"),
        Grow("measure({})", "-3"),
    ]


@given(HEAD, TURNS)
def test_every_content_is_kept(head: list[Json], turns: list[list[Json]]) -> None:
    """All that anyone said stands in the task, or in the step where it was said."""
    talk = _read(head + flat(turns))
    task = task_of(talk.head)
    assert all(text in task for message in head for text in _texts(message))
    for step, turn in zip(steps_of(talk.turns, "messages"), turns, strict=True):
        assert all(text in step.action for text in _texts(turn[0]))
        assert all(text in step.observation for message in turn[1:] for text in _texts(message))


@given(HEAD, TURNS)
def test_every_call_is_a_step(head: list[Json], turns: list[list[Json]]) -> None:
    """With tool steps there is a step for each call, with the content of the result that names it."""
    steps = list(steps_of(_read(head + flat(turns)).turns, "tools"))
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


def _reply(*calls: Json, content: Json = None) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def test_id_used_twice_names_the_call_that_is_open() -> None:
    """A recorder that uses an id again gives each call the result that follows it."""
    run = [_reply(call("c", "a", "")), result("c", "1"), _reply(call("c", "b", "")), result("c", "2")]
    assert list(steps_of(_read(run).turns, "tools")) == [Grow("a()", "1"), Grow("b()", "2")]


def test_id_open_twice_is_answered_in_order() -> None:
    """Two open calls with one id, or with none, take their results in call order."""
    for key in ("c", None):
        run = [_reply(call(key, "a", ""), call(key, "b", "")), result(key, "1"), result(key, "2")]
        assert list(steps_of(_read(run).turns, "tools")) == [Grow("a()", "1"), Grow("b()", "2")]


def test_result_answers_the_latest_message_that_called() -> None:
    """Where an id was used before by a call that nothing came back for, the result is the newer call's."""
    run = [_reply(call("c", "a", "")), _reply(call("c", "b", "")), result("c", "2")]
    assert list(steps_of(_read(run).turns, "tools")) == [Grow("a()", ""), Grow("b()", "2")]


def test_late_result_belongs_to_its_call() -> None:
    """A result that comes after the next reply is the result of its own call, and an observation where it came."""
    run = [_reply(call("c", "a", "")), _reply(content="waiting"), result("c", "1")]
    talk = _read(run)
    assert list(steps_of(talk.turns, "tools")) == [Grow("a()", "1")]
    assert list(steps_of(talk.turns, "messages")) == [Grow("a()", ""), Grow("waiting", "1")]


def test_call_without_result_has_an_empty_one() -> None:
    """A run that stopped inside a call keeps the call."""
    assert list(steps_of(_read([_reply(call("c", "a", ""))]).turns, "tools")) == [Grow("a()", "")]


@pytest.mark.parametrize(
    "run",
    [
        [result("c", "1")],
        [{"role": "user", "content": "x"}, result("c", "1")],
        [_reply(call("c", "a", "")), result("d", "1")],
        [_reply(call("c", "a", "")), result("c", "1"), result("c", "2")],
        [_reply(call("c", "a", "")), {"role": "tool", "content": "1"}],
        [_reply(call("c", "a", "")), {"role": "function", "name": "a", "content": "1"}],
    ],
)
def test_result_of_no_open_call_is_refused(run: list[Json]) -> None:
    """A result that nobody called for, or a second one, is refused at its own place."""
    found = conversation([Spot(message, (place,)) for place, message in enumerate(run)])
    assert isinstance(found, Malformed)
    assert found.path == (len(run) - 1,)


def test_older_function_messages_are_results() -> None:
    """A `function` message answers the open call of that function."""
    older: Json = {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}
    talk = _read([older, {"role": "function", "name": "a", "content": "1"}])
    assert list(steps_of(talk.turns, "tools")) == [Grow("a({})", "1")]


def test_refusal_is_part_of_what_the_agent_said() -> None:
    """A refusal stands in the action, also where there is no content."""
    talk = _read([{"role": "assistant", "content": None, "refusal": "I will not."}])
    assert list(steps_of(talk.turns, "messages")) == [Grow("I will not.", "")]


def test_several_messages_are_told_apart() -> None:
    """One message is its text; several are each under who said it, so none can pass for another's."""
    assert joined([]) == ""
    assert joined([Said("user", "a")]) == "a"
    assert joined([Said("tool look", "a"), Said("user", "b")]) == "tool look:\na\n\nuser:\nb"
