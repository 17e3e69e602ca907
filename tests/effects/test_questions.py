"""Decisions and what came back, as scripts and hosts make them."""

from __future__ import annotations

from typing import Any

import pytest

from mage.effects import Action, Decision, Finish, Irreversible, LookInto, Observed
from mage.engine import Compress, Revise, StepId


def test_a_decision_of_each_kind_is_made_in_a_word() -> None:
    """Actions, a note, and each thing that a model does to its own state, with what it thought."""
    assert Decision.act("a", "b", thought="hm") == Decision((Action("a"), Action("b")), None, "hm")
    assert Decision.note("n", thought="hm") == Decision((Action("n", is_note=True),), None, "hm")
    assert Decision.compress("t", thought="hm") == Decision((), Compress("t"), "hm")
    assert Decision.revise(3, "l", thought="hm") == Decision((), Revise(3, "l"), "hm")
    assert Decision.look(3, thought="hm") == Decision((), LookInto(StepId(3)), "hm")
    assert Decision.finish("f", thought="hm") == Decision((), Finish("f"), "hm")


@pytest.mark.parametrize("effect", ["irreversible", Irreversible, 3])
def test_an_effect_that_is_none_is_refused_by_what_it_can_be(effect: Any) -> None:
    """A word or a class in place of an object: one line says which there are, and how one looks."""
    with pytest.raises(
        TypeError, match=r"effect is an object of mage\.effects \(NoEffect, .*such as Irreversible\(\)"
    ):
        Observed("Sent.", effect=effect)
