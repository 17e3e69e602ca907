"""As much of JSON Schema as tools need: whether a value fits, and whether a provider can enforce it strictly.

A provider that enforces schemas makes mistakes impossible; most do not. What this does not know of a schema
(`$ref`, patterns, bounds) it lets pass: the environment has the last word on an action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

__all__ = ["is_strict", "misfit"]


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


def misfit(value: object, schema: object, at: str) -> str | None:
    """Return where and how a value does not fit a schema, or None where it does; any schema.

    Cost: O(size of the value); it recurses as deeply as the schema does.
    """
    if not isinstance(schema, Mapping):
        return None
    known = cast("Mapping[str, object]", schema)
    types = known.get("type")
    names = [types] if isinstance(types, str) else _choices(types)
    if names and not any(_KINDS.get(str(name), _anything)(value) for name in names):
        return f"{at}: expected {' or '.join(map(str, names))}"
    allowed = known.get("enum")
    if isinstance(allowed, list) and not any(_same(value, each) for each in allowed):
        return f"{at}: expected one of {allowed!r:.200}"
    choices = [*_choices(known.get("anyOf")), *_choices(known.get("oneOf"))]
    if choices and all(misfit(value, choice, at) for choice in choices):
        return f"{at}: fits none of what is allowed there"
    if isinstance(value, Mapping):
        return _misfit_of_object(cast("Mapping[str, object]", value), known, at)
    if isinstance(value, list):
        found = (misfit(item, known.get("items"), f"{at}[{place}]") for place, item in enumerate(value))
        return next(filter(None, found), None)
    return None


def _misfit_of_object(value: Mapping[str, object], schema: Mapping[str, object], at: str) -> str | None:
    properties = _mapping(schema.get("properties"))
    for name in _choices(schema.get("required")):
        if name not in value:
            return f"{at}: {name!r:.60} is missing"
    other = schema.get("additionalProperties")
    for name, inner in value.items():
        if name not in properties and other is False:
            return f"{at}: there is no {name!r:.60}"
        found = misfit(inner, properties.get(name, other), f"{at}.{name:.60}")
        if found:
            return found
    return None


def _same(left: object, right: object) -> bool:
    """Tell whether two values are one in JSON, in which true is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _choices(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _anything(value: object) -> bool:
    return True


def _is_integer(value: object) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool)


_KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": _is_integer,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
