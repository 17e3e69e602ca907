r"""The examination of a store, the repaired copy of it, and the rest that no copy can hold.

The examination looks at every record's chain and command, every head, fork and snapshot. A fault in one record hides no
other: behind the damage the chain goes on from the record's own digest, so that each finding is one fault. A repair writes
the sound part of a store into another store. No session can hold the records behind a damage, nor the states that a snapshot
carries across the damage: `rest_of` yields one JSON object for each such record and for each such state:

    {"session":"main","record":13,"proved":true,"digest":"9a1e...","body":"{\"op\":\"grow\"}","parts":[...]}
    {"session":"main","record":12,"proved":false,"reason":"its texts cannot be read: ...","body":"...","parts_hex":"..."}
    {"session":"main","version":66,"from_snapshot":51,"tree":{"format":"mage-tree",...}}

A record is proved where the chain leads from it to the session's head without a gap: then its content is as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, count, groupby, islice
from operator import itemgetter
from typing import Final, TypeAlias, cast, final

import attrs

from mage.codec import encode_tree
from mage.codec.strict_json import write_json
from mage.engine import Start, State
from mage.stores.doctor.reading import (
    Finding,
    Kept,
    KeptJournal,
    KeptSnapshot,
    Lost,
    Row,
    content_of,
    digest_in,
)
from mage.stores.errors import BadName, DamagedRecord
from mage.stores.protocol import JournalStore, as_name, is_time, snapshot_digest
from mage.stores.records import (
    GROW,
    NOTHING,
    Head,
    Record,
    chained,
    draft,
    flat_parts,
    fold,
    meta_of,
    random_salt,
    seal,
)

UNFINISHED: Final = "mage doctor: unfinished repair"
"""The name of the journal that stands in a store while a repair is written into the store."""
_AT_ONCE: Final = 1000
_MOST: Final = 50
"""Findings of one journal that are listed one by one."""

Unpack: TypeAlias = Callable[[bytes], State | str | None]
"""Returns the state in a snapshot, or why it holds none; None where the form of the snapshot is unknown."""

# -- the chain of one journal ----------------------------------------------------------------------------
#
# A record's digest follows from the digest before it and from its content, and a column holds the digest once more. So where
# only a column was damaged, the next record or the head proves the content, since its digest was made from the one that
# follows from that content. Where a content was damaged, the next record is still chained to the digest in the column.


def _behind(digest: str, content: Record) -> str:
    return chained(digest, content.version, content.body, content.parts)


def chosen(rows: Sequence[Row], before: Iterable[str | None]) -> Row:
    """Return, of the rows of one version, the one that is chained to a digest before; else one that can be read."""
    if len(rows) == 1:
        return rows[0]
    contents = [(row, content) for row in rows if isinstance(content := content_of(row), Record)]
    for digest in before:
        for row, content in contents:
            if digest is not None and _behind(digest, content) == content.digest:
                return row
    return contents[0][0] if contents else rows[0]


Settled: TypeAlias = tuple[Sequence[int], bool]
"""Versions whose column did not fit their content, and whether a later record or the head proves the contents."""


@final
class Chain:
    """The chain of one journal, along which `follow` and `lose` go. Cost of each: O(length of the record's texts).

    Attributes:
        head: the last record's head, as it follows from the contents; None where nothing before is known.
        said: the digest in the column of the last record.
        begins: the first version from which each record is chained to the one before, up to the last.
        pending: the versions whose column does not fit their content, and of which nothing is proved yet.
    """

    def __init__(self, head: Head | None, first: int) -> None:
        self.head = head
        self.said: str | None = None
        self.begins = first
        self.pending: list[int] = []

    @property
    def before(self) -> tuple[str | None, str | None]:
        """The digests that the next record can be chained to, the likelier first."""
        return (None if self.head is None else self.head.digest, self.said)

    def follow(self, content: Record) -> Settled:
        """Take the next record."""
        version, said = content.version, content.digest or None
        computed, column = self.before
        found: str | None = said
        settled: Settled = (), False
        if computed is None:  # nothing proves this content yet: the next record may
            self.begins = version + 1
        elif (found := _behind(computed, content)) == said:
            settled = self._settle(proved=True)
        elif column not in (None, computed) and _behind(str(column), content) == said:
            settled, found = self._settle(proved=False), said
            self.begins = version
        else:
            self.pending.append(version)
        self.head, self.said = None if found is None else Head(version, found), said
        return settled

    def lose(self, version: int, digest: str | None) -> Settled:
        """Take a version whose content is lost, and the digest in its column."""
        self.head, self.said = None if digest is None else Head(version, digest), digest
        self.begins = version + 1
        return self._settle(proved=False)

    def end(self, digest: str | None) -> Settled:
        """Take the digest of the last record that the journal's row has."""
        return self._settle(proved=self.head is not None and self.head.digest == digest)

    def _settle(self, *, proved: bool) -> Settled:
        settled, self.pending = self.pending, []
        return settled, proved


def contents(kept: Kept, journal: object, before: Head | None, after: int) -> Iterator[Record | Lost]:
    """Yield the content of each version after `after` that has a row in the journal with this id.

    `before` is the head that the journal's own records go on from, None where it is not known. The digest of each record
    follows from the contents, so that of a proved content is the one that was written; "" where none follows.
    """
    chain = Chain(before, after + 1)
    last = after
    for version, rows in groupby(kept.rows(journal), key=itemgetter(0)):
        if type(version) is not int or version <= last:
            continue
        if version > last + 1:
            chain.lose(version - 1, None)
        last = version
        row = chosen(list(rows), chain.before)
        content = content_of(row)
        if isinstance(content, str):
            chain.lose(version, digest_in(row))
            yield Lost(version, row, content)
            continue
        chain.follow(content)
        yield attrs.evolve(content, digest="" if chain.head is None else chain.head.digest)


# -- what an examination says ----------------------------------------------------------------------------


@final
@attrs.frozen
class Carried:
    """The states behind a damage, from version `since`, which has a sound snapshot, to `upto`, which leads to `state`."""

    since: int
    upto: int
    state: State


@final
@attrs.frozen
class Sound:
    """The sound part of a journal: its records up to a version, read through the lineage.

    Attributes:
        id: the id of the journal's row.
        name: the journal's name, or a stand-in where that name cannot be used.
        parent: the name of the journal that it reads through; None for no fork.
        forked_at: the last version that it has from its parent, as far as the parent is sound.
        upto: the last version up to which everything is sound; 0 where nothing is.
        ends: the last version that the row or a record names.
        proved_from: the first version behind a damage from which the chain proves the contents; None for none.
        carried: the states behind a damage that the snapshot of a proved version has; None for none.
        first: the version that the journal's own records go on from, by its row.
    """

    id: object
    name: str
    parent: str | None
    forked_at: int
    upto: int
    ends: int
    proved_from: int | None = None
    carried: Carried | None = None
    first: int = 0

    def __str__(self) -> str:
        said = f"records 1 to {self.upto} are sound" if self.upto else "no record is sound from the start"
        if self.proved_from is None:
            said += "; what is there of the others is not proved"
        else:
            said += f"; {self.proved_from} to {self.ends} stand behind the damage and are proved"
            said += ": the chain leads from them to the head"
        if self.carried is not None:
            since, upto = self.carried.since, self.carried.upto
            said += (
                f"; the states of versions {since} to {upto} are proved by the snapshot of version {since}"
            )
        return f"session {self.name!r}: {said}"

    @property
    def is_whole(self) -> bool:
        """Whether every record up to `ends` is sound."""
        return self.upto >= self.ends


@final
@attrs.frozen
class Examined:
    """Every fault of a store, and its sound part, a parent before its forks."""

    findings: tuple[Finding, ...]
    sound: tuple[Sound, ...]


# -- one journal: is each record sound, in its place, chained, and a command that the engine takes? ------


@final
@attrs.frozen
class Point:
    """A version: its heads by content and by column, the likelier first, and its state, None behind a damage."""

    heads: tuple[Head, ...]
    state: State | None


@final
class Walk:
    """One walk over one journal; see `Sound` for the other attributes.

    Attributes:
        points: the versions at which forks begin, or that have a snapshot, and that are sound or proved.
        starts_sound: whether the records before its own are sound.
    """

    def __init__(self, kept: Kept, row: KeptJournal, start: Point | None, name: str) -> None:
        self._kept, self._row, self._name = kept, row, name
        self.findings: list[Finding] = []
        self._more = 0
        self.first = row.forked_at if type(row.forked_at) is int else 0
        self._chain = Chain(None if start is None else start.heads[0], self.first + 1)
        self._state = None if start is None else start.state
        self.starts_sound = start is not None and (start.state is not None or start.heads[0] == NOTHING)
        self._is_sound = self.starts_sound
        self._refused: tuple[int, str] | None = None
        self._last = self.first
        self._payload = self._grows = 0
        self._readable = True
        self.points: dict[int, Point] = {} if start is None else {self.first: start}
        self.upto = self.first if self._is_sound else 0
        self.ends = self.first
        self.proved_from: int | None = None
        self.carried: Carried | None = None

    def through(self, forked_at: Collection[object], unpack: Unpack | None) -> None:
        """Walk over all records and snapshots of the journal; `forked_at` are the versions at which forks begin."""
        noted = {each.version for each in self._kept.snapshots(self._row.id)} | {self._row.head, *forked_at}
        for version, rows in groupby(self._kept.rows(self._row.id), key=itemgetter(0)):
            self._look_at(version, list(rows), noted)
        self.ends = max(self._last, self._row.head if type(self._row.head) is int else 0)
        self._look_at_end()
        self._look_at_head()
        said, found = (self._row.payload, self._row.grows), (self._payload, self._grows)
        if self._readable and said != found:
            reason = f"its row counts {said[0]!r} bytes and {said[1]!r} steps, its records have {found[0]} and {found[1]}"
            self._find(None, "sums", reason)
        for word, time in (("made", self._row.created), ("changed", self._row.changed)):
            if not is_time(time):
                self._find(None, "time", f"its row says that it was {word} at {time!r}, which is no time")
        for snapshot in self._kept.snapshots(self._row.id):
            self._look_at_snapshot(snapshot, unpack)
        begins = self.ends + 1 if self.proved_from is None else self.proved_from
        self.points = {at: point for at, point in self.points.items() if at <= self.upto or at >= begins}
        if self._more:
            self.findings.append(Finding(self._name, None, "more", f"{self._more} more findings"))

    def _look_at(self, version: object, rows: list[Row], noted: Collection[object]) -> None:
        if type(version) is not int or version < 1:
            return self._find(None, "version", f"a record says that it is version {version!r}")
        if version <= self.first:
            reason = f"it stands before the fork point, version {self.first}, where nothing reads it"
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
            self._settle(self._chain.lose(version, digest_in(row)))
            if self._chain.head is not None:
                self.points[version] = Point((self._chain.head,), None)
            return self._spoil(version, "damaged record", content)
        if content.digest and content.digest == self._chain.said:
            self._settle(self._chain.lose(version, None))
            return self._spoil(version, "doubled record", f"it is record {version - 1} once more")
        self._settle(self._chain.follow(content))
        self._payload += len(row[2]) if isinstance(row[2], bytes) else 0
        self._grows += content.body == GROW
        self._carry_out(content)
        if version in noted:
            said = content.head if content.digest else None
            heads = tuple([head for head in (self._chain.head, said) if head is not None])
            self.points[version] = Point(heads, self._state if self._is_sound else None)
        if self._is_sound and not self._chain.pending:
            self.upto = version
        return None

    def _skip(self, version: int) -> None:
        """Note the records that are missing before this one."""
        expected = self._last + 1
        self._last = version
        if version > expected:
            missing = f"{expected}" if version == expected + 1 else f"{expected} to {version - 1}"
            self._settle(self._chain.lose(version - 1, None))
            reason = f"after {expected - 1} comes {version}, without {missing}"
            self._spoil(expected, "missing record", reason)

    def _settle(self, settled: Settled) -> None:
        """Note whether records whose column did not fit their content are proved or broken."""
        versions, proved = settled
        for version in versions:
            if proved:
                reason = "its digest is not that of its content, which the chain behind it proves to be as it was written"
                self._find(version, "damaged digest", reason)
            else:
                reason = (
                    "its content does not match its digest, or it does not belong behind the record before it"
                )
                self._spoil(version, "damaged record", reason)
        if versions and proved and self._refused is not None:
            refused, reason = self._refused
            self._spoil(refused, "refused command", reason)
            self.upto = refused - 1
        elif versions and proved and self._is_sound:
            self.upto = versions[-1]
        if versions:
            self._refused = None

    def _carry_out(self, record: Record) -> None:
        """Carry out the command of a record, and look at its meta: a fault in the meta leaves the records behind it sound."""
        if self._is_sound:
            try:
                self._state = fold([record], self._state)
            except DamagedRecord as damaged:
                if (
                    self._chain.pending
                ):  # the records behind it tell whether this is the command that was written
                    self._is_sound, self._refused = False, (record.version, damaged.reason)
                else:
                    self._spoil(record.version, "refused command", damaged.reason)
        if not record.parts:  # the engine has refused such a command
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
        """Note which of the last records the head proves, and the version from which the chain leads to the head."""
        version, digest = self._row.head, self._row.digest
        said = digest.hex() if isinstance(digest, bytes) else None
        self._settle(self._chain.end(said if version == self._last else None))
        at = self._chain.head
        leads = at is not None and (at.version, at.digest) == (version, said)
        if leads and self.upto < self._last and self._chain.begins <= self._last:
            self.proved_from = self._chain.begins

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
        found = self.points.get(version)
        if found is not None and digest.hex() not in {head.digest for head in found.heads}:
            self._find(version, "head", "the head's digest is not that of its record")
        elif version < max(1, self.first):
            self._find(None, "head", f"the head says version {version}, before its beginning")
        return None

    def _look_at_snapshot(self, snapshot: KeptSnapshot, unpack: Unpack | None) -> None:
        version, data, digest = snapshot.version, snapshot.data, snapshot.digest
        if type(version) is not int or not isinstance(data, bytes) or not isinstance(digest, str):
            return self._find(None, "snapshot", "a column of it holds something of another kind")
        point = self.points.get(version)
        if point is None:
            return self._find(
                version, "snapshot", "it is of a version that the journal does not have of its own"
            )
        if all(snapshot_digest(head, data) != digest for head in point.heads):
            return self._find(version, "snapshot", "it does not fit its record, or its content was changed")
        packed = None if unpack is None else unpack(data)
        if isinstance(packed, str):
            return self._find(version, "snapshot", f"it is tied to its record, and holds no state: {packed}")
        if packed is None:
            return None
        if version <= self.upto and point.state is not None and packed != point.state:
            self._find(version, "snapshot", "it leads to another state than the records do")
        elif self.carried is None and self.proved_from is not None and version >= self.proved_from - 1:
            self.carried = self._carried(version, packed)
        return None

    def _carried(self, since: int, state: State) -> Carried:
        """Carry out the proved commands behind a snapshot that is behind the damage."""
        upto = since
        for content in contents(self._kept, self._row.id, None, self.first):
            if isinstance(content, Record) and content.version > since:
                try:
                    state = fold([content], state)
                except DamagedRecord as damaged:
                    self._find(content.version, "refused command", damaged.reason)
                    break
                upto = content.version
        return Carried(since, upto, state)

    def _spoil(self, version: int, fault: str, reason: str) -> None:
        """Note a fault that ends the sound part."""
        self._is_sound = False
        self._readable = False
        self._find(version, fault, reason)

    def _find(self, version: int | None, fault: str, reason: str) -> None:
        if len(self.findings) < _MOST:
            self.findings.append(Finding(self._name, version, fault, reason))
        else:
            self._more += 1


# -- all journals ----------------------------------------------------------------------------------------


def examine(kept: Kept, *, unpack: Unpack | None = None) -> Examined:
    """Return the faults of a store, and its sound part.

    `unpack` returns the state in a snapshot, to be compared with the state that the records lead to (`mage.session` packs
    snapshots). Without it, only the digests of snapshots are checked.

    Cost: O(size): each record is verified and carried out once, however many forks read it.
    """
    return _Examination(kept, unpack).carry_out()


@final
class _Examination:
    def __init__(self, kept: Kept, unpack: Unpack | None) -> None:
        self._kept, self._unpack = kept, unpack
        self._findings: list[Finding] = []
        self._sound: dict[object, Sound] = {}
        self._walks: dict[object, Walk] = {}
        self._broken: set[object] = set()
        self._rows = {row.id: row for row in kept.journals}
        self._names = _usable_names(kept.journals)
        self._forks: dict[object, list[KeptJournal]] = {}
        for row in kept.journals:
            self._forks.setdefault(row.parent, []).append(row)

    def carry_out(self) -> Examined:
        self._look_at_names()
        roots = [row for row in self._kept.journals if self._is_root(row)]
        for root in chain(roots, self._circles()):
            family = [root]
            for row in family:  # which grows meanwhile: a parent is examined before its forks
                if row.id not in self._sound:
                    self._examine(row)
                    family += self._forks.get(row.id, ())
        for stray in self._kept.strays():
            reason = (
                f"{stray.count} records belong to the journal with id {stray.journal!r}, which is not there"
            )
            self._findings.append(Finding(None, None, "stray records", reason))
        return Examined((*self._kept.findings, *self._findings), tuple(self._sound.values()))

    def _circles(self) -> Iterator[KeptJournal]:
        """Yield the journals that read through themselves: lazily, as those that no root has reached so far."""
        for row in self._kept.journals:
            if row.id not in self._sound:
                for each in self._circle(row):
                    self._find(each, None, "circle of parents", "it reads through itself, by its parents")
                    self._broken.add(each.id)
                    yield each

    def _circle(self, row: KeptJournal) -> list[KeptJournal]:
        """Return the circle that a journal's parents lead into; each of these journals has a parent in the store."""
        line: dict[object, KeptJournal] = {}
        while row.id not in line:
            line[row.id] = row
            row = self._rows[row.parent]
        return list(line.values())[list(line).index(row.id) :]

    def _look_at_names(self) -> None:
        seen: set[object] = set()
        for row in self._kept.journals:
            if row.name == UNFINISHED:
                reason = "a repair into this store was cut short, so not all is in it: drop its sessions, repair again"
                self._find(row, None, "unfinished repair", reason)
            if row.name in seen:
                self._find(row, None, "name", "two journals have this name")
            seen.add(row.name)
            if (problem := _name_problem(row.name)) is not None:
                self._find(row, None, "name", problem)

    def _is_root(self, row: KeptJournal) -> bool:
        if row.parent in self._rows:
            return False
        if row.parent is not None:
            reason = f"the journal with id {row.parent!r}, which it reads through, is not there"
        elif row.forked_at != 0:
            reason = f"nothing says where its first {row.forked_at!r} records are"
        else:
            return True
        self._find(row, None, "orphan fork", reason)
        self._broken.add(row.id)
        return True

    def _examine(self, row: KeptJournal) -> None:
        name = self._names[row.id]
        walk = self._walks[row.id] = Walk(self._kept, row, self._start(row), name)
        walk.through({fork.forked_at for fork in self._forks.get(row.id, ())}, self._unpack)
        self._findings += walk.findings
        parent = None if row.id in self._broken or row.parent is None else self._sound[row.parent]
        first, upto = walk.first, walk.upto
        if parent is not None and not walk.starts_sound:  # only the sound part of the parent is believed
            upto = first = min(parent.upto, first) if self._is_own(row.parent, row.forked_at) else 0
        through = None if parent is None else parent.name
        known = (walk.ends, walk.proved_from, walk.carried, walk.first)
        self._sound[row.id] = Sound(row.id, name, through, first, upto, *known)

    def _start(self, row: KeptJournal) -> Point | None:
        """Return the point that a journal's own records go on from; None where the point is not known."""
        if row.id in self._broken:
            return None
        if row.parent is None:
            return Point((NOTHING,), None)
        walk, parent = self._walks[row.parent], self._sound[row.parent]
        if not self._is_own(row.parent, row.forked_at):
            reason = f"it begins at version {row.forked_at!r} of {parent.name!r}, which has of its own"
            self._find(row, None, "fork point", f"{reason} {walk.first + 1} to {walk.ends}")
            return None
        point = walk.points.get(row.forked_at) if isinstance(row.forked_at, int) else None
        if point is None or point.state is None:
            sound = f"sound up to {parent.upto} only" if parent.upto else "not sound"
            reason = f"its first {row.forked_at} records are read from {parent.name!r}, which is {sound}"
            self._find(row, parent.upto + 1, "damaged parent", reason)
        return point if point is not None and point.heads else None

    def _is_own(self, journal: object, version: object) -> bool:
        """Tell whether a version is among a journal's own versions, damaged or not."""
        walk = self._walks[journal]
        return type(version) is int and walk.first < version <= walk.ends

    def _find(self, row: KeptJournal, version: int | None, fault: str, reason: str) -> None:
        self._findings.append(Finding(self._names[row.id], version, fault, reason))


def _name_problem(name: object) -> str | None:
    try:
        as_name(cast("str", name))
    except BadName as bad:
        return bad.reason
    return None


def _usable_names(journals: Sequence[KeptJournal]) -> dict[object, str]:
    """Return the name of each journal, or a free one where its own cannot be used."""
    taken = {row.name for row in journals}
    names: dict[object, str] = {}
    used: set[str] = set()
    for row in journals:
        name = row.name
        if not isinstance(name, str) or _name_problem(name) is not None or name in used:
            stand_in = f"journal {row.id!r}"[:200]
            numbered = chain([stand_in], (f"{stand_in} ({number})" for number in count(2)))
            name = next(each for each in numbered if each not in used and each not in taken)
        used.add(name)
        names[row.id] = name
    return names


# -- the repaired copy -----------------------------------------------------------------------------------


@final
@attrs.frozen
class LeftOut:
    """Records that are not in the repaired copy: those of a journal from the version `first` to `last`."""

    journal: str
    first: int
    last: int

    def __str__(self) -> str:
        which = f"record {self.first}" if self.first == self.last else f"records {self.first} to {self.last}"
        return f"session {self.journal!r}: {which} left out"


def repair(kept: Kept, examined: Examined, into: JournalStore) -> tuple[LeftOut, ...]:
    """Write the sound beginning of every journal into an empty store, and return the records that are left out.

    Until all is written the store has a journal called `UNFINISHED`, which an examination reports. A journal has no gap, so
    records behind a damage are left out; `rest_of` yields them. Snapshots are caches, and are not written. Cost: O(size).

    Raises:
        NameTaken: another repair writes into this store, or a repair into it was cut short.
    """
    into.create(UNFINISHED, [seal(NOTHING, draft(None, Start(UNFINISHED), {}), random_salt)])
    left: list[LeftOut] = []
    for sound in examined.sound:
        if sound.name == UNFINISHED:  # a repair into the examined store has left it
            continue
        if sound.upto:
            _write(kept, sound, into)
        if not sound.is_whole:
            left.append(LeftOut(sound.name, sound.upto + 1, sound.ends))
    into.delete(UNFINISHED)
    return tuple(left)


def _write(kept: Kept, sound: Sound, into: JournalStore) -> None:
    head = NOTHING if sound.parent is None else into.fork(sound.parent, sound.name, sound.forked_at)
    records = _records(kept, sound, head)
    if sound.parent is None:
        head = into.create(sound.name, list(islice(records, _AT_ONCE)))
    while chunk := list(islice(records, _AT_ONCE)):
        head = into.append(sound.name, head, chunk)


def _records(kept: Kept, sound: Sound, before: Head) -> Iterator[Record]:
    """Yield a journal's own sound records, each with the digest that follows from its content."""
    if sound.upto > sound.forked_at:
        for content in contents(kept, sound.id, before, sound.forked_at):
            if isinstance(content, Record) and content.digest:
                yield content
            if content.version >= sound.upto:
                return


def rest_of(kept: Kept, examined: Examined) -> Iterator[bytes]:
    """Yield lines of JSON, each with a newline: of every journal the records behind its sound part. Cost: O(size), lazily."""
    for sound in examined.sound:
        if not sound.is_whole:
            for found in contents(kept, sound.id, None if sound.forked_at else NOTHING, sound.first):
                if found.version > sound.upto:
                    place = {"session": sound.name, "record": found.version}
                    yield write_json({**place, **_document(sound, found)}) + b"\n"
            if sound.carried is not None:
                carried, tree = sound.carried, json.loads(encode_tree(sound.carried.state))
                known = {"version": carried.upto, "from_snapshot": carried.since, "tree": tree}
                yield write_json({"session": sound.name, **known}) + b"\n"


def _document(sound: Sound, found: Record | Lost) -> dict[str, object]:
    if isinstance(found, Lost):
        _, body, parts, _ = found.row
        return {
            "proved": False,
            "reason": found.reason,
            "body": body if isinstance(body, str) else None,
            "parts_hex": parts.hex() if isinstance(parts, bytes) else None,
        }
    return {
        "proved": sound.proved_from is not None and found.version >= sound.proved_from,
        "digest": found.digest or None,
        "body": found.body,
        "parts": flat_parts(found.parts),
    }
