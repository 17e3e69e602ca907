"""What a model may call: the tools of a world, and what it does to its own state.

A world that has tools of its own names them; an action is then a call, and its text is the tool's name, a
space and the arguments as canonical JSON, so that the same call is the same action (I2, the merge rule). A
world without tools takes any text as an action; its one tool is `act`, and the text is the string itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, cast, final

from mage.effects.tools import TOOL_NAME, BadTool, JsonValue, Schema, Tool
from mage.engine.errors import MageError

__all__ = [
    "ACT",
    "COMPRESS",
    "FINISH",
    "OWN_TOOLS",
    "REVISE",
    "BadAction",
    "BadTool",
    "JsonValue",
    "Schema",
    "Tool",
    "action_text",
    "canonical",
    "offered",
    "parse_action",
    "read_arguments",
]


@final
class BadAction(MageError, ValueError):
    """A text is not the call of a tool.

    Attributes:
        reason: one line, which quotes nothing of the text.
        no_object: whether the arguments are JSON, and no object.
    """

    def __init__(self, reason: str, *, no_object: bool = False) -> None:
        self.reason = reason
        self.no_object = no_object
        super().__init__(reason)

    def __str__(self) -> str:
        return f"not the call of a tool: {self.reason}; expected a name, a space and a JSON object"


ACT: Final = Tool.of(
    "act",
    "Perform one action in the environment, in its own words.",
    action={"type": "string", "description": "the action"},
)
COMPRESS: Final = Tool.of(
    "compress",
    "Mark the subgoal complete: your text replaces its steps from now on, and is judged against them.",
    text={"type": "string", "description": "what was done, found and decided, with exact names and numbers"},
)
REVISE: Final = Tool.of(
    "revise",
    "Go back to [Step N]: that line and all after it are undone, and your lesson stands there.",
    step={"type": "integer", "description": "the N of one of the steps you may revise to"},
    lesson={"type": "string", "description": "what went wrong, and what to do instead"},
)
FINISH: Final = Tool.of(
    "finish",
    "End the task: it is done, or it cannot be done.",
    answer={"type": "string", "description": "the answer, or why there is none"},
)
OWN_TOOLS: Final = (COMPRESS, REVISE, FINISH)
"""What an agent does to its own state."""
_RESERVED: Final = frozenset(tool.name for tool in (ACT, *OWN_TOOLS))


def offered(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return what a model is offered in a world with these tools: them, or `act` where there are none, then our own.

    Raises:
        BadTool: two have one name, or one has a name of ours.
    """
    seen: set[str] = set()
    for tool in tools:
        if tool.name in _RESERVED:
            raise BadTool(tool.name, "this name is taken by what an agent does to its own state")
        if tool.name in seen:
            raise BadTool(tool.name, "two tools have this name")
        seen.add(tool.name)
    return (*(tools or (ACT,)), *OWN_TOOLS)


def canonical(value: object) -> str:
    """Return JSON with sorted keys and no spaces; what UTF-8 can spell stands as it is. Cost: O(size).

    Raises:
        ValueError: a number is not finite, or something is not JSON.
        TypeError: something is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def action_text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return the canonical action of a call. Equal arguments give equal text. Cost: O(size)."""
    return f"{name} {canonical(arguments)}"


def parse_action(text: str) -> tuple[str, dict[str, JsonValue]]:
    """Return the name and the arguments of a call, from its text; any spelling of the JSON. Cost: O(length).

    Raises:
        BadAction: the text is no such call.
    """
    name, _, rest = text.strip().partition(" ")
    if TOOL_NAME.fullmatch(name) is None:
        raise BadAction("it does not begin with a name")
    return name, read_arguments(rest)


def read_arguments(text: str) -> dict[str, JsonValue]:
    """Return the arguments of a call, from their JSON; a blank text has none. Cost: O(length).

    Raises:
        BadAction: the text is no JSON object.
    """
    try:
        arguments: object = json.loads(text, parse_constant=_no_number) if text.strip() else {}
    except RecursionError:
        raise BadAction("its arguments are nested too deeply") from None
    except ValueError:
        raise BadAction("its arguments are not JSON") from None
    if not isinstance(arguments, dict):
        raise BadAction("its arguments are no JSON object", no_object=True)
    return cast("dict[str, JsonValue]", arguments)


def _no_number(written: str) -> JsonValue:
    raise ValueError(f"{written} is not JSON")
