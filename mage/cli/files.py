"""Files: read whole, written whole or not at all, never overwritten.

They hold what agents saw, so a file that is made can be read by its owner alone, whatever the umask allows.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import IO, Final

from mage.cli.output import Refused

_MOST: Final = 1 << 30
"""Bytes of the longest file that is read: it is held in memory several times over."""
_AT_ONCE: Final = 1 << 20

_PRIVATE: Final = 0o600


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, or what comes out of a pipe, or what is typed, up to its end.

    Cost: O(length), and at most a GiB is read of what has more, or has no end.

    Raises:
        Refused: it cannot be read, it is a device, or it holds more than a GiB.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno())
            is_typed = stat.S_ISCHR(mode.st_mode) and os.isatty(file.fileno())
            if not (stat.S_ISREG(mode.st_mode) or stat.S_ISFIFO(mode.st_mode) or is_typed):
                raise Refused(f"{path}: this is a device or a socket, which may have no end; name a file")
            if mode.st_size <= _MOST:
                return _read_to_the_end(path, file)
    except (OSError, ValueError) as problem:
        raise Refused(_said(path, problem)) from None
    raise _endless(path)


def _read_to_the_end(path: Path, file: IO[bytes]) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_AT_ONCE):
        size += len(chunk)
        if size > _MOST:
            raise _endless(path)
        chunks.append(chunk)
    return b"".join(chunks)


def _endless(path: Path) -> Refused:
    return Refused(f"{path}: it holds more than {_MOST >> 30} GiB, or has no end; no command reads so much")


def exists(path: Path) -> bool:
    """Tell whether a file, or what a link leads to, is there.

    Raises:
        Refused: the system does not say, because the path is too long or a folder on it is closed to us.
    """
    try:
        return path.exists()
    except OSError as problem:
        raise Refused(_said(path, problem)) from None


def require_absent(path: Path) -> None:
    """Refuse to write where something stands, a dangling link too, and where SQLite would take it for its own."""
    for ending in ("-wal", "-shm", "-journal"):
        if (
            path.name.endswith(ending)
            and path.name != ending
            and exists(beside := path.with_name(path.name.removesuffix(ending)))
        ):
            raise Refused(
                f"{path}: SQLite keeps a file of this name beside {beside}, and drops it; name another"
            )
    try:
        path.lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as problem:
        raise Refused(_said(path, problem)) from None
    raise Refused(f"{path}: there is something already; name another file")


def write_new(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file: it appears when it is complete.

    Raises:
        Refused: something stands there, or it cannot be written.
    """
    require_absent(path)
    part = path.with_name(f".mage-{os.getpid()}.part")
    try:
        with _private(part) as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(part, path)
    except OSError as problem:
        raise Refused(_said(path, problem)) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def move_new(part: Path, path: Path) -> None:
    """Give a complete file, which nobody has open, its name: durably, and in one step.

    A hard link, as `write_new` makes one, would for a moment be a second name, with which a SQLite store is not used.
    Two commands that give the same name keep out of each other's way by a lock on its folder.

    Args:
        part: the file, on the same disk.
        path: where nothing stands.

    Raises:
        Refused: something stands there, or it cannot be moved; `part` stays then.
    """
    try:
        _settle(part)
        with _folder_alone(path.absolute().parent) as folder:
            require_absent(path)
            part.rename(path)
            if folder is not None:
                os.fsync(folder)
    except OSError as problem:
        raise Refused(_said(path, problem)) from None


def _settle(part: Path) -> None:
    with part.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def _folder_alone(folder: Path) -> Iterator[int | None]:
    """Hold a folder against every other `mage` that would put something into it; Windows has no such lock."""
    if sys.platform == "win32":
        yield None
        return
    import fcntl  # noqa: PLC0415  # where there is one

    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)


def _private(path: Path) -> BufferedWriter:
    """Open a new file that nobody else may read, from its first byte on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return BufferedWriter(FileIO(os.open(path, flags, _PRIVATE), "w"))


def _put_in_place(part: Path, path: Path) -> None:
    """Give the complete file its name; unlike a rename, a link fails where somebody was faster."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        _private(path).close()
        part.replace(path)


def _said(path: Path, problem: OSError | ValueError) -> str:
    said = problem.strerror if isinstance(problem, OSError) else str(problem)
    return f"{path}: {said}"
