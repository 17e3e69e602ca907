"""JSON Schemas: whether a value fits one, and those of what models reply to us.

`jsonschema` decides whether a value fits, and is imported at the first question. What a schema says that cannot be
decided here (a `$ref` to another document, a pattern that is no Python pattern) is let pass: the environment has the
last word on an action.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from mage.chat.tools import ACT, COMPRESS, OWN_TOOLS, REVISE
from mage.effects import Decide, JsonValue, Schema, Tool
from mage.engine import Kind

_LONGEST: Final = 200
"""Characters of a value or a reason that a misfit quotes."""


def misfit(value: object, schema: object, at: str) -> str | None:
    """Return where and how a value does not fit a schema, in one line, or None where it does.

    The schema may be anything: what is no valid JSON Schema is fitted by every value.

    Args:
        value: JSON, as `json.loads` returns it.
        schema: of the dialect that its `$schema` names; 2020-12, as MCP has it, where it names none.
        at: what the value is called in the answer.

    Cost: O(size of the value), times the schema's alternatives.
    """
    if not isinstance(schema, Mapping | bool):
        return None
    import jsonschema  # noqa: PLC0415  # what never checks a value need not load it
    import jsonschema.validators  # noqa: PLC0415
    import referencing.exceptions  # noqa: PLC0415

    # Any: the class of the dialect, which `jsonschema` makes while it is imported
    kind: Any = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
        wrong = next(kind(schema, registry=referencing.Registry()).iter_errors(value), None)
    except (jsonschema.SchemaError, referencing.exceptions.Unresolvable, re.error, RecursionError):
        return None
    if wrong is None:
        return None
    reason = wrong.message if len(wrong.message) <= _LONGEST else f"{wrong.message[:_LONGEST]}..."
    return f"{at}{wrong.json_path[1:]}: {reason}"


def move_schema(
    tools: Sequence[Tool], *, longest: int | None = None, request: Decide | None = None
) -> Schema:
    """Return what a reply in the JSON mode must be: a thought, then one move.

    Args:
        tools: what is offered.
        longest: the most characters of a text of the model's; None for no limit. For servers that know
            `maxLength`, such as llama.cpp's; a small model can write on for ever.
        request: what may be done now: without anything open there is no compress, and revise goes where it
            may only. None for all of it.
    """
    moves = [_move(tool, longest, request) for tool in tools if _is_open(tool, request)]
    return _object({"thought": _string(longest), "move": {"anyOf": moves}})


def _is_open(tool: Tool, request: Decide | None) -> bool:
    if request is None:
        return True
    return (tool is not COMPRESS or request.may_compress) and (tool is not REVISE or bool(request.boundaries))


def _move(tool: Tool, longest: int | None, request: Decide | None) -> Schema:
    parameters = tool.parameters
    if tool is ACT or tool in OWN_TOOLS:
        properties = {
            name: _string(longest, described) if described.get("type") == "string" else described
            for name, described in cast("Mapping[str, Schema]", parameters["properties"]).items()
        }
        if tool is REVISE and request is not None:
            properties["step"] = {"type": "integer", "enum": [int(step) for step in request.boundaries]}
        parameters = _object(properties)
    return _object({"name": {"type": "string", "enum": [tool.name]}, "arguments": parameters})


def verdict_schema(kind: Kind, *, longest: int | None = None) -> Schema:
    """Return what a judge's reply must be: the reasoning before the verdict. A fallback's steps are never at fault."""
    faults: list[JsonValue] = ["none", "summary", "execution"] if kind == "subgoal" else ["none", "summary"]
    return _object(
        {
            "reasoning": _string(longest),
            "passed": {"type": "boolean"},
            "fault": {"type": "string", "enum": faults},
            "feedback": _string(longest),
        }
    )


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _string(longest: int | None, described: Schema | None = None) -> Schema:
    known: Schema = {"type": "string"} if described is None else described
    return known if longest is None else {**known, "maxLength": longest}
