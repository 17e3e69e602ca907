"""What a chat message consists of: its text and its tool calls, whatever form a recorder gave them.

Nothing is refused and nothing is lost here: what is not in a known form is kept as its canonical JSON, and noted.
"""

from __future__ import annotations

import json
from typing import Final, final

import attrs

from mage.chat import BadAction, action_text, read_arguments
from mage.trajectories.fields import Json, Spot, canonical
from mage.trajectories.oddities import Oddities

__all__ = ["Call", "call_of", "calls_of", "content_text", "function_key", "key_at", "text_of"]

_TEXT_PARTS: Final = ("text", "input_text", "output_text")
_FLAT_CALL: Final = frozenset({"id", "call_id", "type", "status", "name", "arguments"})


@final
@attrs.frozen
class Call:
    """A tool call.

    Attributes:
        name: the tool's name; None where it has none in a known form, and `arguments` is all of it.
        arguments: as they were written.
        key: what a result names it by.
    """

    name: str | None
    arguments: str
    key: str

    @property
    def action(self) -> str:
        """The action of the step, spelled as a live call is (`mage.chat.action_text`).

        Arguments that are no JSON object cannot be a live call's; they stay as they were written.
        """
        if self.name is None:
            return self.arguments
        try:
            return action_text(self.name, read_arguments(self.arguments))
        except (BadAction, ValueError, RecursionError):
            return f"{self.name} {self.arguments}"


def text_of(message: Spot, odd: Oddities, *, name: str = "content") -> str:
    """Return the text of a field that every message has as a rule; where it is missing or null, nothing."""
    content = message.get(name)
    if content is None or content.value is None:
        odd.note(f"a record without {name}", message.path)
        return ""
    return content_text(content, odd)


def content_text(content: Spot, odd: Oddities) -> str:
    """Return a message's content as text: null is empty; of parts each is a line, or more.

    What is no text, such as an image, becomes its canonical JSON.
    """
    if content.value is None:
        return ""
    if isinstance(content.value, str):
        return content.value
    if isinstance(content.value, list):
        return "\n".join([_part(part, content, odd) for part in content.value])
    odd.note("content that is no text, kept as JSON", content.path)
    return canonical(content.value)


def _part(part: Json, content: Spot, odd: Oddities) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) and part.get("type") in _TEXT_PARTS else None
    if isinstance(text, str):
        return text
    odd.note("a part of a content that is no text, kept as JSON", content.path)
    return canonical(part)


def key_at(spot: Spot, *names: str) -> str:
    """Return a call id, under the first of these names that has one.

    Where a recorder writes none it is empty: order alone tells which call is meant.
    """
    values = [found.value for found in map(spot.get, names) if found is not None]
    value = next((value for value in values if value is not None), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None else value if isinstance(value, str) else canonical(value)


def function_key(name: str) -> str:
    """Return what ties a result of the older `function` role to its call: the function's name."""
    return f"function {name}"


def calls_of(message: Spot, odd: Oddities) -> tuple[Call, ...]:
    """Return an assistant message's tool calls, in order; also the one in the older `function_call`."""
    calls = [call_of(spot, odd) for spot in _listed(message, odd)]
    old = message.get("function_call")
    if old is not None and old.value is not None:
        made = _called(old, old, "arguments", "", odd)
        calls.append(made if made.name is None else Call(made.name, made.arguments, function_key(made.name)))
    return tuple(calls)


def _listed(message: Spot, odd: Oddities) -> list[Spot]:
    listed = message.get("tool_calls")
    if listed is None or listed.value is None:
        return []
    if isinstance(listed.value, list):
        return [Spot(value, (*listed.path, place)) for place, value in enumerate(listed.value)]
    odd.note("tool calls that are no list", listed.path)
    return [listed]


def call_of(spot: Spot, odd: Oddities) -> Call:
    """Return one tool call: with a `function`, with the newer `custom`, or with its name beside its id."""
    key = key_at(spot, "call_id", "id")
    for kind, given in (("custom", "input"), ("function", "arguments")):
        found = spot.get(kind)
        if found is not None and isinstance(found.value, dict):
            return _called(spot, found, given, key, odd)
    if isinstance(spot.value, dict) and spot.value.keys() <= _FLAT_CALL:
        return _called(spot, spot, "arguments", key, odd)
    return _unknown(spot, key, odd)


def _called(whole: Spot, spot: Spot, given: str, key: str, odd: Oddities) -> Call:
    name, arguments = spot.get("name"), spot.get(given)
    if name is None or not isinstance(name.value, str):
        return _unknown(whole, key, odd)
    value = None if arguments is None else arguments.value
    if value is None:
        return Call(name.value, "", key)
    if not isinstance(value, str):
        return Call(name.value, canonical(value), key)
    if given == "arguments" and not _is_json(value):
        odd.note("a tool call with arguments that are no JSON, kept as written", whole.path)
    return Call(name.value, value, key)


def _unknown(spot: Spot, key: str, odd: Oddities) -> Call:
    odd.note("a tool call in no known form, kept as JSON", spot.path)
    return Call(None, canonical(spot.value), key)


def _is_json(text: str) -> bool:
    """Tell whether arguments can be read; none at all can."""
    try:
        json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    return True
