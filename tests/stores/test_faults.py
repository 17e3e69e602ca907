"""What databases raise, and what a store makes of it."""

from __future__ import annotations

import copy
import pickle
import sqlite3
from pathlib import Path

import psycopg
import pytest

from mage.stores import NOTHING, DamagedStore, StoreError, StoreFull, StoreUnavailable, errors
from mage.stores.postgres import Postgres, postgres_at
from mage.stores.sqlite import Sqlite, sqlite_at


@pytest.fixture
def sqlite(tmp_path: Path) -> Sqlite:
    """Return a file that is not opened."""
    return sqlite_at(f"sqlite:///{tmp_path / 'work.db'}", patience=1)


@pytest.fixture
def postgres() -> Postgres:
    """Return a database that is not connected."""
    return postgres_at("postgresql://u@h/d", patience=1)


def sqlite_error(name: str) -> sqlite3.Error:
    """Return an error of SQLite."""
    error = sqlite3.OperationalError("words of SQLite\nand more")
    error.sqlite_errorcode = getattr(sqlite3, name)
    return error


def postgres_error(state: str) -> psycopg.Error:
    """Return an error of PostgreSQL."""
    return psycopg.errors.lookup(state)("words of PostgreSQL\nDETAIL: a secret")


def check(fault: StoreError, kind: type[StoreError], *, in_doubt: bool) -> None:
    """Ask that a fault has its kind, is one line, and is in doubt only where it should be."""
    assert type(fault) is kind
    assert "\n" not in str(fault)
    assert "secret" not in str(fault)
    assert getattr(fault, "in_doubt", False) is in_doubt


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
        (sqlite3.DatabaseError("words"), StoreUnavailable, False),
        (sqlite3.DatabaseError(""), StoreUnavailable, False),
        (sqlite3.IntegrityError("words"), DamagedStore, False),
    ],
)
def test_each_error_of_sqlite_is_one_of_a_store(
    sqlite: Sqlite, error: sqlite3.Error, kind: type[StoreError], in_doubt: bool
) -> None:
    """Each has its kind, one line, and is in doubt only where a COMMIT may have arrived."""
    check(sqlite.fault_of(error), kind, in_doubt=False)
    check(sqlite.fault_of(error, committing=True), kind, in_doubt=in_doubt)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (postgres_error("53100"), StoreFull),
        (postgres_error("55P03"), StoreUnavailable),
        (postgres_error("40P01"), StoreUnavailable),
        (postgres_error("40001"), StoreUnavailable),
        (postgres_error("25006"), StoreUnavailable),
        (postgres_error("57P01"), StoreUnavailable),
        (postgres_error("23505"), DamagedStore),
        (psycopg.OperationalError(""), StoreUnavailable),
    ],
)
def test_each_error_of_postgresql_is_one_of_a_store(
    postgres: Postgres, error: psycopg.Error, kind: type[StoreError]
) -> None:
    """Each has its kind, one line without details, and is in doubt only where the answer to a COMMIT was lost."""
    for committing in (True, False):
        check(postgres.fault_of(error, committing=committing), kind, in_doubt=False)
        lost = postgres.fault_of(error, committing=committing, lost=True)
        check(lost, kind, in_doubt=committing and kind is StoreUnavailable and "another" not in str(lost))


@pytest.mark.parametrize("name", ["SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"])
def test_a_write_that_fails_is_a_lack_of_room_once_it_is_sure(sqlite: Sqlite, name: str) -> None:
    """SQLite's failed write, of its log's index too, is a lack of room; raised by COMMIT it is in doubt first."""
    error = sqlite_error(name)
    assert isinstance(sqlite.fault_of(error), StoreFull)
    doubted = sqlite.fault_of(error, committing=True)
    assert isinstance(doubted, StoreUnavailable)
    assert doubted.in_doubt


def test_a_transaction_that_another_got_ahead_of_is_a_busy_store(postgres: Postgres) -> None:
    """A serialization failure says that another writer was there, as a lock does."""
    assert "another writer" in str(postgres.fault_of(postgres_error("40001")))


HANDED_ON: list[StoreError] = [
    errors.BadName("a", "why"),
    errors.NameTaken("a"),
    errors.UnknownJournal("a"),
    errors.UnknownVersion("a", 1, 2),
    errors.Conflict(NOTHING, NOTHING),
    errors.HasForks("a", ("b",)),
    errors.DamagedRecord(1, "why"),
    errors.OtherRecord(1),
    errors.OutdatedTexts("a"),
    errors.BadMeta("why"),
    errors.BadNote("a b"),
    errors.BadSource("clock", "why"),
    errors.BadAddress("a", "why"),
    errors.MissingExtra("a", "b"),
    errors.UnknownSchema("a", "why"),
    errors.DamagedStore("why"),
    errors.DamagedJournals((), ("a",)),
    errors.StoreFull("why"),
    errors.StoreUnavailable("why", in_doubt=True),
    errors.WrongProcess("a", 1, 2, advice="do"),
]


def test_each_error_of_a_store_can_be_handed_on() -> None:
    """Pickled or copied, an error comes back with all that it had: another process, or a task group, hands it on."""
    kinds = {
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StoreError)
    }
    assert {type(error) for error in HANDED_ON} == kinds - {StoreError}
    for error in HANDED_ON:
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (type(again), str(again)) == (type(error), str(error))
            assert getattr(again, "in_doubt", None) == getattr(error, "in_doubt", None)
