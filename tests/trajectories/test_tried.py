"""What was tried, kept as a history grows, against what the engine gathers anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Failed
from mage.engine import (
    Accept,
    ApplyVerdict,
    Command,
    Compress,
    Grow,
    IllegalPhase,
    Retext,
    Revise,
    Start,
    State,
    StepId,
    Unverified,
    apply,
)
from mage.engine.view import hints
from mage.render import Caps, Meter
from mage.render.blocks import Recent, recent
from mage.tokens import EstimateCounter
from mage.trajectories.measure import Tried, measure
from tests.trajectories.samples import calls_made

MOVES = st.sampled_from(
    [
        *(Grow(action, "o") for action in "abc"),
        *(
            Revise(StepId(boundary), lesson)
            for boundary in (0, 1)
            for lesson in ("no", "\ud83d\ude00", " ", "not so")
        ),
        Compress("done"),
        Compress("again", "fallback"),
        Retext("better"),
        Accept(),
        Failed("wrong"),
    ]
)
LIMITS = st.none() | st.integers(0, 3)
CAPS = st.builds(Caps, continuations=LIMITS, subgoals=LIMITS, lessons=LIMITS, distinct_lessons=st.booleans())


def _after(state: State, move: Command | Failed) -> tuple[Command, State] | None:
    """Return what a move is as a command, and what it leads to; None where it is refused."""
    command = move
    if isinstance(command, Failed):
        if not isinstance(state, Unverified):
            return None
        command = ApplyVerdict(command, state.digest)
    try:
        after = apply(state, command).value_or(None)
    except IllegalPhase:
        return None
    return None if after is None else (command, after)


@given(st.lists(MOVES, max_size=60), CAPS)
def test_what_is_kept_is_what_would_be_gathered(moves: list[Command | Failed], caps: Caps) -> None:
    """Along any history and under any caps, the hints read off the end are those of the engine's view."""
    state = apply(None, Start("task")).unwrap()
    tried = Tried(caps)
    tried.follow(None, Start("task"), state)
    for move in moves:
        taken = _after(state, move)
        if taken is not None:
            command, after = taken
            tried.follow(state, command, after)
            state = after
        assert _plain(recent(hints(state), caps)) == _plain(tried.recent(state))


def _plain(hints: Recent) -> list[tuple[int, tuple[object, ...]]]:
    steps, subgoals, lessons = hints
    return [
        (steps.older, tuple(steps.shown)),
        (subgoals.older, tuple(subgoals.shown)),
        (lessons.older, tuple(lessons.shown)),
    ]


def _tries(number: int) -> list[Command]:
    """Return a history of so many tries at one step, each left with a lesson of its own."""
    tries = [(Grow(f"try {place}", "no"), Revise(StepId(0), f"not {place}")) for place in range(number)]
    return [Start("task"), *(command for each in tries for command in each)]


def _subgoals(number: int) -> list[Command]:
    """Return a history of so many subgoals that were given up, all continuing one summary."""
    tries = [
        (Grow(f"try {place}", "no"), Compress(f"done {place}"), Accept(), Revise(StepId(0), "again"))
        for place in range(number)
    ]
    return [Start("task"), *(command for each in tries for command in each)]


@pytest.mark.parametrize("history", [_tries, _subgoals])
def test_tries_at_one_step_cost_each_the_same(history: Callable[[int], list[Command]]) -> None:
    """Twice as many tries at one place, steps or subgoals, take twice the calls to measure, not four times."""
    once, twice = (
        calls_made(partial(measure, history(number), Meter(EstimateCounter()))) for number in (300, 600)
    )
    assert twice <= 2.1 * once
