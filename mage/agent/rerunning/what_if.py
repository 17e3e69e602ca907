"""What if: a new run in which only what was changed is asked, and the rest is answered from the record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, final

import attrs

from mage.agent.durable import Durable
from mage.agent.opening import BEGAN, began, remembered_by, tally_of
from mage.agent.rerunning.answerers import Answerer, Answering, RecordedEnvironment, Tally, Unanswered
from mage.agent.rerunning.exact import Found, Rerun, found_run, rerun, rerun_found, store_at
from mage.agent.rerunning.record import Record, Recording
from mage.agent.restore import capabilities_of
from mage.agent.setting_out import fixed_prompt
from mage.agent.sync import Agent
from mage.agent.tape import TAPE_TASK, encoded, tape_name
from mage.effects import Capabilities, Environment, Judge, Model, Summarizer
from mage.engine import State, Step, StepId, view
from mage.memory.events import AgentHook, heard_by
from mage.memory.guards import BadAgent, require_asked, require_policy
from mage.memory.outcomes import KindOfCall, Outcome, RunStopped
from mage.memory.policy import Policy
from mage.memory.revise import lasting_of
from mage.render.diff import Difference, compare_states
from mage.session import Session
from mage.stores import NOTHING, JournalStore, NameTaken, UnknownJournal, verify

__all__ = ["WhatIf", "what_if"]

_ANEW: Final[tuple[KindOfCall, ...]] = ("judge",)


@final
@attrs.frozen
class WhatIf:
    """What would have come of a run.

    Attributes:
        outcome: how the new run ended; `RunStopped("unanswered", ...)` where somebody would have had to be asked
            who was not given.
        before: the state that the run came to.
        after: the state that the new one came to.
        difference: between what the agent is shown in the two, `before` on the left.
        recorded: how many questions were answered from the record.
        asked: how many somebody live was asked.
        parted: the first question that the record did not answer, in words; empty where there was none.
        name: the session of the new run, and `name.run` its tape.
    """

    outcome: Outcome
    before: State
    after: State
    difference: Difference
    recorded: Tally
    asked: Tally
    parted: str
    name: str


def what_if(
    store: str | JournalStore,
    name: str,
    *,
    judge: Judge | None = None,
    model: Model | None = None,
    summarizer: Summarizer | None = None,
    environment: Environment | None = None,
    policy: Policy | None = None,
    anew: Collection[KindOfCall] = _ANEW,
    into: str | JournalStore = "memory:",
    into_name: str | None = None,
    on_event: AgentHook | Iterable[AgentHook] = (),
    remember: Mapping[str, object] | None = None,
) -> WhatIf:
    """Run a run again with something changed, and say what that changes (issue 5, what-if).

    A question that the run has answered gets the recorded answer (`mage.agent.rerunning.record` says when two are
    the same, and in which order answers come). Any other is put to whom is given here; where nobody is, the new
    run stops there. So with `judge`, that judge is asked about each summary, and all else comes from the record,
    until the two runs part; with `model` and `environment` too, the new run goes on from there.

    What others wrote to the session while it ran is not part of the new run. One whose policy does not wait for
    its judge is told verdicts as soon as they are there, which may be earlier than in the record, and then parts.

    Args:
        store: where the run is: a URL or a store.
        name: its session.
        judge: asked about each summary, also those that the record has a verdict on (see `anew`).
        model: asked what the record does not answer. It is told the tools and the manual of `environment`, else those
            that the run was begun with.
        summarizer: the same. (`mage.agent.extracted` asks nobody.)
        environment: acts where the record does not say what came of it; it is brought there first.
        policy: of the new run; None for the one that the run ended with.
        anew: which of the three are asked even what the record answers, where they are given.
        into: where the new run is kept: a URL or a store.
        into_name: the name of its session; None for `name.what-if`.
        on_event: hears the new run.
        remember: kept with the new run, as by `Agent.run`; None for what the run has kept.

    Raises:
        UnknownJournal, BadTape, TapeDiverged: as from `rerun`.
        NameTaken: there is a session of the new name, or something of the name of its tape.
        BadAgent, BadEnvironment, BadTool: something that is given is of a wrong kind, before anything is kept.

    What anybody who is given raises, but for `EffectError`, is passed on.
    """
    given: dict[KindOfCall, object] = {"judge": judge, "model": model, "summarizer": summarizer}
    _require_sound(given, policy, anew)
    live = None if environment is None else capabilities_of(environment)
    asked_anew = frozenset(who for who in anew if given[who] is not None)
    new_name = f"{name}.what-if" if into_name is None else into_name
    hooks = heard_by(on_event)
    with ExitStack() as stack:
        source = stack.enter_context(store_at(store))
        target = stack.enter_context(store_at(into))
        found = stack.enter_context(found_run(source, name))
        record, before = _record(found)
        said = _introduced(found, model, live)
        told = fixed_prompt(model, said)
        overhead = found.first.counter.count(told) if told else found.first.overhead
        kept = remembered_by(found.recorded) if remember is None else remember
        first = began(
            found.first.version,
            before.policy if policy is None else policy,
            found.first.counter,
            overhead,
            said,
            judged=found.first.judged,
            remembered=kept,
        )
        _begin(source, target, new_name, found, first)
        looking = stack.enter_context(Session.open(target, new_name, wait=False))
        answering = Answering(record, lambda: _now(looking).tree, asked_anew)
        agent = Agent(
            model=Answerer(answering, model),
            environment=RecordedEnvironment(
                answering, environment, lambda path: _lasting(looking, path), said
            ),
            judge=Answerer(answering, judge),
            summarizer=Answerer(answering, summarizer),
        )
        outcome = _run(agent, target, new_name, hooks)
        after = _now(looking)
    difference = compare_states(view(before.state), view(after))
    return WhatIf(
        outcome,
        before.state,
        after,
        difference,
        answering.recorded,
        answering.asked,
        answering.parted,
        new_name,
    )


def _require_sound(
    given: Mapping[KindOfCall, object], policy: Policy | None, anew: Collection[KindOfCall]
) -> None:
    """Do nothing if all that was given can be what it stands for.

    Raises:
        BadAgent: something cannot.
    """
    for who, each in given.items():
        if each is not None:
            require_asked(who, each)
    require_policy(policy)
    unknown = [who for who in anew if who not in given]
    if unknown:
        raise BadAgent(f"anew names {unknown[0]!r}, and may name {', '.join(given)}: anew=['judge']")


def _record(found: Found) -> tuple[Record, Rerun]:
    """Return the record of a run, and what it came to."""
    made: list[Recording] = []

    def watching(durable: Durable) -> Recording:
        made.append(Recording(durable))
        return made[0]

    before = rerun_found(found, watching)
    return made[0].record, before


def _introduced(found: Found, model: Model | None, live: Capabilities | None) -> Capabilities:
    """Return what a model is told of the environment."""
    if live is not None:
        return live
    return Capabilities() if model is None else found.first.introduced


def _begin(
    source: JournalStore,
    target: JournalStore,
    name: str,
    found: Found,
    first: Mapping[str, object],
) -> None:
    """Begin the new run where the old one was begun: a copy of the session up to there, and a tape that begins so.

    Raises:
        NameTaken: there is a session of this name, or something of the name of its tape.
    """
    for each in (name, tape_name(name)):  # both, before one is made: a session alone could not be run
        if _is_taken(target, each):
            raise NameTaken(each)
    target.create(
        name, list(verify(NOTHING, source.read(found.session.name, upto=found.first.version), None))
    )
    with Session.open(target, tape_name(name), task=TAPE_TASK) as tape:
        tape.grow(BEGAN, encoded(first))


def _is_taken(store: JournalStore, name: str) -> bool:
    try:
        store.head(name)
    except UnknownJournal:
        return False
    return True


def _run(agent: Agent, target: JournalStore, name: str, hooks: Iterable[AgentHook]) -> Outcome:
    """Run the new run to its end, or to where somebody would have to be asked who was not given."""
    try:
        return agent.run(target, name, on_event=hooks)
    except Unanswered as end:
        return RunStopped("unanswered", str(end), rerun(target, name).totals)


def _lasting(session: Session, path: Sequence[Step]) -> frozenset[StepId]:
    """Return the steps of a path whose actions were declared to last. Cost: O(journal)."""
    session.refresh()
    lasting = lasting_of(tally_of(session.history()).effects)
    return frozenset(step.id for step in path if step.id in lasting)


def _now(session: Session) -> State:
    session.refresh()
    return session.phase
