"""Replies of any kind: a decision, a verdict, a text, or an error with one of the faults of a useless reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage.chat import ToolCall, offered
from mage.chat.replies import Reply, decide_by_calls, decide_by_json, decide_by_text, read_text, read_verdict
from mage.effects import Decision, EffectError, Finish, Tool, Usage
from mage.engine import Compress, Failed, Passed, Revise
from mage.llm.completions import (
    ProviderError,
    read_completion,
    read_json_completion,
    read_streamed_completion,
)
from tests.llm.twins import tried

TOOLS: Final = (
    Tool.of("search", "Search.", query={"type": "string"}, page={"type": "integer"}),
    Tool("look", "Look.", {"type": "object"}),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 30)
    | st.floats()
    | st.sampled_from(["act", "search", "finish", "revise", "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "arguments", "move", "passed", "fault", "feedback", "step", "lesson", "action", "text",
                 "choices", "message", "content", "tool_calls", "function", "delta", "usage", "error", "code", "id"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip
_NESTED: Final = '{"a":' * 5000
texts = (
    st.text(max_size=30)
    | json_values.map(json.dumps)
    | st.sampled_from(["{", '{"move":', "```json\n{}```", "NaN"])
)
names = st.sampled_from(["act", "search", "look", "compress", "revise", "finish", "fly", ""])
tool_calls = st.builds(ToolCall, st.text(max_size=3), names, texts)
replies = st.builds(
    Reply,
    texts,
    st.lists(tool_calls, max_size=3).map(tuple),
    st.sampled_from(["", "", "", "no"]),
    st.sampled_from(["stop", "stop", "tool_calls", "length", "content_filter", "odd", None]),
    st.just(Usage()),
)
_DECIDERS: Final = (decide_by_calls, decide_by_json, decide_by_text)


@pytest.mark.parametrize("tools", [(), TOOLS], ids=["any text", "tools"])
@pytest.mark.parametrize("decide", _DECIDERS, ids=lambda decide: decide.__name__)
@given(reply=replies)
@example(reply=Reply('{"move": {"name": "look", "arguments": {"a": 1e999}}}', finish="stop"))
@example(reply=Reply("x", (ToolCall("", "look", '{"a": 1e999}'),), finish="stop"))
@example(reply=Reply('{"move": {"name": "act", "arguments": {"action": NaN}}}', finish="stop"))
@example(reply=Reply("Action[ ]", finish="stop"))
@example(reply=Reply(_NESTED, (ToolCall("", "look", _NESTED),), finish="stop"))
@example(reply=Reply("x", (ToolCall("", "look", '{"a":' + "[" * 900 + "]" * 900 + "}"),), finish="stop"))
@example(reply=Reply("x", (ToolCall("", "revise", '{"step": 1e300, "lesson": ""}'),), finish="stop"))
@example(reply=Reply("x", (ToolCall("", "look", f'{{"a": {"9" * 5000}}}'),), finish="stop"))
def test_any_reply_is_a_decision_or_an_error(
    tools: tuple[Tool, ...], decide: Callable[[Reply, Any], Decision], reply: Reply
) -> None:
    """Each mode reads any reply whatever: a decision that does something, or an error that says what was wrong."""
    decision = tried(lambda: decide(reply, offered(tools)))
    if isinstance(decision, EffectError):
        assert decision.unusable
        assert decision.detail
    else:
        assert decision.actions or decision.then is not None
        assert all(action.text for action in decision.actions)
        assert isinstance(decision.then, Compress | Revise | Finish | None)
        assert reply.finish not in (None, "length", "content_filter")
        assert not reply.refusal


@given(reply=replies)
def test_any_reply_is_a_verdict_or_an_error(reply: Reply) -> None:
    """A failure always says what is wrong and where the fault is."""
    verdict = tried(lambda: read_verdict(reply))
    if isinstance(verdict, EffectError):
        assert verdict.unusable
        assert verdict.detail
    else:
        assert isinstance(verdict, Passed | Failed)
        if isinstance(verdict, Failed):
            assert verdict.feedback.strip()
            assert verdict.fault in ("summary", "execution")


@given(reply=replies)
def test_any_reply_is_a_text_or_an_error(reply: Reply) -> None:
    """A text is never blank, and never one that was refused or cut off."""
    text = tried(lambda: read_text(reply))
    if isinstance(text, EffectError):
        assert text.unusable
        assert text.detail
    else:
        assert text.strip()
        assert not reply.refusal
        assert reply.finish not in (None, "length", "content_filter")


@given(document=json_values)
@example(document={"choices": [{"message": {"content": [{"type": "text", "text": "a"}, 3]}}]})
@example(document={"error": "no"})
def test_any_json_is_a_reply_or_a_providers_error(document: Any) -> None:
    """Whatever a server sends under a 200, nothing but these two comes of it."""
    came = read_completion(document)
    assert isinstance(came, Reply | ProviderError)
    assert type(came) is type(read_json_completion(json.dumps(document)))


@given(body=texts)
@example(body=_NESTED)
def test_any_body_is_a_reply_or_a_providers_error(body: str) -> None:
    """The same for what is not JSON at all."""
    assert isinstance(read_json_completion(body), Reply | ProviderError)


@given(chunks=st.lists(json_values.map(json.dumps) | texts, max_size=4), ending=st.booleans())
def test_any_stream_is_a_reply_or_a_providers_error(chunks: list[str], ending: bool) -> None:
    """The same for the events of a stream, whole or not."""
    lines = [line for chunk in chunks for line in (f"data: {chunk}", "")]
    came = read_streamed_completion("\n".join([*lines, "data: [DONE]", ""] if ending else lines[:-1]))
    assert isinstance(came, Reply | ProviderError)
