"""The content of a store before any of it is believed, and how the doctor reads it without changing the store.

A database is read in a transaction that cannot write, a SQLite file in a copy: SQLite would write beside a file that it opens,
and roll a journal back or copy a log into the file. So the file, its log and its rollback journal are copied first, at a
moment in which none of them changes. The copy lies in a private folder, which is removed when the doctor ends, or by the next
doctor if this one was killed: a lock on a file in the folder tells, since the system releases the lock when the process ends.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, final

import attrs

from mage.codec.strict_json import DecodeError, Problem
from mage.stores.errors import BadAddress, DamagedStore, StoreUnavailable, UnknownSchema
from mage.stores.opening import database_at, without_password
from mage.stores.records import Record, read_parts
from mage.stores.sqlite import APPLICATION_ID, MIGRATIONS, address, lenient
from mage.stores.transactions import Connection, Database, Rows

# -- the content of a store: values of any type --------------------------------------------------------


@final
@attrs.frozen
class Finding:
    """A fault: a thing in a store that is not as it was written.

    Attributes:
        journal: the name of the journal; None for a fault of the store itself.
        version: the record, or the place where one is missing; None for a fault of the journal itself.
        fault: the kind of fault, in a word or two, such as `"missing record"`.
        reason: the fault in a sentence.
    """

    journal: str | None
    version: int | None
    fault: str
    reason: str

    def __str__(self) -> str:
        place = "the store" if self.journal is None else f"session {self.journal!r}"
        place += "" if self.version is None else f", record {self.version}"
        return f"{place}: {self.fault}: {self.reason}"


@final
@attrs.frozen
class KeptJournal:
    """The row of a journal. `JournalInfo` has the meaning of the values; the digest is in bytes."""

    id: object
    name: object
    parent: object
    forked_at: object
    head: object
    digest: object
    payload: object
    grows: object
    created: object
    changed: object


@final
@attrs.frozen
class KeptSnapshot:
    """The row of a snapshot, which belongs to the journal with this id."""

    journal: object
    version: object
    data: object
    digest: object


Row: TypeAlias = tuple[object, object, object, object]
"""Version, body, parts and digest of a record."""


@final
@attrs.frozen
class Stray:
    """Records of a journal that the store does not have."""

    journal: object
    count: int


@final
@attrs.frozen
class Lost:
    """A record whose content cannot be read, and the reason."""

    version: int
    row: Row
    reason: str


def content_of(row: Row) -> Record | str:
    """Return the record of a row with the digest in its column, or why it cannot be read. Cost: O(length of the texts)."""
    version, body, parts, _ = row
    if isinstance(body, DecodeError):  # from a bundle, for a line that cannot be read
        return str(body)
    if type(version) is not int or not isinstance(body, str) or not isinstance(parts, bytes):
        return "a column holds something of another kind"
    read = read_parts(parts)
    if isinstance(read, Problem):
        return f"its texts cannot be read: {read.as_error()}"
    return Record(version, body, read, digest_in(row) or "")


def digest_in(row: Row) -> str | None:
    """Return the digest in the column of a row, in hex; None if the column has none."""
    return row[3].hex() if isinstance(row[3], bytes) and len(row[3]) == 32 else None


class Kept(Protocol):
    """The content of a store, and the faults of the file or database around it."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The faults of the file or the database itself that have shown so far."""
        ...

    @property
    def journals(self) -> Sequence[KeptJournal]:
        """The rows of journals, in the order in which they were made."""
        ...

    def rows(self, journal: object) -> Iterator[Row]:
        """Yield the rows of records of the journal with this id, in order of versions."""
        ...

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """Yield the rows of snapshots of the journal with this id."""
        ...

    def strays(self) -> Sequence[Stray]:
        """Return the records that belong to no journal."""
        ...


# -- a database ----------------------------------------------------------------------------------------

_JOURNALS: Final = (
    "SELECT id, name, parent, forked_at, head, digest, payload, grows, created, changed"
    " FROM mage_journals ORDER BY id"
)
_SNAPSHOTS: Final = (
    "SELECT journal, version, data, digest FROM mage_snapshots WHERE journal = ? ORDER BY version"
)
_COUNTS: Final = "SELECT journal, count(*) FROM mage_records GROUP BY journal ORDER BY journal"
_RECORDS: Final = "SELECT version, body, parts, digest FROM mage_records "
_CHUNK: Final = f"{_RECORDS}WHERE journal = ? AND version > ? ORDER BY version LIMIT 1000"
_WAYS: Final = (
    f"{_RECORDS}WHERE journal = ? ORDER BY version",
    f"{_RECORDS}WHERE journal = ? ORDER BY version DESC",
    f"{_RECORDS}NOT INDEXED WHERE journal = ? ORDER BY rowid",
    f"{_RECORDS}NOT INDEXED WHERE journal = ? ORDER BY rowid DESC",
)
"""The ways to read the records of a journal: a damaged page of the index or the table stops each at another place."""
_TABLES: Final = ("mage_journals", "mage_records", "mage_snapshots")
"""The first two are those of the first schema version."""


@contextmanager
def kept_at(url: str, *, patience: float = 10.0) -> Iterator[Kept]:
    """Yield the content of the store at `url`, to be examined and repaired. Does not change the store.

    Raises:
        BadAddress: the URL names no store that a doctor can read.
        MissingExtra: PostgreSQL's driver is not installed.
        StoreUnavailable: the store cannot be reached or read.
    """
    if url.startswith("sqlite:///"):
        name = url.removeprefix("sqlite:///")
        if not name or "\0" in name:
            raise BadAddress(url, "three slashes and a path name the file: sqlite:///work.db")
        path = Path(name)
        if path.exists() and not path.is_file():  # a device may have no end, and the doctor copies
            raise BadAddress(url, "this is a directory, a pipe or a device: name a file")
        with _kept_in_file(path) as kept:
            yield kept
    elif url.startswith("postgresql:"):
        with _kept_in_database(database_at(url, patience=patience)) as kept:
            yield kept
    else:
        raise BadAddress(without_password(url), "a doctor looks at sqlite:/// and postgresql:// stores")


@final
@attrs.define
class _Database:
    """A `Kept` of a database. Where a damaged page stops the driver with a `tolerated` error, rows are looked for in other ways."""

    _execute: Callable[..., Rows]
    _tables: Collection[str]
    findings: list[Finding]
    _whole: bool = True
    _tolerated: tuple[type[Exception], ...] = ()
    journals: Sequence[KeptJournal] = ()

    def __attrs_post_init__(self) -> None:
        self.journals = self._journals() if self._tables else ()

    def _journals(self) -> Sequence[KeptJournal]:
        rows: dict[object, KeptJournal] = {}
        for order in ("", " DESC"):  # a damaged page stops each on another side
            try:
                for row in self._each(_JOURNALS + order):
                    rows.setdefault(row[0], KeptJournal(*row))
            except self._tolerated as error:
                if self._whole:
                    self._damaged(f"not every journal can be read: {error}")
                    self._whole = False
            else:
                break
        return [rows[key] for key in sorted(rows, key=lambda key: (str(type(key)), key))]

    def _each(self, statement: str, *parameters: object) -> Iterator[Any]:
        return iter(self._execute(statement, parameters).fetchone, None)

    def _damaged(self, reason: str) -> None:
        self.findings.append(_of_store("damaged pages", reason))

    def rows(self, journal: object) -> Iterator[Row]:
        if self._tables and self._whole:
            last = -(1 << 63)
            while rows := self._execute(_CHUNK, (journal, last)).fetchall():
                yield from rows
                last = rows[-1][0]
        elif self._tables:
            found: dict[object, dict[Row, None]] = {}
            for way in _WAYS:
                with suppress(*self._tolerated):  # the examination finds each record that is missing
                    for row in self._each(way, journal):
                        found.setdefault(row[0], {})[row] = None
            for version in sorted(version for version in found if type(version) is int):
                yield from found[version]  # several where an index and its table disagree

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        if "mage_snapshots" in self._tables:
            try:
                for row in self._each(_SNAPSHOTS, journal):
                    yield KeptSnapshot(*row)
            except self._tolerated as error:
                if self._whole:
                    self._damaged(f"snapshots cannot be read: {error}")

    def strays(self) -> Sequence[Stray]:
        counts: list[Any] = []
        with suppress(*self._tolerated):
            counts = self._execute(_COUNTS).fetchall() if self._tables else []
        known = {row.id for row in self.journals}
        return [Stray(journal, count) for journal, count in counts if journal not in known]


def _of_store(fault: str, reason: str) -> Finding:
    return Finding(None, None, fault, reason)


@contextmanager
def _kept_in_database(database: Database) -> Iterator[Kept]:
    """Yield the content of a server's database at this moment, in one transaction that cannot write."""
    try:
        connection = database.connect()
        try:
            connection.begin(writes=False)
            findings: list[Finding] = []
            tables = _tables_of_server(database, connection, findings)
            yield _Database(connection.execute, tables, findings)
        finally:
            connection.close()
    except database.errors as error:
        raise database.fault_of(error) from error


def _tables_of_server(database: Database, connection: Connection, findings: list[Finding]) -> Collection[str]:
    try:
        version = database.version(connection)
    except (UnknownSchema, DamagedStore) as error:
        findings.append(_of_store("unknown schema", error.reason))
        return ()
    if version == 0:
        findings.append(_of_store("no store", "there are no tables of mage in it"))
        return ()
    newer = _newer(version, len(database.migrations))
    findings.extend(newer)
    return () if newer else _TABLES[: version + 1]


def _newer(version: int, newest: int) -> list[Finding]:
    reason = f"its schema has version {version}, and this mage reads up to {newest}: use a newer mage"
    return [_of_store("unknown schema", reason)] if version > newest else []


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
"""A cut file is extended to the length that it names, if that is at most so many times its length."""
_LINES: Final = 20
"""The most lines of SQLite's own check that become findings."""


@contextmanager
def _kept_in_file(path: Path) -> Iterator[Kept]:
    """Copy a store's file, and yield the content of the copy; raise `DamagedStore` if SQLite cannot read it at all."""
    with private_folder("mage-doctor-") as folder:
        copy = Path(folder, "copy.db")
        findings: list[Finding] = []
        try:
            names = path.stat().st_nlink
            if names > 1:  # a log belongs to one name alone
                reason = f"the file has {names} names; what was written under another, and is in the log beside that, is not seen"
                findings.append(_of_store("hard links", reason))
            _copy_quietly(path, copy)
        except OSError as problem:
            raise StoreUnavailable(
                f"it cannot be copied to {folder} to be looked at: {problem.strerror}"
            ) from problem
        findings += _header_findings(copy)
        try:
            with _connected(str(copy)) as connection:
                tables = _tables_of_file(connection, findings)
                damaged = _damaged_pages(connection) if tables else []
                findings += damaged
                yield _Database(connection.execute, tables, findings, not damaged, (sqlite3.Error,))
        except sqlite3.Error as error:
            raise DamagedStore(str(error)) from error


@contextmanager
def _connected(name: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(name, uri=True, isolation_level=None)) as connection:
        connection.text_factory = lenient
        yield connection


def _copy_quietly(path: Path, copy: Path) -> None:
    """Copy a database (of a link the target), its log and its rollback journal; copy again if one changed meanwhile."""
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
    """Copy a database in another process: this process would lose its locks on the file by closing a descriptor."""
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
                os.truncate(
                    copy, whole
                )  # SQLite reads nothing of a file that is shorter than its header says
    content = log.read_bytes() if has_log else b""
    problem = log_problem(content)
    if problem is not None:
        reason = f"{problem}; what stood there is gone, acknowledged or not: --expect-head tells"
        yield _of_store("write-ahead log", reason)
    elif has_log and header.startswith(_MAGIC):
        sizes = (int.from_bytes(header[16:18], "big"), int.from_bytes(content[8:12], "big"))
        foreign = _set_aside(copy, *[1 << 16 if size == 1 else size for size in sizes])
        yield from [] if foreign is None else [_of_store("foreign log", foreign)]


def _tables_of_file(connection: sqlite3.Connection, findings: list[Finding]) -> Collection[str]:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error as error:
        findings.append(_of_store("no database", f"nothing can be read of it: {error}"))
        return ()
    if application != APPLICATION_ID:
        reason = f"its application id is {application:#x}, not {APPLICATION_ID:#x}"
        findings.append(_of_store("no store", reason))
    if newer := _newer(version, len(MIGRATIONS)):
        findings += newer
        return ()
    tables = {name for (name,) in rows if name in _TABLES}
    for table in _TABLES[: 3 if version >= 2 else 2]:
        if table not in tables:
            reason = f"there is no table {table}, as schema version {version} has it"
            findings.append(_of_store("missing table", reason))
    return tables if tables.issuperset(_TABLES[:2]) else ()


def _damaged_pages(connection: sqlite3.Connection) -> list[Finding]:
    try:
        lines = [str(line) for (line,) in connection.execute(f"PRAGMA integrity_check({_LINES})")]
    except sqlite3.Error as error:
        lines = [str(error)]
    return [_of_store("damaged pages", " ".join(line.split())) for line in lines if lines != ["ok"]]


# -- the write-ahead log ---------------------------------------------------------------------------------
#
# A log is a header of 32 bytes and frames, each 24 bytes and a page. A frame counts if its salts are the header's and the
# checksum, which continues from frame to frame, is right; SQLite stops at the first frame that does not count. Frames of an
# older use of the file, with other salts, may follow: that is no fault.

_HEADER: Final = 32
_FRAME: Final = 24
_LOG_MAGIC: Final = 0x377F0682
_FORMAT: Final = 3_007_000


def log_problem(data: bytes) -> str | None:
    """Return which part of a log SQLite would not read, and why; None if it reads all. Cost: O(length)."""
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
# SQLite takes any log that has the right name, and mixes the two without an error. Nothing in a log names its database. But
# no id is used twice, and the time when a session was made never changes: so the file without its log and the file with its
# log agree on that time, or the log is another store's. (The name may differ: a rename may stand in the log alone.)

_Said: TypeAlias = tuple[dict[object, tuple[object, object]], int]
"""The sessions in a database (name and time of creation, by id), and the newest id that was ever used."""


def _set_aside(copy: Path, size: int, log_size: int) -> str | None:
    """Remove the log beside a copy where the log is another file's, and return why; None where nothing shows that.

    Where file and log disagree on some sessions only, one of the two may as well be damaged, and the log stays.

    Args:
        copy: the copy. Cost: O(journals).
        size: bytes of a page of the file.
        log_size: bytes of a page of the log.
    """
    found = _foreign(copy, size, log_size)
    if found is None:
        return None
    reason, is_sure = found
    if not is_sure:
        return f"it is not that of this file, or one of the two was damaged: {reason}"
    for ending in ("-wal", "-shm"):
        copy.with_name(copy.name + ending).unlink(missing_ok=True)
    return f"it is not that of this file, which was looked at without it: {reason}"


def _foreign(copy: Path, size: int, log_size: int) -> tuple[str, bool] | None:
    """Return why a log is another file's, and whether that is sure."""
    if size != log_size:
        return f"its pages have {log_size} bytes, and those of the file {size}", True
    alone = _said(copy, "immutable=1")  # which does without the log
    if alone is None:
        return None
    both = _said(copy, "mode=ro")
    if both is None:
        return "the file can be read without it, and not with it", True
    return _contradiction(alone, both)


def _contradiction(alone: _Said, both: _Said) -> tuple[str, bool] | None:
    (sessions, newest), (in_log, newest_in_log) = alone, both
    common = [journal for journal in sessions if journal in in_log]
    differ = [journal for journal in common if sessions[journal][1] != in_log[journal][1]]
    for journal in differ[:1]:
        (name, created), (other, at) = sessions[journal], in_log[journal]
        reason = (
            f"by the file alone the session with id {journal} is {name!r}, made at {created},"
            f" and by the log {other!r}, made at {at}"
        )
        return reason, len(differ) == len(common)
    if newest_in_log < newest:
        reason = f"the file has given the ids up to {newest}, and by the log only those up to {newest_in_log}"
        return reason, True
    return None


def _said(copy: Path, how: str) -> _Said | None:
    """Return the sessions of a database; None if they cannot be read, for which there is another finding."""
    try:
        # read only, so that the log is not copied into the file
        with _connected(address(copy, how)) as connection:
            rows = connection.execute("SELECT id, name, created FROM mage_journals").fetchall()
            asked = "SELECT seq FROM sqlite_sequence WHERE name = 'mage_journals'"
            newest = connection.execute(asked).fetchone()
    except sqlite3.Error:
        return None
    seq = newest[0] if newest is not None and type(newest[0]) is int else 0
    return {row[0]: (row[1], row[2]) for row in rows}, seq


# -- private folders -----------------------------------------------------------------------------------


_LOCK: Final = "lock"


@contextmanager
def private_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it with its content when the block ends.

    First, folders of the same prefix are removed that killed processes of this user have left (not on Windows, which has no
    such locks).

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
    """Return a new folder, and the locked open file in it."""
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        made = False
        try:
            lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            made = _take(lock) and _is_there(lock, folder)
            if made:
                return folder, lock
            os.close(lock)
        except FileNotFoundError:  # another process removed it before it was locked
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
        folder.rmdir()  # its process was killed before it made the lock; raises if the folder is not empty
        return
    try:
        if _take(lock):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
