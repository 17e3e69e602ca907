"""What a model may call: the tools of an environment, and what an agent does to its own state.

The action of a call is the tool's name, a space and the arguments as canonical JSON, wherever the call comes from:
a model's reply, a trace, a host. So the same call is the same action (I2, the merge rule). An environment without
tools takes any text as an action; its one tool is `act`, and the action is the text itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, final

import attrs

from mage.engine.errors import MageError

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""What JSON can say."""
Schema: TypeAlias = Mapping[str, JsonValue]
"""A JSON Schema of an object, as a tool's parameters are described."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@final
class BadTool(MageError, ValueError):
    """A tool cannot be offered to a model.

    Attributes:
        name: the tool's name.
        reason: one line.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(name, reason)

    def __str__(self) -> str:
        return f"tool {self.name!r}: {self.reason}"


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


@final
@attrs.frozen
class Tool:
    """A tool that a model may call.

    Attributes:
        name: at most 64 letters, digits, `_` and `-`.
        description: for the model: what it does, and when to call it.
        parameters: a JSON Schema of the arguments, an object.

    Raises:
        BadTool: the name is no name, or the parameters describe no object.
    """

    name: str
    description: str
    parameters: Schema = attrs.field(hash=False)

    def __attrs_post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise BadTool(self.name, "a name has 1 to 64 letters, digits, underscores and hyphens")
        if self.parameters.get("type") != "object":
            raise BadTool(self.name, 'its parameters must be a JSON Schema with "type": "object"')

    @property
    def is_strict(self) -> bool:
        """Whether a provider can enforce the parameters strictly. Cost: O(size of the schema)."""
        return is_strict(self.parameters)

    @classmethod
    def of(cls, name: str, description: str, /, **parameters: Schema) -> Tool:
        """Return a tool all of whose parameters must be given, described so that a provider can enforce it."""
        return cls(
            name,
            description,
            {
                "type": "object",
                "properties": parameters,
                "required": list(parameters),
                "additionalProperties": False,
            },
        )


def is_strict(schema: object) -> bool:
    """Tell whether every object in a schema allows just what it requires, as `strict: true` demands. Cost: O(size)."""
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, object]", schema)
    if "$ref" in known or not _is_closed(known):
        return False
    return all(is_strict(inner) for inner in _inner(known))


def _is_closed(schema: Mapping[str, object]) -> bool:
    if schema.get("type") != "object" and "properties" not in schema:
        return True
    required = schema.get("required")
    names = set(_mapping(schema.get("properties")))
    return (
        schema.get("additionalProperties") is False and isinstance(required, list) and set(required) == names
    )


def _inner(schema: Mapping[str, object]) -> Iterator[object]:
    yield from _mapping(schema.get("properties")).values()
    yield schema.get("items")
    for word in ("anyOf", "oneOf", "allOf"):
        yield from _choices(schema.get(word))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _choices(value: object) -> list[object]:
    return value if isinstance(value, list) else []


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
    if _NAME.fullmatch(name) is None:
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
