"""Messages of a chat as frozen values: their content in parts, and how three interfaces write them.

The interfaces are OpenAI's chat completions and Responses, and Anthropic's Messages.

The bytes of an image are no text: they would be counted as tokens, judged and summarized, and be another text for each
spelling of the same bytes. So the text has a mark with type, size and digest, and the part itself is kept beside the
text under the digest, for the meta of the step.

    text, input_text, output_text       text
    a refusal, the transcript of audio  text: these are the model's words
    thinking, reasoning                 thought
    an image, a sound, a file           [image/png, 144 bytes, sha256 1f2e3d4c5b6a]
    anything else                       its canonical JSON, with such marks in it; also an image at a short address

A provider's data beside a call goes back with the call while its step is shown as one. Some providers refuse a call
without it: DeepSeek and Kimi want their `reasoning_content`, Gemini its signature in `extra_content`, Anthropic its
thinking blocks, OpenAI's Responses their reasoning items. It is kept as JSON text, in `ToolCall.beside`,
`Action.beside`, and the meta of the step, and is never read for its words.

    {"form": "chat", "message": {...}, "call": {...}}     fields of the message, and of the call
    {"form": "anthropic", "before": [...], "call": {...}}  blocks or items right before the call, and its other fields
    {"form": "chat", "follows": true, ...}                 a call behind the first of its reply

Calls of one reply go back in one message, as a provider may sign the first of them alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, assert_never, cast, final

import attrs

from mage.codec.strict_json import canonical
from mage.tokens import sendable

# -- parts --------------------------------------------------------------------------------------------------


PARTS: Final = "parts"
"""The key in a command's meta for its parts that are no text, by their digests."""
THOUGHT: Final = "thought"
"""The key in a command's meta for the model's thought."""

_TEXTS: Final = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of parts with a text, and the field that holds it."""
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_MEDIA: Final = re.compile(
    r"image|audio|video|(?<![a-z])file|document|media|screenshot|resource|pdf|blob|inline_?data"
)
"""What the types of parts that are no text contain, or their fields where a part has no type."""
_BYTES: Final = ("data", "file_data", "b64_json", "base64", "blob", "result")
"""The fields that hold the bytes, in base64 or as a data URL."""
_PLACES: Final = (
    *("url", "image_url", "audio_url", "video_url", "file_url"),
    *("uri", "file_uri", "fileUri", "file_id", "fileId"),
)
"""The fields that say where the bytes are, or hold them as a data URL."""
_TYPES: Final = ("media_type", "mediaType", "mime_type", "mimeType")
_DATA_URL: Final = re.compile(r"data:([\w.+/-]*)[^,]{0,200},")
_SHORTEST_BYTES: Final = 64
"""Characters: a shorter text that could be base64 is a word."""
_LONGEST_TYPE: Final = 60
_LONGEST_ADDRESS: Final = 200
"""Characters: a part with a shorter address in place of its bytes stays JSON, as the address may help the reader."""
_DEEPEST: Final = 8


# -- any JSON, read without a check --------------------------------------------------------------------


def mapping_of(value: object) -> Mapping[str, object]:
    """Return an object of JSON; an empty one for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[object]:
    """Return a list of JSON; an empty one for any other value."""
    return value if isinstance(value, list) else []


def string_of(value: object) -> str:
    """Return a text of JSON; the empty one for any other value."""
    return value if isinstance(value, str) else ""


# -- content -------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Content:
    """The content of a message.

    Attributes:
        texts: its texts and marks, in order.
        thoughts: the model's thoughts, in order.
        parts: the parts that are no text, by the digests in their marks.
        others: how many parts stand as JSON in the texts.
        refusal: the texts in which the model refuses.
    """

    texts: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    parts: Mapping[str, object] = attrs.field(factory=dict, repr=lambda parts: f"<{len(parts)} parts>")
    others: int = 0
    refusal: str = ""

    @property
    def text(self) -> str:
        """The texts, joined by line breaks."""
        return "\n".join(self.texts)


def content_of(content: object, *, others: Callable[[object], str] = canonical) -> Content:
    """Return the content of a message. Any JSON. Cost: O(size).

    Args:
        content: a text, null, or a list of parts.
        others: returns the text of a part in no known form.
    """
    if content is None:
        return Content()
    texts: list[str] = []
    thoughts: list[str] = []
    parts: dict[str, object] = {}
    unknown = 0
    for part in content if isinstance(content, list) else [content]:
        text, thought = _said(part), thought_of(part)
        transcript = transcript_of(part)
        if transcript:
            texts.append(transcript)
            _marked(part, parts, _DEEPEST)
        elif text is not None:
            texts.append(text)
        elif thought is not None:
            thoughts.append(thought)
        else:
            shown = _marked(part, parts, _DEEPEST)
            unknown += not isinstance(shown, str)
            texts.append(shown if isinstance(shown, str) else others(shown))
    refused = [
        string_of(part.get("refusal"))
        for part in map(mapping_of, list_of(content))
        if part.get("type") == "refusal"
    ]
    return Content(tuple(texts), tuple(thoughts), parts, unknown, "\n".join(refused))


def is_content(value: object) -> bool:
    """Tell whether a value is a list of parts of a message, such as the result of an MCP tool."""
    listed = list_of(value)
    return bool(listed) and all(_is_part(mapping_of(part)) for part in listed)


def _is_part(part: Mapping[str, object]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (_said(part) is not None or _MEDIA.search(kind) is not None)


def _said(part: object) -> str | None:
    """Return the text of a part; None where it has none."""
    if isinstance(part, str):
        return part
    found = mapping_of(part)
    named = _TEXTS.get(string_of(found.get("type")))
    if named is not None:
        text = found.get(named)
        return text if isinstance(text, str) else None
    for name in ("source", "resource"):  # a document of Anthropic's, a resource of MCP's, may be a text
        inner = mapping_of(found.get(name))
        text = inner.get("data" if inner.get("type") == "text" else "text")
        if isinstance(text, str):
            return text
    return None


def transcript_of(part: object) -> str:
    """Return the transcript of a sound, in a part or in the object within the part; empty where there is none."""
    found = mapping_of(part)
    inside = mapping_of(found.get(string_of(found.get("type"))))
    return string_of(found.get("transcript")) or string_of(inside.get("transcript"))


def thought_of(part: object) -> str | None:
    """Return the thought in a part of a content, or in an item of `reasoning_details`; None where it is no thought.

    A thought that the provider has encrypted is empty.
    """
    found = mapping_of(part)
    kind = string_of(found.get("type"))
    if kind not in _THOUGHTS and not kind.startswith("reasoning."):
        return None
    for name in ("thinking", "text", "summary", "reasoning", "content"):
        said = found.get(name)
        if isinstance(said, str):
            return said
        if isinstance(said, list):
            return "\n".join([string_of(mapping_of(inner).get("text")) for inner in said])
    return ""


# -- parts that are no text ----------------------------------------------------------------------------


def _mark(kind: str, size: str, identity: bytes) -> tuple[str, str]:
    """Return a digest, 12 hexadecimal digits of the SHA-256, and the words in place of the part in a text."""
    digest = hashlib.sha256(identity).hexdigest()[:12]
    return digest, f"[{kind}, {size}, sha256 {digest}]"


def _marked(value: object, parts: dict[str, object], deeper: int) -> object:
    """Return JSON with a mark in place of each image, sound or file, and put these into `parts`."""
    if isinstance(value, list) and deeper:
        return [_marked(each, parts, deeper - 1) for each in value]
    if not isinstance(value, Mapping):
        return value
    found = cast("Mapping[str, object]", value)
    medium = _medium(found)
    if medium is not None:
        digest, mark = medium
        parts[digest] = value
        return mark
    return {name: _marked(each, parts, deeper - 1) for name, each in found.items()} if deeper else value


def _medium(part: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the digest and the mark of the image, sound or file in a part; None where the part is none.

    The mark has the media type, such as `image/png`, or else the type of the part. The digest is that of the bytes, or of
    the address where the part has no bytes.
    """
    kind = part.get("type")
    named = (
        [kind]
        if isinstance(kind, str)
        else [name for name, value in part.items() if isinstance(value, Mapping)]
    )
    if not any(_MEDIA.search(name.lower()) for name in named):
        return None
    fields = dict(reversed(list(_fields(part, _DEEPEST))))  # of one name the outermost counts
    payload = next((fields[name] for name in (*_BYTES, *_PLACES) if fields.get(name)), None)
    if payload is None:
        return None
    opened = _DATA_URL.match(payload)
    said = next((fields[name] for name in _TYPES if fields.get(name)), "")
    known = (
        (opened[1] if opened else "") or said or _by_format(named[0], fields.get("format", "")) or named[0]
    )
    shown = known if len(known) <= _LONGEST_TYPE and known.isprintable() else "file"
    if opened is None and not any(fields.get(name) for name in _BYTES):
        address = payload.encode(errors="backslashreplace")
        return _mark(shown, "elsewhere", address) if len(address) > _LONGEST_ADDRESS else None
    shortest = 0 if opened or said else _SHORTEST_BYTES
    data = _bytes_of(payload[opened.end() :] if opened else payload, shortest)
    if data is None and known == named[0]:
        return None  # a field of that name with a text in it
    data = payload.encode(errors="backslashreplace") if data is None else data
    return _mark(shown, f"{len(data)} bytes", data)


def _by_format(kind: str, written: str) -> str:
    """Return the type of a sound that names its format alone, as OpenAI's do."""
    return f"audio/{written}" if written and "audio" in kind else ""


def _fields(value: object, deeper: int) -> Iterator[tuple[str, str]]:
    """Yield name and text of each field with a text, of an object and of the objects in it."""
    for name, each in mapping_of(value).items():
        if isinstance(each, str):
            yield name, each
        elif deeper:
            yield from _fields(each, deeper - 1)


def _bytes_of(text: str, shortest: int) -> bytes | None:
    """Return the bytes that a text spells in base64; None for any other text, and for a word that looks like base64."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None
    return data if len(text) >= shortest else None


# -- what a provider puts beside a call ---------------------------------------------------------------------


Form: TypeAlias = Literal["chat", "responses", "anthropic"]
"""An interface to a model: OpenAI's chat completions and Responses, Anthropic's Messages."""
BESIDE: Final = "beside"
"""The key in a step's meta for the provider's data beside its call."""
ASIDE: Final = re.compile(r"reasoning|thinking|thought|signature|extra_content")
"""How the fields of a message begin that a provider wants back."""
_REASONING: Final = ("reasoning_content", "reasoning")  # some servers give both, with the same text
_OF_A_CALL: Final = frozenset(
    {"id", "call_id", "type", "index", "function", "custom", "name", "arguments", "input", "action", "status"}
)
_OF_A_FUNCTION: Final = frozenset({"name", "arguments"})
Beside: TypeAlias = Mapping[str, object]


def thoughts_beside(message: Mapping[str, object]) -> str:
    """Return the model's thought, from the fields beside the content of its message; empty where there is none."""
    details = [thought_of(item) or "" for item in list_of(message.get("reasoning_details"))]
    fields = [string_of(message.get(name)) for name in _REASONING]
    return max([*fields, "\n".join(filter(None, details))], key=len)


def message_beside(message: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a chat message that go back with its calls: reasoning, signatures, thinking in the content."""
    found = {name: value for name, value in message.items() if value and ASIDE.match(name)}
    thinking = [part for part in list_of(message.get("content")) if thought_of(part) is not None]
    return {**found, "content": thinking} if thinking else found


def call_beside(call: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a call, and of its `function`, besides id, name and arguments."""
    found = {name: value for name, value in call.items() if value is not None and name not in _OF_A_CALL}
    function = mapping_of(call.get("function"))
    more = {
        name: value for name, value in function.items() if value is not None and name not in _OF_A_FUNCTION
    }
    return {**found, "function": more} if more else found


def kept_beside(form: Form, beside: Sequence[Beside]) -> list[str]:
    """Return the data beside the calls of one reply as texts, in order; empty texts where there is none."""
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
    """Return the data beside a call. Any text: it may come from a journal that others have written."""
    try:
        return mapping_of(json.loads(beside)) if beside else {}
    except (ValueError, RecursionError):
        return {}


def follows(beside: str) -> bool:
    """Tell whether a call stands behind another call in its reply."""
    return _read(beside).get("follows") is True


def _in_form(beside: str, form: Form) -> Beside:
    """Return the data beside a call that came in this form: in another one it means nothing."""
    found = _read(beside)
    return found if found.get("form") == form else {}


def fields_of_message(beside: str, form: Form) -> dict[str, object]:
    """Return the fields that go back into the message of a call."""
    message = mapping_of(_in_form(beside, form).get("message"))
    return {name: value for name, value in message.items() if ASIDE.match(name) or name == "content"}


def fields_of_call(beside: str, form: Form) -> dict[str, object]:
    """Return the fields that go back into a call; under `function` the fields that go into its function."""
    call = mapping_of(_in_form(beside, form).get("call"))
    return {name: value for name, value in call.items() if name not in _OF_A_CALL or name == "function"}


def items_before(beside: str, form: Form) -> list[dict[str, object]]:
    """Return the blocks or items that go back right before a call: thoughts, and nothing else."""
    before = list_of(_in_form(beside, form).get("before"))
    return [dict(mapping_of(item)) for item in before if thought_of(item) is not None]


def without_nulls(item: Mapping[str, object]) -> dict[str, object]:
    """Return an item without its null fields: a client's SDK writes them, and its server refuses null."""
    return {name: value for name, value in item.items() if value is not None}


def chat_beside(message: Mapping[str, object], calls: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the provider's data beside each call of a chat message (`ToolCall.beside`)."""
    first = {"message": message_beside(message)}
    found = [{**({} if place else first), "call": call_beside(call)} for place, call in enumerate(calls)]
    return kept_beside("chat", found)


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
        beside: the provider's data beside the call, which goes back with the call (`mage.chat.messages`).
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
    """Yield the messages, with neighbours from the user joined and empty ones left out.

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
    """Yield the messages of steps: the calls of one reply as one message, and then their results.

    Which calls were one reply matters, and is known, only where the provider has put data beside them.
    """
    waiting: list[ChatMessage] = []
    for first, *behind in steps:
        said = waiting[0] if waiting else None
        call = first.call if isinstance(first, Assistant) else None
        if isinstance(said, Assistant) and said.call and call and follows(call.beside):
            waiting = [attrs.evolve(said, further=(*said.further, call)), *waiting[1:], *behind]
        else:
            yield from waiting
            waiting = [first, *behind]
    yield from waiting


# `Any` below: JSON that a client's SDK types in its own way; no client is imported here.


def written(messages: Iterable[ChatMessage], form: Form) -> list[dict[str, Any]]:
    """Return messages as JSON in the form of an interface. Cost: O(size).

    A lone surrogate, which UTF-8 cannot spell, becomes U+FFFD. Anthropic takes its system prompt beside the messages,
    so a `System` has no place in that form.

    Raises:
        ValueError: a `System` in Anthropic's form.
    """
    return _WRITTEN[form](messages)


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
        case Assistant(text, first):
            if first is None:
                return {"role": "assistant", "content": sendable(text)}
            said: dict[str, Any] = {"role": "assistant", "content": sendable(text) or None}
            fields = fields_of_message(first.beside, "chat")
            thinking = list_of(fields.pop("content", None))
            if thinking:
                said["content"] = [*thinking, *([{"type": "text", "text": sendable(text)}] if text else [])]
            return {**said, **fields, "tool_calls": list(map(_chat_call, message.calls))}
        case _:
            assert_never(message)


def _chat_call(call: ToolCall) -> dict[str, Any]:
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
    """Return messages whose roles alternate: neighbours of one role become the blocks of one message."""
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
