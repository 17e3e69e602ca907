"""What a SQLite file keeps, read from a copy of it: the file itself and its log are not touched.

SQLite would write beside a file that it opens, and take a log back or in. So the file, its log and its
rollback journal are copied first, at a moment in which none of them changes, and the copy is looked at.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar, final

from mage.stores.doctor.foreign import set_aside
from mage.stores.doctor.kept import Finding, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.doctor.scratch import private_folder
from mage.stores.doctor.wal import log_problem
from mage.stores.errors import DamagedStore, StoreUnavailable

__all__ = ["SqliteKept", "kept_in_file"]

Answer = TypeVar("Answer")

_APPLICATION_ID: Final = 0x6D616765
_NEWEST: Final = 2
"""The newest schema that is known; `mage.stores.sql` has the tables of each."""
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
"""How many times as long as it is a file may say that it was, to be believed."""
_LINES: Final = 20
"""Of what SQLite says of its own pages."""


@contextmanager
def kept_in_file(path: Path) -> Iterator[SqliteKept]:
    """Copy a store's file, and give what the copy keeps.

    Raises:
        StoreUnavailable: it cannot be read, or it is written all the time.
        DamagedStore: SQLite gives up on what it found sound before.
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
    """Copy a file and what stands beside it, again where one of them changed meanwhile.

    What stands beside a link to it is not its own.
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
    """Copy a database in a process of its own: this one would lose its locks on it with the descriptor."""
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
    """Yield what the file's names say that is wrong: a log stands beside one of them, and belongs to that alone."""
    names = path.stat().st_nlink
    if names > 1:
        reason = f"the file has {names} names; what was written under another, and is in the log beside that, is not seen"
        yield _of_store("hard links", reason)


def _header_findings(copy: Path) -> Iterator[Finding]:
    """Yield what the first bytes of file and log say that is wrong."""
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
    """A `Kept` of a copy of a SQLite file. Where pages are damaged, rows are looked for in several ways."""

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
        if application != _APPLICATION_ID:
            self._note("no store", f"its application id is {application:#x}, not {_APPLICATION_ID:#x}")
        if version > _NEWEST:
            reason = (
                f"its schema has version {version}, and this mage reads up to {_NEWEST}: use a newer mage"
            )
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
        asked = (
            "SELECT id, name, parent, forked_at, head, digest, payload, grows, created, changed"
            " FROM mage_journals ORDER BY id"
        )
        rows: dict[object, KeptJournal] = {}
        for order in ("", " DESC"):  # a damaged page stops both, each at another side of it
            try:
                for row in self._connection.execute(asked + order):
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
            yield from self._by_index(journal)
            return
        found: dict[object, dict[Row, None]] = {}
        for attempt in (self._by_index, self._by_index_backwards, self._by_table, self._by_table_backwards):
            self._gather(found, attempt, journal)
        for version in sorted(version for version in found if type(version) is int):
            yield from found[
                version
            ]  # where an index and its table disagree, of one version there may be several

    def _gather(
        self,
        found: dict[object, dict[Row, None]],
        attempt: Callable[[object], Iterator[Row]],
        journal: object,
    ) -> None:
        try:
            for row in attempt(journal):
                found.setdefault(row[0], {})[row] = None
        except sqlite3.Error:
            return  # pages that cannot be read were told already; what is missing is told record by record

    def _by_index(self, journal: object) -> Iterator[Row]:
        return self._select("WHERE journal = ? ORDER BY version", journal)

    def _by_index_backwards(self, journal: object) -> Iterator[Row]:
        return self._select("WHERE journal = ? ORDER BY version DESC", journal)

    def _by_table(self, journal: object) -> Iterator[Row]:
        return self._select("NOT INDEXED WHERE journal = ? ORDER BY rowid", journal)

    def _by_table_backwards(self, journal: object) -> Iterator[Row]:
        return self._select("NOT INDEXED WHERE journal = ? ORDER BY rowid DESC", journal)

    def _select(self, rest: str, journal: object) -> Iterator[Row]:
        statement = f"SELECT version, body, parts, digest FROM mage_records {rest}"  # noqa: S608  # ours alone
        yield from self._connection.execute(statement, (journal,))

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """See `Kept.snapshots`."""
        if "mage_snapshots" not in self._tables:
            return
        statement = (
            "SELECT journal, version, data, digest FROM mage_snapshots WHERE journal = ? ORDER BY version"
        )
        try:
            for row in self._connection.execute(statement, (journal,)):
                yield KeptSnapshot(*row)
        except sqlite3.Error as error:
            if self._whole:
                self._note("damaged pages", f"snapshots cannot be read: {error}")

    def strays(self) -> Sequence[Stray]:
        """See `Kept.strays`."""
        if not self._tables:
            return ()
        known = {row.id for row in self.journals}
        statement = "SELECT journal, count(*) FROM mage_records GROUP BY journal ORDER BY journal"
        try:
            rows = self._connection.execute(statement).fetchall()
        except sqlite3.Error:
            return ()  # told as damaged pages
        return [Stray(journal, count) for journal, count in rows if journal not in known]
