"""A SQLite file as this process has it open, and what would make its locks void without a word.

SQLite locks a file by `fcntl`. Such a lock belongs to a process and a file, so it is gone when the process
closes *any* descriptor of the file, it does not pass to a child that is forked, and it says nothing of another
file that takes the name. Therefore:

- Nothing in mage opens a database file but SQLite itself, which keeps count of its descriptors (`first_page`
  reads what a look at the header needs).
- At the begin of each transaction, and after each COMMIT before it is acknowledged, the file, its write-ahead
  log and the log's index must be the ones that were opened: what goes into others nobody will ever read. A
  process that has lost the log cannot use the file any more, since SQLite goes on sharing the old index there.
- A child may not open a file that was in use while its process forked (`mage.stores.sql.forks` sees to it that
  this is rare), and it closes no connection of its parent's.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import RLock
from typing import Final, TypeAlias, final
from urllib.parse import quote
from weakref import WeakSet

import attrs

from mage.stores.errors import StoreUnavailable, WrongProcess
from mage.stores.processes import Home

__all__ = ["FirstPage", "Place", "Watched", "first_page"]

Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a file; None where there is none of the name."""

_MOVED: Final = "the file was moved or replaced since it was opened: move it back, or open the store anew"
_LOG_GONE: Final = (
    "its write-ahead log was removed or replaced while it was open: this process can use the file no more,"
    " another one can"
)


@final
class Watched(sqlite3.Connection):
    """A connection to a file whose place is watched.

    Closing the last one of a file, SQLite copies its log into the file. Where these are not the ones that were
    opened, that would overwrite what others have written: such a connection is never closed.
    """

    place: Place | None = None

    def close(self) -> None:
        """Close it, or leave it as it is for as long as the process lives. Closing twice is no error."""
        place, self.place = self.place, None
        if place is None:
            super().close()
        else:
            place.close(self, super().close)

    def __del__(self) -> None:
        """Leave one that nobody closed as it is, if it may not be closed: freeing it would."""
        if self.place is not None and self.place.is_lost:
            _keep_for_ever(self)


@final
@attrs.define
class _InUse:
    """A file that this process has open.

    Attributes:
        beside: its log and the log's index, once they are there.
        connections: those that are open.
        lost: whether one had to be left open: its log is not the file's any more.
    """

    beside: tuple[Identity, Identity] | None = None
    connections: WeakSet[Watched] = attrs.field(factory=WeakSet)
    lost: bool = False


_LOCK: Final[list[RLock]] = [RLock()]
_USED: Final[dict[Identity, _InUse]] = {}
"""All files that this process has open. SQLite too keeps one record of each, for all connections."""
_PROCESS: Final = [os.getpid()]
"""The process that these are of."""
_INHERITED: Final[dict[Identity, int]] = {}
"""Files that were in use when this process was forked, and by which process: SQLite believes in their locks here."""


@final
class Place:
    """Where a file is, and which one was opened there."""

    def __init__(self, path: Path) -> None:
        """Look whether this process may open it.

        Raises:
            WrongProcess: its parent had it in use when it forked.
            StoreUnavailable: this process has lost its log.
        """
        self._path = os.fspath(path)
        self._beside = (f"{path}-wal", f"{path}-shm")
        self._opened: Identity = None
        self._home = Home(f"the file {str(path)!r}")
        _inherit()
        parent = _INHERITED.get(_identity(path))
        if parent is not None:
            advice = "close its stores there before a fork, or start this process by 'spawn'"
            raise WrongProcess(f"the file {str(path)!r}", parent, os.getpid(), advice)
        used = _USED.get(_identity(path))
        if used is not None and used.lost:
            raise StoreUnavailable(_LOG_GONE)

    def adopt(self, connection: Watched, _: object) -> None:
        """Take a new connection.

        Raises:
            StoreUnavailable: it is one to another file than the first was.
        """
        with _LOCK[0]:
            found = _identity(self._path)
            if found is None or found != (self._opened or found):
                raise StoreUnavailable(_MOVED)
            self._opened = found
            used = _USED.setdefault(found, _InUse())
            if not used.connections and not used.lost:
                used.beside = None
            used.connections.add(connection)
            connection.place = self

    def require(self) -> None:
        """Ask that file and log are the ones that were opened. Cost: three system calls.

        Raises:
            StoreUnavailable: they are not.
        """
        there = _identity(self._path)
        if there is None or there != self._opened:
            raise StoreUnavailable(_MOVED)
        if not self._has_its_log():
            raise StoreUnavailable(_LOG_GONE)

    def _has_its_log(self) -> bool:
        used = _USED.get(self._opened)
        if used is None:
            return False
        found = _identity(self._beside[0]), _identity(self._beside[1])
        if used.beside is None:
            used.beside = None if None in found else found
        return used.beside in (None, found)

    @property
    def is_lost(self) -> bool:
        """Whether SQLite must not do what it does at the end: copy the log into the file, and remove it."""
        if not self._home.is_here:
            return True
        # a file that was moved away SQLite leaves alone by itself
        return not self._has_its_log() and _identity(self._path) is not None

    def close(self, connection: Watched, closing_it: Callable[[], None]) -> None:
        """Close a connection, if that may be; else keep it as it is."""
        if not self._home.is_here:
            _keep_for_ever(connection)
            return
        with _LOCK[0]:
            used, lost = _USED.get(self._opened), self.is_lost
            if lost:
                _keep_for_ever(connection)
            else:
                closing_it()
            if used is None:
                return
            used.lost = used.lost or lost
            used.connections.discard(connection)
            if not used.connections and not used.lost:
                del _USED[self._opened]

    def inherit(self) -> None:
        """Note, in a child, that the file was in use when it was forked off."""
        _INHERITED[self._opened] = _PROCESS[0]


def _identity(path: str | Path) -> Identity:
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


def _keep_for_ever(connection: Watched) -> None:
    """Keep Python from ever freeing a connection, which would close it: also when the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _inherit() -> None:
    """In a child, once: note which files were in use when it was forked off, and never touch these connections."""
    if _PROCESS[0] == os.getpid():
        return
    _LOCK[0] = RLock()
    for used in list(_USED.values()):
        for connection in list(used.connections):
            if connection.place is not None:
                connection.place.inherit()
            _keep_for_ever(connection)
    _USED.clear()
    _PROCESS[0] = os.getpid()


def _keep_lost() -> None:
    """Keep what may not be closed from being freed when the process ends."""
    for used in list(_USED.values()):
        for connection in list(used.connections):
            if connection.place is not None and connection.place.is_lost:
                _keep_for_ever(connection)


atexit.register(_keep_lost)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)
