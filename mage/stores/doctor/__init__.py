"""The doctor: looks at everything that a store keeps, names what is wrong, and changes nothing.

    from mage.stores.doctor import examine, kept_at

    with kept_at("sqlite:///work.db") as kept:
        for finding in examine(kept).findings:
            print(finding)

A SQLite file is looked at in a copy, a PostgreSQL database in a transaction that cannot write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

from mage.stores.doctor.examining import UNFINISHED, Examined, Sound, examine
from mage.stores.doctor.kept import Finding, Kept, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.doctor.repairing import LeftOut, repair, rest_of
from mage.stores.doctor.scratch import private_folder
from mage.stores.doctor.sqlite import kept_in_file
from mage.stores.errors import BadAddress, DamagedStore, UnknownSchema
from mage.stores.opening import database_at, without_password
from mage.stores.transactions import Connection, Database

__all__ = [
    "UNFINISHED",
    "Examined",
    "Finding",
    "Kept",
    "KeptJournal",
    "KeptSnapshot",
    "LeftOut",
    "Row",
    "Sound",
    "Stray",
    "examine",
    "kept_at",
    "private_folder",
    "repair",
    "rest_of",
]

_SQLITE: Final = "sqlite:///"
_RECORDS: Final = (
    "SELECT version, body, parts, digest FROM mage_records WHERE journal = ? AND version > ?"
    " ORDER BY version LIMIT 1000"
)
_BEFORE_ALL: Final = -(1 << 63)


@contextmanager
def kept_at(url: str, *, patience: float = 10.0) -> Iterator[Kept]:
    """Give what the store at `url` keeps, to be examined and repaired. Nothing of it is changed.

    Raises:
        BadAddress: the URL says no store that is kept anywhere.
        MissingExtra: what PostgreSQL needs is not installed.
        StoreUnavailable: it cannot be reached or read.
    """
    if url.startswith(_SQLITE):
        name = url.removeprefix(_SQLITE)
        if not name or "\0" in name:
            raise BadAddress(url, "three slashes and a path name the file: sqlite:///work.db")
        path = Path(name)
        if path.exists() and not path.is_file():  # a device may have no end, and the doctor copies
            raise BadAddress(url, "this is a directory, a pipe or a device: name a file")
        with kept_in_file(path) as kept:
            yield kept
    elif url.startswith("postgresql:"):
        with _kept_in_database(database_at(url, patience=patience)) as database:
            yield database
    else:
        raise BadAddress(without_password(url), "a doctor looks at sqlite:/// and postgresql:// stores")


@contextmanager
def _kept_in_database(database: Database) -> Iterator[Kept]:
    """Give what a server's database keeps, as it is at this moment, in one transaction that cannot write.

    Raises:
        StoreUnavailable: it cannot be reached, or not be read.
    """
    try:
        connection = database.connect()
        try:
            connection.begin(writes=False)
            yield _DatabaseKept(database, connection)
        finally:
            connection.close()
    except database.errors as error:
        raise database.fault_of(error) from error


@final
class _DatabaseKept:
    """A `Kept` of a server's database."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self._connection = connection
        self.findings: list[Finding] = []
        self._version = self._known_version(database)
        asked = (
            "SELECT id, name, parent, forked_at, head, digest, payload, grows, created, changed"
            " FROM mage_journals ORDER BY id"
        )
        rows = connection.execute(asked).fetchall() if self._version else ()
        self.journals: Sequence[KeptJournal] = [KeptJournal(*row) for row in rows]

    def _known_version(self, database: Database) -> int:
        """Return the schema version, 0 where there is none that can be read."""
        newest = len(database.migrations)
        try:
            version = database.version(self._connection)
        except (UnknownSchema, DamagedStore) as error:
            self._note("unknown schema", error.reason)
            return 0
        if version > newest:
            reason = f"its schema has version {version}, and this mage reads up to {newest}"
            self._note("unknown schema", f"{reason}: use a newer mage")
            return 0
        if version == 0:
            self._note("no store", "there are no tables of mage in it")
        return version

    def _note(self, fault: str, reason: str) -> None:
        self.findings.append(Finding(None, None, fault, reason))

    def rows(self, journal: object) -> Iterator[Row]:
        """See `Kept.rows`."""
        last = _BEFORE_ALL
        while rows := self._connection.execute(_RECORDS, (journal, last)).fetchall():
            yield from rows
            last = rows[-1][0]

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """See `Kept.snapshots`."""
        if self._version >= 2:
            asked = (
                "SELECT journal, version, data, digest FROM mage_snapshots WHERE journal = ? ORDER BY version"
            )
            for row in self._connection.execute(asked, (journal,)).fetchall():
                yield KeptSnapshot(*row)

    def strays(self) -> Sequence[Stray]:
        """See `Kept.strays`."""
        if not self._version:
            return ()
        known = {row.id for row in self.journals}
        asked = "SELECT journal, count(*) FROM mage_records GROUP BY journal"
        return [Stray(*row) for row in self._connection.execute(asked).fetchall() if row[0] not in known]
