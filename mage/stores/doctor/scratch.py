"""Folders for what is only there while a doctor works: private, gone when it ends, and found again if it was killed.

Whoever makes such a folder holds a lock on a file in it. The system lets go of the lock when its process ends,
however it ends: so a folder whose lock can be had belongs to nobody, and whoever makes the next one removes it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

__all__ = ["private_folder"]

_LOCK: Final = "lock"
_TRIES: Final = 20


@contextmanager
def private_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Make a folder that only this user can look into, and remove it with all that is in it when the block ends.

    Folders of the same prefix that were left there by processes of this user which were killed are removed first.
    Windows has no such locks: there what a killed process left stays.

    Args:
        prefix: how its name begins.
        place: where it is made; None for the system's folder for such.

    Raises:
        OSError: it cannot be made.
    """
    where = Path(tempfile.gettempdir()) if place is None else place
    _sweep(where, prefix)
    folder, lock = _locked(where, prefix)
    process = os.getpid()
    try:
        yield folder
    finally:
        if process == os.getpid():  # a child that was forked inside has only borrowed it
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
        except FileNotFoundError:  # who sweeps took it for one that was left, before it was locked
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
    """Tell whether the lock could be had at once."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415  # where there is one

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(where: Path, prefix: str) -> None:
    """Remove the folders that processes of this user left, and nobody holds."""
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
        folder.rmdir()  # killed before there was anything in it; else this raises
        return
    try:
        if _take(lock):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
