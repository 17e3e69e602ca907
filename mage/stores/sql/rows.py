"""Records and snapshots as rows, and back. What a row says is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sqlalchemy import Connection, delete, select, update
from sqlalchemy import Row as Columns

from mage.codec.problems import Problem
from mage.stores.checks import require_same
from mage.stores.errors import DamagedRecord, DamagedStore, UnknownJournal
from mage.stores.protocol import JournalInfo, Snapshot
from mage.stores.records import Head, Record, read_parts, write_parts
from mage.stores.sql.lineage import Piece, head_of
from mage.stores.sql.tables import HEAD, ONE, journals, records, snapshots

__all__ = [
    "Row",
    "digest_bytes",
    "forget",
    "head_in",
    "info_of",
    "newest_snapshot",
    "record_of",
    "replace_record",
    "row_of",
    "with_journal",
]

Row: TypeAlias = tuple[object, object, object, object]
"""Version, body, parts and digest, as a database gives them."""


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


def info_of(row: Columns[Any], parent: str | None) -> JournalInfo:
    """Return what a row says of a journal, given its parent's name.

    Raises:
        DamagedStore: it makes no sense.
    """
    numbers = (row.forked_at, row.created, row.changed, row.payload, row.grows)
    if not isinstance(row.name, str) or not all(isinstance(number, int) for number in numbers):
        raise DamagedStore(f"the row of the journal {row.name!r} makes no sense")
    return JournalInfo(row.name, head_of(row.head, row.digest), parent, *numbers)


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
    old = record_of(version, (row[0], row[1], row[2], row[3]))
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
    counted = update(journals).where(journals.c.id.in_(sorted(readers)))
    # First counted, then dropped: who keeps a snapshot meanwhile is either seen here, or sees the count.
    connection.execute(counted.values(redactions=journals.c.redactions + 1))
    for journal, version in readers.items():
        connection.execute(
            delete(snapshots).where(snapshots.c.journal == journal, snapshots.c.version >= version)
        )


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
