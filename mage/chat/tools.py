"""What a model may call: the tools of an environment, and what an agent does to its own state.

The action of a call is the tool's name, a space and the arguments as canonical JSON, wherever the call comes from:
a model's reply, a trace, a host. So the same call is the same action (I2, the merge rule). An environment without
tools takes any text as an action; its one tool is `act`, and the action is the text itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, final

from mage.effects.tools import TOOL_NAME, BadTool, JsonValue, Tool
from mage.engine.errors import MageError


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


Style: TypeAlias = Literal["chat", "responses", "anthropic", "mcp"]
"""An interface: OpenAI's chat completions and Responses, Anthropic's Messages, the Model Context Protocol."""


# `Any` below: JSON that a client's SDK types in its own way; no client is imported here.


def declared(tools: Iterable[Tool], style: Style) -> list[dict[str, Any]]:
    """Return tools as an interface takes them, JSON all through, `strict` where the schema allows it. Cost: O(size)."""
    return [_DECLARED[style](tool) for tool in tools]


def _for_chat(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": {**function, "strict": tool.is_strict}}


def _for_responses(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", **function, "strict": tool.is_strict}


def _for_anthropic(tool: Tool) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
    return {**described, "strict": True} if tool.is_strict else described


def _for_mcp(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.parameters)}


_DECLARED: Final[dict[Style, Callable[[Tool], dict[str, Any]]]] = {
    "chat": _for_chat,
    "responses": _for_responses,
    "anthropic": _for_anthropic,
    "mcp": _for_mcp,
}


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
