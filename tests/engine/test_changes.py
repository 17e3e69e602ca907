"""Forged changes: what one operation could not have done is named by `check_change`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from rpds import HashTrieMap, List

from mage import Failed
from mage.engine import (
    Active,
    Digest,
    Instruction,
    InvariantError,
    Rejected,
    State,
    Step,
    StepId,
    SummaryId,
    Unverified,
    accept,
    check_change,
    compress,
    fold,
    fold_request,
    grow,
    instruct,
    retext,
    revise,
    start,
)
from mage.engine.invariants import INVARIANTS
from tests.engine.test_invariants import ids, notes, settled, summary, top, with_tree


def opened() -> Active:
    """Return a state with one accepted summary, one beside it, and an open segment."""
    state = accept(compress(grow(start("task"), "left", "o"), "left").unwrap())
    back = revise(state, 0, "lesson").unwrap().state
    assert isinstance(back, Active)
    state = accept(compress(grow(back, "a", "o"), "one").unwrap())
    return instruct(grow(state, "b", "o"), "do").unwrap()


def more(state: State, *steps: Step) -> State:
    """Return the state with these steps added behind its own."""
    return with_tree(state, tail=(*state.tree._tail, *steps))


def forged(state: State, **changes: Any) -> State:
    """Return the state after a compress that went wrong in this way."""
    assert isinstance(state, Active)
    after = compress(state, "text").unwrap()
    return summary(after, after.tree.summary_head, **changes)


def moved(state: State, number: int) -> State:
    """Return the state with another summary as its head, and nothing else changed."""
    old = state.tree.head_summary
    others = state.tree._settled.top.others.insert(old.id, old).discard(SummaryId(number))
    return top(state, others=others, head=state.tree.summary(SummaryId(number)))


FORGERIES: dict[str, tuple[str, Callable[[Active], State]]] = {
    "two steps at once": ("I1", lambda s: grow(grow(s, "x", "o"), "y", "o")),
    "a step from elsewhere": ("I1", lambda s: more(s, Step(StepId(4), StepId(1), "x", "o"))),
    "a step that was there": (
        "I2",
        lambda s: with_tree(
            more(grow(s, "x", "o"), Step(StepId(5), StepId(3), "x", "o")), step_head=StepId(5)
        ),
    ),
    "a step beside the index": (
        "I10",
        lambda s: settled(grow(revise(s, 2, "").unwrap().state, "x", "o"), branches=HashTrieMap()),
    ),
    "covers that do not follow": ("I3", lambda s: forged(s, covers=ids(1, 3))),
    "another label": ("I3", lambda s: forged(s, label=StepId(0))),
    "another way": ("I3", lambda s: forged(s, after=SummaryId(0))),
    "another parent": ("I3", lambda s: forged(s, parent=SummaryId(0))),
    "two summaries at once": (
        "I3",
        lambda s: compress(grow(accept(compress(s, "text").unwrap()), "x", "o"), "more").unwrap(),
    ),
    "base off": ("I10", lambda s: forged(s, base=SummaryId(0))),
    "running hash off": ("I10", lambda s: forged(s, above=Digest("x"))),
    "step head two down": ("I5", lambda s: with_tree(s, step_head=StepId(1))),
    "summary head without its step": (
        "I5",
        lambda s: with_tree(compress(s, "text").unwrap(), step_head=StepId(2)),
    ),
    "revised off the path": ("I5", lambda s: with_tree(moved(s, 1), step_head=StepId(1))),
    "revised with a segment open": (
        "I5",
        lambda s: with_tree(moved(s, 0), step_head=StepId(3)),
    ),
    "phase off": ("I8", lambda s: Rejected(s.tree)),
    "blank lesson": ("I9", lambda s: notes(s, lessons=HashTrieMap({StepId(2): List([" "])}))),
    "a lost step": ("I1", lambda s: start("task")),
    "an instruction off the path": ("I10", lambda s: notes(instruct(s, "more").unwrap(), once=List())),
    "a standing one off the path": (
        "I10",
        lambda s: notes(instruct(s, "more", standing=True).unwrap(), standing=List()),
    ),
    "a digest of something else": (
        "I10",
        lambda s: Unverified(compress(s, "x").unwrap().tree, Digest("0" * 64)),
    ),
    "blank instruction": (
        "I9",
        lambda s: notes(s, instructions=HashTrieMap({StepId(3): (Instruction(" "),)})),
    ),
}

SAID = {
    "two steps at once": "step 4 should be the only new one and follow step 3",
    "a step from elsewhere": "step 4 should be the only new one and follow step 3",
    "a step that was there": "step 5 has the content of an older child of step 3",
    "a step beside the index": "step 4 is not found by its content",
    "covers that do not follow": "summary 3 covers step 1, which does not follow step 2",
    "another label": "summary 3 has label 0, its parent ends at 2",
    "another way": "summary 3 should be the only new one and come after summary 2",
    "another parent": "summary 3 has label 2, its parent ends at 0",
    "two summaries at once": "summary 4 should be the only new one and come after summary 2",
    "base off": "summary 3 keeps the wrong base or hash of what stands above it",
    "running hash off": "summary 3 keeps the wrong base or hash of what stands above it",
    "step head two down": "the heads went from step 3 under summary 2 to step 1 under summary 2, which no operation does",
    "summary head without its step": "the heads went from step 3 under summary 2 to step 2 under summary 3, which no operation does",
    "revised off the path": "the heads went from step 3 under summary 2 to step 1 under summary 1, which no operation does",
    "revised with a segment open": "the heads went from step 3 under summary 2 to step 3 under summary 0, which no operation does",
    "phase off": "the summary head is Accepted(despite=None) in Rejected",
    "blank lesson": "a lesson at step 2 is blank",
    "a lost step": "steps are missing that were there before",
    "an instruction off the path": "the instructions at step 3 are not noted on the active path",
    "a standing one off the path": "the instructions at step 3 are not noted on the active path",
    "a digest of something else": "the digest is not that of the summary head",
    "blank instruction": "an instruction at step 3 is blank",
}
"""What `check_change` says of each."""


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_change_is_named(forgery: str) -> None:
    """What no single operation does is found, and named by invariant, sentence and place."""
    invariant, forge = FORGERIES[forgery]
    before = opened()
    if forgery == "a step that was there":
        before = revise(grow(before, "x", "o"), 2, "").unwrap().state  # type: ignore[assignment]  # it is Active
        before = grow(before, "b", "o")
    after = forge(opened())
    if forgery == "a step beside the index":
        before = revise(before, 2, "").unwrap().state  # type: ignore[assignment]  # it is Active
    with pytest.raises(InvariantError) as caught:
        check_change(before, after)
    assert caught.value.invariant == invariant
    assert caught.value.name == INVARIANTS[int(invariant[1:]) - 1].__name__
    assert caught.value.detail == SAID[forgery]


def test_a_second_summary_over_the_same_covers_is_named() -> None:
    """A compress that should have reused a summary and did not (I4)."""
    before = opened()
    known = compress(before, "text").unwrap()
    again = revise(known, 2, "").unwrap().state
    assert isinstance(again, Active)
    again = grow(again, "b", "o")
    twin = attrs.evolve(known.tree.head_summary, id=SummaryId(4))
    kept = known.tree._settled.top.others.insert(SummaryId(3), known.tree.head_summary)
    after = top(known, others=kept, head=twin)
    with pytest.raises(
        InvariantError,
        match=r"^I4 sibling_covers_differ: summary 4 has the covers of an older child of summary 2$",
    ):
        check_change(again, after)


def test_a_subgoal_that_takes_no_fallback_in_is_named() -> None:
    """A subgoal continues its base, a fallback the head (I11)."""
    before = accept(compress(opened(), "half", "fallback").unwrap())
    after = compress(grow(before, "x", "o"), "more", "fallback").unwrap()
    claimed = summary(after, 4, kind="subgoal", base=SummaryId(4))
    with pytest.raises(InvariantError, match=r"^I11 .*: summary 4 came after summary 3, but continues 3$"):
        check_change(grow(before, "x", "o"), claimed)


def test_a_chapter_that_is_kept_where_another_text_is_judged_is_named() -> None:
    """A compress drops the chapters that end at its summary and no others; a fold adds sound ones (I12)."""
    before = accept(compress(opened(), "two").unwrap())
    request = fold_request(before, 0, 3, "both").unwrap()
    after = fold(before, 0, 3, "both", request.digest).unwrap()
    check_change(before, after)
    chapters = after.tree._settled.top.chapters
    pending = compress(opened(), "two").unwrap()
    with pytest.raises(InvariantError, match=r"^I12 .*: chapters changed that do not end at summary 3$"):
        check_change(opened(), top(pending, chapters=HashTrieMap({SummaryId(2): chapters[SummaryId(3)]})))
    forged_chapter = attrs.evolve(chapters[SummaryId(3)][0], accepted=0)
    with pytest.raises(InvariantError, match=r"^I12 .*: the chapter 0..3 does not say what stands under it$"):
        check_change(before, top(after, chapters=HashTrieMap({SummaryId(3): (forged_chapter,)})))


def test_a_summary_beside_the_index_is_named() -> None:
    """A new summary that its parent does not know by its boundary (I10)."""
    back = revise(opened(), 0, "").unwrap().state
    assert isinstance(back, Active)
    before = grow(back, "c", "o")
    after = compress(before, "text").unwrap()
    with pytest.raises(InvariantError, match=r"^I10 indexes_agree: summary 3 is not found by its boundary$"):
        check_change(before, top(after, branches=HashTrieMap()))


def test_a_summary_that_stands_for_other_steps_than_before_is_named() -> None:
    """Parent, label and covers of a summary never change (L1, I3)."""
    before = compress(opened(), "text").unwrap()
    with pytest.raises(InvariantError, match=r"^I3 .*: summary 3 stands for other steps than before$"):
        check_change(before, summary(before, 3, covers=ids(1, 3)))


def test_growing_under_an_untrusted_summary_is_named() -> None:
    """A summary is put only below one that was trusted (I8)."""
    pending = grow(compress(opened(), "text").unwrap(), "x", "o")
    after = compress(accept(pending), "more").unwrap()
    with pytest.raises(InvariantError, match=r"^I8 .*: summary 4 was put below one that nobody trusted$"):
        check_change(pending, after)


def test_a_digest_that_changes_under_a_pending_summary_is_named() -> None:
    """While a summary is pending, growing keeps its digest (D5)."""
    pending = compress(opened(), "text").unwrap()
    grown = grow(pending, "x", "o")
    with pytest.raises(InvariantError, match=r"^I10 .*: the digest is not that of the summary head$"):
        check_change(pending, Unverified(grown.tree, Digest("0" * 64)))


def test_what_did_not_change_is_not_looked_at_again() -> None:
    """The cost of a check is that of the change: a digest that was trusted before is not computed anew."""
    before = Unverified(compress(opened(), "text").unwrap().tree, Digest("0" * 64))
    check_change(before, grow(before, "x", "o"))
    with pytest.raises(InvariantError, match="digest"):
        check_change(opened(), before)


def test_what_operations_do_passes() -> None:
    """Every kind of change is accepted as it is made."""
    state: State = opened()
    pending = compress(opened(), "text").unwrap()
    grown = grow(pending, "x", "o")
    for before, after in (
        (state, pending),
        (pending, grown),
        (pending, retext(pending, "new").unwrap()),
        (pending, accept(pending)),
        (grown, revise(grown, 3, "so").unwrap().state),
        (grown, revise(grown, 2, "so").unwrap().state),
        (grown, revise(grown, 0, "so").unwrap().state),
        (start("task"), instruct(start("task"), "do").unwrap()),
        (state, state),
    ):
        check_change(before, after)
    assert Failed("no") != Failed("no", "summary")
