"""A tree assembled from its parts is the tree that the operations built."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Failed, Passed
from mage.engine import (
    Active,
    Digest,
    Instruction,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    Tree,
    accept,
    apply_verdict,
    check,
    compress,
    grow,
    start,
)
from mage.engine.assemble import assemble, in_phase
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import CHUNK
from tests.codec.strategies import states
from tests.engine.test_invariants import summary


def _again(tree: Tree) -> Tree:
    """Take a tree apart through its public reading, and assemble it."""
    ids = [StepId(number) for number in range(tree.next_step)]
    return assemble(
        tree.task,
        steps=[tree.step(step) for step in ids[1:]],
        summaries=[
            attrs.evolve(summary, base=SummaryId(99), above=Digest("x")) for summary in _summaries(tree)
        ],
        lessons={step: tree.lessons_at(step) for step in ids if tree.lessons_at(step)},
        instructions={step: tree.instructions_at(step) for step in ids if tree.instructions_at(step)},
        step_head=tree.step_head,
        summary_head=tree.summary_head,
        chapters={
            summary.id: tree.chapters_at(summary.id)
            for summary in _summaries(tree)
            if tree.chapters_at(summary.id)
        },
    )


def _summaries(tree: Tree) -> Iterator[Summary]:
    return (tree.summary(SummaryId(number)) for number in range(1, tree.next_summary))


@given(states)
def test_the_parts_of_a_reachable_tree_make_that_tree(state: State) -> None:
    """It is equal and has the same hash."""
    again = _again(state.tree)
    assert again == state.tree
    assert hash(again) == hash(state.tree)


@given(states)
def test_the_phase_of_a_tree_follows_from_its_summary_head(state: State) -> None:
    """The tree of any reachable state alone is enough to have the state again (D6)."""
    assert in_phase(state.tree) == state


def test_each_phase_is_found_again() -> None:
    """A pending head is Unverified, a failed one Rejected, any other Active (D6)."""
    pending = compress(grow(start("task"), "a", "o"), "text").unwrap()
    for verdict in (Passed(), Failed("no")):
        judged = apply_verdict(pending, verdict, pending.digest).unwrap()
        assert in_phase(judged.tree) == judged
    assert in_phase(pending.tree) == pending
    assert in_phase(accept(pending).tree) == accept(pending)


def test_a_verdict_that_is_none_has_no_phase() -> None:
    """What the types exclude is not passed over in silence."""
    pending = compress(grow(start("task"), "a", "o"), "text").unwrap()
    with pytest.raises(AssertionError, match="'passed'"):
        in_phase(summary(pending, 1, verdict="passed").tree)


@given(states)
def test_what_takes_no_part_in_equality_is_right_too(state: State) -> None:
    """The places of instructions on the path, the bases along it and every index hold what `check` asks."""
    again = _again(state.tree)
    check(attrs.evolve(state, tree=again))
    old, new = state.tree._settled.notes, again._settled.notes
    assert (list(new.once), list(new.standing)) == (list(old.once), list(old.standing))


@given(st.integers(0, 3 * CHUNK + 1))
def test_steps_are_cut_into_chunks_as_growing_cuts_them(count: int) -> None:
    """At every length, also where the tail is just full."""
    state = start("Furnish the study")
    for number in range(count):
        state = grow(state, f"look {number}", "")
    assert _again(state.tree) == state.tree


def test_a_step_below_an_older_one_is_found_by_its_content() -> None:
    """Only such a step stands in the branch index."""
    steps = [
        Step(StepId(1), ROOT_STEP, "a", ""),
        Step(StepId(2), ROOT_STEP, "b", ""),
        Step(StepId(3), StepId(2), "c", ""),
    ]
    tree = assemble(
        "task",
        steps=steps,
        lessons={},
        instructions={},
        step_head=StepId(3),
        summary_head=SummaryId(0),
        chapters={},
    )
    assert tree.child_with(ROOT_STEP, ("b", "")) == 2
    assert list(tree._settled.branches) == [ROOT_STEP]
    check(Active(tree))


def test_instructions_off_the_path_are_kept_and_not_in_force() -> None:
    """They stand at their step; the path does not name them."""
    instruction = Instruction("Desk first.", standing=True)
    steps = [Step(StepId(1), ROOT_STEP, "a", ""), Step(StepId(2), ROOT_STEP, "b", "")]
    tree = assemble(
        "task",
        steps=steps,
        lessons={ROOT_STEP: ["oldest", "newest"]},
        instructions={StepId(1): (instruction,)},
        step_head=StepId(2),
        summary_head=SummaryId(0),
        chapters={},
    )
    assert tree.instructions_at(StepId(1)) == (instruction,)
    assert tree.lessons_at(ROOT_STEP) == ("oldest", "newest")
    assert not list(tree._settled.notes.standing)
    check(Active(tree))
