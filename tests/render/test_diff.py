"""What differs between two execution states: properties over everything that mage can get into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import attrs
from hypothesis import given

from mage import ExecutionState, view
from mage.engine import State, Step, StepId, grow, start
from mage.render import NO_CAPS, render
from mage.render.forms import Difference, Sides, compare_states
from mage.testing import states

Item = TypeVar("Item")


def parts(found: Difference) -> list[Sides[object]]:
    """Return every part of a difference."""
    return [getattr(found, field.name) for field in attrs.fields(Difference)]


@given(states())
def test_nothing_differs_from_itself(state: State) -> None:
    """The same S is the same in every part, and every item is counted."""
    shown = view(state)
    found = compare_states(shown, shown)
    assert not found.differ
    assert found.compressed.same == len(shown.compressed)
    assert found.raw.same == len(shown.raw)


@given(states(), states())
def test_what_an_agent_reads_tells_whether_anything_differs(left: State, right: State) -> None:
    """Where nothing differs both are rendered alike; where texts differ, something does."""
    one, other = view(left), view(right)
    found = compare_states(one, other)
    if not found.differ:
        assert render(one, caps=NO_CAPS) == render(other, caps=NO_CAPS)
    if render(one, caps=NO_CAPS) != render(other, caps=NO_CAPS):
        assert found.differ


@given(states(), states())
def test_the_other_way_round_the_sides_change_places(left: State, right: State) -> None:
    """What is only in the one is only in the other."""
    there = compare_states(view(left), view(right))
    back = compare_states(view(right), view(left))
    for one, other in zip(parts(there), parts(back), strict=True):
        assert one.differ == other.differ
        assert len(one.left) + one.same == len(other.right) + other.same


@given(states(), states())
def test_what_is_left_is_in_both(left: State, right: State) -> None:
    """Without what is only on its side, each is the same sequence as the other."""
    one, other = view(left), view(right)
    found = compare_states(one, other)
    for name in ("raw", "compressed", "instructions"):
        sides = getattr(found, name)
        assert len(getattr(one, name)) - len(sides.left) == sides.same
        assert len(getattr(other, name)) - len(sides.right) == sides.same
        assert is_within(sides.left, getattr(one, name))
        assert is_within(sides.right, getattr(other, name))


def is_within(some: Sequence[Item], every: Sequence[Item]) -> bool:
    """Tell whether items stand in another sequence, in this order."""
    rest = iter(every)
    return all(any(item == each for each in rest) for item in some)


def test_a_step_in_the_middle_differs_alone() -> None:
    """Neither what stands before it nor what stands behind it is told."""

    def shown(third: str) -> ExecutionState:
        state = start("task")
        for action in ("a", "b", third, "d", "e"):
            state = grow(state, action, "seen")
        return view(state)

    found = compare_states(shown("c"), shown("x"))
    assert found.raw == Sides(
        (Step(StepId(3), StepId(2), "c", "seen"),), (Step(StepId(3), StepId(2), "x", "seen"),), 4
    )
    assert [part.differ for part in parts(found)].count(True) == 1
