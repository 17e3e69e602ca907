"""Runs on servers as they are, over real HTTP, by both twins: what goes back with a call, a 400 without a reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from mage.agent import Outcome, RunFailed, RunFinished
from tests.agent.over_http.lives import POLICY, TWINS, Life, Place, Twin, lived
from tests.agent.over_http.provider import Fault, Provider
from tests.agent.toys import GOAL
from tests.llm.server import Answer, Completion, ScriptedServer, Status, call_of

_ODD: Final = Status(400, {"error": {"message": "That is a bit much for me."}})
_SIGNED: Final = {"google": {"thought_signature": "sig"}}
_BOTH: Final = pytest.mark.parametrize("twin", TWINS, ids=["Agent", "AsyncAgent"])


def _thinking(finish: str = "tool_calls") -> Answer:
    """Return two calls as a reasoning model makes them, with what its provider wants back."""
    first = {**call_of("act", '{"action": "turn 1"}', 0), "extra_content": _SIGNED}
    second = call_of("act", '{"action": "turn 1"}', 1)
    message = {"content": None, "reasoning_content": "By one, twice.", "tool_calls": [first, second]}
    return Completion(message, finish=finish)


def _run(
    twin: Twin, place: Place, on_request: Callable[[int], Answer | None]
) -> tuple[Outcome, list[dict[str, Any]]]:
    provider = Provider(on_request=on_request)
    with ScriptedServer(answering=provider) as server:
        return twin(server.url, place, Life(), POLICY), provider.seen


def _calls(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


@_BOTH
def test_what_stood_beside_a_call_goes_back_also_in_another_life(twin: Twin) -> None:
    """Both calls are one message with its reasoning and its signature; their ids follow from the steps."""
    place = Place()
    _, seen = _run(twin, place, lambda number: [_thinking(), Status(401)][number])
    _, resumed = _run(twin, place, lambda number: None)
    for body in (seen[1], resumed[0]):
        reset, said = _calls(body)
        assert "reasoning_content" not in reset
        assert said["reasoning_content"] == "By one, twice."
        assert [call.get("extra_content") for call in said["tool_calls"]] == [_SIGNED, None]
        ids = [call["id"] for message in (reset, said) for call in message["tool_calls"]]
        assert [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"] == ids
        assert all(re.fullmatch("[A-Za-z0-9]{9}", key) for key in ids)
    assert seen[1]["messages"][:-1] == resumed[0]["messages"][:-1]


@_BOTH
def test_calls_of_a_reply_that_is_not_whole_are_not_done(twin: Twin) -> None:
    """For whatever reason it ended; the model is told, and goes on."""
    place = Place()
    outcome, seen = _run(twin, place, lambda number: None if number else _thinking("network_error"))
    assert isinstance(outcome, RunFinished)
    assert "turn 1" not in place.ground.performed
    assert "broke off before its end (network_error)" in seen[1]["messages"][-1]["content"]


def test_an_unknown_400_is_worth_one_relief() -> None:
    """The prompt has grown since the server took one: a shorter one is tried, and the run goes on."""
    ran = lived(Life(Fault("model", _ODD, first=1, times=1)))
    assert isinstance(ran.outcome, RunFinished)
    assert [body["model"] for body in ran.seen[0][1:5]] == ["model", "summarizer", "judge", "model"]
    assert ran.dial == 2 * GOAL


def test_a_400_that_a_shorter_prompt_does_not_cure_ends_the_run() -> None:
    """After one relief, with the fault that it has; another life, with a server that is well, ends the task."""
    ran = lived(Life(Fault("model", _ODD, first=1)), Life())
    assert isinstance(ran.outcomes[0], RunFailed)
    assert ran.outcomes[0].reason == "model: rejected"
    assert [body["model"] for body in ran.seen[0]] == ["model", "model", "summarizer", "judge", "model"]
    assert isinstance(ran.outcome, RunFinished)


def test_a_400_with_a_reason_is_no_matter_of_length() -> None:
    """A setting that the server does not take is not taken with a shorter prompt either."""
    wrong = Status(400, {"error": {"message": "Unsupported parameter: 'tools'"}})
    ran = lived(Life(Fault("model", wrong, first=1)), Life())
    assert len(ran.seen[0]) == 2
    assert isinstance(ran.outcomes[0], RunFailed)
