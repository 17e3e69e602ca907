"""What cannot be undone is never done again: not on resume, not on the way back, not by a fork of what was redacted."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from mage import Failed, JudgeRequest, Passed, Session, Verdict
from mage.agent import Agent, Policy, RunFailed, RunFinished, RunStopped, what_if
from mage.agent.restore import Restorable, foreseen
from mage.cli.setup import EnvironmentRaised, GuardedEnvironment
from mage.effects import (
    ActionEffect,
    BadEnvironment,
    Capabilities,
    Compensable,
    Decision,
    Finish,
    Irreversible,
    Observed,
    Reversible,
)
from mage.engine import FoldRequest
from mage.memory.journal import UNCERTAIN
from mage.stores import MemoryStore
from mage.testing import RecordingEnvironment, ScriptedModel
from tests.agent.toys import TASK, Parts
from tests.agent.twins import NAME, Running, both, left_by, rerun
from tests.agent.ways import RestoredBy, restored_by

kinds = pytest.mark.parametrize("restoring", ["snapshot", "replay", "inverses"])


class Dying(Exception):
    """The process ends here."""


class Bank:
    """Notes are the world's own; what is paid is gone, and stands in a ledger that no reset reaches."""

    def __init__(
        self, restoring: RestoredBy, ledger: list[str], effect: ActionEffect, *, dies: bool = False
    ) -> None:
        self.capabilities = Capabilities(restored_by(restoring, self), foresees=self.effect_of)
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

    def effect_of(self, action: str) -> ActionEffect | None:
        return None

    def save(self) -> list[str]:
        return list(self._notes)

    def load(self, snapshot: list[str]) -> None:
        self._notes = list(snapshot)


class Foreseeing(Bank):
    """A bank that knows beforehand what a payment is."""

    def effect_of(self, action: str) -> ActionEffect | None:
        return self._effect if action.startswith("pay") else None


def parts(bank: Bank, *decisions: Decision | Exception, policy: Policy | None = None) -> Parts:
    """Return an agent whose model follows a script, with a judge who fails what is called bad."""
    return Parts(ScriptedModel(*decisions), Restorable(bank), judge=severe, policy=policy)


def severe(request: JudgeRequest | FoldRequest, /) -> Verdict:
    return Failed("It was bad.") if "bad" in request.text else Passed()


@both
@kinds
@pytest.mark.parametrize("effect", [Irreversible("it is gone"), Compensable("ask for it back")])
def test_it_is_not_done_again_when_the_run_is_resumed(
    run: Running, restoring: RestoredBy, effect: ActionEffect
) -> None:
    """A new process does not pay again to bring the world back; where that is missing, the model is told."""
    store, ledger = MemoryStore(), list[str]()
    with pytest.raises(Dying):
        run(parts(Bank(restoring, ledger, effect), Decision.act("note"), Decision.act("pay"), Dying()), store)
    model = ScriptedModel(Decision.act("note again"), Decision.finish())
    resumed = Parts(model, Restorable(Bank(restoring, ledger, effect)), judge=severe)
    assert isinstance(run(resumed, store), RunFinished)
    assert ledger == ["pay"]
    told = [notice.kind for notice in model.asked[0].notices]
    assert told == ([] if restoring == "inverses" else ["diverged"])


@both
@pytest.mark.parametrize("restoring", ["snapshot", "replay"])
def test_where_a_world_that_differs_stops_the_run_nothing_is_done(
    run: Running, restoring: RestoredBy
) -> None:
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
def test_it_is_not_done_again_on_the_way_back(run: Running, restoring: RestoredBy) -> None:
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
def test_what_is_foreseen_to_last_is_not_repeated(run: Running, restoring: RestoredBy) -> None:
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
def test_what_has_lasted_before_is_not_repeated(run: Running, restoring: RestoredBy) -> None:
    """An action that was once declared to last is taken to last again, also by a world that does not foresee."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    dying = Bank(restoring, ledger, effect)
    with pytest.raises(Dying):
        run(parts(dying, Decision.act("pay"), Dying()), store)
    with pytest.raises(Dying):
        run(parts(Bank("inverses", ledger, effect, dies=True), Decision.act("pay")), store)
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


# -- who says so when ------------------------------------------------------------------------------------

repeatable = pytest.mark.parametrize("restoring", ["snapshot", "replay"])


@repeatable
@pytest.mark.parametrize("wrap", [GuardedEnvironment, RecordingEnvironment])
def test_what_is_foreseen_is_not_repeated_behind_a_wrapper(restoring: RestoredBy, wrap: Any) -> None:
    """A world that `mage run` guards, or a test records, is asked beforehand as it is by itself."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    dying = Foreseeing(restoring, ledger, effect, dies=True)
    with pytest.raises((Dying, EnvironmentRaised)):
        Agent(model=ScriptedModel(Decision.act("pay")), environment=wrap(Restorable(dying))).run(
            store, NAME, task=TASK
        )
    world = wrap(Restorable(Foreseeing(restoring, ledger, effect)))
    assert isinstance(
        Agent(model=ScriptedModel(Decision.finish()), environment=world).run(store, NAME), RunFinished
    )
    assert ledger == ["pay"]


@both
@repeatable
def test_what_was_foreseen_is_remembered(run: Running, restoring: RestoredBy) -> None:
    """It was noted before the action was performed, so a world that has forgotten it does not do it again either."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    with pytest.raises(Dying):
        run(parts(Foreseeing(restoring, ledger, effect, dies=True), Decision.act("pay")), store)
    assert [entry.data for entry in left_by(store).notes if entry.kind == "acting"] == [
        {"action": "pay", "after": 1, "lasts": True}
    ]
    assert isinstance(run(parts(Bank(restoring, ledger, effect), Decision.finish()), store), RunFinished)
    assert ledger == ["pay"]
    rerun(store)


@both
@repeatable
def test_after_a_world_has_said_so_only_afterwards_it_asks(run: Running, restoring: RestoredBy) -> None:
    """Where something lasted that nobody had foreseen, another action that was interrupted is not repeated."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    paid = parts(
        Bank(restoring, ledger, effect), Decision.act("pay 1"), Decision.revise(0, "Too dear."), Dying()
    )
    with pytest.raises(Dying):
        run(paid, store)
    with pytest.raises(Dying):
        run(parts(Bank(restoring, ledger, effect, dies=True), Decision.act("pay 2")), store)
    model = ScriptedModel(Decision.finish())
    resumed = Parts(model, Restorable(Bank(restoring, ledger, effect)), judge=severe)
    assert isinstance(run(resumed, store), RunFinished)
    assert ledger == ["pay 1", "pay 2"]
    assert "uncertain" in [notice.kind for notice in model.asked[0].notices]
    step = left_by(store).state.tree.step(left_by(store).state.tree.step_head)
    assert (step.action, step.observation) == ("pay 2", UNCERTAIN)


@both
@repeatable
def test_the_first_that_nobody_could_foresee_is_repeated_and_told(
    run: Running, restoring: RestoredBy
) -> None:
    """Where it turns out only in the repetition that an action lasts, the model is told, and the rest waits for it."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible()
    batch = attrs.evolve(Decision.act("pay"), then=Finish("paid"))
    with pytest.raises(Dying):
        run(parts(Bank(restoring, ledger, effect, dies=True), batch), store)
    model = ScriptedModel(Dying(), Decision.finish("Ask whether it was paid twice."))
    resumed = Parts(model, Restorable(Bank(restoring, ledger, effect)), judge=severe)
    with pytest.raises(Dying):
        run(resumed, store)
    assert isinstance(run(resumed, store), RunFinished)  # told again, by what is in the log
    assert ledger == ["pay", "pay"]
    for asked in model.asked:
        told = [notice for notice in asked.notices if notice.kind == "uncertain"]
        assert "twice" in told[0].text
        assert [notice.kind for notice in asked.notices][:2] == ["uncertain", "refused"]
    assert left_by(store).kinds.count("again") == 1
    _, outcome = rerun(store)
    assert isinstance(outcome, RunFinished)


@both
@repeatable
def test_what_is_foreseen_is_not_done_to_bring_a_world_back(run: Running, restoring: RestoredBy) -> None:
    """A step of which nobody has declared anything, as of one that was grown by hand, is not replayed if it would last."""
    store, ledger = MemoryStore(), list[str]()
    with Session.open(store, NAME, task=TASK) as session:
        session.grow("reset", "An account.")
        session.grow("pay", "paid")
    model = ScriptedModel(Decision.finish())
    bank = Foreseeing(restoring, ledger, Irreversible())
    assert isinstance(run(Parts(model, Restorable(bank), judge=severe), store), RunFinished)
    assert ledger == []
    assert [notice.kind for notice in model.asked[0].notices] == ["diverged"]


@both
@repeatable
def test_what_turns_out_to_last_in_a_replay_is_told(run: Running, restoring: RestoredBy) -> None:
    """Where neither the record nor the world knew it beforehand, it is done again, but not in silence."""
    store, ledger = MemoryStore(), list[str]()
    with Session.open(store, NAME, task=TASK) as session:
        session.grow("reset", "An account.")
        session.grow("pay", "paid")
        session.grow("note", "1 notes")
    model = ScriptedModel(Decision.finish())
    bank = Bank(restoring, ledger, Irreversible())
    assert isinstance(run(Parts(model, Restorable(bank), judge=severe), store), RunFinished)
    assert ledger == ["pay"]
    (told,) = model.asked[0].notices
    assert (told.kind, "at steps 2, as nobody knew" in told.text) == ("diverged", True)


@repeatable
def test_a_live_world_of_what_if_does_not_do_again_what_lasts(restoring: RestoredBy) -> None:
    """Brought to where the record ends, a world does not pay what was paid: the changed run fails, and says why."""
    store, ledger, effect = MemoryStore(), list[str](), Irreversible("it is gone")
    script = (Decision.act("pay"), Decision.act("note"), Decision.finish())
    agent = Agent(model=ScriptedModel(*script), environment=Bank(restoring, ledger, effect))
    assert isinstance(agent.run(store, NAME, task=TASK), RunFinished)
    model = ScriptedModel(Decision.act("pay"), Decision.act("note otherwise"))
    found = what_if(
        store,
        NAME,
        model=model,
        environment=Bank(restoring, ledger, effect),
        policy=Policy(max_steps=9),
        anew=["model"],
    )
    assert isinstance(found.outcome, RunFailed)
    assert "cannot be undone, so it is not done again" in found.outcome.detail
    assert ledger == ["pay"]


@pytest.mark.parametrize("given", [True, "Irreversible", object()])
def test_what_is_no_effect_is_no_foresight(given: object) -> None:
    """An environment that foresees something else than an effect is refused by name, before anything is done."""
    ledger = list[str]()

    class Odd(Bank):
        def effect_of(self, action: str) -> Any:
            return given

    agent = Agent(model=ScriptedModel(Decision.act("pay")), environment=Odd("replay", ledger, Irreversible()))
    with pytest.raises(BadEnvironment, match="foresees returned a"):
        agent.run(MemoryStore(), NAME, task=TASK)
    assert ledger == []


def test_foresight_is_not_awaited() -> None:
    """An `async def effect_of` would be no effect at all, so it is refused."""
    ledger = list[str]()

    class Odd(Bank):
        async def effect_of(self, action: str) -> Any:  # type: ignore[override]  # that is the mistake
            return None

    with pytest.raises(BadEnvironment, match="must be no `async def`"):
        foreseen(Odd("replay", ledger, Irreversible()).capabilities.foresees, "pay")


@pytest.mark.parametrize("made", [Reversible, Compensable, Irreversible])
def test_an_effect_is_said_in_words(made: Any) -> None:
    """What is no text is refused where an effect is made: `None` as an inverse would be performed as an action."""
    with pytest.raises(TypeError):
        made(None)
