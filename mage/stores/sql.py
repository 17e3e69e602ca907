"""The store of journals in a SQL database: one implementation for SQLite and PostgreSQL.

Each column of a row is checked before it is used, so that a damaged file shows as a damaged record and never as an error of a
conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, NamedTuple, TypeAlias, final

import attrs

from mage.codec.strict_json import Problem, short
from mage.stores.errors import (
    Conflict,
    DamagedJournals,
    DamagedRecord,
    DamagedStore,
    HasForks,
    NameTaken,
    OutdatedTexts,
    StoreError,
    UnknownJournal,
    UnknownVersion,
)
from mage.stores.protocol import (
    Clock,
    JournalInfo,
    JournalStore,
    Snapshot,
    as_name,
    beginning,
    following,
    require_range,
    require_same,
)
from mage.stores.records import GROW, Head, Record, read_parts, write_parts
from mage.stores.transactions import Connection, Database, Transactions, migrate

# -- statements ------------------------------------------------------------------------------------------

_HEAD: Final = "SELECT head, digest FROM mage_journals WHERE name = ?"
_JOURNAL: Final = "SELECT id, parent, forked_at, head, digest, redactions FROM mage_journals WHERE name = ?"
_JOURNALS: Final = (
    "SELECT id, name, parent, forked_at, head, digest, created, changed, payload, grows FROM mage_journals"
)
_ANCESTORS: Final = """
    WITH RECURSIVE found (id, parent, forked_at) AS (
        SELECT id, parent, forked_at FROM mage_journals WHERE id = ?
        UNION ALL
        SELECT above.id, above.parent, above.forked_at FROM mage_journals AS above, found
        WHERE above.id = found.parent AND above.forked_at < found.forked_at AND found.forked_at > ?
    )
    SELECT id, parent, forked_at FROM found ORDER BY forked_at DESC"""
"""A journal by its id, and the journals through which it reads the versions behind a given one, newest first.

This is one statement because chains of forks can be hundreds long. It goes to smaller versions only, so that it ends also at
damaged rows, and no further than to the journal that has the version behind the given one."""
_READERS: Final = """
    WITH RECURSIVE found (id, parent, forked_at) AS (
        SELECT id, parent, forked_at FROM mage_journals WHERE parent = ? AND forked_at >= ?
        UNION
        SELECT below.id, below.parent, below.forked_at FROM mage_journals AS below, found
        WHERE below.parent = found.id AND below.forked_at >= ?
    )
    SELECT id, parent, forked_at FROM found ORDER BY id"""
"""The journals that read, through any forks, a version of a given journal from a given version on: parents first, and each
once, so that the statement ends also at damaged rows."""
_BY_ID: Final = "SELECT id FROM mage_journals WHERE id = ?"
_ADD_JOURNAL: Final = (
    "INSERT INTO mage_journals"
    " (name, parent, forked_at, redactions, head, digest, created, changed, payload, grows)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id"
)
"""Returns the id, or no row where the name is taken."""
_ADD_RECORD: Final = "INSERT INTO mage_records (journal, version, body, parts, digest) VALUES (?, ?, ?, ?, ?)"
_MOVE_HEAD: Final = (
    "UPDATE mage_journals SET head = ?, digest = ?, changed = ?, payload = payload + ?, grows = grows + ?"
    " WHERE name = ? AND head = ? AND digest = ? RETURNING id"
)
"""Compare and swap: moves the head if it is the expected head, and returns the journal's id."""
_RECORD: Final = "SELECT version, body, parts, digest FROM mage_records WHERE journal = ? AND version = ?"
_CHUNK: Final = (
    "SELECT version, body, parts, digest FROM mage_records"
    " WHERE journal = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?"
)
_SNAPSHOT: Final = (
    "SELECT version, data, digest FROM mage_snapshots WHERE journal = ? AND version <= ?"
    " ORDER BY version DESC LIMIT 1"
)
_KEEP_SNAPSHOT: Final = (
    "INSERT INTO mage_snapshots (journal, version, data, digest) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (journal, version) DO UPDATE SET data = excluded.data, digest = excluded.digest"
)

_FEWEST: Final = 64
_MOST: Final = 2048
_ROOMY: Final = 1 << 20
"""One query reads as many records as make about a megabyte, within these bounds."""

Row: TypeAlias = tuple[Any, Any, Any, Any]
"""Version, body, parts and digest as a database returns them: of any type, so `record_of` checks them."""


# -- which journals a journal reads through --------------------------------------------------------------


class Piece(NamedTuple):
    """The records of the journal with this id that belong to a lineage: those behind version `after`, up to `upto`."""

    journal: int
    after: int
    upto: int


@final
@attrs.frozen
class Lineage:
    """A journal and its pieces, newest first: its own records before its parent's."""

    name: str
    head: Head
    pieces: tuple[Piece, ...]
    redactions: int

    @property
    def journal(self) -> int:
        """The id of the journal itself."""
        return self.pieces[0].journal

    def owner(self, version: int) -> int:
        """Return the id of the journal that has `version`; raise `UnknownVersion` if none has."""
        if not 1 <= version <= self.head.version:
            raise UnknownVersion(self.name, version, self.head.version)
        return next(piece.journal for piece in self.pieces if version > piece.after)

    def between(self, after: int, upto: int) -> list[Piece]:
        """Return the pieces with the versions after `after` up to `upto`, in order of versions."""
        found = [
            Piece(piece.journal, max(after, piece.after), min(upto, piece.upto))
            for piece in reversed(self.pieces)
        ]
        return [piece for piece in found if piece.after < piece.upto]


def lineage_of(connection: Connection, name: str, *, after: int = 0, hold: bool = False) -> Lineage:
    """Return the lineage of a journal without the pieces that end at version `after` or before.

    With `hold` the journal cannot be deleted until the transaction ends. Raises `UnknownJournal`, and `DamagedStore` where
    rows make no sense. Cost: O(forks between the head and the version behind `after`).
    """
    asked = (as_name(name),)
    rows = (
        connection.select_held(_JOURNAL, asked, shared=True) if hold else connection.execute(_JOURNAL, asked)
    )
    row = rows.fetchone()
    if row is None:
        raise UnknownJournal(name)
    journal, parent, begin, version, digest, redactions = row
    head = head_of(version, digest)
    if not _is_whole(begin, head.version):
        raise DamagedStore(f"the row of the journal {name!r} makes no sense")
    pieces = [Piece(journal, begin, head.version)]
    above = (
        [] if parent is None or begin <= after else connection.execute(_ANCESTORS, (parent, after)).fetchall()
    )
    for number, grandparent, forked_at in above:
        if not _is_whole(forked_at, begin - 1):
            break
        pieces.append(Piece(number, forked_at, begin))
        parent, begin = grandparent, forked_at
    if parent is not None and (begin > after or begin == 0):
        raise DamagedStore(f"the journal that {name!r} reads its first {begin} records from is not there")
    if begin > after:
        raise DamagedStore(f"nothing says where the first {begin} records of {name!r} are")
    return Lineage(name, head, tuple(pieces), redactions)


def readers_of(connection: Connection, changed: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return, by the ids of the journals that read a changed record, the first version of such a record.

    `changed` has for each changed record the journal that has it and its version, all in the lineage of one journal. Cost:
    O(forks that read behind the first such version).
    """
    first: dict[int, int] = {}
    for journal, version in changed:
        first[journal] = min(version, first.get(journal, version))
    if not first:
        return {}
    oldest = min(first, key=first.__getitem__)
    since = first[oldest]
    for journal, parent, forked_at in connection.execute(_READERS, (oldest, since, since)).fetchall():
        seen = first.get(parent)  # a parent is older than its forks, so its id is smaller
        if seen is not None and seen <= forked_at:
            first[journal] = min(seen, first.get(journal, seen))
    return first


def _hold_alone(connection: Connection, name: str, owners: Iterable[int]) -> None:
    """Wait until no other transaction writes, forks or deletes these journals, and keep others from it until this one ends."""
    for owner in sorted(set(owners)):
        if connection.select_held(_BY_ID, (owner,)).fetchone() is None:
            raise UnknownJournal(
                name
            )  # the owner was deleted, so `name`, which reads through it, was deleted too


def _is_whole(value: object, upto: int) -> bool:
    """Tell whether a column holds an integer from 0 to `upto`."""
    return isinstance(value, int) and 0 <= value <= upto


# -- rows and what they say ------------------------------------------------------------------------------


def row_of(record: Record) -> Row:
    """Return the row of a record, but for its journal. Cost: O(length of its texts)."""
    return record.version, record.body, write_parts(record.parts), bytes.fromhex(record.digest)


def record_of(expected: int, row: Row) -> Record:
    """Return the record of a row that should be of this version; raise `DamagedRecord` for another or unreadable row."""
    version, body, data, digest = row
    if version != expected:
        raise DamagedRecord(expected, f"it is missing: the next that is there is {version}")
    if not isinstance(body, str) or not isinstance(data, bytes) or not isinstance(digest, bytes):
        raise DamagedRecord(expected, "a column holds something of another kind")
    parts = read_parts(data)
    if isinstance(parts, Problem):
        raise DamagedRecord(expected, f"its texts cannot be read: {parts.as_error()}")
    return Record(expected, body, parts, digest.hex())


def head_of(version: object, digest: object) -> Head:
    """Return the head in a row; raise `DamagedStore` if it has none."""
    if not isinstance(version, int) or not isinstance(digest, bytes) or version < 1 or len(digest) != 32:
        raise DamagedStore("the row of a journal says no head")
    return Head(version, digest.hex())


def _head_in(connection: Connection, name: str) -> Head:
    row = connection.execute(_HEAD, (name,)).fetchone()
    if row is None:
        raise UnknownJournal(name)
    return head_of(*row)


def _infos_of(rows: Sequence[tuple[Any, ...]]) -> tuple[JournalInfo, ...]:
    """Return the infos in all rows, in order of names; raise `DamagedJournals` if some make no sense."""
    names = {row[0]: row[1] for row in rows}
    sound: list[JournalInfo] = []
    damaged: list[str] = []
    for row in rows:
        try:
            sound.append(_info_of(row, names.get(row[2])))
        except DamagedStore as error:
            damaged.append(f"the journal {short(repr(row[1]))}: {error.reason}")
    sound.sort(key=lambda info: info.name)
    if damaged:
        raise DamagedJournals(tuple(sound), tuple(damaged))
    return tuple(sound)


def _info_of(row: tuple[Any, ...], parent_name: object) -> JournalInfo:
    _, name, parent, forked_at, version, digest, *others = row
    if not isinstance(name, str) or not all(isinstance(number, int) for number in (forked_at, *others)):
        raise DamagedStore("a column of its row holds something of another kind")
    head = head_of(version, digest)
    if not _is_whole(forked_at, head.version):
        raise DamagedStore(f"it was forked at {forked_at}, and has {head.version} versions")
    if parent is None and forked_at == 0:
        return JournalInfo(name, head, None, forked_at, *others)
    if not isinstance(parent_name, str) or forked_at == 0:
        raise DamagedStore(f"the one that it reads its first {forked_at} records from is not there")
    return JournalInfo(name, head, parent_name, forked_at, *others)


def _size(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the bytes of the rows' texts, and the number of rows that add a step."""
    return sum(len(row[2]) for row in rows), sum(row[1] == GROW for row in rows)


# -- writing ---------------------------------------------------------------------------------------------


def _require_unforked(connection: Connection, name: str, journal: int) -> None:
    forks = connection.execute("SELECT name FROM mage_journals WHERE parent = ?", (journal,)).fetchall()
    if forks:
        raise HasForks(name, tuple(sorted(fork for (fork,) in forks)))


def _add_journal(
    connection: Connection,
    name: str,
    head: Head,
    time: int,
    *,
    rows: Sequence[Row] = (),
    reads: tuple[int | None, int, int] = (None, 0, 0),
) -> int:
    """Add a journal and its records, and return its id; `reads` are its parent, the version up to there, and redactions."""
    values = (name, *reads, head.version, bytes.fromhex(head.digest), time, time, *_size(rows))
    added = connection.execute(_ADD_JOURNAL, values).fetchone()
    if added is None:
        raise NameTaken(name)
    number: int = added[0]
    _add_records(connection, number, rows)
    return number


def _add_records(connection: Connection, journal: int, rows: Sequence[Row]) -> None:
    if len(rows) == 1:
        connection.execute(_ADD_RECORD, (journal, *rows[0]))
    elif rows:
        connection.executemany(_ADD_RECORD, [(journal, *row) for row in rows])


def _replace_record(connection: Connection, journal: int, record: Record) -> None:
    place = (journal, record.version)
    row = connection.select_held(_RECORD, place).fetchone()
    if row is None:
        raise DamagedRecord(record.version, "it is missing")
    require_same(record_of(record.version, row), record)
    data = write_parts(record.parts)
    connection.execute("UPDATE mage_records SET parts = ? WHERE journal = ? AND version = ?", (data, *place))
    connection.execute(
        "UPDATE mage_journals SET payload = payload + ? WHERE id = ?", (len(data) - len(row[2]), journal)
    )


def _forget(connection: Connection, readers: Mapping[int, int]) -> None:
    """Count a redaction, and drop the snapshots at or behind a changed record; `readers` is the answer of `readers_of`."""
    if not readers:
        return
    # First count, then drop: a snapshot that is kept meanwhile is dropped here, or its writer reads the new count.
    connection.executemany(
        "UPDATE mage_journals SET redactions = redactions + 1 WHERE id = ?",
        [(journal,) for journal in sorted(readers)],
    )
    connection.executemany(
        "DELETE FROM mage_snapshots WHERE journal = ? AND version >= ?", sorted(readers.items())
    )


@final
class SqlStore(JournalStore):
    """A `JournalStore` in a SQL database; `open_store` opens one."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        """Open the store, and bring its tables to the newest schema; raises as `migrate` does."""
        self._database = database
        self._clock = clock
        self._transactions = Transactions(database)
        with ExitStack() as undo:
            undo.callback(self._transactions.close)
            migrate(self._transactions)
            undo.pop_all()

    def create(self, name: str, records: Iterable[Record]) -> Head:
        name, checked = as_name(name), beginning(records)
        head = checked[-1].head
        rows = [row_of(record) for record in checked]
        time = self._clock()  # other people's code, in no transaction

        def work(connection: Connection) -> Head:
            _add_journal(connection, name, head, time, rows=rows)
            return head

        return self._transactions.write(work, lambda head: self._holds(name, head))

    def fork(self, source: str, name: str, at: int) -> Head:
        name, time = as_name(name), self._clock()

        def work(connection: Connection) -> Head:
            lineage = lineage_of(connection, source, after=max(0, at - 1), hold=True)
            owner = lineage.owner(at)
            row = connection.execute(_RECORD, (owner, at)).fetchone()
            if row is None:
                raise DamagedRecord(at, "it is missing")
            head = head_of(at, row[3])
            _add_journal(connection, name, head, time, reads=(owner, at, lineage.redactions))
            return head

        return self._transactions.write(work, lambda head: self._holds(name, head))

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        name, checked = as_name(name), following(expected, records)
        if not checked:
            found = self.head(name)
            if found != expected:
                raise Conflict(expected, found)
            return found
        head = checked[-1].head
        rows = [row_of(record) for record in checked]
        made = (head.version, rows[-1][3], self._clock(), *_size(rows))
        moved = (*made, name, expected.version, bytes.fromhex(expected.digest))

        def work(connection: Connection) -> Head:
            journal = connection.execute(_MOVE_HEAD, moved).fetchone()
            if journal is None:
                raise Conflict(expected, _head_in(connection, name))
            _add_records(connection, journal[0], rows)
            return head

        return self._transactions.write(work, lambda head: self._holds(name, head))

    def _holds(self, name: str, head: Head) -> bool:
        """Tell whether a journal has exactly this version, at its end or before."""
        try:
            found = list(self.read(name, head.version - 1, head.version))
        except (UnknownJournal, UnknownVersion):
            return False
        return [record.head for record in found] == [head]

    def head(self, name: str) -> Head:
        name = as_name(name)
        return self._transactions.read(lambda connection: _head_in(connection, name))

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        def pieces(connection: Connection) -> list[Piece]:
            lineage = lineage_of(connection, name, after=max(0, after))
            last = require_range(name, after, upto, lineage.head.version)
            return lineage.between(after, last)

        for piece in self._transactions.read(pieces):
            yield from self._piece(name, piece)

    def _piece(self, name: str, piece: Piece) -> Iterator[Record]:
        """Yield records of one journal, by several queries, so that no writer waits for a slow reader."""
        last, at_most = piece.after, _FEWEST
        while last < piece.upto:
            rows = self._rows(_CHUNK, piece.journal, last, piece.upto, at_most)
            if not rows:
                raise self._absent(name, piece.journal, last + 1)
            size = 0
            for row in rows:
                last += 1
                yield record_of(last, row)
                size += len(row[2]) if isinstance(row[2], bytes) else 0
            at_most = min(_MOST, at_most * 2) if size < _ROOMY // 2 else max(_FEWEST // 8, at_most // 2)

    def _rows(self, statement: str, *parameters: object) -> list[Any]:
        return self._transactions.read(
            lambda connection: connection.execute(statement, parameters).fetchall()
        )

    def _absent(self, name: str, journal: int, version: int) -> StoreError:
        """Return why a record is missing: the whole journal was deleted meanwhile, or the records from this one on are lost."""
        if not self._rows(_BY_ID, journal):
            return UnknownJournal(name)
        return DamagedRecord(version, "it is missing, and so are those after it")

    def journals(self) -> tuple[JournalInfo, ...]:
        return _infos_of(self._rows(_JOURNALS))

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        def work(connection: Connection) -> None:
            journal = lineage_of(connection, name).journal
            _hold_alone(connection, name, [journal])
            if expected is not None and (head := _head_in(connection, name)) != expected:
                raise Conflict(expected, head)
            _require_unforked(connection, name, journal)
            connection.execute("DELETE FROM mage_snapshots WHERE journal = ?", (journal,))
            connection.execute("DELETE FROM mage_records WHERE journal = ?", (journal,))
            connection.execute("DELETE FROM mage_journals WHERE id = ?", (journal,))

        self._transactions.write(work, lambda _: self._is_gone(name))

    def rename(self, name: str, new: str) -> None:
        new, time = as_name(new), self._clock()

        def work(connection: Connection) -> Head:
            lineage = lineage_of(connection, name)
            _hold_alone(connection, name, [lineage.journal])
            # a row of the new name: another transaction that wants the name waits, and a taken name is refused
            held = _add_journal(connection, new, lineage.head, time)
            _require_unforked(connection, name, lineage.journal)
            connection.execute("DELETE FROM mage_journals WHERE id = ?", (held,))
            connection.execute("UPDATE mage_journals SET name = ? WHERE id = ?", (new, lineage.journal))
            return lineage.head

        self._transactions.write(work, lambda head: self._is_gone(name) and self._holds(new, head))

    def _is_gone(self, name: str) -> bool:
        try:
            self.head(name)
        except UnknownJournal:
            return True
        return False

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        replacing = tuple(records)

        def work(connection: Connection) -> None:
            first = min((record.version for record in replacing), default=1)
            lineage = lineage_of(connection, name, after=max(0, first - 1))
            changed = [(lineage.owner(record.version), record.version) for record in replacing]
            _hold_alone(connection, name, [owner for owner, _ in changed])
            for record, (owner, _) in zip(replacing, changed, strict=True):
                _replace_record(connection, owner, record)
            _forget(connection, readers_of(connection, changed))

        self._transactions.repeat(work)
        self._transactions.outside(self._database.forget_traces)

    def redactions(self, name: str) -> int:
        return self._transactions.read(lambda connection: lineage_of(connection, name).redactions)

    def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        def work(connection: Connection) -> None:
            _hold_alone(connection, name, [lineage_of(connection, name).journal])
            lineage = lineage_of(connection, name)  # again, since no text can be redacted from now on
            owner = lineage.owner(version)
            if redactions not in (None, lineage.redactions):
                raise OutdatedTexts(name)
            _hold_alone(connection, name, [owner])
            connection.execute(_KEEP_SNAPSHOT, (owner, version, bytes(data), digest))

        self._transactions.repeat(work)

    def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        def work(connection: Connection) -> Snapshot | None:
            lineage = lineage_of(connection, name)
            last = lineage.head.version if upto is None else max(0, upto)  # a database has a least number
            for piece in lineage.pieces:
                row = connection.execute(_SNAPSHOT, (piece.journal, min(last, piece.upto))).fetchone()
                if row is not None and isinstance(row[1], bytes) and isinstance(row[2], str):
                    return Snapshot(*row)
            return None

        return self._transactions.read(work)

    def drop_snapshots(self, name: str) -> None:
        def work(connection: Connection) -> None:
            journal = lineage_of(connection, name).journal
            connection.execute("DELETE FROM mage_snapshots WHERE journal = ?", (journal,))

        self._transactions.repeat(work)

    def reclaim(self) -> None:
        self._transactions.outside(self._database.reclaim)

    def close(self) -> None:
        self._transactions.close()
