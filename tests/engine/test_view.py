"""S = (C, R, H), and the instructions in force, decision by decision."""

from __future__ import annotations

from mage import Failed, view
from mage.engine import (
    Active,
    Lesson,
    Rejected,
    StepId,
    accept,
    apply_verdict,
    compress,
    grow,
    instruct,
    revise,
    start,
)


def grown(state: Active, *actions: str) -> Active:
    """Return the state after these actions."""
    for action in actions:
        state = grow(state, action, "o")
    return state


def done(state: Active, text: str, *, fallback: bool = False) -> Active:
    """Return the state after an accepted compress."""
    return accept(compress(state, text, "fallback" if fallback else "subgoal").unwrap())


def told(state: Active, text: str, *, standing: bool = False) -> Active:
    """Return the state after an instruction."""
    return instruct(state, text, standing=standing).unwrap()


def back(state: Active, boundary: int, lesson: str = "") -> Active:
    """Return the state after a revise."""
    revised = revise(state, boundary, lesson).unwrap().state
    assert isinstance(revised, Active)
    return revised


def test_a_start_shows_the_task_and_nothing_else() -> None:
    """The roots are never shown (D2)."""
    shown = view(start("task"))
    assert (shown.task, shown.instructions, shown.compressed, shown.raw) == ("task", (), (), ())
    assert (shown.hints.continuations, shown.hints.subgoals, shown.hints.lessons) == ((), (), ())
    assert shown.boundary == shown.hints.boundary == 0


def test_summaries_stand_for_what_they_cover_and_the_rest_is_raw() -> None:
    """C holds the summaries of the path in order, R the open segment."""
    state = done(grown(start("t"), "a", "b"), "one")
    state = done(grown(state, "c"), "two")
    shown = view(grown(state, "d", "e"))
    assert [(each.label, each.text) for each in shown.compressed] == [(0, "one"), (2, "two")]
    assert [step.action for step in shown.raw] == ["d", "e"]
    assert shown.boundary == 3


def test_hints_show_what_was_tried_from_here() -> None:
    """Children of both heads in order of ids, lessons of the current boundary, oldest first (D8, D9)."""
    state = back(done(grown(start("t"), "a"), "one"), 0, "first")
    state = back(done(grown(state, "b"), "two"), 0, "second")
    hints = view(state).hints
    assert [step.action for step in hints.continuations] == ["a", "b"]
    assert [summary.text for summary in hints.subgoals] == ["one", "two"]
    assert [lesson.text for lesson in hints.lessons] == ["first", "second"]


def test_a_lesson_survives_detours() -> None:
    """It shows whenever its boundary is current, however the agent came back to it (D8)."""
    state = back(grown(start("t"), "a"), 0, "lesson")
    away = done(grown(state, "b"), "one")
    assert view(away).hints.lessons == ()
    for here in (grown(state, "c"), back(away, 0)):
        assert view(here).hints.lessons == (Lesson(StepId(0), "lesson"),)


def test_a_fallback_hides_no_lesson_of_its_subgoal() -> None:
    """Those at every boundary from the base to the current one show, with their places (D8, L13)."""
    state = back(done(grown(start("t"), "a"), "one"), 1, "at the base")
    state = back(done(grown(state, "b"), "half", fallback=True), 2, "at the fallback")
    state = done(grown(state, "c"), "more", fallback=True)
    assert view(state).hints.lessons == (
        Lesson(StepId(1), "at the base"),
        Lesson(StepId(2), "at the fallback"),
    )
    assert view(accept(compress(state, "two").unwrap())).hints.lessons == ()


def test_subgoals_that_were_tried_show_until_theirs_is_over() -> None:
    """Those made from the base or from its fallbacks; a fallback only at the head, and none that one covers (D9)."""
    base = done(grown(start("t"), "a"), "one")
    half = done(grown(base, "b"), "half", fallback=True)
    whole = done(grown(half, "c"), "whole")
    again = done(grown(back(whole, 2), "d"), "more", fallback=True)
    assert [each.text for each in view(back(whole, 2)).hints.subgoals] == ["whole"]
    assert [each.text for each in view(again).hints.subgoals] == ["whole"]
    assert [each.text for each in view(back(again, 2)).hints.subgoals] == ["whole", "more"]
    assert [each.text for each in view(back(again, 1)).hints.subgoals] == ["whole"]  # which covers "half"


def test_after_a_revise_nothing_abandoned_is_in_c_or_r() -> None:
    """A failed summary and its steps are only hints (L6)."""
    state = compress(grown(start("t"), "a"), "wrong").unwrap()
    failed = apply_verdict(state, Failed("no"), state.digest).unwrap()
    assert isinstance(failed, Rejected)
    assert failed.tree.head_summary in view(failed).compressed
    shown = view(revise(failed, 0, "no").unwrap().state)
    assert (shown.compressed, shown.raw) == ((), ())
    assert [tried.verdict for tried in shown.hints.subgoals] == [Failed("no")]


def test_an_instruction_of_a_subtask_gives_way_to_the_next_one() -> None:
    """Where one that is not standing was placed from the base on, those above it are not in force (D17)."""
    state = grown(told(start("t"), "first"), "a")
    assert view(state).instructions == ("first",)
    state = done(state, "one")
    assert view(state).instructions == ("first",)  # nothing newer was said: the nearest still holds
    assert view(told(state, "second")).instructions == ("second",)
    assert view(told(grown(state, "b"), "second")).instructions == ("second",)


def test_only_the_nearest_step_above_counts_where_nothing_newer_was_said() -> None:
    """Two subtasks ago is over, whatever it said (D17)."""
    state = done(grown(told(start("t"), "first"), "a"), "one")
    state = done(grown(told(state, "second"), "b"), "two")
    assert view(state).instructions == ("second",)


def test_a_standing_instruction_stays_and_hides_none() -> None:
    """Standing ones hold on for the whole path, in path order, and do not replace a subtask's own (D17)."""
    state = told(told(start("t"), "always", standing=True), "first")
    state = done(grown(state, "a"), "one")
    state = told(state, "also", standing=True)
    assert view(state).instructions == ("always", "first", "also")
    state = told(grown(state, "b"), "second")
    assert view(state).instructions == ("always", "also", "second")


def test_a_fallback_hides_nothing() -> None:
    """Instructions count from the last boundary that ended a subgoal (D17)."""
    state = told(grown(told(start("t"), "first"), "a"), "more")
    state = done(grown(state, "b"), "half", fallback=True)
    assert view(state).instructions == ("first", "more")
    state = told(state, "further")
    assert view(state).instructions == ("first", "more", "further")
    ended = accept(compress(state, "whole").unwrap())
    assert view(ended).instructions == ("further",)


def test_an_instruction_stays_behind_when_its_step_does() -> None:
    """Instructions derive from the path, so revising above them leaves them, and walking back finds them."""
    state = told(grown(start("t"), "a"), "here")
    state = told(state, "always", standing=True)
    assert view(back(state, 0)).instructions == ()
    assert view(grown(back(state, 0), "a")).instructions == ("here", "always")
    assert view(grown(back(state, 0), "b")).instructions == ()


def test_equal_execution_states_are_equal_values() -> None:
    """S is a value: two agents in the same place see the same."""
    assert view(grown(start("t"), "a")) == view(grown(start("t"), "a"))
    assert hash(view(start("t"))) == hash(view(start("t")))
