"""Messages of a chat as frozen values, and the same in the forms of three interfaces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias, assert_never, final

import attrs


@final
@attrs.frozen
class System:
    """The fixed words at the start."""

    text: str


@final
@attrs.frozen
class User:
    """What the model is shown: words of ours at the left margin, content indented."""

    text: str


@final
@attrs.frozen
class ToolCall:
    """A call of a tool.

    Attributes:
        id: ties the result to the call.
        name: the tool's.
        arguments: JSON.
    """

    id: str
    name: str
    arguments: str


@final
@attrs.frozen
class Assistant:
    """What the agent did: a text, or the call of a tool."""

    text: str = ""
    call: ToolCall | None = None


@final
@attrs.frozen
class ToolResult:
    """What came back from a call.

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
    so what was two messages begins its second part at the left margin.
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
    """Return messages whose roles alternate: what one side says in a row is the blocks of one message."""
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
