"""Records and snapshots as rows, and back. What a row says is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, delete, select, update
from sqlalchemy import Row as Columns

from mage.codec.problems import Problem, short
from mage.stores.checks import require_same
from mage.stores.errors import DamagedJournals, DamagedRecord, DamagedStore, UnknownJournal
from mage.stores.protocol import JournalInfo, Snapshot
from mage.stores.records import Head, Record, read_parts, write_parts
from mage.stores.sql.lineage import Piece, head_of, is_whole
from mage.stores.sql.tables import HEAD, ONE, journals, records, snapshots

__all__ = [
    "Row",
    "digest_bytes",
    "forget",
    "head_in",
    "infos_of",
    "newest_snapshot",
    "record_of",
    "replace_record",
    "row_of",
    "with_journal",
]

Row: TypeAlias = Columns[Any, Any, Any, Any]
"""Version, body, parts and digest, as a database gives them: of any type, so `record_of` looks."""

_AT_ONCE: Final = 500
"""Journals that one statement names."""


def row_of(record: Record) -> dict[str, object]:
    """Return the row of a record, but for its journal. Cost: O(length of its texts)."""
    return {
        "version": record.version,
        "body": record.body,
        "parts": write_parts(record.parts),
        "digest": digest_bytes(record.digest),
    }


def with_journal(journal: int, rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows as those of this journal."""
    return [{"journal": journal, **row} for row in rows]


def digest_bytes(digest: str) -> bytes:
    """Return a digest in 32 bytes."""
    return bytes.fromhex(digest)


def record_of(expected: int, row: Row) -> Record:
    """Return the record of a row that should be of version `expected`. Cost: O(length of its texts).

    Raises:
        DamagedRecord: it is of another version, or it is no record.
    """
    version, body, data, digest = row
    if version != expected:
        raise DamagedRecord(expected, f"it is missing: the next that is there is {version}")
    if not isinstance(body, str) or not isinstance(data, bytes) or not isinstance(digest, bytes):
        raise DamagedRecord(expected, "a column holds something of another kind")
    parts = read_parts(data)
    if isinstance(parts, Problem):
        raise DamagedRecord(expected, f"its texts cannot be read: {parts.as_error()}")
    return Record(expected, body, parts, digest.hex())


def head_in(connection: Connection, name: str) -> Head:
    """Return the head of a journal.

    Raises:
        UnknownJournal: there is none of this name.
    """
    row = connection.execute(HEAD, {"named": name}).one_or_none()
    if row is None:
        raise UnknownJournal(name)
    return head_of(row[0], row[1])


def infos_of(rows: Sequence[Columns[Any]]) -> tuple[JournalInfo, ...]:
    """Return what all rows say of their journals, in order of names.

    Raises:
        DamagedJournals: one makes no sense; it has what the others say.
    """
    names = {row.id: row.name for row in rows}
    sound: list[JournalInfo] = []
    damaged: list[str] = []
    for row in rows:
        try:
            sound.append(_info_of(row, names.get(row.parent)))
        except DamagedStore as error:
            damaged.append(f"the journal {short(repr(row.name))}: {error.reason}")
    sound.sort(key=_name)
    if damaged:
        raise DamagedJournals(tuple(sound), tuple(damaged))
    return tuple(sound)


def _info_of(row: Columns[Any], parent: object) -> JournalInfo:
    numbers = (row.forked_at, row.created, row.changed, row.payload, row.grows)
    if not isinstance(row.name, str) or not all(isinstance(number, int) for number in numbers):
        raise DamagedStore("a column of its row holds something of another kind")
    head = head_of(row.head, row.digest)
    if not is_whole(row.forked_at, head.version):
        raise DamagedStore(f"it was forked at {row.forked_at}, and has {head.version} versions")
    if row.parent is None and row.forked_at == 0:
        return JournalInfo(row.name, head, None, *numbers)
    if not isinstance(parent, str) or row.forked_at == 0:
        raise DamagedStore(f"the one that it reads its first {row.forked_at} records from is not there")
    return JournalInfo(row.name, head, parent, *numbers)


def _name(info: JournalInfo) -> str:
    return info.name


def replace_record(connection: Connection, journal: int, record: Record) -> None:
    """Put a record in the place of itself with texts redacted.

    Raises:
        OtherRecord: it is not that.
        DamagedRecord: the one that is there cannot be read.
    """
    version = record.version
    row = connection.execute(ONE, {"owner": journal, "at": version}).one_or_none()
    if row is None:
        raise DamagedRecord(version, "it is missing")
    old = record_of(version, row)
    require_same(old, record)
    data = write_parts(record.parts)
    connection.execute(
        update(records).where(records.c.journal == journal, records.c.version == version).values(parts=data)
    )
    connection.execute(
        update(journals)
        .where(journals.c.id == journal)
        .values(payload=journals.c.payload + (len(data) - len(row[2])))
    )


def forget(connection: Connection, readers: Mapping[int, int]) -> None:
    """Drop the snapshots that saw a changed record, and count the change.

    Args:
        connection: in a transaction.
        readers: each journal that reads a changed record, and the first such version.
    """
    # First counted, then dropped: who keeps a snapshot meanwhile is either seen here, or sees the count.
    for some in _batches(sorted(readers)):
        counted = update(journals).where(journals.c.id.in_(some))
        connection.execute(counted.values(redactions=journals.c.redactions + 1))
    readers_from: dict[int, list[int]] = {}
    for journal, version in readers.items():
        readers_from.setdefault(version, []).append(journal)
    for version, those in readers_from.items():
        for some in _batches(those):
            seen = snapshots.c.journal.in_(some), snapshots.c.version >= version
            connection.execute(delete(snapshots).where(*seen))


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield ids in runs as long as any database takes in one statement."""
    for begin in range(0, len(ids), _AT_ONCE):
        yield ids[begin : begin + _AT_ONCE]


def newest_snapshot(connection: Connection, piece: Piece, upto: int) -> Snapshot | None:
    """Return the newest snapshot of a piece's journal at or before `upto`, None where there is none."""
    row = connection.execute(
        select(snapshots.c.version, snapshots.c.data, snapshots.c.digest)
        .where(snapshots.c.journal == piece.journal, snapshots.c.version <= min(upto, piece.upto))
        .order_by(snapshots.c.version.desc())
        .limit(1)
    ).one_or_none()
    if row is None or not isinstance(row.data, bytes) or not isinstance(row.digest, str):
        return None
    return Snapshot(row.version, row.data, row.digest)
