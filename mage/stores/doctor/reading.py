"""How the doctor reads a store: in a copy of a SQLite file, or in a database, by a transaction that cannot write.

SQLite would write beside a file that it opens, and take a log back or in. So the file, its log and its
rollback journal are copied first, at a moment in which none of them changes, and the doctor reads the copy. The copy
lies in a private folder, which is gone when the doctor ends, and is removed by the next doctor if this one was killed:
a lock on a file in the folder tells, since the system releases the lock when the process ends, however it ends.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final
from urllib.parse import quote

import attrs

from mage.stores.doctor.kept import Finding, Kept, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.errors import BadAddress, DamagedStore, StoreUnavailable, UnknownSchema
from mage.stores.opening import database_at, without_password
from mage.stores.sqlite import APPLICATION_ID, MIGRATIONS
from mage.stores.transactions import Connection, Database

_SQLITE: Final = "sqlite:///"
_JOURNALS: Final = (
    "SELECT id, name, parent, forked_at, head, digest, payload, grows, created, changed"
    " FROM mage_journals ORDER BY id"
)
_SNAPSHOTS: Final = (
    "SELECT journal, version, data, digest FROM mage_snapshots WHERE journal = ? ORDER BY version"
)
_COUNTS: Final = "SELECT journal, count(*) FROM mage_records GROUP BY journal ORDER BY journal"
_RECORDS: Final = (
    "SELECT version, body, parts, digest FROM mage_records WHERE journal = ? AND version > ?"
    " ORDER BY version LIMIT 1000"
)
_WAYS: Final = (
    "WHERE journal = ? ORDER BY version",
    "WHERE journal = ? ORDER BY version DESC",
    "NOT INDEXED WHERE journal = ? ORDER BY rowid",
    "NOT INDEXED WHERE journal = ? ORDER BY rowid DESC",
)
"""The ways to the records of a journal: a damaged page of the index or the table stops each at another place."""
_BEFORE_ALL: Final = -(1 << 63)


@contextmanager
def kept_at(url: str, *, patience: float = 10.0) -> Iterator[Kept]:
    """Yield the content of the store at `url`, to be examined and repaired. Nothing of the store is changed.

    Raises:
        BadAddress: the URL is not that of a store that a doctor can read.
        MissingExtra: PostgreSQL's driver is not installed.
        StoreUnavailable: the store cannot be reached or read.
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
    """Yield the content of a server's database at this moment, in one transaction that cannot write.

    Raises:
        StoreUnavailable: the database cannot be reached, or not be read.
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
        rows = connection.execute(_JOURNALS).fetchall() if self._version else ()
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
            for row in self._connection.execute(_SNAPSHOTS, (journal,)).fetchall():
                yield KeptSnapshot(*row)

    def strays(self) -> Sequence[Stray]:
        """See `Kept.strays`."""
        rows = self._connection.execute(_COUNTS).fetchall() if self._version else ()
        return _strays(rows, self.journals)


def _strays(counts: Iterable[Sequence[Any]], journals: Sequence[KeptJournal]) -> Sequence[Stray]:
    known = {row.id for row in journals}
    return [Stray(journal, count) for journal, count in counts if journal not in known]


# -- a SQLite file -------------------------------------------------------------------------------------


_MAGIC: Final = b"SQLite format 3\0"
_BESIDE: Final = ("", "-wal", "-journal")
_COPY: Final = """
import shutil, sys
try:
    shutil.copyfile(sys.argv[1], sys.argv[2])
except OSError as error:
    sys.exit(error.errno or 5)
"""
_TRIES: Final = 20
_MOST: Final = 16
"""A file that was cut is believed when it says that it was at most so many times as long."""
_LINES: Final = 20
"""Lines of SQLite's own check that become findings."""


@contextmanager
def kept_in_file(path: Path) -> Iterator[SqliteKept]:
    """Copy a store's file, and yield the content of the copy.

    Raises:
        StoreUnavailable: the file cannot be read, or it changes all the time.
        DamagedStore: SQLite gives up on a page that it found sound before.
    """
    with private_folder("mage-doctor-") as folder:
        copy = Path(folder, "copy.db")
        try:
            findings = list(_name_findings(path))
            _copy_quietly(path, copy)
        except OSError as problem:
            raise StoreUnavailable(
                f"it cannot be copied to {folder} to be looked at: {problem.strerror}"
            ) from problem
        findings += _header_findings(copy)
        try:
            with closing(_connection(copy)) as connection:
                yield SqliteKept(connection, findings)
        except sqlite3.Error as error:
            raise DamagedStore(str(error)) from error


def _copy_quietly(path: Path, copy: Path) -> None:
    """Copy a database, its log and its rollback journal, again where one of them changed meanwhile.

    Of a link the target is copied: a log beside the link is another file's.
    """
    path = Path(os.path.realpath(path))
    for _ in range(_TRIES):
        before = _stamps(path)
        for ending in _BESIDE:
            target = copy.with_name(copy.name + ending)
            target.unlink(missing_ok=True)
            try:
                (shutil.copyfile if ending else _copy_elsewhere)(path.with_name(path.name + ending), target)
            except FileNotFoundError:
                if not ending:
                    raise
        if _stamps(path) == before:
            return
    raise StoreUnavailable("it is written all the time: look at it while nobody writes, or at a backup")


def _copy_elsewhere(path: Path, target: Path) -> None:
    """Copy a database in another process: this one would lose its locks on the file when it closes a descriptor."""
    if not sys.executable:
        raise StoreUnavailable("it is copied by another Python, and this process does not know where one is")
    command = [sys.executable, "-I", "-S", "-c", _COPY, os.fspath(path), os.fspath(target)]
    number = subprocess.run(  # noqa: S603  # this interpreter, our program
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    ).returncode
    if number < 0:
        raise StoreUnavailable(f"the process that copied it was ended by signal {-number}")
    if number:
        raise OSError(number, os.strerror(number), os.fspath(path))


def _stamps(path: Path) -> list[tuple[int, int] | None]:
    stamps: list[tuple[int, int] | None] = []
    for ending in _BESIDE:
        try:
            found = path.with_name(path.name + ending).stat()
        except FileNotFoundError:
            stamps.append(None)
        else:
            stamps.append((found.st_size, found.st_mtime_ns))
    return stamps


def _name_findings(path: Path) -> Iterator[Finding]:
    """Yield a finding where the file has several names: a log belongs to one name alone."""
    names = path.stat().st_nlink
    if names > 1:
        reason = f"the file has {names} names; what was written under another, and is in the log beside that, is not seen"
        yield _of_store("hard links", reason)


def _header_findings(copy: Path) -> Iterator[Finding]:
    """Yield the faults in the first bytes of file and log."""
    with copy.open("rb") as file:
        header = file.read(100)
    log = copy.with_name(copy.name + "-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if len(header) < 100 or not header.startswith(_MAGIC):
        yield _of_store("no database", "its first bytes are not those of a SQLite database")
    elif not has_log:
        size = int.from_bytes(header[16:18], "big")
        whole = (65536 if size == 1 else size) * int.from_bytes(header[28:32], "big")
        found = copy.stat().st_size
        if found != whole:
            yield _of_store("cut file", f"it has {found} bytes, and says that it has {whole}")
            if found < whole <= _MOST * found:
                os.truncate(copy, whole)  # SQLite reads nothing at all of a file that is shorter than it says
    problem = log_problem(log.read_bytes()) if has_log else None
    if problem is not None:
        reason = f"{problem}; what stood there is gone, acknowledged or not: --expect-head tells"
        yield _of_store("write-ahead log", reason)
    elif has_log and header.startswith(_MAGIC) and (foreign := set_aside(copy)) is not None:
        yield _of_store("foreign log", foreign)


def _of_store(fault: str, reason: str) -> Finding:
    return Finding(None, None, fault, reason)


def _connection(copy: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.text_factory = lambda data: data.decode(errors="surrogateescape")
    return connection


@final
class SqliteKept:
    """A `Kept` of a copy of a SQLite file. Where pages are damaged, it looks for rows in several ways."""

    def __init__(self, connection: sqlite3.Connection, findings: list[Finding]) -> None:
        self._connection = connection
        self.findings: list[Finding] = findings
        self._tables = self._known_tables()
        self._look_at_pages()
        self.journals: Sequence[KeptJournal] = self._journals()

    def _known_tables(self) -> set[str]:
        try:
            application = self._number("PRAGMA application_id")
            version = self._number("PRAGMA user_version")
            rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        except sqlite3.Error as error:
            self._note("no database", f"nothing can be read of it: {error}")
            return set()
        tables = {str(name) for (name,) in rows if str(name).startswith("mage_")}
        if application != APPLICATION_ID:
            self._note("no store", f"its application id is {application:#x}, not {APPLICATION_ID:#x}")
        if version > len(MIGRATIONS):
            reason = f"its schema has version {version}, and this mage reads up to {len(MIGRATIONS)}: use a newer mage"
            self._note("unknown schema", reason)
            return set()
        wanted = ["mage_journals", "mage_records", *["mage_snapshots"] * (version >= 2)]
        for table in wanted:
            if table not in tables:
                self._note("missing table", f"there is no table {table}, as schema version {version} has it")
        return tables if {"mage_journals", "mage_records"} <= tables else set()

    def _number(self, statement: str) -> int:
        return int(self._connection.execute(statement).fetchone()[0])

    def _look_at_pages(self) -> None:
        self._whole = True
        if not self._tables:
            return
        try:
            lines = [
                str(line)
                for (line,) in self._connection.execute(f"PRAGMA integrity_check({_LINES})").fetchall()
            ]
        except sqlite3.Error as error:
            lines = [str(error)]
        if lines != ["ok"]:
            self._whole = False
            for line in lines:
                self._note("damaged pages", " ".join(line.split()))

    def _note(self, fault: str, reason: str) -> None:
        self.findings.append(_of_store(fault, reason))

    def _journals(self) -> Sequence[KeptJournal]:
        if not self._tables:
            return ()
        rows: dict[object, KeptJournal] = {}
        for order in ("", " DESC"):  # a damaged page stops both, each at another side of it
            try:
                for row in self._connection.execute(_JOURNALS + order):
                    rows.setdefault(row[0], KeptJournal(*row))
            except sqlite3.Error as error:
                if self._whole:
                    self._note("damaged pages", f"not every journal can be read: {error}")
                    self._whole = False
            else:
                break
        return [rows[key] for key in sorted(rows, key=lambda key: (str(type(key)), key))]

    def rows(self, journal: object) -> Iterator[Row]:
        """See `Kept.rows`."""
        if not self._tables:
            return
        if self._whole:
            yield from self._select(_WAYS[0], journal)
            return
        found: dict[object, dict[Row, None]] = {}
        for way in _WAYS:
            self._gather(found, way, journal)
        for version in sorted(version for version in found if type(version) is int):
            yield from found[version]  # several where an index and its table disagree

    def _gather(self, found: dict[object, dict[Row, None]], way: str, journal: object) -> None:
        try:
            for row in self._select(way, journal):
                found.setdefault(row[0], {})[row] = None
        except sqlite3.Error:
            return  # `findings` has the damaged pages; the examination finds each record that is missing

    def _select(self, way: str, journal: object) -> Iterator[Row]:
        statement = f"SELECT version, body, parts, digest FROM mage_records {way}"  # noqa: S608  # ours alone
        yield from self._connection.execute(statement, (journal,))

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """See `Kept.snapshots`."""
        if "mage_snapshots" not in self._tables:
            return
        try:
            for row in self._connection.execute(_SNAPSHOTS, (journal,)):
                yield KeptSnapshot(*row)
        except sqlite3.Error as error:
            if self._whole:
                self._note("damaged pages", f"snapshots cannot be read: {error}")

    def strays(self) -> Sequence[Stray]:
        """See `Kept.strays`."""
        if not self._tables:
            return ()
        try:
            rows = self._connection.execute(_COUNTS).fetchall()
        except sqlite3.Error:
            return ()  # `findings` has the damaged pages
        return _strays(rows, self.journals)


# -- the write-ahead log ---------------------------------------------------------------------------------
#
# A log is a header of 32 bytes and frames, each 24 bytes and a page. A frame counts where its salts are the
# header's and the checksum, which runs on from frame to frame, is right; at the first that does not, SQLite
# stops. Frames of an older use of the file, with other salts, may follow: that is no fault.

_HEADER: Final = 32
_FRAME: Final = 24
_LOG_MAGIC: Final = 0x377F0682
_FORMAT: Final = 3_007_000


def log_problem(data: bytes) -> str | None:
    """Return the part of a log that SQLite would leave out, and why; None where it reads all. Cost: O(length)."""
    if not data:
        return None
    if len(data) < _HEADER:
        return f"{len(data)} bytes are left of it, less than its header"
    magic, version, size = struct.unpack(">III", data[:12])
    if magic & ~1 != _LOG_MAGIC or version != _FORMAT or not 512 <= size <= 65536 or size & (size - 1):
        return "its first bytes are not those of a log, so nothing of it is read"
    order = ">" if magic & 1 else "<"
    sums = _summed(data[:24], order, (0, 0))
    if sums != struct.unpack(">II", data[24:32]):
        return "its header does not match its checksum, so nothing of it is read"
    return _frames_problem(data, size, order, sums)


def _frames_problem(data: bytes, size: int, order: str, sums: tuple[int, int]) -> str | None:
    salts = data[16:24]
    step = _FRAME + size
    count = (len(data) - _HEADER) // step
    for number in range(count):
        start = _HEADER + number * step
        frame = data[start : start + step]
        sums = _summed(frame[_FRAME:], order, _summed(frame[:8], order, sums))
        if frame[8:16] != salts:
            if any(_salts(data, later, step) == salts for later in range(number + 1, count)):
                return (
                    f"frame {number + 1} of {count} is not of this log, so it and those after it are not read"
                )
            return None
        if sums != struct.unpack(">II", frame[16:24]):
            return (
                f"frame {number + 1} of {count} does not match its checksum, so it and those after it are not"
                " read: they were torn, or changed since"
            )
    if (len(data) - _HEADER) % step >= 16 and _salts(data, count, step) == salts:
        return "its last frame is cut, by an append that was refused for lack of room or by a copy that ended early"
    return None


def _salts(data: bytes, number: int, step: int) -> bytes:
    start = _HEADER + number * step + 8
    return data[start : start + 8]


def _summed(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


# -- a log of another file -------------------------------------------------------------------------------
#
# SQLite takes any log that has the right name, and mixes the two without a word. Nothing in a log names its
# database. But no session is ever renamed, and no id is used twice: so the file without its log and the file with
# its log say the same of a session, or the log is another store's.

_PAGE_SIZE: Final = slice(16, 18)
_LOG_PAGE_SIZE: Final = slice(8, 12)


@final
@attrs.frozen
class _Said:
    """The sessions that a database has or had.

    Attributes:
        journals: the name of each, and the time when it was made, by its id.
        newest: the newest id that was ever used.
    """

    journals: Mapping[object, tuple[object, object]]
    newest: int


def set_aside(copy: Path) -> str | None:
    """Remove the log beside a copy where it is another file's, and return why; None where nothing shows that.

    Where file and log disagree on some sessions only, one of them may as well be damaged, and the log stays. Cost:
    O(journals).
    """
    found = _foreign(copy)
    if found is None:
        return None
    reason, is_sure = found
    if not is_sure:
        return f"it is not that of this file, or one of the two was damaged: {reason}"
    for ending in ("-wal", "-shm"):
        copy.with_name(copy.name + ending).unlink(missing_ok=True)
    return f"it is not that of this file, which was looked at without it: {reason}"


def _foreign(copy: Path) -> tuple[str, bool] | None:
    with copy.open("rb") as file:
        size = int.from_bytes(file.read(18)[_PAGE_SIZE], "big")
    with copy.with_name(copy.name + "-wal").open("rb") as file:
        log_size = int.from_bytes(file.read(12)[_LOG_PAGE_SIZE], "big")
    if size != (1 if log_size == 1 << 16 else log_size):
        return (
            f"its pages have {log_size} bytes, and those of the file {1 << 16 if size == 1 else size}",
            True,
        )
    alone = _said(copy, "immutable=1")  # which does without the log
    if alone is None:
        return None
    both = _said(copy, "mode=ro")
    if both is None:
        return "the file can be read without it, and not with it", True
    return _contradiction(alone, both)


def _contradiction(alone: _Said, both: _Said) -> tuple[str, bool] | None:
    common = [journal for journal in alone.journals if journal in both.journals]
    differ = [journal for journal in common if alone.journals[journal] != both.journals[journal]]
    for journal in differ[:1]:
        (name, created), (other, at) = alone.journals[journal], both.journals[journal]
        reason = (
            f"by the file alone the session with id {journal} is {name!r}, made at {created},"
            f" and by the log {other!r}, made at {at}"
        )
        return reason, len(differ) == len(common)
    if both.newest < alone.newest:
        return (
            f"the file has given the ids up to {alone.newest}, and by the log only those up to {both.newest}",
            True,
        )
    return None


def _said(copy: Path, how: str) -> _Said | None:
    """Return the sessions of a database, None where they cannot be read, for which there is another finding."""
    try:
        url = f"file:{quote(str(copy))}?{how}"  # read only: the log is not taken into the copy
        with closing(sqlite3.connect(url, uri=True, isolation_level=None)) as connection:
            connection.text_factory = lambda data: data.decode(errors="surrogateescape")
            rows = connection.execute("SELECT id, name, created FROM mage_journals").fetchall()
            asked = "SELECT seq FROM sqlite_sequence WHERE name = 'mage_journals'"
            newest = connection.execute(asked).fetchone()
    except sqlite3.Error:
        return None
    seq = newest[0] if newest is not None and type(newest[0]) is int else 0
    return _Said({row[0]: (row[1], row[2]) for row in rows}, seq)


# -- private folders -----------------------------------------------------------------------------------


_LOCK: Final = "lock"


@contextmanager
def private_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it with its content when the block ends.

    Folders of the same prefix that killed processes of this user left there are removed first. Windows has no such
    locks: there they stay.

    Args:
        prefix: the beginning of its name.
        place: the folder around it; None for the system's folder for temporary files.

    Raises:
        OSError: the folder cannot be made.
    """
    where = Path(tempfile.gettempdir()) if place is None else place
    _sweep(where, prefix)
    folder, lock = _locked(where, prefix)
    process = os.getpid()
    try:
        yield folder
    finally:
        if process == os.getpid():  # not in a child that was forked inside
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked(where: Path, prefix: str) -> tuple[Path, int]:
    """Return a new folder, and the open file in it that is locked."""
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        made = False
        try:
            lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            made = _take(lock) and _is_there(lock, folder)
            if made:
                return folder, lock
            os.close(lock)
        except FileNotFoundError:  # another process swept it away before it was locked
            pass
        finally:
            if not made:
                shutil.rmtree(folder, ignore_errors=True)
    raise FileNotFoundError(2, os.strerror(2), str(where))


def _is_there(lock: int, folder: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(lock), (folder / _LOCK).stat())
    return False


def _take(lock: int) -> bool:
    """Take a lock, and tell whether it was free."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415  # Windows has none

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(where: Path, prefix: str) -> None:
    """Remove the folders of this user whose processes have ended."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for entry in os.scandir(where):
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                        _remove_if_left(Path(entry.path))


def _remove_if_left(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        folder.rmdir()  # its process was killed before it made the lock; a folder that is not empty raises here
        return
    try:
        if _take(lock):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
