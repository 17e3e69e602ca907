"""Look at everything that a store keeps: every record's chain and command, every head, fork and snapshot.

Pure but for the reading. A fault in one record hides no other: behind it the chain is taken up again at what
the record says of itself, so that each finding is one fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final, TypeAlias, final

import attrs

from mage.stores.checks import as_name
from mage.stores.doctor.kept import Finding, Kept, KeptJournal
from mage.stores.doctor.walking import Carried, Point, Unpack, Walk
from mage.stores.errors import BadName
from mage.stores.records import NOTHING

__all__ = ["UNFINISHED", "Examined", "Sound", "examine"]

UNFINISHED: Final = "mage doctor: unfinished repair"
"""The name of the journal that stands in a database while a repair is written into it."""

_FORKS_OF_NOTHING: Final = "orphan fork"
_Forks: TypeAlias = Mapping[object, Sequence[KeptJournal]]
"""The forks of each journal, by its id."""


@final
@attrs.frozen
class Sound:
    """What is sound of a journal: its records up to a version, read through the lineage.

    Attributes:
        id: of its row.
        name: its name, or one that can stand for it where its own cannot be used.
        parent: the name of the journal that it reads through; None where it reads through none.
        forked_at: the last version that it has from that, as far as that is sound.
        upto: the last version up to which everything is sound; 0 where nothing is.
        ends: the last version that it says it has, or that is there.
        proved_from: behind a damage, the first version from which the chain leads to the head without a gap: these
            contents are as they were written, though no journal can hold them without those before. None for none.
        carried: the states behind a damage that a snapshot of such a version has; None where there is none.
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
        """Whether all that it says it has is sound."""
        return self.upto >= self.ends


@final
@attrs.frozen
class Examined:
    """What was found in a store.

    Attributes:
        findings: each fault; none where all is as it was written.
        sound: what is sound of each journal, a parent before its forks.
    """

    findings: tuple[Finding, ...]
    sound: tuple[Sound, ...]


def examine(kept: Kept, *, unpack: Unpack | None = None) -> Examined:
    """Return what is wrong with a store, and what is sound of it.

    Args:
        kept: what it keeps.
        unpack: gives the state that is packed in a snapshot, to be compared with what the records lead to;
            `mage.session` packs them. Without it, only the digests of snapshots are looked at.

    Returns:
        Every fault. Cost: O(size): each record is verified and carried out once, however many forks read it.
    """
    return _Examination(kept, unpack).carry_out()


@final
class _Examination:
    """One examination: what was found, and what is known of the journals that others read through."""

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
        for row in chain(
            roots, self._lost_roots()
        ):  # lazily: those in circles are what was not reached before
            self._examine_family(row, forks)
        for stray in self._kept.strays():
            reason = (
                f"{stray.count} records belong to the journal with id {stray.journal!r}, which is not there"
            )
            self._findings.append(Finding(None, None, "stray records", reason))
        return Examined((*self._kept.findings, *self._findings), tuple(self._sound.values()))

    def _lost_roots(self) -> Iterator[KeptJournal]:
        """Yield those that read through something which is not there, or through themselves."""
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
        """Return the journals of the circle that a journal's parents lead into; of all of them there is a parent."""
        seen: dict[object, int] = {}
        line: list[KeptJournal] = []
        while row.id not in seen:
            seen[row.id] = len(line)
            line.append(row)
            row = self._rows[row.parent]
        return line[seen[row.id] :]

    def _examine_family(self, root: KeptJournal, forks: _Forks) -> None:
        """Examine a journal and all that read through it, a parent before its forks."""
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
        if parent is not None and not walk.starts_sound:  # only what is sound of the parent is believed
            reads = self._is_in(row.parent, row.forked_at)
            upto = forked_at = min(parent.upto, forked_at) if reads else 0
        name = None if parent is None else parent.name
        first = row.forked_at if type(row.forked_at) is int else 0
        known = (walk.proved_from, walk.carried, first)
        self._sound[row.id] = Sound(row.id, self._names[row.id], name, forked_at, upto, walk.ends, *known)

    def _start(self, row: KeptJournal) -> Point | None:
        """Return where a journal's own records begin; None where nothing is known of that."""
        if row.id in self._broken:
            return None
        return Point(NOTHING, None) if row.parent is None else self._fork_point(row)

    def _is_in(self, journal: object, version: object) -> bool:
        """Tell whether a journal has a version of its own, or would have it if it were whole."""
        first, last = self._spans[journal]
        return type(version) is int and first < version <= last

    def _fork_point(self, row: KeptJournal) -> Point | None:
        """Return where a fork begins: without a state where what it reads through is not sound up to there."""
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
    """Return for each journal its name, or where it has none that can be used, one that nobody has."""
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
    """Yield names that can stand for a journal's own, without end."""
    name = f"journal {journal!r}"[:200]
    yield name
    for number in count(2):
        yield f"{name} ({number})"
