"""Replies read into decisions and verdicts: any reply is one of these, or an `EffectError` with its fault.

refusal         the model refuses, or a filter has cut it off
truncated       it stopped for length, or broke off
empty           the reply holds nothing but white space
not_json        JSON was asked for
wrong_schema    it is not as was asked for: missing, of another type, no call where one was due
unknown_tool    there is no such tool
too_many_calls  more than one of compress, revise, look and finish (D11)

The plain-text mode, for models without tools, has the moves `Action[...]`, `Compress[...]`, `Revise[N; lesson]`,
`Look[N]` (or `Look[A..B; words; page]`), `Note[...]` and `Finish[...]`. A move begins on a line of its own; where none does, the first one within a line counts. It ends at
the bracket that closes it, which ends its line: so `Action[click[Buy Now]]` and a text of several lines are read
whole. The text before a move is thought. The text behind it is not read (models like to make up the next
observation), but a second move there is one too many.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, final

import attrs

from mage.chat import (
    ACT,
    COMPRESS,
    FINISH,
    LOOK,
    NOTE,
    REVISE,
    BadAction,
    ToolCall,
    action_text,
    completed,
    looking,
    misfit,
    read_arguments,
)
from mage.effects import Action, Decision, EffectError, EffectFault, Finish, JsonValue, LookInto, Then, Tool
from mage.engine import Compress, Failed, Passed, Revise, StepId, Verdict
from mage.llm.completions import Reply

_CUT: Final = frozenset({"length", "max_tokens", "max_length", "model_length"})
_FILTERED: Final = frozenset(
    {"content_filter", "safety", "recitation", "prohibited_content", "blocklist", "refusal"}
)
_BROKEN: Final = frozenset(
    {"error", "abort", "aborted", "canceled", "cancelled", "insufficient_system_resource"}
)
"""Words in which servers say that a reply is not whole; there are many for one that is."""
_THOUGHT_ENDS: Final = "</think>"
_OPENED: Final = re.compile(r'\{[ \t\n\r]*+["}]')
"""How a JSON object begins, and how a brace of LaTeX or of a program mostly does not."""
_TRIES: Final = 200
"""After so many beginnings that were none, no further object is looked for."""

MoveName: TypeAlias = Literal["act", "compress", "revise", "look", "note", "finish"]

_NAMES: Final[dict[str, MoveName]] = {
    "Action": "act",
    "Compress": "compress",
    "Revise": "revise",
    "Look": "look",
    "Note": "note",
    "Finish": "finish",
}
_ON_A_LINE: Final = re.compile(r"^[ \t*`>-]{0,8}(Action|Compress|Revise|Look|Note|Finish)\[", re.MULTILINE)
_ANYWHERE: Final = re.compile(r"\b(Action|Compress|Revise|Look|Note|Finish)\[")
_LINE_ENDS: Final = re.compile(r"[ \t*`.]{0,8}(?:[\r\n]|\Z)")
_BRACKET: Final = re.compile(r"[\[\]]")
_STEP: Final = re.compile(r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})\]?\s*(?:;(.*))?\Z", re.DOTALL)

_LOOK: Final = re.compile(
    r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})(?:\.\.([0-9]{1,9}))?\]?\s*(?:;([^;]*))?(?:;\s*([0-9]{1,9})?\s*)?\Z"
)
_BOUNDARY: Final = re.compile(r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})\]?\s*\Z")
"""How judges write a boundary where no schema is enforced."""


def _whole(reply: Reply) -> tuple[str, str]:
    """Return the visible thoughts and the words of a reply that is whole.

    Servers that do not split off the thinking of a reasoning model leave it in the content, the opening tag
    sometimes in the prompt.
    """
    finish = None if reply.finish is None else reply.finish.casefold()
    if reply.refusal or finish in _FILTERED:
        raise EffectError("refusal", "the model refused to answer, or a filter cut it off")
    if finish is None or finish in _BROKEN:
        raise EffectError("truncated", "the reply broke off before its end")
    if finish in _CUT:
        raise EffectError("truncated", "the reply is longer than it may be; be shorter")
    thought, ended, said = reply.text.rpartition(_THOUGHT_ENDS)
    if not ended and said.lstrip().startswith("<think>"):
        raise EffectError("truncated", "the reply ends within its thinking")
    return thought.strip().removeprefix("<think>").strip(), said.strip()


def read_text(reply: Reply) -> str:
    """Return the text of a reply that is to be a text.

    Raises:
        EffectError: it cannot be used.
    """
    _, said = _whole(reply)
    if not said:
        raise EffectError("empty", "the reply is empty")
    return said


def decide_by_calls(reply: Reply, tools: Sequence[Tool]) -> Decision:
    """Return the decision in calls of tools: actions in the order of the calls, the operation on its own state last (D11).

    Raises:
        EffectError: the reply cannot be used.
    """
    thought, said = _whole(reply)
    thought = thought or ("" if said else reply.aside.strip())
    if not reply.calls:
        if not said:
            raise EffectError("empty", "the reply is empty")
        raise EffectError("wrong_schema", "no tool was called")
    return _decision(reply.calls, tools, "\n".join(filter(None, [thought, said])))


def _decision(calls: Sequence[ToolCall], tools: Sequence[Tool], thought: str) -> Decision:
    by_name = {tool.name: tool for tool in tools}
    moves = [_move(call.name, _arguments(call), by_name, call.id or None) for call in calls]
    actions = tuple(move for move in moves if isinstance(move, Action))
    own = [move for move in moves if not isinstance(move, Action)]
    if len(own) > 1:
        raise EffectError("too_many_calls", "only one thing can be done to your own state in a turn")
    return Decision(actions, own[0] if own else None, thought)


def _move(
    name: str, arguments: JsonValue, tools: Mapping[str, Tool], call: str | None = None
) -> Action | Then:
    tool = tools.get(name)
    if tool is None:
        raise EffectError("unknown_tool", f"there is no tool {name!r:.80}; there are {', '.join(tools)}")
    if isinstance(arguments, dict):
        arguments = completed(tool, arguments)
    wrong = misfit(arguments, tool.parameters, tool.name)
    if wrong is not None:
        raise EffectError("wrong_schema", wrong)
    fitting = cast("Mapping[str, JsonValue]", arguments)
    if tool is NOTE:
        return _note(str(fitting["text"]), call)
    own = _own(tool, fitting)
    return Action(_action(tool, fitting), call) if own is None else own


def _arguments(call: ToolCall) -> dict[str, JsonValue]:
    try:
        return read_arguments(call.arguments)
    except BadAction as bad:
        fault: EffectFault = "wrong_schema" if bad.no_object else "not_json"
        raise EffectError(fault, f"{call.name:.80}: {bad.reason}") from None


def _own(tool: Tool, arguments: Mapping[str, JsonValue]) -> Then | None:
    """Return the operation of a call on the agent's own state, None for an action. The arguments fit the tool."""
    if tool is COMPRESS:
        return Compress(str(arguments["text"]))
    if tool is FINISH:
        return Finish(str(arguments["answer"]))
    if tool is REVISE:
        step = int(cast("int", arguments["step"]))
        if step < 0:
            raise EffectError("wrong_schema", "revise.step: no step has a number below 0")
        return Revise(step, str(arguments["lesson"]))
    return looking(arguments) if tool is LOOK else None


def _note(text: str, call: str | None = None) -> Action:
    if not text.strip():
        raise EffectError("empty", "note: the text is blank")
    return Action(text.strip(), call, is_note=True)


def _action(tool: Tool, arguments: Mapping[str, JsonValue]) -> str:
    if tool is not ACT:
        try:
            return action_text(tool.name, arguments)
        except (ValueError, RecursionError):
            raise EffectError(
                "wrong_schema", f"{tool.name}: a number too large, or nested too deeply"
            ) from None
    action = str(arguments["action"]).strip()
    if not action:
        raise EffectError("empty", "act: the action is blank")
    return action


def decide_by_text(reply: Reply, tools: Sequence[Tool]) -> Decision:
    """Return the decision in the plain-text mode: exactly one move, the thought before it.

    Raises:
        EffectError: the reply cannot be used.
    """
    thinking, said = _whole(reply)
    if not said:
        raise EffectError("empty", "the reply is empty")
    found = find_move(said)
    thought = "\n".join(filter(None, [thinking, found.before])) or reply.aside.strip()
    if found.name == "act":
        return Decision((Action(_written(found.body, tools)),), None, thought)
    if found.name == "note":
        return Decision((_note(found.body),), None, thought)
    then: dict[str, Then] = {
        "compress": Compress(found.body),
        "revise": Revise(found.step, found.lesson),
        "look": found.look,
        "finish": Finish(found.body),
    }
    return Decision((), then[found.name], thought)


def _written(body: str, tools: Sequence[Tool]) -> str:
    """Return the canonical action that was written out."""
    if ACT in tools:
        if not body:
            raise EffectError("empty", "the action is blank")
        return body
    name, _, arguments = body.partition(" ")
    call = ToolCall("", name, arguments)
    move = _move(name, _arguments(call), {tool.name: tool for tool in tools})
    if not isinstance(move, Action) or move.is_note:
        raise EffectError("unknown_tool", f"{name} is no action; write it as a move of its own")
    return move.text


def decide_by_json(reply: Reply, tools: Sequence[Tool]) -> Decision:
    """Return the decision in the JSON mode: `{"thought": ..., "move": {"name": ..., "arguments": {...}}}`.

    Raises:
        EffectError: the reply cannot be used.
    """
    thinking, said = _whole(reply)
    document = _object_with("move", said)
    wrong = misfit(document, _MOVE, "reply")
    if wrong is not None:
        raise EffectError("wrong_schema", wrong)
    named = cast("Mapping[str, JsonValue]", document["move"])
    move = _move(str(named["name"]), named["arguments"], {tool.name: tool for tool in tools})
    thought = "\n".join(filter(None, [thinking, str(document.get("thought", ""))])) or reply.aside.strip()
    if isinstance(move, Action):
        return Decision((move,), None, thought)
    return Decision((), move, thought)


_MOVE: Final[Mapping[str, JsonValue]] = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "move": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
        },
    },
}
_VERDICT: Final[Mapping[str, JsonValue]] = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "feedback": {"type": "string"}},
    "required": ["passed"],
}


def read_verdict(reply: Reply) -> Verdict:
    """Return a judge's verdict, out of JSON or of a text that has it in it.

    Raises:
        EffectError: the reply cannot be used; also a failed verdict without feedback (D5).
    """
    _, said = _whole(reply)
    document = _object_with("passed", said)
    wrong = misfit(document, _VERDICT, "verdict")
    if wrong is not None:
        raise EffectError("wrong_schema", wrong)
    if document["passed"] is True:
        return Passed()
    feedback, fault = str(document.get("feedback", "")).strip(), document.get("fault")
    if not feedback:
        raise EffectError("wrong_schema", "verdict.feedback: it failed, and nothing says what is wrong")
    if fault not in ("summary", "execution"):
        raise EffectError("wrong_schema", 'verdict.fault: it failed; expected "summary" or "execution"')
    if fault == "summary":  # a text begins nowhere
        return Failed(feedback, "summary")
    return Failed(feedback, "execution", _boundary(document.get("boundary")))


def _boundary(said: JsonValue) -> StepId | None:
    """Return where a mistake began, None where that is not said. Whether it is a boundary the memory looks at."""
    if said is None or said == "":
        return None
    if isinstance(said, int) and not isinstance(said, bool):
        return StepId(said)
    found = _BOUNDARY.match(said) if isinstance(said, str) else None
    if found is None:
        raise EffectError("wrong_schema", "verdict.boundary: expected the number of a step, or null")
    return StepId(int(found[1]))


def _object_with(key: str, said: str) -> dict[str, JsonValue]:
    """Return the first JSON object in a text that has a key."""
    if not said:
        raise EffectError("empty", "the reply is empty")
    found = False
    for document in objects_in(said):
        found = True
        if key in document:
            return document
    if found:
        raise EffectError("wrong_schema", f"the JSON object has no {key!r}")
    raise EffectError("not_json", "there is no JSON object in the reply")


def objects_in(text: str) -> Iterator[dict[str, JsonValue]]:
    """Yield the JSON objects in a text, none inside another. Cost: O(length), as it stops after `_TRIES` failures."""
    failures = place = 0
    while failures < _TRIES and (opened := _OPENED.search(text, place)) is not None:
        try:
            document, place = _DECODER.raw_decode(text, opened.start())
        except (ValueError, RecursionError):  # no object, or one with a number too long or nested too deeply
            failures += 1
            place = opened.start() + 1
        else:
            yield document


def _no_number(written: str) -> Any:
    raise ValueError(written)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


# -- the plain-text mode -------------------------------------------------------------------------------


@final
@attrs.frozen
class Move:
    """A move that was found in a text.

    Attributes:
        name: which.
        body: the text between its brackets, without the white space around it.
        before: the text before it.
        step: where to revise to; 0 for another move.
        lesson: what to leave there; empty for another move.
        look: what to look into; the root's line, which there is not, for another move.
    """

    name: MoveName
    body: str
    before: str
    step: int = 0
    lesson: str = ""
    look: LookInto = attrs.field(default=LookInto(0))


def find_move(text: str) -> Move:
    """Return the one move in a text. Any text. Cost: O(length).

    Raises:
        EffectError: `wrong_schema` where there is none or it is not closed, `too_many_calls` where there are more.
    """
    opened = _ON_A_LINE.search(text) or _ANYWHERE.search(text)
    if opened is None:
        raise EffectError(
            "wrong_schema",
            "no move in the reply, such as Action[...], Compress[...] or Finish[...]",
        )
    end, balanced = _closing(text, opened.end())
    if end is None:
        raise EffectError("wrong_schema", f"{opened[1]}[ is not closed by a bracket at the end of a line")
    if _ON_A_LINE.search(text, end + 1 if balanced else opened.end()):
        raise EffectError("too_many_calls", "more than one move in the reply")
    move = Move(_NAMES[opened[1]], text[opened.end() : end].strip(), text[: opened.start()].strip())
    if move.name == "look":
        return _looking(move)
    return _revising(move) if move.name == "revise" else move


def _closing(text: str, start: int) -> tuple[int | None, bool]:
    """Return where the bracket closes that was opened before `start`, and whether those between are balanced.

    Where they are not, it is the last bracket that ends a line.
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


def _revising(move: Move) -> Move:
    found = _STEP.match(move.body)
    if found is None:
        raise EffectError("wrong_schema", "Revise: expected the number of a step, a semicolon and a lesson")
    return attrs.evolve(move, step=int(found[1]), lesson=(found[2] or "").strip())


def _looking(move: Move) -> Move:
    found = _LOOK.match(move.body)
    if found is None:
        raise EffectError("wrong_schema", "Look: expected N or A..B, then words and a page after semicolons")
    boundary = None if found[2] is None else int(found[2])
    look = LookInto(int(found[1]), boundary, (found[3] or "").strip(), int(found[4] or 1))
    return attrs.evolve(move, look=look)
