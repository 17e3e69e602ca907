"""How a session begins and how a state comes out of a store: a snapshot that fits, then records, verified and folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, cast, final

import attrs

from mage.engine import Command, Start, State, apply
from mage.engine.text import as_text
from mage.session import events
from mage.session.drivers import (
    Create,
    HeadOf,
    NewestSnapshot,
    ReadRecords,
    Redactions,
    Tell,
    collector_paused,
)
from mage.session.errors import OtherTask
from mage.session.snapshots import unpack
from mage.stores import (
    NOTHING,
    BadMeta,
    Clock,
    DamagedRecord,
    Head,
    NameTaken,
    Note,
    Record,
    Redacted,
    Salts,
    UnknownJournal,
    command_of,
    draft,
    fold,
    meta_of,
    seal,
    snapshot_digest,
    verify,
)
from mage.stores.protocol import as_name, checked_clock
from mage.stores.records import checked_salts

Meta: TypeAlias = Mapping[str, object]
"""What a host keeps beside a command: a JSON object."""

SNAPSHOT_EVERY: Final = 4096
"""Commands between snapshots at least: so many are replayed in about a tenth of a second."""
_AT_ONCE: Final = 1024
"""Records that are held at a time."""


@final
@attrs.frozen
class Settings:
    """What a session was opened with; a clock and salts that give what is none are refused, here and whenever they are asked.

    Attributes:
        name: the journal.
        judged: whether there is a judge to ask.
        snapshot_every: the least number of commands between snapshots; None for none, and to read none.
    """

    name: str
    judged: bool
    clock: Clock = attrs.field(converter=checked_clock)
    salts: Salts = attrs.field(converter=checked_salts)
    snapshot_every: int | None

    @property
    def snapshots(self) -> bool:
        """Whether snapshots are read."""
        return self.snapshot_every is not None


@final
@attrs.frozen
class Slot:
    """Where a session stands: the head of its journal, and the state that its records lead to."""

    head: Head
    state: State


@final
@attrs.frozen
class Loaded:
    """What was found in a store.

    Attributes:
        slot: where the journal stands at the version asked for.
        snapshot: the version of the snapshot it came from, 0 for none.
        redactions: how often texts had been taken out, at least, when it was read.
    """

    slot: Slot
    snapshot: int
    redactions: int


@final
@attrs.frozen
class Entry:
    """One command of a history, and what goes with it.

    Attributes:
        version: the version of the journal that it made.
        command: what was done, as `mage.engine.apply` takes it.
        at: when, in microseconds since 1970 in UTC; None where that was redacted.
        meta: what the host gave with it, such as call ids, usage and references.
    """

    version: int
    command: Command
    at: int | None
    meta: Mapping[str, object]


@final
@attrs.frozen
class Noted:
    """One note of a log, which changed no state; the other attributes are as in `Entry`."""

    version: int
    note: Note
    at: int | None
    meta: Mapping[str, object]


# -- opened or created -----------------------------------------------------------------------------------


def stamped(settings: Settings, meta: Meta | None) -> dict[str, object]:
    """Return what goes with a record: what the host gave, and the time; raise `BadMeta` or `BadSource` where these are none."""
    if meta is not None and not isinstance(meta, Mapping):
        raise BadMeta(f"it is a {type(meta).__name__}")
    given = {} if meta is None else dict(meta)
    if "at" in given:
        raise BadMeta('"at" is the time, which comes from the session\'s clock')
    return {**given, "at": settings.clock()}


async def beginning(settings: Settings, task: str | None) -> Loaded:
    """Open a journal, or create it for `task`. Raises as `Session.open` does, and `BadName`."""
    try:
        head = await HeadOf(settings.name)
    except UnknownJournal as error:
        if task is None:
            error.add_note("To begin a session, say what for: task=...")
            raise
        try:
            return await _created(settings, task)
        except NameTaken:  # another session was faster
            head = await HeadOf(settings.name)
    return await _found(settings, task, head)


async def _created(settings: Settings, task: str) -> Loaded:
    command = Start(as_text(task))
    record = seal(NOTHING, draft(None, command, stamped(settings, None)), settings.salts)
    state = apply(None, command).unwrap()
    head = await Create(as_name(settings.name), (record,))
    await Tell(events.Created(settings.name, head.version, len(command.task)))
    return Loaded(Slot(head, state), 0, 0)


async def _found(settings: Settings, task: str | None, head: Head) -> Loaded:
    name = settings.name
    loaded = await load(name, head.version, snapshots=settings.snapshots)
    require_end(loaded.slot, head)
    if task is not None and not (await has_task(name, loaded.slot.state, as_text(task))):
        raise OtherTask(name)
    await Tell(events.Opened(name, head.version, head.version - loaded.snapshot))
    return loaded


# -- read, verified and folded ---------------------------------------------------------------------------


async def load(name: str, version: int, *, snapshots: bool) -> Loaded:
    """Read the state of a journal at a version. Cost: O(size of the snapshot + records after it).

    A snapshot that does not fit its head is passed over for an older one, and at last for the records.

    Raises:
        DamagedRecord: a record that is read is not sound.
        UnknownJournal, UnknownVersion: there is none.
    """
    redactions = await Redactions(name)  # before anything is read that may be taken out meanwhile
    known = (await _fitting_snapshot(name, version)) if snapshots else None
    if known is None:
        return Loaded((await _fold_to(name, None, NOTHING, version)), 0, redactions)
    slot = await _fold_to(name, known.state, known.head, version)
    return Loaded(slot, known.head.version, redactions)


async def _fitting_snapshot(name: str, version: int) -> Slot | None:
    while version > 0:
        snapshot = await NewestSnapshot(name, version)
        if snapshot is None or not 0 < snapshot.version <= version:
            return None
        head = (await record_at(name, snapshot.version)).head
        if snapshot.digest == snapshot_digest(head, snapshot.data):
            state = unpack(snapshot.data)
            if state is not None:
                return Slot(head, state)
        version = snapshot.version - 1
    return None


async def record_at(name: str, version: int) -> Record:
    """Read one record; raise `DamagedRecord` where it is not there."""
    for record in await ReadRecords(name, version - 1, version):
        return record
    raise DamagedRecord(version, "it is missing")


async def _fold_to(name: str, state: State | None, head: Head, version: int) -> Slot:
    while head.version < version:
        upto = min(head.version + _AT_ONCE, version)
        records = await ReadRecords(name, head.version, upto)
        with collector_paused():
            state = fold(verify(head, records), state)
        if not records or records[-1].version != upto:
            missing = records[-1].version + 1 if records else head.version + 1
            raise DamagedRecord(missing, "it is missing")
        head = records[-1].head
    return Slot(head, cast("State", state))  # a version is at least 1, so something was folded


async def fold_on(name: str, slot: Slot, found: Head) -> Slot:
    """Go on from a slot to a head of the same journal; raise `DamagedRecord` where what follows does not lead there."""
    after = await _fold_to(name, slot.state, slot.head, found.version)
    require_end(after, found)
    return after


def require_end(slot: Slot, head: Head) -> None:
    """Raise `DamagedRecord` unless records have led to the head that the store says."""
    if slot.head != head:
        raise DamagedRecord(head.version, f"it leads to {slot.head}, but the head says {head}")


async def has_task(name: str, state: State, task: str) -> bool:
    """Tell whether a journal is for this task. One whose task was redacted may be for any."""
    if state.tree.task == task:
        return True
    first = await record_at(name, 1)
    return isinstance(first.parts[0], Redacted)


async def read_entries(name: str, before: Slot | None, upto: int) -> tuple[Entry | Noted, ...]:
    """Read commands and notes, from a slot (None: the start) to a version; raise `DamagedRecord` where one is not sound."""
    entries: list[Entry | Noted] = []
    state, head = (None, NOTHING) if before is None else (before.state, before.head)
    while head.version < upto:
        last = min(head.version + _AT_ONCE, upto)
        for record in verify(head, (await ReadRecords(name, head.version, last))):
            entries.append(_entry(state, record))
            state, head = fold([record], state), record.head
        if head.version != last:
            raise DamagedRecord(head.version + 1, "it is missing")
    return tuple(entries)


def _entry(state: State | None, record: Record) -> Entry | Noted:
    meta = meta_of(record)
    at = meta.pop("at", None)
    time = at if isinstance(at, int) else None
    said = command_of(state, record)
    if isinstance(said, Note):
        return Noted(record.version, said, time, meta)
    return Entry(record.version, said, time, meta)
