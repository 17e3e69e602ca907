"""An edge says where a command led, or why it led nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given

from mage.engine import (
    Accept,
    Compress,
    EmptySegment,
    Grow,
    IllegalPhase,
    NotAnId,
    Revise,
    StepId,
    instruct,
    replay,
    start,
)
from mage.testing import History, carry_out, histories


def test_an_illegal_phase_is_noted() -> None:
    """What the engine raises for an illegal phase is part of the edge, with the operation's name."""
    edge = carry_out(instruct(start("t"), "i").unwrap(), Accept())
    assert isinstance(edge.refusal, IllegalPhase)
    assert edge.refusal.operation == "accept"
    assert edge.after is edge.before


def test_a_refusal_is_noted() -> None:
    """A refused command leads back to the state that it was given."""
    edge = carry_out(start("t"), Compress("m"))
    assert edge.refusal == EmptySegment(StepId(0))
    assert edge.after is edge.before


def test_what_a_revise_gives_back_is_kept() -> None:
    """The edge of a revise has what was left behind; no other edge has."""
    grown = carry_out(start("t"), Grow("a", "o"))
    back = carry_out(grown.after, Revise(0))
    assert grown.revised is None
    assert back.revised is not None
    assert [step.action for step in back.revised.abandoned] == ["a"]
    assert back.after is back.revised.state


def test_a_mistake_of_the_program_is_raised() -> None:
    """What is no command at all is not noted."""
    with pytest.raises(NotAnId):
        carry_out(start("t"), Revise("0"))  # type: ignore[arg-type]


@given(histories())
def test_edges_lead_where_a_journal_does(history: History) -> None:
    """The accepted commands of a history, replayed, end where its last edge ends."""
    assert replay(history.journal).unwrap() == history.states[-1]
