"""Replies read into decisions and verdicts: any reply is one of these, or an `EffectError` with its fault.

refusal         the model refuses, or a filter has cut it off
truncated       it stopped for length, or broke off, or for a reason that is not known (`messages.finish_of`)
overflow        the model's context is at its end
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
from typing import Final, Literal, TypeAlias, cast, final

import attrs

from mage.chat.messages import ToolCall, finish_of
from mage.chat.tools import (
    ACT,
    COMPRESS,
    FINISH,
    LOOK,
    NOTE,
    REVISE,
    BadAction,
    completed,
    looking,
    misfit,
    no_number,
    read_arguments,
)
from mage.codec.strict_json import action_text
from mage.effects import (
    Action,
    Decision,
    EffectError,
    EffectFault,
    Finish,
    JsonValue,
    LookInto,
    Then,
    Tool,
    Usage,
)
from mage.engine import Compress, Failed, FoldRequest, JudgeRequest, Passed, Revise, StepId, Verdict

_ONE: Final = Usage()
_THINKS: Final = re.compile(r"<(think|thinking|thought)>", re.IGNORECASE)
_THOUGHT: Final = re.compile(r"<(/?)(think|thinking|thought)>", re.IGNORECASE)
_ALONE: Final = re.compile(
    r"(?:^[ \t]{0,8}</(?:think|thinking|thought)>[ \t]{0,8}$|</(?:think|thinking|thought)>[ \t]{0,8}\n[ \t]{0,8}\n)",
    re.IGNORECASE | re.MULTILINE,
)
"""The end of thinking that began in the prompt: a line of its own, or the end of a paragraph."""
_FENCE: Final = "```"
_QUOTES: Final = frozenset("\"'`")
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
MOVE_BEGINS: Final = re.compile(_ON_A_LINE.pattern)
"""Matches at the beginning of a line on which a move begins."""
_ANYWHERE: Final = re.compile(r"\b(Action|Compress|Revise|Look|Note|Finish)\[")
_LINE_ENDS: Final = re.compile(r"[ \t*`.]{0,8}(?:[\r\n]|\Z)")
_BRACKET: Final = re.compile(r"[\[\]]")
_STEP: Final = re.compile(r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})\]?\s*(?:;(.*))?\Z", re.DOTALL)

_LOOK: Final = re.compile(
    r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})(?:\.\.([0-9]{1,9}))?\]?\s*(?:;([^;]*))?(?:;\s*([0-9]{1,9})?\s*)?\Z"
)
_BOUNDARY: Final = re.compile(r"\s*\[?(?:[Ss]tep\s{0,8})?([0-9]{1,9})\]?\s*\Z")
"""How judges write a boundary where no schema is enforced."""


@final
@attrs.frozen
class Reply:
    """A model's reply, whole or not.

    Attributes:
        text: its content.
        calls: the tools it called; an argument is JSON only if the model got it right.
        refusal: in its words, why it will not answer; empty where it does.
        finish: why it stopped, in the provider's word; None where the reply broke off.
        usage: the tokens of the call.
        model: the name under which the provider says it answered.
        aside: its thoughts, where a server splits them off; they stand for those that its content does not have.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish: str | None = None
    usage: Usage = _ONE
    model: str = ""
    aside: str = attrs.field(default="", repr=False)


def _whole(reply: Reply) -> tuple[str, str]:
    """Return what the model thought and what it said in a reply that is whole; a thought aside, where it said nothing else.

    Raises:
        EffectError: the reply is refused, cut or broken off, or the model's context is at its end.
    """
    finish = finish_of(reply.finish)
    if reply.refusal or finish == "refusal":
        raise EffectError("refusal", "the model refused to answer, or a filter cut it off")
    if finish == "overflow":
        raise EffectError("overflow", "the prompt and the reply do not fit into the model's context")
    if finish != "whole":
        raise EffectError("truncated", _why_cut(reply.finish))
    thought, said = parted(reply.text, is_split=bool(reply.aside.strip()))
    return thought if thought or said else reply.aside.strip(), said


def _why_cut(finish: str | None) -> str:
    """Return in words why a reply is not whole, with the server's word: it may be one that mage does not know."""
    if finish is None or not re.fullmatch(r"[\w .:-]{1,40}", finish):
        return "the reply broke off before its end"
    if "len" in finish.casefold() or "max" in finish.casefold():
        return "the reply is longer than it may be; be shorter"
    return f"the reply broke off before its end ({finish})"


def parted(text: str, *, is_split: bool = False) -> tuple[str, str]:
    """Return what of a text is thinking, and the rest. Cost: O(length).

    Servers that do not split off the thinking of a reasoning model leave it at the beginning of the content, the
    opening tag sometimes in the prompt. A tag anywhere else is text: in a string, in code, in an action, in JSON.

    Args:
        text: the content of a reply.
        is_split: whether the server has split thinking off already, so that no closing tag ends any.

    Raises:
        EffectError: the text ends within its thinking.
    """
    thoughts: list[str] = []
    said = text.strip()
    while (opened := _THINKS.match(said)) is not None:
        end = _end_of_thinking(said, opened.end(), opened[1])
        thoughts.append(said[opened.end() : end.start()].strip())
        said = said[end.end() :].strip()
    if not thoughts and not is_split and (closed := _closing_tag(said)) is not None:
        thoughts.append(said[: closed.start()].strip())
        said = said[closed.end() :].strip()
    return "\n".join(filter(None, thoughts)), said


def _end_of_thinking(text: str, start: int, name: str) -> re.Match[str]:
    """Return the tag that ends the thinking that was opened before `start`: the first that is not quoted, or the last."""
    depth, quoted = 1, None
    for tag in _THOUGHT.finditer(text, start):
        if tag[2].casefold() != name.casefold():
            continue
        if text[tag.start() - 1] in _QUOTES and text[tag.end() : tag.end() + 1] in _QUOTES:
            quoted = tag if tag[1] else quoted
            continue
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag
        quoted = tag if tag[1] else quoted
    if quoted is None:
        raise EffectError("truncated", "the reply ends within its thinking")
    return quoted


def _closing_tag(text: str) -> re.Match[str] | None:
    """Return the tag that ends thinking without an opening tag, None where there is none.

    What stands before it must be able to end there: no code and no move is open, and no tag was opened in it.
    """
    found = _ALONE.search(text)
    if found is None:
        return None
    before = text[: found.start()]
    if before.count(_FENCE) % 2 or _THINKS.search(before) is not None:
        return None
    moved = _ON_A_LINE.search(before)
    if (
        moved is not None
        and _closing(before, moved.end())[0] is None
        and _closing(text, moved.end())[0] is not None
    ):
        return None
    return found


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
    moves = [_move(call.name, _arguments(call), by_name, call) for call in calls]
    actions = tuple(move for move in moves if isinstance(move, Action))
    own = [move for move in moves if not isinstance(move, Action)]
    if len(own) > 1:
        raise EffectError("too_many_calls", "only one thing can be done to your own state in a turn")
    return Decision(actions, own[0] if own else None, thought)


def _move(
    name: str, arguments: JsonValue, tools: Mapping[str, Tool], call: ToolCall | None = None
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
    if own is not None:
        return own
    action = _action(tool, fitting)
    return Action(action) if call is None else Action(action, call.id or None, call.beside)


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


def _note(text: str, call: ToolCall | None = None) -> Action:
    if not text.strip():
        raise EffectError("empty", "note: the text is blank")
    if call is None:
        return Action(text.strip(), is_note=True)
    return Action(text.strip(), call.id or None, call.beside, is_note=True)


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


def verdict_on(request: JudgeRequest | FoldRequest, reply: Reply) -> Verdict:
    """Return a judge's verdict on what it was asked: of a fallback and a chapter only the text is judged (D12, D19).

    Raises:
        EffectError: as from `read_verdict`.
    """
    verdict = read_verdict(reply)
    asks_steps = isinstance(request, JudgeRequest) and request.kind == "subgoal"
    if isinstance(verdict, Failed) and not asks_steps:
        return Failed(verdict.feedback, "summary")
    return verdict


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


_DECODER: Final = json.JSONDecoder(parse_constant=no_number)


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
