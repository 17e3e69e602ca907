"""How a run is found in a store: what is refused, what two runs do to each other, and what a redaction does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from mage import Session
from mage.agent import (
    Agent,
    AsyncAgent,
    BadTape,
    Outcome,
    Policy,
    RunFailed,
    RunFinished,
    RunStopped,
    TapeDiverged,
    tape_name,
)
from mage.agent.tape import TAPE_TASK, encoded
from mage.cli.redact import redact_store
from mage.effects import Decide, Decision, EffectError
from mage.session import OtherTask, events
from mage.stores import MemoryStore, StoreError, UnknownJournal, open_store
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
    return Parts(ScriptedModel(*decisions), Dial(), **named)


@both
def test_a_session_that_is_named_like_a_tape(run: Running) -> None:
    """Where a session has the name that the tape would have, the run is refused, and the session left as it is."""
    store = MemoryStore()
    Session.open(store, tape_name(NAME), task="something of mine").close()
    with pytest.raises(BadTape, match="choose another name"):
        run(parts_of(model_of(1)), store)
    assert store.head(tape_name(NAME)).version == 1


@both
def test_a_journal_that_is_no_tape(run: Running) -> None:
    """A journal of that name with the task of a tape and something else in it is refused by name."""
    for steps in (["began", "{}"], ["hello", "{}"], ["began", "no JSON"], ["began", "[]"]):
        store = MemoryStore()
        with Session.open(store, tape_name(NAME), task=TAPE_TASK) as tape:
            tape.grow(*steps)
        with pytest.raises(BadTape, match=r"s\.run|entry 1"):
            run(parts_of(model_of(1)), store)


def changed(store: MemoryStore, change: Callable[[dict[str, Any]], object]) -> MemoryStore:
    """Return a store with the same session, whose tape begins otherwise."""
    other = MemoryStore()
    left = left_by(store)
    with Session.open(other, NAME, task=TASK):
        pass
    first = dict(left.tape[0].data)
    change(first)
    with Session.open(other, tape_name(NAME), task=TAPE_TASK) as tape:
        tape.grow("began", encoded(first))
    return other


@both
def test_a_tape_of_another_version_is_refused(run: Running) -> None:
    """A tape of another program, or one that counts tokens as nobody here can, is refused, and says what to do."""
    store = MemoryStore()
    run(parts_of(model_of(1)), store)
    with pytest.raises(BadTape, match="another version of mage: fork"):
        run(parts_of(model_of(1)), changed(store, lambda first: first.update(program=99)))
    with pytest.raises(BadTape, match="counts tokens as 'abacus'"):
        run(parts_of(model_of(1)), changed(store, lambda first: first.update(counter="abacus")))
    exact = changed(store, lambda first: first.update(counter="o200k_base"))
    assert isinstance(run(parts_of(model_of(1)), exact), RunFinished)


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
def test_a_session_that_lost_commands(run: Running) -> None:
    """A session that was deleted and made anew under a tape that is still there is not followed."""
    store = MemoryStore()
    run(parts_of(model_of(1)), store)
    store.delete(NAME)
    with pytest.raises(TapeDiverged, match="lost commands"):
        run(parts_of(model_of(1)), store)


@both
def test_two_runs_of_one_session_at_once(run: Running) -> None:
    """The second run of a session, while the first is at work, is stopped by the tape: one of them loses, nothing is."""
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
    assert outcome.reason == "store: conflict"
    assert rerun(store)[1] == seen[0]


@both
def test_a_redacted_session_is_resumed(run: Running) -> None:
    """A run whose session and tape had a text taken out goes on, and its state keeps it out."""
    store = MemoryStore()
    parts = scripted(
        Decision.act("turn 1"),
        Decision.act("tell my secret"),
        Decision.act("turn 2"),
        EffectError("timeout", "late"),
    )
    assert isinstance(run(parts, store), RunFailed)
    assert redact_in(store, NAME, "secret")
    later = scripted(Decision.compress("Turned by 3."), Decision.finish())
    assert isinstance(run(later, store), RunFinished)
    assert "secret" not in str(left_by(store).commands)


def redact_in(store: MemoryStore, name: str, secret: str) -> int:
    """Take a secret out of one journal, and return of how many texts."""
    return len(redact_store(store, name, re.compile(secret)))


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
    redact_in(store, NAME, "my secret")
    assert isinstance(run(scripted(Decision.finish(), judge=None), store), RunFinished)


@both
def test_a_redacted_tape_is_refused(run: Running) -> None:
    """A tape that had an entry taken out cannot be followed, and says so."""
    store = MemoryStore()
    run(scripted(Decision.act("tell my secret"), EffectError("timeout", "late")), store)
    redact_in(store, tape_name(NAME), "secret")
    with pytest.raises(BadTape, match="redacted"):
        run(scripted(), store)


@both
def test_on_a_url(run: Running, tmp_path: Any) -> None:
    """A store named by its URL is opened and closed by the run, which goes on from what it finds there."""
    url = f"sqlite:///{tmp_path}/work.db"
    first = scripted(Decision.act("turn 1"), policy=Policy(max_steps=2))
    assert isinstance(run(first, url), RunStopped)
    later = scripted(Decision.finish("done"), policy=Policy(max_steps=3))
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
    assert left_by(store).tape[0].data["counter"] in ("o200k_base", "estimate")


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
    redact_in(store, NAME, "Bring it to 3")
    before = left_by(store)
    with pytest.raises(TapeDiverged, match=r"[Ff]ork"):
        run(scripted(Decision.finish()), store)
    assert left_by(store) == before


@both
def test_a_redaction_changes_nothing_of_what_was_held_back(run: Running) -> None:
    """A reply whose rest waited because of a long observation is followed after that was taken out."""
    store = MemoryStore()
    parts = Parts(
        ScriptedModel(Decision.act("look", "look", "look"), EffectError("timeout", "late")),
        Dial(padding=" my secret" * 99),
        policy=Policy(high_water=200),
        judge=None,
    )
    assert isinstance(run(parts, store), RunFailed)
    assert left_by(store).kinds.count("summarized") == 2
    redact_in(store, NAME, "my secret")
    assert isinstance(run(scripted(Decision.finish(), judge=None), store), RunFinished)
