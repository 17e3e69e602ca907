"""Nodes are frozen values that name others by id."""

from __future__ import annotations

import attrs
import pytest
from rpds import List

from mage import Passed
from mage.engine import Digest, Step, StepId, Summary, SummaryId, Tree, grow, instruct, nodes, start


def a_summary(covers: int) -> Summary:
    """Return a summary that covers this many steps."""
    steps = tuple(StepId(number) for number in range(1, covers + 1))
    root, own = SummaryId(0), SummaryId(1)
    return Summary(own, root, root, StepId(0), steps, "text", "subgoal", Passed(), own, Digest(""))


def test_nodes_and_states_cannot_be_changed() -> None:
    """Assigning to any field of any value of the engine fails."""
    state = grow(start("task"), "a", "o")
    for value in (state, state.tree, state.tree.step(StepId(1)), a_summary(1), nodes.Failed("why")):
        for field in attrs.fields(type(value)):
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(value, field.name, None)


def test_a_step_knows_its_content() -> None:
    """The pair by which siblings are told apart is action and observation."""
    assert Step(StepId(2), StepId(1), "a", "o").content == ("a", "o")


def test_the_root_of_the_summaries_is_one_that_nothing_led_to() -> None:
    """It covers the root step alone, has passed, is its own base; nothing stands before or above it (D2)."""
    root = start("task").tree.summary(SummaryId(0))
    assert (root.id, root.parent, root.after, root.label, root.covers, root.base) == (0, -1, -1, -1, (0,), 0)
    assert (root.text, root.kind, root.verdict, root.above) == ("", "subgoal", Passed(), "")
    assert root == nodes.ROOT_OF_SUMMARIES


def test_the_repr_of_a_summary_does_not_list_a_thousand_steps() -> None:
    """Short covers are listed, long ones are told by their ends."""
    assert "(1, 2, 3)" in repr(a_summary(3))
    assert "(1, 2, 3, 4, 5, 6, 7, 8)" in repr(a_summary(8))
    assert "<9 steps, 1 to 9>" in repr(a_summary(9))
    assert "<1000 steps, 1 to 1000>" in repr(a_summary(1000))


def test_what_a_summary_keeps_of_those_above_it_is_a_cache() -> None:
    """Two summaries that differ only in their base and the hash of what stands above them are equal."""
    summary = a_summary(2)
    other = attrs.evolve(summary, base=SummaryId(2), above=Digest("x"))
    assert other == summary
    assert hash(other) == hash(summary)


def test_the_places_of_instructions_are_a_cache() -> None:
    """Two trees that differ only in what they noted of their active path are equal."""
    state = instruct(start("task"), "do").unwrap()
    notes = instruct(state, "always", standing=True).unwrap().tree._settled.notes
    for forgotten in (attrs.evolve(notes, once=List()), attrs.evolve(notes, standing=List())):
        assert forgotten == notes
        assert hash(forgotten) == hash(notes)


def test_what_a_value_leaves_out_is_the_usual() -> None:
    """A failure is of the execution, an acceptance overrules nothing, an instruction is for its subgoal."""
    assert nodes.Failed("why") == nodes.Failed("why", "execution")
    assert nodes.Accepted() == nodes.Accepted(None)
    assert nodes.Instruction("do") == nodes.Instruction("do", standing=False)


def test_the_repr_of_a_tree_is_one_short_line() -> None:
    """A tree says how large it is and where the agent stands, however large it is."""
    state = start("task")
    for number in range(500):
        state = grow(state, str(number), "o" * 1000)
    assert repr(state.tree) == "<Tree 500 steps, 0 summaries, at [Step 500] under summary 0>"
    assert isinstance(state.tree, Tree)
