"""The store of journals in a SQL database: one implementation for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias, final

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from mage.stores.checks import as_name, beginning, following, require_range
from mage.stores.errors import (
    Conflict,
    DamagedRecord,
    HasForks,
    NameTaken,
    OutdatedTexts,
    StoreError,
    UnknownJournal,
    UnknownVersion,
)
from mage.stores.folding import GROW
from mage.stores.protocol import JournalInfo, Snapshot
from mage.stores.records import Head, Record
from mage.stores.sources import Clock
from mage.stores.sql.lineage import Piece, head_of, hold_alone, lineage_of, readers_of
from mage.stores.sql.prepared import Prepared
from mage.stores.sql.rows import (
    Row,
    digest_bytes,
    forget,
    head_in,
    infos_of,
    newest_snapshot,
    record_of,
    replace_record,
    row_of,
    with_journal,
)
from mage.stores.sql.schema import Backend
from mage.stores.sql.tables import ADD_JOURNAL, APPEND, CHUNK, DIGEST_AT, INSERT_RECORDS, journals, snapshots
from mage.stores.sql.tables import records as kept_records
from mage.stores.sql.transactions import Transactions

__all__ = ["SqlStore"]

Rows: TypeAlias = Sequence[dict[str, object]]

_FEWEST: Final = 64
_MOST: Final = 2048
_ROOMY: Final = 1 << 20
"""Records that one query reads: as many as make about a megabyte, within these bounds."""


@final
class Origin(NamedTuple):
    """What a journal begins with: the journal it reads through, up to which version, what it takes over, and when."""

    parent: int | None
    forked_at: int
    redactions: int
    time: int


@final
class SqlStore:
    """A `JournalStore` in a SQL database. `open_store` opens one."""

    def __init__(self, backend: Backend, *, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._transactions = Transactions(backend)
        self._swap = Prepared(APPEND, backend.engine)
        self._insert = Prepared(INSERT_RECORDS, backend.engine)

    def create(self, name: str, records: Iterable[Record]) -> Head:
        """See `JournalStore.create`."""
        name, checked = as_name(name), beginning(records)
        head = checked[-1].head
        rows = [row_of(record) for record in checked]
        origin = Origin(None, 0, 0, self._clock())  # other people's code, in no transaction

        def work(connection: Connection) -> Head:
            journal = self._add(connection, name, head, rows, origin)
            self._insert.execute(connection, *with_journal(journal, rows))
            return head

        return self._transactions.write(work, lambda head: self._holds(name, head))

    def fork(self, source: str, name: str, at: int) -> Head:
        """See `JournalStore.fork`."""
        name, time = as_name(name), self._clock()

        def work(connection: Connection) -> Head:
            lineage = lineage_of(connection, source, after=max(0, at - 1), hold=True)
            owner = lineage.owner(at)
            digest = connection.execute(DIGEST_AT, {"owner": owner, "at": at}).scalar_one_or_none()
            if digest is None:
                raise DamagedRecord(at, "it is missing")
            head = head_of(at, digest)
            self._add(connection, name, head, [], Origin(owner, at, lineage.redactions, time))
            return head

        return self._transactions.write(work, lambda head: self._holds(name, head))

    def _add(self, connection: Connection, name: str, head: Head, rows: Rows, origin: Origin) -> int:
        payload, grows = _size(rows)
        row = {
            "name": name,
            "parent": origin.parent,
            "forked_at": origin.forked_at,
            "redactions": origin.redactions,
            "head": head.version,
            "digest": digest_bytes(head.digest),
            "created": origin.time,
            "changed": origin.time,
            "payload": payload,
            "grows": grows,
        }
        try:
            return int(connection.execute(ADD_JOURNAL, row).scalar_one())
        except IntegrityError as error:
            raise NameTaken(name) from error

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        """See `JournalStore.append`."""
        name, checked = as_name(name), following(expected, records)
        if not checked:
            return self._unmoved(name, expected)
        head = checked[-1].head
        rows = [row_of(record) for record in checked]
        payload, grows = _size(rows)
        swap = {
            "named": name,
            "old_head": expected.version,
            "old_digest": digest_bytes(expected.digest),
            "new_head": head.version,
            "new_digest": digest_bytes(head.digest),
            "time": self._clock(),
            "more_payload": payload,
            "more_grows": grows,
        }

        def work(connection: Connection) -> Head:
            journal = self._swap.execute(connection, swap).scalar_one_or_none()
            if journal is None:
                raise Conflict(expected, head_in(connection, name))
            self._insert.execute(connection, *with_journal(journal, rows))
            return head

        return self._transactions.write(work, lambda head: self._holds(name, head))

    def _unmoved(self, name: str, expected: Head) -> Head:
        found = self.head(name)
        if found != expected:
            raise Conflict(expected, found)
        return found

    def _holds(self, name: str, head: Head) -> bool:
        """Tell whether a journal has this very version, whatever was appended since."""
        try:
            found = list(self.read(name, head.version - 1, head.version))
        except (UnknownJournal, UnknownVersion):
            return False
        return [record.head for record in found] == [head]

    def head(self, name: str) -> Head:
        """See `JournalStore.head`."""
        name = as_name(name)
        return self._transactions.read(lambda connection: head_in(connection, name))

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """See `JournalStore.read`."""

        def pieces(connection: Connection) -> list[Piece]:
            lineage = lineage_of(connection, name, after=max(0, after))
            last = require_range(name, after, upto, lineage.head.version)
            return lineage.between(after, last)

        for piece in self._transactions.read(pieces):
            yield from self._piece(name, piece)

    def _piece(self, name: str, piece: Piece) -> Iterator[Record]:
        """Yield records of one journal, a query for each run of them: nobody waits for a slow reader."""
        last, at_most = piece.after, _FEWEST
        while last < piece.upto:
            rows = self._chunk(piece.journal, last, piece.upto, at_most)
            if not rows:
                raise self._absent(name, piece.journal, last + 1)
            size = 0
            for row in rows:
                last += 1
                yield record_of(last, row)
                size += len(row[2]) if isinstance(row[2], bytes) else 0
            at_most = min(_MOST, at_most * 2) if size < _ROOMY // 2 else max(_FEWEST // 8, at_most // 2)

    def _chunk(self, journal: int, after: int, upto: int, at_most: int) -> Sequence[Row]:
        asked = {"owner": journal, "after": after, "upto": upto, "at_most": at_most}
        return self._transactions.read(lambda connection: connection.execute(CHUNK, asked).fetchall())

    def _absent(self, name: str, journal: int, version: int) -> StoreError:
        """Return why a record is not there: the whole journal was deleted while it was read, or only this."""
        asked = select(journals.c.id).where(journals.c.id == journal)
        if self._transactions.read(lambda connection: connection.execute(asked).one_or_none()) is None:
            return UnknownJournal(name)
        return DamagedRecord(version, "it is missing, and so are those after it")

    def journals(self) -> tuple[JournalInfo, ...]:
        """See `JournalStore.journals`."""
        return infos_of(
            self._transactions.read(lambda connection: connection.execute(select(journals)).all())
        )

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        """See `JournalStore.delete`."""

        def work(connection: Connection) -> None:
            journal = lineage_of(connection, name).pieces[0].journal
            hold_alone(connection, name, [journal])
            if expected is not None and (head := head_in(connection, name)) != expected:
                raise Conflict(expected, head)
            _require_unforked(connection, name, journal)
            connection.execute(delete(snapshots).where(snapshots.c.journal == journal))
            connection.execute(delete(kept_records).where(kept_records.c.journal == journal))
            connection.execute(delete(journals).where(journals.c.id == journal))

        self._transactions.write(work, lambda _: self._is_gone(name))

    def rename(self, name: str, new: str) -> None:
        """See `JournalStore.rename`."""
        new = as_name(new)

        def work(connection: Connection) -> Head:
            lineage = lineage_of(connection, name)
            journal = lineage.pieces[0].journal
            hold_alone(connection, name, [journal])
            if connection.execute(select(journals.c.id).where(journals.c.name == new)).one_or_none():
                raise NameTaken(new)
            _require_unforked(connection, name, journal)
            try:
                connection.execute(update(journals).where(journals.c.id == journal).values(name=new))
            except IntegrityError as error:
                raise NameTaken(new) from error
            return lineage.head

        self._transactions.write(work, lambda head: self._is_gone(name) and self._holds(new, head))

    def _is_gone(self, name: str) -> bool:
        try:
            self.head(name)
        except UnknownJournal:
            return True
        return False

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        """See `JournalStore.replace_parts`."""
        replacing = tuple(records)

        def work(connection: Connection) -> None:
            first = min((record.version for record in replacing), default=1)
            lineage = lineage_of(connection, name, after=max(0, first - 1))
            changed = [(lineage.owner(record.version), record.version) for record in replacing]
            hold_alone(connection, name, [owner for owner, _ in changed])
            for record, (owner, _) in zip(replacing, changed, strict=True):
                replace_record(connection, owner, record)
            forget(connection, readers_of(connection, changed))

        self._transactions.repeat(work)
        self._transactions.outside(self._backend.forget_traces)

    def redactions(self, name: str) -> int:
        """See `JournalStore.redactions`."""
        return self._transactions.read(lambda connection: lineage_of(connection, name).redactions)

    def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        """See `JournalStore.keep_snapshot`."""

        def work(connection: Connection) -> None:
            lineage = lineage_of(connection, name)
            hold_alone(connection, name, [lineage.pieces[0].journal])
            lineage = lineage_of(connection, name)  # as it is now that nobody can take out texts
            owner = lineage.owner(version)
            if redactions not in (None, lineage.redactions):
                raise OutdatedTexts(name)
            hold_alone(connection, name, [owner])
            connection.execute(
                delete(snapshots).where(snapshots.c.journal == owner, snapshots.c.version == version)
            )
            row = {"journal": owner, "version": version, "data": bytes(data), "digest": digest}
            connection.execute(insert(snapshots).values(row))

        self._transactions.repeat(work)

    def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        """See `JournalStore.snapshot`."""

        def work(connection: Connection) -> Snapshot | None:
            lineage = lineage_of(connection, name)
            last = lineage.head.version if upto is None else upto
            for piece in lineage.pieces:
                found = newest_snapshot(connection, piece, last)
                if found is not None:
                    return found
            return None

        return self._transactions.read(work)

    def drop_snapshots(self, name: str) -> None:
        """See `JournalStore.drop_snapshots`."""

        def work(connection: Connection) -> None:
            journal = lineage_of(connection, name).pieces[0].journal
            connection.execute(delete(snapshots).where(snapshots.c.journal == journal))

        self._transactions.repeat(work)

    def reclaim(self) -> None:
        """See `JournalStore.reclaim`."""
        self._transactions.outside(self._backend.reclaim)

    def close(self) -> None:
        """See `JournalStore.close`."""
        self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


def _require_unforked(connection: Connection, name: str, journal: int) -> None:
    forks = connection.execute(select(journals.c.name).where(journals.c.parent == journal)).scalars()
    if found := tuple(sorted(forks)):
        raise HasForks(name, found)


def _size(rows: Rows) -> tuple[int, int]:
    """Return the bytes of the rows' texts, and how many of them add a step."""
    payload = grows = 0
    for row in rows:
        parts = row["parts"]
        payload += len(parts) if isinstance(parts, bytes) else 0
        grows += row["body"] == GROW
    return payload, grows
