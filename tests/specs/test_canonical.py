"""The reference has the plain form of the engine, and its copies share nothing."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given

from mage.testing import History, canonical, differences, histories
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
