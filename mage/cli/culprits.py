"""Where somebody else's code has failed: its innermost line, behind which only libraries follow; or the traceback."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Final

import mage
from mage.render import printable

__all__ = ["line_of_theirs", "told_error", "told_traceback"]

_NOT_THEIRS: Final = tuple(
    {
        str(Path(mage.__file__).resolve().parent),
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)


def line_of_theirs(error: BaseException) -> str | None:
    """Return `FILE:LINE` of the innermost frame of an error that is neither ours nor a library's; None without one.

    Cost: O(depth of the stack where it was raised).
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith((*_NOT_THEIRS, "<")):
            found = f"{file}:{line}"
    return found


def told_error(error: BaseException) -> str:
    """Return the type of an error and what it says, where it can say anything: that too is somebody else's code."""
    return f"{type(error).__name__}: {traceback.TracebackException.from_exception(error)}"


def told_traceback(error: BaseException) -> str:
    """Return the lines of an error's traceback as a terminal may show them."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "".join(f"{printable(line)}\n" for line in lines)
