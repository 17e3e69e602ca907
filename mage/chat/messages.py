"""Messages of a chat as frozen values: written in the forms of three interfaces, and replies read from them.

The interfaces are OpenAI's chat completions (the completion or its message) and Responses, and Anthropic's Messages. A
reply may be the client's object, or the same as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias, assert_never, final

import attrs

from mage.chat.beside import (
    Form,
    call_beside,
    fields_of_call,
    fields_of_message,
    follows,
    items_before,
    kept_beside,
    message_beside,
    thoughts_beside,
    without_nulls,
)
from mage.chat.finishes import is_cut
from mage.chat.parts import content_of, list_of, mapping_of, string_of, thought_of, transcript_of
from mage.codec.spelling import canonical
from mage.engine.errors import MageError


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
        beside: what the provider put beside the call and wants back with it (`mage.chat.beside`); empty for nothing.
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
