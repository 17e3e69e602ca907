"""A chat completion as it came over the wire, read into a `Reply`. Any JSON whatever.

The SDK builds its models without looking: with a server that is not OpenAI's, a field may be missing or of
another type. So the JSON itself is read, and what is not as it should be counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast, final

import attrs

from mage.agent.prompts import ToolCall
from mage.effects import Usage
from mage.llm.asking import Reply
from mage.llm.events import data_of
from mage.llm.faults import ProviderError, provider_error

__all__ = ["read_completion", "read_json_completion", "read_streamed_completion"]

_NO_COMPLETION: Final = ProviderError(200, "", "what came back is no chat completion")


def read_json_completion(body: str) -> Reply | ProviderError:
    """Return what the body of a response says. Cost: O(length)."""
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return _NO_COMPLETION
    return read_completion(document)


def read_completion(document: object) -> Reply | ProviderError:
    """Return the first choice of a completion, or the error that came in its place under a 200."""
    whole = _mapping(document)
    error = _error(whole)
    if error is not None:
        return error
    choices = whole.get("choices")
    if not isinstance(choices, list):
        return _NO_COMPLETION
    choice = _first_choice(whole)
    message = _mapping(choice.get("message"))
    finish = choice.get("finish_reason")
    return Reply(
        text=_content(message.get("content")),
        calls=tuple(_calls(message.get("tool_calls"))),
        refusal=_text(message.get("refusal")),
        # No choice at all is no reply that broke off: it is an empty one.
        finish=(_text(finish) or None) if choices else "stop",
        usage=_usage(whole.get("usage")),
        model=_text(whole.get("model")),
    )


def _error(whole: Mapping[str, object]) -> ProviderError | None:
    """Return the error that stands in place of a completion, or in its choice: some routers put it there."""
    for place in (whole, _first_choice(whole)):
        if place.get("error"):
            return provider_error(200, place, {})
    return None


def _first_choice(whole: Mapping[str, object]) -> Mapping[str, object]:
    return _mapping(next(iter(_items(whole.get("choices"))), None))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _content(value: object) -> str:
    """Return a message's content; some servers give it in parts."""
    if isinstance(value, str):
        return value
    return "".join([_text(_mapping(part).get("text")) for part in _items(value)])


def _calls(value: object) -> Iterable[ToolCall]:
    for place, item in enumerate(_items(value)):
        call = _mapping(item)
        function = _mapping(call.get("function"))
        written = _arguments(function.get("arguments") or {})
        yield ToolCall(_text(call.get("id")) or f"call_{place}", _text(function.get("name")), written)


def _arguments(value: object) -> str:
    """Return the arguments of a call as their text; some servers give an object."""
    return value if isinstance(value, str) else json.dumps(value)


def _usage(value: object) -> Usage:
    counts = _mapping(value)
    details = _mapping(counts.get("prompt_tokens_details"))
    return Usage(
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        _count(details.get("cached_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read_streamed_completion(lines: Iterable[str]) -> Reply | ProviderError:
    """Return what the lines of an event stream add up to. Any lines. Cost: O(length)."""
    chunks: list[Mapping[str, object]] = []
    for data in data_of(lines):
        try:
            chunk = _mapping(json.loads(data))
        except (ValueError, RecursionError):
            return ProviderError(200, "", "a piece of the stream is not JSON")
        error = _error(chunk)
        if error is not None:
            return error
        chunks.append(chunk)
    return read_completion(_gathered(chunks))


def _gathered(chunks: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Return the completion that the chunks of a stream add up to. One that broke off has no `finish_reason`.

    Cost: O(size).
    """
    whole: dict[str, object] = {}
    texts: dict[str, list[str]] = {"content": [], "refusal": []}
    calls: list[_GrowingCall] = []
    finish: object = None
    for chunk in chunks:
        whole.update({key: chunk[key] for key in ("usage", "model") if chunk.get(key)})
        choice = _first_choice(chunk)
        finish = choice.get("finish_reason") or finish
        delta = _mapping(choice.get("delta"))
        for name, pieces in texts.items():
            pieces.append(_content(delta.get(name)))
        for item in _items(delta.get("tool_calls")):
            _add(calls, _mapping(item))
    message = {name: "".join(pieces) for name, pieces in texts.items()}
    ordered = [
        {"id": call.id, "function": {"name": call.name, "arguments": "".join(call.arguments)}}
        for call in sorted(calls, key=lambda call: call.index)
    ]
    return {**whole, "choices": [{"message": {**message, "tool_calls": ordered}, "finish_reason": finish}]}


@final
@attrs.define
class _GrowingCall:
    """A call of which not every piece need be there yet."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = attrs.field(factory=list)


def _add(calls: list[_GrowingCall], piece: Mapping[str, object]) -> None:
    """Add a piece to its call, or begin one."""
    function = _mapping(piece.get("function"))
    identity, name = _text(piece.get("id")), _text(function.get("name"))
    call = _grown_by(calls, piece.get("index"), identity, name)
    call.id = identity or call.id
    call.name = name or call.name
    call.arguments.append(_arguments(function.get("arguments") or ""))


def _grown_by(calls: list[_GrowingCall], index: object, identity: str, name: str) -> _GrowingCall:
    """Return the call that a piece belongs to.

    Some servers leave the index out, and some give 0 to every call: a name with another id begins a call.
    """
    place = index if isinstance(index, int) else None
    found = [call for call in calls if place is None or call.index == place][-1:]
    for call in found:
        if not (name and call.name and identity != call.id):
            return call
    begun = _GrowingCall(place if place is not None else len(calls))
    calls.append(begun)
    return begun
