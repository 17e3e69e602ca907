"""SQLite: one file, every write on disk before it returns (WAL, synchronous=FULL, immediate transactions).

SQLite locks a file by `fcntl`. Such a lock belongs to a process and a file, so it is gone when the process
closes *any* descriptor of the file, it does not pass to a child that is forked, and it says nothing of another
file that takes the name. Therefore:

- Nothing in mage opens a database file but SQLite itself, which keeps count of its descriptors (`_first_page`
  asks SQLite for the values in the header).
- At the begin of each transaction, and after each COMMIT before it is acknowledged, the file, its write-ahead
  log and the log's index must be the ones that were opened: records in others are never read. A process that has lost the log
  cannot use the file any more, since SQLite goes on sharing the old index in that process.
- A child may not open a file that was in use while its process forked (`mage.stores.transactions` makes this rare), and it
  closes no connection of its parent's.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from errno import EDQUOT, ENOSPC
from pathlib import Path
from stat import S_IFREG
from threading import RLock
from typing import Final, TypeAlias, final
from urllib.parse import quote
from weakref import WeakSet

import attrs

from mage.codec.strict_json import short
from mage.stores.errors import (
    BadAddress,
    DamagedStore,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UnknownSchema,
    WrongProcess,
)
from mage.stores.protocol import Home
from mage.stores.transactions import Connection, schema, words_of

APPLICATION_ID: Final = 0x6D616765
"""The letters "mage" in the header of the file, by which `file` and other programs know it."""

_FIRST, _SECOND = schema(key="INTEGER PRIMARY KEY AUTOINCREMENT", data="BLOB")
MIGRATIONS: Final = ((*_FIRST, f"PRAGMA application_id = {APPLICATION_ID}"), _SECOND)

BESIDE: Final = ("-wal", "-shm", "-journal")
"""The endings of the names of the files that SQLite keeps beside a database."""

Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a file; None where there is no file of the name."""

_MOVED: Final = "the file was moved or replaced since it was opened: move it back, or open the store anew"
_LOG_GONE: Final = (
    "its write-ahead log was removed or replaced while it was open: this process can use the file no more,"
    " another one can"
)
_TRIES: Final = 50
_NO_ROOM: Final = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
_LITTLE: Final = 100_000
"""Bytes: less than SQLite takes for its log and the log's index."""
_MOST_OF_A_PATH: Final = 512
"""The most bytes of a path that SQLite opens, as it is built."""

# -- the file in this process ----------------------------------------------------------------------------


@final
class Watched(sqlite3.Connection):
    """A `Connection` to a file whose place is watched.

    When the last connection to a file is closed, SQLite copies the log into the file. If log and file are not the ones that
    were opened, that would overwrite the records of others: such a connection is never closed.
    """

    place: Place | None = None
    has_log = False
    """Whether the connection has read, so that the log is there for as long as the connection is open."""
    is_lost = False

    def begin(self, *, writes: bool) -> None:
        self.execute("BEGIN IMMEDIATE" if writes else "BEGIN")  # from now on there is no other writer
        if self.place is not None:
            self.place.require()

    def select_held(
        self, statement: str, parameters: Sequence[object], *, shared: bool = False
    ) -> sqlite3.Cursor:
        return self.execute(statement, parameters)  # there is no other writer

    def close(self) -> None:
        """Close the connection, or leave it open for as long as the process lives. Closing twice is no error."""
        if self.place is None:
            super().close()
        else:
            self.place.close(self, super().close)

    def __del__(self) -> None:
        """Keep a connection that may not be closed, since freeing it would close it."""
        if self.place is not None and self.place.is_lost:
            _keep_for_ever(self)


@final
@attrs.define
class _InUse:
    """A file that this process has open.

    Attributes:
        beside: its log and the log's index, once they are there; `forget` says for how long.
        connections: the open connections.
        lost: whether one had to be left open, because its log is not the file's any more.
    """

    beside: tuple[Identity, Identity] | None = None
    connections: WeakSet[Watched] = attrs.field(factory=WeakSet)
    lost: bool = False

    def forget(self) -> None:
        """Forget the log if no connection has it open: SQLite removed it with the last connection.

        A connection that has not read yet does not count, because the log can be removed beside it. Nor does one that was
        closed and not noted as such, because of an interrupt.
        """
        if not self.lost and not any(connection.has_log for connection in list(self.connections)):
            self.beside = None


_LOCK: Final[list[RLock]] = [RLock()]
_USED: Final[dict[Identity, _InUse]] = {}
"""All files that this process has open. SQLite too has one record of each, for all connections."""
_PROCESS: Final = [os.getpid()]
"""The process that has these files open."""
_INHERITED: Final[dict[Identity, int]] = {}
"""Files that were in use when this process was forked, and the process that used them: SQLite here trusts in their locks."""


@final
class Place:
    """The path of a file, and the identity of the file that was `opened` there; None before a connection was."""

    def __init__(self, path: Path) -> None:
        """Raise `WrongProcess` or `StoreUnavailable` if this process may not open the file."""
        self._path = os.fspath(path)
        self._beside = (f"{path}-wal", f"{path}-shm")
        self.opened: Identity = None
        self._home = Home(f"the file {str(path)!r}")
        _inherit()
        parent = _INHERITED.get(_identity(self._path))
        if parent is not None:
            advice = "close its stores there before a fork, or start this process by 'spawn'"
            raise WrongProcess(f"the file {str(path)!r}", parent, os.getpid(), advice)
        used = _USED.get(_identity(self._path))
        if used is not None and used.lost:
            raise StoreUnavailable(_LOG_GONE)

    def adopt(self, connection: Watched) -> None:
        """Take a new connection; raise `StoreUnavailable` if its file is not that of the first connection."""
        with _LOCK[0]:
            found = _identity(self._path)
            if found is None or found != (self.opened or found):
                raise StoreUnavailable(_MOVED)
            self.opened = found
            used = _USED.setdefault(found, _InUse())
            used.forget()
            used.connections.add(connection)
            connection.place = self

    def note_log(self, connection: Watched) -> None:
        """Note that a connection has read, so that it has the present log open."""
        with _LOCK[0]:
            _USED[self.opened].forget()  # the others may have closed while it opened
            connection.has_log = True

    def require(self) -> None:
        """Raise `StoreUnavailable` unless file and log are those that were opened. Cost: three system calls."""
        there = _identity(self._path)
        if there is None or there != self.opened:
            raise StoreUnavailable(_MOVED)
        if not self._has_its_log():
            raise StoreUnavailable(_LOG_GONE)

    def _has_its_log(self) -> bool:
        used = _USED.get(self.opened)
        if used is None:
            return False
        found = _identity(self._beside[0]), _identity(self._beside[1])
        if used.beside is None:
            used.beside = None if None in found else found
        return used.beside in (None, found)

    @property
    def is_lost(self) -> bool:
        """Whether SQLite must not do what it does when a file is closed: copy the log into the file, and remove the log."""
        if not self._home.is_here:
            return True
        # SQLite by itself leaves a file alone that was moved away
        return not self._has_its_log() and _identity(self._path) is not None

    def close(self, connection: Watched, closing_it: Callable[[], None]) -> None:
        """Close a connection if it may be closed; else keep it open."""
        if not self._home.is_here:
            _keep_for_ever(connection)
            return
        with _LOCK[0]:
            used = _USED.setdefault(self.opened, _InUse())
            if self.is_lost:
                # the connection stays noted: closing it again keeps it again, and no child uses the file
                used.lost = True
                _keep_for_ever(connection)
                return
            connection.has_log = False  # first, so that after an interrupt nothing wrong is noted
            closing_it()
            connection.place = None
            used.connections.discard(connection)
            used.forget()
            if not used.connections and not used.lost:
                del _USED[self.opened]


def _identity(path: str) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _keep_for_ever(connection: Watched) -> None:
    """Keep Python from ever freeing a connection, which would close it, also when the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _is_closed(connection: Watched) -> bool:
    """Tell whether a connection was closed. Cost: no system call."""
    try:
        return connection.total_changes < 0
    except sqlite3.ProgrammingError:
        return True


def _inherit() -> None:
    """In a child, once: note the files that were in use when it was forked, and never free their connections."""
    if _PROCESS[0] == os.getpid():
        return
    _LOCK[0] = RLock()
    for used in list(_USED.values()):
        for connection in list(used.connections):
            if _is_closed(connection):  # an interrupt kept that from being noted
                continue
            if connection.place is not None:
                _INHERITED[connection.place.opened] = _PROCESS[0]
            _keep_for_ever(connection)
    _USED.clear()
    _PROCESS[0] = os.getpid()


def _keep_lost() -> None:
    """Keep connections that may not be closed from being freed when the process ends."""
    for used in list(_USED.values()):
        for connection in list(used.connections):
            if connection.place is not None and connection.place.is_lost:
                _keep_for_ever(connection)


atexit.register(_keep_lost)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)


# -- the database ----------------------------------------------------------------------------------------


@final
@attrs.frozen
class Sqlite:
    """A SQLite file; see `Database`."""

    shown: str
    place: Place
    path: Path
    patience: float
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS
    errors: type[Exception] = sqlite3.Error

    def connect(self) -> Watched:
        how = "rw" if self.place.opened else "rwc"  # a file that was removed is not made anew
        connection = sqlite3.connect(
            address(self.path, f"mode={how}"),
            uri=True,
            timeout=self.patience,
            isolation_level=None,  # transactions begin where `begin` says
            check_same_thread=False,  # any thread may use it, one at a time
            factory=Watched,
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            self.place.adopt(connection)
            connection.text_factory = lenient
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # redacted texts are overwritten
            connection.execute("PRAGMA user_version").fetchone()  # a read, which opens and locks the log
            self.place.note_log(connection)
            undo.pop_all()
        return connection

    def fault_of(self, error: Exception, *, committing: bool = False, lost: bool = False) -> StoreError:
        words = words_of(error)
        if isinstance(error, sqlite3.IntegrityError):
            return DamagedStore(f"its rows contradict each other: {words}")
        code = _code(error)
        primary = code & 0xFF
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return DamagedStore(words)
        if primary == sqlite3.SQLITE_FULL:
            return StoreFull(words)
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreUnavailable(f"another writer holds it ({words})")
        if code in _NO_ROOM and not committing:
            return StoreFull(f"the file may not grow, or its disk fails ({words})")
        if primary == sqlite3.SQLITE_READONLY:
            words = f"it cannot be written ({words})"
        if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
            words += _circumstances(self.path)
        return StoreUnavailable(words, in_doubt=committing and primary == sqlite3.SQLITE_IOERR)

    def require_place(self) -> None:
        self.place.require()

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: beside an immediate transaction there is no other writer."""

    def outlast_writers(self, connection: Connection) -> None:
        """Write something: without that, the rest of a failed COMMIT in the log would be read after a crash."""
        connection.execute(f"PRAGMA user_version = {self.version(connection)}")

    def version(self, connection: Connection) -> int:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID and (tables or application or version):
            raise UnknownSchema(self.shown, "it is a SQLite database, but no store of mage")
        return int(version)

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute(f"PRAGMA user_version = {version}")

    def settle(self, connection: Connection) -> None:
        """Give the file a write-ahead log. Where others write, SQLite refuses at once: wait for them, then try again."""
        for _ in range(_TRIES - 1):
            try:
                return self._use_log(connection)
            except sqlite3.Error as error:
                if _code(error) & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
            connection.begin(writes=True)
            connection.rollback()
        return self._use_log(connection)

    def _use_log(self, connection: Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self.place.require()

    def forget_traces(self, connection: Connection) -> None:
        """Empty the log, which holds the old texts, unless another connection reads."""
        self.place.require()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def reclaim(self, connection: Connection) -> None:
        self.place.require()
        connection.execute("VACUUM")
        self.forget_traces(connection)


def _circumstances(path: Path) -> str:
    """Return why SQLite, which does not say, may be unable to use a file: by its folder, or by the room on its disk."""
    if not os.access(path.parent, os.W_OK):
        return "; its folder cannot be written, which SQLite needs also to read: use a copy elsewhere"
    try:
        import shutil  # noqa: PLC0415  # it loads compressors, and is needed after a fault only

        room = shutil.disk_usage(path.parent).free
    except OSError:
        return ""
    return "" if room > _LITTLE else f"; {room:,} bytes are free on its disk: make room"


def _code(error: BaseException) -> int:
    code = getattr(error, "sqlite_errorcode", None)
    return code if isinstance(code, int) else sqlite3.SQLITE_ERROR


def lenient(data: bytes) -> str:
    """Return bytes as text, with surrogates for what is not UTF-8, so that a damaged record shows."""
    return data.decode(errors="surrogateescape")


# -- opening ---------------------------------------------------------------------------------------------


def sqlite_at(url: str, *, patience: float) -> Sqlite:
    """Return the database of a URL such as `sqlite:///work.db`; make the file if there is none. Raises as `open_store`."""
    try:
        path = _path_of(url)
        place = Place(path)
        reason = _refusal(path)
    except (OSError, UnicodeError) as error:
        raise BadAddress(url, f"its file cannot be looked at: {_words(error)}") from error
    if reason is not None:
        raise UnknownSchema(url, reason)
    _make_private(path)
    return Sqlite(url, place, path, patience)


def _make_private(path: Path) -> None:
    """Make the file for its owner alone, without opening it: closing a descriptor would take away another thread's locks."""
    try:
        os.mknod(path, S_IFREG | 0o600)
    except (FileExistsError, AttributeError):  # on other systems SQLite makes it
        return
    except PermissionError as error:
        if sys.platform == "linux":  # others let only root make a file so, and SQLite makes it
            raise StoreUnavailable(f"the file cannot be made: {_words(error)}") from error
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT):
            raise StoreFull(f"the file cannot be made: {_words(error)}") from error
        raise StoreUnavailable(f"the file cannot be made: {_words(error)}") from error


def _words(error: OSError | UnicodeError) -> str:
    """Return the system's words for a fault of a path, without the path."""
    if isinstance(error, UnicodeError):
        return "its name holds what no file's name can hold"
    return (error.strerror or type(error).__name__).lower()


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
    _require_room_for_names(url, path)
    if path.exists() and (names := path.stat().st_nlink) > 1:
        raise BadAddress(
            url,
            f"the file has {names} names (hard links), and SQLite keeps a log for each, so that what is written under"
            " one is lost under the other: copy it to a file of its own, or remove the other names",
        )
    return path


def _require_room_for_names(url: str, path: Path) -> None:
    """Refuse a path that leads nowhere, or so long that SQLite can keep nothing beside the file."""
    if path.is_symlink():  # `realpath` would have followed a good one
        raise BadAddress(url, "this is a link that leads to itself: name a file")
    longest = max(len(ending) for ending in BESIDE)
    most = _MOST_OF_A_PATH, os.pathconf(path.parent, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
    for name, allowed in zip((os.fspath(path), path.name), most, strict=True):
        if (length := len(os.fsencode(name))) + longest > allowed:
            raise BadAddress(
                url,
                f"{short(name, 40)} has {length} bytes, and {allowed - longest} are possible: SQLite keeps a file beside it"
                f" whose name is {longest} longer",
            )


def _refusal(path: Path) -> str | None:
    """Return why a file is no store, by its first page; None also while SQLite has a transaction to roll back."""
    if _size(path) == 0 or _reason(path) is None or _size(path, "-journal"):
        return None
    return _reason(path)  # again, because a transaction may have ended meanwhile


def _size(path: Path, ending: str = "") -> int:
    """Return the bytes of a file, or of the one beside it with this ending; 0 where there is none."""
    try:
        return os.stat(f"{path}{ending}").st_size
    except OSError:
        return 0


def _reason(path: Path) -> str | None:
    if not os.access(path, os.R_OK):
        raise BadAddress(f"sqlite:///{path}", "it cannot be read: permission denied")
    try:
        application, version, page_size = _first_page(path)
    except sqlite3.Error as error:
        if _code(error) & 0xFF == sqlite3.SQLITE_NOTADB:
            return "it is no SQLite database"
        if _size(path, "-wal"):  # the log may have the missing pages
            return None
        return f"it was cut, or cannot be read ({error}): mage doctor says what is left"
    if application != APPLICATION_ID:
        return "it is a SQLite database, but no store of mage"
    if version > len(MIGRATIONS):
        return (
            f"its schema has version {version}, and this mage reads up to {len(MIGRATIONS)}: use a newer mage"
        )
    if _size(path) % page_size and not _size(path, "-wal"):
        return f"it was cut: its {_size(path)} bytes are no whole pages of {page_size}"
    return None


def _first_page(path: Path) -> tuple[int, int, int]:
    """Return application id, schema version and page size from the file, without taking a lock or writing."""
    with closing(sqlite3.connect(address(path, "mode=ro&immutable=1"), uri=True)) as connection:
        names = ("application_id", "user_version", "page_size")
        application, version, page_size = [
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names
        ]
    return application, version, page_size


def address(path: Path, how: str) -> str:
    """Return the URI of a path for SQLite, with `how` to open it."""
    return f"file:{quote(os.fsencode(path))}?{how}"
