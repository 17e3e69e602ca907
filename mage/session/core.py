"""The session's programs, its one mutable slot, and what can be read from the slot without I/O.

An operation moves the slot only after the store has acknowledged the record. So a failure or a cancellation before that
leaves the session unchanged, and the state in the slot is always durable.
The programs only ask (`mage.session.drivers`), and perform nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar, cast, final

import attrs
from returns.pipeline import is_successful

from mage.effects import Metered, metered
from mage.effects.questions import Program
from mage.engine import (
    Active,
    ApplyVerdict,
    Digest,
    ExecutionState,
    Failed,
    Fold,
    FoldRequest,
    JudgeRequest,
    Passed,
    Revise,
    Revised,
    State,
    StepId,
    Tree,
    Unverified,
    Verdict,
    apply,
    fold_request,
    judge_request,
    revise,
    view,
)
from mage.engine.journal import Operation
from mage.engine.machine import illegal
from mage.session import events
from mage.session.drivers import (
    Append,
    AskJudge,
    Delete,
    Fork,
    HeadOf,
    KeepSnapshot,
    NotAVerdict,
    Redactions,
    Refused,
    SessionClosed,
    Tell,
    Turn,
)
from mage.session.events import event_of
from mage.session.loading import (
    Entry,
    Loaded,
    Meta,
    Noted,
    Settings,
    Slot,
    fold_on,
    load,
    pack,
    read_entries,
    record_at,
    stamped,
)
from mage.stores import (
    Conflict,
    Head,
    Note,
    OutdatedTexts,
    Record,
    Snapshot,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UnknownVersion,
    draft,
    seal,
    snapshot_digest,
)
from mage.stores.protocol import as_name

Answer = TypeVar("Answer")
_Verdict: TypeAlias = Verdict | Metered[Verdict]

_SHARE: Final = 16
"""A snapshot is due when a sixteenth of the journal is new: so snapshots cost O(1) for each command."""


@final
class Core:
    """A session without I/O: its settings, its slot, and a program for each operation."""

    def __init__(self, settings: Settings, loaded: Loaded) -> None:
        self.settings = settings
        self.slot = loaded.slot
        self.closed = False
        self._snapshot = loaded.snapshot
        self.redactions = loaded.redactions

    # -- programs that ask for turns and for the judge ------------------------------------------------

    async def operate(self, *commands: Operation, meta: Meta | None) -> State:
        """Carry out commands durably, in one write: all of them or none. `meta` belongs to the last command."""
        slot, _ = await Turn(self._commit(commands, meta))
        return slot.state

    async def note(self, note: Note, meta: Meta | None) -> Head:
        """Append a note, also behind new commands; raise `Conflict` where another session has appended a note."""
        return await self._repeated(lambda: self._note_once(note, meta))

    async def revise(self, command: Revise, meta: Meta | None) -> Revised:
        """Go back, and return the abandoned steps and instructions."""
        _, left = await Turn(self._commit((command,), meta))
        return cast("Revised", left)

    async def summarize(self, command: Operation, meta: Meta | None, *, wait: bool) -> State:
        """Carry out a compress or a retext, and have the summary judged."""
        state = await self.operate(command, meta=meta)
        if wait and self.settings.judged and isinstance(state, Unverified):
            return await self._maintain(state)
        return state

    async def resume(self) -> None:
        """Ask the judge once about a pending summary; where several sessions ask, the first verdict is recorded."""
        pending = self.slot.state
        if not self.settings.judged or not isinstance(pending, Unverified):
            return
        try:
            await self._maintain(pending)
        except Conflict:
            await self.refresh()

    async def judge(self, given: _Verdict, digest: Digest | str | None, meta: Meta | None) -> State:
        """Record a verdict that the caller gives."""
        answer = _as_verdict(given)
        if answer.meta and isinstance(meta, Mapping | None):
            meta = {**answer.meta, **(meta or {})}
        if digest is None:
            state = self.slot.state
            digest = state.digest if isinstance(state, Unverified) else ""
        return await self._land(ApplyVerdict(answer.value, digest), meta)

    async def _maintain(self, pending: Unverified) -> State:
        answer = _as_verdict(await AskJudge(judge_request(pending)))
        return await self._land(ApplyVerdict(answer.value, pending.digest), answer.meta)

    async def _land(self, verdict: ApplyVerdict, meta: Meta | None) -> State:
        """Record a verdict, also behind new steps and instructions, which do not change the judge's question (D5)."""
        return await self._repeated(lambda: self._land_once(verdict, meta))

    async def _repeated(self, turn: Callable[[], Program[Answer | None]]) -> Answer:
        """Take turns until one records; each other turn reads new records, so this ends when other writers pause."""
        while True:
            done = await Turn(turn())
            if done is not None:
                return done

    async def refresh(self) -> Head:
        """Read what other writers have recorded."""
        return await Turn(self._refresh())

    async def fork(self, name: str, at: int | None) -> Loaded:
        """Make a journal that starts at a version of this session's journal."""
        slot = await self.at(self.slot.head.version if at is None else at)
        return await Turn(self._fork(name, slot))

    # -- programs that only read, and need no turn -----------------------------------------------------

    async def at(self, version: int) -> Slot:
        """Read the state at a version, up to the session's present version."""
        self._require_open()
        slot = self.slot
        if version == slot.head.version:
            return slot
        if not 1 <= version < slot.head.version:
            raise UnknownVersion(self.settings.name, version, slot.head.version)
        await self._require_same(slot.head)
        loaded = await load(self.settings.name, version, snapshots=self.settings.snapshots)
        await self._require_same(slot.head)
        return loaded.slot

    async def history(self, after: int, upto: int | None) -> tuple[Entry, ...]:
        """Read the commands of versions after `after`, up to `upto`."""
        return tuple([each for each in await self.log(after, upto) if isinstance(each, Entry)])

    async def log(self, after: int, upto: int | None) -> tuple[Entry | Noted, ...]:
        """Read the commands and the notes of versions after `after`, up to `upto`."""
        self._require_open()
        head = self.slot.head
        last = head.version if upto is None else upto
        for version in (after, last):
            if not 0 <= version <= head.version:
                raise UnknownVersion(self.settings.name, version, head.version)
        before = (await self.at(after)) if after else None
        await self._require_same(head)
        entries = await read_entries(self.settings.name, before, last)
        await self._require_same(head)
        return entries

    async def _require_same(self, head: Head) -> None:
        """Require that the name still belongs to the journal of `head`. Records read between two checks are that journal's."""
        name = self.settings.name
        found = await HeadOf(name)
        if found == head:
            return
        if found.version <= head.version or (await record_at(name, head.version)).head != head:
            raise Conflict(head, found)

    # -- turns: programs that ask the store only, and have the session to themselves -------------------

    async def _land_once(self, verdict: ApplyVerdict, meta: Meta | None) -> State | None:
        """Record a verdict; return None where other writers' records came first and were read, and the verdict still fits."""
        try:
            slot, _ = await self._commit((verdict,), meta)
        except Conflict:
            newest = await self._newest()
            state = newest.slot.state
            fits = isinstance(state, Unverified) and state.digest == verdict.digest
            if not fits or not (await self._is_behind(newest.slot.head)):  # not behind: another journal
                raise
            await self._take(newest)
            return None
        return slot.state

    async def _note_once(self, note: Note, meta: Meta | None) -> Head | None:
        """Append a note; return None where other writers' commands came first and were read."""
        self._require_open()
        slot = self.slot
        given = stamped(self.settings, meta)
        record = seal(slot.head, draft(slot.state, note, given), self.settings.salts)
        try:
            await self._append(slot.head, (record,))
        except Conflict:
            newest = await self._newest()
            found = newest.slot.head
            if not (await self._is_behind(found)) or any(
                isinstance(each, Noted)
                for each in await read_entries(self.settings.name, slot, found.version)
            ):
                raise
            await self._take(newest)
            return None
        self.slot = Slot(record.head, slot.state)
        await self._keep_snapshot_if_due()
        return record.head

    async def _commit(self, commands: Sequence[Operation], meta: Meta | None) -> tuple[Slot, Revised | None]:
        """Make commands durable in one write, then move the slot; return the slot and the result of a revise."""
        self._require_open()
        before = slot = self.slot
        left: Revised | None = None
        records: list[Record] = []
        made: list[events.Event] = []
        for number, command in enumerate(commands, 1):
            state, left = _carried_out(slot.state, command)
            given = stamped(self.settings, meta if number == len(commands) else None)
            if state is slot.state:
                continue
            record = seal(slot.head, draft(slot.state, command, given), self.settings.salts)
            made.append(event_of(self.settings.name, record.version, slot.state, state, command))
            records.append(record)
            slot = Slot(record.head, state)
        if not records:
            return before, left
        await self._append(before.head, tuple(records))
        self.slot = slot
        for event in made:
            await Tell(event)
        await self._keep_snapshot_if_due()
        return slot, left

    async def _append(self, expected: Head, records: tuple[Record, ...]) -> None:
        append = Append(self.settings.name, expected, records)
        try:
            await append
        except Conflict as conflict:
            await self._conflicted(conflict)
        except StoreUnavailable as unavailable:
            if not unavailable.in_doubt:
                raise
            try:
                await self._append_again(append, records[-1])
            except (StoreUnavailable, StoreFull) as error:
                raise unavailable from error

    async def _append_again(self, append: Append, last: Record) -> None:
        """Append the same records again after a result in doubt: the store never writes them twice."""
        try:
            await append
        except Conflict as conflict:
            if conflict.found.version >= last.version:
                there = await record_at(append.name, last.version)
                if there.head == last.head:
                    return
            await self._conflicted(conflict)

    async def _conflicted(self, conflict: Conflict) -> None:
        versions = (conflict.expected.version, conflict.found.version)
        await Tell(events.Conflicted(self.settings.name, *versions))
        raise conflict

    async def _refresh(self) -> Head:
        self._require_open()
        await self._take(await self._newest())
        return self.slot.head

    async def _take(self, newest: Loaded) -> None:
        """Move the slot to the newest head, or to the same head with texts redacted."""
        name, since, known = self.settings.name, self.slot.head, self.redactions
        self.slot, self._snapshot, self.redactions = newest.slot, newest.snapshot, newest.redactions
        if (self.slot.head, self.redactions) != (since, known):
            await Tell(events.Refreshed(name, self.slot.head.version, since.version))

    async def _newest(self) -> Loaded:
        """Return the present head and state of the journal; do not move the slot. Cost: O(new records)."""
        name, slot = self.settings.name, self.slot
        redactions = await Redactions(name)
        found = await HeadOf(name)
        if redactions != self.redactions:
            return await self._loaded(found)
        if found == slot.head:
            return Loaded(slot, self._snapshot, redactions)
        if await self._is_behind(found):
            return Loaded((await fold_on(name, slot, found)), self._snapshot, redactions)
        return await self._loaded(found)  # the journal was deleted, and created anew under this name

    async def _loaded(self, found: Head) -> Loaded:
        return await load(self.settings.name, found, snapshots=self.settings.snapshots)

    async def _is_behind(self, found: Head) -> bool:
        own = self.slot.head
        if found.version <= own.version:
            return False
        return (await record_at(self.settings.name, own.version)).head == own

    async def _fork(self, name: str, slot: Slot) -> Loaded:
        self._require_open()
        source = self.settings.name
        found = await Fork(source, as_name(name), slot.head.version)
        if found != slot.head:  # the journal was deleted, and created anew under this name
            await Delete(name, found)
            raise Conflict(slot.head, found)
        await Tell(events.Forked(source, slot.head.version, name))
        return Loaded(slot, slot.head.version, self.redactions)

    async def _keep_snapshot_if_due(self) -> None:
        slot, every = self.slot, self.settings.snapshot_every
        version = slot.head.version
        if every is None or version - self._snapshot < max(every, version // _SHARE):
            return
        self._snapshot = version
        data = pack(slot.state)
        snapshot = Snapshot(version, data, snapshot_digest(slot.head, data))
        name = self.settings.name
        try:
            await KeepSnapshot(name, snapshot, self.redactions)
        except OutdatedTexts as error:
            await Tell(events.SnapshotFailed(name, version, type(error).__name__))
            await self._forget_texts()
        except StoreError as error:  # the command is durable: without a snapshot only opening is slower
            await Tell(events.SnapshotFailed(name, version, type(error).__name__))
        else:
            await Tell(events.SnapshotKept(name, version, len(data)))

    async def _forget_texts(self) -> None:
        """Read the state again, without the texts that were redacted since."""
        try:
            await self._take(await self._loaded(self.slot.head))
        except StoreError as error:  # the present command is durable; the next refresh tries again
            version = self.slot.head.version
            await Tell(events.SnapshotFailed(self.settings.name, version, type(error).__name__))

    def _require_open(self) -> None:
        if self.closed:
            raise SessionClosed(self.settings.name)

    def folding(
        self, first: StepId | int, last: StepId | int, text: str, digest: Digest | str | None
    ) -> Fold:
        """Return the command that folds these lines; without a digest, of the present lines."""
        state = self.slot.state
        if digest is None and isinstance(state, Active):
            request = fold_request(state, first, last, text).value_or(None)
            digest = None if request is None else request.digest
        return Fold(first, last, text, digest or "")


def _as_verdict(found: _Verdict) -> Metered[Verdict]:
    answer: Metered[Verdict] = metered(found)
    if not isinstance(answer.value, Passed | Failed):  # a user's judge may return anything
        raise NotAVerdict(type(answer.value).__name__)
    return answer


def _carried_out(state: State, command: Operation) -> tuple[State, Revised | None]:
    if isinstance(command, Revise):
        revised = revise(state, command.boundary, command.lesson)
        if not is_successful(revised):
            raise Refused(revised.failure())
        left = revised.unwrap()
        return left.state, left
    result = apply(state, command)
    if not is_successful(result):
        raise Refused(result.failure())
    return result.unwrap(), None


# -- what needs no I/O -------------------------------------------------------------------------------------


@final
@attrs.frozen
class Moment:
    """A session at one version: a frozen value, which later operations do not change. `phase` is the engine's state."""

    name: str
    head: Head
    phase: State

    @property
    def version(self) -> int:
        """The version."""
        return self.head.version

    @property
    def tree(self) -> Tree:
        """The tree at that version."""
        return self.phase.tree

    def state(self) -> ExecutionState:
        """Return S = (C, R, H) at that version. Cost: O(size of S)."""
        return view(self.phase)


class Readable:
    """The half of both twins that performs no I/O. Each method reads the slot once, so its result is consistent."""

    _core: Core

    def __repr__(self) -> str:
        slot = self._core.slot
        closed = ", closed" if self._core.closed else ""
        return (
            f"<{type(self).__name__} {self.name!r} at version {slot.head.version},"
            f" {type(slot.state).__name__}{closed}>"
        )

    @property
    def name(self) -> str:
        """The name of the session, and of its journal."""
        return self._core.settings.name

    @property
    def head(self) -> Head:
        """The present version of the session, and the digest of its record."""
        return self._core.slot.head

    @property
    def version(self) -> int:
        """The present version: the number of records, the start and the notes included."""
        return self._core.slot.head.version

    @property
    def redactions(self) -> int:
        """The number of redactions of the journal when the session last read it."""
        return self._core.redactions

    @property
    def phase(self) -> State:
        """The engine's state, in one of the three phases: `match` on it, or give it to pure functions."""
        return self._core.slot.state

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self._core.slot.state.tree

    @property
    def now(self) -> Moment:
        """The session at its present version, as one value: consistent while other threads change the session."""
        return self._moment(self._core.slot)

    def state(self) -> ExecutionState:
        """Return S = (C, R, H), the execution state for the agent. Cost: O(size of S)."""
        return view(self._core.slot.state)

    def judge_request(self, *, since_root: bool = False) -> JudgeRequest:
        """Return the question for a judge about the pending summary; see `mage.engine.judge_request`.

        Raises:
            IllegalPhase: no summary is pending.
        """
        state = self._core.slot.state
        if not isinstance(state, Unverified):
            raise illegal("judge_request", state)
        return judge_request(state, since_root=since_root)

    def fold_request(self, first: StepId | int, last: StepId | int, text: str) -> FoldRequest:
        """Return the question for a judge about a chapter; see `mage.engine.fold_request`.

        Raises:
            IllegalPhase: the summary head is pending or has failed.
            Refused: `UnfoldableRange` or `BlankSummary`.
        """
        state = self._core.slot.state
        if not isinstance(state, Active):
            raise illegal("fold_request", state)
        request = fold_request(state, first, last, text)
        if not is_successful(request):
            raise Refused(request.failure())
        return request.unwrap()

    def _moment(self, slot: Slot) -> Moment:
        return Moment(self.name, slot.head, slot.state)
