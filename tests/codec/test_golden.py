"""Golden files: what version 1 wrote is read for ever, and is what version 1 writes."""

from __future__ import annotations

from mage import Failed, Passed
from mage.codec import decode_journal, decode_tree, encode_journal, encode_tree
from mage.engine import (
    Accept,
    Accepted,
    ApplyVerdict,
    Command,
    Compress,
    Fold,
    Grow,
    Instruct,
    Pending,
    Retext,
    Revise,
    Start,
    SummaryId,
    Unverified,
    replay,
)
from tests.golden.make import JOURNAL, TREE, ending, story


def test_the_golden_journal_is_read() -> None:
    """Every later version reads the journal of version 1 to the same commands and the same state."""
    commands = decode_journal(JOURNAL.read_bytes()).unwrap()
    assert commands == story()
    assert replay(commands).unwrap() == ending()


def test_the_golden_tree_is_read() -> None:
    """Every later version reads the tree of version 1 to the same state, with the same digest."""
    assert decode_tree(TREE.read_bytes()).unwrap() == ending()


def test_the_golden_files_are_what_is_written() -> None:
    """As long as version 1 is written, it is written byte for byte like this."""
    assert b"".join(encode_journal(story())) == JOURNAL.read_bytes()
    assert encode_tree(ending()) == TREE.read_bytes()


def test_the_golden_journal_holds_everything() -> None:
    """Every command, both kinds, every answer, instructions that stand and one that does not, a merge."""
    commands = decode_journal(JOURNAL.read_bytes()).unwrap()
    kinds: set[type[Command]] = {Start, Instruct, Grow, Compress, Retext, ApplyVerdict, Accept, Revise, Fold}
    assert {type(command) for command in commands} == kinds
    assert {each.kind for each in commands if isinstance(each, Compress)} == {"subgoal", "fallback"}
    assert {each.standing for each in commands if isinstance(each, Instruct)} == {True, False}
    answers = [each.verdict for each in commands if isinstance(each, ApplyVerdict)]
    assert Passed() in answers
    assert {each.fault for each in answers if isinstance(each, Failed)} == {"execution", "summary"}
    assert {each.boundary for each in answers if isinstance(each, Failed)} == {None, 4}
    grown = [each for each in commands if isinstance(each, Grow)]
    assert len(grown) > ending().tree.next_step - 1


def test_the_golden_tree_holds_everything() -> None:
    """Every verdict a summary can carry, an acceptance with and without a failure, branches and lessons."""
    state = decode_tree(TREE.read_bytes()).unwrap()
    tree = state.tree
    carried = [tree.summary(SummaryId(number)).verdict for number in range(1, tree.next_summary)]
    assert isinstance(state, Unverified)
    assert {type(verdict) for verdict in carried} == {Pending, Passed, Failed, Accepted}
    assert {type(each.despite) for each in carried if isinstance(each, Accepted)} == {Failed, type(None)}
    assert any(len(tree.step_children(step)) > 1 for step in tree.active_path())
    assert any(tree.lessons_at(step) for step in tree.active_path())
    assert tree.segment()
    assert any(tree.chapters_at(SummaryId(number)) for number in range(1, tree.next_summary))
    assert any(tree.summary(each).after != tree.summary(each).parent for each in tree.summary_path())
