"""The call that an action is: its tool and arguments, read from whatever an agent wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, final

import attrs
import jsonschema

from mage.chat import BadAction, action_text, parse_action
from mage.effects import Tool

TEXT: Final = {"type": "string"}
WHOLE: Final = {"type": "integer"}
OPTIONAL_NUMBER: Final = {"type": ["number", "null"]}
OPTIONAL_TEXT: Final = {"type": ["string", "null"]}
_FAR: Final = 10**9
"""No number of a world is as large: what is larger is taken for it, so that none can overflow."""
_LONGEST: Final = 200
"""Characters of a reason that an agent is told."""


@final
@attrs.frozen
class Call:
    """A call of a tool, whose arguments fit its schema.

    Attributes:
        name: the tool's.
        arguments: by name, as JSON.
    """

    name: str
    arguments: Mapping[str, object]

    def text(self, name: str) -> str:
        """Return an argument as a text without blanks around it; the empty text for null."""
        given = self.arguments[name]
        return "" if given is None else str(given).strip()

    def number(self, name: str) -> float | None:
        """Return an argument that is a number, or None for null."""
        given = self.arguments[name]
        return max(-_FAR, min(_FAR, given)) if isinstance(given, int | float) else None

    def whole(self, name: str) -> int:
        """Return an argument that is a whole number."""
        return int(self.number(name) or 0)


def call_of(action: str, tools: Sequence[Tool]) -> Call | str:
    """Return the call that an action is, or in one line why it is none. Never raises. Cost: O(length)."""
    names = ", ".join(tool.name for tool in tools)
    try:
        name, arguments = parse_action(action)
    except BadAction as error:
        return f"This is no call: {error}. Write a tool's name, a space and its arguments as JSON. Tools: {names}."
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return f"There is no tool of that name. Tools: {names}."
    wrong = next(_validator(tool).iter_errors(arguments), None)
    return f"Not done: {wrong.message[:_LONGEST]}" if wrong else Call(name, arguments)


@lru_cache(maxsize=64)
def _validator(tool: Tool) -> jsonschema.Draft202012Validator:
    """Return what checks a tool's arguments; `mage.chat.misfit` checks the schema, too, which takes most of the time."""
    return jsonschema.Draft202012Validator(tool.parameters)


def action(tool: str, **arguments: str | int | float | None) -> str:
    """Return the action of a call, as a plan writes it."""
    return action_text(tool, arguments)
