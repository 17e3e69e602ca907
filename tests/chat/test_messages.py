"""Messages in the forms of three interfaces."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given

from mage.chat import (
    ACT,
    OWN_TOOLS,
    Form,
    Style,
    System,
    User,
    canonical,
    decide_messages,
    declared,
    system_prompt,
    written,
)
from mage.effects import Decide, Tool
from mage.engine import ExecutionState
from tests.render.states import execution_states

FORMS = get_args(Form)
WORDS = system_prompt("tools")


def chat_of(shown: ExecutionState) -> tuple[Any, ...]:
    """Return S as a chat with calls, without its system prompt."""
    return decide_messages(Decide(shown, ()), system=WORDS, mode="tools")[1:]


@pytest.mark.parametrize("form", FORMS)
@given(shown=execution_states)
def test_every_form_can_be_sent(form: Form, shown: ExecutionState) -> None:
    """It is JSON that UTF-8 can spell, with the call of every step in it."""
    sent = json.dumps(written(chat_of(shown), form), ensure_ascii=False).encode()
    assert all(f'"s{step.id:08d}"'.encode() in sent for step in shown.raw)


@given(shown=execution_states)
def test_each_call_stands_right_before_its_result(shown: ExecutionState) -> None:
    """In no form is a call without its result behind it, or a result without its call."""
    chat = chat_of(shown)
    openai = written(chat, "chat")
    called = [
        (message["tool_calls"][0]["id"], place)
        for place, message in enumerate(openai)
        if "tool_calls" in message
    ]
    assert [openai[place + 1].get("tool_call_id") for _, place in called] == [key for key, _ in called]
    responses = written(chat, "responses")
    kinds = [(item.get("type", ""), item.get("call_id", "")) for item in responses]
    calls = [place for place, (kind, _) in enumerate(kinds) if kind == "function_call"]
    assert [kinds[place + 1] for place in calls] == [
        ("function_call_output", kinds[place][1]) for place in calls
    ]
    assert sum(kind == "function_call_output" for kind, _ in kinds) == len(calls) == len(shown.raw)


@given(shown=execution_states)
def test_anthropic_s_roles_alternate(shown: ExecutionState) -> None:
    """The user begins, no role comes twice in a row, and a result begins the message behind its call."""
    found = written(chat_of(shown), "anthropic")
    assert [message["role"] for message in found] == ["user", "assistant"] * len(shown.raw) + ["user"]
    for before, after in zip(found[1::2], found[2::2], strict=True):
        (call,) = before["content"]
        assert (call["type"], after["content"][0]["tool_use_id"]) == ("tool_use", call["id"])


def test_anthropic_s_system_prompt_stands_beside_the_messages() -> None:
    """There is no message for it, and it is not left out in silence."""
    with pytest.raises(ValueError, match="beside the messages"):
        written([System("words"), User("hello")], "anthropic")


@pytest.mark.parametrize("style", get_args(Style))
def test_tools_are_declared_as_each_interface_takes_them(style: Style) -> None:
    """Name, description and schema are in each, and nothing but JSON."""
    option = Tool("look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}})
    for tool, found in zip(
        (ACT, *OWN_TOOLS, option), declared((ACT, *OWN_TOOLS, option), style), strict=True
    ):
        text = canonical(found)
        assert tool.name in text
        assert canonical(tool.description) in text
        assert canonical(tool.parameters) in text
        assert ('"strict":true' in text) == (style != "mcp" and tool is not option)
