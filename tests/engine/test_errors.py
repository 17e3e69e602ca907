"""Refusals and errors say what was wrong, where, and what to do."""

from __future__ import annotations

import pickle

import pytest

from mage import (
    BlankFeedback,
    BlankInstruction,
    BlankSummary,
    Digest,
    EmptySegment,
    IllegalPhase,
    InvariantError,
    MageError,
    NotAnId,
    NotText,
    StaleVerdict,
    StepId,
    UnknownBoundary,
    UnknownName,
    UnknownStep,
    UnknownSummary,
)

ERRORS = [
    (
        IllegalPhase("grow", "Rejected", ("Active", "Unverified")),
        "grow is not legal in Rejected; it is legal in Active and in Unverified",
    ),
    (InvariantError("I2", "siblings_differ", "step 3"), "I2 siblings_differ: step 3"),
    (UnknownStep(StepId(9)), "there is no step 9"),
    (UnknownSummary(4), "there is no summary 4"),
    (NotText("dict"), "expected a str, found dict"),
    (NotAnId("float"), "expected an int, found float"),
    (UnknownName("kind", "goal", ("subgoal", "fallback")), "'goal' is no kind; known are subgoal, fallback"),
]
REFUSALS = [
    (EmptySegment(StepId(4)), "no step was taken since [Step 4]"),
    (BlankSummary(), "say what the steps achieved"),
    (BlankInstruction(), "say what is wanted"),
    (BlankFeedback(), "say what is wrong"),
    (StaleVerdict(Digest("ab"), None), "no summary is pending"),
    (StaleVerdict(Digest("ab"), Digest("cd")), "the pending summary is cd"),
    (
        UnknownBoundary(StepId(7), (StepId(0), StepId(3))),
        "[Step 7] is not a boundary to go back to; these are: [Step 0] [Step 3]",
    ),
]


@pytest.mark.parametrize(("error", "said"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_says_what_and_where(error: MageError, said: str) -> None:
    """Every error is a MageError with a sentence that helps."""
    assert said in str(error)


@pytest.mark.parametrize(("error", "said"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_survives_another_process(error: MageError, said: str) -> None:
    """An error raised in a worker process arrives whole."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize(("refusal", "said"), REFUSALS, ids=lambda value: type(value).__name__)
def test_a_refusal_says_what_to_do(refusal: object, said: str) -> None:
    """Every refusal is one line that an agent can act on."""
    assert said in str(refusal)
    assert "\n" not in str(refusal)


def test_a_long_list_of_boundaries_is_cut_in_words_only() -> None:
    """The message names the last dozen boundaries; the value keeps all."""
    refusal = UnknownBoundary(StepId(1), tuple(map(StepId, range(0, 100, 2))))
    assert str(refusal).count("[Step") == 13
    assert len(refusal.legal) == 50
