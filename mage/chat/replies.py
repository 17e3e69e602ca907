"""Replies read: as a host's client has them (`read_reply`), and into decisions and verdicts, or an `EffectError`.

`read_reply` takes OpenAI's chat completions (the completion or its message) and Responses, and Anthropic's Messages: the
client's object, or the same as JSON. Every `Reply` is a decision, a verdict or a text, or it has one of these faults:

refusal         the model refuses, or a filter has cut it off
truncated       it stopped for length, or broke off, or for a reason that is not known (`finish_of`)
overflow        the model's context is at its end
empty           the reply holds nothing but white space
not_json        JSON was asked for
wrong_schema    it lacks a part, has one of another type, or has no call where one was due
unknown_tool    there is no such tool
too_many_calls  more than one of compress, revise, look and finish (D11)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, TypeAlias, cast, final

import attrs

from mage.chat.messages import (
    Form,
    ToolCall,
    call_beside,
    chat_beside,
    content_of,
    kept_beside,
    list_of,
    mapping_of,
    string_of,
    thought_of,
    thoughts_beside,
    transcript_of,
    without_nulls,
)
from mage.chat.tools import (
    ACT,
    COMPRESS,
    FINISH,
    LOOK,
    MOVE_BEGINS,
    NOTE,
    NUMBERED,
    REVISE,
    BadAction,
    asks_steps,
    closing_of,
    completed,
    find_move,
    looking,
    misfit,
    no_number,
    read_arguments,
)
from mage.codec.strict_json import action_text, canonical
from mage.effects import (
    Action,
    Decision,
    EffectError,
    EffectFault,
    Finish,
    JsonValue,
    Then,
    Tool,
    Usage,
)
from mage.engine import Compress, Failed, FoldRequest, JudgeRequest, Passed, Revise, StepId, Verdict
from mage.engine.errors import MageError

# -- how a reply ended: the words of all servers, in one table ----------------------------------------------
#
# A word that is not in the table means that the reply was cut: a part of a reply must not become a summary or an action.
# So users notice a server's new word for a whole reply at its first reply, and a new word for a broken one does no harm.


Ending: TypeAlias = Literal["whole", "truncated", "refusal", "overflow"]
"""How a reply ended: whole; cut or broken off; refused by the model or a filter; at the end of the model's context."""

_NO_LETTER: Final = re.compile(r"[^a-z]+")
_FINISHES: Final[Mapping[Ending, str]] = {
    "whole": """
        stop  tool_calls  tool_call  tool_use  function_call  end_turn  stop_sequence  stop_string_found  stop_token
        eos  eos_token  eos_found  end_of_sequence  end_of_text  end  normal  complete  completed  finished""",
    "refusal": """
        refusal  refused  content_filter  content_filtered  content_moderation  sensitive  safety  spii  recitation
        blocklist  prohibited_content  guardrail_intervened  error_toxic  image_safety  image_recitation
        image_prohibited_content""",
    "overflow": """
        model_context_window_exceeded  context_window_exceeded  context_length_exceeded  context_length_reached
        model_length  error_limit""",
}


def _letters(word: str) -> str:
    """Return the letters of a word: servers differ in case and in what stands between the parts of a word."""
    return _NO_LETTER.sub("", word.casefold()).removeprefix("finishreason")


_BY_LETTERS: Final[Mapping[str, Ending]] = {
    _letters(word): finish for finish, words in _FINISHES.items() for word in words.split()
}


def is_cut(word: object) -> bool:
    """Tell whether a reply says that it is not whole. A host that makes a reply itself may leave the word out."""
    return word is not None and finish_of(str(word)) != "whole"


def finish_of(word: str | None) -> Ending:
    """Return how a reply ended, by its server's word, which is None where the server gave none. Any text."""
    return "truncated" if word is None else _BY_LETTERS.get(_letters(word[:100]), "truncated")


# -- a reply as a host's client has it ----------------------------------------------------------------------


@final
@attrs.frozen
class NoReply(MageError, TypeError):
    """A value is not a model's reply.

    Attributes:
        found: the name of its type.
    """

    found: str

    def __str__(self) -> str:
        return (
            f"a {self.found} is no reply: give the client's chat completion or its message, its Responses response,"
            " its Anthropic message, or one of these as a dict (`model_dump()`)"
        )


@final
@attrs.frozen(slots=False)
class AssistantReply:
    """One reply of a model.

    Attributes:
        text: its words; empty where it only called tools.
        calls: its calls, in order; arguments as the model wrote them.
        is_cut: whether the provider gives a reason to end that is not known as that of a whole reply.
        thought: the model's thought, where the provider gives it apart from the words.
        parts: the images, sounds and files in it, by the digests in the marks that stand for them in `text`.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    thought: str = attrs.field(default="", repr=False)
    parts: Mapping[str, object] = attrs.field(factory=dict, repr=False, hash=False)

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of the SHA-256 of text and calls. Cost: O(size), once."""
        said = [self.text, [[call.id, call.name, call.arguments] for call in self.calls]]
        return hashlib.sha256(canonical(said).encode(errors="backslashreplace")).hexdigest()[:16]


def read_reply(reply: object) -> AssistantReply:
    """Return a model's reply. Cost: O(size).

    Raises:
        NoReply: the object is in none of the known forms.
    """
    if isinstance(reply, AssistantReply):
        return reply
    dump = getattr(reply, "model_dump", None)  # all three SDKs make their objects with pydantic
    document = dump(mode="json") if callable(dump) else reply
    if not isinstance(document, Mapping):
        raise NoReply(type(reply).__name__)
    choices, output, content = (document.get(name) for name in ("choices", "output", "content"))
    if isinstance(choices, list) and choices:
        choice = mapping_of(choices[0])
        message, ended = mapping_of(choice.get("message")), choice.get("finish_reason")
    elif isinstance(output, list):
        return _of_items(output, "responses", document.get("status"))
    elif isinstance(content, list) and (document.get("type") == "message" or _has_blocks(content)):
        return _of_items(content, "anthropic", document.get("stop_reason"))
    else:
        message, ended = document, None
    if message.get("role") != "assistant":
        raise NoReply(type(reply).__name__)
    return _of_chat(message, ended)


def _chat_call(called: Mapping[str, object], beside: str) -> ToolCall:
    if called.get("type") == "custom":
        return _call(called.get("id"), mapping_of(called.get("custom")), "input", beside)
    return _call(called.get("id"), mapping_of(called.get("function")), "arguments", beside)


def _has_blocks(content: list[object]) -> bool:
    """Tell whether a content holds blocks of Anthropic's: in a history that a host keeps, a message has no type."""
    return any(mapping_of(part).get("type") == "tool_use" for part in content)


def _of_chat(message: Mapping[str, object], ended: object) -> AssistantReply:
    called = [mapping_of(each) for each in list_of(message.get("tool_calls"))]
    beside = chat_beside(message, called)
    calls = [_chat_call(each, kept) for each, kept in zip(called, beside, strict=True)]
    if message.get("function_call") is not None:  # the older form, with one call
        calls.append(_call("", mapping_of(message["function_call"]), "arguments"))
    content = content_of(message.get("content"), others=lambda _: "")
    audio = content_of(
        None if message.get("audio") is None else [{"type": "audio", "audio": message["audio"]}]
    )
    spoken = [transcript_of(message.get("audio"))]
    text = "\n".join(filter(None, [*content.texts, string_of(message.get("refusal")), *spoken]))
    thought = "\n".join(filter(None, [thoughts_beside(message), *content.thoughts]))
    return AssistantReply(text, tuple(calls), is_cut(ended), thought, {**content.parts, **audio.parts})


def _of_items(items: Iterable[object], form: Form, ended: object) -> AssistantReply:
    """Return the reply with the items of a response, or the blocks of a message."""
    texts: list[str] = []
    thoughts: list[str] = []
    parts: dict[str, object] = {}
    calls: list[ToolCall] = []
    beside: list[Mapping[str, object]] = []
    before: list[object] = []
    for found in map(mapping_of, items):
        called = _called(found)
        if called is not None:
            calls.append(called)
            beside.append({"before": before, "call": call_beside(found) if form == "anthropic" else {}})
            before = []
        elif thought_of(found) is not None:
            thoughts.append(thought_of(found) or "")
            before.append(without_nulls(found))
        else:
            said = found.get("content") if found.get("type") == "message" else [found]
            content = content_of(said, others=lambda _: "")
            texts.extend(content.texts)
            parts.update(content.parts)
    kept = kept_beside(form, beside)
    dressed = [attrs.evolve(call, beside=each) for call, each in zip(calls, kept, strict=True)]
    text, thought = "\n".join(filter(None, texts)), "\n".join(filter(None, thoughts))
    return AssistantReply(text, tuple(dressed), is_cut(ended), thought, parts)


def _called(found: Mapping[str, object]) -> ToolCall | None:
    """Return the call in an item or a block; None where it is no call."""
    match found.get("type"):
        case "function_call":
            return _call(found.get("call_id"), found, "arguments")
        case str(kind) if kind.endswith("_call") and "call_id" in found:  # custom, shell and computer calls
            return _call(found["call_id"], {"name": kind, **found}, "input" if "input" in found else "action")
        case "tool_use":
            return _call(found.get("id"), found, "input")
        case _:
            return None


def _call(key: object, called: Mapping[str, object], field: str, beside: str = "") -> ToolCall:
    arguments = called.get(field)
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps({} if arguments is None else arguments)
        except (TypeError, ValueError, RecursionError):  # nested too deeply, a number too long, no JSON
            arguments = "(arguments that JSON cannot say)"
    return ToolCall(string_of(key), string_of(called.get("name")), arguments, beside)


# -- decisions ---


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
"""How a JSON object begins; a brace of LaTeX or of a program mostly begins otherwise."""
_TRIES: Final = 200
"""The search for objects ends after so many beginnings that were none."""

_BOUNDARY: Final = re.compile(rf"{NUMBERED}\]?\s*\Z")
"""How judges write a boundary where no schema is enforced."""


@final
@attrs.frozen
class Reply:
    """A model's reply, whole or not.

    Attributes:
        text: its content.
        calls: its calls; their arguments are JSON only if the model got it right.
        refusal: the model's words on why it will not answer; empty where it does.
        finish: the provider's word for why the model stopped; None where the reply broke off.
        usage: the tokens of the call.
        model: the model's name, as the provider returns it.
        aside: the thoughts that a server splits off; they stand in for thoughts that the content lacks.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish: str | None = None
    usage: Usage = attrs.field(factory=Usage)
    model: str = ""
    aside: str = attrs.field(default="", repr=False)


def _whole(reply: Reply) -> tuple[str, str]:
    """Return the thought and the words of a whole reply; the thought is that aside where the content has neither.

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


def _worded(reply: Reply) -> tuple[str, str]:
    """Return the thought and the words of a whole reply that must have words; see `_whole`."""
    thought, said = _whole(reply)
    if not said:
        raise EffectError("empty", "the reply is empty")
    return thought, said


def _why_cut(finish: str | None) -> str:
    """Return in words why a reply is not whole, with the server's word, which mage may not know."""
    if finish is None or not re.fullmatch(r"[\w .:-]{1,40}", finish):
        return "the reply broke off before its end"
    if "len" in finish.casefold() or "max" in finish.casefold():
        return "the reply is longer than it may be; be shorter"
    return f"the reply broke off before its end ({finish})"


def parted(text: str, *, is_split: bool = False) -> tuple[str, str]:
    """Return the thinking in a text, and the rest. Cost: O(length).

    Servers that do not split off the thinking of a reasoning model leave it at the beginning of the content, with the
    opening tag sometimes in the prompt. A tag anywhere else is text: in a string, in code, in an action, in JSON.

    Args:
        text: the content of a reply.
        is_split: whether the server has split thinking off, so that no closing tag ends any.

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
    """Return the tag that ends the thinking that was opened before `start`: the first unquoted tag, or the last one."""
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
    """Return the tag that ends thinking without an opening tag; None where there is none.

    The text before it must be able to end there: no code and no move is open, and no tag was opened.
    """
    found = _ALONE.search(text)
    if found is None:
        return None
    before = text[: found.start()]
    if before.count(_FENCE) % 2 or _THINKS.search(before) is not None:
        return None
    moved = MOVE_BEGINS.search(before)
    if (
        moved is not None
        and closing_of(before, moved.end())[0] is None
        and closing_of(text, moved.end())[0] is not None
    ):
        return None
    return found


def read_text(reply: Reply) -> str:
    """Return the text of a reply to a question for a text.

    Raises:
        EffectError: the reply cannot be used.
    """
    return _worded(reply)[1]


def decide_by_calls(reply: Reply, tools: Sequence[Tool]) -> Decision:
    """Return the decision in calls of tools: actions in the order of the calls, the operation on its own state last (D11).

    Raises:
        EffectError: the reply cannot be used.
    """
    thought, said = _whole(reply)
    if not reply.calls:
        if not said:
            raise EffectError("empty", "the reply is empty")
        raise EffectError("wrong_schema", "no tool was called")
    by_name = {tool.name: tool for tool in tools}
    moves = [
        _move(call.name, _arguments(call), by_name, call.id or None, call.beside) for call in reply.calls
    ]
    actions = tuple(move for move in moves if isinstance(move, Action))
    own = [move for move in moves if not isinstance(move, Action)]
    if len(own) > 1:
        raise EffectError("too_many_calls", "only one thing can be done to your own state in a turn")
    return Decision(actions, own[0] if own else None, "\n".join(filter(None, [thought, said])))


def _move(
    name: str,
    arguments: JsonValue,
    tools: Mapping[str, Tool],
    key: str | None = None,
    beside: str = "",
) -> Action | Then:
    tool = tools.get(name)
    if tool is None:
        raise EffectError("unknown_tool", f"there is no tool {name!r:.80}; there are {', '.join(tools)}")
    if isinstance(arguments, dict):
        arguments = completed(tool, arguments)
    _require(arguments, tool.parameters, tool.name)
    fitting = cast("Mapping[str, JsonValue]", arguments)
    own = _own(tool, fitting)
    if own is not None:
        return own
    if tool is NOTE:
        return Action(_noted(str(fitting["text"])), key, beside, is_note=True)
    return Action(_action(tool, fitting), key, beside)


def _require(value: object, schema: object, at: str) -> None:
    wrong = misfit(value, schema, at)
    if wrong is not None:
        raise EffectError("wrong_schema", wrong)


def _arguments(call: ToolCall) -> dict[str, JsonValue]:
    try:
        return read_arguments(call.arguments)
    except BadAction as bad:
        fault: EffectFault = "wrong_schema" if bad.no_object else "not_json"
        raise EffectError(fault, f"{call.name:.80}: {bad.reason}") from None


def _own(tool: Tool, arguments: Mapping[str, JsonValue]) -> Then | None:
    """Return the operation of a call on the agent's own state; None for an action. The arguments fit the tool."""
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


def _noted(text: str) -> str:
    if not text.strip():
        raise EffectError("empty", "note: the text is blank")
    return text.strip()


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
    thinking, said = _worded(reply)
    found = find_move(said)
    thought = "\n".join(filter(None, [thinking, found.before])) or reply.aside.strip()
    if found.name == "Action":
        return Decision((Action(_written(found.body, tools)),), None, thought)
    if found.name == "Note":
        return Decision((Action(_noted(found.body), is_note=True),), None, thought)
    return Decision((), found.then, thought)


def _written(body: str, tools: Sequence[Tool]) -> str:
    """Return the canonical form of an action in plain text."""
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
    thinking, said = _worded(reply)
    document = _object_with("move", said)
    _require(document, _MOVE, "reply")
    named = cast("Mapping[str, JsonValue]", document["move"])
    move = _move(str(named["name"]), named["arguments"], {tool.name: tool for tool in tools})
    thought = "\n".join(filter(None, [thinking, str(document.get("thought", ""))])) or reply.aside.strip()
    return Decision((move,), None, thought) if isinstance(move, Action) else Decision((), move, thought)


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
    """Return a judge's verdict from JSON, or from a text with JSON in it.

    Raises:
        EffectError: the reply cannot be used; also a failed verdict without feedback (D5).
    """
    _, said = _worded(reply)
    document = _object_with("passed", said)
    _require(document, _VERDICT, "verdict")
    if document["passed"] is True:
        return Passed()
    feedback, fault = str(document.get("feedback", "")).strip(), document.get("fault")
    if not feedback:
        raise EffectError("wrong_schema", "verdict.feedback: it failed, and nothing says what is wrong")
    if fault not in ("summary", "execution"):
        raise EffectError("wrong_schema", 'verdict.fault: it failed; expected "summary" or "execution"')
    if fault == "summary":  # a boundary says nothing about a text
        return Failed(feedback, "summary")
    return Failed(feedback, "execution", _boundary(document.get("boundary")))


def verdict_on(request: JudgeRequest | FoldRequest, reply: Reply) -> Verdict:
    """Return a judge's verdict on a request: of a fallback and a chapter only the text can be at fault (D12, D19).

    Raises:
        EffectError: as from `read_verdict`.
    """
    verdict = read_verdict(reply)
    if isinstance(verdict, Failed) and not asks_steps(request):
        return Failed(verdict.feedback, "summary")
    return verdict


def _boundary(said: JsonValue) -> StepId | None:
    """Return where a mistake began; None where the judge did not say. The memory checks that it is a boundary."""
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
