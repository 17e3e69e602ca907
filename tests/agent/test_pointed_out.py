"""An action that was tried at this very place, and was wrong, is pointed out before it is performed again."""

from __future__ import annotations

from mage.agent import Policy
from mage.effects import Action, Decision
from tests.agent.playing import DONE, Played, acts, revise


def test_an_action_that_was_tried_here_is_pointed_out_once() -> None:
    """Where a lesson stands, an action that was tried at this very place is held back once, then performed."""
    played = Played(acts("a"), revise(0, "not a"), acts("a"), acts("a"), DONE)
    played.run()
    assert played.told == [[], [], ["revised"], ["tried"], ["merged"]]
    assert played.environment.actions == ["a", "a"]  # type: ignore[attr-defined]  # a scripted world


def test_the_action_that_a_way_ended_with_is_pointed_out_below_the_boundary() -> None:
    """Walking a way again that was left with a lesson, its last action is held back once too, none between."""
    way = [acts("a"), acts("b"), acts("c")]
    played = Played(*way, revise(0, "not c"), acts("a"), *way, acts("c"), DONE)
    played.run()
    assert played.told[5:] == [["tried"], ["merged"], ["merged"], ["tried"], ["merged"]]


def test_in_one_reply_the_action_that_a_way_ended_with_is_not_performed_unseen() -> None:
    """What went wrong is held back too where the model asks for the whole way in one reply."""
    way = Decision((Action("a"), Action("b")))
    played = Played(way, revise(0, "not b"), acts("a"), way, DONE)
    played.run()
    assert played.told[3] == ["tried"]
    assert played.told[4] == ["merged", "tried"]
    assert played.environment.actions == ["a", "b", "a"]  # type: ignore[attr-defined]  # a scripted world


def test_a_way_that_was_left_without_a_lesson_is_not_pointed_out() -> None:
    """Where nothing was learned, walking the way again is a merge and no mistake."""
    way = [acts("a"), acts("b")]
    played = Played(*way, revise(0, ""), *way, DONE)
    played.run()
    assert played.told[3:] == [["revised"], ["merged"], ["merged"]]


def test_what_was_tried_is_pointed_out_in_another_run() -> None:
    """It follows from the tree alone: a later run, on this session or a fork of it, is told as well."""
    earlier = Played(acts("a"), revise(0, "not a"), DONE)
    earlier.run()
    played = Played(acts("a"), acts("a"), DONE, state=earlier.state)
    played.run()
    assert played.told == [[], ["tried"], ["merged"]]


def test_nothing_is_pointed_out_where_the_policy_says_so() -> None:
    """Without `point_out` it is performed at once."""
    played = Played(acts("a"), revise(0, "not a"), acts("a"), DONE, policy=Policy(point_out=False))
    played.run()
    assert played.told[-1] == ["merged"]
