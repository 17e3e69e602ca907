"""Deterministic simulation of runs in which everything fails, is killed and resumed (`tests.agent.simulation`)."""

from __future__ import annotations

from collections import Counter

import pytest

from mage.agent import RunFinished
from tests.agent.simulation import simulate

FIRST_RUN = 100
ALL = 2_000


@pytest.mark.parametrize("block", range(10))
def test_seeds_of_a_first_run(block: int) -> None:
    """After each life all invariants and laws hold, the run follows its journal, and each run ends within its limits."""
    size = FIRST_RUN // 10
    for seed in range(block * size, (block + 1) * size):
        assert simulate(seed).outcome is not None


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_all_seeds(block: int) -> None:
    """The same for 2,000 seeds, of which many finish, and many are stopped."""
    size = ALL // 20
    ends = Counter(type(simulate(seed).outcome) for seed in range(block * size, (block + 1) * size))
    assert ends.total() == size
    assert ends[RunFinished] > size // 4


@pytest.mark.parametrize("seed", [3, 17, 146])
def test_a_seed_replays_exactly(seed: int) -> None:
    """A seed tells one story: the same lives, deaths and endings, the same journal."""
    one, other = simulate(seed), simulate(seed)
    assert one.story == other.story
    assert one.outcome == other.outcome
    assert one.left() == other.left()
    assert one.performed == other.performed


def test_a_failing_seed_names_itself() -> None:
    """What does not hold says how to replay it."""
    with pytest.raises(ZeroDivisionError) as raised:
        simulate(12, lives=lambda _: 1 // 0)
    assert raised.value.__notes__ == ["replay it with: python -m tests.agent.simulation 12"]


def test_the_seeds_meet_what_can_go_wrong() -> None:
    """The seeds of a first run die, are overtaken, go back, write anew, and doubt."""
    kinds: Counter[str] = Counter()
    stories: list[str] = []
    for seed in range(0, FIRST_RUN, 3):
        simulation = simulate(seed)
        kinds.update(simulation.left().kinds)
        stories.extend(simulation.story)
    told = "\n".join(stories)
    for word in ("died", "not opened", "RunFinished", "RunStopped", "RunFailed store:", "RunFailed model:"):
        assert word in told, word
    for kind in ("conflict", "taken", "policy", "resumed", "act_failed", "verdict", "judged", "restoring"):
        assert kinds[kind], kind
