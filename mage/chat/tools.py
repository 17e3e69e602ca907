"""The tools of a model: those of an environment, the operations on an agent's own state, and their JSON Schemas.

The action of a call is the tool's name, a space and the arguments as canonical JSON, wherever the call comes from:
a model's reply, a trace, a host. So the same call is the same action (I2, the merge rule). An environment without
tools takes any text as an action; its one tool is `act`, and the action is the text itself.

A model that calls no tools writes a move: `Action[...]`, `Compress[...]`, `Revise[N; lesson]`, `Look[N]` (or
`Look[A..B; words; page]`), `Note[...]` or `Finish[...]`. A move begins on a line of its own; where none does, the first
one within a line counts. It ends at the bracket that closes it, which ends its line: so `Action[click[Buy Now]]` and a
text of several lines are read whole. The text before a move is thought. The text behind it is not read (models like to
make up the next observation), but a second move there is one too many.

`jsonschema` decides whether a value fits a schema; the first question imports it. Every value fits a part of a schema
that cannot be decided here (a `$ref` to another document, a pattern that is no Python pattern): the environment has the
last word on an action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast, final

import attrs

from mage.codec.strict_json import action_text
from mage.effects import BadTool, Decide, EffectError, Finish, JsonValue, LookInto, Rules, Schema, Then, Tool
from mage.effects.environment import TOOL_NAME
from mage.engine import Compress, FoldRequest, JudgeRequest, Revise
from mage.engine.errors import MageError


@final
@attrs.define
class BadAction(MageError, ValueError):
    """A text is not the call of a tool.

    Attributes:
        reason: one line that quotes nothing of the text.
        no_object: whether the arguments are JSON other than an object.
    """

    reason: str
    no_object: bool = False

    def __str__(self) -> str:
        return f"not the call of a tool: {self.reason}; expected a name, a space and a JSON object"


ACT: Final = Tool.of(
    "act",
    "Perform one action in the environment, in its own words.",
    action={"type": "string", "description": "the action"},
)
COMPRESS: Final = Tool.of(
    "compress",
    "Mark the subgoal complete: your text stands for its steps.",
    text={"type": "string", "description": "the result, what was decided and why, what is left"},
)
REVISE: Final = Tool.of(
    "revise",
    "Go back to [Step N]: that line and all after it are undone, and your lesson stands there.",
    step={"type": "integer", "description": "the largest N before the mistake, of those you may revise to"},
    lesson={"type": "string", "description": "what went wrong, and what to do instead"},
)
LOOK: Final = Tool.of(
    "look",
    "Read again, word for word, what a finished part stands for: the steps of a [Step N], the parts of a [Step A..B]."
    " Nothing changes.",
    label={"type": "integer", "description": "the N of [Step N], or the A of [Step A..B]"},
    boundary={
        "type": ["integer", "null"],
        "description": "the B, for a part that stands inside another; else null",
    },
    words={
        "type": ["string", "null"],
        "description": "show only what holds these words; null for everything",
    },
    page={
        "type": ["integer", "null"],
        "description": "which page, where there are several; null for the first",
    },
)
NOTE: Final = Tool.of(
    "note",
    "Write down what must last until you next compress, such as a plan. Nothing is done.",
    text={"type": "string"},
)
NOTED: Final = "noted"
"""The observation of a step that is a note."""
FINISH: Final = Tool.of(
    "finish",
    "End the task: it is done, or it cannot be done.",
    answer={"type": "string", "description": "the answer, or why there is none"},
)
OWN_TOOLS: Final = (COMPRESS, REVISE, LOOK, NOTE, FINISH)
"""The operations on an agent's own state, the look into it, and the note."""
GIVING_WAY: Final = frozenset((LOOK.name, NOTE.name))
"""The names of our tools that give way to a tool of the host's of the same name."""
_RESERVED: Final = frozenset(tool.name for tool in (ACT, COMPRESS, REVISE, FINISH))


def own_tools(rules: Rules) -> tuple[Tool, ...]:
    """Return those of our tools that a policy with these rules lets a model use.

    Without Compress every step is shown, so there is nothing to look into (D18).
    """
    barred = {REVISE.name: not rules.revises, LOOK.name: not rules.compresses}
    return tuple([own for own in OWN_TOOLS if not barred.get(own.name)])


def offered(tools: Sequence[Tool], rules: Rules | None = None) -> tuple[Tool, ...]:
    """Return the tools of a model in an environment with `tools`: these, or `act` where there are none, then our own.

    Our `look` and `note` give way to a tool of the environment's of that name. Without `rules` all of ours are offered.

    Raises:
        BadTool: two tools have one name, or a tool has a name of ours.
    """
    seen: set[str] = set()
    for tool in tools:
        if tool.name in _RESERVED:
            raise BadTool(tool.name, "this name is taken by an operation on the agent's own state")
        if tool.name in seen:
            raise BadTool(tool.name, "two tools have this name")
        seen.add(tool.name)
    ours = OWN_TOOLS if rules is None else own_tools(rules)
    return (*(tools or (ACT,)), *[own for own in ours if own.name not in seen])


Style: TypeAlias = Literal["chat", "responses", "anthropic", "mcp"]
"""An interface: OpenAI's chat completions and Responses, Anthropic's Messages, the Model Context Protocol."""


# `Any` below: JSON that a client's SDK types in its own way; no client is imported here.


def declared(tools: Iterable[Tool], style: Style) -> list[dict[str, Any]]:
    """Return tools as JSON in the form of an interface, `strict` where the schema allows it. Cost: O(size)."""
    return [_DECLARED[style](tool) for tool in tools]


def _for_chat(tool: Tool) -> dict[str, Any]:
    function = _for_responses(tool)
    return {"type": function.pop("type"), "function": function}


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


def parse_action(text: str) -> tuple[str, dict[str, JsonValue]]:
    """Return the name and the arguments of a call from its text, whatever the spelling of the JSON. Cost: O(length).

    Raises:
        BadAction: the text is no such call.
    """
    name, _, rest = text.strip().partition(" ")
    if TOOL_NAME.fullmatch(name) is None:
        raise BadAction("it does not begin with a name")
    return name, read_arguments(rest)


def note_action(text: str) -> str:
    """Return the action of a step that is a note."""
    return action_text(NOTE.name, {"text": text})


def note_in(action: str, observation: str) -> str | None:
    """Return the text of the note that a step is; None where the step is no note. Cost: O(length) for a note."""
    if observation != NOTED or not action.startswith(f"{NOTE.name} "):
        return None
    try:
        _, arguments = parse_action(action)
    except BadAction:
        return None
    text = arguments.get("text")
    return text if isinstance(text, str) and action == note_action(text) else None


def completed(tool: Tool, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments of a call, with null for each that is left out and may be null. Cost: O(their number)."""
    properties = cast("Mapping[str, Schema]", tool.parameters.get("properties", {}))
    left_out = [name for name, schema in properties.items() if name not in arguments and _may_be_null(schema)]
    return {**arguments, **dict.fromkeys(left_out)}


def looking(arguments: Mapping[str, JsonValue]) -> LookInto:
    """Return the look of arguments that fit its tool."""
    boundary, page = arguments["boundary"], arguments["page"]
    return LookInto(
        int(cast("int", arguments["label"])),
        None if boundary is None else int(cast("int", boundary)),
        str(arguments["words"] or ""),
        1 if page is None else int(cast("int", page)),
    )


def _may_be_null(schema: Schema) -> bool:
    kinds = schema.get("type")
    return isinstance(kinds, list) and "null" in kinds


def read_arguments(text: str) -> dict[str, JsonValue]:
    """Return the arguments of a call from their JSON; a blank text has none. Cost: O(length).

    Raises:
        BadAction: the text is no JSON object.
    """
    try:
        arguments: object = json.loads(text, parse_constant=no_number) if text.strip() else {}
    except RecursionError:
        raise BadAction("its arguments are nested too deeply") from None
    except ValueError:
        raise BadAction("its arguments are not JSON") from None
    if not isinstance(arguments, dict):
        raise BadAction("its arguments are no JSON object", no_object=True)
    return cast("dict[str, JsonValue]", arguments)


def no_number(written: str) -> NoReturn:
    """Refuse NaN and infinities, which Python's JSON reads and JSON does not have: the `parse_constant` of a reader.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{written} is no number of JSON")


# -- moves, of a model that calls no tools ------------------------------------------------------------


_MOVES: Final = "Action|Compress|Revise|Look|Note|Finish"
MOVE_BEGINS: Final = re.compile(rf"^[ \t*`>-]{{0,8}}({_MOVES})\[", re.MULTILINE)
"""Finds a line on which a move begins."""
_ANYWHERE: Final = re.compile(rf"\b({_MOVES})\[")
_LINE_ENDS: Final = re.compile(r"[ \t*`.]{0,8}(?:[\r\n]|\Z)")
_BRACKET: Final = re.compile(r"[\[\]]")
NUMBERED: Final = r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})"
_STEP: Final = re.compile(rf"{NUMBERED}\]?\s*(?:;(.*))?\Z", re.DOTALL)
_LOOK: Final = re.compile(
    rf"{NUMBERED}(?:\.\.([0-9]{{1,9}}))?\]?\s*(?:;([^;]*))?(?:;\s*([0-9]{{1,9}})?\s*)?\Z"
)


@final
@attrs.frozen
class Move:
    """A move in a text.

    Attributes:
        name: its word, such as `Action`.
        body: the text between its brackets, without the white space around it.
        before: the text before it.
        then: the operation on the agent's own state; None for an action and a note.
    """

    name: str
    body: str
    before: str
    then: Then | None = None


def find_move(text: str) -> Move:
    """Return the one move in a text. Any text. Cost: O(length).

    Raises:
        EffectError: `wrong_schema` where there is none, it is not closed or its parts are wrong; `too_many_calls` where
            there are more.
    """
    opened = MOVE_BEGINS.search(text) or _ANYWHERE.search(text)
    if opened is None:
        raise EffectError(
            "wrong_schema",
            "no move in the reply, such as Action[...], Compress[...] or Finish[...]",
        )
    end, balanced = closing_of(text, opened.end())
    if end is None:
        raise EffectError("wrong_schema", f"{opened[1]}[ is not closed by a bracket at the end of a line")
    if MOVE_BEGINS.search(text, end + 1 if balanced else opened.end()):
        raise EffectError("too_many_calls", "more than one move in the reply")
    body = text[opened.end() : end].strip()
    return Move(opened[1], body, text[: opened.start()].strip(), _operation(opened[1], body))


def closing_of(text: str, start: int) -> tuple[int | None, bool]:
    """Return where the bracket closes that was opened before `start`, and whether the brackets between are balanced.

    Where they are not, the last bracket that ends a line closes it.
    """
    depth = 0
    last: int | None = None
    for bracket in _BRACKET.finditer(text, start):
        if bracket[0] == "[":
            depth += 1
            continue
        ends_line = _LINE_ENDS.match(text, bracket.end()) is not None
        if ends_line:
            last = bracket.start()
        if depth:
            depth -= 1
        elif ends_line:
            return last, True
    return last, False


def _operation(name: str, body: str) -> Then | None:
    match name:
        case "Compress":
            return Compress(body)
        case "Finish":
            return Finish(body)
        case "Revise":
            found = _STEP.match(body)
            if found is None:
                raise EffectError(
                    "wrong_schema", "Revise: expected the number of a step, a semicolon and a lesson"
                )
            return Revise(int(found[1]), (found[2] or "").strip())
        case "Look":
            found = _LOOK.match(body)
            if found is None:
                raise EffectError(
                    "wrong_schema", "Look: expected N or A..B, then words and a page after semicolons"
                )
            boundary = None if found[2] is None else int(found[2])
            return LookInto(int(found[1]), boundary, (found[3] or "").strip(), int(found[4] or 1))
        case _:
            return None


# -- schemas -------------------------------------------------------------------------------------------


_LONGEST: Final = 200
"""Characters of a value or a reason that a misfit quotes."""


def misfit(value: object, schema: object, at: str) -> str | None:
    """Return in one line where and how a value does not fit a schema; None where it fits.

    The schema may be any object: every value fits one that is no valid JSON Schema.

    Args:
        value: JSON, as `json.loads` returns it.
        schema: in the dialect that its `$schema` names; in 2020-12, MCP's, where it names none.
        at: the name of the value in the answer.

    Cost: O(size of the value), times the schema's alternatives.
    """
    if not isinstance(schema, Mapping | bool):
        return None
    import jsonschema  # noqa: PLC0415  # slow to load, and needed only where a value is checked
    import jsonschema.validators  # noqa: PLC0415
    import referencing.exceptions  # noqa: PLC0415

    # Any: the class of the dialect, which `jsonschema` makes at its import
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
    """Return the schema of a reply in the JSON mode: a thought, then one move.

    Args:
        tools: the tools that the model is offered.
        longest: the most characters of a text of the model's; None for no limit. For servers that know
            `maxLength`, such as llama.cpp's: a small model can write on for ever.
        request: limits the moves to those that are possible now: compress needs an open segment, and revise takes the
            boundaries of the request alone, where it names all. None for all moves.
    """
    moves = [_move(tool, longest, request) for tool in tools if _is_open(tool, request)]
    return _object({"thought": _string(longest), "move": {"anyOf": moves}})


def _is_open(tool: Tool, request: Decide | None) -> bool:
    if request is None:
        return True
    is_possible = {
        COMPRESS.name: request.may_compress,
        REVISE.name: bool(request.boundaries),
        LOOK.name: bool(request.shown.compressed),
    }
    return tool not in OWN_TOOLS or is_possible.get(tool.name, True)


def _move(tool: Tool, longest: int | None, request: Decide | None) -> Schema:
    parameters = tool.parameters
    if tool is ACT or tool in OWN_TOOLS:
        properties = {
            name: _string(longest, described) if described.get("type") == "string" else described
            for name, described in cast("Mapping[str, Schema]", parameters["properties"]).items()
        }
        if tool is REVISE and request is not None and not request.more:
            properties["step"] = {"type": "integer", "enum": [int(step) for step in request.boundaries]}
        parameters = _object(properties)
    return _object({"name": {"type": "string", "enum": [tool.name]}, "arguments": parameters})


def verdict_schema(request: JudgeRequest | FoldRequest, *, longest: int | None = None) -> Schema:
    """Return the schema of a judge's reply: the reasoning before the verdict; see `asks_steps`."""
    return verdict_schema_of(asks_steps=asks_steps(request), longest=longest)


def asks_steps(request: JudgeRequest | FoldRequest) -> bool:
    """Tell whether the steps may be at fault, and so have a place where the mistake began: those of a finished subgoal."""
    return isinstance(request, JudgeRequest) and request.kind == "subgoal"


def verdict_schema_of(*, asks_steps: bool, longest: int | None = None) -> Schema:
    """Return the schema of a verdict, for a tool that takes verdicts on any summary; see `verdict_schema`."""
    faults: list[JsonValue] = ["none", "summary", "execution"] if asks_steps else ["none", "summary"]
    origin: dict[str, Schema] = {"boundary": {"type": ["integer", "null"]}} if asks_steps else {}
    return _object(
        {
            "reasoning": _string(longest),
            "passed": {"type": "boolean"},
            "fault": {"type": "string", "enum": faults},
            **origin,
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
