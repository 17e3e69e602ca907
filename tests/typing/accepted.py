"""What mypy must accept, with the types it must see. Checked by test_typing.py, run by nobody."""

from __future__ import annotations

from typing import assert_never, assert_type

from returns.result import Result

import mage
import mage.engine
from mage import ExecutionState, Failed, JudgeRequest, Passed, Verdict
from mage.engine import (
    Active,
    BlankFeedback,
    BlankInstruction,
    BlankSummary,
    Command,
    CompressRefusal,
    EmptyJournal,
    EmptySegment,
    FoldRefusal,
    FoldRequest,
    Inside,
    Refusal,
    RefusedCommand,
    Rejected,
    Revised,
    StaleVerdict,
    State,
    UnknownBoundary,
    UnknownLine,
    Unverified,
)


def phases_are_followed(active: Active, unverified: Unverified, either: Active | Unverified) -> None:
    """Each operation says which phase it leads to."""
    assert_type(mage.engine.start("task"), Active)
    assert_type(mage.engine.grow(active, "a", "o"), Active)
    assert_type(mage.engine.grow(unverified, "a", "o"), Unverified)
    assert_type(mage.engine.grow(either, "a", "o"), Active | Unverified)
    assert_type(mage.engine.instruct(active, "do"), Result[Active, BlankInstruction])
    assert_type(mage.engine.instruct(unverified, "do", standing=True), Result[Unverified, BlankInstruction])
    assert_type(mage.engine.compress(active, "text", "fallback"), Result[Unverified, CompressRefusal])
    requested = mage.engine.fold_request(active, 0, 9, "both")
    assert_type(requested, Result[FoldRequest, FoldRefusal])
    assert_type(
        mage.engine.fold(active, 0, 9, "both", requested.unwrap().digest),
        Result[Active, FoldRefusal | StaleVerdict],
    )
    assert_type(mage.engine.judge_request(unverified, since_root=True), JudgeRequest)
    assert_type(mage.engine.accept(unverified), Active)


def any_phase(state: State, verdict: Verdict) -> None:
    """Verdicts, revisions and views are for every phase."""
    assert_type(
        mage.engine.apply_verdict(state, verdict, "0" * 64),
        Result[Active | Rejected, StaleVerdict | UnknownBoundary | BlankFeedback],
    )
    assert_type(mage.engine.revise(state, 0, "lesson"), Result[Revised, UnknownBoundary])
    assert_type(mage.view(state), ExecutionState)
    assert_type(mage.engine.inside(state, 0, 9), Result[Inside, UnknownLine])
    mage.engine.check(state)


def after_a_failure(rejected: Rejected) -> None:
    """A failed head takes a new text or is accepted despite its verdict."""
    assert_type(mage.engine.retext(rejected, "text"), Result[Unverified, BlankSummary])
    assert_type(mage.engine.accept(rejected), Active)
    assert_type(mage.engine.revise(rejected, 0, "").unwrap().state, Active | Unverified)


def journals(state: State, command: Command) -> None:
    """Commands are applied one by one or replayed."""
    assert_type(mage.engine.apply(state, command), Result[State, Refusal])
    assert_type(mage.engine.apply(None, mage.engine.Start("task")), Result[State, Refusal])
    assert_type(mage.engine.replay([command]), Result[State, RefusedCommand | EmptyJournal])


def unions_are_closed(state: State, verdict: Verdict, refusal: CompressRefusal) -> str:
    """A match over phases, verdicts or refusals that names each needs no default."""
    match state:
        case Active() | Unverified() | Rejected():
            pass
        case _:
            assert_never(state)
    match verdict:
        case Passed():
            pass
        case Failed(feedback=feedback):
            return feedback
        case _:
            assert_never(verdict)
    match refusal:
        case EmptySegment(boundary=boundary):
            return str(boundary)
        case BlankSummary():
            return ""
        case _:
            assert_never(refusal)
