"""`AsyncAgent`: a run that awaits. It drives the same program as `Agent`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, final

import attrs

from mage.agent.opening import BEGAN, Begun, begun, recorded, require_no_tape, tape_entries
from mage.agent.performing import Commit, Found, JudgeLater, Note, Perform, Refresh, TellHooks, VerdictOf
from mage.agent.reel import Recorded
from mage.agent.restore import AsyncRestorable, introduced, sound
from mage.agent.setting_out import first_entry, set_out, store_failed
from mage.agent.tape import TAPE_TASK, encoded, tape_name
from mage.effects import (
    Act,
    AsyncEnvironment,
    AsyncJudge,
    AsyncModel,
    AsyncSummarizer,
    Begin,
    Decide,
    EffectError,
    JudgeRequest,
    Metered,
    Restore,
    SummaryRequest,
    Verdict,
    metered,
)
from mage.effects.program import Ask, drive_awaited
from mage.engine import Digest
from mage.memory import guards
from mage.memory.events import AgentHook, heard_by, tell_hooks
from mage.memory.extracted import extracted_awaited
from mage.memory.guards import answer_of
from mage.memory.outcomes import Outcome
from mage.memory.policy import Policy
from mage.session import AsyncSession, Conflict, OtherTask
from mage.stores import (
    AsyncJournalStore,
    Clock,
    JournalStore,
    Salts,
    StoreError,
    now,
    open_store,
    random_salt,
)
from mage.tokens import TokenCounter


@final
@attrs.frozen(kw_only=True)
class AsyncAgent:
    """The twin of `Agent` whose model, environment, judge and summarizer are awaited. See `Agent`."""

    model: AsyncModel = attrs.field(validator=guards.asked)
    environment: AsyncEnvironment = attrs.field(validator=sound)
    judge: AsyncJudge | None = attrs.field(default=None, validator=guards.asked)
    summarizer: AsyncSummarizer | None = attrs.field(default=None, validator=guards.asked)
    policy: Policy | None = attrs.field(default=None, validator=guards.policy)
    counter: TokenCounter | None = attrs.field(default=None, validator=guards.counter)

    async def run(
        self,
        store: str | JournalStore | AsyncJournalStore,
        name: str,
        *,
        task: str | None = None,
        on_event: AgentHook | Iterable[AgentHook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
        remember: Mapping[str, object] | None = None,
    ) -> Outcome:
        """Run until the run ends; see `Agent.run`.

        A cancellation arrives at an await of the model, the judge or the environment, or after the store was written;
        the next `run` goes on from there.
        """
        async with AsyncExitStack() as stack:
            kept = stack.enter_context(open_store(store)) if isinstance(store, str) else store
            hooks = heard_by(on_event)
            session = await stack.enter_async_context(
                await AsyncSession.open(
                    kept, name, task=task, wait=False, on_event=hooks, clock=clock, salts=salts
                )
            )
            tape = await stack.enter_async_context(await _tape(kept, name, clock, salts))
            driving = await stack.enter_async_context(_Driving(self, session, tape, hooks, remember))
            first, found = await driving.find()
            run, running = set_out(self, driving.environment.capabilities, first, found, remember)
            try:
                return await drive_awaited(running, driving.answer)
            except StoreError as error:
                return store_failed(run, error)


async def _tape(
    store: JournalStore | AsyncJournalStore, name: str, clock: Clock, salts: Salts
) -> AsyncSession:
    try:
        return await AsyncSession.open(store, tape_name(name), task=TAPE_TASK, clock=clock, salts=salts)
    except OtherTask:
        tape_entries(tape_name(name), "", ())
        raise


@final
class _Driving:
    """Answers what a durable run asks, by awaiting."""

    def __init__(
        self,
        agent: AsyncAgent,
        session: AsyncSession,
        tape: AsyncSession,
        hooks: tuple[AgentHook, ...],
        remember: Mapping[str, object] | None,
    ) -> None:
        self.environment = AsyncRestorable(agent.environment)
        self._agent = agent
        self._session = session
        self._tape = tape
        self._hooks = hooks
        self._remember = remember
        self._redactions = session.redactions
        self._thinking: dict[Digest, asyncio.Future[Verdict | Metered[Verdict]]] = {}
        self._asked: list[asyncio.Future[Verdict | Metered[Verdict]]] = []

    async def __aenter__(self) -> _Driving:
        return self

    async def __aexit__(self, *_: object) -> None:
        for thinking in self._asked:
            thinking.cancel()
        await asyncio.gather(*self._asked, return_exceptions=True)

    async def find(self) -> tuple[Begun, Recorded]:
        """Return what is there of the run; one that is new is begun."""
        agent, session, tape = self._agent, self._session, self._tape
        require_no_tape(session.name, session.tree.task)
        if tape.version == 1:
            capabilities = self.environment.capabilities
            await self._note(BEGAN, first_entry(agent, capabilities, session.version, self._remember))
        entries = tape_entries(tape.name, tape.tree.task, tape.state().raw)
        first = begun(tape.name, entries, counter=agent.counter)
        before = await session.history(upto=first.version) if first.version > 1 else ()
        after = await session.history(after=first.version)
        return first, recorded(first, (await session.at(first.version)).phase, before, after, entries)

    async def answer(self, asked: Ask[Any]) -> object:  # Any: of whatever answer
        """Answer one ask."""
        match asked:
            case Perform(request):
                return await self._perform(request)
            case Note(kind, data):
                return await self._note(kind, data)
            case Commit(command, meta):
                return await self._session.apply(command, meta=meta)
            case Refresh(after):
                return await self._refresh(after)
            case JudgeLater(request):
                self._judge_later(request)
                return None
            case VerdictOf(digest, wait):
                thinking = self._thinking[digest]
                return metered(await thinking) if wait or thinking.done() else None
            case TellHooks(event):
                tell_hooks(self._hooks, event)
                return None
            case _:
                raise TypeError(f"nobody answers a {type(asked).__name__}")

    async def _perform(self, request: object) -> object:
        match request:
            case Decide():
                return await answer_of(
                    "model", self._agent.model(introduced(request, self.environment.capabilities))
                )
            case Act(action):
                return await self.environment.act(action)
            case JudgeRequest():
                return await self._judge(request)
            case SummaryRequest():
                return await answer_of("summarizer", (self._agent.summarizer or extracted_awaited)(request))
            case Begin():
                return await self.environment.reset()
            case Restore():
                return await self.environment.restore(request)
            case _:
                raise TypeError(f"nobody performs a {type(request).__name__}")

    async def _judge(self, request: JudgeRequest) -> Verdict | Metered[Verdict]:
        if self._agent.judge is None:
            # its policy does not maintain; but the run it resumes had a judge, and was asking it
            raise EffectError("unreachable", "this agent has no judge")
        return await answer_of("judge", self._agent.judge(request))

    def _judge_later(self, request: JudgeRequest) -> None:
        for thinking in self._asked:
            thinking.cancel()  # about what was left behind: nobody waits for it
        self._thinking = {request.digest: asyncio.ensure_future(self._judge(request))}
        self._asked.extend(self._thinking.values())

    async def _note(self, kind: str, data: Mapping[str, object]) -> object:
        return await self._tape.grow(kind, encoded(data))

    async def _refresh(self, after: int) -> Found:
        session, before = self._session, self._session.head
        found = await session.refresh()
        if found != before and (
            found.version <= before.version or (await session.at(before.version)).head != before
        ):
            raise Conflict(before, found)  # deleted, and created anew under this name
        state = None if session.redactions == self._redactions else (await session.at(after)).phase
        self._redactions = session.redactions
        return Found(await session.history(after=after) if session.version > after else (), state)
