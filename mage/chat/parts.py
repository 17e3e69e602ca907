"""The content of a message in parts: what is text, what is thought, a short mark for each image, sound or file; and how long it may be.

The bytes of an image are no text: they would be counted as tokens, judged and summarized, and be another text for each
spelling of the same bytes. So the text has a mark with type, size and digest, and the part itself is kept beside the
text under the digest, for the meta of the step.

    text, input_text, output_text       text
    a refusal, the transcript of audio  text: these are the model's words
    thinking, reasoning                 thought
    an image, a sound, a file           [image/png, 144 bytes, sha256 1f2e3d4c5b6a]
    anything else                       its canonical JSON, with such marks in it; also an image at a short address
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, cast, final

import attrs

from mage.codec.strict_json import canonical
from mage.tokens import TokenCounter

# -- how long a text may be ---------------------------------------------------------------------------------


_BETWEEN: Final = re.compile(r"\s+\S*\Z")
_NEXT: Final = re.compile(r"\s+")
SMALL: Final = 100
"""Tokens that every text may have: a sentence or two, however little it replaces."""


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters and the words that say how many are left out of its middle.

    It is cut between words, where there is white space in the quarter of what is kept that lies next to the middle.
    """
    if len(text) <= longest:
        return text
    kept = longest // 2
    first, last = text[:kept], text[len(text) - kept :]
    head, tail = _BETWEEN.search(first, kept - kept // 4), _NEXT.search(last, 0, kept // 4)
    first, last = first[: head.start()] if head else first, last[tail.end() :] if tail else last
    return f"{first} [... {len(text) - len(first) - len(last):,} characters left out ...] {last}"


def cut_to(text: str, tokens: int, counter: TokenCounter) -> str:
    """Return a text of at most `tokens` tokens, cut in its middle where it is longer; see `cut`.

    Cost: O(length), a few times.
    """
    counted = counter.count(text)
    shorter, kept = text, len(text)
    while counted > tokens and kept > 0:
        kept = min(kept * tokens // counted, kept - 1) if kept > 1 else 0
        shorter = cut(text, kept)
        counted = counter.count(shorter)
    return shorter


def too_long(text: str, tokens: int, counter: TokenCounter) -> str:
    """Return in words that a text has more tokens than it may have; empty where it has not, or is blank: that is worse."""
    if not text.strip():
        return ""
    counted = counter.count(text)
    return (
        ""
        if counted <= tokens
        else f"It has about {counted} tokens, and may have {tokens}: write a shorter one."
    )


# -- parts --------------------------------------------------------------------------------------------------


PARTS: Final = "parts"
"""The key in the meta of a command under which its parts that are no text stand, by their digests."""
THOUGHT: Final = "thought"
"""The key in the meta of a command under which stands what the model thought."""

_TEXTS: Final = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of parts with a text, and the field that holds it."""
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_MEDIA: Final = re.compile(
    r"image|audio|video|(?<![a-z])file|document|media|screenshot|resource|pdf|blob|inline_?data"
)
"""What stands in the types of parts that are not text, and in their fields where a part has no type."""
_BYTES: Final = ("data", "file_data", "b64_json", "base64", "blob", "result")
"""The fields that hold the bytes, in base64 or as a data URL."""
_PLACES: Final = (
    *(
        "url",
        "image_url",
        "audio_url",
        "video_url",
        "file_url",
        "uri",
        "file_uri",
        "fileUri",
        "file_id",
        "fileId",
    ),
)
"""The fields that say where the bytes are, or hold them as a data URL."""
_TYPES: Final = ("media_type", "mediaType", "mime_type", "mimeType")
_DATA_URL: Final = re.compile(r"data:([\w.+/-]*)[^,]{0,200},")
_SHORTEST_BYTES: Final = 64
"""Characters: a shorter text that could be base64 is taken for a word."""
_LONGEST_TYPE: Final = 60
_LONGEST_ADDRESS: Final = 200
"""A part that only says where its bytes are, in a shorter address, is kept as JSON: the address may help the reader."""
_DEEPEST: Final = 8
_Field: TypeAlias = tuple[str, str]  # its name and its text


# -- any JSON, read without a check --------------------------------------------------------------------


def mapping_of(value: object) -> Mapping[str, object]:
    """Return an object of JSON, an empty one for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[object]:
    """Return a list of JSON, an empty one for any other value."""
    return value if isinstance(value, list) else []


def string_of(value: object) -> str:
    """Return a text of JSON, the empty one for any other value."""
    return value if isinstance(value, str) else ""


# -- content -------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Content:
    """The content of a message.

    Attributes:
        texts: its texts and marks, in order.
        thoughts: what the model thought, in order.
        parts: the parts that are no text, by the digests in their marks.
        others: how many parts are kept as JSON.
        refusal: those of the texts in which the model refuses.
    """

    texts: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    parts: Mapping[str, object] = attrs.field(factory=dict, repr=lambda parts: f"<{len(parts)} parts>")
    others: int = 0
    refusal: str = ""

    @property
    def text(self) -> str:
        """The texts, a line each."""
        return "\n".join(self.texts)


def content_of(content: object, *, others: Callable[[object], str] = canonical) -> Content:
    """Return a message's content: a text, null, or a list of parts. Any JSON. Cost: O(size).

    Args:
        content: the content.
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
    refused = [string_of(mapping_of(part).get("refusal")) for part in list_of(content) if _is_refusal(part)]
    return Content(tuple(texts), tuple(thoughts), parts, unknown, "\n".join(refused))


def _is_refusal(part: object) -> bool:
    return mapping_of(part).get("type") == "refusal"


def is_content(value: object) -> bool:
    """Tell whether a value is a list of parts of a message, such as the result of an MCP tool, and not any list."""
    listed = list_of(value)
    return bool(listed) and all(_is_part(mapping_of(part)) for part in listed)


def _is_part(part: Mapping[str, object]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (_said(part) is not None or _MEDIA.search(kind) is not None)


def _said(part: object) -> str | None:
    """Return the text of a part, None where it has none of its own."""
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
    """Return the transcript of a sound, in a part or in what the part holds; empty where there is none."""
    found = mapping_of(part)
    inside = mapping_of(found.get(string_of(found.get("type"))))
    return string_of(found.get("transcript")) or string_of(inside.get("transcript"))


def thought_of(part: object) -> str | None:
    """Return the thought in a part of a content, or in an item of `reasoning_details`; None where it is no thought.

    One that the provider has encrypted is empty.
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


@final
@attrs.frozen
class _Medium:
    """An image, a sound or a file.

    Attributes:
        kind: its type, such as `image/png`, or else the part's.
        size: in bytes; None where the part only says where it is.
        digest: 12 hexadecimal digits of the SHA-256 of its bytes, or else of where it is.
    """

    kind: str
    size: int | None
    digest: str

    @property
    def mark(self) -> str:
        """What stands in its place in a text."""
        size = "elsewhere" if self.size is None else f"{self.size} bytes"
        return f"[{self.kind}, {size}, sha256 {self.digest}]"


def _marked(value: object, parts: dict[str, object], deeper: int) -> object:
    """Return JSON with a mark in place of each image, sound or file in it, and put these into `parts`."""
    if isinstance(value, list) and deeper:
        return [_marked(each, parts, deeper - 1) for each in value]
    if not isinstance(value, Mapping):
        return value
    found = cast("Mapping[str, object]", value)
    medium = _medium(found)
    if medium is not None:
        parts[medium.digest] = value
        return medium.mark
    return {name: _marked(each, parts, deeper - 1) for name, each in found.items()} if deeper else value


def _medium(part: Mapping[str, object]) -> _Medium | None:
    """Return the image, sound or file that a part is, None where it is none."""
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
        return _Medium(shown, None, _digest(address)) if len(address) > _LONGEST_ADDRESS else None
    shortest = 0 if opened or said else _SHORTEST_BYTES
    data = _bytes_of(payload[opened.end() :] if opened else payload, shortest)
    if data is None and known == named[0]:
        return None  # a field of that name with a text in it
    data = payload.encode(errors="backslashreplace") if data is None else data
    return _Medium(shown, len(data), _digest(data))


def _by_format(kind: str, written: str) -> str:
    """Return the type of a sound that says its format alone, as OpenAI's do."""
    return f"audio/{written}" if written and "audio" in kind else ""


def _fields(value: object, deeper: int) -> Iterator[_Field]:
    """Yield the texts of an object and of those in it."""
    for name, each in mapping_of(value).items():
        if isinstance(each, str):
            yield name, each
        elif deeper:
            yield from _fields(each, deeper - 1)


def _bytes_of(text: str, shortest: int) -> bytes | None:
    """Return the bytes that a text spells in base64, None where it is another text, or a word that only looks like it."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None
    return data if len(text) >= shortest else None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
