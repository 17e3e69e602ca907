"""`AsyncSession`: the same session, changed by awaits. It runs the same programs as `Session`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import AsyncExitStack, closing
from inspect import isawaitable, iscoroutinefunction
from types import TracebackType
from typing import Any, Self, TypeVar, cast, final

import attrs

from mage.effects import AsyncJudge, Metered
from mage.effects.program import Ask, Program, drive_awaited
from mage.engine import (
    Accept,
    Compress,
    Digest,
    Grow,
    Instruct,
    Kind,
    Retext,
    Revise,
    Revised,
    State,
    StepId,
    Verdict,
)
from mage.engine.journal import Operation
from mage.session.asks import AskJudge, Tell, Turn
from mage.session.core import Core, Written
from mage.session.drivers import answer_awaited
from mage.session.errors import WrongLoop
from mage.session.events import Event
from mage.session.leases import Lease
from mage.session.loading import Entry, Noted
from mage.session.opening import SNAPSHOT_EVERY, Meta, Settings, beginning
from mage.session.reading import Moment, Readable
from mage.session.telling import Hook, as_hooks, tell
from mage.stores import (
    AsyncJournalStore,
    Clock,
    Head,
    JournalStore,
    Note,
    Salts,
    in_thread,
    now,
    open_store,
    random_salt,
)
from mage.stores.opening import opened_in_thread, to_its_end
from mage.stores.protocol import Home

Answer = TypeVar("Answer")


@final
class AsyncSession(Readable):
    """The twin of `Session` whose operations are awaited: the same names, arguments, results and errors.

    Tasks of one event loop may share it; once that loop is closed it belongs to the next one it is used in, and
    in another before that it raises `WrongLoop`. A cancellation while the store is written arrives when that is
    over: the operation is then done, and the session says so; at any other await it leaves the session
    where it was.
    """

    def __init__(
        self,
        core: Core,
        store: AsyncJournalStore,
        lease: Lease,
        judge: AsyncJudge | None,
        hooks: tuple[Hook, ...],
    ) -> None:
        """Use `AsyncSession.open`."""
        self._core = core
        self._store = store
        self._lease = lease
        self._judge = judge
        self._hooks = hooks
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._home = Home(f"session {core.settings.name!r}")

    @classmethod
    async def open(
        cls,
        store: str | JournalStore | AsyncJournalStore,
        name: str,
        *,
        task: str | None = None,
        judge: AsyncJudge | None = None,
        wait: bool = True,
        on_event: Hook | Iterable[Hook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
        snapshot_every: int | None = SNAPSHOT_EVERY,
    ) -> AsyncSession:
        """Open the session `name` of a store, or create it for `task`. See `Session.open`.

        `store` is a URL, an awaitable store, or a plain one, which is used in threads (`in_thread`).
        A judge that cannot be awaited is a `TypeError` when it is asked; what it was asked about is pending.
        """
        hooks, lease = as_hooks(on_event), Lease(owned=isinstance(store, str))
        settings = Settings(name, judge is not None, clock, salts, snapshot_every)
        async with AsyncExitStack() as undo:
            opened = await to_its_end(_opened(store, clock, undo))
            told: list[Event] = []
            program = beginning(settings, task)
            loaded = await to_its_end(drive_awaited(program, lambda asked: _from_store(opened, asked, told)))
            session = cls(Core(settings, loaded), opened, lease, judge, hooks)
            tell(session._hooks, told)
            if wait:
                await session._run(session._core.resume())
            undo.pop_all()
            return session

    async def instruct(self, text: str, *, standing: bool = False, meta: Meta | None = None) -> State:
        """See `Session.instruct`."""
        return (await self._operate(Instruct(text, standing), meta=meta)).slot.state

    async def grow(self, action: str, observation: str, *, meta: Meta | None = None) -> State:
        """See `Session.grow`."""
        return (await self._operate(Grow(action, observation), meta=meta)).slot.state

    async def apply(self, *commands: Operation, meta: Meta | None = None) -> State:
        """Carry out commands that are given as values, in one write: all of them or none. The judge is not asked.

        Args:
            commands: each on the state that the one before leaves.
            meta: goes with the last of them.

        Raises:
            Refused: the state refuses one of them.
            Conflict: others have written.
        """
        return (await self._operate(*commands, meta=meta)).slot.state

    async def compress(
        self, text: str, *, kind: Kind = "subgoal", wait: bool = True, meta: Meta | None = None
    ) -> State:
        """See `Session.compress`."""
        return await self._run(self._core.summarize(Compress(text, kind), meta, wait=wait))

    async def retext(self, text: str, *, wait: bool = True, meta: Meta | None = None) -> State:
        """See `Session.retext`."""
        return await self._run(self._core.summarize(Retext(text), meta, wait=wait))

    async def judge(
        self,
        verdict: Verdict | Metered[Verdict],
        digest: Digest | str | None = None,
        *,
        meta: Meta | None = None,
    ) -> State:
        """See `Session.judge`."""
        return (await self._run(self._core.judge(verdict, digest, meta))).slot.state

    async def accept(self, *, meta: Meta | None = None) -> State:
        """See `Session.accept`."""
        return (await self._operate(Accept(), meta=meta)).slot.state

    async def revise(self, boundary: StepId | int, lesson: str = "", *, meta: Meta | None = None) -> Revised:
        """See `Session.revise`."""
        return await self._run(self._core.revise(Revise(boundary, lesson), meta))

    async def fold(
        self,
        first: StepId | int,
        last: StepId | int,
        text: str,
        digest: Digest | str | None = None,
        *,
        meta: Meta | None = None,
    ) -> State:
        """See `Session.fold`."""
        folding = self._core.folding(first, last, text, digest)
        return (await self._operate(folding, meta=meta)).slot.state

    async def note(self, kind: str, text: str, *, meta: Meta | None = None) -> Head:
        """See `Session.note`."""
        return await self._run(self._core.note(Note(kind, text), meta))

    async def fork(self, name: str, *, at: int | None = None) -> AsyncSession:
        """See `Session.fork`."""
        loaded = await self._run(self._core.fork(name, at))
        core = Core(attrs.evolve(self._core.settings, name=name), loaded)
        return type(self)(core, self._store, self._lease.shared(), self._judge, self._hooks)

    async def at(self, version: int) -> Moment:
        """See `Session.at`."""
        return self._moment(await self._run(self._core.at(version)))

    async def history(self, *, after: int = 0, upto: int | None = None) -> tuple[Entry, ...]:
        """See `Session.history`."""
        return await self._run(self._core.history(after, upto))

    async def log(self, *, after: int = 0, upto: int | None = None) -> tuple[Entry | Noted, ...]:
        """See `Session.log`."""
        return await self._run(self._core.log(after, upto))

    async def refresh(self) -> Head:
        """See `Session.refresh`."""
        return await self._run(self._core.refresh())

    async def close(self) -> None:
        """See `Session.close`."""
        if not self._home.is_here:
            self._core.closed = True
            return
        self._require_loop()
        async with self._lock:
            if self._core.closed:
                return
            self._core.closed = True
        if self._lease.ended():
            await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.close()

    async def _operate(self, *commands: Operation, meta: Meta | None) -> Written:
        return await self._run(self._core.operate(*commands, meta=meta))

    async def _run(self, program: Program[Answer]) -> Answer:
        with closing(program):
            self._home.require()
            self._require_loop()
            return await drive_awaited(program, self._answer)

    def _require_loop(self) -> None:
        """Take the running loop for one's own once the old one is closed: nobody waits for the lock there."""
        running = asyncio.get_running_loop()
        if running is self._loop:
            return
        if not self._loop.is_closed():
            raise WrongLoop(self._core.settings.name)
        self._loop, self._lock = running, asyncio.Lock()

    async def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Turn(program):
                return await self._turn(program)
            case AskJudge(request) if self._judge is not None:
                return await _awaitable(self._judge(request))
            case _:
                return await answer_awaited(self._store, asked)

    async def _turn(self, program: Program[object]) -> object:
        told: list[Event] = []
        try:
            with closing(program):
                async with self._lock:
                    return await to_its_end(
                        drive_awaited(program, lambda asked: _from_store(self._store, asked, told))
                    )
        finally:
            tell(self._hooks, told)


def _awaitable(asked: object) -> Awaitable[object]:
    """Return what a judge gave to be awaited.

    Raises:
        TypeError: it is a plain judge.
    """
    if not isawaitable(asked):
        raise TypeError(
            f"the judge of an AsyncSession is awaited, but this one returned a {type(asked).__name__}:"
            " give it an async one; the summary is still pending"
        )
    return asked


async def _from_store(store: AsyncJournalStore, asked: Ask[Any], told: list[Event]) -> object:
    if isinstance(asked, Tell):
        told.append(asked.event)
        return None
    return await answer_awaited(store, asked)


async def _opened(
    store: str | JournalStore | AsyncJournalStore, clock: Clock, undo: AsyncExitStack
) -> AsyncJournalStore:
    """Return the store to be awaited; one that is opened here is closed by `undo`."""
    if isinstance(store, str):
        url = store
        opened = await opened_in_thread(lambda: open_store(url, clock=clock))
        undo.push_async_callback(opened.close)
        return opened
    if iscoroutinefunction(store.append):
        return cast("AsyncJournalStore", store)
    return in_thread(cast("JournalStore", store))
