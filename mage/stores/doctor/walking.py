"""One walk over the records of one journal: is each sound, in its place, chained, and a command that fits?"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias, final

import attrs

from mage.engine import State
from mage.stores.doctor.chain import Chain, Content, Judged, chosen, content_of, contents, digest_in
from mage.stores.doctor.kept import Finding, Kept, KeptJournal, KeptSnapshot, Row
from mage.stores.errors import DamagedRecord
from mage.stores.folding import GROW, fold, meta_of
from mage.stores.protocol import snapshot_digest
from mage.stores.records import NOTHING, Head, Record
from mage.stores.sources import is_time

__all__ = ["Carried", "Point", "Unpack", "Walk"]

Unpack: TypeAlias = Callable[[bytes], State | str | None]
"""Gives the state that is packed in a snapshot, or why it is none; None where it is packed in a way that nobody knows."""

_MOST: Final = 50
"""Findings of one journal that are told one by one."""


@final
@attrs.frozen
class Point:
    """A version that others go on from: its head, and the state there; None where what leads to it is not sound."""

    head: Head
    state: State | None


@final
@attrs.frozen
class Carried:
    """States behind a damage, which a sound snapshot carries across it.

    Attributes:
        since: the version of the snapshot.
        upto: the last version that could be carried out behind it.
        state: the state there.
    """

    since: int
    upto: int
    state: State


@final
class Walk:
    """Walks over one journal once.

    Attributes:
        points: what is known at each of the versions that others want.
        upto: the last version up to which everything is sound.
        ends: the last version that it says it has, or that is there.
        proved_from: behind a damage, the first version from which the chain leads to the head; None for none.
        carried: the states behind a damage, where a snapshot of a version that is proved has them.
        starts_sound: whether what its own records go on from is sound.
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
        self._chain = Chain(None if start is None else start.head, self._first + 1)
        self._state = None if start is None else start.state
        self._is_sound = start is not None and (start.state is not None or start.head == NOTHING)
        self.starts_sound = self._is_sound
        self._refused: int | None = None
        self._refusal = ""
        self._last = self._first
        self._heads: dict[int, tuple[Head, ...]] = {} if start is None else {self._first: (start.head,)}
        self._states: dict[int, State] = {}
        self._payload = self._grows = 0
        self._readable = True
        self._fitting: tuple[int, State] | None = None
        self.points: dict[int, Point] = {}
        self.upto = self._first if self._is_sound else 0
        self.ends = self._first
        self.proved_from: int | None = None
        self.carried: Carried | None = None

    def through(self, kept: Kept) -> list[Finding]:
        """Walk over all that the journal keeps, and return what is wrong with it."""
        noted = {snapshot.version for snapshot in kept.snapshots(self._row.id)} | {self._row.head}
        for version, rows in groupby(kept.rows(self._row.id), key=itemgetter(0)):
            self._look_at(version, list(rows), noted)
        self.ends = max(self._last, self._row.head if type(self._row.head) is int else 0)
        self._look_at_end()
        self._look_at_head()
        self._look_at_sums()
        self._look_at_times()
        for snapshot in kept.snapshots(self._row.id):
            self._look_at_snapshot(snapshot)
        if self._fitting is not None:
            self._carry(kept, *self._fitting)
        if self._more:
            self._findings.append(Finding(self._name, None, "more", f"{self._more} more findings"))
        return self._findings

    def _look_at(self, version: object, rows: list[Row], noted: Collection[object]) -> None:
        if type(version) is not int or version < 1:
            return self._find(None, "version", f"a record says that it is version {version!r}")
        if version <= self._first:
            reason = f"it stands before the fork point, version {self._first}, where nobody reads it"
            return self._find(version, "hidden record", reason)
        if version <= self._last:
            return self._find(version, "doubled record", "it is there twice")
        self._skip(version)
        row = chosen(rows, self._chain.before)
        if len(rows) > 1:
            self._readable = False
            self._find(version, "doubled record", f"it is there {len(rows)} times")
        content = content_of(row)
        if isinstance(content, str):
            self._judge(self._chain.lose(version, digest_in(row)))
            if self._chain.head is not None:
                self._heads[version] = (self._chain.head,)
            return self._spoil(version, "damaged record", content)
        if content.digest is not None and content.digest == self._chain.said:
            self._judge(self._chain.lose(version, None))
            return self._spoil(version, "doubled record", f"it is record {version - 1} once more")
        self._judge(self._chain.follow(content))
        self._payload += len(row[2]) if isinstance(row[2], bytes) else 0
        self._grows += content.body == GROW
        record = content.as_record(content.digest or "")
        self._carry_out(record)
        self._look_at_meta(record)
        self._note(content, noted)
        return None

    def _note(self, content: Content, noted: Collection[object]) -> None:
        """Note a version that somebody asks for, and up to where all is sound."""
        version, head, said = content.version, self._chain.head, content.digest
        if version in noted:
            heads = (head, None if said is None else Head(version, said))
            self._heads[version] = tuple([each for each in heads if each is not None])
            if self._is_sound and self._state is not None:
                self._states[version] = self._state
        if version in self._wanted and head is not None:
            self.points[version] = Point(head, self._state if self._is_sound else None)
        if self._is_sound and not self._chain.pending:
            self.upto = version

    def _skip(self, version: int) -> None:
        """Note which records are missing before this one."""
        expected = self._last + 1
        self._last = version
        if version > expected:
            missing = f"{expected}" if version == expected + 1 else f"{expected} to {version - 1}"
            self._judge(self._chain.lose(version - 1, None))
            self._spoil(
                expected, "missing record", f"after {expected - 1} comes {version}, without {missing}"
            )

    def _judge(self, judged: Judged) -> None:
        """Note what is now known of records whose column did not fit their content."""
        for version in judged.proved:
            reason = "its digest is not that of its content, which the chain behind it proves to be as it was written"
            self._find(version, "damaged digest", reason)
        for version in judged.broken:
            reason = (
                "its content does not match its digest, or it does not belong behind the record before it"
            )
            self._spoil(version, "damaged record", reason)
        if judged.broken:
            self.points = {version: at for version, at in self.points.items() if version < judged.broken[0]}
            self._states = {version: at for version, at in self._states.items() if version < judged.broken[0]}
        elif judged.proved and self._refused is not None:
            self._spoil(self._refused, "refused command", self._refusal)
            self.upto = self._refused - 1
        elif judged.proved and self._is_sound:
            self.upto = judged.proved[-1]
        if judged.proved or judged.broken:
            self._refused = None

    def _carry_out(self, record: Record) -> None:
        if not self._is_sound:
            return None
        try:
            self._state = fold([record], self._state)
        except DamagedRecord as damaged:
            if not self._chain.pending:
                return self._spoil(record.version, "refused command", damaged.reason)
            self._is_sound = False  # it may be another command than was written: what comes behind it tells
            self._refused, self._refusal = record.version, damaged.reason
        return None

    def _look_at_meta(self, record: Record) -> None:
        """Look at what goes with a record. It leads to no state, so what stands behind is still sound."""
        if not record.parts:  # told as a command that is refused
            return
        try:
            meta = meta_of(record)
        except DamagedRecord as damaged:
            self._find(record.version, "meta", damaged.reason)
        except RecursionError:  # nested deeper than this interpreter reads: no fault of the store
            return
        else:
            if "at" in meta and not is_time(meta["at"]):
                self._find(record.version, "time", "what goes with it says a time that is none")

    def _look_at_end(self) -> None:
        """Note what the head tells of the last records, and from where on the chain leads to it."""
        version, digest = self._row.head, self._row.digest
        said = digest.hex() if isinstance(digest, bytes) else None
        self._judge(self._chain.end(said if version == self._last else None))
        at, begins = self._chain.head, self._chain.begins
        leads = at is not None and (at.version, at.digest) == (version, said)
        if leads and self.upto < self._last and begins <= self._last:
            self.proved_from = begins
        self.points = {
            version: point
            for version, point in self.points.items()
            if version <= self.upto or (self.proved_from is not None and version >= self.proved_from)
        }

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
        if found is not None and digest.hex() not in {head.digest for head in found}:
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

    def _look_at_times(self) -> None:
        for word, time in (("made", self._row.created), ("changed", self._row.changed)):
            if not is_time(time):
                self._find(None, "time", f"its row says that it was {word} at {time!r}, which is no time")

    def _look_at_snapshot(self, snapshot: KeptSnapshot) -> None:
        version, data, digest = snapshot.version, snapshot.data, snapshot.digest
        if type(version) is not int or not isinstance(data, bytes) or not isinstance(digest, str):
            return self._find(None, "snapshot", "a column of it holds something of another kind")
        heads = self._heads.get(version)
        if heads is None:
            return self._find(
                version, "snapshot", "it is of a version that the journal does not have of its own"
            )
        if all(snapshot_digest(head, data) != digest for head in heads):
            return self._find(version, "snapshot", "it does not fit its record, or its content was changed")
        packed = None if self._unpack is None else self._unpack(data)
        if isinstance(packed, str):
            return self._find(version, "snapshot", f"it is tied to its record, and holds no state: {packed}")
        if packed is None:
            return None
        if version in self._states and packed != self._states[version]:
            self._find(version, "snapshot", "it leads to another state than the records do")
        elif self._fitting is None and self.proved_from is not None and version >= self.proved_from - 1:
            self._fitting = (version, packed)
        return None

    def _carry(self, kept: Kept, since: int, state: State) -> None:
        """Carry out what is proved behind a snapshot that is tied to a record behind the damage."""
        upto = since
        for content in contents(kept, self._row.id, None, self._first):
            if not isinstance(content, Content) or content.version <= since:
                continue
            try:
                state = fold([content.as_record("")], state)
            except DamagedRecord as damaged:
                self._find(content.version, "refused command", damaged.reason)
                break
            upto = content.version
        self.carried = Carried(since, upto, state)

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
