"""What a run keeps for whoever resumes it, in the words of its caller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mage import Session
from mage.agent import Agent, AsyncAgent, BadAgent, Policy, RunStopped, remembered, rerun, what_if
from mage.effects import Decision
from mage.stores import JournalStore, MemoryStore
from mage.testing import ScriptedEnvironment, ScriptedModel


def run(
    store: JournalStore, remember: Mapping[str, object] | None, *, steps: int, awaited: bool = False
) -> None:
    """Run a run of one action a step, until so many are done."""
    model = ScriptedModel(*[Decision.act(f"a{step}") for step in range(9)])
    environment = ScriptedEnvironment(*["seen"] * 9)
    policy = Policy(max_steps=steps)
    if awaited:
        agent = AsyncAgent(model=model.awaited, environment=environment.awaited, policy=policy)
        outcome = asyncio.run(agent.run(store, "s", task="t", remember=remember))
    else:
        outcome = Agent(model=model, environment=environment, policy=policy).run(
            store, "s", task="t", remember=remember
        )
    assert isinstance(outcome, RunStopped)


@pytest.mark.parametrize("awaited", [False, True])
def test_the_last_that_was_said_is_remembered(awaited: bool) -> None:
    """What a run is begun with, or gone on with, stays until something else is said; the run comes to the same."""
    store = MemoryStore()
    for steps, remember, kept in (
        (1, {"model": "m", "more": [1, None]}, {"model": "m", "more": [1, None]}),
        (2, None, {"model": "m", "more": [1, None]}),
        (3, {"model": "n"}, {"model": "n"}),
        (4, {"model": "n"}, {"model": "n"}),
        (5, None, {"model": "n"}),
        (6, {}, {}),
    ):
        run(store, remember, steps=steps, awaited=awaited)
        assert remembered(store, "s") == kept
        assert rerun(store, "s").same


def test_what_is_remembered_may_be_as_deep_as_json_is() -> None:
    """It is the host's: what was taken at the beginning is written and read as it is."""
    deep: dict[str, object] = {"end": 1}
    for _ in range(700):
        deep = {"next": deep}
    store = MemoryStore()
    run(store, deep, steps=2)
    assert remembered(store, "s") == deep
    assert rerun(store, "s").same


def test_what_is_remembered_is_no_part_of_what_is_done() -> None:
    """The same run with it and without comes to the same state; without a run nothing is remembered."""
    one, other = MemoryStore(), MemoryStore()
    run(one, {"model": "m"}, steps=3)
    run(other, None, steps=3)
    assert rerun(one, "s").state == rerun(other, "s").state
    assert remembered(other, "s") == {}
    Session.open(other, "none", task="t").close()
    assert remembered(other, "none") is None


def test_a_changed_run_remembers_what_the_run_did_or_what_is_said() -> None:
    """What the old one has kept last, if nothing else is said of the new one."""
    store, target = MemoryStore(), MemoryStore()
    run(store, {"model": "m"}, steps=1)
    run(store, {"model": "n"}, steps=2)
    what_if(store, "s", policy=Policy(max_steps=1), into=target, into_name="b")
    what_if(store, "s", policy=Policy(max_steps=1), into=target, into_name="c", remember={"model": "o"})
    assert remembered(target, "b") == {"model": "n"}
    assert remembered(target, "c") == {"model": "o"}


@pytest.mark.parametrize(
    "given",
    [
        {"at": object()},
        {"at": float("nan")},
        {"at": (1, 2)},
        {1: "one"},
        {"at": {"set"}},
        ["a list"],
        "a text",
    ],
)
@pytest.mark.parametrize("awaited", [False, True])
def test_what_is_no_json_object_cannot_be_remembered(given: Any, awaited: bool) -> None:
    """It is refused by its name before the session is begun: JSON would not give it back as it is."""
    store = MemoryStore()
    with pytest.raises(BadAgent, match="remember must be a JSON object"):
        run(store, given, steps=1, awaited=awaited)
    assert store.journals() == ()
    run(store, None, steps=1)
    with pytest.raises(BadAgent, match="remember must be a JSON object"):
        what_if(store, "s", remember=given)
