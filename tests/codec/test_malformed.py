"""The corpus of malformed files: each is refused in one short line that says what is wrong and where."""

from __future__ import annotations

import pytest
from returns.pipeline import is_successful

from mage.codec import DecodeError, decode_journal, decode_tree
from tests.codec.malformed import MALFORMED_JOURNALS, MALFORMED_TREES, SOUND_JOURNAL, SOUND_TREE


def test_what_the_corpus_starts_from_is_sound() -> None:
    """Without its one fault each file of the corpus would be read, so it is refused for that fault."""
    assert is_successful(decode_journal(SOUND_JOURNAL))
    assert is_successful(decode_tree(SOUND_TREE))


def test_the_corpus_is_large() -> None:
    """At least 30 named files of each kind, no two of them equal."""
    for corpus in (MALFORMED_JOURNALS, MALFORMED_TREES):
        assert len({data for data, _ in corpus.values()}) == len(corpus) >= 30


@pytest.mark.parametrize("name", MALFORMED_JOURNALS)
def test_a_malformed_journal_is_refused(name: str) -> None:
    """The refusal names the line, the place in it and the problem."""
    data, expected = MALFORMED_JOURNALS[name]
    error = decode_journal(data).failure()
    assert error.line is not None
    _says(error, expected)


@pytest.mark.parametrize("name", MALFORMED_JOURNALS)
def test_the_lines_before_a_fault_are_sound(name: str) -> None:
    """`good` counts the commands before the refused line; the journal cut there is read and holds as many."""
    data, _ = MALFORMED_JOURNALS[name]
    error = decode_journal(data).failure()
    before = data.split(b"\n")[: (error.line or 0) - 1]
    if before:
        commands = decode_journal(b"\n".join([*before, b""])).unwrap()
        assert len(commands) == error.good


@pytest.mark.parametrize("name", MALFORMED_TREES)
def test_a_malformed_tree_is_refused(name: str) -> None:
    """The refusal names the place and the problem."""
    data, expected = MALFORMED_TREES[name]
    error = decode_tree(data).failure()
    assert error.line is None
    _says(error, expected)


def _says(error: DecodeError, expected: str) -> None:
    said = str(error)
    assert expected in said
    assert len(said) < 400
    assert said.isprintable()
