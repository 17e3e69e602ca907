"""A chat completion as it came over the wire, read into a `Reply`. Any JSON whatever.

The SDK builds its models without looking: with a server that is not OpenAI's, a field may be missing or of
another type. So the JSON itself is read, and what is not as it should be counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from mage.agent.prompts import ToolCall
from mage.effects import Usage
from mage.llm.asking import Reply
from mage.llm.faults import ProviderError, provider_error

__all__ = ["LAST_LINE", "read_completion", "read_json_completion", "read_streamed_completion"]

LAST_LINE: Final = "data: [DONE]"
"""With this a stream ends."""
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
    if whole.get("error"):
        return provider_error(200, document, {})
    choices = whole.get("choices")
    if not isinstance(choices, list):
        return _NO_COMPLETION
    choice = _mapping(choices[0] if choices else None)
    message = _mapping(choice.get("message"))
    finish = choice.get("finish_reason")
    return Reply(
        text=_content(message.get("content")),
        calls=tuple(_calls(message.get("tool_calls"))),
        refusal=_text(message.get("refusal")),
        # No choice at all is no reply that broke off: it is an empty one.
        finish=finish if isinstance(finish, str) else None if choices else "stop",
        usage=_usage(whole.get("usage")),
        model=_text(whole.get("model")),
    )


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
        arguments = function.get("arguments")
        # Some servers give an object and not its text, and nothing where there are no arguments.
        written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        yield ToolCall(_text(call.get("id")) or f"call_{place}", _text(function.get("name")), written)


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
    for data in _events(lines):
        try:
            chunk = _mapping(json.loads(data))
        except (ValueError, RecursionError):
            return ProviderError(200, "", "a piece of the stream is not JSON")
        if chunk.get("error"):
            return provider_error(200, chunk, {})
        chunks.append(chunk)
    return read_completion(_gathered(chunks))


def _events(lines: Iterable[str]) -> Iterator[str]:
    """Yield the data of each event that an empty line ends; what broke off within one is dropped, as SSE has it."""
    data: list[str] = []
    for line in lines:
        if line == LAST_LINE:
            return
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def _gathered(chunks: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Return the completion that the chunks of a stream add up to. One that broke off has no `finish_reason`.

    Cost: O(size).
    """
    whole: dict[str, object] = {}
    texts: dict[str, list[str]] = {"content": [], "refusal": []}
    calls: dict[int, dict[str, Any]] = {}  # JSON as it grows
    finish: object = None
    for chunk in chunks:
        whole.update({key: chunk[key] for key in ("usage", "model") if chunk.get(key)})
        choice = _mapping(next(iter(_items(chunk.get("choices"))), None))
        finish = choice.get("finish_reason") or finish
        delta = _mapping(choice.get("delta"))
        for name, pieces in texts.items():
            pieces.append(_text(delta.get(name)))
        for item in _items(delta.get("tool_calls")):
            _add(calls, _mapping(item))
    message = {name: "".join(pieces) for name, pieces in texts.items()}
    ordered = [
        {"id": call["id"], "function": {"name": call["name"], "arguments": "".join(call["arguments"])}}
        for _, call in sorted(calls.items())
    ]
    return {**whole, "choices": [{"message": {**message, "tool_calls": ordered}, "finish_reason": finish}]}


def _add(calls: dict[int, dict[str, Any]], piece: Mapping[str, object]) -> None:
    """Add a piece of a call to it."""
    index = piece.get("index")
    place = index if isinstance(index, int) else len(calls)
    call = calls.setdefault(place, {"id": "", "name": "", "arguments": []})
    function = _mapping(piece.get("function"))
    call["id"] = _text(piece.get("id")) or call["id"]
    call["name"] = _text(function.get("name")) or call["name"]
    call["arguments"].append(_text(function.get("arguments")))
