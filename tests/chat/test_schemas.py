"""What fits a schema, and what a provider can enforce."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from mage.chat import ACT, OWN_TOOLS, is_strict, misfit, move_schema, offered, verdict_schema
from tests.llm.requests import FALLBACK, JUDGE
from tests.llm.test_replies import json_values

_POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
    "additionalProperties": {"type": "boolean"},
}

_REFERRING = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"at": {"$ref": "#/definitions/place"}},
    "definitions": {"place": {"type": "string", "pattern": "^[a-z]+$"}},
}


@pytest.mark.parametrize(
    ("value", "schema", "wrong"),
    [
        ({"x": 1.5, "tags": ["a"], "far": True}, _POINT, None),
        ({}, _POINT, "at: 'x' is a required property"),
        ({"x": "1"}, _POINT, "at.x: '1' is not of type 'number'"),
        ({"x": True}, _POINT, "at.x: True is not of type 'number'"),
        ({"x": 1, "tags": ["a", 2]}, _POINT, "at.tags[1]: 2 is not of type 'string'"),
        ({"x": 1, "far": 1}, _POINT, "at.far: 1 is not of type 'boolean'"),
        (2.0, {"type": "integer"}, None),
        (2.5, {"type": "integer"}, "at: 2.5 is not of type 'integer'"),
        (None, {"type": ["string", "null"]}, None),
        (3, {"type": ["string", "null"]}, "at: 3 is not of type 'string', 'null'"),
        (True, {"enum": [1, "a"]}, "at: True is not one of [1, 'a']"),
        (3, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, None),
        (
            [],
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "at: [] is not valid under any of the given schemas",
        ),
        ([], {"type": "strange"}, None),
        ({"at": 7}, _REFERRING, "at.at: 7 is not of type 'string'"),
        ({"at": "Pond"}, _REFERRING, "at.at: 'Pond' does not match '^[a-z]+$'"),
        ({"at": "pond"}, _REFERRING, None),
        (7, {"minimum": 8}, "at: 7 is less than the minimum of 8"),
        ("x", {"pattern": "(?<n"}, None),
        ("x", {"$ref": "https://example.org/other.json"}, None),
        ("x" * 999, {"type": "integer"}, f"at: '{'x' * 199}..."),
        ([], True, None),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(value: Any, schema: Any, wrong: str | None) -> None:
    """Types, keys, items, choices, references, patterns, bounds; a schema that cannot be decided here is let pass."""
    assert misfit(value, schema, "at") == wrong


@given(json_values, json_values)
def test_any_value_and_any_schema_can_be_compared(value: Any, schema: Any) -> None:
    """A schema that is nonsense is no trouble; neither is deciding whether it is strict."""
    found = misfit(value, schema, "at")
    assert found is None or found.startswith("at")
    assert is_strict(schema) in (True, False)


def test_our_own_schemas_can_be_enforced() -> None:
    """All our tools, the moves of the JSON mode and the verdicts are strict; a tool with an option is not."""
    for tool in (ACT, *OWN_TOOLS):
        assert is_strict(tool.parameters)
    assert is_strict(move_schema(offered(())))
    assert is_strict(verdict_schema(JUDGE))
    assert is_strict(verdict_schema(FALLBACK, longest=9))
    assert not is_strict(_POINT)
    assert not is_strict(
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    )
    assert not is_strict({"type": "array", "items": {"$ref": "#/x"}})
