"""Refusals and errors say what was wrong, where, and what to do."""

from __future__ import annotations

import pickle

import pytest

from mage import MageError
from mage.engine import (
    BlankFeedback,
    BlankInstruction,
    BlankSummary,
    Digest,
    EmptySegment,
    IllegalPhase,
    InvariantError,
    NotAnId,
    NotText,
    StaleVerdict,
    StepId,
    UnfoldableRange,
    UnknownBoundary,
    UnknownLine,
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
    (NotText("dict"), "content is text: expected a str, found dict (serialize it first)"),
    (NotAnId("float"), "a boundary is the id of a step: expected an int, found float"),
    (IllegalPhase("grow", "nothing", ("Active",)), "grow is not legal before a start; it is legal in Active"),
    (UnknownName("kind", "goal", ("subgoal", "fallback")), "'goal' is no kind; known are subgoal, fallback"),
]
REFUSALS = [
    (EmptySegment(StepId(4)), "nothing to compress: no step was taken since [Step 4]"),
    (BlankSummary(), "the summary's text is blank: say what the steps achieved"),
    (BlankInstruction(), "the instruction is blank: say what is wanted"),
    (BlankFeedback(), "a failed verdict needs feedback: say what is wrong"),
    (
        StaleVerdict(Digest("0123456789abcdef"), None),
        "verdict for 0123456789ab: no summary is pending, nothing waits for a verdict",
    ),
    (
        StaleVerdict(Digest("0123456789abcdef"), Digest("fedcba9876543210")),
        "verdict for 0123456789ab: the pending summary is fedcba987654; judge that one",
    ),
    (
        UnknownBoundary(StepId(7), (StepId(0), StepId(3))),
        "[Step 7] is not a boundary to go back to; these are: [Step 0] [Step 3]",
    ),
    (UnknownBoundary(StepId(7), ()), "[Step 7] cannot be named here: a fault of the text begins at no step"),
    (
        UnfoldableRange(StepId(0), StepId(3), ((StepId(0), StepId(3)), (StepId(3), StepId(9)))),
        "[Step 0..3] is no run of two or more lines of finished subgoals; those are: [Step 0..3] [Step 3..9]",
    ),
    (
        UnknownLine(StepId(5), None, ((StepId(0), StepId(3)),)),
        "[Step 5] is no line of what is compressed; these are: [Step 0..3]",
    ),
    (
        UnknownLine(StepId(0), StepId(4), ()),
        "[Step 0..4] is no line of what is compressed; these are: none",
    ),
]


@pytest.mark.parametrize(("error", "said"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_says_what_and_where(error: MageError, said: str) -> None:
    """Every error is a MageError with a sentence that helps."""
    assert str(error) == said


@pytest.mark.parametrize(("error", "said"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_shows_what_it_was_made_of(error: MageError, said: str) -> None:
    """In a traceback or a debugger its parts are there, in the order in which it was made."""
    parts = tuple(vars(error).values())
    again = type(error)(*parts)
    assert again.args == tuple(vars(again).values()) == parts
    assert str(again) == said


@pytest.mark.parametrize(("error", "said"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_survives_another_process(error: MageError, said: str) -> None:
    """An error raised in a worker process arrives whole."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize(("refusal", "said"), REFUSALS, ids=lambda value: type(value).__name__)
def test_a_refusal_says_what_to_do(refusal: object, said: str) -> None:
    """Every refusal is one line that an agent can act on."""
    assert str(refusal) == said
    assert "\n" not in said


def test_a_long_list_of_boundaries_is_cut_in_words_only() -> None:
    """The message names the newest twenty and those of shown lines, and says how many more there are."""
    for boundaries in (20, 21, 50):
        legal = tuple(StepId(2 * number) for number in range(boundaries))
        refusal = UnknownBoundary(StepId(1), legal, (StepId(0), legal[-1]))
        named = legal if boundaries < 22 else (StepId(0), *legal[-20:])
        shown = " ".join(f"[Step {step}]" for step in named)
        more = f", and {boundaries - 21} more between them" if boundaries > 21 else ""
        assert str(refusal) == f"[Step 1] is not a boundary to go back to; these are: {shown}{more}"
        assert len(refusal.legal) == boundaries
