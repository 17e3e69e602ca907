"""A store in the memory of this process: for tests, and the reference for the other stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import final

import attrs

from mage.stores.errors import (
    Conflict,
    HasForks,
    NameTaken,
    OutdatedTexts,
    StoreUnavailable,
    UnknownJournal,
    UnknownVersion,
)
from mage.stores.protocol import (
    Clock,
    Home,
    JournalInfo,
    JournalStore,
    Snapshot,
    as_name,
    beginning,
    checked_clock,
    following,
    now,
    require_range,
    require_same,
)
from mage.stores.records import GROW, Head, Record, write_parts


@final
@attrs.define(eq=False)
class _Journal:
    """A journal: its own records, and the journal from which it reads the earlier records."""

    name: str
    parent: _Journal | None
    forked_at: int
    records: list[Record]
    created: int
    changed: int
    redactions: int = 0
    snapshots: dict[int, Snapshot] = attrs.field(factory=dict)

    @property
    def version(self) -> int:
        return self.forked_at + len(self.records)

    def owner(self, version: int) -> _Journal:
        """Return the journal of the lineage that has this version."""
        journal = self
        while journal.parent is not None and version <= journal.forked_at:
            journal = journal.parent
        return journal

    def own(self, version: int) -> Record:
        return self.records[version - self.forked_at - 1]


@final
class MemoryStore(JournalStore):
    """The reference of `JournalStore`: the same promises, as far as memory can keep them."""

    def __init__(self, *, clock: Clock = now) -> None:
        self._clock = checked_clock(clock)
        self._own = RLock()
        self._home = Home("this store in memory")
        self._journals: dict[str, _Journal] = {}
        self._open = True

    def create(self, name: str, records: Iterable[Record]) -> Head:
        checked = beginning(records)
        return self._add(as_name(name), None, 0, list(checked)).records[-1].head

    def fork(self, source: str, name: str, at: int) -> Head:
        with self._alone():
            found = self._find(source)
            owner = self._owner(found, at)
            self._add(as_name(name), owner, at, []).redactions = found.redactions
            return owner.own(at).head

    def _add(self, name: str, parent: _Journal | None, forked_at: int, records: list[Record]) -> _Journal:
        with self._alone():
            if name in self._journals:
                raise NameTaken(name)
            time = self._clock()
            journal = self._journals[name] = _Journal(name, parent, forked_at, records, time, time)
            return journal

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        checked = following(expected, records)
        with self._alone():
            journal = self._find(name)
            found = _head(journal)
            if found != expected:
                raise Conflict(expected, found)
            if checked:
                journal.changed = self._clock()  # first, because it may raise: then nothing was written
                journal.records.extend(checked)
            return _head(journal)

    def head(self, name: str) -> Head:
        with self._alone():
            return _head(self._find(name))

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        with self._alone():
            journal = self._find(name)
            last = require_range(name, after, upto, journal.version)
            records: list[Record] = []
            while last > after:
                owner = journal.owner(last)
                first = max(after, owner.forked_at)
                own = owner.records[first - owner.forked_at : last - owner.forked_at]
                records = own + records
                last = first
        yield from records

    def journals(self) -> tuple[JournalInfo, ...]:
        """Return an info of each journal. Cost: O(size)."""
        with self._alone():
            return tuple(_info(self._journals[name]) for name in sorted(self._journals))

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        with self._alone():
            journal = self._find(name)
            if expected not in (None, found := _head(journal)):
                raise Conflict(expected, found)
            self._require_unforked(journal)
            del self._journals[name]

    def rename(self, name: str, new: str) -> None:
        new = as_name(new)
        with self._alone():
            journal = self._find(name)
            if new in self._journals:
                raise NameTaken(new)
            self._require_unforked(journal)
            del self._journals[name]
            journal.name = new
            self._journals[new] = journal

    def _require_unforked(self, journal: _Journal) -> None:
        forks = tuple(sorted(other.name for other in self._journals.values() if other.parent is journal))
        if forks:
            raise HasForks(journal.name, forks)

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        with self._alone():
            journal = self._find(name)
            replaced = [(self._owner(journal, record.version), record) for record in records]
            for owner, record in replaced:
                require_same(owner.own(record.version), record)
            for owner, record in replaced:
                owner.records[record.version - owner.forked_at - 1] = record
                for reader in self._journals.values():
                    if record.version <= reader.version and reader.owner(record.version) is owner:
                        _forget(reader, record.version)

    def redactions(self, name: str) -> int:
        with self._alone():
            return self._find(name).redactions

    def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        with self._alone():
            journal = self._find(name)
            owner = self._owner(journal, version)
            if redactions not in (None, journal.redactions):
                raise OutdatedTexts(name)
            owner.snapshots[version] = Snapshot(version, bytes(data), digest)

    def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        with self._alone():
            journal: _Journal | None = self._find(name)
            while journal is not None:
                limit = journal.version if upto is None else upto
                known = [version for version in journal.snapshots if version <= limit]
                if known:
                    return journal.snapshots[max(known)]
                upto = min(limit, journal.forked_at)
                journal = journal.parent
            return None

    def drop_snapshots(self, name: str) -> None:
        with self._alone():
            self._find(name).snapshots.clear()

    def reclaim(self) -> None:
        """Do nothing: deleted records are free already."""
        with self._alone():
            return

    def close(self) -> None:
        """Drop all journals."""
        self._open = False
        if self._home.is_here:
            with self._own:
                self._journals.clear()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock; raise `WrongProcess` in another process, where the lock may be held for ever."""
        self._home.require()
        with self._own:
            if not self._open:
                raise StoreUnavailable("it was closed")
            yield

    def _find(self, name: str) -> _Journal:
        journal = self._journals.get(as_name(name))
        if journal is None:
            raise UnknownJournal(name)
        return journal

    def _owner(self, journal: _Journal, version: int) -> _Journal:
        if not 1 <= version <= journal.version:
            raise UnknownVersion(journal.name, version, journal.version)
        return journal.owner(version)


def _head(journal: _Journal) -> Head:
    return journal.owner(journal.version).own(journal.version).head


def _info(journal: _Journal) -> JournalInfo:
    return JournalInfo(
        name=journal.name,
        head=_head(journal),
        parent=None if journal.parent is None else journal.parent.name,
        forked_at=journal.forked_at,
        created=journal.created,
        changed=journal.changed,
        payload=sum(len(write_parts(record.parts)) for record in journal.records),
        grows=sum(record.body == GROW for record in journal.records),
    )


def _forget(journal: _Journal, version: int) -> None:
    journal.redactions += 1
    for kept in [kept for kept in journal.snapshots if kept >= version]:
        del journal.snapshots[kept]
