"""What a run remembers of what it has looked at."""

from __future__ import annotations

import attrs

from mage.agent import Policy
from mage.engine import Accept, Compress, Grow, Start, State, apply, view
from mage.memory.state import Run
from mage.render import Meter
from mage.tokens import EstimateCounter


def _states() -> list[State]:
    states: list[State] = []
    state: State | None = None
    for command in (Start("task"), Grow("a", "1"), Compress("one"), Accept(), Grow("b", "2")):
        state = apply(state, command).unwrap()
        states.append(state)
    return states


def test_s_is_derived_once_for_each_state() -> None:
    """S is the view of the state, the same object as long as the state is, and another one after a command."""
    run = Run(Meter(EstimateCounter()), 0)
    for state in _states():
        run.state = state
        shown = run.shown()
        assert shown == view(state)
        assert run.shown() is shown


def test_s_follows_the_policy() -> None:
    """A policy that changes between two looks at one state is seen: without Compress S has the steps."""
    run = Run(Meter(EstimateCounter()), 0)
    run.state = _states()[-1]
    assert [summary.text for summary in run.shown().compressed] == ["one"]
    run.policy = attrs.evolve(Policy(), compress=False)
    assert [step.action for step in run.shown().raw] == ["a", "b"]
    assert not run.shown().compressed
