"""A judge that nobody waits for fails over real HTTP in the background: the run ends as its policy says."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from mage.agent import RunFinished, RunStopped
from mage.engine import Accepted
from tests.agent.over_http.faults import CASES, Case
from tests.agent.over_http.lives import POLICY, TWINS, Life, Place, Twin
from tests.agent.over_http.provider import Fault, Provider, check_billed
from tests.agent.toys import GOAL
from tests.agent.twins import left_by
from tests.llm.server import ScriptedServer

GOING_ON: Final = attrs.evolve(POLICY, wait=False)
both = pytest.mark.parametrize("twin", TWINS, ids=["Agent", "AsyncAgent"])


@both
@pytest.mark.parametrize("case", CASES)
def test_a_judge_in_the_background_that_is_down(case: Case, twin: Twin) -> None:
    """The run stops as soon as it hears of it, and a healthy server brings it to its goal."""
    place, life = Place(), Life(Fault("judge", case.answer), stream=case.stream)
    broken, healthy = Provider(life.fault), Provider()
    with ScriptedServer(answering=broken) as server:
        stopped = twin(server.url, place, life, GOING_ON)
    assert isinstance(stopped, RunStopped)
    assert stopped.reason == "judge_down"
    assert broken.count("judge") <= 3
    assert broken.count("model") <= 4  # at the next compress it waits
    with ScriptedServer(answering=healthy) as server:
        outcome = twin(server.url, place, Life(stream=case.stream), GOING_ON)
    assert isinstance(outcome, RunFinished)
    assert place.ground.value == 2 * GOAL
    assert left_by(place.store).state.tree.head_summary.text == f"Turned by {GOAL}."


@both
@pytest.mark.parametrize("case", CASES)
def test_a_judge_in_the_background_that_is_done_without(case: Case, twin: Twin) -> None:
    """Each summary is accepted openly, and what the useless replies took is counted."""
    place, life = Place(), Life(Fault("judge", case.answer), stream=case.stream)
    provider = Provider(life.fault)
    with ScriptedServer(answering=provider) as server:
        outcome = twin(server.url, place, life, attrs.evolve(GOING_ON, judge_down="accept"))
    assert isinstance(outcome, RunFinished)
    assert all(summary.verdict == Accepted() for summary in left_by(place.store).state.tree.summaries())
    check_billed(outcome.totals.tokens, provider.billed)
