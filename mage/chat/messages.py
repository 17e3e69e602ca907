"""Messages of a chat as frozen values: written in the forms of three interfaces, and replies read from them.

The interfaces are OpenAI's chat completions (the completion or its message) and Responses, and Anthropic's Messages. A
reply may be the client's object, or the same as JSON.

What a provider puts beside a call goes back with the call while its step is shown as one. Some refuse a call without it: DeepSeek and Kimi want their `reasoning_content`, Gemini its signature in
`extra_content`, Anthropic its thinking blocks, OpenAI's Responses their reasoning items. It is kept as JSON text, in
`ToolCall.beside`, `Action.beside`, and the meta of the step, and is never read for its words.

    {"form": "chat", "message": {...}, "call": {...}}     fields of the message, and of the call
    {"form": "anthropic", "before": [...], "call": {...}}  blocks or items right before the call, and its other fields
    {"form": "chat", "follows": true, ...}                 a call behind the first of its reply

Calls of one reply go back in one message, as a provider may sign the first of them alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, assert_never, final

import attrs

from mage.chat.parts import content_of, list_of, mapping_of, string_of, thought_of, transcript_of
from mage.codec.strict_json import canonical
from mage.engine.errors import MageError

# -- how a reply ended: the words of all servers, in one table ----------------------------------------------
#
# A word that is not in the table means that the reply was cut: a part of a reply must not become a summary or an action.
# So a server with a new word for a whole reply is noticed at its first reply, and a new word for a broken one does no harm.


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
    """Tell whether a reply says that it is not whole. A host that writes one itself may leave the word out."""
    return word is not None and finish_of(str(word)) != "whole"


def finish_of(word: str | None) -> Ending:
    """Return how a reply ended, by its server's word for it; None where the server gave none. Any text."""
    return "truncated" if word is None else _BY_LETTERS.get(_letters(word[:100]), "truncated")


# -- what a provider puts beside a call ---------------------------------------------------------------------


Form: TypeAlias = Literal["chat", "responses", "anthropic"]
"""An interface to a model: OpenAI's chat completions and Responses, Anthropic's Messages."""
BESIDE: Final = "beside"
"""The key in the meta of a step under which stands what its provider put beside its call."""
ASIDE: Final = re.compile(r"reasoning|thinking|thought|signature|extra_content")
"""How the fields of a message begin that a provider wants back."""
_REASONING: Final = ("reasoning_content", "reasoning")  # some servers give both, with the same text
_OF_A_CALL: Final = frozenset(
    {"id", "call_id", "type", "index", "function", "custom", "name", "arguments", "input", "action", "status"}
)
_OF_A_FUNCTION: Final = frozenset({"name", "arguments"})
Beside: TypeAlias = Mapping[str, object]


def thoughts_beside(message: Mapping[str, object]) -> str:
    """Return what a model thought, from the fields beside the content of its message; empty where there is nothing."""
    details = [thought_of(item) or "" for item in list_of(message.get("reasoning_details"))]
    fields = [string_of(message.get(name)) for name in _REASONING]
    return max([*fields, "\n".join(filter(None, details))], key=len)


def message_beside(message: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a chat message that go back with its calls: reasoning, signatures, thinking in the content."""
    found = {name: value for name, value in message.items() if value and ASIDE.match(name)}
    thinking = [part for part in list_of(message.get("content")) if thought_of(part) is not None]
    return {**found, "content": thinking} if thinking else found


def call_beside(call: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a call that say more than id, name and arguments, and those of its `function`."""
    found = {name: value for name, value in call.items() if value is not None and name not in _OF_A_CALL}
    function = mapping_of(call.get("function"))
    more = {
        name: value for name, value in function.items() if value is not None and name not in _OF_A_FUNCTION
    }
    return {**found, "function": more} if more else found


def kept_beside(form: Form, beside: Sequence[Beside]) -> list[str]:
    """Return as texts what stands beside the calls of one reply, in order; empty texts where nothing does."""
    if not any(each for found in beside for each in found.values()):
        return [""] * len(beside)
    texts = []
    for place, found in enumerate(beside):
        kept = {name: value for name, value in found.items() if value}
        texts.append(_text({"form": form, **({"follows": True} if place else {}), **kept}))
    return texts


def _text(value: Beside) -> str:
    try:
        return canonical(value)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # a client's object, a number without end, nested too deeply
        return ""


def _read(beside: str) -> Beside:
    """Return what stands beside a call. Any text: it may come from a journal that others have written."""
    try:
        return mapping_of(json.loads(beside)) if beside else {}
    except (ValueError, RecursionError):
        return {}


def follows(beside: str) -> bool:
    """Tell whether a call stands behind another one in its reply."""
    return _read(beside).get("follows") is True


def fields_of_message(beside: str, form: Form) -> dict[str, object]:
    """Return the fields that go back into the message of a call, in the form that they came in."""
    found = _read(beside)
    message = mapping_of(found.get("message")) if found.get("form") == form else {}
    return {name: value for name, value in message.items() if ASIDE.match(name) or name == "content"}


def fields_of_call(beside: str, form: Form) -> dict[str, object]:
    """Return the fields that go back into a call; under `function` those that go into its function."""
    found = _read(beside)
    call = mapping_of(found.get("call")) if found.get("form") == form else {}
    return {name: value for name, value in call.items() if name not in _OF_A_CALL or name == "function"}


def items_before(beside: str, form: Form) -> list[dict[str, object]]:
    """Return the blocks or items that go back right before a call: thoughts, and nothing else."""
    found = _read(beside)
    before = list_of(found.get("before")) if found.get("form") == form else []
    return [dict(mapping_of(item)) for item in before if thought_of(item) is not None]


def without_nulls(item: Mapping[str, object]) -> dict[str, object]:
    """Return an item without its null fields: a client's SDK writes them, and its server takes no null."""
    return {name: value for name, value in item.items() if value is not None}


# -- messages -----------------------------------------------------------------------------------------------


@final
@attrs.frozen
class System:
    """The fixed words at the start of a chat."""

    text: str


@final
@attrs.frozen
class User:
    """A text for the model: words of ours at the left margin, content indented."""

    text: str


@final
@attrs.frozen
class ToolCall:
    """A call of a tool.

    Attributes:
        id: the id by which a result names the call.
        name: the tool's.
        arguments: JSON.
        beside: what the provider put beside the call and wants back with it (`mage.chat.messages`); empty for nothing.
    """

    id: str
    name: str
    arguments: str
    beside: str = attrs.field(default="", repr=False)


@final
@attrs.frozen
class Assistant:
    """A reply of the model: a text, or the call of a tool.

    Attributes:
        text: the text.
        call: the call; None for none.
        further: the calls behind it in the same reply, in order.
    """

    text: str = ""
    call: ToolCall | None = None
    further: tuple[ToolCall, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls, in order."""
        return () if self.call is None else (self.call, *self.further)


@final
@attrs.frozen
class ToolResult:
    """The result of a call.

    Attributes:
        call: the call's id.
        text: the observation, in the form of its block.
    """

    call: str
    text: str


ChatMessage: TypeAlias = System | User | Assistant | ToolResult


def merged(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Yield the messages, neighbours from the user joined and empty ones left out.

    Some chat templates insist that user and assistant alternate. Every text of a `User` ends in a line feed,
    so the text of a second message begins at the left margin.
    """
    waiting = ""
    for message in messages:
        if isinstance(message, User):
            waiting += message.text
            continue
        if waiting:
            yield User(waiting)
            waiting = ""
        yield message
    if waiting:
        yield User(waiting)


def together(steps: Iterable[tuple[ChatMessage, ...]]) -> Iterator[ChatMessage]:
    """Yield the messages of steps, the calls of one reply as one message, and then their results.

    Only where the provider has put something beside a call it matters which calls were one reply.
    """
    said: Assistant | None = None
    results: list[ChatMessage] = []
    for first, *behind in steps:
        call = first.call if isinstance(first, Assistant) else None
        if said is not None and call is not None and follows(call.beside):
            said = attrs.evolve(said, further=(*said.further, call))
            results.extend(behind)
            continue
        if said is not None:
            yield from (said, *results)
        said, results = (first, behind) if isinstance(first, Assistant) and call is not None else (None, [])
        if said is None:
            yield from (first, *behind)
    if said is not None:
        yield from (said, *results)


# `Any` below: JSON that a client's SDK types in its own way; no client is imported here.


def written(messages: Iterable[ChatMessage], form: Form) -> list[dict[str, Any]]:
    """Return messages as an interface takes them: JSON all through.

    A lone surrogate, which UTF-8 cannot spell, becomes U+FFFD. Anthropic takes its system prompt beside the messages,
    so a `System` has no place in that form. Cost: O(size).

    Raises:
        ValueError: a `System` in Anthropic's form.
    """
    return _WRITTEN[form](messages)


def sendable(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 cannot spell. Cost: O(length)."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _as_chat(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    return [_chat_message(message) for message in messages]


def _chat_message(message: ChatMessage) -> dict[str, Any]:
    match message:
        case System(text):
            return {"role": "system", "content": sendable(text)}
        case User(text):
            return {"role": "user", "content": sendable(text)}
        case ToolResult(call, text):
            return {"role": "tool", "tool_call_id": call, "content": sendable(text)}
        case Assistant(text, None):
            return {"role": "assistant", "content": sendable(text)}
        case Assistant(text, ToolCall() as first):
            said: dict[str, Any] = {"role": "assistant", "content": sendable(text) or None}
            fields = fields_of_message(first.beside, "chat")
            thinking = list_of(fields.pop("content", None))
            if thinking:
                said["content"] = [*thinking, *([{"type": "text", "text": sendable(text)}] if text else [])]
            return {**said, **fields, "tool_calls": [_chat_call_out(call) for call in message.calls]}
        case _:
            raise AssertionError(f"no message: {message}")


def _chat_call_out(call: ToolCall) -> dict[str, Any]:
    beside = fields_of_call(call.beside, "chat")
    more = mapping_of(beside.pop("function", None))
    function = {**more, "name": call.name, "arguments": sendable(call.arguments)}
    return {**beside, "id": call.id, "type": "function", "function": function}


def _as_responses(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case System(text):
                items.append({"role": "system", "content": sendable(text)})
            case User(text):
                items.append({"role": "user", "content": sendable(text)})
            case ToolResult(call, text):
                items.append({"type": "function_call_output", "call_id": call, "output": sendable(text)})
            case Assistant(text):
                if text:
                    items.append({"role": "assistant", "content": sendable(text)})
                for called in message.calls:
                    head = {"type": "function_call", "call_id": called.id, "name": called.name}
                    items.extend(items_before(called.beside, "responses"))
                    items.append({**head, "arguments": sendable(called.arguments)})
            case _:
                assert_never(message)
    return items


def _as_anthropic(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Return messages whose roles alternate: neighbours of one role are the blocks of one message."""
    found: list[dict[str, Any]] = []
    for message in messages:
        role, blocks = _anthropic_blocks(message)
        if found and found[-1]["role"] == role:
            found[-1]["content"].extend(blocks)
        else:
            found.append({"role": role, "content": blocks})
    return found


def _anthropic_blocks(message: ChatMessage) -> tuple[str, list[dict[str, Any]]]:
    match message:
        case System():
            raise ValueError("Anthropic's interface takes the system prompt beside the messages: system=...")
        case User(text):
            return "user", [{"type": "text", "text": sendable(text)}]
        case ToolResult(call, text):
            return "user", [{"type": "tool_result", "tool_use_id": call, "content": sendable(text)}]
        case Assistant(text):
            blocks: list[dict[str, Any]] = [{"type": "text", "text": sendable(text)}] if text else []
            for called in message.calls:
                use = {"type": "tool_use", "id": called.id, "name": called.name}
                blocks.extend(items_before(called.beside, "anthropic"))
                more = fields_of_call(called.beside, "anthropic")
                blocks.append({**more, **use, "input": json.loads(sendable(called.arguments))})
            return "assistant", blocks
        case _:
            assert_never(message)


_WRITTEN: Final[dict[Form, Callable[[Iterable[ChatMessage]], list[dict[str, Any]]]]] = {
    "chat": _as_chat,
    "responses": _as_responses,
    "anthropic": _as_anthropic,
}


# -- replies -------------------------------------------------------------------------------------------


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
        is_cut: whether the reply is not whole, by what the provider says: any reason to end that is not known as that
            of a whole reply.
        thought: what the model thought, where the provider gives it apart from its words.
        parts: the images, sounds and files in it, by the digests in the marks that stand for them in `text`.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    thought: str = attrs.field(default="", repr=False)
    parts: Mapping[str, object] = attrs.field(factory=dict, repr=False, hash=False)

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that tell this reply from others. Cost: O(size), once."""
        said = [self.text, [[call.id, call.name, call.arguments] for call in self.calls]]
        return hashlib.sha256(canonical(said).encode(errors="backslashreplace")).hexdigest()[:16]


def read_reply(reply: object) -> AssistantReply:
    """Return a model's reply. Cost: O(size).

    Raises:
        NoReply: the object is in none of the known forms.
    """
    if isinstance(reply, AssistantReply):
        return reply
    document = _plain(reply)
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


def _plain(reply: object) -> object:
    """Return a client's object as JSON: all three SDKs make theirs with pydantic."""
    dump = getattr(reply, "model_dump", None)
    return dump(mode="json") if callable(dump) else reply


def _chat_call(called: Mapping[str, object], beside: str) -> ToolCall:
    if called.get("type") == "custom":
        return _call(called.get("id"), mapping_of(called.get("custom")), "input", beside)
    return _call(called.get("id"), mapping_of(called.get("function")), "arguments", beside)


def _has_blocks(content: list[object]) -> bool:
    """Tell whether these are blocks of Anthropic's: in a history that a host keeps, a message names no type."""
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


def chat_beside(message: Mapping[str, object], calls: Sequence[Mapping[str, object]]) -> list[str]:
    """Return what stands beside each call of a chat message (`ToolCall.beside`)."""
    first = {"message": message_beside(message)}
    found = [{**({} if place else first), "call": call_beside(call)} for place, call in enumerate(calls)]
    return kept_beside("chat", found)


def _of_items(items: Iterable[object], form: Form, ended: object) -> AssistantReply:
    """Read the items of a response, or the blocks of a message."""
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
    """Return the call that an item or a block is, None where it is none."""
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
