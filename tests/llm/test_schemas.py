"""What fits a schema, and what a provider can enforce."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from mage.agent.tools import ACT, OWN_TOOLS, offered
from mage.llm.enforced import move_schema, verdict_schema
from mage.llm.schemas import is_strict, misfit
from tests.llm.test_replies import json_values

_POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
    "additionalProperties": {"type": "boolean"},
}


@pytest.mark.parametrize(
    ("value", "schema", "wrong"),
    [
        ({"x": 1.5, "tags": ["a"], "far": True}, _POINT, None),
        ({}, _POINT, "at: 'x' is missing"),
        ({"x": "1"}, _POINT, "at.x: expected number"),
        ({"x": True}, _POINT, "at.x: expected number"),
        ({"x": 1, "tags": ["a", 2]}, _POINT, "at.tags[1]: expected string"),
        ({"x": 1, "far": 1}, _POINT, "at.far: expected boolean"),
        (2.0, {"type": "integer"}, None),
        (2.5, {"type": "integer"}, "at: expected integer"),
        (None, {"type": ["string", "null"]}, None),
        (3, {"type": ["string", "null"]}, "at: expected string or null"),
        (True, {"enum": [1, "a"]}, "at: expected one of [1, 'a']"),
        (3, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, None),
        ([], {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "at: fits none of what is allowed there"),
        ([], {"type": "strange"}, None),
        ([], True, None),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(value: Any, schema: Any, wrong: str | None) -> None:
    """Types, required and further keys, items, choices; what a schema says beyond that is let pass."""
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
    assert is_strict(verdict_schema("subgoal"))
    assert is_strict(verdict_schema("fallback", longest=9))
    assert not is_strict(_POINT)
    assert not is_strict(
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    )
    assert not is_strict({"type": "array", "items": {"$ref": "#/x"}})
