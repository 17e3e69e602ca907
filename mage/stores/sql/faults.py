"""What databases raise, as errors of a store: each says whether anything was written, and what to do."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from mage.stores.errors import DamagedStore, StoreError, StoreFull, StoreUnavailable

__all__ = ["fault_of", "is_lost", "sqlite_code", "unreadable"]

_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FULL: Final = "53100"
"""PostgreSQL's SQLSTATE for a full disk."""
_BUSY: Final = ("55P03", "40P01", "40001", "57014")
"""Its SQLSTATEs for a lock that was not to be had in time, a deadlock, a transaction that another one got ahead
of, and a statement that was cancelled."""


def fault_of(error: SQLAlchemyError, *, committing: bool = False) -> StoreError:
    """Return the error of a store that says what a database raised.

    Args:
        error: what SQLAlchemy raised.
        committing: whether it was raised by COMMIT, so that what was written may be there all the same.
    """
    if not isinstance(error, DBAPIError):
        return StoreUnavailable(_words(error))
    cause = error.orig
    words = _words(cause or error)
    if isinstance(error, IntegrityError):
        return DamagedStore(f"its rows contradict each other: {words}")
    code = sqlite_code(cause)
    if code is not None:
        return _sqlite_fault(code, words, committing=committing)
    state = getattr(cause, "sqlstate", None)
    if state == _FULL:
        return StoreFull(words)
    if state in _BUSY:
        return StoreUnavailable(f"another writer holds it ({words})")
    return StoreUnavailable(words, in_doubt=committing and is_lost(error))


def _sqlite_fault(code: int, words: str, *, committing: bool) -> StoreError:
    primary = code & 0xFF
    if primary in _DAMAGED:
        return DamagedStore(words)
    if primary == sqlite3.SQLITE_FULL:
        return StoreFull(words)
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable(f"another writer holds it ({words})")
    if primary == sqlite3.SQLITE_READONLY:
        return StoreUnavailable(f"it cannot be written ({words})")
    if code == sqlite3.SQLITE_IOERR_WRITE and not committing:
        return StoreFull(f"the file may not grow, or its disk fails ({words})")
    return StoreUnavailable(words, in_doubt=committing and primary == sqlite3.SQLITE_IOERR)


def sqlite_code(cause: BaseException | None) -> int | None:
    """Return SQLite's extended code of an error, None where it is none of SQLite's."""
    if not isinstance(cause, sqlite3.Error):
        return None
    code = getattr(cause, "sqlite_errorcode", None)
    return code if isinstance(code, int) else sqlite3.SQLITE_ERROR


def unreadable(error: UnicodeDecodeError) -> DamagedStore:
    """Return the error of a store whose very words are damaged: a driver raises this where it quotes them."""
    return DamagedStore(f"it holds names that are not UTF-8 ({error.reason})")


def is_lost(error: SQLAlchemyError) -> bool:
    """Tell whether the connection to the database was lost."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _words(error: BaseException) -> str:
    """Return the first line of what was said, without SQL and without what was to be written."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(":") if lines else type(error).__name__
