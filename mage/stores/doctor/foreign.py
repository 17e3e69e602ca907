"""A log that belongs to another file: SQLite takes any that has the right name, and mixes the two without a word.

Nothing in a log says whose it is. But no session is ever renamed, and no id is given twice: so what the file says by
itself of a session, and what it says with its log, is the same, or one of the two is another store's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, final
from urllib.parse import quote

import attrs

__all__ = ["set_aside"]

_PAGE_SIZE: Final = slice(16, 18)
_LOG_PAGE_SIZE: Final = slice(8, 12)


@final
@attrs.frozen
class _Said:
    """What a database says of the sessions that it has or had.

    Attributes:
        journals: the name of each, and when it was made, by its id.
        newest: the newest id that was ever given.
    """

    journals: Mapping[object, tuple[object, object]]
    newest: int


def set_aside(copy: Path) -> str | None:
    """Remove the log beside a copy where it is not that of its file, and return why; None where nothing tells.

    Where only some of what the two say differs, one of them may as well have been damaged, and the log stays. Cost:
    O(journals).
    """
    found = _foreign(copy)
    if found is None:
        return None
    reason, is_sure = found
    if not is_sure:
        return f"it is not that of this file, or one of the two was damaged: {reason}"
    for ending in ("-wal", "-shm"):
        copy.with_name(copy.name + ending).unlink(missing_ok=True)
    return f"it is not that of this file, which was looked at without it: {reason}"


def _foreign(copy: Path) -> tuple[str, bool] | None:
    with copy.open("rb") as file:
        size = int.from_bytes(file.read(18)[_PAGE_SIZE], "big")
    with copy.with_name(copy.name + "-wal").open("rb") as file:
        log_size = int.from_bytes(file.read(12)[_LOG_PAGE_SIZE], "big")
    if size != (1 if log_size == 1 << 16 else log_size):
        return (
            f"its pages have {log_size} bytes, and those of the file {1 << 16 if size == 1 else size}",
            True,
        )
    alone = _said(copy, "immutable=1")  # which does without the log
    if alone is None:
        return None
    both = _said(copy, "mode=ro")
    if both is None:
        return "the file can be read without it, and not with it", True
    return _contradiction(alone, both)


def _contradiction(alone: _Said, both: _Said) -> tuple[str, bool] | None:
    common = [journal for journal in alone.journals if journal in both.journals]
    differ = [journal for journal in common if alone.journals[journal] != both.journals[journal]]
    for journal in differ[:1]:
        (name, created), (other, at) = alone.journals[journal], both.journals[journal]
        reason = (
            f"by the file alone the session with id {journal} is {name!r}, made at {created},"
            f" and by the log {other!r}, made at {at}"
        )
        return reason, len(differ) == len(common)
    if both.newest < alone.newest:
        return (
            f"the file has given the ids up to {alone.newest}, and by the log only those up to {both.newest}",
            True,
        )
    return None


def _said(copy: Path, how: str) -> _Said | None:
    """Return what a database says, None where that cannot be read: it is told elsewhere."""
    try:
        url = f"file:{quote(str(copy))}?{how}"  # read only: the log is not taken into the copy
        with closing(sqlite3.connect(url, uri=True, isolation_level=None)) as connection:
            connection.text_factory = lambda data: data.decode(errors="surrogateescape")
            rows = connection.execute("SELECT id, name, created FROM mage_journals").fetchall()
            asked = "SELECT seq FROM sqlite_sequence WHERE name = 'mage_journals'"
            newest = connection.execute(asked).fetchone()
    except sqlite3.Error:
        return None
    seq = newest[0] if newest is not None and type(newest[0]) is int else 0
    return _Said({row[0]: (row[1], row[2]) for row in rows}, seq)
