"""The session's programs, and its one mutable slot.

The slot moves in one place, `Core._commit`, and only after the store has acknowledged the record. So
whatever fails or is cancelled before leaves the session where it was; and what the slot says is durable.
Everything here asks (`mage.session.asks`) and performs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, TypeVar, cast, final

import attrs
from returns.pipeline import is_successful

from mage.effects import Metered, metered
from mage.engine import (
    ApplyVerdict,
    Digest,
    Failed,
    JudgeRequest,
    Passed,
    Revise,
    Revised,
    StaleVerdict,
    State,
    Unverified,
    Verdict,
    apply,
    judge_request,
    revise,
)
from mage.engine.journal import Operation
from mage.engine.machine import illegal
from mage.session import events
from mage.session.asks import (
    Append,
    AskJudge,
    Delete,
    Fork,
    HeadOf,
    KeepSnapshot,
    Program,
    Redactions,
    Tell,
    Turn,
    ask,
)
from mage.session.errors import NotAVerdict, Refused, SessionClosed
from mage.session.loading import (
    Entry,
    Loaded,
    Slot,
    fold_on,
    load,
    read_entries,
    record_at,
    require_end,
)
from mage.session.opening import Meta, Settings, stamped
from mage.session.snapshots import pack
from mage.session.telling import event_of
from mage.stores import (
    Conflict,
    Head,
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
from mage.stores.checks import as_session_name

__all__ = ["Core", "Written"]

Answer = TypeVar("Answer")
_Verdict: TypeAlias = Verdict | Metered[Verdict]

_SHARE: Final = 16
"""A snapshot is due when this part of the journal is new: so keeping them costs O(1) a command."""


@final
@attrs.frozen
class Written:
    """What a command did.

    Attributes:
        slot: where the session stands after it.
        left: what a revise has left behind.
    """

    slot: Slot
    left: Revised | None = None


@final
class Core:
    """A session without what performs: settings, the slot, and a program for each operation."""

    def __init__(self, settings: Settings, loaded: Loaded) -> None:
        self.settings = settings
        self.slot = loaded.slot
        self.closed = False
        self._snapshot = loaded.snapshot
        self.redactions = loaded.redactions

    # -- what is asked of the outside: programs that ask for turns and for the judge ------------------

    def operate(self, command: Operation, meta: Meta | None) -> Program[Written]:
        """Carry out a command durably."""
        return (yield from ask(Turn(self._commit(command, meta))))

    def revise(self, command: Revise, meta: Meta | None) -> Program[Revised]:
        """Go back, and return what was left behind."""
        return cast("Revised", (yield from self.operate(command, meta)).left)

    def summarize(self, command: Operation, meta: Meta | None, *, wait: bool) -> Program[State]:
        """Carry out a compress or a retext, and have the summary judged."""
        written = yield from self.operate(command, meta)
        if wait and self.settings.judged and isinstance(written.slot.state, Unverified):
            return (yield from self._maintain(written.slot.state)).slot.state
        return written.slot.state

    def resume(self) -> Program[None]:
        """Ask the judge about a summary that was left pending, once; of several who do, one verdict wins."""
        pending = self.slot.state
        if not self.settings.judged or not isinstance(pending, Unverified):
            return
        try:
            yield from self._maintain(pending)
        except Conflict:
            yield from self.refresh()
        except Refused as refused:
            if not isinstance(refused.refusal, StaleVerdict):
                raise

    def judge(self, given: _Verdict, digest: Digest | str | None, meta: Meta | None) -> Program[Written]:
        """Take a verdict that was given outside."""
        answer = _as_verdict(given)
        if answer.meta and isinstance(meta, Mapping | None):
            meta = {**answer.meta, **(meta or {})}
        if digest is None:
            state = self.slot.state
            digest = state.digest if isinstance(state, Unverified) else ""
        return (yield from self._land(ApplyVerdict(answer.value, digest), meta))

    def _maintain(self, pending: Unverified) -> Program[Written]:
        answer = _as_verdict((yield from ask(AskJudge(judge_request(pending)))))
        return (yield from self._land(ApplyVerdict(answer.value, pending.digest), answer.meta))

    def _land(self, verdict: ApplyVerdict, meta: Meta | None) -> Program[Written]:
        """Record a verdict on the summary and the text that it was asked about, behind whatever came since.

        What was only grown or instructed leaves the question as it was (D5), whoever did it. Each turn that
        records nothing has taken what somebody else wrote, so this ends unless they never pause.

        Raises:
            Refused: `StaleVerdict`, where this session has left the summary or its text; `BlankFeedback`.
            Conflict: others have left it. This session has not followed them.
        """
        while True:
            written = yield from ask(Turn(self._land_once(verdict, meta)))
            if written is not None:
                return written

    def refresh(self) -> Program[Head]:
        """Take what others have written."""
        return (yield from ask(Turn(self._refresh())))

    def fork(self, name: str, at: int | None) -> Program[Loaded]:
        """Make a journal that starts at a version of this one."""
        slot = yield from self.at(self.slot.head.version if at is None else at)
        return (yield from ask(Turn(self._fork(name, slot))))

    # -- what is only read needs no turn ---------------------------------------------------------------

    def at(self, version: int) -> Program[Slot]:
        """Read a version up to the one that the session stands at."""
        self._require_open()
        slot = self.slot
        if version == slot.head.version:
            return slot
        if not 1 <= version < slot.head.version:
            raise UnknownVersion(self.settings.name, version, slot.head.version)
        loading = load(self.settings.name, version, snapshots=self.settings.snapshots)
        return (yield from self._below(slot.head, loading)).slot

    def history(self, after: int, upto: int | None) -> Program[tuple[Entry, ...]]:
        """Read the commands of versions after `after`, up to `upto`."""
        self._require_open()
        head = self.slot.head
        last = head.version if upto is None else upto
        for version in (after, last):
            if not 0 <= version <= head.version:
                raise UnknownVersion(self.settings.name, version, head.version)
        before = (yield from self.at(after)) if after else None
        return (yield from self._below(head, read_entries(self.settings.name, before, last)))

    def _below(self, head: Head, reading: Program[Answer]) -> Program[Answer]:
        """Read what is at or below a head, from the journal of that head: not from another one of its name."""
        yield from self._require_same(head)
        read = yield from reading
        yield from self._require_same(head)  # it may have been deleted, and created anew, meanwhile
        return read

    def _require_same(self, head: Head) -> Program[None]:
        name = self.settings.name
        found = yield from ask(HeadOf(name))
        if found == head:
            return
        if found.version <= head.version or (yield from record_at(name, head.version)).head != head:
            raise Conflict(head, found)

    # -- turns: programs that ask the store only, and have the session to themselves -------------------

    def _land_once(self, verdict: ApplyVerdict, meta: Meta | None) -> Program[Written | None]:
        """Record a verdict; None where others have written and it still fits: what they wrote is taken then."""
        try:
            return (yield from self._commit(verdict, meta))
        except Conflict:
            newest = yield from self._newest()
            state = newest.slot.state
            fits = isinstance(state, Unverified) and state.digest == verdict.digest
            if not fits or not (yield from self._is_behind(newest.slot.head)):  # or it is another journal
                raise
            yield from self._take(newest)
            return None

    def _commit(self, command: Operation, meta: Meta | None) -> Program[Written]:
        """Carry out a command, make it durable, and only then move the slot."""
        self._require_open()
        before = self.slot
        state, left = _carried_out(before.state, command)
        given = stamped(self.settings, meta)
        if state is before.state:
            return Written(before, left)
        record = seal(before.head, draft(before.state, command, given), self.settings.salts)
        yield from self._append(before.head, record)
        self.slot = Slot(record.head, state)
        event = event_of(self.settings.name, record.version, before.state, state, command)
        yield from ask(Tell(event))
        yield from self._keep_snapshot_if_due()
        return Written(self.slot, left)

    def _append(self, expected: Head, record: Record) -> Program[None]:
        append = Append(self.settings.name, expected, (record,))
        try:
            yield from ask(append)
        except Conflict as conflict:
            yield from self._conflicted(conflict)
        except StoreUnavailable as unavailable:
            if not unavailable.in_doubt:
                raise
            try:
                yield from self._append_again(append, record)
            except (StoreUnavailable, StoreFull) as error:
                raise unavailable from error

    def _append_again(self, append: Append, record: Record) -> Program[None]:
        """Settle a doubt by the very same record: it is there already, or it is written now, but never twice.

        To look whether it is there would not do: the first attempt may still be on its way.
        """
        try:
            yield from ask(append)
        except Conflict as conflict:
            if conflict.found.version >= record.version:
                there = yield from record_at(append.name, record.version)
                if there.head == record.head:
                    return
            yield from self._conflicted(conflict)

    def _conflicted(self, conflict: Conflict) -> Program[None]:
        versions = (conflict.expected.version, conflict.found.version)
        yield from ask(Tell(events.Conflicted(self.settings.name, *versions)))
        raise conflict

    def _refresh(self) -> Program[Head]:
        self._require_open()
        yield from self._take((yield from self._newest()))
        return self.slot.head

    def _take(self, newest: Loaded) -> Program[None]:
        """Move the slot to what others have written, or made of it by taking texts out."""
        name, since, known = self.settings.name, self.slot.head, self.redactions
        self.slot, self._snapshot, self.redactions = newest.slot, newest.snapshot, newest.redactions
        if (self.slot.head, self.redactions) != (since, known):
            yield from ask(Tell(events.Refreshed(name, self.slot.head.version, since.version)))

    def _newest(self) -> Program[Loaded]:
        """Return where the journal stands now. The slot stays. Cost: O(what is new)."""
        name, slot = self.settings.name, self.slot
        redactions = yield from ask(Redactions(name))
        found = yield from ask(HeadOf(name))
        if redactions != self.redactions:
            return (yield from self._loaded(found))
        if found == slot.head:
            return Loaded(slot, self._snapshot, redactions)
        if (yield from self._is_behind(found)):
            return Loaded((yield from fold_on(name, slot, found)), self._snapshot, redactions)
        return (yield from self._loaded(found))  # deleted, and created anew under this name

    def _loaded(self, found: Head) -> Program[Loaded]:
        loaded = yield from load(self.settings.name, found.version, snapshots=self.settings.snapshots)
        require_end(loaded.slot, found)
        return loaded

    def _is_behind(self, found: Head) -> Program[bool]:
        own = self.slot.head
        if found.version <= own.version:
            return False
        return (yield from record_at(self.settings.name, own.version)).head == own

    def _fork(self, name: str, slot: Slot) -> Program[Loaded]:
        self._require_open()
        source = self.settings.name
        found = yield from ask(Fork(source, as_session_name(name), slot.head.version))
        if found != slot.head:  # deleted, and created anew under this name
            yield from ask(Delete(name, found))
            raise Conflict(slot.head, found)
        yield from ask(Tell(events.Forked(source, slot.head.version, name)))
        return Loaded(slot, slot.head.version, self.redactions)

    def _keep_snapshot_if_due(self) -> Program[None]:
        slot, every = self.slot, self.settings.snapshot_every
        version = slot.head.version
        if every is None or version - self._snapshot < max(every, version // _SHARE):
            return
        self._snapshot = version
        data = pack(slot.state)
        snapshot = Snapshot(version, data, snapshot_digest(slot.head, data))
        name = self.settings.name
        try:
            yield from ask(KeepSnapshot(name, snapshot, self.redactions))
        except OutdatedTexts as error:
            yield from ask(Tell(events.SnapshotFailed(name, version, type(error).__name__)))
            yield from self._forget_texts()
        except StoreError as error:  # the command is durable: opening stays slower, no more
            yield from ask(Tell(events.SnapshotFailed(name, version, type(error).__name__)))
        else:
            yield from ask(Tell(events.SnapshotKept(name, version, len(data))))

    def _forget_texts(self) -> Program[None]:
        """Read anew what was read before texts were taken out of it."""
        try:
            yield from self._take((yield from self._loaded(self.slot.head)))
        except StoreError as error:  # the command that is being carried out is durable; refresh tries again
            version = self.slot.head.version
            yield from ask(Tell(events.SnapshotFailed(self.settings.name, version, type(error).__name__)))

    def _require_open(self) -> None:
        if self.closed:
            raise SessionClosed(self.settings.name)

    def request(self, *, since_root: bool) -> JudgeRequest:
        """Return what a judge is to be asked now.

        Raises:
            IllegalPhase: no summary is pending.
        """
        return judge_request(_pending(self.slot.state), since_root=since_root)


def _pending(state: State) -> Unverified:
    if not isinstance(state, Unverified):
        raise illegal("judge_request", state)
    return state


def _as_verdict(found: _Verdict) -> Metered[Verdict]:
    answer: Metered[Verdict] = metered(found)
    if not isinstance(answer.value, Passed | Failed):  # judges are other people's code
        raise NotAVerdict(type(answer.value).__name__)
    return answer


def _carried_out(state: State, command: Operation) -> tuple[State, Revised | None]:
    """Return what a command leads to, and what a revise leaves.

    Raises:
        Refused: the state refuses it.
        IllegalPhase: it is not legal in this phase.
    """
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
