r"""The examination of a store, the repaired copy of it, and the rest that no copy can hold.

The examination looks at every record's chain and command, every head, fork and snapshot. A fault in one record hides no
other: behind it the chain goes on from the record's own digest, so that each finding is one fault.

A repair writes the sound part of a store into another store. No session can hold the records behind a damage, nor the
states that a snapshot carries across it: `rest_of` yields one JSON object for each such record, and one for each
journal whose state is known behind the damage:

    {"session":"main","record":13,"proved":true,"digest":"9a1e...","body":"{\"op\":\"grow\"}","parts":[...]}
    {"session":"main","record":12,"proved":false,"reason":"its texts cannot be read: ...","body":"...","parts_hex":"..."}
    {"session":"main","version":66,"from_snapshot":51,"tree":{"format":"mage-tree",...}}

A record is proved where the chain leads from it to the session's head without a gap: its content is the one that was
written. The others are merely there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, groupby, islice
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias, final

import attrs

from mage.codec import encode_tree
from mage.codec.strict_json import DecodeError, Problem, write_json
from mage.engine import Start, State
from mage.stores.doctor.reading import Finding, Kept, KeptJournal, KeptSnapshot, Row
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
    read_parts,
    seal,
)

UNFINISHED: Final = "mage doctor: unfinished repair"
"""The name of the journal that stands in a database while a repair is written into it."""
_AT_ONCE: Final = 1000
_MOST: Final = 50
"""Findings of one journal that are listed one by one."""

Unpack: TypeAlias = Callable[[bytes], State | str | None]
"""Returns the state in a snapshot, or why it holds none; None where the form of the snapshot is unknown."""

# -- the chain of one journal ----------------------------------------------------------------------------


@final
@attrs.frozen
class Lost:
    """A record whose content cannot be read, and the reason."""

    version: int
    row: Row
    reason: str


def content_of(row: Row) -> Record | str:
    """Return the record of a row with the digest in its column, or why it cannot be read. Cost: O(length of its texts)."""
    version, body, parts, _ = row
    if isinstance(body, DecodeError):  # the bundle puts it there for a line that cannot be read
        return str(body)
    if type(version) is not int or not isinstance(body, str) or not isinstance(parts, bytes):
        return "a column holds something of another kind"
    read = read_parts(parts)
    if isinstance(read, Problem):
        return f"its texts cannot be read: {read.as_error()}"
    return Record(version, body, read, digest_in(row) or "")


def _behind(digest: str, content: Record) -> str:
    """Return the digest that follows from a content behind a digest. Cost: O(length of its texts)."""
    return chained(digest, content.version, content.body, content.parts)


def digest_in(row: Row) -> str | None:
    """Return the digest in its column, in hex; None where the column holds none."""
    return row[3].hex() if isinstance(row[3], bytes) and len(row[3]) == 32 else None


def chosen(rows: Sequence[Row], before: Iterable[str | None]) -> Row:
    """Return the row, among several of one version, that is chained to a digest before it; else one that can be read."""
    if len(rows) == 1:
        return rows[0]
    contents = [(row, content) for row in rows if isinstance(content := content_of(row), Record)]
    for digest in before:
        for row, content in contents:
            if digest is not None and _behind(digest, content) == content.digest:
                return row
    return contents[0][0] if contents else rows[0]


class Judged(NamedTuple):
    """What a later record or the head says of contents that their columns did not fit: `proved` as written, or `broken`."""

    proved: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()


@final
class Chain:
    """The chain of one journal, which `follow` and `lose` take along its records. Cost of each: O(length of its texts).

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

    def follow(self, content: Record) -> Judged:
        """Take the next record."""
        version, said = content.version, content.digest or None
        computed, column = self.before
        found, judged = said, Judged()
        if computed is None:  # nothing proves this content yet: the next record may
            self.begins = version + 1
        elif (found := _behind(computed, content)) == said:
            judged = Judged(proved=self._settled())
        elif column not in (None, computed) and _behind(str(column), content) == said:
            judged, found = Judged(broken=self._settled()), said
            self.begins = version
        else:
            self.pending.append(version)
        self.head, self.said = None if found is None else Head(version, found), said
        return judged

    def lose(self, version: int, digest: str | None) -> Judged:
        """Take a version whose content is lost, and the digest in its column."""
        self.head, self.said = None if digest is None else Head(version, digest), digest
        self.begins = version + 1
        return Judged(broken=self._settled())

    def end(self, digest: str | None) -> Judged:
        """Take the digest of the last record that the journal's row has."""
        proved = self.head is not None and self.head.digest == digest
        return Judged(proved=self._settled()) if proved else Judged(broken=self._settled())

    def _settled(self) -> tuple[int, ...]:
        """Return the versions that were pending, and forget them."""
        settled = tuple(self.pending)
        self.pending.clear()
        return settled


def contents(kept: Kept, journal: object, before: Head | None, after: int) -> Iterator[Record | Lost]:
    """Yield the content of each version behind `after` of which there is a row, of a journal with this id.

    Its own records go on from the head `before`, None where it is not known. The digest of each is the one that follows
    from the contents: that of a proved content is the one that was written; "" where none follows.
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
    """The states behind a damage, from `since`, the version of a sound snapshot, to `upto`, whose state is `state`."""

    since: int
    upto: int
    state: State


@final
@attrs.frozen
class Sound:
    """The sound part of a journal: its records up to a version, read through the lineage.

    Attributes:
        id: the id of its row.
        name: its name, or a stand-in where its own cannot be used.
        parent: the name of the journal that it reads through; None for no fork.
        forked_at: the last version that it has from its parent, as far as the parent is sound.
        upto: the last version up to which everything is sound; 0 where nothing is.
        ends: the last version that its row or a record names.
        proved_from: behind a damage, the first version from which the chain leads to the head without a gap: these
            contents are as they were written, though no journal can hold them without those before. None for none.
        carried: the states behind a damage that the snapshot of a proved version has; None for none.
        first: the version that its own records go on from, as its row says it.
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
        said = [f"records 1 to {self.upto} are sound" if self.upto else "no record is sound from the start"]
        if self.proved_from is not None:
            said.append(
                f"{self.proved_from} to {self.ends} stand behind the damage and are proved: the chain leads from them"
                " to the head"
            )
        else:
            said.append("what is there of the others is not proved")
        if self.carried is not None:
            since, upto = self.carried.since, self.carried.upto
            said.append(
                f"the states of versions {since} to {upto} are proved by the snapshot of version {since}"
            )
        return f"session {self.name!r}: {'; '.join(said)}"

    @property
    def is_whole(self) -> bool:
        """Whether every record up to `ends` is sound."""
        return self.upto >= self.ends


@final
@attrs.frozen
class Examined:
    """Each fault of a store, none where all is as it was written; and its sound part, a parent before its forks."""

    findings: tuple[Finding, ...]
    sound: tuple[Sound, ...]


# -- one journal: is each record sound, in its place, chained, and a command that the engine takes? ------


@final
@attrs.frozen
class Point:
    """A version: the heads that content and column say, the likelier first, and its state, None behind a damage."""

    heads: tuple[Head, ...]
    state: State | None


@final
class Walk:
    """One walk over one journal; see `Sound` for what it finds.

    Attributes:
        points: each version that a fork begins at, and that is sound or proved.
        starts_sound: whether the records before its own are sound.
    """

    def __init__(self, kept: Kept, row: KeptJournal, start: Point | None, name: str) -> None:
        self._kept = kept
        self._row = row
        self._name = name
        self.findings: list[Finding] = []
        self._more = 0
        self.first = row.forked_at if type(row.forked_at) is int else 0
        self._chain = Chain(None if start is None else start.heads[0], self.first + 1)
        self._state = None if start is None else start.state
        self._is_sound = start is not None and (start.state is not None or start.heads[0] == NOTHING)
        self.starts_sound = self._is_sound
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
        """Walk over all records and snapshots of the journal, from which forks begin at these versions."""
        snapshots = {snapshot.version for snapshot in self._kept.snapshots(self._row.id)}
        noted = {*snapshots, self._row.head, *forked_at}
        for version, rows in groupby(self._kept.rows(self._row.id), key=itemgetter(0)):
            self._look_at(version, list(rows), noted)
        self.ends = max(self._last, self._row.head if type(self._row.head) is int else 0)
        self._look_at_end()
        self._look_at_head()
        self._look_at_sums()
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
            self._judge(self._chain.lose(version, digest_in(row)))
            if self._chain.head is not None:
                self.points[version] = Point((self._chain.head,), None)
            return self._spoil(version, "damaged record", content)
        if content.digest and content.digest == self._chain.said:
            self._judge(self._chain.lose(version, None))
            return self._spoil(version, "doubled record", f"it is record {version - 1} once more")
        self._judge(self._chain.follow(content))
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
            self._judge(self._chain.lose(version - 1, None))
            reason = f"after {expected - 1} comes {version}, without {missing}"
            self._spoil(expected, "missing record", reason)

    def _judge(self, judged: Judged) -> None:
        """Note what is proved of records whose column did not fit their content."""
        for version in judged.proved:
            reason = "its digest is not that of its content, which the chain behind it proves to be as it was written"
            self._find(version, "damaged digest", reason)
        for version in judged.broken:
            reason = (
                "its content does not match its digest, or it does not belong behind the record before it"
            )
            self._spoil(version, "damaged record", reason)
        if judged.proved and self._refused is not None:
            refused, reason = self._refused
            self._spoil(refused, "refused command", reason)
            self.upto = refused - 1
        elif judged.proved and self._is_sound:
            self.upto = judged.proved[-1]
        if judged.proved or judged.broken:
            self._refused = None

    def _carry_out(self, record: Record) -> None:
        """Carry out the command of a record, and look at its meta, which leads to no state: what follows stays sound."""
        if self._is_sound:
            try:
                self._state = fold([record], self._state)
            except DamagedRecord as damaged:
                if (
                    self._chain.pending
                ):  # it may not be the command that was written: the records behind it tell
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
        """Note what the head proves of the last records, and the version from which the chain leads to it."""
        version, digest = self._row.head, self._row.digest
        said = digest.hex() if isinstance(digest, bytes) else None
        self._judge(self._chain.end(said if version == self._last else None))
        at, begins = self._chain.head, self._chain.begins
        leads = at is not None and (at.version, at.digest) == (version, said)
        if leads and self.upto < self._last and begins <= self._last:
            self.proved_from = begins

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

    def _look_at_sums(self) -> None:
        said = (self._row.payload, self._row.grows)
        found = (self._payload, self._grows)
        if self._readable and said != found:
            reason = f"its row counts {said[0]!r} bytes and {said[1]!r} steps, its records have {found[0]} and {found[1]}"
            self._find(None, "sums", reason)

    def _look_at_snapshot(self, snapshot: KeptSnapshot, unpack: Unpack | None) -> None:
        version, data, digest = snapshot.version, snapshot.data, snapshot.digest
        if type(version) is not int or not isinstance(data, bytes) or not isinstance(digest, str):
            return self._find(None, "snapshot", "a column of it holds something of another kind")
        point = self.points.get(version)
        if point is None:
            reason = "it is of a version that the journal does not have of its own"
            return self._find(version, "snapshot", reason)
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
        """Carry out the proved commands behind a snapshot that is tied to a record behind the damage."""
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

_Forks: TypeAlias = Mapping[object, Sequence[KeptJournal]]
"""The forks of each journal, by its id."""


def examine(kept: Kept, *, unpack: Unpack | None = None) -> Examined:
    """Return the faults of a store, and its sound part.

    Args:
        kept: the content of the store.
        unpack: returns the state in a snapshot, to be compared with the state that the records lead to;
            `mage.session` packs them. Without it, only the digests of snapshots are checked.

    Returns:
        Every fault. Cost: O(size): each record is verified and carried out once, however many forks read it.
    """
    return _Examination(kept, unpack).carry_out()


@final
class _Examination:
    """An examination under way: its findings, and the walks over the journals that forks read through."""

    def __init__(self, kept: Kept, unpack: Unpack | None) -> None:
        self._kept = kept
        self._unpack = unpack
        self._findings: list[Finding] = []
        self._sound: dict[object, Sound] = {}
        self._walks: dict[object, Walk] = {}
        self._broken: set[object] = set()
        self._rows = {row.id: row for row in kept.journals}
        self._names = _usable_names(kept.journals)

    def carry_out(self) -> Examined:
        self._look_at_names()
        forks: dict[object, list[KeptJournal]] = {}
        for row in self._kept.journals:
            if row.parent is not None:
                forks.setdefault(row.parent, []).append(row)
        roots = [row for row in self._kept.journals if self._is_root(row)]
        for row in chain(roots, self._lost_roots()):  # lazily: a circle is what no root has reached
            self._examine_family(row, forks)
        for stray in self._kept.strays():
            reason = (
                f"{stray.count} records belong to the journal with id {stray.journal!r}, which is not there"
            )
            self._findings.append(Finding(None, None, "stray records", reason))
        return Examined((*self._kept.findings, *self._findings), tuple(self._sound.values()))

    def _lost_roots(self) -> Iterator[KeptJournal]:
        """Yield the journals whose parent is missing, and those that read through themselves."""
        for row in self._kept.journals:
            if row.parent is not None and row.parent not in self._rows:
                yield row
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

    def _examine_family(self, root: KeptJournal, forks: _Forks) -> None:
        """Examine a journal and all forks below it, a parent before its forks."""
        todo = [root]
        for row in todo:  # grows while it is walked
            if row.id not in self._sound:
                self._examine(row, {fork.forked_at for fork in forks.get(row.id, ())})
                todo.extend(fork for fork in forks.get(row.id, ()) if fork.id not in self._sound)

    def _look_at_names(self) -> None:
        for row in self._kept.journals:
            if row.name == UNFINISHED:
                reason = "a repair into this store was cut short, so not all is in it: drop its sessions, repair again"
                self._find(row, None, "unfinished repair", reason)
        seen: set[object] = set()
        for row in self._kept.journals:
            if row.name in seen:
                self._find(row, None, "name", "two journals have this name")
            seen.add(row.name)
            problem = _name_problem(row.name)
            if problem is not None:
                self._find(row, None, "name", problem)

    def _is_root(self, row: KeptJournal) -> bool:
        if row.parent is None:
            if row.forked_at == 0:
                return True
            reason = f"nothing says where its first {row.forked_at!r} records are"
        elif row.parent not in self._rows:
            reason = f"the journal with id {row.parent!r}, which it reads through, is not there"
        else:
            return False
        self._find(row, None, "orphan fork", reason)
        self._broken.add(row.id)
        return row.parent is None

    def _examine(self, row: KeptJournal, forked_at: Collection[object]) -> None:
        start, name = self._start(row), self._names[row.id]
        walk = self._walks[row.id] = Walk(self._kept, row, start, name)
        walk.through(forked_at, self._unpack)
        self._findings += walk.findings
        parent = None if row.id in self._broken or row.parent is None else self._sound[row.parent]
        first, upto = walk.first, walk.upto
        if parent is not None and not walk.starts_sound:  # only the sound part of the parent is believed
            reads = self._is_in(row.parent, row.forked_at)
            upto = first = min(parent.upto, first) if reads else 0
        through = None if parent is None else parent.name
        known = (walk.ends, walk.proved_from, walk.carried, walk.first)
        self._sound[row.id] = Sound(row.id, name, through, first, upto, *known)

    def _start(self, row: KeptJournal) -> Point | None:
        """Return the point that a journal's own records go on from, None where it is not known; no state behind a damage."""
        if row.id in self._broken:
            return None
        if row.parent is None:
            return Point((NOTHING,), None)
        walk, parent = self._walks[row.parent], self._sound[row.parent]
        if not self._is_in(row.parent, row.forked_at):
            reason = (
                f"it begins at version {row.forked_at!r} of {parent.name!r},"
                f" which has of its own {walk.first + 1} to {walk.ends}"
            )
            self._find(row, None, "fork point", reason)
            return None
        point = walk.points.get(row.forked_at) if isinstance(row.forked_at, int) else None
        if point is None or point.state is None:
            sound = f"sound up to {parent.upto} only" if parent.upto else "not sound"
            reason = f"its first {row.forked_at} records are read from {parent.name!r}, which is {sound}"
            self._find(row, parent.upto + 1, "damaged parent", reason)
        return point if point is not None and point.heads else None

    def _is_in(self, journal: object, version: object) -> bool:
        """Tell whether a version is among a journal's own, damaged or not."""
        walk = self._walks[journal]
        return type(version) is int and walk.first < version <= walk.ends

    def _find(self, row: KeptJournal, version: int | None, fault: str, reason: str) -> None:
        self._findings.append(Finding(self._names[row.id], version, fault, reason))


def _name_problem(name: object) -> str | None:
    if not isinstance(name, str):
        return f"it is no text: {type(name).__name__}"
    try:
        as_name(name)
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

    Until all is written the store has a journal called `UNFINISHED`, which an examination reports. Records behind
    a damage cannot be written, because a journal has no gap; `rest_of` yields them. Snapshots are not written: they
    are caches. Cost: O(size).

    Raises:
        NameTaken: another repair writes into this store, or a repair into it was cut short.
    """
    into.create(UNFINISHED, [seal(NOTHING, draft(None, Start(UNFINISHED), {}), random_salt)])
    left: list[LeftOut] = []
    for sound in examined.sound:
        if sound.name == UNFINISHED:  # left in the examined store by a repair into that one
            continue
        if sound.upto:
            _write(kept, sound, into)
        if not sound.is_whole:
            left.append(LeftOut(sound.name, sound.upto + 1, sound.ends))
    into.delete(UNFINISHED)
    return tuple(left)


def _write(kept: Kept, sound: Sound, into: JournalStore) -> None:
    if sound.parent is None:
        records = _records(kept, sound, NOTHING)
        head = into.create(sound.name, list(islice(records, _AT_ONCE)))
    else:
        head = into.fork(sound.parent, sound.name, sound.forked_at)
        records = _records(kept, sound, head)
    while chunk := list(islice(records, _AT_ONCE)):
        head = into.append(sound.name, head, chunk)


def _records(kept: Kept, sound: Sound, before: Head) -> Iterator[Record]:
    """Yield the sound records that a journal has of its own, each with the digest that its content proves."""
    if sound.upto > sound.forked_at:
        for content in contents(kept, sound.id, before, sound.forked_at):
            if isinstance(content, Record) and content.digest:
                yield content
            if content.version >= sound.upto:
                return


def rest_of(kept: Kept, examined: Examined) -> Iterator[bytes]:
    """Yield lines of JSON, each with its newline: the records of every journal behind its sound part. Cost: O(size), lazily."""
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
