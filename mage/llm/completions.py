"""A call of a chat model, and the answer of its server: a `Reply`, or a `ProviderError` (`mage.llm.faults`).

The SDK builds its models without a check: with a server that is not OpenAI's, a field may be missing or of another
type. So this module reads the JSON itself, and a value of a wrong type counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, final

import attrs

from mage.chat import ChatMessage, ToolCall
from mage.chat.beside import thoughts_beside
from mage.chat.messages import chat_beside
from mage.chat.parts import content_of, list_of, mapping_of, string_of, transcript_of
from mage.chat.replies import Reply
from mage.effects import EffectError, Schema, Tool, Usage
from mage.effects.program import Ask
from mage.engine import MageError
from mage.llm.faults import ProviderError, provider_error

_NO_COMPLETION: Final = ProviderError(200, "", "what came back is no chat completion")


@final
@attrs.frozen
class Call(Ask[Reply]):
    """A question to a model, which a program awaits.

    Attributes:
        messages: the chat.
        tools: the tools that the model may call.
        schema: the schema of the reply, for servers that enforce it; None for any text.
        named: the name of that schema.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    schema: Schema | None = None
    named: str = ""


@final
@attrs.define
class NotEnforced(MageError):
    """A server has rejected a call with a schema, perhaps because it cannot enforce schemas; `error`, if that was not the reason."""

    error: EffectError


# -- replies -------------------------------------------------------------------------------------------


def read_json_completion(body: str) -> Reply | ProviderError:
    """Return the reply or the error in the body of a response. Cost: O(length)."""
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return _NO_COMPLETION
    return read_completion(document)


def read_completion(document: object) -> Reply | ProviderError:
    """Return the first choice of a completion, or the error that came in its place under a 200. Any JSON."""
    whole = mapping_of(document)
    error = error_in(whole)
    if error is not None:
        return error
    choices = whole.get("choices")
    if not isinstance(choices, list):
        said = provider_error(200, whole, {})
        return said if said.message else _NO_COMPLETION
    choice = first_choice(whole)
    message = mapping_of(choice.get("message"))
    finish = choice.get("finish_reason")
    content = content_of(message.get("content"), others=lambda part: string_of(mapping_of(part).get("text")))
    return Reply(
        text="".join(content.texts) or transcript_of(message.get("audio")),
        calls=_calls(message),
        refusal=string_of(message.get("refusal")) or content.refusal,
        # No choice at all is no reply that broke off: it is an empty one.
        finish=(string_of(finish) or None) if choices else "stop",
        usage=_usage(whole.get("usage")),
        model=string_of(whole.get("model")),
        aside=thoughts_beside(message) or "\n".join(content.thoughts),
    )


def error_in(whole: Mapping[str, object]) -> ProviderError | None:
    """Return the error that stands in place of a completion, or in its choice, where some routers put it."""
    for place in (whole, first_choice(whole)):
        if place.get("error"):
            return provider_error(200, place, {})
    return None


def first_choice(whole: Mapping[str, object]) -> Mapping[str, object]:
    """Return the first choice of a completion or of a chunk, an empty one where there is none."""
    return mapping_of(next(iter(list_of(whole.get("choices"))), None))


def _calls(message: Mapping[str, object]) -> tuple[ToolCall, ...]:
    """Return the calls of a message, with what the provider put beside them."""
    listed = [mapping_of(item) for item in list_of(message.get("tool_calls"))]
    calls = []
    for place, (call, kept) in enumerate(zip(listed, chat_beside(message, listed), strict=True)):
        function = mapping_of(call.get("function"))
        key, name = string_of(call.get("id")) or f"call_{place}", string_of(function.get("name"))
        calls.append(ToolCall(key, name, arguments_of(function.get("arguments") or {}), kept))
    return tuple(calls)


def arguments_of(value: object) -> str:
    """Return the arguments of a call as their text; some servers give an object."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except RecursionError:  # the decoder goes a little deeper than the encoder
        return ""


def _usage(value: object) -> Usage:
    counts = mapping_of(value)
    details = mapping_of(counts.get("prompt_tokens_details"))
    return Usage(
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        _count(details.get("cached_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
