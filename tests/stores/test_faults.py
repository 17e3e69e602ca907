"""What databases raise, and what a store makes of it."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from mage.stores import DamagedStore, StoreFull, StoreUnavailable
from mage.stores.sql.faults import fault_of, is_lost


def sqlite_error(name: str) -> OperationalError:
    """Return what SQLAlchemy raises for an error of SQLite."""
    cause = sqlite3.OperationalError("words of SQLite\nand more")
    cause.sqlite_errorcode = getattr(sqlite3, name)
    return OperationalError("INSERT of a secret", {}, cause)


def postgres_error(state: str) -> OperationalError:
    """Return what SQLAlchemy raises for an error of PostgreSQL."""
    cause = psycopg.errors.lookup(state)("words of PostgreSQL")
    return OperationalError("INSERT of a secret", {}, cause)


@pytest.mark.parametrize(
    ("error", "kind", "in_doubt"),
    [
        (sqlite_error("SQLITE_FULL"), StoreFull, False),
        (sqlite_error("SQLITE_CORRUPT"), DamagedStore, False),
        (sqlite_error("SQLITE_NOTADB"), DamagedStore, False),
        (sqlite_error("SQLITE_BUSY"), StoreUnavailable, False),
        (sqlite_error("SQLITE_BUSY_SNAPSHOT"), StoreUnavailable, False),
        (sqlite_error("SQLITE_READONLY"), StoreUnavailable, False),
        (sqlite_error("SQLITE_CANTOPEN"), StoreUnavailable, False),
        (sqlite_error("SQLITE_IOERR_FSYNC"), StoreUnavailable, True),
        (postgres_error("53100"), StoreFull, False),
        (postgres_error("55P03"), StoreUnavailable, False),
        (postgres_error("40P01"), StoreUnavailable, False),
        (postgres_error("40001"), StoreUnavailable, False),
        (postgres_error("25006"), StoreUnavailable, False),
        (DBAPIError("x", {}, sqlite3.DatabaseError("words")), StoreUnavailable, False),
        (InterfaceError("x", {}, Exception("words"), connection_invalidated=True), StoreUnavailable, True),
        (IntegrityError("x", {}, sqlite3.IntegrityError("words")), DamagedStore, False),
        (PoolTimeoutError("words"), StoreUnavailable, False),
        (PoolTimeoutError(""), StoreUnavailable, False),
    ],
)
def test_each_error_is_one_of_a_store(error: DBAPIError, kind: type[Exception], in_doubt: bool) -> None:
    """Each has its kind, one line without SQL, and is in doubt only where a COMMIT may have arrived."""
    for committing in (True, False):
        fault = fault_of(error, committing=committing)
        assert type(fault) is kind
        assert "\n" not in str(fault)
        assert "secret" not in str(fault)
        assert getattr(fault, "in_doubt", False) is (committing and in_doubt)


def test_a_lost_connection_is_known_as_one() -> None:
    """What SQLAlchemy found to be a lost connection is one; other errors are not."""
    assert is_lost(OperationalError("x", {}, Exception("words"), connection_invalidated=True))
    assert not is_lost(OperationalError("x", {}, Exception("words")))
    assert not is_lost(PoolTimeoutError("words"))


def test_a_write_that_fails_is_a_lack_of_room_once_it_is_sure() -> None:
    """SQLite's failed write is a lack of room; raised by COMMIT it is in doubt first."""
    error = sqlite_error("SQLITE_IOERR_WRITE")
    assert isinstance(fault_of(error), StoreFull)
    doubted = fault_of(error, committing=True)
    assert isinstance(doubted, StoreUnavailable)
    assert doubted.in_doubt


def test_a_transaction_that_another_got_ahead_of_is_a_busy_store() -> None:
    """A serialization failure says that another writer was there, as a lock does."""
    assert "another writer" in str(fault_of(postgres_error("40001")))
