"""The journals that a journal reads through, and which of them holds which versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import attrs
from sqlalchemy import Connection

from mage.stores.checks import as_name
from mage.stores.errors import DamagedStore, UnknownJournal, UnknownVersion
from mage.stores.records import Head
from mage.stores.sql.tables import ALONE, ANCESTORS, FORKED, JOURNAL, READERS

__all__ = ["Lineage", "Piece", "head_of", "hold_alone", "is_whole", "lineage_of", "readers_of"]


@final
@attrs.frozen
class Piece:
    """The records of one journal that belong to a lineage.

    Attributes:
        journal: its id.
        after: the version before the first.
        upto: the last.
    """

    journal: int
    after: int
    upto: int


@final
@attrs.frozen
class Lineage:
    """A journal and what it reads through.

    Attributes:
        name: its name.
        head: where it ends.
        pieces: newest first, its own before its parent's.
        redactions: how often texts were taken out of it.
    """

    name: str
    head: Head
    pieces: tuple[Piece, ...]
    redactions: int

    def owner(self, version: int) -> int:
        """Return the id of the journal that holds `version`.

        Raises:
            UnknownVersion: none does.
        """
        if not 1 <= version <= self.head.version:
            raise UnknownVersion(self.name, version, self.head.version)
        return next(piece.journal for piece in self.pieces if version > piece.after)

    def between(self, after: int, upto: int) -> list[Piece]:
        """Return the pieces that hold the versions after `after` up to `upto`, in order of versions."""
        found = [
            Piece(piece.journal, max(after, piece.after), min(upto, piece.upto))
            for piece in reversed(self.pieces)
        ]
        return [piece for piece in found if piece.after < piece.upto]


def lineage_of(connection: Connection, name: str, *, after: int = 0, hold: bool = False) -> Lineage:
    """Return the lineage of a journal; with `hold` nobody can delete it until we are done.

    Args:
        connection: in a transaction.
        name: the journal.
        after: what holds only earlier versions, and this one, is left out.
        hold: whether it must stay.

    Returns:
        The lineage. Cost: O(forks between its head and the version behind `after`).

    Raises:
        UnknownJournal: there is no such journal.
        DamagedStore: its rows make no sense.
    """
    row = connection.execute(FORKED if hold else JOURNAL, {"named": as_name(name)}).one_or_none()
    if row is None:
        raise UnknownJournal(name)
    journal, parent, begin, redactions = row.id, row.parent, row.forked_at, row.redactions
    head = head_of(row.head, row.digest)
    if not is_whole(begin, head.version):
        raise DamagedStore(f"the row of the journal {name!r} makes no sense")
    pieces = [Piece(journal, begin, head.version)]
    wanted = {"parent_id": parent, "after": after}
    for above in connection.execute(ANCESTORS, wanted).all() if parent is not None and begin > after else ():
        if not is_whole(above.forked_at, begin - 1):
            break
        pieces.append(Piece(above.id, above.forked_at, begin))
        parent, begin = above.parent, above.forked_at
    if parent is not None and (begin > after or begin == 0):
        raise DamagedStore(f"the journal that {name!r} reads its first {begin} records from is not there")
    if begin > after:
        raise DamagedStore(f"nothing says where the first {begin} records of {name!r} are")
    return Lineage(name, head, tuple(pieces), redactions)


def hold_alone(connection: Connection, name: str, owners: Iterable[int]) -> None:
    """Wait until nobody else writes, forks or deletes these journals; until we are done nobody will.

    Raises:
        UnknownJournal: one of them was deleted, so the journal `name` that read it was too.
    """
    for owner in sorted(set(owners)):
        if connection.execute(ALONE, {"owner": owner}).one_or_none() is None:
            raise UnknownJournal(name)


def is_whole(value: object, upto: int) -> bool:
    """Tell whether a column holds an integer from 0 to `upto`."""
    return isinstance(value, int) and 0 <= value <= upto


def head_of(version: object, digest: object) -> Head:
    """Return the head that a row says.

    Raises:
        DamagedStore: it says none.
    """
    if not isinstance(version, int) or not isinstance(digest, bytes) or version < 1 or len(digest) != 32:
        raise DamagedStore("the row of a journal says no head")
    return Head(version, digest.hex())


def readers_of(connection: Connection, changed: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return for every journal that reads a changed record the first such version.

    Args:
        connection: in a transaction.
        changed: the journal that holds a record, and its version, for each; all in the lineage of one journal.

    Returns:
        The versions by journal. Cost: O(forks that read behind the first such version).
    """
    first: dict[int, int] = {}
    for journal, version in changed:
        first[journal] = min(version, first.get(journal, version))
    if not first:
        return {}
    oldest = min(first, key=first.__getitem__)
    wanted = {"oldest": oldest, "first": first[oldest]}
    for row in connection.execute(READERS, wanted):  # a parent is older than its forks, so its id is smaller
        seen = first.get(row.parent) if row.parent is not None else None
        if seen is not None and seen <= row.forked_at:
            first[row.id] = min(seen, first.get(row.id, seen))
    return first
