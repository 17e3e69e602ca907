"""A chat completion as it came over the wire, read into a `Reply`. Any JSON whatever.

The SDK builds its models without looking: with a server that is not OpenAI's, a field may be missing or of
another type. So the JSON itself is read, and what is not as it should be counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast, final

import attrs

from mage.chat import ToolCall
from mage.effects import Usage
from mage.llm.asking import Reply
from mage.llm.events import Events, Lines
from mage.llm.faults import ProviderError, provider_error

__all__ = ["Gathering", "read_completion", "read_json_completion", "read_streamed_completion"]

_ASIDE: Final = ("reasoning", "reasoning_content")  # some give both, and the same in both
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
        aside=max([_text(message.get(name)) for name in _ASIDE], key=len),
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
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except RecursionError:  # it was just not too deep to be read
        return ""


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
    gathering = Gathering()
    for line in lines:
        gathering.take_line(line)
    return gathering.came()


@final
class Gathering:
    """A completion that comes in pieces; of each event it keeps what the reply needs, and not the event.

    One that broke off has no `finish_reason`. Cost: O(length) in all, and memory for the texts alone.
    """

    def __init__(self) -> None:
        self._lines = Lines()
        self._events = Events()
        self._wrong: ProviderError | None = None
        self._whole: dict[str, object] = {}
        self._texts: dict[str, list[str]] = {name: [] for name in ("content", "refusal", *_ASIDE)}
        self._calls = _GrowingCalls()
        self._finish: object = None

    def take(self, piece: bytes) -> bool:
        """Take the next bytes; tell whether nothing that follows would count."""
        is_last = self._lines.take(piece)
        for line in self._lines.drain():
            self.take_line(line)
        return is_last or self._wrong is not None

    def take_line(self, line: str) -> None:
        """Take the next line."""
        data = self._events.take(line)
        if data is None or self._wrong is not None:
            return
        try:
            chunk = _mapping(json.loads(data))
        except (ValueError, RecursionError):
            self._wrong = ProviderError(200, "", "a piece of the stream is not JSON")
            return
        self._wrong = _error(chunk)
        if self._wrong is None:
            self._add(chunk)

    def _add(self, chunk: Mapping[str, object]) -> None:
        self._whole.update({key: chunk[key] for key in ("usage", "model") if chunk.get(key)})
        choice = _first_choice(chunk)
        self._finish = choice.get("finish_reason") or self._finish
        delta = _mapping(choice.get("delta"))
        for name, pieces in self._texts.items():
            content = _content(delta.get(name))
            if content:
                pieces.append(content)
        for item in _items(delta.get("tool_calls")):
            self._calls.add(_mapping(item))

    def came(self) -> Reply | ProviderError:
        """Return what it has come to; a line that was not ended counts."""
        for line in self._lines.all():
            self.take_line(line)
        if self._wrong is not None:
            return self._wrong
        message = {name: "".join(pieces) for name, pieces in self._texts.items()}
        called = {**message, "tool_calls": self._calls.whole()}
        return read_completion(
            {**self._whole, "choices": [{"message": called, "finish_reason": self._finish}]}
        )


@final
@attrs.define
class _GrowingCall:
    """A call of which not every piece need be there yet."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = attrs.field(factory=list)


@final
class _GrowingCalls:
    """The calls of a stream, and of each index the last one, so that no piece has to look for its own."""

    def __init__(self) -> None:
        self._calls: list[_GrowingCall] = []
        self._last_at: dict[int, _GrowingCall] = {}

    def add(self, piece: Mapping[str, object]) -> None:
        """Add a piece to its call, or begin one. Cost: O(size of the piece)."""
        function = _mapping(piece.get("function"))
        identity, name = _text(piece.get("id")), _text(function.get("name"))
        call = self._grown_by(piece.get("index"), identity, name)
        call.id = identity or call.id
        call.name = name or call.name
        call.arguments.append(_arguments(function.get("arguments") or ""))

    def _grown_by(self, index: object, identity: str, name: str) -> _GrowingCall:
        """Return the call that a piece belongs to.

        Some servers leave the index out, and some give 0 to every call: a name with another id begins a call.
        """
        place = index if isinstance(index, int) else None
        last = self._calls[-1] if self._calls else None
        call = last if place is None else self._last_at.get(place)
        if call is not None and not (name and call.name and identity != call.id):
            return call
        begun = _GrowingCall(len(self._calls) if place is None else place)
        self._calls.append(begun)
        self._last_at[begun.index] = begun
        return begun

    def whole(self) -> list[dict[str, object]]:
        """Return them as a completion has them, in the order of their indices."""
        return [
            {"id": call.id, "function": {"name": call.name, "arguments": "".join(call.arguments)}}
            for call in sorted(self._calls, key=lambda call: call.index)
        ]
