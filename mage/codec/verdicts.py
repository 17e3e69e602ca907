"""Verdicts in JSON: `{"type":"passed"}`, `{"type":"failed","feedback":...,"fault":...,"boundary":null}` and so on.

A journal holds what a judge answered, a tree what a summary carries.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypedDict, assert_never

from mage.codec.shapes import TEXT, WHOLE, WORDS, Nullable, Shape, name, tagged, written_step
from mage.engine.ids import StepId
from mage.engine.nodes import (
    FAULTS,
    Accepted,
    Failed,
    Fault,
    Passed,
    Pending,
    SummaryVerdict,
    Verdict,
    as_fault,
)
from mage.engine.text import as_text

_FAULT: Final = name(*FAULTS)
_FAILED: Final[dict[str, Shape]] = {"feedback": WORDS, "fault": _FAULT, "boundary": Nullable(WHOLE)}

VERDICT: Final = tagged("type", passed={}, failed={**_FAILED, "feedback": TEXT})
"""What a judge answered; that feedback is not blank is the engine's to say (`BlankFeedback`)."""
SUMMARY_VERDICT: Final = tagged(
    "type",
    pending={},
    passed={},
    failed=_FAILED,
    accepted={"despite": Nullable(tagged("type", failed=_FAILED))},
)
"""What a summary carries."""


class PendingDocument(TypedDict):
    """`Pending` in JSON."""

    type: Literal["pending"]


class PassedDocument(TypedDict):
    """`Passed` in JSON."""

    type: Literal["passed"]


class FailedDocument(TypedDict):
    """`Failed` in JSON."""

    type: Literal["failed"]
    feedback: str
    fault: Fault
    boundary: int | None


class AcceptedDocument(TypedDict):
    """`Accepted` in JSON."""

    type: Literal["accepted"]
    despite: FailedDocument | None


VerdictDocument: TypeAlias = PassedDocument | FailedDocument
SummaryVerdictDocument: TypeAlias = PendingDocument | PassedDocument | FailedDocument | AcceptedDocument


def verdict_document(verdict: Verdict) -> VerdictDocument:
    """Return a judge's answer in JSON.

    Raises:
        NotText: the feedback is not a string.
        UnknownName: the fault is none.
    """
    return {"type": "passed"} if isinstance(verdict, Passed) else _failed_document(verdict)


def _failed_document(failed: Failed) -> FailedDocument:
    feedback, fault = as_text(failed.feedback), as_fault(failed.fault)
    boundary = None if failed.boundary is None else written_step(failed.boundary)
    return {"type": "failed", "feedback": feedback, "fault": fault, "boundary": boundary}


def verdict_of(document: VerdictDocument) -> Verdict:
    """Return the verdict that fits the shape `VERDICT`."""
    return Passed() if document["type"] == "passed" else _failed_of(document)


def _failed_of(document: FailedDocument) -> Failed:
    boundary = document["boundary"]
    origin = None if boundary is None else StepId(boundary)
    return Failed(document["feedback"], document["fault"], origin)


def summary_verdict_document(verdict: SummaryVerdict) -> SummaryVerdictDocument:
    """Return in JSON what a summary carries."""
    match verdict:
        case Pending():
            return {"type": "pending"}
        case Accepted(despite=despite):
            return {"type": "accepted", "despite": despite and _failed_document(despite)}
        case Passed() | Failed():
            return verdict_document(verdict)
        case _:
            assert_never(verdict)


def summary_verdict_of(document: SummaryVerdictDocument) -> SummaryVerdict:
    """Return the verdict that fits the shape `SUMMARY_VERDICT`."""
    match document["type"]:
        case "pending":
            return Pending()
        case "accepted":
            despite = document["despite"]
            return Accepted(despite and _failed_of(despite))
        case "passed" | "failed":
            return verdict_of(document)
        case _:
            assert_never(document["type"])
