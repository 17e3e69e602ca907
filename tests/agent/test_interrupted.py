"""A run that was interrupted at any single place comes to the same end, and does nothing twice in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Final, TypeAlias

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage.agent import Outcome, Policy, RunFinished
from mage.effects import RESET, Decide, Decision, Metered
from mage.engine import Grow
from mage.memory.journal import UNCERTAIN
from mage.stores import MemoryStore
from mage.testing import RecordingEnvironment
from tests.agent.interrupting import Interrupted, Places, interrupt_awaited, interrupt_called
from tests.agent.toys import GOAL, Ground, Mistake, Parts, model_of, parts_of
from tests.agent.twins import Left, left_by, rerun
from tests.agent.ways import RestoredBy

Way: TypeAlias = Callable[[Parts, MemoryStore, Places], Outcome]

GOALS: Final = 3
MISTAKES: Final[dict[int, Mistake]] = {0: "wrong", 1: "noticed", 2: "vague"}
CALLED: Final[Way] = interrupt_called
AWAITED: Final[Way] = interrupt_awaited
WAYS: Final = [
    pytest.param(CALLED, True, id="Agent"),
    pytest.param(AWAITED, True, id="AsyncAgent"),
    pytest.param(AWAITED, False, id="AsyncAgent-without-waiting"),
]
"""Who is interrupted, and whether it waits for its judge. (A judge in a thread comes to no place in order.)"""
ALL: Final = 10_000
FEW: Final = 12


@attrs.frozen
class Ran:
    """What came of a run."""

    outcome: Outcome
    left: Left
    ground: Ground
    notices: tuple[str, ...]
    lives: tuple[RecordingEnvironment, ...]

    @property
    def actions(self) -> list[str]:
        """The actions that the world was asked for, over all lives; not what it did to come back."""
        return [action for life in self.lives for action in life.actions]


def ran(way: Way, restoring: RestoredBy, at: tuple[int, ...], *, wait: bool) -> Ran:
    """Run, interrupted at these places one after the other, and then to the end: all the features in one run."""
    store, ground, heard = MemoryStore(), Ground(), list[str]()
    inner = model_of(GOALS, MISTAKES)

    def model(request: Decide, /) -> Decision | Metered[Decision]:
        heard.extend(notice.kind for notice in request.notices)
        return inner(request)

    outcome: Outcome | None = None
    lives: list[RecordingEnvironment] = []
    for place in (*at, None):
        policy = Policy(wait=wait, high_water=90)
        parts = parts_of(inner, policy, ground=ground, restoring=restoring, padding=" And so on." * 5)
        lives.append(RecordingEnvironment(parts.environment))
        with suppress(Interrupted):
            outcome = way(attrs.evolve(parts, model=model, environment=lives[-1]), store, Places(place))
    assert outcome is not None
    return Ran(outcome, left_by(store), ground, tuple(heard), tuple(lives))


@cache
def unbroken(way: Way, restoring: RestoredBy, wait: bool) -> tuple[Ran, int]:  # a key of the cache
    """Return the run that nobody interrupts, and how many places it comes to."""
    places = Places()
    policy = Policy(wait=wait, high_water=90)
    way(
        parts_of(model_of(GOALS, MISTAKES), policy, restoring=restoring, padding=" And so on." * 5),
        MemoryStore(),
        places,
    )
    return ran(way, restoring, (), wait=wait), places.seen


def places_of(count: int, most: int) -> Iterator[int]:
    """Yield all places, or so many of them, evenly spread."""
    return iter(range(0, count, max(1, count // most)))


def done(outcome: Outcome) -> tuple[object, ...]:
    """Return how a run ended, and what it has done, but for what it took."""
    return getattr(outcome, "answer", None), outcome.totals.steps, outcome.totals.revisions


def check_it_ends_the_same(way: Way, restoring: RestoredBy, at: tuple[int, ...], *, wait: bool) -> None:
    """Fail unless a run that was interrupted at these places ends as the unbroken one does."""
    (whole, _), broken = unbroken(way, restoring, wait), ran(way, restoring, at, wait=wait)
    assert (type(broken.outcome), *done(broken.outcome)) == (type(whole.outcome), *done(whole.outcome)), at
    assert broken.left.tree == whole.left.tree, at
    assert broken.ground.value == whole.ground.value == GOAL * GOALS, at
    if (
        wait
    ):  # else the verdict may be there sooner or later than it was, and a text be judged that was replaced
        assert broken.outcome == whole.outcome, at
        assert broken.left.commands == whole.left.commands, at
    assert "uncertain" not in broken.notices, at
    assert len(broken.actions) <= len(whole.actions) + len(at), "more was repeated than was interrupted"
    for life in broken.lives:
        back = life.resets.asked or life.restores.asked
        assert back or not life.actions, "an action was performed in a world that was not brought back"


def test_the_run_has_all_the_features() -> None:
    """What is interrupted below goes back, writes anew, summarizes unasked, and is told of merges and tried ways."""
    whole, places = unbroken(CALLED, "replay", True)
    assert isinstance(whole.outcome, RunFinished)
    assert places > 300
    assert whole.outcome.totals.revisions >= 2
    assert set(whole.notices) >= {"tried", "merged"}
    assert set(whole.left.kinds) == {
        "began", "started", "decided", "acting", "judged", "summarized", "restoring", "restored", "ended",
    }  # fmt: skip


@pytest.mark.parametrize("restoring", ["replay", "snapshot"])
@pytest.mark.parametrize(("way", "wait"), WAYS)
def test_some_places(way: Way, wait: bool, restoring: RestoredBy) -> None:  # a parameter
    """Interrupted at places all over the run, it ends with the same state, outcome, totals and world."""
    for place in places_of(unbroken(way, restoring, wait)[1], FEW):
        check_it_ends_the_same(way, restoring, (place,), wait=wait)


@pytest.mark.slow
@pytest.mark.parametrize("restoring", ["replay", "snapshot"])
@pytest.mark.parametrize(("way", "wait"), WAYS)
def test_every_place(way: Way, wait: bool, restoring: RestoredBy) -> None:  # a parameter
    """Interrupted at every single place, it ends with the same state and world; and totals, if it waits for the judge."""
    for place in places_of(unbroken(way, restoring, wait)[1], ALL):
        check_it_ends_the_same(way, restoring, (place,), wait=wait)


@settings(max_examples=8)
@given(first=st.integers(0, 360), second=st.integers(0, 360), awaited=st.booleans())
def test_twice(first: int, second: int, *, awaited: bool) -> None:
    """Interrupted twice, the second time perhaps while it is resumed, it ends the same."""
    check_it_ends_the_same(AWAITED if awaited else CALLED, "replay", (first, second), wait=True)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    at=st.lists(st.integers(0, 360), min_size=2, max_size=4).map(tuple),
    way=st.sampled_from([(CALLED, True), (AWAITED, True), (AWAITED, False)]),
    restoring=st.sampled_from(["replay", "snapshot"]),
)
def test_several_times(at: tuple[int, ...], way: tuple[Way, bool], restoring: RestoredBy) -> None:
    """Interrupted two to four times, it ends the same."""
    check_it_ends_the_same(way[0], restoring, at, wait=way[1])


def check_nothing_is_done_twice(way: Way, at: tuple[int, ...], *, wait: bool) -> None:
    """Fail unless each action was performed once, or stands as uncertain in a step of which the model was told."""
    broken = ran(way, "inverses", at, wait=wait)
    every = [command for command in broken.left.commands if isinstance(command, Grow)]
    grown = [command for command in every if command.action != RESET]
    doubtful = [grow.action for grow in grown if grow.observation == UNCERTAIN]
    assert len(doubtful) <= len(at), at
    assert ("uncertain" in broken.notices) == bool(doubtful), at
    inverses = [action for action in broken.ground.performed if action.startswith("turn -")]
    done = len(broken.ground.performed) - len(inverses)
    assert len(grown) - len(doubtful) <= done <= len(grown), at
    assert isinstance(broken.outcome, RunFinished), at
    assert broken.outcome.totals.steps == len(every), at


@pytest.mark.parametrize(("way", "wait"), WAYS)
def test_some_places_of_a_world_that_cannot_be_restored(way: Way, wait: bool) -> None:
    """What was interrupted while it was done is not done again: its step says so, and the model is told."""
    for place in places_of(unbroken(way, "inverses", wait)[1], FEW):
        check_nothing_is_done_twice(way, (place,), wait=wait)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "wait"), WAYS)
def test_every_place_of_a_world_that_cannot_be_restored(way: Way, wait: bool) -> None:
    """The same at every single place; and at some of them there is doubt."""
    for place in places_of(unbroken(way, "inverses", wait)[1], ALL):
        check_nothing_is_done_twice(way, (place,), wait=wait)


@settings(max_examples=8)
@given(first=st.integers(0, 360), second=st.integers(0, 360), awaited=st.booleans())
def test_twice_in_a_world_that_cannot_be_restored(first: int, second: int, *, awaited: bool) -> None:
    """Interrupted twice, it does nothing twice in silence."""
    check_nothing_is_done_twice(AWAITED if awaited else CALLED, (first, second), wait=True)


@pytest.mark.parametrize("restoring", ["replay", "inverses"])
def test_an_action_that_was_interrupted(restoring: RestoredBy) -> None:
    """Died in the act: what can be restored does it again, what cannot says that nobody knows."""
    doubts = []
    for place in range(8, 20):
        broken = ran(CALLED, restoring, (place,), wait=True)
        doubts.append("uncertain" in broken.notices)
    assert any(doubts) == (restoring == "inverses")


@pytest.mark.parametrize("place", [20, 91, 202, 330])
def test_what_was_resumed_is_run_again_offline(place: int) -> None:
    """Over the log of a run that was interrupted, and of one that was resumed, nobody is asked, and all is the same."""
    store, ground = MemoryStore(), Ground()

    def parts() -> Parts:
        policy = Policy(high_water=90)
        return parts_of(model_of(GOALS, MISTAKES), policy, ground=ground, padding=" And so on." * 5)

    with pytest.raises(Interrupted):
        interrupt_called(parts(), store, Places(place))
    half, outcome = rerun(store)
    assert outcome is None
    assert half.version == left_by(store).journal[-1].version
    ended = interrupt_called(parts(), store, Places())
    durable, outcome = rerun(store)
    assert outcome == ended
    assert durable.state == left_by(store).state
