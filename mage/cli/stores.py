"""Stores as commands use them: opened for as long as a command runs, and never made by one that only looks."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mage.cli.files import exists
from mage.cli.naming import InStore, StoreName
from mage.cli.output import Refused
from mage.stores import (
    DamagedRecord,
    DamagedStore,
    JournalStore,
    NameTaken,
    StoreError,
    StoreUnavailable,
    UnknownJournal,
    UnknownVersion,
    open_store,
)

__all__ = ["file_of", "is_made", "no_session", "opened", "said_of"]

_LITTLE: Final = 100_000  # bytes: less than SQLite takes for its log and the index of that
_SQLITE: Final = "sqlite:///"


def file_of(store: StoreName) -> Path | None:
    """Return the file that a store is, None where it is none."""
    return Path(store.url.removeprefix(_SQLITE)) if store.url.startswith(_SQLITE) else None


@contextmanager
def opened(store: StoreName, *, make: bool = False) -> Iterator[JournalStore]:
    """Open a store for a command; where `make`, one that is not there is made.

    Raises:
        Refused: whatever the store says is wrong, then and while it is used, in one line.
    """
    if make and store.url == "memory:":
        raise Refused(
            f"{store} is gone when the command ends; name a store that stays, such as sqlite:///work.db"
        )
    path = file_of(store)
    if path is not None and not make and not exists(path):
        raise Refused(f"{store}: there is no such file{_without_session(path)}")
    if path is not None and not make and _is_empty(path):
        raise Refused(f"{store}: this file is empty: there is no store in it")
    try:
        with open_store(store.url) as found:
            yield found
    except StoreError as error:
        raise Refused(said_of(store, error)) from None


def is_made(store: StoreName) -> bool:
    """Tell whether a store is there, as far as its file tells.

    An empty file is none: whoever made it was killed, or the disk was full, before anything was in it.
    """
    path = file_of(store)
    return path is None or (exists(path) and not _is_empty(path))


def _is_empty(path: Path) -> bool:
    """Tell whether a file holds nothing: whoever opened it as a store would make it one."""
    try:
        return path.is_file() and path.stat().st_size == 0
    except OSError as problem:
        raise Refused(f"{path}: {problem.strerror}") from None


def _without_session(path: Path) -> str:
    """Return what to do where a session was named instead of its store."""
    file, mark, _ = str(path).rpartition("#")
    return (
        f"; is this a session? its store is {_SQLITE}{file}" if mark and file and exists(Path(file)) else ""
    )


def said_of(store: StoreName, error: StoreError) -> str:
    """Return in one line what a store said, and what to do on the command line."""
    if isinstance(error, UnknownJournal):
        return no_session(store, error.name)
    if isinstance(error, UnknownVersion):
        asked = InStore(store, error.name)
        return f"{asked}: there is no version {error.version}; it has versions 1 to {error.head}"
    if isinstance(error, NameTaken):
        return f"{InStore(store, error.name)} is there already: open it, or choose another name"
    said = str(error) if str(store) in str(error) else f"{store}: {error}"
    if isinstance(error, DamagedRecord | DamagedStore):
        return f"{said}; mage doctor {store} looks at all of it"
    return said + _circumstances(store) if isinstance(error, StoreUnavailable) else said


def _circumstances(store: StoreName) -> str:
    """Return what of the file's surroundings may be why it cannot be used."""
    path = file_of(store)
    if path is None:
        return ""
    folder = path.absolute().parent
    if not os.access(folder, os.W_OK):
        return "; its folder cannot be written, which SQLite needs also to read: use a copy elsewhere"
    try:
        room = shutil.disk_usage(folder).free
    except OSError:
        return ""
    return "" if room > _LITTLE else f"; {room:,} bytes are free on its disk: make room"


def no_session(store: StoreName, name: str) -> str:
    """Return what is said where there is no such session."""
    said = f"{InStore(store, name)}: there is no such session; mage sessions {store} lists those that are"
    at = re.fullmatch(r"(.+)@([0-9]{1,15})", name, re.DOTALL)
    return said if at is None else f"{said}; is this a version? {InStore(store, at[1])} --at {at[2]}"
