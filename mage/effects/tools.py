"""Tools: what an environment declares that a model may call, each described by a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast, final

import attrs

from mage.engine.errors import MageError

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""What JSON can say."""
Schema: TypeAlias = Mapping[str, JsonValue]
"""A JSON Schema of an object, as a tool's parameters are described."""

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What the name of a tool matches as a whole."""


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
@attrs.frozen
class Tool:
    """A tool that a model may call.

    Attributes:
        name: at most 64 letters, digits, `_` and `-`.
        description: for the model: what it does, and when to call it.
        parameters: a JSON Schema of the arguments, an object.

    Raises:
        BadTool: the name is no name, the description no text, or the parameters describe no object.
    """

    name: str
    description: str
    parameters: Schema = attrs.field(hash=False)

    def __attrs_post_init__(self) -> None:
        # objects: what a program without types, or a log, may give
        name: object = self.name
        description: object = self.description
        parameters: object = self.parameters
        if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
            raise BadTool(str(name), "a name has 1 to 64 letters, digits, underscores and hyphens")
        if not isinstance(description, str):
            raise BadTool(self.name, "its description must be a text")
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
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
