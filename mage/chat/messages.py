"""Messages of a chat as frozen values: written in the forms of three interfaces, and replies read from them.

The interfaces are OpenAI's chat completions (the completion or its message) and Responses, and Anthropic's Messages. A
reply may be the client's object, or the same as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, assert_never, cast, final

import attrs

from mage.chat.tools import canonical
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
    """

    id: str
    name: str
    arguments: str


@final
@attrs.frozen
class Assistant:
    """A reply of the model: a text, or the call of a tool."""

    text: str = ""
    call: ToolCall | None = None


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


Form: TypeAlias = Literal["chat", "responses", "anthropic"]
"""An interface to a model: OpenAI's chat completions and Responses, Anthropic's Messages."""

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
        case Assistant(text, ToolCall(key, name, arguments)):
            function = {"name": name, "arguments": sendable(arguments)}
            calls = [{"id": key, "type": "function", "function": function}]
            return {"role": "assistant", "content": sendable(text) or None, "tool_calls": calls}
        case _:
            raise AssertionError(f"no message: {message}")


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
            case Assistant(text, called):
                if text:
                    items.append({"role": "assistant", "content": sendable(text)})
                if called is not None:
                    written_arguments = sendable(called.arguments)
                    head = {"type": "function_call", "call_id": called.id, "name": called.name}
                    items.append({**head, "arguments": written_arguments})
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
        case Assistant(text, called):
            blocks: list[dict[str, Any]] = [{"type": "text", "text": sendable(text)}] if text else []
            if called is not None:
                arguments = json.loads(sendable(called.arguments))
                blocks.append({"type": "tool_use", "id": called.id, "name": called.name, "input": arguments})
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
        is_cut: whether the provider says that the reply is not whole.
        thought: what it thought, where the provider gives that beside its words; no part of the digest.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    thought: str = ""

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
        choice = _mapping(choices[0])
        message, is_cut = _mapping(choice.get("message")), choice.get("finish_reason") in _CUT
    elif isinstance(output, list):
        return _of_items(output, is_cut=document.get("status", "completed") not in ("completed", None))
    elif isinstance(content, list) and (document.get("type") == "message" or _has_blocks(content)):
        return _of_items(content, is_cut=document.get("stop_reason") in _CUT)
    else:
        message, is_cut = document, False
    if message.get("role") != "assistant":
        raise NoReply(type(reply).__name__)
    return _of_chat(message, is_cut=is_cut)


_CUT: Final = ("length", "content_filter", "max_tokens", "model_context_window_exceeded", "pause_turn")
"""How chat completions and Messages say that a reply is not whole."""
_TEXTS: Final = {"text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of parts with a text, and the field that holds it."""


def _plain(reply: object) -> object:
    """Return a client's object as JSON: all three SDKs make theirs with pydantic."""
    dump = getattr(reply, "model_dump", None)
    return dump(mode="json") if callable(dump) else reply


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _chat_call(called: Mapping[str, object]) -> ToolCall:
    if called.get("type") == "custom":
        return _call(called.get("id"), _mapping(called.get("custom")), "input")
    return _call(called.get("id"), _mapping(called.get("function")), "arguments")


def _has_blocks(content: list[object]) -> bool:
    """Tell whether these are blocks of Anthropic's: in a history that a host keeps, a message names no type."""
    return any(_mapping(part).get("type") == "tool_use" for part in content)


def _of_chat(message: Mapping[str, object], *, is_cut: bool) -> AssistantReply:
    called = [_mapping(each) for each in _list(message.get("tool_calls"))]
    calls = [_chat_call(each) for each in called]
    if message.get("function_call") is not None:  # the older form, with one call
        calls.append(_call("", _mapping(message["function_call"]), "arguments"))
    said = [*_texts(message.get("content")), _text(message.get("refusal"))]
    return AssistantReply("\n".join(filter(None, said)), tuple(calls), is_cut, thought_beside(message))


def thought_beside(message: Mapping[str, object]) -> str:
    """Return what a model thought, from the fields that servers give it in; some give it in several. Any JSON."""
    for name in ("reasoning_content", "reasoning"):
        if (thought := _text(message.get(name))).strip():
            return thought
    return "\n".join(_thoughts(_list(message.get("reasoning_details"))))


def _thoughts(items: Iterable[object]) -> Iterator[str]:
    """Yield the thoughts among items, blocks or details: what is encrypted says nothing."""
    for item in map(_mapping, items):
        for name in ("text", "thinking", "summary", "content"):
            value = item.get(name)
            said = value if isinstance(value, str) else "\n".join(_thoughts(_list(value)))
            if said.strip():
                yield said
                break


def _of_items(items: Iterable[object], *, is_cut: bool) -> AssistantReply:
    """Read the items of a response, or the blocks of a message."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for found in map(_mapping, items):
        match found.get("type"):
            case "function_call":
                calls.append(_call(found.get("call_id"), found, "arguments"))
            case str(kind) if (
                kind.endswith("_call") and "call_id" in found
            ):  # custom, shell and computer calls
                field = "input" if "input" in found else "action"
                calls.append(_call(found["call_id"], {"name": kind, **found}, field))
            case "tool_use":
                calls.append(_call(found.get("id"), found, "input"))
            case "message":
                texts.extend(_texts(found.get("content")))
            case "reasoning" | "thinking":
                thoughts.extend(_thoughts([found]))
            case _:
                texts.extend(_texts([found]))
    return AssistantReply("\n".join(filter(None, texts)), tuple(calls), is_cut, "\n".join(thoughts))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in map(_mapping, _list(content)):
        field = _TEXTS.get(_text(part.get("type")))
        if field is not None:
            yield _text(part.get(field))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _call(key: object, called: Mapping[str, object], field: str) -> ToolCall:
    arguments = called.get(field)
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps({} if arguments is None else arguments)
        except (TypeError, ValueError, RecursionError):  # nested too deeply, a number too long, no JSON
            arguments = "(arguments that JSON cannot say)"
    return ToolCall(_text(key), _text(called.get("name")), arguments)
