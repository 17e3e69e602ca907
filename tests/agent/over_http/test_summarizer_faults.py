"""Every fault at the summarizer's calls has a defined end: nothing that it did not mean becomes a summary."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from mage.agent import RunFinished, RunStopped
from mage.engine import Accepted
from mage.render.extract import is_extract
from tests.agent.over_http.faults import CASES, Case
from tests.agent.over_http.lives import POLICY, Life, lived, unbroken
from tests.agent.over_http.provider import Fault
from tests.agent.over_http.test_model_faults import WHOLE, check_it_went_on

INSISTS: Final = 3
TEXTLESS: Final = [one for one in CASES if not one.values[0].is_text]
"""All but a reply that is a text, and of which nobody could tell that it was not meant."""
CROWDED: Final = attrs.evolve(POLICY, high_water=1, exhausted="accept")
"""Each open step is too many."""


@pytest.mark.parametrize("case", TEXTLESS)
def test_one_fault_of_the_summarizer(case: Case) -> None:
    """A useless reply is asked for again; without a reply the failed text stays until somebody writes another."""
    faulty = Life(Fault("summarizer", case.answer, times=1), stream=case.stream)
    if case.useless:
        ran = lived(faulty)
        assert len(ran.seen[0]) == WHOLE + 1
    else:
        ran = lived(faulty, Life(stream=case.stream))
        stopped = ran.outcomes[0]
        assert isinstance(stopped, RunStopped)
        assert stopped.reason == "exhausted"
        assert f"({case.fault})" in stopped.detail
    check_it_went_on(ran)


@pytest.mark.parametrize("case", TEXTLESS)
def test_a_summarizer_that_stays_faulty(case: Case) -> None:
    """The run stops after at most three requests, and stops again; a healthy server ends it."""
    faulty = Life(Fault("summarizer", case.answer), stream=case.stream)
    ran = lived(faulty, faulty, Life(stream=case.stream))
    for life in (0, 1):
        stopped = ran.outcomes[life]
        assert isinstance(stopped, RunStopped)
        assert stopped.reason == "exhausted"
        assert ran.count("summarizer", life) == (INSISTS if case.useless else 1)
    check_it_went_on(ran)


@pytest.mark.parametrize("case", TEXTLESS)
def test_a_fallback_that_fails_leaves_the_state_as_it_was(case: Case) -> None:
    """Nothing is made of it, and it is not tried again at once; steps that can never fit have an extract."""
    faulty = Life(Fault("summarizer", case.answer), stream=case.stream)
    ran = lived(faulty, policy=CROWDED)
    assert isinstance(ran.outcome, RunFinished)
    summaries = list(ran.left.state.tree.summaries())
    vague = next(summary for summary in summaries if summary.kind == "subgoal").verdict
    assert isinstance(vague, Accepted)
    assert vague.despite is not None  # nobody has written it anew
    fallbacks = [summary for summary in summaries if summary.kind == "fallback"]
    if case.fault == "overflow":
        assert all(is_extract(summary.text) for summary in fallbacks)
        return
    assert fallbacks == []
    once = INSISTS if case.useless else 1
    assert ran.count("summarizer") == 2 * once  # the fallback, and that text


def test_a_crowded_run_is_summarized_all_along() -> None:
    """With a healthy summarizer the same run has fallbacks, and finishes."""
    ran = unbroken(CROWDED)
    assert isinstance(ran.outcome, RunFinished)
    assert "fallback" in {summary.kind for summary in ran.left.state.tree.summaries()}
