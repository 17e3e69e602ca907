"""Verdicts in JSON."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Failed, Passed, Verdict
from mage.codec.commands import (
    SUMMARY_VERDICT,
    VERDICT,
    summary_verdict_document,
    summary_verdict_of,
    verdict_document,
    verdict_of,
)
from mage.codec.strict_json import Json
from mage.engine import Accepted, Fault, NotText, Pending, StepId, SummaryVerdict, UnknownName
from tests.codec.strategies import texts

_faults: st.SearchStrategy[Fault] = st.sampled_from(("execution", "summary"))
_origins = st.none() | st.integers(0, 10**15 - 1).map(StepId)
_failed = st.builds(Failed, texts, _faults, _origins)
_carried = st.builds(Failed, texts.map(lambda text: f"desk {text}"), _faults, _origins)


@given(st.just(Passed()) | _failed)
def test_every_answer_survives(verdict: Verdict) -> None:
    """What a judge said fits the shape and is read back."""
    document = verdict_document(verdict)
    assert VERDICT.problem(cast("Json", document)) is None
    assert verdict_of(document) == verdict


@given(st.sampled_from((Pending(), Passed())) | _carried | st.builds(Accepted, st.none() | _carried))
def test_whatever_a_summary_carries_survives(verdict: SummaryVerdict) -> None:
    """What a summary carries fits the shape and is read back; an acceptance keeps what it overruled."""
    document = summary_verdict_document(verdict)
    assert SUMMARY_VERDICT.problem(cast("Json", document)) is None
    assert summary_verdict_of(document) == verdict


@pytest.mark.parametrize("verdict", [Pending(), Accepted(), Accepted(Failed("too wide"))])
def test_no_judge_answers_that_it_is_pending_or_accepted(verdict: SummaryVerdict) -> None:
    """What only the engine says is no answer in a journal."""
    assert VERDICT.problem(cast("Json", summary_verdict_document(verdict))) is not None


def test_what_could_not_be_read_back_is_not_written() -> None:
    """A fault or a feedback that is none is a mistake of the program and is raised at once."""
    with pytest.raises(UnknownName, match="'judge' is no fault"):
        verdict_document(Failed("too wide", cast("Fault", "judge")))
    with pytest.raises(NotText):
        verdict_document(Failed(cast("str", None)))
