"""Files: read whole, written whole or not at all, never overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
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
    except OSError as problem:
        raise Refused(f"{path}: {problem.strerror}") from None


def require_absent(path: Path) -> None:
    """Refuse to write where something stands."""
    if path.exists():
        raise Refused(f"{path}: there is something already; name another file")


def write_new(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file: it appears when it is complete.

    Raises:
        Refused: something stands there, or it cannot be written.
    """
    require_absent(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)  # unlike a rename, this fails where somebody was faster
    except OSError as problem:
        raise Refused(f"{path}: {problem.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
