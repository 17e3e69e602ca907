"""How a run sets out, in both twins: what its tape begins with, and its program over what is there of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mage.agent.durable import Durable
from mage.agent.loop import program
from mage.agent.opening import Begun, began, first_policy, next_policy, policy_of
from mage.agent.reel import Recorded
from mage.effects import Capabilities, PromptedModel
from mage.effects.program import Program
from mage.memory.outcomes import Outcome, RunFailed, StoreFault
from mage.memory.policy import Policy
from mage.memory.state import Run
from mage.render import Meter
from mage.stores import Conflict, DamagedRecord, DamagedStore, StoreError, StoreFull, StoreUnavailable
from mage.tokens import TokenCounter, default_counter


class Given(Protocol):
    """What both twins are given, as far as a run sets out with it."""

    @property
    def model(self) -> object:
        """Decides; it may be a `PromptedModel`."""
        ...

    @property
    def judge(self) -> object | None:
        """None where summaries are accepted openly."""
        ...

    @property
    def policy(self) -> Policy | None:
        """None for the one that the run had."""
        ...

    @property
    def counter(self) -> TokenCounter | None:
        """None for what is installed."""
        ...


def first_entry(
    agent: Given, capabilities: Capabilities, version: int, remembered: Mapping[str, object] | None
) -> dict[str, object]:
    """Return the first entry of the tape of a run that is begun at this version of its session."""
    counter = default_counter() if agent.counter is None else agent.counter
    judged = agent.judge is not None
    overhead = counter.count(fixed_prompt(agent.model, capabilities))
    policy = first_policy(agent.policy, judged=judged)
    return began(version, policy, counter, overhead, capabilities, judged=judged, remembered=remembered)


def fixed_prompt(model: object, capabilities: Capabilities) -> str:
    """Return the text that goes with every call of a model in such an environment; empty if the model does not say."""
    if not isinstance(model, PromptedModel):
        return ""
    return model.prompt_text(capabilities.tools, capabilities.manual)


def set_out(
    agent: Given,
    capabilities: Capabilities,
    first: Begun,
    found: Recorded,
    remembered: Mapping[str, object] | None,
) -> tuple[Run, Program[Outcome]]:
    """Return a run, and its program over what is there of it, to be driven."""
    durable = Durable(
        found,
        policy=next_policy(agent.policy, policy_of(found), first, judged=agent.judge is not None),
        repeatable=capabilities.repeatable,
        foresees=capabilities.foresees,
        remembered=remembered,
    )
    run = Run(Meter(first.counter), first.overhead)
    return run, durable.run(program(run))


def store_failed(run: Run, error: StoreError) -> RunFailed:
    """Return how a run ends whose store has failed."""
    return RunFailed("store", _store_fault(error), str(error), run.totals)


def _store_fault(error: StoreError) -> StoreFault:
    match error:
        case Conflict():
            return "conflict"
        case StoreUnavailable():
            return "unavailable"
        case StoreFull():
            return "full"
        case DamagedRecord() | DamagedStore():
            return "damaged"
        case _:
            return "other"
