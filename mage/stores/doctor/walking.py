"""One walk over the records of one journal: is each sound, in its place, chained, and a command that fits?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias, final

import attrs

from mage.codec.problems import Problem
from mage.engine import State
from mage.stores.doctor.kept import Finding, Kept, KeptJournal, KeptSnapshot, Row
from mage.stores.errors import DamagedRecord
from mage.stores.folding import GROW, fold, meta_of
from mage.stores.protocol import snapshot_digest
from mage.stores.records import Head, Record, chained, read_parts

__all__ = ["Point", "Unpack", "Walk", "record_of"]

Unpack: TypeAlias = Callable[[bytes], State | None]
"""Gives the state that is packed in a snapshot, None where it is packed in a way that nobody knows."""

_MOST: Final = 50
"""Findings of one journal that are told one by one."""


@final
@attrs.frozen
class Point:
    """A version that others go on from: its head, and the state there."""

    head: Head
    state: State | None


def record_of(row: Row) -> Record | str:
    """Return the record that a row says, or why it says none. Cost: O(length of its texts)."""
    version, body, parts, digest = row
    if type(version) is not int or not isinstance(body, str) or not isinstance(parts, bytes):
        return "a column holds something of another kind"
    if not isinstance(digest, bytes) or len(digest) != 32:
        return "its digest has not the length of one"
    read = read_parts(parts)
    if isinstance(read, Problem):
        return f"its texts cannot be read: {read.as_error()}"
    return Record(version, body, read, digest.hex())


@final
class Walk:
    """Walks over one journal once.

    Attributes:
        points: what is sound at each of the versions that others want.
        upto: the last version up to which everything is sound.
        ends: the last version that it says it has, or that is there.
    """

    def __init__(
        self,
        row: KeptJournal,
        start: Point | None,
        wanted: Collection[object],
        name: str,
        unpack: Unpack | None,
    ) -> None:
        self._row = row
        self._unpack = unpack
        self._name = name
        self._wanted = wanted
        self._findings: list[Finding] = []
        self._more = 0
        self._first = row.forked_at if type(row.forked_at) is int else 0
        self._before = None if start is None else start.head
        self._state = None if start is None else start.state
        self._is_sound = start is not None
        self._last = self._first
        self._heads: dict[int, Head] = {} if start is None else {self._first: start.head}
        self._states: dict[int, State] = {}
        self._payload = self._grows = 0
        self._readable = True
        self.points: dict[int, Point] = {}
        self.upto = self._first if start is not None else 0
        self.ends = self._first

    def through(self, kept: Kept) -> list[Finding]:
        """Walk over all that the journal keeps, and return what is wrong with it."""
        noted = {snapshot.version for snapshot in kept.snapshots(self._row.id)} | {self._row.head}
        for found in kept.rows(self._row.id):
            self._look_at(found, noted)
        self.ends = max(self._last, self._row.head if type(self._row.head) is int else 0)
        self._look_at_head()
        self._look_at_sums()
        for snapshot in kept.snapshots(self._row.id):
            self._look_at_snapshot(snapshot)
        if self._more:
            self._findings.append(Finding(self._name, None, "more", f"{self._more} more findings"))
        return self._findings

    def _look_at(self, row: Row, noted: Collection[object]) -> None:
        version = row[0]
        if type(version) is not int or version < 1:
            return self._find(None, "version", f"a record says that it is version {version!r}")
        if version <= self._first:
            reason = f"it stands before the fork point, version {self._first}, where nobody reads it"
            return self._find(version, "hidden record", reason)
        if version <= self._last:
            return self._find(version, "doubled record", "it is there twice")
        self._skip(version)
        record = record_of(row)
        if isinstance(record, str):
            digest = row[3]
            self._before = Head(version, digest.hex()) if isinstance(digest, bytes) else None
            return self._spoil(version, "damaged record", record)
        self._look_at_chain(record)
        self._look_at_command(record)
        self._look_at_meta(record)
        self._payload += len(row[2]) if isinstance(row[2], bytes) else 0
        self._grows += record.body == GROW
        self._before = record.head
        if version in noted:
            self._heads[version] = record.head
        if self._is_sound and self._state is not None:
            self.upto = version
            if version in noted:
                self._states[version] = self._state
            if version in self._wanted:
                self.points[version] = Point(record.head, self._state)
        return None

    def _skip(self, version: int) -> None:
        """Note which records are missing before this one."""
        expected = self._last + 1
        self._last = version
        if version > expected:
            missing = f"{expected}" if version == expected + 1 else f"{expected} to {version - 1}"
            self._spoil(
                expected, "missing record", f"after {expected - 1} comes {version}, without {missing}"
            )
            self._before = None

    def _look_at_chain(self, record: Record) -> None:
        before = self._before
        if before is None:
            return
        if record.digest == before.digest:
            self._spoil(record.version, "doubled record", f"it is record {before.version} once more")
        elif chained(before.digest, record.version, record.body, record.parts) != record.digest:
            reason = (
                "its content does not match its digest, or it does not belong behind the record before it"
            )
            self._spoil(record.version, "damaged record", reason)

    def _look_at_command(self, record: Record) -> None:
        if not self._is_sound:
            return
        try:
            self._state = fold([record], self._state)
        except DamagedRecord as damaged:
            self._spoil(record.version, "refused command", damaged.reason)

    def _look_at_meta(self, record: Record) -> None:
        """Look at what goes with a record. It leads to no state, so what stands behind is still sound."""
        if not record.parts:  # told as a command that is refused
            return
        try:
            meta_of(record)
        except DamagedRecord as damaged:
            self._find(record.version, "meta", damaged.reason)
        except RecursionError:  # nested deeper than this interpreter reads: no fault of the store
            return

    def _look_at_head(self) -> None:
        version, digest = self._row.head, self._row.digest
        if type(version) is not int or not isinstance(digest, bytes) or len(digest) != 32:
            return self._find(None, "head", "its row says no head")
        if version > self._last:
            reason = f"the head says version {version}, the records end at {self._last}: the rest is gone"
            return self._find(self._last + 1, "lost tail", reason)
        if version < self._last:
            reason = f"the head says version {version}, but records up to {self._last} are there"
            self._find(version + 1, "records behind the head", reason)
        found = self._heads.get(version)
        if found is not None and found.digest != digest.hex():
            reason = "the head's digest is not that of its record"
            self._find(version, "head", reason)
        elif version < max(1, self._first):
            self._find(None, "head", f"the head says version {version}, before its beginning")
        return None

    def _look_at_sums(self) -> None:
        said = (self._row.payload, self._row.grows)
        found = (self._payload, self._grows)
        if self._readable and said != found:
            reason = f"its row counts {said[0]!r} bytes and {said[1]!r} steps, its records have {found[0]} and {found[1]}"
            self._find(None, "sums", reason)

    def _look_at_snapshot(self, snapshot: KeptSnapshot) -> None:
        version, data, digest = snapshot.version, snapshot.data, snapshot.digest
        if type(version) is not int or not isinstance(data, bytes) or not isinstance(digest, str):
            return self._find(None, "snapshot", "a column of it holds something of another kind")
        head = self._heads.get(version)
        if head is None:
            return self._find(
                version, "snapshot", "it is of a version that the journal does not have of its own"
            )
        if snapshot_digest(head, data) != digest:
            return self._find(version, "snapshot", "it does not fit its record, or its content was changed")
        packed = None if self._unpack is None else self._unpack(data)
        if packed is not None and version in self._states and packed != self._states[version]:
            self._find(version, "snapshot", "it leads to another state than the records do")
        return None

    def _spoil(self, version: int, fault: str, reason: str) -> None:
        """Note a fault that ends what is sound."""
        self._is_sound = False
        self._readable = False
        self._find(version, fault, reason)

    def _find(self, version: int | None, fault: str, reason: str) -> None:
        if len(self._findings) < _MOST:
            self._findings.append(Finding(self._name, version, fault, reason))
        else:
            self._more += 1
