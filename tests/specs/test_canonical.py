"""The plain form sees everything that two states could differ in."""

from __future__ import annotations

import copy
from typing import cast

import pytest
from hypothesis import given

from mage import (
    Accepted,
    Active,
    Failed,
    Passed,
    Pending,
    State,
    SummaryVerdict,
    accept,
    compress,
    grow,
    revise,
    start,
)
from mage.testing import History, canonical, differences, histories, plain_verdict
from specs.canonical import canonical_of_reference, copy_of_reference
from specs.driver import perform
from specs.reference import Mage


def told(history: History) -> Mage:
    """Return the reference after a history."""
    mage = Mage(history.start.tree.task)
    for edge in history.edges:
        perform(mage, edge.command)
    return mage


@given(histories())
def test_both_sides_have_one_form(history: History) -> None:
    """After any history, the engine and the reference have the same plain form, part by part."""
    ours, theirs = canonical(history.states[-1]), canonical_of_reference(told(history))
    assert ours == theirs
    assert list(ours) == list(theirs)
    assert differences(ours, theirs) == ""


@given(histories())
def test_equal_states_and_equal_forms_are_the_same(history: History) -> None:
    """Two states of one history are equal exactly when their plain forms are."""
    last = history.states[-1]
    for state in history.states:
        assert (state == last) == (canonical(state) == canonical(last))


@given(histories())
def test_a_copy_of_the_reference_shares_nothing(history: History) -> None:
    """The copy is what deepcopy makes, and what is done to it does not show in the original."""
    mage = told(history)
    before = canonical_of_reference(mage)
    other = copy_of_reference(mage)
    assert canonical_of_reference(other) == before == canonical_of_reference(copy.deepcopy(mage))
    other.revise(0, "lesson")
    other.instruct("i")
    other.grow("new", "o")
    other.compress("m")
    other.accept()
    assert canonical_of_reference(mage) == before
    assert canonical_of_reference(other) != before


def test_differences_name_the_part() -> None:
    """What differs is named with both sides; a part that one side lacks differs too."""
    state = grow(start("t"), "a", "o")
    text = differences(canonical(state), canonical(start("t")), "the reference")
    assert "R[0]: the engine has (1, 0, 'a', 'o'), the reference nothing" in text
    assert "task" not in text
    assert differences({"new": 1}, {}, "the reference") == "new: the engine has 1, the reference None"


def several() -> list[State]:
    """Return states that differ in one thing each from a neighbour."""
    begun = grow(start("t"), "a", "o")
    pending = compress(begun, "m").unwrap()
    accepted = accept(pending)
    back = revise(accepted, 0, "l").unwrap().state
    return [
        start("u"),
        start("t"),
        begun,
        grow(start("t"), "a", "p"),
        pending,
        compress(begun, "n").unwrap(),
        compress(begun, "m", "fallback").unwrap(),
        accepted,
        back,
        revise(accepted, 0, "").unwrap().state,
        revise(back, 0, "l").unwrap().state,
        grow(accepted, "b", "o"),
        grow(grow(accepted, "b", "o"), "c", "o"),
    ]


def test_every_difference_shows() -> None:
    """States that differ in a text, a kind, a verdict, a lesson or a head have different forms."""
    forms = [canonical(state) for state in several()]
    for number, form in enumerate(forms):
        assert form not in forms[:number]


@pytest.mark.parametrize(
    ("verdict", "plain"),
    [
        (Pending(), ("pending", "", "")),
        (Passed(), ("passed", "", "")),
        (Failed("f", "summary"), ("failed", "f", "summary")),
        (Accepted(), ("accepted", "", "")),
        (Accepted(Failed("f")), ("accepted", "f", "execution")),
    ],
)
def test_verdicts_are_words(verdict: SummaryVerdict, plain: tuple[str, str, str]) -> None:
    """A verdict is a word with feedback and fault; an accepted one keeps those it was accepted despite."""
    assert plain_verdict(verdict) == plain


def test_only_verdicts_have_a_plain_form() -> None:
    """What is no verdict is a mistake of the program."""
    with pytest.raises(AssertionError):
        plain_verdict(cast("SummaryVerdict", Active))


def test_a_reference_without_a_parent_cannot_be_copied() -> None:
    """A step or summary that hangs nowhere is noticed."""
    mage = Mage("t")
    mage.grow("a", "o")
    mage.compress("m")
    mage.steps[1].parent = None
    with pytest.raises(LookupError):
        copy_of_reference(mage)
    mage.steps[1].parent, mage.summaries[1].parent = mage.steps[0], None
    with pytest.raises(LookupError):
        copy_of_reference(mage)
