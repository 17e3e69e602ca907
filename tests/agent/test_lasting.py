"""What cannot be undone is never done again: not on resume, not on the way back, not by a fork of what was redacted."""

from __future__ import annotations

import pytest

from mage import Failed, JudgeRequest, Passed, Session, Verdict
from mage.agent import EnvironmentWorld, Policy, Restoring, RunFinished, RunStopped
from mage.agent.observations import UNCERTAIN
from mage.effects import Compensable, Decision, Irreversible, Observed, WorldEffect
from mage.stores import MemoryStore
from mage.testing.effects import ScriptedModel
from tests.agent.toys import TASK, Parts
from tests.agent.twins import NAME, Running, both, left_by

kinds = pytest.mark.parametrize("restoring", ["snapshot", "replay", "none"])


class Dying(Exception):
    """The process ends here."""


class Bank:
    """Notes are the world's own; what is paid is gone, and stands in a ledger that no reset reaches."""

    def __init__(
        self, restoring: Restoring, ledger: list[str], effect: WorldEffect, *, dies: bool = False
    ) -> None:
        self.restoring: Restoring = restoring
        self._ledger = ledger
        self._effect = effect
        self._dies = dies
        self._notes: list[str] = []

    def reset(self) -> str:
        self._notes = []
        return "An account."

    def act(self, action: str) -> Observed:
        if not action.startswith("pay"):
            self._notes.append(action)
            return Observed(f"{len(self._notes)} notes")
        self._ledger.append(action)
        if self._dies:
            raise Dying
        return Observed("paid", effect=self._effect)

    def snapshot(self) -> list[str]:
        return list(self._notes)

    def restore(self, snapshot: list[str]) -> None:
        self._notes = list(snapshot)


class Foreseeing(Bank):
    """A bank that knows beforehand what a payment is."""

    def effect_of(self, action: str) -> WorldEffect | None:
        return self._effect if action.startswith("pay") else None


def parts(bank: Bank, *decisions: Decision | Exception, policy: Policy | None = None) -> Parts:
    """Return an agent whose model follows a script, with a judge who fails what is called bad."""
    return Parts(ScriptedModel(*decisions), EnvironmentWorld(bank), judge=severe, policy=policy)


def severe(request: JudgeRequest, /) -> Verdict:
    return Failed("It was bad.") if "bad" in request.text else Passed()


@both
@kinds
@pytest.mark.parametrize("effect", [Irreversible("it is gone"), Compensable("ask for it back")])
def test_it_is_not_done_again_when_the_run_is_resumed(
    run: Running, restoring: Restoring, effect: WorldEffect
) -> None:
    """A new process does not pay again to bring the world back; where that is missing, the model is told."""
    store, ledger = MemoryStore(), list[str]()
    with pytest.raises(Dying):
        run(parts(Bank(restoring, ledger, effect), Decision.act("note"), Decision.act("pay"), Dying()), store)
    model = ScriptedModel(Decision.act("note again"), Decision.finish())
    resumed = Parts(model, EnvironmentWorld(Bank(restoring, ledger, effect)), judge=severe)
    assert isinstance(run(resumed, store), RunFinished)
    assert ledger == ["pay"]
    told = [notice.kind for notice in model.asked[0].notices]
    assert told == ([] if restoring == "none" else ["diverged"])


@both
@pytest.mark.parametrize("restoring", ["snapshot", "replay"])
def test_where_a_world_that_differs_stops_the_run_nothing_is_done(run: Running, restoring: Restoring) -> None:
    """With `on_divergence="stop"` a run that cannot have its world back stops before anybody is asked."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    policy = Policy(on_divergence="stop")
    with pytest.raises(Dying):
        run(parts(Bank(restoring, ledger, effect), Decision.act("pay"), Dying(), policy=policy), store)
    outcome = run(parts(Bank(restoring, ledger, effect), policy=policy), store)
    assert isinstance(outcome, RunStopped)
    assert (outcome.reason, ledger) == ("diverged", ["pay"])


@both
@kinds
def test_it_is_not_done_again_on_the_way_back(run: Running, restoring: Restoring) -> None:
    """A revise to a boundary behind the payment does not pay again."""
    store, ledger = MemoryStore(), list[str]()
    script = parts(
        Bank(restoring, ledger, Irreversible()),
        Decision.act("pay"),
        Decision.compress("paid"),
        *[Decision.act(f"note {number}") for number in range(70)],  # more than snapshots are kept
        Decision.compress("bad"),
        Decision.act("note better"),
        Decision.finish(),
    )
    outcome = run(script, store)
    assert isinstance(outcome, RunFinished)
    assert outcome.totals.revisions == 1
    assert ledger == ["pay"]


@both
@kinds
def test_what_is_foreseen_to_last_is_not_repeated(run: Running, restoring: Restoring) -> None:
    """A run that died while paying does not know whether it has paid, and does not pay to find out."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    with pytest.raises(Dying):
        run(parts(Foreseeing(restoring, ledger, effect, dies=True), Decision.act("pay")), store)
    assert isinstance(
        run(parts(Foreseeing(restoring, ledger, effect), Decision.finish()), store), RunFinished
    )
    assert ledger == ["pay"]
    assert left_by(store).state.tree.step(left_by(store).state.tree.step_head).observation == UNCERTAIN


@both
@kinds
def test_what_has_lasted_before_is_not_repeated(run: Running, restoring: Restoring) -> None:
    """An action that was once declared to last is taken to last again, also by a world that does not foresee."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    dying = Bank(restoring, ledger, effect)
    with pytest.raises(Dying):
        run(parts(dying, Decision.act("pay"), Dying()), store)
    with pytest.raises(Dying):
        run(parts(Bank("none", ledger, effect, dies=True), Decision.act("pay")), store)
    assert isinstance(run(parts(Bank(restoring, ledger, effect), Decision.finish()), store), RunFinished)
    assert ledger == ["pay", "pay"]  # as the model decided, twice


@both
def test_a_redacted_action_is_not_done(run: Running) -> None:
    """In a fork of a redacted session, what stands where a text was taken out is no action."""
    store, seen = MemoryStore(), list[str]()
    with Session.open(store, "first", task=TASK) as first:
        first.grow("[redacted 0123456789ab]", "seen")
        first.fork(NAME).close()

    class Seeing(Bank):
        def act(self, action: str) -> Observed:
            seen.append(action)
            return super().act(action)

    bank = Seeing("replay", [], Irreversible())
    assert isinstance(run(parts(bank, Decision.act("note"), Decision.finish()), store), RunFinished)
    assert seen == ["note"]
