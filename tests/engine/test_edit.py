"""How one tree differs from the one before it: chunks, branches and what is shared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Instruction, StepId
from mage.engine.edit import (
    at_boundary,
    at_step,
    instructions_below,
    new_tree,
    with_instruction,
    with_lesson,
    with_step,
)
from mage.engine.tree import CHUNK


@given(st.integers(1, 3 * CHUNK))
def test_full_chunks_are_packed_and_the_rest_is_the_tail(count: int) -> None:
    """The tail holds what does not fill a chunk; it is never empty and starts at a chunk's edge."""
    tree = new_tree("task")
    for number in range(count):
        tree = with_step(tree, str(number), "")
    assert 1 <= len(tree._tail) <= CHUNK
    assert tree._tail[0].id % CHUNK == 0
    keys = sorted(tree._settled.chunks)
    assert repr(keys) == repr(list(range(tree._tail[0].id // CHUNK)))  # whole numbers, and of one type


def test_a_chain_needs_no_index() -> None:
    """Only a step whose id does not follow its parent's stands in the branch index."""
    tree = with_step(with_step(new_tree("task"), "a", ""), "b", "")
    assert not tree._settled.branches
    branched = with_step(at_step(tree, StepId(1)), "c", "")
    assert list(branched._settled.branches) == [1]
    assert branched.step_children(StepId(1)) == (2, 3)


def test_growing_shares_all_that_is_settled() -> None:
    """A grow within a chunk keeps the settled part as the same object."""
    tree = with_step(new_tree("task"), "a", "")
    assert with_step(tree, "b", "")._settled is tree._settled


def test_a_blank_lesson_is_none() -> None:
    """Leaving nothing returns the same tree (L10)."""
    tree = new_tree("task")
    assert with_lesson(tree, StepId(0), " \n") is tree
    assert with_lesson(tree, StepId(0), "x").lessons_at(StepId(0)) == ("x",)
    assert at_boundary(tree, tree.head_summary).lessons_at(StepId(0)) == ()


def test_walking_down_again_finds_the_instructions_of_the_way() -> None:
    """A step with instructions is on the active path again when the agent stands on it."""
    tree = with_instruction(with_step(new_tree("task"), "a", ""), Instruction("do"))
    tree = with_instruction(tree, Instruction("always", standing=True))
    again = at_step(new_tree("task"), StepId(0))
    assert instructions_below(tree, StepId(0)) == (Instruction("do"), Instruction("always", standing=True))
    assert instructions_below(again, StepId(0)) == ()
    assert list(tree._settled.notes.once) == list(tree._settled.notes.standing) == [1]
