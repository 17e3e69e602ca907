"""The indent that keeps content off the left margin."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given

from mage.render.blocks import INDENT, indented
from tests.render.states import BREAKS, hostile_texts


@given(hostile_texts)
def test_only_the_first_line_stands_at_the_margin(content: str) -> None:
    """Whatever a reader takes for a line break, an indent follows it."""
    _, *further = f"|{indented(content)}|".splitlines()
    assert all(line.startswith(INDENT) for line in further)


@given(hostile_texts)
def test_the_indent_can_be_taken_out_again(content: str) -> None:
    """Dropping the indent after every line break gives back the content."""
    first, *further = f"{indented(content)}|".splitlines(keepends=True)
    assert first + "".join(line[len(INDENT) :] for line in further) == f"{content}|"


@given(hostile_texts, hostile_texts)
def test_different_contents_stay_different(one: str, other: str) -> None:
    """No two contents are indented to the same text."""
    assert (indented(one) == indented(other)) == (one == other)


@pytest.mark.parametrize("line_break", BREAKS)
def test_every_line_break_of_python_is_one(line_break: str) -> None:
    """Each break is followed by one indent, also at the start and the end; CR LF counts once."""
    assert indented(f"{line_break}a{line_break}") == f"{line_break} a{line_break} "


def test_no_other_character_is_a_line_break() -> None:
    """All characters that Python knows were asked; only the listed breaks get an indent."""
    breaks = {chr(code) for code in range(sys.maxunicode + 1) if indented(chr(code)) != chr(code)}
    assert breaks == {line_break for line_break in BREAKS if len(line_break) == 1}


def test_text_of_one_line_is_not_copied() -> None:
    """The common case gives the object back."""
    content = "one line, however long" * 100
    assert indented(content) is content
