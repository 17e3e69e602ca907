"""SQLite files that are held, full, read-only or damaged: each fault is one of a store, and nothing is half."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mage.stores import (
    NOTHING,
    DamagedStore,
    Head,
    JournalStore,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UnknownSchema,
    fold,
    open_store,
    verify,
)
from mage.stores.sqlite import Sqlite, sqlite_at
from mage.stores.transactions import Connection, Transactions
from mage.testing.stores import chain, following
from tests.stores.moments import Moments, heard, opened
from tests.stores.test_sqlite import at, make


def test_a_log_is_kept_as_soon_as_nobody_writes(tmp_path: Path) -> None:
    """SQLite refuses to start a log while somebody writes; opening waits for them and asks again."""
    moments = Moments(sqlite_at(at(tmp_path), patience=10))
    other = sqlite3.connect(tmp_path / "work.db", isolation_level=None)
    asked: list[str] = []

    def write_meanwhile(_: Connection, statement: str) -> None:
        if "journal_mode" in statement:
            asked.append(statement)
            if len(asked) == 1:
                other.execute("BEGIN IMMEDIATE")

    def end(*_: object) -> None:
        if other.in_transaction:
            other.execute("ROLLBACK")

    moments.hear(write_meanwhile, "statement")
    moments.hear(end, "begin")
    with opened(moments) as store:
        assert store.create("a", chain(2)).version == 2
    other.close()
    assert len(asked) == 2
    assert (tmp_path / "work.db").read_bytes()[18] == 2  # the header says: write-ahead log


def test_a_file_that_is_held_is_not_opened(tmp_path: Path) -> None:
    """Where somebody writes longer than one's patience, a new store says so, and works afterwards."""
    with open_store(at(tmp_path)):
        pass
    make(tmp_path, "PRAGMA journal_mode = DELETE")
    other = sqlite3.connect(tmp_path / "work.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another writer"):
        open_store(at(tmp_path), patience=0.01)
    other.close()
    with open_store(at(tmp_path)) as store:
        assert store.journals() == ()


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    """Where somebody holds the file longer than one's patience, nothing is written, and it can be tried again."""
    with open_store(at(tmp_path), patience=0.05) as store:
        head = store.create("a", chain(2))
        other = sqlite3.connect(tmp_path / "work.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="another writer"):
            store.append("a", head, following(head, "x"))
        assert store.head("a") == head
        other.execute("COMMIT")
        other.close()
        assert store.append("a", head, following(head, "x")).version == 3


def test_a_full_disk_leaves_the_old_state(tmp_path: Path) -> None:
    """Where the file may not grow the error says so; what was written before stands, and reading goes on."""
    store, moments = heard(at(tmp_path))
    with store:
        records = chain(20)
        head = store.create("a", records)

        def limit(connection: sqlite3.Connection, *_: object) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}").close()

        moments.hear(limit, "begin")
        with pytest.raises(StoreFull):
            store.append("a", head, following(head, "x" * 100_000))
        with pytest.raises(StoreFull):
            store.create("b", following(NOTHING, "y" * 100_000))
        assert tuple(verify(NOTHING, store.read("a"), head)) == records
    with open_store(at(tmp_path)) as again:
        assert again.append("a", head, following(head, "x" * 100_000)).version == 21


def test_a_doubt_is_settled_by_writing(tmp_path: Path) -> None:
    """Of a COMMIT that failed a frame may stand in the log, unread until a crash: what settles the doubt overwrites it."""
    with open_store(at(tmp_path)) as store:
        store.create("a", chain(1))
        other = sqlite3.connect(tmp_path / "work.db")
        before = other.execute("PRAGMA data_version").fetchone()
        database = sqlite_at(at(tmp_path), patience=1)
        settling = Transactions(database)
        settling.repeat(database.outlast_writers)
        settling.close()
        assert other.execute("PRAGMA data_version").fetchone() != before
        other.close()
    with open_store(at(tmp_path)) as store:
        assert store.head("a").version == 1


_FULL = """
import resource, sys
from mage.stores import StoreError, open_store
from mage.testing.stores import chain, following
store = open_store(sys.argv[1])
head = store.create("a", chain(2))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
acknowledged = head.version
try:
    for number in range(1000):
        head = store.append("a", head, following(head, f"{number} " * 500))
        acknowledged = head.version
except StoreError as error:
    print(acknowledged, type(error).__name__, len(list(store.read("a"))))
"""


def test_a_file_that_may_not_grow_is_a_clear_error(tmp_path: Path) -> None:
    """Where the system refuses to let the file grow, every acknowledged step is there, and nothing is half."""
    ran = subprocess.run(
        [sys.executable, "-c", _FULL, at(tmp_path)], capture_output=True, text=True, check=True
    )
    acknowledged, kind, readable = ran.stdout.split()
    assert kind == "StoreFull"
    assert int(acknowledged) == int(readable) > 2
    with open_store(at(tmp_path)) as store:
        records = tuple(verify(NOTHING, store.read("a"), store.head("a")))
    assert len(records) in (int(acknowledged), int(acknowledged) + 1)


def test_a_file_that_is_read_only_is_a_clear_error(tmp_path: Path) -> None:
    """Where nothing may be written the error says so, and reading goes on."""
    store, moments = heard(at(tmp_path))
    with store:
        head = store.create("a", chain(2))
        moments.hear(_read_only, "begin")
        with pytest.raises(StoreUnavailable, match=r"cannot be written .*readonly"):
            store.append("a", head, following(head, "x"))
        assert len(list(store.read("a"))) == 2


def _read_only(connection: sqlite3.Connection, *_: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def test_an_append_that_breaks_in_the_middle_is_undone(tmp_path: Path) -> None:
    """Where the records cannot be written the head has not moved either."""
    with open_store(at(tmp_path)) as store:
        head = store.create("a", chain(2))
        other = sqlite3.connect(tmp_path / "work.db")
        other.execute(
            "CREATE TRIGGER break_it BEFORE INSERT ON mage_records WHEN NEW.version = 4"
            " BEGIN SELECT RAISE(FAIL, 'broken on purpose'); END"
        )
        other.commit()
        with pytest.raises(DamagedStore, match="broken on purpose") as caught:
            store.append("a", head, following(head, "x", "y"))
        assert "seen of x" not in str(caught.value.__cause__)  # an error shows no text of a record
        assert (store.head("a"), len(list(store.read("a")))) == (head, 2)
        other.execute("DROP TRIGGER break_it")
        other.commit()
        other.close()
        assert store.append("a", head, following(head, "x", "y")).version == 4


def look_at(store: JournalStore, head: Head) -> None:
    """Read all there is."""
    store.journals()
    fold(verify(NOTHING, store.read("a"), head))


def test_rows_that_make_no_sense_are_named(tmp_path: Path) -> None:
    """Columns of another kind, a parent that is gone, a head that is none: an error of a store, never another."""
    sound = chain(3)
    for number, statement in enumerate(
        (
            "UPDATE mage_records SET body = x'ff' WHERE version = 2",
            "UPDATE mage_records SET body = cast(x'ff' AS TEXT) WHERE version = 2",
            "UPDATE mage_records SET parts = 'text' WHERE version = 2",
            "UPDATE mage_records SET parts = x'5b5d' WHERE version = 2",
            "UPDATE mage_records SET parts = 7 WHERE version = 2",
            "UPDATE mage_records SET digest = x'00' WHERE version = 2",
            "UPDATE mage_records SET digest = 'text' WHERE version = 2",
            "UPDATE mage_records SET version = 7 WHERE version = 2",
            "DELETE FROM mage_records WHERE version = 3",
            "DELETE FROM mage_records",
            "UPDATE mage_journals SET digest = x'00'",
            "UPDATE mage_journals SET digest = 'text'",
            "UPDATE mage_journals SET head = 'text'",
            "UPDATE mage_journals SET head = 9",
            "UPDATE mage_journals SET head = -1",
            "UPDATE mage_journals SET parent = 99, forked_at = 1",
            "UPDATE mage_journals SET parent = id, forked_at = 1",
            "UPDATE mage_journals SET forked_at = 2",
            "UPDATE mage_journals SET forked_at = 'text', parent = id",
            "UPDATE mage_journals SET name = x'ff'",
        )
    ):
        place = tmp_path / str(number)
        place.mkdir()
        with open_store(at(place)) as store:
            head = store.create("a", sound)
        make(place, "PRAGMA foreign_keys = OFF", statement)
        with open_store(at(place)) as store, pytest.raises(StoreError):
            look_at(store, head)


def leave(_: Path) -> None:
    """Leave nothing in the place of a file that was moved."""


def copy_back(path: Path) -> None:
    """Put a copy in the place of a file that was moved."""
    path.write_bytes(path.with_suffix(".old").read_bytes())


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be moved there")
@pytest.mark.parametrize("replace", [leave, copy_back])
def test_a_file_that_was_moved_is_not_written(tmp_path: Path, replace: Callable[[Path], None]) -> None:
    """Where another file, or none, is in its place, a write says so: nobody would find what it wrote."""
    path = tmp_path / "work.db"
    with open_store(at(tmp_path)) as store:
        head = store.create("a", chain(2))
        path.rename(path.with_suffix(".old"))
        replace(path)
        writes: tuple[Callable[[], Head], ...] = (
            lambda: store.append("a", head, following(head, "x")),
            lambda: store.create("b", chain(1)),
            lambda: store.fork("a", "c", 1),
        )
        for write in writes:
            with pytest.raises(StoreUnavailable, match="moved or replaced") as raised:
                write()
            assert not raised.value.in_doubt
        path.with_suffix(".old").replace(path)
        assert store.append("a", head, following(head, "x")).version == 3


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be removed there")
def test_a_file_that_was_removed_is_not_made_anew(tmp_path: Path) -> None:
    """A second connection to a file that is gone is refused, and leaves no empty file in its place."""
    store, moments = heard(at(tmp_path))
    with store:
        head = store.create("a", chain(2))
        told: list[str] = []

        def use_another(*_: object) -> None:
            for path in list(tmp_path.iterdir()):
                path.unlink()
            with pytest.raises(StoreUnavailable, match="unable to open"):
                store.head("a")
            told.append(str(list(tmp_path.iterdir())))

        moments.once(use_another, "statement")
        with pytest.raises(StoreUnavailable, match="moved or replaced"):
            store.append("a", head, following(head, "x"))
        assert told == ["[]"]


@pytest.mark.parametrize(
    "fault",
    [StoreFull("no room"), DamagedStore("broken"), StoreUnavailable("held"), UnknownSchema("url", "another")],
)
def test_a_doubt_outlasts_every_fault_of_settling_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: StoreError
) -> None:
    """Where nobody can find out whether a COMMIT went through, its error stays in doubt: what came of looking says nothing
    of it.
    """
    store, moments = heard(at(tmp_path))
    with store:
        head = store.create("a", chain(2))

        def break_it(*_: object) -> None:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error

        def refuse(*_: object) -> None:
            raise fault

        monkeypatch.setattr(Sqlite, "outlast_writers", refuse)
        moments.once(break_it, "commit")
        with pytest.raises(StoreUnavailable, match="disk I/O error") as caught:
            store.append("a", head, following(head, "x"))
        assert caught.value.in_doubt


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes there")
def test_what_may_be_why_a_file_cannot_be_used_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be written, a disk without room: SQLite itself says neither."""
    database = sqlite_at(at(tmp_path), patience=1)
    for name in ("SQLITE_CANTOPEN", "SQLITE_READONLY_DIRECTORY", "SQLITE_IOERR_LOCK"):
        error = sqlite3.OperationalError("words")
        error.sqlite_errorcode = getattr(sqlite3, name)
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=8192))
            assert "; 8,192 bytes are free on its disk: make room" in str(database.fault_of(error))
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda *_: False)
            assert "; its folder cannot be written" in str(database.fault_of(error))
        assert "words" in str(database.fault_of(error))
        assert "folder" not in str(database.fault_of(error))
