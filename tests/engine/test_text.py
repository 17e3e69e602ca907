"""What a string is once the tree keeps it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import NotText
from mage.engine.text import as_text, is_blank, quoted

anything = st.text(st.characters(exclude_categories=())) | st.text("\ud83d\ude00\ud800é\x00a")


class Shouting(str):
    """A string with ideas of its own."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "SHOUTED"


@given(anything)
def test_text_is_what_json_would_read_back(text: str) -> None:
    """A text on entry is the text that any JSON reader makes of it later (D15)."""
    assert as_text(text) == json.loads(json.dumps(text))


@given(anything)
def test_entering_twice_changes_nothing(text: str) -> None:
    """What was joined once stays as it is."""
    assert as_text(as_text(text)) == as_text(text)


def test_surrogate_pairs_are_joined_and_lone_ones_kept() -> None:
    """Two halves of one character become it; half a character stays half."""
    assert as_text("\ud83d\ude00") == "\U0001f600"
    assert as_text("a\ud83d") == "a\ud83d"


def test_a_subclass_of_str_enters_as_a_plain_string() -> None:
    """A string that compares or prints as it likes is kept by its characters."""
    entered = as_text(Shouting("quiet"))
    assert type(entered) is str
    assert entered == "quiet"


@pytest.mark.parametrize("value", [None, b"bytes", 3, ["a"], {"a": 1}])
def test_what_is_no_string_is_refused_by_type(value: object) -> None:
    """Content is text; anything else is named and turned away."""
    with pytest.raises(NotText, match=type(value).__name__):
        as_text(value)  # type: ignore[arg-type]  # the point of the test


@given(anything)
def test_blank_is_what_strip_leaves_empty(text: str) -> None:
    """Blank means: nothing is left by str.strip (D3)."""
    assert is_blank(text) == (text.strip() == "")


@given(anything)
def test_quoted_is_json_with_what_must_be_escaped_escaped(text: str) -> None:
    """The canonical spelling is that of the json module, but for lone surrogates, which the encoder escapes."""
    text = as_text(text)
    assert quoted(text) == json.dumps(text, ensure_ascii=False)
    assert json.loads(quoted(text).encode(errors="backslashreplace")) == text


def test_every_control_and_every_other_early_character_is_spelled_as_json_does() -> None:
    """One by one, so that none is left to chance."""
    for code in range(0x500):
        assert quoted(chr(code)) == json.dumps(chr(code), ensure_ascii=False)
