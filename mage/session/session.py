"""`Session`: the durable state of an agent, changed by calls; and its awaited twin `AsyncSession`.

Both run the same programs (`mage.session.core`); they differ in how they ask the store and the judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack, ExitStack, closing
from inspect import isawaitable, iscoroutinefunction
from threading import Lock
from typing import Any, Generic, Self, TypeVar, cast, final

import attrs

from mage.effects import AsyncJudge, Judge, Metered
from mage.effects.questions import Ask, Program, drive, drive_awaited
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
from mage.session.core import Core, Moment, Readable
from mage.session.drivers import AskJudge, Tell, Turn, WrongLoop, answer, answer_awaited, collector_paused
from mage.session.events import Event, Hook, as_hooks, tell
from mage.session.loading import SNAPSHOT_EVERY, Entry, Loaded, Meta, Noted, Settings, beginning
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
_Store = TypeVar("_Store", JournalStore, AsyncJournalStore)
_Judge = TypeVar("_Judge", Judge, AsyncJudge)


@final
class _Lease:
    """Counts the sessions on a store that `open` has opened; a store that the caller has opened is never closed."""

    def __init__(self, *, owned: bool) -> None:
        self._owned = owned
        self._users = 1
        self._lock = Lock()

    def shared(self) -> Self:
        with self._lock:
            self._users += 1
        return self

    def ended(self) -> bool:
        """Count one session less, and tell whether the store must be closed now."""
        with self._lock:
            self._users -= 1
            return self._owned and self._users == 0


class _Twin(Readable, Generic[_Store, _Judge]):
    """The common half of both twins: their parts, without I/O."""

    def __init__(
        self, core: Core, store: _Store, lease: _Lease, judge: _Judge | None, hooks: tuple[Hook, ...]
    ) -> None:
        """Use `open`."""
        self._core = core
        self._store: _Store = store
        self._lease = lease
        self._judge: _Judge | None = judge
        self._hooks = hooks
        self._lock = Lock()
        self._home = Home(f"session {core.settings.name!r}")

    def _forked(self, name: str, loaded: Loaded) -> Self:
        core = Core(attrs.evolve(self._core.settings, name=name), loaded)
        return type(self)(core, self._store, self._lease.shared(), self._judge, self._hooks)


@final
class Session(_Twin[JournalStore, Judge]):
    """The state of one agent, kept in a store and changed by one operation at a time.

    Every operation is durable before it returns; an operation that raises has changed nothing, unless its text says
    otherwise. A refusal is raised as `Refused`. If another writer has moved the head, `Conflict` is raised, and `refresh`
    reads the new records. Threads may share a session, processes a store. `meta`, a JSON object such as call ids, usage
    and references, is kept beside the command and is no part of the state.

    Every operation may also raise `IllegalPhase`, `SessionClosed`, `BadMeta`, and the errors of a store, such as
    `Conflict`, and `WrongProcess` in a fork of the process that opened the session.
    """

    @classmethod
    def open(
        cls,
        store: str | JournalStore,
        name: str,
        *,
        task: str | None = None,
        judge: Judge | None = None,
        wait: bool = True,
        on_event: Hook | Iterable[Hook] = (),
        clock: Clock = now,
        salts: Salts = random_salt,
        snapshot_every: int | None = SNAPSHOT_EVERY,
    ) -> Session:
        """Open the session `name` of a store, or create it for `task`.

        Args:
            store: a URL (see `mage.stores.open_store`), whose store is closed with the last session on it;
                or a store, which stays open.
            name: the name of the session: any text of 1 to 255 characters.
            task: the task, needed to create a session. A session that exists must have this task.
            judge: is asked about each summary, and by `open` about a pending summary. If the judge raises then, `open`
                raises the same error, and no session is open.
            wait: False to leave a pending summary pending; `open` does not ask the judge then.
            on_event: is called with every event of the session (`mage.session.events`).
            clock: gives the time of each record.
            salts: gives the salt of each text.
            snapshot_every: the least number of commands between snapshots; None to write and read no snapshot, so
                that every record is verified.

        Returns:
            The session. Cost: O(size of the newest snapshot + records after it).

        Raises:
            UnknownJournal: the session does not exist, and no task was given to create it.
            OtherTask: the session exists and has another task.
            DamagedRecord: a record of the session is damaged.
            TypeError: a hook is an `async def`.
        """
        hooks, lease = as_hooks(on_event), _Lease(owned=isinstance(store, str))
        settings = Settings(name, judge is not None, clock, salts, snapshot_every)
        with ExitStack() as undo:
            opened = open_store(store, clock=clock) if isinstance(store, str) else store
            if isinstance(store, str):
                undo.callback(opened.close)
            heard: list[Event] = []
            with collector_paused():  # else the collector visits every record while a long journal is read
                loaded = drive(beginning(settings, task), lambda asked: _from_store(opened, asked, heard))
            session = cls(Core(settings, loaded), opened, lease, judge, hooks)
            tell(session._hooks, heard)
            if wait:
                session._run(session._core.resume())
            undo.pop_all()
            return session

    def instruct(self, text: str, *, standing: bool = False, meta: Meta | None = None) -> State:
        """Place an instruction at the step head (D17); see `mage.engine.instruct`.

        Returns:
            The phase after the command, as from all operations but `revise`.

        Raises:
            Refused: `BlankInstruction`.
        """
        return self._run(self._core.operate(Instruct(text, standing), meta=meta))

    def grow(self, action: str, observation: str, *, meta: Meta | None = None) -> State:
        """Record an action and its observation; see `mage.engine.grow`."""
        return self._run(self._core.operate(Grow(action, observation), meta=meta))

    def apply(self, *commands: Operation, meta: Meta | None = None) -> State:
        """Carry out commands in one write: all of them or none. The judge is not asked.

        Args:
            commands: each is applied to the state after the one before.
            meta: is kept beside the last command.

        Raises:
            Refused: a command is refused.
        """
        return self._run(self._core.operate(*commands, meta=meta))

    def compress(
        self, text: str, *, kind: Kind = "subgoal", wait: bool = True, meta: Meta | None = None
    ) -> State:
        """Replace steps by a summary, and have it judged; see `mage.engine.compress`.

        With a judge these are two commands, each durable: the compress, and the verdict, which is recorded behind the
        steps and instructions that any session has added meanwhile. If the judge raises, if its answer is refused, or
        if the summary or its text was abandoned meanwhile, the error is raised and the compress stands. Ask again with
        `retext` or `judge(my_judge(judge_request()))`.

        Args:
            text: the text that the agent will read instead of the steps.
            kind: `"subgoal"`, or `"fallback"` where the subgoal is not over (D12).
            wait: False to leave the summary pending until its verdict is given to `judge`.
            meta: is kept beside the compress.

        Returns:
            `Active` or `Rejected` after a verdict, else `Unverified`.

        Raises:
            Refused: `EmptySegment` or `BlankSummary`; `BlankFeedback` from the judge; `StaleVerdict` where this
                session has abandoned the summary or its text before the judge answered.
            Conflict: another writer came before the compress, or has abandoned the summary or its text meanwhile.
            NotAVerdict: the judge's answer is no verdict.
        """
        return self._run(self._core.summarize(Compress(text, kind), meta, wait=wait))

    def retext(self, text: str, *, wait: bool = True, meta: Meta | None = None) -> State:
        """Give the summary head a new text (D16), and have it judged as after `compress`; see `mage.engine.retext`.

        Raises:
            Refused: `BlankSummary`; `BlankFeedback` or `StaleVerdict`, as for `compress`.
            Conflict, NotAVerdict: as for `compress`.
        """
        return self._run(self._core.summarize(Retext(text), meta, wait=wait))

    def judge(
        self,
        verdict: Verdict | Metered[Verdict],
        digest: Digest | str | None = None,
        *,
        meta: Meta | None = None,
    ) -> State:
        """Record a verdict; see `mage.engine.apply_verdict`.

        Args:
            verdict: `Passed()` or `Failed(feedback, fault, boundary)`, or `Metered`, whose usage is kept beside it.
            digest: the digest of the request that the verdict answers. None means the summary pending now, whichever
                that is: give the digest where the summary may have changed since you asked the judge.
            meta: is kept beside the verdict.

        Raises:
            Refused: `StaleVerdict`, `UnknownBoundary` or `BlankFeedback`.
            Conflict: another writer has abandoned the summary or its text. (New steps alone cause no conflict.)
            NotAVerdict: `verdict` is no verdict.
        """
        return self._run(self._core.judge(verdict, digest, meta))

    def accept(self, *, meta: Meta | None = None) -> State:
        """Go on without a pass, openly (D6); see `mage.engine.accept`."""
        return self._run(self._core.operate(Accept(), meta=meta))

    def revise(self, boundary: StepId | int, lesson: str = "", *, meta: Meta | None = None) -> Revised:
        """Go back to a boundary, and leave the lesson there (D7); see `mage.engine.revise`.

        Returns:
            The phase after the revise, and the abandoned steps and instructions: undo the steps in the environment, and
            place the instructions again.

        Raises:
            Refused: `UnknownBoundary`, which names the legal ones.
        """
        return self._run(self._core.revise(Revise(boundary, lesson), meta))

    def fold(
        self,
        first: StepId | int,
        last: StepId | int,
        text: str,
        digest: Digest | str | None = None,
        *,
        meta: Meta | None = None,
    ) -> State:
        """Replace consecutive lines of C by one text, after it was judged (D19); see `mage.engine.fold`.

        The session does not ask its judge: ask a judge with `fold_request` before.

        Args:
            first: the label of the first line.
            last: the boundary of the last line.
            text: the text that C shows instead.
            digest: the digest of the request that was judged. None means the present lines, whichever those are:
                give the digest where the lines may have changed since they were judged.
            meta: is kept beside the fold.

        Raises:
            Refused: `UnfoldableRange`, `BlankSummary` or `StaleVerdict`.
        """
        return self._run(self._core.operate(self._core.folding(first, last, text, digest), meta=meta))

    def note(self, kind: str, text: str, *, meta: Meta | None = None) -> Head:
        """Append a note: a text between the commands that does not change the state.

        The note is appended behind commands that other writers have given meanwhile; this session reads those. Notes
        tell one story, so only one session may append notes at a time.

        Args:
            kind: the kind of the text, such as `"decided"`.
            text: any text. A note is kept, forked, exported, redacted and dropped with its session.
            meta: is kept beside the note.

        Returns:
            The head with the note. Cost: one append.

        Raises:
            BadNote: `kind` is not allowed.
            Conflict: another session has appended a note; refresh, and read it.
        """
        return self._run(self._core.note(Note(kind, text), meta))

    def fork(self, name: str, *, at: int | None = None) -> Session:
        """Make the session `name`, which starts at a version of this session; no record is copied.

        Args:
            name: the name of the fork.
            at: a version up to the present one of this session; None for the present one.

        Returns:
            The fork, with the judge, hooks, clock and salts of this session. A pending summary stays pending.

        Raises:
            NameTaken: a session of that name exists.
            UnknownVersion: this session has no such version.
        """
        return self._forked(name, self._run(self._core.fork(name, at)))

    def at(self, version: int) -> Moment:
        """Return an earlier version, read-only. Cost: O(newest snapshot before it + records after that snapshot).

        Raises:
            UnknownVersion: this session has no such version.
            Conflict: the name belongs to another journal now.
        """
        return self._moment(self._run(self._core.at(version)))

    def history(self, *, after: int = 0, upto: int | None = None) -> tuple[Entry, ...]:
        """Return the commands of the versions after `after` up to `upto`, with their times and meta.

        Cost: O(number of these commands), and that of `at(after)`.

        Raises:
            UnknownVersion: this session has no such version.
            Conflict: the name belongs to another journal now.
        """
        return self._run(self._core.history(after, upto))

    def log(self, *, after: int = 0, upto: int | None = None) -> tuple[Entry | Noted, ...]:
        """Return the commands and the notes of the versions after `after` up to `upto`, in order; else as `history`."""
        return self._run(self._core.log(after, upto))

    def refresh(self) -> Head:
        """Read what other writers have recorded, and return the new head. Cost: O(new records)."""
        return self._run(self._core.refresh())

    def close(self) -> None:
        """Close the session. Its state stays readable; operations raise. Closing twice is no error.

        A store that `open` has opened is closed with its last session, but not by a forked process.
        """
        if not self._home.is_here:
            self._core.closed = True
            return
        with self._lock:
            if self._core.closed:
                return
            self._core.closed = True
        if self._lease.ended():
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, program: Program[Answer]) -> Answer:
        with closing(program):
            self._home.require()
            return drive(program, self._answer)

    def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Turn(program):
                return self._turn(program)
            case AskJudge(request) if self._judge is not None:
                return self._judge(request)
            case _:
                return answer(self._store, asked)

    def _turn(self, program: Program[object]) -> object:
        heard: list[Event] = []
        try:
            with closing(program), self._lock:
                return drive(program, lambda asked: _from_store(self._store, asked, heard))
        finally:
            tell(self._hooks, heard)


def _from_store(store: JournalStore, asked: Ask[Any], heard: list[Event]) -> object:
    if isinstance(asked, Tell):
        heard.append(asked.event)
        return None
    return answer(store, asked)


# -- the awaitable twin ----------------------------------------------------------------------------------


@final
class AsyncSession(_Twin[AsyncJournalStore, AsyncJudge]):
    """The awaited twin of `Session`: the same names, arguments, results and errors.

    Tasks of one event loop may share a session. The session moves to another loop only after the first is closed;
    before that, the other loop gets `WrongLoop`. A cancellation during a write to the store takes effect after the
    write: the operation is done, and the session has the new state. A cancellation at any other await leaves the
    session unchanged.
    """

    _loop: asyncio.AbstractEventLoop | None = None
    _turns: asyncio.Lock

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

        `store` is a URL, an awaitable store, or a plain store, which is used in threads (`in_thread`).
        Asking a judge that returns no awaitable raises `TypeError`; the summary stays pending.
        """
        hooks, lease = as_hooks(on_event), _Lease(owned=isinstance(store, str))
        settings = Settings(name, judge is not None, clock, salts, snapshot_every)
        async with AsyncExitStack() as undo:
            opened = await to_its_end(_opened(store, clock, undo))
            heard: list[Event] = []
            program = beginning(settings, task)
            loaded = await to_its_end(
                drive_awaited(program, lambda asked: _from_store_awaited(opened, asked, heard))
            )
            session = cls(Core(settings, loaded), opened, lease, judge, hooks)
            session._require_loop()
            tell(session._hooks, heard)
            if wait:
                await session._run(session._core.resume())
            undo.pop_all()
            return session

    async def instruct(self, text: str, *, standing: bool = False, meta: Meta | None = None) -> State:
        """See `Session.instruct`."""
        return await self._run(self._core.operate(Instruct(text, standing), meta=meta))

    async def grow(self, action: str, observation: str, *, meta: Meta | None = None) -> State:
        """See `Session.grow`."""
        return await self._run(self._core.operate(Grow(action, observation), meta=meta))

    async def apply(self, *commands: Operation, meta: Meta | None = None) -> State:
        """See `Session.apply`."""
        return await self._run(self._core.operate(*commands, meta=meta))

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
        return await self._run(self._core.judge(verdict, digest, meta))

    async def accept(self, *, meta: Meta | None = None) -> State:
        """See `Session.accept`."""
        return await self._run(self._core.operate(Accept(), meta=meta))

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
        return await self._run(self._core.operate(folding, meta=meta))

    async def note(self, kind: str, text: str, *, meta: Meta | None = None) -> Head:
        """See `Session.note`."""
        return await self._run(self._core.note(Note(kind, text), meta))

    async def fork(self, name: str, *, at: int | None = None) -> AsyncSession:
        """See `Session.fork`."""
        fork = self._forked(name, await self._run(self._core.fork(name, at)))
        fork._require_loop()
        return fork

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
        async with self._turns:
            if self._core.closed:
                return
            self._core.closed = True
        if self._lease.ended():
            await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, program: Program[Answer]) -> Answer:
        with closing(program):
            self._home.require()
            self._require_loop()
            return await drive_awaited(program, self._answer)

    def _require_loop(self) -> None:
        """Adopt the running loop at first use, and after the old loop was closed, as no task waits for a turn there."""
        running = asyncio.get_running_loop()
        if running is self._loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            raise WrongLoop(self._core.settings.name)
        self._loop, self._turns = running, asyncio.Lock()

    async def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Turn(program):
                return await self._turn(program)
            case AskJudge(request) if self._judge is not None:
                verdict: object = self._judge(request)  # `object`: a user's judge may return anything
                if isawaitable(verdict):
                    return await verdict
                raise TypeError(
                    f"the judge of an AsyncSession is awaited, but this one returned a {type(verdict).__name__}:"
                    " give it an async one; the summary is still pending"
                )
            case _:
                return await answer_awaited(self._store, asked)

    async def _turn(self, program: Program[object]) -> object:
        heard: list[Event] = []
        try:
            with closing(program):
                async with self._turns:
                    return await to_its_end(
                        drive_awaited(program, lambda asked: _from_store_awaited(self._store, asked, heard))
                    )
        finally:
            tell(self._hooks, heard)


async def _from_store_awaited(store: AsyncJournalStore, asked: Ask[Any], heard: list[Event]) -> object:
    if isinstance(asked, Tell):
        heard.append(asked.event)
        return None
    return await answer_awaited(store, asked)


async def _opened(
    store: str | JournalStore | AsyncJournalStore, clock: Clock, undo: AsyncExitStack
) -> AsyncJournalStore:
    """Return the store as an awaitable one; `undo` closes a store that is opened here."""
    if isinstance(store, str):
        url = store
        opened = await opened_in_thread(lambda: open_store(url, clock=clock))
        undo.push_async_callback(opened.close)
        return opened
    if iscoroutinefunction(store.append):
        return cast("AsyncJournalStore", store)
    return in_thread(cast("JournalStore", store))
