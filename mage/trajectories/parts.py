"""What an OpenAI chat message consists of: its text and its tool calls."""

from __future__ import annotations

from typing import Final, final

import attrs

from mage.trajectories.fields import Json, Spot, canonical, field, text_at
from mage.trajectories.trajectory import Malformed

__all__ = ["Call", "calls_of", "content_text", "function_key", "id_key"]

_TEXT_PARTS: Final = ("text", "input_text", "output_text")


@final
@attrs.frozen
class Call:
    """A tool call.

    Attributes:
        name: the tool's name.
        arguments: as they were written; contents are compared exactly (D15).
        key: what a result names it by.
    """

    name: str
    arguments: str
    key: str

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


def content_text(content: Spot) -> str | Malformed:
    """Return a message's content as text: null is empty; of parts each is a line, or more.

    A part that is not text, such as an image, becomes its canonical JSON.
    """
    if content.value is None:
        return ""
    if isinstance(content.value, str):
        return content.value
    parts = content.items("a string, a list of parts or null")
    if isinstance(parts, Malformed):
        return parts
    texts: list[str] = []
    for part in parts:
        if not isinstance(part.value, str | dict):
            return part.expected("a part of a message: an object or a string")
        texts.append(part.value if isinstance(part.value, str) else _part(part.value))
    return "\n".join(texts)


def _part(part: dict[str, Json]) -> str:
    text = part.get("text")
    return text if part.get("type") in _TEXT_PARTS and isinstance(text, str) else canonical(part)


def id_key(spot: Spot, name: str) -> str | Malformed:
    """Return a call id; where a recorder writes none, order alone tells which call is meant."""
    found = spot.get(name)
    return "" if found is None or found.value is None else found.text()


def function_key(name: str) -> str:
    """Return what ties a result of the older `function` role to its call: the function's name."""
    return f"function {name}"


def calls_of(message: Spot) -> tuple[Call, ...] | Malformed:
    """Return an assistant message's tool calls, in order; also the one in the older `function_call`."""
    calls: list[Call] = []
    for spot in _listed(message):
        call = spot if isinstance(spot, Malformed) else _call(spot)
        if isinstance(call, Malformed):
            return call
        calls.append(call)
    old = message.get("function_call")
    if old is not None and old.value is not None:
        call = _called(old, "arguments", None)
        if isinstance(call, Malformed):
            return call
        calls.append(call)
    return tuple(calls)


def _listed(message: Spot) -> list[Spot] | list[Malformed]:
    listed = message.get("tool_calls")
    if listed is None or listed.value is None:
        return []
    spots = listed.items("a list of tool calls or null")
    return [spots] if isinstance(spots, Malformed) else spots


def _call(spot: Spot) -> Call | Malformed:
    key = id_key(spot, "id")
    if isinstance(key, Malformed):
        return key
    kind, given = ("custom", "input") if spot.has("custom") else ("function", "arguments")
    found = field(spot, kind)
    return found if isinstance(found, Malformed) else _called(found, given, key)


def _called(spot: Spot, given: str, key: str | None) -> Call | Malformed:
    name = text_at(spot, "name")
    if isinstance(name, Malformed):
        return name
    found = spot.get(given)
    value = "" if found is None else found.value
    arguments = value if isinstance(value, str) else canonical(value)
    return Call(name, arguments, function_key(name) if key is None else key)
