"""Reading the tree: paths, children, look-ups."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import (
    Instruction,
    StepId,
    SummaryId,
    UnknownStep,
    UnknownSummary,
    accept,
    compress,
    grow,
    instruct,
    revise,
    start,
)
from mage.engine.machine import Active


def grown(count: int, state: Active | None = None) -> Active:
    """Return a state with this many more steps."""
    state = start("task") if state is None else state
    for number in range(count):
        state = grow(state, f"a{number}", "o")
    return state


def settled(count: int, state: Active | None = None) -> Active:
    """Return a state whose last steps were compressed and accepted."""
    return accept(compress(grown(count, state), "done").unwrap())


@given(st.integers(0, 200))
def test_every_step_is_found_by_its_id(count: int) -> None:
    """Ids run from 0 to next_step, each found, whatever chunk it is in."""
    tree = grown(count).tree
    assert [tree.step(StepId(number)).id for number in range(tree.next_step)] == list(range(count + 1))
    assert tree.active_path() == tuple(range(count + 1))


@given(st.integers(0, 100), st.integers(-100, 300))
def test_what_is_no_step_is_refused_by_number(count: int, step: int) -> None:
    """An id that no step has raises, for lookups and children alike."""
    tree = grown(count).tree
    if 0 <= step <= count:
        assert tree.step(StepId(step)).id == step
        return
    with pytest.raises(UnknownStep, match=str(step)):
        tree.step(StepId(step))
    with pytest.raises(UnknownStep):
        tree.step_children(StepId(step))


def test_what_is_no_summary_is_refused_by_number() -> None:
    """An id that no summary has raises."""
    tree = settled(2).tree
    assert tree.summary(SummaryId(1)).text == "done"
    for number in (-1, 2):
        with pytest.raises(UnknownSummary, match=str(number)):
            tree.summary(SummaryId(number))
        with pytest.raises(UnknownSummary):
            tree.summary_children(SummaryId(number))


def test_a_path_and_its_segment_follow_the_heads() -> None:
    """The open segment starts after the current boundary; the summary path names what is above."""
    tree = grown(2, settled(3)).tree
    assert tree.task == "task"
    assert (tree.step_head, tree.boundary, tree.next_step) == (5, 3, 6)
    assert tree.segment() == (4, 5)
    assert tree.summary_path() == (0, 1)
    assert (tree.summary_head, tree.next_summary) == (1, 2)


@given(st.lists(st.integers(0, 40), max_size=60))
def test_children_are_told_in_order_of_ids(takes: list[int]) -> None:
    """Steps taken from one place are its children once each, oldest first."""
    state = start("task")
    for take in takes:
        state = grow(state, f"take {take}", "")
        back = revise(state, 0, "").unwrap().state
        assert isinstance(back, Active)
        state = back
    children = state.tree.step_children(StepId(0))
    assert [state.tree.step(child).action for child in children] == [
        f"take {take}" for take in dict.fromkeys(takes)
    ]
    assert list(children) == sorted(children)


def test_summaries_that_continue_one_are_its_children() -> None:
    """Two segments compressed from one boundary are two children of one summary."""
    state = revise(settled(2), 0, "again").unwrap().state
    assert isinstance(state, Active)
    tree = accept(compress(grow(state, "b", "o"), "other").unwrap()).tree
    assert tree.summary_children(SummaryId(0)) == (1, 2)
    assert tree.child_ending_at(SummaryId(0), StepId(2)) == 1
    assert tree.child_ending_at(SummaryId(1), StepId(2)) is None
    assert tree.lessons_at(StepId(0)) == ("again",)
    assert tree.lessons_at(StepId(2)) == ()


def test_instructions_stand_at_their_step() -> None:
    """What was placed at a step is told in order; other steps have none."""
    state = instruct(instruct(grown(1), "one").unwrap(), "two", standing=True).unwrap()
    assert state.tree.instructions_at(StepId(1)) == (Instruction("one"), Instruction("two", True))
    assert state.tree.instructions_at(StepId(0)) == ()


def test_a_copy_of_a_tree_is_the_tree() -> None:
    """What cannot change need not be copied."""
    tree = settled(40).tree
    assert copy.copy(tree) is tree
    assert copy.deepcopy(tree) is tree


@given(st.integers(0, 70), st.integers(0, 70))
def test_equal_trees_are_those_with_equal_histories(one: int, other: int) -> None:
    """Trees of as many equal steps are equal and hash alike, however they were chunked; others differ."""
    assert (grown(one).tree == grown(other).tree) == (one == other)
    assert hash(grown(one).tree) == hash(grown(one).tree)


def test_all_steps_and_summaries_are_told_in_order() -> None:
    """Without the roots, each once."""
    tree = settled(2, settled(40)).tree
    assert [step.id for step in tree.steps()] == list(range(1, 43))
    assert [summary.id for summary in tree.summaries()] == [1, 2]
    assert list(start("task").tree.steps()) == []
    assert list(start("task").tree.summaries()) == []


def test_the_deepest_step_that_was_asked_at_is_known() -> None:
    """It is that of the newest instruction on the path that is not standing; going back takes it along (D17)."""
    state = start("task")
    assert state.tree.asked_at is None
    state = instruct(state, "always", standing=True).unwrap()
    assert state.tree.asked_at is None
    state = instruct(grow(state, "a", "o"), "first").unwrap()
    assert state.tree.asked_at == 1
    state = instruct(grow(grow(state, "b", "o"), "c", "o"), "second").unwrap()
    assert state.tree.asked_at == 3
    done = accept(compress(state, "did").unwrap())
    assert done.tree.asked_at == 3
    assert revise(done, 0, "").unwrap().state.tree.asked_at is None
