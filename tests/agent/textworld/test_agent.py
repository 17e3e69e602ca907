"""Acceptance: an agent that spoils a dish is judged, goes back, the real game with it, and wins; or else loses."""

from __future__ import annotations

import pytest

from mage.agent import Agent, Policy, RunFinished, RunStopped
from mage.stores import MemoryStore
from tests.agent.textworld.game import MISTAKES, TASK, Cook, CookingGame, Game, judge, summarize

pytestmark = pytest.mark.worlds


def agent(game: Game, environment: CookingGame, policy: Policy) -> Agent:
    return Agent(
        model=Cook(game.walkthrough),
        environment=environment,
        judge=judge,
        summarizer=summarize,
        policy=policy,
    )


@pytest.mark.parametrize(
    "policy",
    [Policy(), Policy(wait=False), Policy(compress=False), Policy(high_water=600)],
    ids=["waiting", "going on meanwhile", "without Compress", "with fallbacks"],
)
def test_an_agent_that_spoils_its_dish_goes_back_and_wins(game: Game, policy: Policy) -> None:
    """Each of its mistakes loses the game, fails its summary, and is undone by a replay of what came before."""
    environment = CookingGame(game)
    outcome = agent(game, environment, policy).run(MemoryStore(), "dinner", task=TASK)
    assert isinstance(outcome, RunFinished)
    assert outcome.answer == "The meal is eaten."
    assert environment.won
    assert outcome.totals.revisions == len(MISTAKES)
    assert (outcome.totals.summaries > 10) == (policy.high_water == 600)  # eight subgoals, two of them twice
    environment.close()


def test_without_revise_it_loses(game: Game) -> None:
    """The same agent, judged as well, but never going back."""
    environment = CookingGame(game)
    outcome = agent(game, environment, Policy(revise=False)).run(MemoryStore(), "dinner", task=TASK)
    assert isinstance(outcome, RunFinished)
    assert outcome.totals.revisions == 0
    assert environment.lost
    environment.close()


def test_a_run_that_was_stopped_wins_in_another_process(game: Game) -> None:
    """Stopped at every tenth step, each time another machine is brought to where the run stands."""
    store, won = MemoryStore(), False
    for limit in range(10, 100, 10):
        environment = CookingGame(game)
        outcome = agent(game, environment, Policy(max_steps=limit)).run(store, "dinner", task=TASK)
        won |= environment.won
        environment.close()
        if isinstance(outcome, RunFinished):
            assert won
            assert outcome.totals.revisions == len(MISTAKES)
            return
        assert isinstance(outcome, RunStopped)
        assert outcome.reason == "max_steps"
    pytest.fail("it never ended")
