"""`Agent`: a run that calls. `AsyncAgent` is its twin that awaits; both drive the same program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any, final

import attrs

from mage.agent.opening import BEGAN, Begun, begun, recorded, require_no_tape, tape_entries
from mage.agent.performing import Commit, Found, JudgeLater, Note, Perform, Refresh, TellHooks, VerdictOf
from mage.agent.reel import Recorded
from mage.agent.restore import Restorable, introduced, sound
from mage.agent.setting_out import first_entry, set_out, store_failed
from mage.agent.tape import TAPE_TASK, encoded, tape_name
from mage.effects import (
    Act,
    Begin,
    Decide,
    EffectError,
    Environment,
    Judge,
    JudgeRequest,
    Metered,
    Model,
    Restore,
    Summarizer,
    SummaryRequest,
    Verdict,
    metered,
)
from mage.effects.program import Ask, drive
from mage.engine import Digest
from mage.memory import guards
from mage.memory.events import AgentHook, heard_by, tell_hooks
from mage.memory.extracted import extracted
from mage.memory.outcomes import Outcome
from mage.memory.policy import Policy
from mage.memory.thinking import thought_about
from mage.session import Conflict, OtherTask, Session
from mage.stores import Clock, JournalStore, Salts, StoreError, now, open_store, random_salt
from mage.tokens import TokenCounter


@final
@attrs.frozen(kw_only=True)
class Agent:
    """An agent: a model, an environment to act in, and a judge of what it claims.

        agent = Agent(model=my_model, environment=MyEnvironment(), judge=my_judge)
        outcome = agent.run("sqlite:///work.db", "monday", task="Buy a desk, then a chair that fits it.")

    Attributes:
        model: decides what to do next.
        environment: where it acts. The model is told its tools and its manual with each question.
        judge: is asked about each summary. None: each is accepted openly, and S says so.
        summarizer: writes the text where a segment grows too long, and where a judge wants another. None: an
            extract, without a model.
        policy: the choices that the paper leaves open. None: of a resumed run the ones that it had, else the defaults.
        counter: counts tokens. None: exact, where `toktok-rs` is installed. A resumed run keeps the one it had.
    """

    model: Model = attrs.field(validator=guards.asked)
    environment: Environment = attrs.field(validator=sound)
    judge: Judge | None = attrs.field(default=None, validator=guards.asked)
    summarizer: Summarizer | None = attrs.field(default=None, validator=guards.asked)
    policy: Policy | None = attrs.field(default=None, validator=guards.policy)
    counter: TokenCounter | None = attrs.field(default=None, validator=guards.counter)

    def run(
        self,
        store: str | JournalStore,
        name: str,
        *,
        task: str | None = None,
        on_event: AgentHook | Iterable[AgentHook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
        remember: Mapping[str, object] | None = None,
    ) -> Outcome:
        """Run until the run ends: begin it, or go on where it was interrupted, stopped or failed (Section 3.2).

        The session `name` holds what is done, the journal `name.run` beside it what was answered (its tape).
        A run that has finished is not run again, unless somebody has written to its session since.

        Args:
            store: a URL (see `mage.stores.open_store`) or a store.
            name: of the session.
            task: needed to begin one.
            on_event: hears the events of the session and of the agent; no text is in them.
            clock: gives the time of each record.
            salts: gives the salt of each text.
            remember: JSON that is kept with the run for whoever resumes it, such as the name of the model, and never
                read here; `mage.agent.remembered` returns it. None: what was kept before stays.

        Returns:
            How it ended. Cost: what it asks; and to resume, one look at all of its tape and journal.

        Raises:
            UnknownJournal: there is no such session, and no task to create it for.
            OtherTask: it is for another task.
            BadTape, TapeDiverged: its tape cannot be followed.
            StoreError: the store cannot be opened. (Once it runs, that is a `RunFailed`.)

        What a model, judge, summarizer or environment raises, but for `EffectError`, is passed on. Nothing is lost by
        that: the next `run` goes on from there.
        """
        with ExitStack() as stack:
            kept = stack.enter_context(open_store(store)) if isinstance(store, str) else store
            hooks = heard_by(on_event)
            session = stack.enter_context(
                Session.open(kept, name, task=task, wait=False, on_event=hooks, clock=clock, salts=salts)
            )
            tape = stack.enter_context(_tape(kept, name, clock, salts))
            driving = _Driving(self, session, tape, hooks, remember)
            first, found = driving.find()
            run, running = set_out(self, driving.environment.capabilities, first, found, remember)
            try:
                return drive(running, driving.answer)
            except StoreError as error:
                return store_failed(run, error)


def _tape(store: JournalStore, name: str, clock: Clock, salts: Salts) -> Session:
    try:
        return Session.open(store, tape_name(name), task=TAPE_TASK, clock=clock, salts=salts)
    except OtherTask:
        tape_entries(tape_name(name), "", ())
        raise


@final
class _Driving:
    """Answers what a durable run asks, by calling."""

    def __init__(
        self,
        agent: Agent,
        session: Session,
        tape: Session,
        hooks: tuple[AgentHook, ...],
        remember: Mapping[str, object] | None,
    ) -> None:
        self.environment = Restorable(agent.environment)
        self._agent = agent
        self._session = session
        self._tape = tape
        self._hooks = hooks
        self._remember = remember
        self._redactions = session.redactions
        self._thinking: dict[Digest, Future[Verdict | Metered[Verdict]]] = {}

    def find(self) -> tuple[Begun, Recorded]:
        """Return what is there of the run; one that is new is begun."""
        agent, session, tape = self._agent, self._session, self._tape
        require_no_tape(session.name, session.tree.task)
        if tape.version == 1:
            capabilities = self.environment.capabilities
            self._note(BEGAN, first_entry(agent, capabilities, session.version, self._remember))
        entries = tape_entries(tape.name, tape.tree.task, tape.state().raw)
        first = begun(tape.name, entries, counter=agent.counter)
        before = session.history(upto=first.version) if first.version > 1 else ()
        after = session.history(after=first.version)
        return first, recorded(first, session.at(first.version).phase, before, after, entries)

    def answer(self, asked: Ask[Any]) -> object:  # Any: of whatever answer
        """Answer one ask."""
        match asked:
            case Perform(request):
                return self._perform(request)
            case Note(kind, data):
                return self._note(kind, data)
            case Commit(command, meta):
                return self._session.apply(command, meta=meta)
            case Refresh(after):
                return self._refresh(after)
            case JudgeLater(request):
                return self._judge_later(request)
            case VerdictOf(digest, wait):
                thinking = self._thinking[digest]
                return metered(thinking.result()) if wait or thinking.done() else None
            case TellHooks(event):
                tell_hooks(self._hooks, event)
                return None
            case _:
                raise TypeError(f"nobody answers a {type(asked).__name__}")

    def _perform(self, request: object) -> object:
        match request:
            case Decide():
                return self._agent.model(introduced(request, self.environment.capabilities))
            case Act(action):
                return self.environment.act(action)
            case JudgeRequest():
                return self._judge(request)
            case SummaryRequest():
                return (self._agent.summarizer or extracted)(request)
            case Begin():
                return self.environment.reset()
            case Restore():
                return self.environment.restore(request)
            case _:
                raise TypeError(f"nobody performs a {type(request).__name__}")

    def _judge(self, request: JudgeRequest) -> Verdict | Metered[Verdict]:
        if self._agent.judge is None:
            # its policy does not maintain; but the run it resumes had a judge, and was asking it
            raise EffectError("unreachable", "this agent has no judge")
        return self._agent.judge(request)

    def _judge_later(self, request: JudgeRequest) -> object:
        # nobody waits for what was asked about a summary that was left behind
        self._thinking = {request.digest: thought_about(request, self._judge)}
        return None

    def _note(self, kind: str, data: Mapping[str, object]) -> object:
        return self._tape.grow(kind, encoded(data))

    def _refresh(self, after: int) -> Found:
        session, before = self._session, self._session.head
        found = session.refresh()
        if found != before and (found.version <= before.version or session.at(before.version).head != before):
            raise Conflict(before, found)  # deleted, and created anew under this name
        state = None if session.redactions == self._redactions else session.at(after).phase
        self._redactions = session.redactions
        return Found(session.history(after=after) if session.version > after else (), state)
