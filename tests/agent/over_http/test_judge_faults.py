"""Every fault at the judge's calls ends as the policy says, over real HTTP and for both twins."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from mage.agent import Policy, RunFinished, RunStopped
from mage.engine import Accepted
from tests.agent.over_http.faults import CASES, Case
from tests.agent.over_http.lives import POLICY, Life, lived
from tests.agent.over_http.provider import Fault
from tests.agent.over_http.test_model_faults import WHOLE, check_it_went_on

INSISTS: Final = 3
ACCEPTING: Final = attrs.evolve(POLICY, judge_down="accept")
LEAVING: Final = attrs.evolve(POLICY, judge_down="leave")


@pytest.mark.parametrize("case", CASES)
def test_one_fault_of_the_judge(case: Case) -> None:
    """A useless reply is asked for again; without a reply the run stops, and a later one asks the judge again."""
    faulty = Life(Fault("judge", case.answer, first=1, times=1), stream=case.stream)
    if case.useless:
        ran = lived(faulty)
        assert len(ran.seen[0]) == WHOLE + 1
    else:
        ran = lived(faulty, Life(stream=case.stream))
        stopped = ran.outcomes[0]
        assert isinstance(stopped, RunStopped)
        assert stopped.reason == "judge_down"
        assert stopped.detail.startswith(f"the judge gave no verdict: {case.fault.replace('_', ' ')}: ")
        assert (ran.count("judge"), len(ran.seen[0])) == (2, 5)
    check_it_went_on(ran)


@pytest.mark.parametrize("case", CASES)
def test_a_judge_that_stays_down(case: Case) -> None:
    """The run stops after at most three requests, and stops again the same way; a healthy server ends it."""
    faulty = Life(Fault("judge", case.answer), stream=case.stream)
    ran = lived(faulty, faulty, Life(stream=case.stream))
    asked = INSISTS if case.useless else 2 if case.schema_is_blamed else 1
    for life in (0, 1):
        stopped = ran.outcomes[life]
        assert isinstance(stopped, RunStopped)
        assert stopped.reason == "judge_down"
        assert ran.count("judge", life) == asked
    assert ran.outcomes[0] == attrs.evolve(ran.outcomes[1], totals=ran.outcomes[0].totals)
    check_it_went_on(ran)


@pytest.mark.parametrize("policy", [ACCEPTING, LEAVING], ids=["accept", "leave"])
@pytest.mark.parametrize("case", CASES)
def test_a_judge_that_is_done_without(case: Case, policy: Policy) -> None:
    """What nobody has judged is accepted openly, at the latest when the next summary needs it; the run finishes."""
    ran = lived(Life(Fault("judge", case.answer), stream=case.stream), policy=policy)
    assert isinstance(ran.outcome, RunFinished)
    for summary in ran.left.state.tree.summaries():
        assert summary.verdict == Accepted()
    questions = ran.outcome.totals.summaries * (1 if policy is ACCEPTING else 2)
    assert ran.count("judge") <= questions * INSISTS
