"""Files: read whole, written whole or not at all, never overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mage.cli.output import Refused

__all__ = ["read_bytes", "require_absent", "write_new"]


def read_bytes(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        Refused: it cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise Refused(_said(path, problem)) from None


def require_absent(path: Path) -> None:
    """Refuse to write where something stands, a dangling link too."""
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
        with part.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(part, path)
    except OSError as problem:
        raise Refused(_said(path, problem)) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _put_in_place(part: Path, path: Path) -> None:
    """Give the complete file its name; unlike a rename, a link fails where somebody was faster."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        path.open("xb").close()
        part.replace(path)


def _said(path: Path, problem: OSError | ValueError) -> str:
    said = problem.strerror if isinstance(problem, OSError) else str(problem)
    return f"{path}: {said}"
