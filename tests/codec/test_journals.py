"""Journals as JSON Lines: all commands come back, and a file that is not whole is told from one that is."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Result

from mage.codec import DecodeError, decode_journal, encode_command, encode_journal
from mage.engine import Accept, Command, Grow, Start, State, replay
from tests.codec.strategies import HOSTILE, commands, histories

_HEADER = b'{"format":"mage-journal","version":1}\n'
_TWO = (Start("Furnish the study"), Grow("search[desk]", "\u2028 three \x85 desks"))


def _file(journal: Iterable[Command]) -> bytes:
    return b"".join(encode_journal(journal))


@given(st.lists(commands, max_size=8))
def test_every_journal_survives(journal: list[Command]) -> None:
    """Whole or line by line, as a file or as a list, the commands come back in order."""
    data = _file(journal)
    assert decode_journal(data).unwrap() == tuple(journal)
    assert decode_journal(list(encode_journal(journal))).unwrap() == tuple(journal)
    assert decode_journal(io.BytesIO(data)).unwrap() == tuple(journal)


@given(histories())
def test_a_journal_read_back_leads_to_the_same_state(history: tuple[tuple[Command, ...], State]) -> None:
    """L8, through the disk: digests and all."""
    journal, state = history
    assert replay(decode_journal(_file(journal)).unwrap()).unwrap() == state


def test_a_header_then_a_command_a_line() -> None:
    """Each line ends in its newline, and a line is what `encode_command` says."""
    lines = list(encode_journal(_TWO))
    assert lines == [_HEADER, *[encode_command(command).encode() + b"\n" for command in _TWO]]


def test_a_journal_is_written_as_it_comes() -> None:
    """Nothing is asked of the commands before their line is wanted."""
    lines = encode_journal(iter((Start("Furnish the study"), Accept())))
    assert next(lines) == _HEADER
    assert next(lines).startswith(b'{"op":"start"')


def test_no_command_at_all_is_a_journal() -> None:
    """A header alone is sound; whether a journal may be empty is for `replay` to say."""
    assert decode_journal(_HEADER).unwrap() == ()


def test_lines_end_at_the_line_feed_only() -> None:
    """What other line readers take for an end of line stands inside strings as it is."""
    journal = [Grow(text, text) for text in HOSTILE]
    data = _file(journal)
    assert data.count(b"\n") == len(journal) + 1
    assert decode_journal(data).unwrap() == tuple(journal)


@given(st.lists(commands, max_size=4), st.data())
def test_a_journal_cut_anywhere_but_at_a_line_is_refused(journal: list[Command], data: st.DataObject) -> None:
    """The error names the cut line and counts the sound commands before it; cut at a line, it is a prefix."""
    whole = _file(journal)
    end = data.draw(st.integers(0, len(whole) - 1))
    lines = whole[:end].count(b"\n")
    result = decode_journal(whole[:end])
    if whole[:end].endswith(b"\n"):
        assert result.unwrap() == tuple(journal[: lines - 1])
    else:
        error = result.failure()
        assert (error.line, error.path, error.good) == (lines + 1, "$", max(lines - 1, 0))


def test_crlf_says_the_same() -> None:
    """A CR before the LF is white space to JSON: a tool that made CRLF of LF has changed no command."""
    assert decode_journal(_file(_TWO).replace(b"\n", b"\r\n")).unwrap() == _TWO


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "line 1: $: the journal is empty, expected its header"),
        ([b""], "line 1: $: the line is cut: no newline ends it"),
        ([_HEADER, b'{"op":"accept"}'], "line 2: $: the line is cut: no newline ends it"),
        (
            [_HEADER, b'{"op":"accept"}', b'{"op":"accept"}\n'],
            "line 2: $: the line is cut: no newline ends it",
        ),
        ([_HEADER + b'{"op":"accept"}\n'], "line 1: $: found a newline inside the line, at byte 38"),
        ([_HEADER, b'{"op":\n"accept"}\n'], "line 2: $: found a newline inside the line, at byte 7"),
        ([_HEADER, b" \n"], "line 2: $: the line is blank"),
    ],
)
def test_what_is_no_line_is_refused_among_lines(lines: list[bytes], said: str) -> None:
    """Lines that were split or joined by other rules are not guessed at."""
    assert str(decode_journal(lines).failure()) == said


@given(st.binary() | st.lists(st.binary(), max_size=4))
def test_arbitrary_bytes_are_refused_and_never_raise(data: bytes | list[bytes]) -> None:
    """They have no header."""
    assert isinstance(decode_journal(data).failure(), DecodeError)


@given(st.lists(st.binary(max_size=30), max_size=4))
def test_arbitrary_lines_after_a_header_never_raise(lines: list[bytes]) -> None:
    """Each gives a command or the error of its line."""
    assert isinstance(decode_journal([_HEADER, *lines]), Result)


@given(st.lists(commands, min_size=1, max_size=4), st.data())
def test_a_journal_with_bytes_changed_never_raises(journal: list[Command], data: st.DataObject) -> None:
    """Flipped, lost and doubled bytes give a journal or an error with a line that is there."""
    whole = _file(journal)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 4)))
    changed = whole[:start] + data.draw(st.binary(max_size=4) | st.just(whole[start:end] * 2)) + whole[end:]
    error = decode_journal(changed).swap().value_or(None)
    if error is not None:
        assert error.line is not None
        assert 1 <= error.line <= changed.count(b"\n") + 1
        assert error.good == max(error.line - 2, 0)


def test_100_000_commands_survive() -> None:
    """A long journal is no different from a short one."""
    journal: list[Command] = [Start("Furnish the study")]
    journal += [Grow(f"look {number}", "nothing") for number in range(100_000)]
    assert decode_journal(_file(journal)).unwrap() == tuple(journal)
