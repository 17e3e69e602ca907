"""What a model replied, read from the objects of three interfaces: its text, and the calls it made.

Read are OpenAI's chat completions (the completion or its message), OpenAI's Responses, and Anthropic's Messages:
the client's objects, or the same as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, cast, final

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
            " its Anthropic message, or one of these as a dict (`model_dump()`)"
        )


@final
@attrs.frozen(slots=False)
class AssistantReply:
    """One reply of a model.

    Attributes:
        text: what it said; empty where it only called.
        calls: the tools it called, in order; arguments as it wrote them.
        is_cut: whether the provider says that it ended before its end.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that tell this reply from others. Cost: O(size), once: each call is looked up by it."""
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
"""How chat completions and Messages say that a reply ended before its end."""
_TEXTS: Final = {"text": "text", "output_text": "text", "refusal": "refusal"}
"""Parts that are text, and the field that holds it."""


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
    """Tell whether these are blocks of Anthropic's: a message as hosts keep it in a history names no type."""
    return any(_mapping(part).get("type") == "tool_use" for part in content)


def _of_chat(message: Mapping[str, object], *, is_cut: bool) -> AssistantReply:
    called = [_mapping(each) for each in _list(message.get("tool_calls"))]
    calls = [_chat_call(each) for each in called]
    if message.get("function_call") is not None:  # as it was before there were several
        calls.append(_call("", _mapping(message["function_call"]), "arguments"))
    said = [*_texts(message.get("content")), _text(message.get("refusal"))]
    return AssistantReply("\n".join(filter(None, said)), tuple(calls), is_cut)


def _of_items(items: Iterable[object], *, is_cut: bool) -> AssistantReply:
    """Read the items of a response, or the blocks of a message; thinking and the like is not shown again."""
    texts: list[str] = []
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
            case _:
                texts.extend(_texts([found]))
    return AssistantReply("\n".join(filter(None, texts)), tuple(calls), is_cut)


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
