"""The examination of a store: every record's chain and command, every head, fork and snapshot.

It only reads. A fault in one record hides no other: behind it the chain goes on from the record's own digest, so that
each finding is one fault.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, count, groupby
from operator import itemgetter
from typing import Final, TypeAlias, final

import attrs

from mage.engine import State
from mage.stores.doctor.kept import (
    UNFINISHED,
    Carried,
    Chain,
    Content,
    Examined,
    Finding,
    Judged,
    Kept,
    KeptJournal,
    KeptSnapshot,
    Row,
    Sound,
    chosen,
    content_of,
    contents,
    digest_in,
)
from mage.stores.errors import BadName, DamagedRecord
from mage.stores.folding import GROW, fold, meta_of
from mage.stores.protocol import as_name, is_time, snapshot_digest
from mage.stores.records import NOTHING, Head, Record

# -- one journal: is each record sound, in its place, chained, and a command that the engine takes? ----

Unpack: TypeAlias = Callable[[bytes], State | str | None]
"""Returns the state in a snapshot, or why it holds none; None where the form of the snapshot is unknown."""

_MOST: Final = 50
"""Findings of one journal that are listed one by one."""


@final
@attrs.frozen
class Point:
    """A version that forks go on from: its head, and its state; None where a record before it is not sound."""

    head: Head
    state: State | None


@final
class Walk:
    """One walk over one journal.

    Attributes:
        points: head and state at each of the versions that forks begin at.
        upto: the last version up to which everything is sound.
        ends: the last version that its row or a record names.
        proved_from: behind a damage, the first version from which the chain leads to the head; None for none.
        carried: the states behind a damage, where the snapshot of a proved version has them.
        starts_sound: whether the records before its own are sound.
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
        """Walk over all records and snapshots of the journal, and return its faults."""
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
            reason = f"it stands before the fork point, version {self._first}, where nothing reads it"
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
        """Note the head and state of a version that a fork, a snapshot or the row names, and how far all is sound."""
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
        """Note the records that are missing before this one."""
        expected = self._last + 1
        self._last = version
        if version > expected:
            missing = f"{expected}" if version == expected + 1 else f"{expected} to {version - 1}"
            self._judge(self._chain.lose(version - 1, None))
            self._spoil(
                expected, "missing record", f"after {expected - 1} comes {version}, without {missing}"
            )

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
            self._is_sound = False  # this may not be the command that was written: the records behind it tell
            self._refused, self._refusal = record.version, damaged.reason
        return None

    def _look_at_meta(self, record: Record) -> None:
        """Look at the metadata of a record. They lead to no state, so the records behind are still sound."""
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
        """Carry out the proved commands behind a snapshot that is tied to a record behind the damage."""
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
        """Note a fault that ends the sound part."""
        self._is_sound = False
        self._readable = False
        self._find(version, fault, reason)

    def _find(self, version: int | None, fault: str, reason: str) -> None:
        if len(self._findings) < _MOST:
            self._findings.append(Finding(self._name, version, fault, reason))
        else:
            self._more += 1


# -- all journals --------------------------------------------------------------------------------------

_FORKS_OF_NOTHING: Final = "orphan fork"
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
    """An examination under way: its findings, and the points of the journals that forks read through."""

    def __init__(self, kept: Kept, unpack: Unpack | None) -> None:
        self._kept = kept
        self._unpack = unpack
        self._findings: list[Finding] = []
        self._sound: dict[object, Sound] = {}
        self._points: dict[tuple[object, int], Point] = {}
        self._spans: dict[object, tuple[int, int]] = {}
        self._broken: set[object] = set()
        self._rows = {row.id: row for row in kept.journals}
        self._names = _usable_names(kept.journals)

    def carry_out(self) -> Examined:
        self._look_at_names()
        forks = self._forks()
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
        seen: dict[object, int] = {}
        line: list[KeptJournal] = []
        while row.id not in seen:
            seen[row.id] = len(line)
            line.append(row)
            row = self._rows[row.parent]
        return line[seen[row.id] :]

    def _examine_family(self, root: KeptJournal, forks: _Forks) -> None:
        """Examine a journal and all forks below it, a parent before its forks."""
        todo = [root]
        for row in todo:  # grows while it is walked
            if row.id not in self._sound:
                self._examine(row, forks.get(row.id, ()))
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
        """Tell whether a journal reads through no other."""
        if row.parent is None:
            if row.forked_at == 0:
                return True
            reason = f"nothing says where its first {row.forked_at!r} records are"
        elif row.parent not in self._rows:
            reason = f"the journal with id {row.parent!r}, which it reads through, is not there"
        else:
            return False
        self._find(row, None, _FORKS_OF_NOTHING, reason)
        self._broken.add(row.id)
        return row.parent is None

    def _forks(self) -> _Forks:
        forks: dict[object, list[KeptJournal]] = {}
        for row in self._kept.journals:
            if row.parent is not None:
                forks.setdefault(row.parent, []).append(row)
        return forks

    def _examine(self, row: KeptJournal, forks: Sequence[KeptJournal]) -> None:
        start = self._start(row)
        walk = Walk(row, start, {fork.forked_at for fork in forks}, self._names[row.id], self._unpack)
        self._findings.extend(walk.through(self._kept))
        for version, point in walk.points.items():
            self._points[row.id, version] = point
        forked_at = row.forked_at if type(row.forked_at) is int else 0
        self._spans[row.id] = (forked_at, walk.ends)
        parent = None if row.id in self._broken or row.parent is None else self._sound[row.parent]
        upto = walk.upto
        if parent is not None and not walk.starts_sound:  # only the sound part of the parent is believed
            reads = self._is_in(row.parent, row.forked_at)
            upto = forked_at = min(parent.upto, forked_at) if reads else 0
        name = None if parent is None else parent.name
        first = row.forked_at if type(row.forked_at) is int else 0
        known = (walk.proved_from, walk.carried, first)
        self._sound[row.id] = Sound(row.id, self._names[row.id], name, forked_at, upto, walk.ends, *known)

    def _start(self, row: KeptJournal) -> Point | None:
        """Return the point that a journal's own records go on from; None where it is not known."""
        if row.id in self._broken:
            return None
        return Point(NOTHING, None) if row.parent is None else self._fork_point(row)

    def _is_in(self, journal: object, version: object) -> bool:
        """Tell whether a version is among a journal's own, damaged or not."""
        first, last = self._spans[journal]
        return type(version) is int and first < version <= last

    def _fork_point(self, row: KeptJournal) -> Point | None:
        """Return the point that a fork begins at: without a state where its parent is not sound up to there."""
        point = self._points.get((row.parent, row.forked_at)) if type(row.forked_at) is int else None
        if point is not None and point.state is not None:
            return point
        parent = self._sound[row.parent]
        if not self._is_in(row.parent, row.forked_at):
            first, last = self._spans[row.parent]
            reason = (
                f"it begins at version {row.forked_at!r} of {parent.name!r},"
                f" which has of its own {first + 1} to {last}"
            )
            self._find(row, None, "fork point", reason)
            return None
        sound = f"sound up to {parent.upto} only" if parent.upto else "not sound"
        reason = f"its first {row.forked_at} records are read from {parent.name!r}, which is {sound}"
        self._find(row, parent.upto + 1, "damaged parent", reason)
        return point

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
        name = row.name if isinstance(row.name, str) and _name_problem(row.name) is None else ""
        if not name or name in used:
            name = next(each for each in _numbered(row.id) if each not in used and each not in taken)
        used.add(name)
        names[row.id] = name
    return names


def _numbered(journal: object) -> Iterator[str]:
    """Yield stand-ins for a journal's name, without end."""
    name = f"journal {journal!r}"[:200]
    yield name
    for number in count(2):
        yield f"{name} ({number})"
