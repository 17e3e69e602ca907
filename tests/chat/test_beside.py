"""What a provider puts beside a call goes back with it, in the form that it came in, and in no other."""

from __future__ import annotations

import json
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import Form, ToolCall, decide_messages, read_reply, state_messages, system_prompt, written
from mage.chat.messages import Assistant
from mage.effects import Decide
from mage.engine import Grow, Start, StepId
from tests.llm.requests import DECIDE, shown_after

_THINKING: Final = {"type": "thinking", "thinking": "Which?", "signature": "s"}
_REASONING: Final = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "xyz"}
_SIGNED: Final = {"google": {"thought_signature": "sig"}}
_CALLS: Final = [
    {
        "id": "a",
        "type": "function",
        "function": {"name": "buy", "arguments": '{"item":"x"}'},
        "extra_content": _SIGNED,
    },
    {"id": "b", "type": "function", "function": {"name": "buy", "arguments": '{"item":"y"}'}},
]
REPLIES: Final[dict[Form, dict[str, Any]]] = {
    "chat": {"role": "assistant", "content": None, "reasoning_content": "Which?", "tool_calls": _CALLS},
    "responses": {
        "output": [
            {**_REASONING, "status": None, "content": None},
            {"type": "function_call", "call_id": "a", "name": "buy", "arguments": '{"item":"x"}'},
            {"type": "function_call", "call_id": "b", "name": "buy", "arguments": '{"item":"y"}'},
        ]
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [
            _THINKING,
            {"type": "text", "text": "Both."},
            {"type": "tool_use", "id": "a", "name": "buy", "input": {"item": "x"}},
            {"type": "tool_use", "id": "b", "name": "buy", "input": {"item": "y"}},
        ],
    },
}


def asked(form: Form, *, steps: int = 2) -> Decide:
    """Return the question after the calls of a reply were done, as far as steps are shown."""
    shown = shown_after(
        Start("Buy."), Grow('buy {"item":"x"}', "bought x"), Grow('buy {"item":"y"}', "bought y")
    )
    beside = {
        StepId(place): call.beside for place, call in enumerate(read_reply(REPLIES[form]).calls, start=1)
    }
    return Decide(attrs.evolve(shown, raw=shown.raw[-steps:]), (), beside=beside)


def shown_as(form: Form, *, of: Form | None = None, steps: int = 2) -> list[dict[str, Any]]:
    """Return the messages that a host is given for its model."""
    return written(state_messages(asked(of or form, steps=steps), steps="calls"), form)


def test_chat_s_fields_go_back_into_message_and_call() -> None:
    """Both calls stand in one message, as in the reply, with its reasoning and the signature of the first."""
    _, said, first, second, _ = shown_as("chat")
    assert said["reasoning_content"] == "Which?"
    assert [call.get("extra_content") for call in said["tool_calls"]] == [_SIGNED, None]
    assert [first["tool_call_id"], second["tool_call_id"]] == ["s00000001", "s00000002"]


def test_anthropic_s_thinking_stands_before_its_call() -> None:
    """The message begins with it, and is answered by one message with both results."""
    user, said, results = shown_as("anthropic")
    assert user["role"] == "user"
    assert said["content"][0] == _THINKING
    assert [block["type"] for block in said["content"]] == ["thinking", "tool_use", "tool_use"]
    assert [block["type"] for block in results["content"]] == ["tool_result", "tool_result", "text"]


def test_responses_reasoning_stands_before_its_call() -> None:
    """Without the nulls that a client's SDK writes and its server refuses."""
    _, reasoning, first, second, *results, _ = shown_as("responses")
    assert reasoning == _REASONING
    assert [first["type"], second["type"]] == ["function_call", "function_call"]
    assert [result["call_id"] for result in results] == ["s00000001", "s00000002"]


@pytest.mark.parametrize("form", REPLIES)
@pytest.mark.parametrize("of", REPLIES)
def test_no_form_takes_what_another_has_put(form: Form, of: Form) -> None:
    """A memory that goes to another model does not send it foreign fields."""
    sent = json.dumps(shown_as(form, of=of))
    assert ("Which?" in sent or "xyz" in sent) == (form == of)


def test_a_call_whose_first_is_no_longer_shown_stands_alone() -> None:
    """What belongs to the message went with the first call of the reply."""
    _, said, result, _ = shown_as("chat", steps=1)
    assert "reasoning_content" not in said
    assert [call["id"] for call in said["tool_calls"]] == [result["tool_call_id"]] == ["s00000002"]


def test_the_default_shows_text_and_needs_nothing_of_it() -> None:
    """S as text has no calls, so nothing stands beside them."""
    assert "Which?" not in json.dumps(written(state_messages(asked("chat")), "chat"))


@pytest.mark.parametrize(
    "reply",
    [
        {
            "role": "assistant",
            "content": None,
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}],
        },
        {"role": "assistant", "content": [_THINKING, {"type": "text", "text": "So."}]},
        {"role": "assistant", "content": None, "thinking_blocks": [_THINKING]},
    ],
    ids=["reasoning_details", "thinking in the content", "thinking_blocks"],
)
def test_other_ways_of_chat_go_back_too(reply: dict[str, Any]) -> None:
    """OpenRouter's details, and thinking in parts of the content or beside it."""
    (call,) = read_reply({**reply, "tool_calls": _CALLS[1:]}).calls
    (said,) = written([Assistant(call=call)], "chat")
    for name, value in reply.items():
        kept = [_THINKING] if name == "content" and value else value
        assert said[name] == kept


def test_a_reply_without_more_is_kept_without_more() -> None:
    """Nothing is kept where a provider put nothing; calls of one reply stand one after the other, as ever."""
    reply = read_reply({"role": "assistant", "content": "So.", "tool_calls": _CALLS[1:] * 2})
    assert [call.beside for call in reply.calls] == ["", ""]


@given(
    st.text(max_size=30)
    | st.sampled_from(['{"form":"chat","message":5}', '{"form":"chat","call":[]}', "[" * 9000])
)
@pytest.mark.parametrize("form", REPLIES)
def test_whatever_a_journal_holds_can_be_sent(form: Form, beside: str) -> None:
    """A meta that others have written harms nothing, and never changes role, name or arguments."""
    said = Assistant(call=ToolCall("s00000001", "buy", "{}", beside))
    assert written([said], form) == written([Assistant(call=ToolCall("s00000001", "buy", "{}"))], form)


def test_a_journal_cannot_change_what_a_message_is() -> None:
    """Only what a provider wants back is taken out of the meta."""
    beside = json.dumps(
        {"form": "chat", "message": {"role": "system", "x": 1}, "call": {"id": "z", "name": "pay"}}
    )
    said = Assistant(call=ToolCall("s00000001", "buy", "{}", beside))
    assert written([said], "chat") == written([Assistant(call=ToolCall("s00000001", "buy", "{}"))], "chat")


def test_a_model_of_ours_sees_it_too() -> None:
    """In the mode with tools; the other modes show moves as text."""
    words = system_prompt("tools")
    beside = read_reply(REPLIES["chat"]).calls[0].beside
    request = attrs.evolve(DECIDE, beside={DECIDE.shown.raw[0].id: beside})
    sent = written(decide_messages(request, system=words, mode="tools"), "chat")
    assert sent[2]["reasoning_content"] == "Which?"
    for mode in ("text", "json"):
        assert "Which?" not in json.dumps(written(decide_messages(request, system=words, mode=mode), "chat"))
