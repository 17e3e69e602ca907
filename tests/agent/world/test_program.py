"""Worlds that go back."""

from __future__ import annotations

from typing import Final, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.agent.restore import Restorable
from mage.effects import RESET, Capabilities, Divergence, NoEffect, NotRestored, Restore, Restored
from mage.engine import Step, StepId
from mage.engine.nodes import ROOT
from mage.memory.revise import plan
from tests.agent.ways import RestoredBy
from tests.agent.world.toy import Doing, Spec, Toy, specs
from tests.agent.world.walking import Back, Go, Interrupted, Move, Restart, Walk, walks

RESTORABLE: Final[tuple[RestoredBy, ...]] = ("snapshot", "replay")
LOOK: Final[Doing] = ("look", (0, 1, 2, 3, 4, 5))
TURN: Final[Doing] = ("turn", (1, 2, 3, 4, 5, 0))
BREAK: Final[Doing] = ("break", (5, 5, 5, 5, 5, 5))
PUSH: Final[Doing] = ("push", (2, 2, 3, 4, 5, 1))
SPEC = Spec("a room", (LOOK, TURN, BREAK, PUSH))


def walked(
    spec: Spec, restoring: RestoredBy, moves: list[Move], *, awaited: bool = False, keep: int = 4
) -> Walk:
    walk = Walk(spec, restoring, awaited=awaited, keep=keep)
    for move in moves:
        walk.make(move)
    return walk


@pytest.mark.parametrize("restoring", ["snapshot", "replay"])
@given(spec=specs, moves=walks, keep=st.integers(0, 5))
def test_a_restored_world_is_a_fresh_one_that_performed_the_path(
    restoring: RestoredBy, spec: Spec, moves: list[Move], keep: int
) -> None:
    """After any walk with deaths and restarts the state is that of the path, hidden half included; no divergence."""
    walk = Walk(spec, restoring, keep=keep)
    for move in moves:
        walk.make(move)
        assert walk.known
        assert walk.expected() == walk.toy.state
    assert all(isinstance(ending, Restored) and not ending.divergences for ending in walk.endings)


@given(spec=specs, moves=walks)
def test_a_world_that_cannot_be_restored_never_pretends(spec: Spec, moves: list[Move]) -> None:
    """It says that it is what the path says only where it is; once it is not, it says so ever after."""
    walk = Walk(spec, "inverses")
    for move in moves:
        walk.make(move)
        if walk.known:
            assert walk.expected() == walk.toy.state
    kinds = [type(ending) for ending in walk.endings]
    assert kinds == sorted(kinds, key=lambda kind: kind is NotRestored)
    assert all(ending.reason.strip() for ending in walk.endings if isinstance(ending, NotRestored))


@pytest.mark.parametrize("restoring", ["snapshot", "replay", "inverses"])
@given(spec=specs, moves=walks)
def test_both_twins_do_the_same(restoring: RestoredBy, spec: Spec, moves: list[Move]) -> None:
    """Called or awaited, the environment is asked for the same in the same order, and the answers are equal."""
    called, awaited = (walked(spec, restoring, moves, awaited=each) for each in (False, True))
    assert called.called == awaited.called
    assert called.endings == awaited.endings
    assert called.path == awaited.path


def hows(walk: Walk) -> list[str]:
    return [ending.how if isinstance(ending, Restored) else ending.reason for ending in walk.endings]


def test_each_way_of_going_back_is_used() -> None:
    """By snapshot where one is kept, by replay after a restart, by inverses where those were declared; else not."""
    acted: list[Move] = [Go(1), Go(0), Go(1), Back(2)]
    assert hows(walked(SPEC, "snapshot", acted)) == ["snapshot"]
    assert hows(walked(SPEC, "snapshot", [*acted, Restart()])) == ["snapshot", "replay"]
    assert hows(walked(SPEC, "replay", acted)) == ["replay"]
    assert hows(walked(SPEC, "inverses", acted)) == ["inverses"]
    assert hows(walked(SPEC, "inverses", [Go(1), Go(2), Go(1), Back(2)])) == [
        "Step 3, 2: cannot be undone: it broke"
    ]
    assert hows(walked(SPEC, "inverses", [Go(3), Back(1)])) == [
        "Step 2, 3: not known whether it can be undone"
    ]


@pytest.mark.parametrize("restoring", ["snapshot", "replay", "inverses"])
def test_nothing_is_done_where_nothing_was_changed(restoring: RestoredBy) -> None:
    """What only looked needs no undoing, nor does going on where one stands, nor leaving the opening behind."""
    walk = walked(SPEC, restoring, [Go(1), Go(0), Go(0)])
    called = [call for call in walk.called if call != "snapshot!"]
    for back in (2, 0, 0):
        walk.make(Back(back))
    assert hows(walk) == ["nothing"] * 3
    assert [call for call in walk.called if call != "snapshot!"] == called
    opened = walked(SPEC, restoring, [Go(0), Back(9), Go(0), Back(1)])
    assert hows(opened) == ["nothing"] * 2
    assert [step.action for step in opened.path] == ["", RESET]


def test_leaving_the_opening_behind_too_is_no_obstacle() -> None:
    """Back at the root only actions are to be undone; what the world showed first is neither action nor loss."""
    assert hows(walked(SPEC, "inverses", [Go(1), Back(9)])) == ["inverses"]
    again = walked(SPEC, "replay", [Go(1), Restart(), Back(9), Go(0), Back(1)])
    assert hows(again) == ["replay", "replay", "nothing"]


def test_a_world_that_is_over_is_told_so() -> None:
    """By a replay, by a snapshot, and where nothing had to be done; gone back to before that, it is not."""
    spec = Spec("", (TURN,), over=frozenset({2}))
    for restoring in RESTORABLE:
        walk = walked(spec, restoring, [Go(0), Go(0), Back(0), Restart(), Restart(), Back(1), Go(0), Back(0)])
        assert [isinstance(end, Restored) and end.over for end in walk.endings] == [True] * 3 + [False, True]


@pytest.mark.parametrize(
    ("restoring", "how"), [("replay", "replay"), ("snapshot", "snapshot"), ("inverses", "inverses")]
)
def test_what_ended_the_world_was_not_without_effect(restoring: RestoredBy, how: str) -> None:
    """Whatever was declared: a world that can be restored is; one that cannot is still over, and says so."""
    toy = Toy(Spec("", (LOOK,), over=frozenset({0})), restoring)
    world = Restorable(toy)
    world.reset()
    step = Step(StepId(1), StepId(0), "0", world.act("0").text)
    ending = world.restore(Restore((ROOT,), plan([step], {step.id: NoEffect()})))
    assert isinstance(ending, Restored)
    assert (ending.how, ending.over) == (how, restoring == "inverses")


def test_an_action_named_reset_is_not_taken_for_the_opening() -> None:
    """Further down it is an action like any other, and stands in the way of going back."""
    world = Restorable(Named())
    opening = Step(StepId(1), StepId(0), RESET, str(world.reset().text))
    reset = Step(StepId(2), StepId(1), RESET, world.act(RESET).text)
    ending = world.restore(Restore((ROOT, opening), plan([reset], {})))
    assert ending == NotRestored("Step 2, reset: not known whether it can be undone")


@final
class Named:
    """A world that cannot be restored, and takes any action."""

    capabilities = Capabilities()

    def reset(self) -> str:
        return "a room"

    def act(self, action: str) -> str:
        return f"did {action}"


def test_inverses_are_performed_newest_first_and_all_or_none() -> None:
    """Nothing is undone in front of what cannot be undone; what can be is undone in reverse order."""
    spec = Spec("", (TURN, ("turn", (1, 0, 3, 2, 5, 4)), BREAK))
    assert walked(spec, "inverses", [Go(0), Go(1), Go(0), Back(3)]).called[-3:] == ["un0", "un1", "un0"]
    stuck = walked(spec, "inverses", [Go(0), Go(2), Go(1), Back(3)])
    assert stuck.called == ["reset!", "0", "2", "1"]
    assert not stuck.known


def test_an_interrupted_action_leaves_a_world_that_only_a_restore_can_find_again() -> None:
    """Whether it was performed or not: it is replayed where that can be, and uncertain where not."""
    for performed in (False, True):
        died: list[Move] = [Go(1), Interrupted(1, performed)]
        assert hows(walked(SPEC, "replay", died)) == ["replay"]
        (reason,) = hows(walked(SPEC, "inverses", died))
        assert "nobody knows whether it was performed" in reason


@given(
    noise=st.lists(st.integers(0, 1), min_size=20, max_size=20),
    back=st.integers(0, 4),
    opening=st.sampled_from(["", "a room"]),
)
def test_divergences_are_the_steps_that_differ(noise: list[int], back: int, opening: str) -> None:
    """A world with hidden randomness is replayed to the end, and exactly what came back differently is reported.

    They are reported again as long as the agent stands on them, also where nothing had to be done.
    """
    toy = Toy(Spec(opening, (LOOK, PUSH)), "replay", iter(noise))
    world = Restorable(toy)
    begun = world.reset()
    path = [ROOT]
    if begun.text:
        path.append(Step(StepId(1), StepId(0), RESET, begun.text))
    for _ in range(5):
        seen = world.act("1")
        path.append(Step(StepId(len(path)), path[-1].id, "1", seen.text))
    kept, left = path[: len(path) - 1 - back], path[len(path) - 1 - back :]
    ending = world.restore(Restore(tuple(kept), plan(left[::-1], {})))
    shown = iter(noise[6:])
    again = Toy(toy.spec, "replay", shown)
    seen_again = {RESET: again.reset()}
    differing = []
    for step in kept[1:]:
        text = seen_again[RESET] if step.action == RESET else again.act(step.action).text  # type: ignore[union-attr]
        if text != step.observation:
            differing.append(Divergence(step, str(text)))
    assert ending == Restored("replay", tuple(differing))
    assert world.restore(Restore(tuple(kept))) == Restored("nothing", tuple(differing))
