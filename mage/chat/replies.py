"""What a model replied, read from the objects of three interfaces: its text, and the calls it made.

Read are OpenAI's chat completions (the completion or its message), OpenAI's Responses, and Anthropic's Messages:
the client's objects, or the same as JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast, final

import attrs

from mage.chat.messages import ToolCall
from mage.chat.tools import canonical
from mage.engine.errors import MageError


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
            " its Anthropic message, or one of these as JSON"
        )


@final
@attrs.frozen
class AssistantReply:
    """One reply of a model.

    Attributes:
        text: what it said; empty where it only called.
        calls: the tools it called, in order; arguments as it wrote them.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that tell this reply from others. Cost: O(size)."""
        said = [self.text, [[call.id, call.name, call.arguments] for call in self.calls]]
        return hashlib.sha256(canonical(said).encode(errors="backslashreplace")).hexdigest()[:16]


def read_reply(reply: object) -> AssistantReply:
    """Return what a model replied. Cost: O(size).

    Raises:
        NoReply: it is none of the known forms.
    """
    if isinstance(reply, AssistantReply):
        return reply
    document = _plain(reply)
    if not isinstance(document, Mapping):
        raise NoReply(type(reply).__name__)
    if isinstance(document.get("choices"), list):
        return _of_chat(document["choices"][0]["message"], reply)
    if isinstance(document.get("output"), list):
        return _of_items(document["output"])
    if isinstance(document.get("content"), list) and document.get("type") == "message":
        return _of_items(document["content"])
    return _of_chat(document, reply)


def _plain(reply: object) -> Any:  # Any: JSON
    """Return a client's object as JSON: all three SDKs make theirs with pydantic."""
    dump = getattr(reply, "model_dump", None)
    return dump(mode="json") if callable(dump) else reply


def _of_chat(message: object, reply: object) -> AssistantReply:
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        raise NoReply(type(reply).__name__)
    called = message.get("tool_calls") or ()
    calls = [_call(each.get("id"), each.get("function") or {}, "arguments") for each in called]
    return AssistantReply("\n".join(_texts(message.get("content"))), tuple(calls))


def _of_items(items: Iterable[object]) -> AssistantReply:
    """Read the items of a response, or the blocks of a message."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    for item in items:
        found = cast("Mapping[str, Any]", item if isinstance(item, Mapping) else {})
        match found.get("type"):
            case "function_call":
                calls.append(_call(found.get("call_id"), found, "arguments"))
            case "tool_use":
                calls.append(_call(found.get("id"), found, "input"))
            case "message":
                texts.extend(_texts(found.get("content")))
            case "text" | "output_text":
                texts.append(str(found.get("text") or ""))
            case _:
                pass  # thinking and the like: it is not shown again
    return AssistantReply("\n".join(filter(None, texts)), tuple(calls))


_TEXTS: Final = ("text", "output_text")


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (
            str(part["text"]) for part in content if isinstance(part, Mapping) and part.get("type") in _TEXTS
        )


def _call(key: object, called: Mapping[str, Any], field: str) -> ToolCall:
    arguments = called.get(field)
    written = arguments if isinstance(arguments, str) else canonical({} if arguments is None else arguments)
    return ToolCall("" if key is None else str(key), str(called.get("name") or ""), written)
