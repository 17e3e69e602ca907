"""How a run is found in a store: what is refused, what two runs do to each other, and what a redaction does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mage import Session
from mage.agent import (
    Agent,
    AsyncAgent,
    BadRunLog,
    Outcome,
    Policy,
    RunDiverged,
    RunFailed,
    RunFinished,
    RunStopped,
)
from mage.agent.log import encoded
from mage.cli.change import places_in, redact_store
from mage.effects import Decide, Decision, EffectError, Notice, Observed
from mage.session import OtherTask, events
from mage.stores import NOTE, MemoryStore, StoreError, UnknownJournal, open_store, redacted
from mage.testing import ScriptedModel
from tests.agent.toys import TASK, Dial, Parts, judge, model_of, parts_of, summarizer
from tests.agent.twins import (
    NAME,
    TWINS,
    Running,
    awaited_agent,
    both,
    called_agent,
    constant,
    left_by,
    plain,
    rerun,
)


def scripted(*decisions: Decision | Exception, **named: Any) -> Parts:
    """Return the parts of an agent whose model follows a script."""
    named.setdefault("policy", Policy(judge_finish=False))
    return Parts(ScriptedModel(*decisions), Dial(), **named)


@both
def test_other_notes_are_left_alone(run: Running) -> None:
    """Notes of other kinds, which a host has left in the journal, are no part of a run, before it or within it."""
    store = MemoryStore()
    with Session.open(store, NAME, task=TASK) as session:
        session.note("bookmark", "mine")
    assert isinstance(run(scripted(Decision.act("turn 1"), EffectError("timeout", "late")), store), RunFailed)
    with Session.open(store, NAME) as session:
        session.note("bookmark", "no JSON at all")
    assert isinstance(run(scripted(Decision.finish()), store), RunFinished)
    assert rerun(store)[1] is not None


@both
def test_a_note_that_only_looks_like_one_of_a_run(run: Running) -> None:
    """A note of a run's kind that is none is refused by name."""
    for kind, text in (("began", "{}"), ("began", "no JSON"), ("began", "[]")):
        store = MemoryStore()
        with Session.open(store, NAME, task=TASK) as session:
            session.note(kind, text)
        with pytest.raises(BadRunLog, match="version 2"):
            run(parts_of(model_of(1)), store)


def changed(store: MemoryStore, change: Callable[[dict[str, Any]], object]) -> MemoryStore:
    """Return a store with the same session, whose run begins otherwise."""
    other = MemoryStore()
    first = dict(left_by(store).notes[0].data)
    change(first)
    with Session.open(other, NAME, task=TASK) as session:
        session.note("began", encoded(first))
    return other


@both
def test_a_run_of_another_version_is_refused(run: Running) -> None:
    """A run of another program, or one that counts tokens with an unknown counter, is refused, and says what to do."""
    store = MemoryStore()
    run(parts_of(model_of(1)), store)
    other = changed(store, lambda first: first.update(program=99))
    with pytest.raises(BadRunLog, match="another version of mage: begin"):
        run(parts_of(model_of(1)), other)
    assert isinstance(run(parts_of(model_of(1)), other, anew=True), RunFinished)
    with pytest.raises(BadRunLog, match="counts tokens as 'abacus'"):
        run(parts_of(model_of(1)), changed(store, lambda first: first.update(counter="abacus")))
    exact = changed(store, lambda first: first.update(counter="o200k_base"))
    assert isinstance(run(parts_of(model_of(1)), exact), RunFinished)


@both
def test_a_run_anew(run: Running) -> None:
    """A new run goes on from the session as it stands, counts from there, and is the one that is resumed and rerun."""
    store = MemoryStore()
    run(scripted(Decision.act("turn 1"), EffectError("timeout", "late")), store)
    ended = run(scripted(Decision.act("turn 2"), Decision.finish("done")), store, anew=True)
    assert isinstance(ended, RunFinished)
    assert (ended.totals.steps, left_by(store).state.tree.next_step) == (1, 4)
    assert rerun(store)[1] == ended
    assert run(scripted(), store) == ended


class Died(Exception):
    """The process ends here."""


class Dying(Dial):
    """A dial at which the process dies, once it was turned."""

    def act(self, action: str) -> Observed | str:
        """Turn it, and die."""
        super().act(action)
        raise Died


@both
@pytest.mark.parametrize("lives", [1, 2])
def test_a_run_anew_tells_of_an_action_that_was_interrupted(run: Running, lives: int) -> None:
    """A new run knows nothing of what the earlier one has begun; its model is told, once, whatever comes between."""
    store = MemoryStore()
    for _ in range(lives):
        with pytest.raises(Died):
            run(Parts(ScriptedModel(Decision.act("turn 1")), Dying()), store)
    shown: list[Sequence[Notice]] = []
    replies = [Decision.act("look"), Decision.finish()]

    def model(request: Decide, /) -> Decision:
        shown.append(request.notices)
        return replies[len(shown) - 1]

    assert isinstance(run(Parts(model, Dial(), judge=None), store, anew=True), RunFinished)
    assert [[notice.kind for notice in notices] for notices in shown] == [["uncertain"], []]
    assert shown[0][0].said.strip().endswith("turn 1")
    assert rerun(store)[1] is not None


@both
def test_another_task_is_refused(run: Running) -> None:
    """A session for another task is not taken; one that is not there needs a task."""
    store = MemoryStore()
    run(parts_of(model_of(1)), store)
    with pytest.raises(OtherTask):
        run(parts_of(model_of(1)), store, task="another")
    with pytest.raises(UnknownJournal):
        run(parts_of(model_of(1)), MemoryStore(), task=None)
    assert isinstance(run(parts_of(model_of(1)), store, task=None), RunFinished)


@both
def test_two_runs_of_one_session_at_once(run: Running) -> None:
    """The second run of a session, while the first is at work, is stopped by its notes: one of them loses, nothing is."""
    store = MemoryStore()
    seen: list[Outcome] = []
    inner = model_of(2)

    def model(request: Decide, /) -> Any:
        if not seen and request.shown.raw:
            seen.append(TWINS[0](parts_of(model_of(2)), store))
        return inner(request)

    outcome = run(Parts(model, Dial()), store)
    assert isinstance(seen[0], RunFinished)
    assert isinstance(outcome, RunFailed)
    assert (outcome.part, outcome.fault) == ("store", "conflict")
    assert rerun(store)[1] == seen[0]


@both
def test_a_redacted_session_is_resumed(run: Running) -> None:
    """A run whose session had a text taken out that its notes do not need goes on, and its state keeps it out."""
    store = MemoryStore()
    parts = Parts(
        ScriptedModel(Decision.act("turn 1"), Decision.act("turn 2"), EffectError("timeout", "late")),
        Dial(padding=" my secret"),
    )
    assert isinstance(run(parts, store), RunFailed)
    assert redact_in(store, "secret")
    later = scripted(Decision.compress("Turned by 3."), Decision.finish())
    assert isinstance(run(later, store), RunFinished)
    assert "secret" not in str(left_by(store).commands)


def redact_in(store: MemoryStore, secret: str) -> int:
    """Take a secret out of the commands of a session, not out of its notes, and return of how many."""
    changed = [
        redacted(record, places)
        for record in store.read(NAME)
        if not record.body.startswith(NOTE) and (places := places_in(record, re.compile(secret)))
    ]
    store.replace_parts(NAME, changed)
    return len(changed)


@both
def test_a_redaction_changes_nothing_of_what_was_decided(run: Running) -> None:
    """A run that was relieved because of a long observation is followed after that was taken out."""
    store = MemoryStore()
    parts = Parts(
        ScriptedModel(Decision.act("mutter"), Decision.act("look"), EffectError("timeout", "late")),
        Dial(padding=" my secret" * 99),
        policy=Policy(high_water=200),
        judge=None,
    )
    assert isinstance(run(parts, store), RunFailed)
    assert "summarized" in left_by(store).kinds
    redact_in(store, "my secret")
    assert isinstance(run(scripted(Decision.finish(), judge=None), store), RunFinished)


@both
def test_a_redacted_note_is_refused(run: Running) -> None:
    """A run that had a note taken out cannot be followed, and says so; a new one goes on there."""
    store = MemoryStore()
    run(scripted(Decision.act("tell my secret"), EffectError("timeout", "late")), store)
    redact_store(store, NAME, re.compile("secret"))
    with pytest.raises(BadRunLog, match="redacted"):
        run(scripted(), store)
    assert isinstance(run(scripted(Decision.finish()), store, anew=True), RunFinished)


@both
def test_on_a_url(run: Running, tmp_path: Any) -> None:
    """A store named by its URL is opened and closed by the run, which goes on from what it finds there."""
    url = f"sqlite:///{tmp_path}/work.db"
    first = scripted(Decision.act("turn 1"), policy=Policy(max_steps=2, judge_finish=False))
    assert isinstance(run(first, url), RunStopped)
    later = scripted(Decision.finish("done"), policy=Policy(max_steps=3, judge_finish=False))
    outcome = run(later, url)
    assert isinstance(outcome, RunFinished)
    with open_store(url) as store:
        assert rerun(store)[1] == outcome


@both
def test_hooks_hear_the_session_and_the_agent(run: Running) -> None:
    """A hook hears what was recorded and what was asked; one that raises harms nothing; no text is in it."""
    heard: list[object] = []

    def broken(_: object) -> None:
        raise ValueError("mine")

    run(parts_of(model_of(1)), MemoryStore(), on_event=[heard.append, broken])
    names = {type(event).__name__ for event in heard}
    assert names >= {"Asked", "RunEnded"}
    assert any(isinstance(event, events.Grown) for event in heard)
    assert "Turned by" not in str(heard)


@both
def test_what_somebody_raises_is_passed_on(run: Running) -> None:
    """What a model raises, but for `EffectError`, comes out of `run`, and the next run goes on from there."""
    store = MemoryStore()
    with pytest.raises(ZeroDivisionError):
        run(scripted(Decision.act("turn 1"), ZeroDivisionError()), store)
    outcome = run(scripted(Decision.finish()), store)
    assert isinstance(outcome, RunFinished)
    assert outcome.totals.steps == 2


def test_the_plain_twin_is_not_awaited() -> None:
    """An `AsyncAgent` that was given what is called says so, by who."""
    made = awaited_agent(scripted(Decision.finish()))
    wrong: Any = ScriptedModel(Decision.finish())
    broken = AsyncAgent(model=wrong, environment=made.environment)
    with pytest.raises(TypeError, match="the model is awaited here"):
        asyncio.run(broken.run(MemoryStore(), NAME, task=TASK))


def test_a_closed_store_is_raised() -> None:
    """What a store raises before the run has begun is raised."""
    store = MemoryStore()
    store.close()
    with pytest.raises((StoreError, ValueError)):
        called_agent(parts_of(model_of(1))).run(store, NAME, task=TASK, clock=constant, salts=plain)


def test_an_agent_counts_with_what_is_installed() -> None:
    """Without a counter the run takes the one that is there, and keeps its name."""
    store = MemoryStore()
    Agent(model=model_of(1), environment=Dial(), judge=judge, summarizer=summarizer).run(
        store, NAME, task=TASK
    )
    assert left_by(store).notes[0].data["counter"] in ("o200k_base", "estimate")


@both
def test_a_redacted_instruction_that_was_given_twice(run: Running) -> None:
    """A run that was asked twice for the same at one step is refused after that was taken out; nothing is lost.

    The second was not recorded, since it changed nothing; beside the marker it would change something.
    """
    store = MemoryStore()
    parts = scripted(
        Decision.act("turn 3"), Decision.revise(0, "no"), Decision.act("look"), EffectError("timeout", "late")
    )
    assert isinstance(run(parts, store), RunFailed)
    redact_in(store, "Bring it to 3")
    before = left_by(store)
    with pytest.raises(RunDiverged, match="Begin a new run"):
        run(scripted(Decision.finish()), store)
    assert left_by(store) == before


@both
def test_a_redaction_changes_nothing_of_what_was_held_back(run: Running) -> None:
    """A reply whose rest waited because of a long observation is followed after that was taken out."""
    store = MemoryStore()
    parts = Parts(
        ScriptedModel(Decision.act(*["look"] * 3), Decision.act("look"), EffectError("timeout", "late")),
        Dial(padding=" my secret" * 99),
        policy=Policy(high_water=200),
        judge=None,
    )
    assert isinstance(run(parts, store), RunFailed)
    assert left_by(store).kinds.count("summarized") == 2
    redact_in(store, "my secret")
    assert isinstance(run(scripted(Decision.finish(), judge=None), store), RunFinished)
