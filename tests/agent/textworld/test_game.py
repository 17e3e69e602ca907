"""A real game goes back: what was burned is not burned any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from mage.agent.restore import Restorable
from mage.effects import RESET, Restore, Restored
from mage.engine import Digest, Failed, Hints, JudgeRequest, Passed, Step, StepId
from mage.engine.nodes import ROOT
from mage.memory.revise import plan
from tests.agent.textworld.game import LOST, MISTAKES, CookingGame, Game, judge, mistaken, subgoals

pytestmark = pytest.mark.worlds


@pytest.fixture
def cooking(game: Game) -> Iterator[CookingGame]:
    """A game that nobody plays yet."""
    environment = CookingGame(game)
    yield environment
    environment.close()


def played(world: Restorable, actions: Sequence[str], path: Sequence[Step] = ()) -> list[Step]:
    """Perform actions, from the start or from the end of a path, and return the whole path."""
    done = list(path)
    if not done:
        done = [ROOT, Step(StepId(1), ROOT.id, RESET, world.reset().text)]
    for action in actions:
        head = done[-1].id
        done.append(Step(StepId(head + 1), head, action, world.act(action).text))
    return done


def test_the_walkthrough_wins_and_its_subgoals_are_all_of_it(game: Game, cooking: CookingGame) -> None:
    """Fifty actions, divided into reading, fetching, four times cooking, cutting and eating."""
    assert len(game.walkthrough) == 50
    parts = subgoals(game.walkthrough)
    assert [action for part in parts for action in part.actions] == list(game.walkthrough)
    assert len(parts) == 8
    played(Restorable(cooking), game.walkthrough)
    assert cooking.won


def test_a_replay_is_the_same_to_the_byte(game: Game, cooking: CookingGame) -> None:
    """From any tenth step back to any before it: each observation is as recorded, the machine's memory too."""
    world = Restorable(cooking)
    states: list[bytes] = []
    path = played(world, ())
    for action in game.walkthrough[:41]:
        states.append(cooking.state())
        path = played(world, [action], path)
    assert len(set(states)) == 41
    for depth in (40, 30, 20, 10, 0):
        kept, left = path[: depth + 2], path[depth + 2 :]
        assert world.restore(Restore(tuple(kept), plan(left[::-1], {}))) == Restored("replay")
        assert cooking.state() == states[depth]
        path = kept


@pytest.mark.parametrize("at", sorted(MISTAKES))
def test_a_spoilt_dish_loses_and_going_back_to_before_it_wins(
    game: Game, cooking: CookingGame, at: str
) -> None:
    """Burned or wrongly cooked, the game is over; restored to before that and played right, it is won."""
    world = Restorable(cooking)
    before = game.walkthrough.index(at)
    path = played(world, game.walkthrough[:before])
    spoilt = played(world, MISTAKES[at], path)
    assert (cooking.won, cooking.lost) == (False, True)
    assert LOST in spoilt[-1].observation
    ending = world.restore(Restore(tuple(path), plan(spoilt[len(path) :][::-1], {})))
    assert ending == Restored("replay")
    assert (cooking.won, cooking.lost) == (False, False)
    played(world, game.walkthrough[before:], path)
    assert (cooking.won, cooking.lost) == (True, False)


def test_a_run_goes_on_in_a_new_process(game: Game, cooking: CookingGame) -> None:
    """Another machine is brought to where the first one stood, from the steps alone."""
    path = played(Restorable(cooking), game.walkthrough[:30])
    other = CookingGame(game)
    world = Restorable(other)
    assert world.restore(Restore(tuple(path))) == Restored("replay")
    assert other.state() == cooking.state()
    played(world, game.walkthrough[30:], path)
    assert other.won
    other.close()


def test_the_judge_fails_exactly_the_spoilt_subgoals(game: Game, cooking: CookingGame) -> None:
    """It reads the steps: of the eight subgoals done right all pass, with its mistake each spoilt one fails."""
    world = Restorable(cooking)
    path = played(world, ())
    for subgoal in subgoals(game.walkthrough):
        wrong = list(mistaken(subgoal.actions))
        if wrong != list(subgoal.actions):
            spoilt = played(world, wrong, path)
            assert isinstance(judge(asked(spoilt[len(path) :])), Failed)
            world.restore(Restore(tuple(path), plan(spoilt[len(path) :][::-1], {})))
        done = played(world, subgoal.actions, path)
        assert judge(asked(done[len(path) :])) == Passed()
        path = done


def asked(steps: Sequence[Step]) -> JudgeRequest:
    hints = Hints(StepId(0), (), (), ())
    return JudgeRequest("", (), "subgoal", (), hints, (), tuple(steps), "Done.", (StepId(0),), Digest(""))
