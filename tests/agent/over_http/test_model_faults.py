"""Every fault at the model's calls has a defined end, over real HTTP and for both twins, and no state is lost."""

from __future__ import annotations

import pytest

from mage.agent import RunFailed, RunFinished
from tests.agent.over_http.faults import CASES, Case
from tests.agent.over_http.lives import POLICY, TWINS, Life, Place, Ran, Twin, lived, unbroken
from tests.agent.over_http.mind import ANSWER
from tests.agent.over_http.provider import Fault, Provider
from tests.agent.toys import GOAL
from tests.llm.server import ScriptedServer, Status

WHOLE = 12
"""Requests of the run in which nothing goes wrong."""


def test_the_run_asks_for_everything() -> None:
    """The run is judged, written anew for a vague text, revised after a wrong turn, and finishes."""
    ran = unbroken()
    assert isinstance(ran.outcome, RunFinished)
    assert (ran.outcome.totals.summaries, ran.outcome.totals.revisions) == (3, 1)
    assert [ran.count(kind) for kind in ("model", "judge", "summarizer")] == [7, 4, 1]
    assert len(ran.seen[0]) == WHOLE
    answered = {"started", "decided", "judged", "summarized", "restored", "ended"}
    assert answered <= set(ran.left.kinds)


def check_it_went_on(ran: Ran) -> None:
    """Fail unless the last life has finished where a run without faults does."""
    assert isinstance(ran.outcome, RunFinished)
    assert ran.outcome.answer == ANSWER
    assert ran.left.tree == unbroken().left.tree
    assert ran.left.commands == unbroken().left.commands
    assert ran.dial == unbroken().dial == 2 * GOAL


@pytest.mark.parametrize("case", CASES)
def test_one_fault_of_the_model(case: Case) -> None:
    """A useless reply is told and asked again, an overflow is relieved; else the run fails and can go on."""
    faulty = Life(Fault("model", case.answer, first=1, times=1), stream=case.stream)
    if case.useless:
        ran = lived(faulty)
        assert len(ran.seen[0]) == WHOLE + 1
        assert "could not be used" in str(ran.seen[0][2]["messages"][-1])
        check_it_went_on(ran)
    elif case.fault == "overflow":
        ran = lived(faulty)
        assert isinstance(ran.outcome, RunFinished)
        assert [body["model"] for body in ran.seen[0][1:5]] == ["model", "summarizer", "judge", "model"]
        assert ran.dial == 2 * GOAL
        assert len(ran.seen[0]) <= WHOLE + 4
    else:
        ran = lived(faulty, Life(stream=case.stream))
        assert isinstance(ran.outcomes[0], RunFailed)
        assert ran.outcomes[0].reason == f"model: {case.fault}"
        assert len(ran.seen[0]) == 2
        check_it_went_on(ran)


@pytest.mark.parametrize("case", CASES)
def test_a_model_that_stays_faulty(case: Case) -> None:
    """The run fails after a bounded number of requests, and fails again the same way; a healthy server ends it."""
    faulty = Life(Fault("model", case.answer, first=1), stream=case.stream)
    again = Life(Fault("model", case.answer), stream=case.stream)
    ran = lived(faulty, again, Life(stream=case.stream))
    most = POLICY.max_unusable + 1 if case.useless else 1
    for outcome in ran.outcomes[:2]:
        assert isinstance(outcome, RunFailed)
        assert outcome.reason == f"model: {case.fault}"
    if case.fault == "overflow":  # relieved once: one summary, judged
        assert [len(seen) for seen in ran.seen[:2]] == [5, 1]
        assert isinstance(ran.outcome, RunFinished)
        assert ran.dial == 2 * GOAL
        return
    assert [len(seen) for seen in ran.seen[:2]] == [1 + most, most]
    check_it_went_on(ran)


def test_an_overflow_with_nothing_open_fails() -> None:
    """There is nothing to relieve: the run fails at once, and goes on with a model that takes more."""
    (case,) = (one.values[0] for one in CASES if one.id == "overflow, as OpenAI says it")
    ran = lived(Life(Fault("model", case.answer, first=2)), Life())
    assert isinstance(ran.outcomes[0], RunFailed)
    assert ran.outcomes[0].reason == "model: overflow"
    check_it_went_on(ran)


@pytest.mark.parametrize("twin", TWINS, ids=["Agent", "AsyncAgent"])
def test_an_overflow_that_nobody_can_relieve_fails(twin: Twin) -> None:
    """The summarizer is down too: the model is asked once more, then once without what it is told, and the run fails."""
    (case,) = (one.values[0] for one in CASES if one.id == "overflow, as OpenAI says it")
    provider = Provider(Fault("model", case.answer), lambda number: Status(401) if number == 1 else None)
    with ScriptedServer(answering=provider) as server:
        outcome = twin(server.url, Place(), Life(), POLICY)
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "model: overflow"
    assert [body["model"] for body in provider.seen] == ["model", "summarizer", "model", "model"]
