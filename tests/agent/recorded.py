"""Runs in the world of the dial, to be run again: whole ones, and one whose model has gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import pytest
from hypothesis import strategies as st

from mage.agent import Policy
from mage.effects import Decide, Decision, Metered
from mage.stores import MemoryStore
from tests.agent.toys import Mistake, model_of, parts_of
from tests.agent.twins import TWINS
from tests.agent.ways import RestoredBy

Request = TypeVar("Request")
Answer = TypeVar("Answer")

ALL_MISTAKES: Final[Mapping[int, Mistake]] = {0: "wrong", 1: "noticed", 2: "vague", 3: "batch"}
MISTAKES: Final = st.dictionaries(
    st.integers(0, 3), st.sampled_from(["wrong", "noticed", "vague", "batch"]), max_size=4
)
POLICIES: Final = st.builds(
    Policy,
    high_water=st.sampled_from([None, 150, 8_000]),
    on_fail=st.sampled_from(["revise", "accept"]),
    max_steps=st.sampled_from([5, 1_000]),
    maintain=st.booleans(),
    revise=st.booleans(),
    compress=st.booleans(),
)


class Stopped(Exception):
    """Whoever is asked has gone."""


def a_run(
    mistakes: Mapping[int, Mistake] = ALL_MISTAKES,
    policy: Policy | None = None,
    *,
    goals: int = 4,
    restoring: RestoredBy = "replay",
) -> MemoryStore:
    """Return a store with a run in it."""
    store = MemoryStore()
    TWINS[0](parts_of(model_of(goals, mistakes), policy, restoring=restoring), store)
    return store


def counting(answers: Callable[[Request], Answer]) -> tuple[Callable[[Request], Answer], list[Request]]:
    """Return the same function, and the list of what it was asked."""
    asked: list[Request] = []

    def counted(request: Request) -> Answer:
        asked.append(request)
        return answers(request)

    return counted, asked


def interrupted_after(decisions: int, restoring: RestoredBy = "replay") -> MemoryStore:
    """Return a store with a run whose model has gone after so many decisions."""
    store, (model, asked) = MemoryStore(), counting(model_of(4, ALL_MISTAKES))

    def going(request: Decide) -> Metered[Decision] | Decision:
        if len(asked) == decisions:
            raise Stopped
        return model(request)

    with pytest.raises(Stopped):
        TWINS[0](parts_of(going, restoring=restoring), store)
    return store
