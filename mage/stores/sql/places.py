"""A SQLite file as this process has it open, and what would make its locks void without a word.

SQLite locks a file by `fcntl`. Such a lock belongs to a process and a file, so it is gone when the process
closes *any* descriptor of the file, it does not pass to a child that is forked, and it says nothing of another
file that takes the name. Therefore:

- Nothing in mage opens a database file but SQLite itself, which keeps count of its descriptors (`first_page`
  reads what a look at the header needs).
- Before each transaction, and after each COMMIT before it is acknowledged, the file and its write-ahead log
  must be the ones that were opened. What SQLite wrote into a log that was taken away nobody will ever read.
- Before this process forks, transactions are waited for and idle connections closed, so that a child has none
  to believe in. Where that takes too long, the child may not open the file.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Condition
from typing import Final, TypeAlias, final
from urllib.parse import quote
from weakref import WeakSet

import attrs
from sqlalchemy import Engine

from mage.stores.errors import StoreUnavailable, WrongProcess

__all__ = ["FirstPage", "LogGone", "Place", "Watched", "closes_before_fork", "first_page", "in_transaction"]

Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a file; None where there is none of the name."""

_LONGEST: Final = 2.0
"""Seconds that a fork waits for transactions."""


@final
class LogGone(Exception):
    """The write-ahead log that a connection writes is not the one that others read."""

    def __init__(self) -> None:
        super().__init__("its write-ahead log was removed or replaced while it was open")


@final
class Watched(sqlite3.Connection):
    """A connection to a file whose place is watched.

    Closing the last one of a file, SQLite copies its log into the file. Where these are not the ones that were
    opened, that would overwrite what others have written: such a connection is never closed.
    """

    place: Place
    log: Identity = None

    def close(self) -> None:
        """Close it, or leave it as it is for as long as the process lives."""
        if self not in _LIVE:  # a parent's, or left already
            return
        _LIVE.discard(self)
        if self.place.may_close(self):
            super().close()
        else:
            _keep_for_ever(self)


@final
class Place:
    """Where a file is, and which one was opened there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self.opened: Identity = None
        parent = _INHERITED.get(_identity(path))
        if parent is not None:
            advice = "close its stores there before a fork, or start this process by 'spawn'"
            raise WrongProcess(f"the file {str(path)!r}", parent, os.getpid(), advice)

    def adopt(self, connection: Watched, _: object) -> None:
        """Take a new connection, which has read from the file, so that its log is open."""
        connection.place = self
        connection.log = _identity(self._log)
        _LIVE.add(connection)
        if self.opened is None:
            self.opened = _identity(self._path)

    def require(self, connection: Watched) -> None:
        """Ask that file and log are the ones that were opened. Cost: two system calls.

        Raises:
            StoreUnavailable: the file is not.
            LogGone: the log is not.
        """
        if _identity(self._path) != self.opened:
            raise StoreUnavailable("the file was moved or replaced since it was opened")
        found = _identity(self._log)
        if connection.log is None:  # there was no log yet when it was opened
            connection.log = found
        elif found != connection.log:
            if connection.in_transaction:
                connection.rollback()
            raise LogGone

    def may_close(self, connection: Watched) -> bool:
        """Tell whether SQLite may do what it does at the end: copy the log into the file, and remove it."""
        there, log = _identity(self._path), _identity(self._log)
        if connection.log is None:
            return True
        if there is None:  # the file was moved, and its log is nobody else's
            return log in (None, connection.log)
        return there == self.opened and log == connection.log


def _identity(path: Path) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@final
@attrs.frozen
class FirstPage:
    """What a database file says of itself.

    Attributes:
        application: whose it is.
        version: of its schema.
        page_size: in bytes: the file has whole pages.
    """

    application: int
    version: int
    page_size: int


def first_page(path: Path) -> FirstPage:
    """Return what the file itself says, whatever its log says. Cost: O(1).

    SQLite reads it as a file that nobody writes: it takes no lock, makes no file, and takes nothing back.

    Raises:
        sqlite3.DatabaseError: it is no database, it is shorter than it says, or it cannot be read.
    """
    url = f"file:{quote(str(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(url, uri=True)) as connection:
        names = ("application_id", "user_version", "page_size")
        return FirstPage(*(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names))


_LIVE: Final[WeakSet[Watched]] = WeakSet()
"""Every connection that is open."""
_INHERITED: Final[dict[Identity, int]] = {}
"""Files that were in use when this process was forked, and by which process: SQLite believes in their locks here."""
_ENGINES: Final[WeakSet[Engine]] = WeakSet()


def closes_before_fork(engine: Engine) -> None:
    """Let the idle connections of an engine be closed before this process forks; the next use opens others."""
    with _GATE.free:
        _ENGINES.add(engine)


def _keep_for_ever(connection: Watched) -> None:
    """Keep Python from ever freeing a connection, which would close it: also when the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


@final
class _Gate:
    """Counts the transactions that are under way, so that a fork can wait for them."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.free = Condition()
        self._inside = 0
        self._held = False
        self._process = os.getpid()

    @contextmanager
    def inside(self) -> Iterator[None]:
        with self.free:
            self._inside += 1
        try:
            yield
        finally:
            with self.free:
                self._inside -= 1
                self.free.notify_all()

    def before_fork(self) -> None:
        self._held = self.free.acquire(timeout=_LONGEST)
        if self._held and self.free.wait_for(lambda: self._inside <= 0, _LONGEST):
            for engine in list(_ENGINES):
                engine.dispose()

    def in_parent(self) -> None:
        if self._held:
            self._held = False
            self.free.release()

    def in_child(self) -> None:
        parent = self._process
        self._begin_anew()  # the threads that were inside, or held it, are the parent's
        for connection in list(_LIVE):
            _INHERITED[connection.place.opened] = parent
            _keep_for_ever(connection)
        _LIVE.clear()


_GATE: Final = _Gate()
in_transaction: Final = _GATE.inside
"""Enter it around each transaction: this process does not fork inside, unless it takes too long."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_GATE.before_fork, after_in_parent=_GATE.in_parent, after_in_child=_GATE.in_child
    )
