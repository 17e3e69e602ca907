"""Content in parts: what is text, what is thought, and a mark in place of bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import content_of, is_content, read_reply

_BYTES: Final = bytes(range(200))
_SPELLED: Final = base64.b64encode(_BYTES).decode()
_DIGEST: Final = hashlib.sha256(_BYTES).hexdigest()[:12]


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_SPELLED}"}}, "image/png"),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{_SPELLED}"}, "image/png"),
        ({"type": "input_audio", "input_audio": {"data": _SPELLED, "format": "wav"}}, "audio/wav"),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": _SPELLED}}, "file"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": _SPELLED}},
            "image/webp",
        ),
        ({"type": "image", "data": _SPELLED, "mimeType": "image/gif"}, "image/gif"),
        (
            {"type": "resource", "resource": {"uri": "x:y", "mimeType": "video/mp4", "blob": _SPELLED}},
            "video/mp4",
        ),
        ({"inlineData": {"mimeType": "image/jpeg", "data": _SPELLED}}, "inlineData"),
        ({"type": "image_generation_call", "id": "ig", "result": _SPELLED}, "image_generation_call"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("type", "Gemini"),
)
def test_bytes_have_a_mark(part: dict[str, Any], kind: str) -> None:
    """Type, size and digest, however an interface spells the part; the part itself is kept under the digest."""
    found = content_of(["see", part])
    shown = "image/jpeg" if kind == "inlineData" else kind
    assert found.text == f"see\n[{shown}, 200 bytes, sha256 {_DIGEST}]"
    assert found.parts == {_DIGEST: part}
    assert _SPELLED[:20] not in found.text


def test_bytes_within_an_unknown_part_have_a_mark_too() -> None:
    """The part stays JSON, and only what is no text is taken out of it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _SPELLED}}
    found = content_of([{"type": "tool_result", "content": [{"type": "text", "text": "a"}, image]}])
    assert json.loads(found.text)["content"] == [
        {"type": "text", "text": "a"},
        f"[image/png, 200 bytes, sha256 {_DIGEST}]",
    ]
    assert found.parts == {_DIGEST: image}


def test_an_address_stays_where_it_is_short() -> None:
    """It may help the reader; a long one, signed for an hour, would be another text each time."""
    short = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert content_of([short]).text == '{"image_url":{"url":"https://example.org/a.png"},"type":"image_url"}'
    long = {"type": "image_url", "image_url": {"url": f"https://example.org/{'a' * 300}"}}
    assert content_of([long]).text.startswith("[image_url, elsewhere, sha256 ")


def test_a_text_in_a_field_of_that_name_is_no_image() -> None:
    """A word can look like base64, and a name like that of a file."""
    for part in (
        {"type": "file_card", "data": "door"},
        {"type": "image", "data": "a door"},
        {"profile": {"data": "x"}},
    ):
        assert "sha256" not in content_of([part]).text
    tiny = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    assert content_of([tiny]).text.startswith("[image/png, 3 bytes, sha256 ")


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("a", "a"),
        ({"type": "input_text", "text": "a"}, "a"),
        ({"type": "refusal", "refusal": "a"}, "a"),
        ({"type": "audio", "audio": {"id": "x", "transcript": "a"}}, "a"),
        ({"type": "output_audio", "transcript": "a", "data": _SPELLED}, "a"),
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}, "a"),
        ({"type": "resource", "resource": {"uri": "x:y", "text": "a"}}, "a"),
        (5, "5"),
        ({"a": [1]}, '{"a":[1]}'),
    ],
    ids=str,
)
def test_what_is_text_is_text(part: object, text: str) -> None:
    """The words of a refusal and the transcript of a sound are the model's; what is unknown stays as its JSON."""
    assert content_of([part]).text == text


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]},
        {"type": "reasoning", "text": "a"},
    ],
)
def test_what_is_thought_is_no_text(part: object) -> None:
    """However an interface has it."""
    found = content_of([part, "b"])
    assert (found.texts, found.thoughts) == (("b",), ("a",))


_json: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "data", "url", "image_url", "source", "transcript", "refusal", "summary"]),
            inner | st.sampled_from(["text", "image", "audio", "refusal", "thinking", "base64", "data:,"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(_json)
def test_any_content_is_read(content: object) -> None:
    """Whatever JSON it is, there are texts, and each mark stands for a part that is kept."""
    found = content_of(content)
    assert all(isinstance(text, str) for text in found.texts)
    assert all(f"sha256 {digest}]" in found.text or "transcript" in str(content) for digest in found.parts)
    is_content(content)
    read_reply({"role": "assistant", "content": content})


def test_a_list_of_parts_is_told_from_any_list() -> None:
    """What a tool of MCP's returns is content, what another function returns is JSON."""
    assert is_content(
        [{"type": "text", "text": "a"}, {"type": "image", "data": _SPELLED, "mimeType": "image/png"}]
    )
    assert not any(
        map(is_content, ([], ["a"], [{"type": "door"}], [{"text": "a"}], {"type": "text", "text": "a"}))
    )


def test_a_live_reply_has_its_words_and_its_marks() -> None:
    """A transcript, a refusal and a mark are its text; what the model thought stands apart."""
    spoken = {
        "role": "assistant",
        "content": None,
        "audio": {"id": "a", "data": _SPELLED, "transcript": "4711."},
    }
    found = read_reply(spoken)
    assert (found.text, list(found.parts)) == ("4711.", [_DIGEST])
    refused = {
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "No."}],
        "reasoning_content": "hm",
    }
    found = read_reply(refused)
    assert (found.text, found.thought) == ("No.", "hm")
    drawn = {
        "output": [{"type": "image_generation_call", "id": "i", "status": "completed", "result": _SPELLED}]
    }
    assert read_reply(drawn).text == f"[image_generation_call, 200 bytes, sha256 {_DIGEST}]"
