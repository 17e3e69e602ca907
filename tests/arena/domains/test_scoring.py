"""The paper's scores on cases written by hand."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arena.domains.scoring import Member, Score, bundle, chain, group, mean

SLOTS = st.lists(st.sampled_from([True, False, None]), max_size=8)


@pytest.mark.parametrize(
    ("slots", "score"),
    [
        ([True] * 6, Score(1, 1, 1)),
        ([True] * 5 + [False], Score(0, 5 / 6, 1)),
        ([True] * 5 + [None], Score(0, 5 / 6, 5 / 6)),
        ([False, True, None, None, None, None], Score(0, 1 / 6, 2 / 6)),
        ([None] * 6, Score(0, 0, 0)),
        ([], Score(0, 0, 0)),
    ],
)
def test_a_bundle_succeeds_where_every_purchase_is_right(slots: list[bool | None], score: Score) -> None:
    """Shopping: all must be right; progress is the mean over all of them, those that were never bought too."""
    assert score == bundle(slots)


@pytest.mark.parametrize(
    ("slots", "score"),
    [
        ([False, None, True], Score(1, 1 / 3, 2 / 3)),
        ([True, True, False], Score(0, 2 / 3, 1)),
        ([True, True, None], Score(0, 2 / 3, 2 / 3)),
        ([True], Score(1, 1, 1)),
        ([], Score(0, 0, 0)),
    ],
)
def test_a_chain_succeeds_where_its_end_is_right(slots: list[bool | None], score: Score) -> None:
    """Search and formal reasoning: the last answer decides success; progress is the mean, the last one included."""
    assert score == chain(slots)


def test_a_group_succeeds_where_every_plan_passes() -> None:
    """Travel: a plan passes where every slot is right. The soft progress counts added constraints, member by member."""
    whole = Member((True, True, True), (True,))
    off_in_an_added_slot = Member((True, False, True), (False, True))
    partial = Member((True, None, None), (None,))
    untouched = Member((None, None, None), (None, None))
    assert group([whole, whole]) == Score(1, 1, 1, 1)
    assert group([whole, off_in_an_added_slot]) == Score(0, 1 / 2, 1, 2 / 3)
    assert group([whole, partial]) == Score(0, 1 / 2, 4 / 6, 1 / 2)
    assert group([untouched, untouched]) == Score(0, 0, 0, 0)
    assert group([]) == Score(0, 0, 0, 0)
    assert group([Member((), ())]) == Score(0, 0, 0, 0)


@given(SLOTS)
def test_an_unanswered_slot_counts_as_a_wrong_one_but_is_told(slots: list[bool | None]) -> None:
    """No answer and a wrong one are worth the same; only the share of answers differs."""
    wrong = [bool(slot) for slot in slots]
    for score in (bundle, chain):
        assert attrs.evolve(score(slots), answered=0) == attrs.evolve(score(wrong), answered=0)
        assert score(slots).answered <= score(wrong).answered


def test_of_nothing_the_mean_is_nothing() -> None:
    """The mean of no tasks is 0, and raises nothing."""
    assert mean([]) == 0
    assert mean([1, 0, 0.5]) == 0.5
