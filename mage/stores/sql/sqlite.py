"""SQLite: one file, every write on disk before it returns (WAL, synchronous=FULL, immediate transactions)."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from stat import S_IFREG
from typing import Final, final

import attrs
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from mage.stores.errors import BadAddress, UnknownSchema
from mage.stores.sql.faults import sqlite_code
from mage.stores.sql.forks import closes_before_fork
from mage.stores.sql.places import Place, Watched, first_page

__all__ = ["APPLICATION_ID", "BESIDE", "MIGRATIONS", "Sqlite", "open_sqlite"]

APPLICATION_ID: Final = 0x6D616765
"""The letters "mage", in the header of the file: `file` and others know it by that."""

MIGRATIONS: Final = (
    (
        """CREATE TABLE mage_journals (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            parent INTEGER REFERENCES mage_journals (id),
            forked_at INTEGER NOT NULL,
            head INTEGER NOT NULL,
            digest BLOB NOT NULL,
            created INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            payload INTEGER NOT NULL,
            grows INTEGER NOT NULL
        )""",
        "CREATE INDEX mage_forks ON mage_journals (parent) WHERE parent IS NOT NULL",
        # With a rowid: rows longer than a fourth of a page would spill out of a table without.
        """CREATE TABLE mage_records (
            journal INTEGER NOT NULL REFERENCES mage_journals (id),
            version INTEGER NOT NULL,
            body TEXT NOT NULL,
            parts BLOB NOT NULL,
            digest BLOB NOT NULL,
            PRIMARY KEY (journal, version)
        )""",
        f"PRAGMA application_id = {APPLICATION_ID}",
    ),
    (
        """CREATE TABLE mage_snapshots (
            journal INTEGER NOT NULL REFERENCES mage_journals (id),
            version INTEGER NOT NULL,
            data BLOB NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (journal, version)
        )""",
        "ALTER TABLE mage_journals ADD COLUMN redactions INTEGER NOT NULL DEFAULT 0",
    ),
)

BESIDE: Final = ("-wal", "-shm", "-journal")
"""How the names of the files end that SQLite keeps beside a database."""

_WRITES: Final = "BEGIN IMMEDIATE"
_TRIES: Final = 50


@final
@attrs.frozen
class Sqlite:
    """A SQLite file; see `Backend`."""

    shown: str
    engine: Engine
    writer: Engine
    place: Place
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS

    def require_place(self) -> None:
        """See `Backend.require_place`."""
        self.place.require()

    def lock_schema(self, connection: Connection) -> None:
        """See `Backend.lock_schema`: an immediate transaction is alone already."""

    def outlast_writers(self, connection: Connection) -> None:
        """See `Backend.outlast_writers`: an immediate transaction begins when the others have ended.

        It writes something: of a COMMIT that failed, what stands in the log unread would be found after a crash.
        """
        connection.exec_driver_sql(f"PRAGMA user_version = {self.version(connection)}")

    def version(self, connection: Connection) -> int:
        """See `Backend.version`."""
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if application != APPLICATION_ID and (tables or application or version):
            raise UnknownSchema(self.shown, "it is a SQLite database, but no store of mage")
        return int(version)

    def set_version(self, connection: Connection, version: int) -> None:
        """See `Backend.set_version`."""
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")

    def settle(self) -> None:
        """See `Backend.settle`: from now on the file keeps a write-ahead log.

        Where others write at this moment SQLite refuses that at once: we queue behind them and ask again.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._use_log()
            except DBAPIError as error:
                if (sqlite_code(error.orig) or 0) & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
            with self.writer.begin():
                pass
        return self._use_log()

    def _use_log(self) -> None:
        self._alone("PRAGMA journal_mode = WAL")

    def forget_traces(self) -> None:
        """See `Backend.forget_traces`: the log that holds the old texts is emptied, unless somebody reads."""
        self._alone("PRAGMA wal_checkpoint(TRUNCATE)")

    def reclaim(self) -> None:
        """See `Backend.reclaim`."""
        self._alone("VACUUM")
        self.forget_traces()

    def _alone(self, statement: str) -> None:
        """Carry out what SQLite takes in no transaction."""
        with self.engine.execution_options(mage_begins="").connect() as connection:
            connection.exec_driver_sql(statement)


def open_sqlite(url: str, *, patience: float) -> Sqlite:
    """Return the backend of a URL such as `sqlite:///work.db`; the file is made where there is none.

    Raises:
        BadAddress: the URL names no file, or one that has other names too, or its directory is not there.
        UnknownSchema: the file is no store of mage; nothing was written, and nothing beside it.
        StoreUnavailable: the file cannot be opened.
    """
    path = _path_of(url)
    place = Place(path)
    reason = _refusal(path)
    if reason is not None:
        raise UnknownSchema(url, reason)
    _make_private(path)
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": patience, "factory": Watched},
        max_overflow=-1,
        hide_parameters=True,  # no text of a record in an error or a log
    )
    event.listen(engine, "connect", place.adopt)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "begin", lambda _: place.require())
    closes_before_fork(engine)
    return Sqlite(url, engine, engine.execution_options(mage_begins=_WRITES), place)


def _make_private(path: Path) -> None:
    """Make the file where there is none, for its owner alone: SQLite makes what stands beside it likewise.

    It is made without being opened: a descriptor that is closed would take away the locks of another thread.
    """
    try:
        os.mknod(path, S_IFREG | 0o600)
    except FileExistsError:
        return
    except (AttributeError, PermissionError):  # other systems: SQLite makes it
        return


def _path_of(url: str) -> Path:
    rest = url.removeprefix("sqlite://")
    name = rest[1:]
    if not rest.startswith("/") or not name or "\0" in name:
        raise BadAddress(url, "three slashes and a path name the file: sqlite:///work.db")
    if name == ":memory:":
        raise BadAddress(url, "a store in memory is called memory:")
    path = Path(os.path.realpath(name))  # SQLite keeps its log beside the file, not beside a link to it
    if path.name.endswith(BESIDE):
        raise BadAddress(url, "SQLite keeps files of such names beside a database: name it otherwise")
    if path.is_dir():
        raise BadAddress(url, "this is a directory: name a file in it")
    if path.exists() and not path.is_file():
        raise BadAddress(url, "this is a pipe or a device: name a file")
    if not path.parent.is_dir():
        raise BadAddress(url, f"there is no directory {str(path.parent)!r}: make it first")
    if (names := _names(path)) > 1:
        raise BadAddress(
            url,
            f"the file has {names} names (hard links), and SQLite keeps a log for each, so that what is written under"
            " one is lost under the other: copy it to a file of its own, or remove the other names",
        )
    return path


def _names(path: Path) -> int:
    """Return how many names a file has, 0 where there is none."""
    try:
        return path.stat().st_nlink
    except OSError:
        return 0


def _refusal(path: Path) -> str | None:
    """Return why a file is no store, None where it may be one, from its first page alone: SQLite would write.

    A transaction that was cut short (a journal file tells) is first to be taken back, by SQLite.
    """
    if _size(path) == 0 or _reason(path) is None or _beside(path, "-journal"):
        return None
    return _reason(path)  # asked again: the transaction may have ended while we looked


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _reason(path: Path) -> str | None:
    if not os.access(path, os.R_OK):
        raise BadAddress(f"sqlite:///{path}", "it cannot be read: permission denied")
    try:
        page = first_page(path)
    except sqlite3.Error as error:
        if (sqlite_code(error) or 0) & 0xFF == sqlite3.SQLITE_NOTADB:
            return "it is no SQLite database"
        if _beside(path, "-wal"):  # the log may have what is missing
            return None
        return f"it was cut, or cannot be read ({error}): mage doctor says what is left"
    if page.application != APPLICATION_ID:
        return "it is a SQLite database, but no store of mage"
    if page.version > len(MIGRATIONS):
        return f"its schema has version {page.version}, and this mage reads up to {len(MIGRATIONS)}: use a newer mage"
    if _size(path) % page.page_size and not _beside(path, "-wal"):
        return f"it was cut: its {_size(path)} bytes are no whole pages of {page.page_size}"
    return None


def _beside(path: Path, ending: str) -> bool:
    other = path.with_name(path.name + ending)
    return other.is_file() and other.stat().st_size > 0


def _lenient(data: bytes) -> str:
    """Return text as it can be read; what is not UTF-8 shows as surrogates, and then as a damaged record."""
    return data.decode(errors="surrogateescape")


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    """Set up a new connection."""
    connection.isolation_level = None  # SQLAlchemy begins, `_begin` says how
    connection.text_factory = _lenient
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")  # what is redacted is overwritten
    connection.execute("PRAGMA user_version").fetchone()  # it reads: from now on the log is open, and locked


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get("mage_begins", "BEGIN")
    if statement:
        connection.exec_driver_sql(str(statement))
