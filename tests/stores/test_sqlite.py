"""What only a SQLite file can do, or get wrong."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from mage.engine import Grow, Start
from mage.stores import (
    NOTHING,
    BadAddress,
    NameTaken,
    StoreError,
    UnknownSchema,
    fold,
    open_store,
    redacted,
    verify,
)
from mage.stores.sqlite import APPLICATION_ID, MIGRATIONS, sqlite_at
from mage.stores.transactions import Transactions, migrate
from mage.testing.stores import chain, recorded
from tests.stores.moments import heard
from tests.stores.old_schema import write_schema_1


def at(place: Path) -> str:
    """Return the URL of a file in a directory."""
    return f"sqlite:///{place / 'work.db'}"


def bytes_in(place: Path) -> dict[str, bytes]:
    """Return the files of a directory and all that is in them."""
    return {path.name: path.read_bytes() for path in place.iterdir()}


def make(place: Path, *statements: str) -> None:
    """Make a SQLite file that is somebody else's."""
    connection = sqlite3.connect(place / "work.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_the_file_is_set_up_to_last(tmp_path: Path) -> None:
    """A write-ahead log, a sync for each commit, foreign keys, and a header that says whose file it is."""
    names = ("journal_mode", "synchronous", "foreign_keys", "application_id", "user_version")
    found: dict[str, object] = {}
    store, moments = heard(at(tmp_path))

    def look(connection: sqlite3.Connection, _: str) -> None:
        found.update((name, connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)

    with store:
        moments.once(look, "commit")
        store.create("a", chain(1))
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "application_id": APPLICATION_ID,
        "user_version": len(MIGRATIONS),
    }
    assert [path.name for path in tmp_path.iterdir()] == ["work.db"]


def test_the_cost_on_disk_is_the_payload(tmp_path: Path) -> None:
    """1,000 steps of 480 bytes take at most 1.5 times that and 200 KB; 100 forks of them under 100 KB."""
    steps = [Grow(f"act {number:05}", f"{number:05}" + "x" * 466) for number in range(1000)]
    with open_store(at(tmp_path)) as store:
        head = store.create("a", recorded([Start("t")]))
        for record in recorded([Start("t"), *steps])[1:]:
            head = store.append("a", head, [record])
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size <= 1.5 * 480_000 + 200_000
    with open_store(at(tmp_path)) as store:
        for number in range(100):
            store.fork("a", f"fork {number}", 5 * number + 1)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) - size < 100_000


def test_what_is_redacted_is_in_no_file(tmp_path: Path) -> None:
    """After redacting no byte of the text is in the database, its log, or what is left beside them."""
    words = "correct horse battery staple"
    records = recorded([Start("t"), Grow("a", words), Grow("b", words * 500), Grow("c", "x")])
    with open_store(at(tmp_path)) as store:
        head = store.create("a", records[:1])
        for record in records[1:]:
            head = store.append("a", head, [record])
        store.keep_snapshot("a", 4, words.encode(), "d")
        assert any(words.encode() in data for data in bytes_in(tmp_path).values())
        store.replace_parts("a", [redacted(records[1], [1]), redacted(records[2], [1])])
        assert not any(words.encode() in data for data in bytes_in(tmp_path).values())
        fold(verify(NOTHING, store.read("a"), head))


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE t (x)",),
        ("PRAGMA user_version = 3",),
        ("PRAGMA application_id = 7",),
        ("CREATE TABLE mage_journals (x)",),
        (f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {len(MIGRATIONS) + 1}"),
        ("PRAGMA journal_mode = WAL", "CREATE TABLE t (x)"),
    ],
)
def test_another_database_is_left_as_it_is(tmp_path: Path, statements: tuple[str, ...]) -> None:
    """A SQLite file of somebody else, or of a newer mage, is refused; not a byte is written, no file made."""
    make(tmp_path, *statements)
    before = bytes_in(tmp_path)
    with pytest.raises(UnknownSchema) as caught:
        open_store(at(tmp_path))
    assert "left as it is" in str(caught.value)
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize("content", [b"x", b"hello\n" * 100, b"SQLite format 3\0", b"\0" * 8192])
def test_another_file_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    """A file that is no database is refused, and not written to."""
    (tmp_path / "work.db").write_bytes(content)
    with pytest.raises(UnknownSchema):
        open_store(at(tmp_path))
    assert bytes_in(tmp_path) == {"work.db": content}


def test_a_newer_schema_in_the_log_is_refused(tmp_path: Path) -> None:
    """A newer mage may have changed the schema while an older one was closed, and not yet the file itself."""
    with open_store(at(tmp_path)) as store:
        store.create("a", chain(1))
        newer = sqlite3.connect(tmp_path / "work.db")
        newer.execute("PRAGMA user_version = 99")
        newer.commit()
        with pytest.raises(UnknownSchema, match="version 99"):
            open_store(at(tmp_path))
        newer.close()


def test_a_schema_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Where damage makes even SQLite's own message unreadable, the error is still one of a store."""
    with open_store(at(tmp_path)) as store:
        store.create("a", chain(1))
    data = (tmp_path / "work.db").read_bytes()
    for old, new in (
        (b"CREATE TABLE mage_j", b"CREATE T\xa9BLE mage_j"),
        (b"mage_journalsmage", b"mage_j\xffurnalsmage"),
    ):
        assert old in data
        (tmp_path / "work.db").write_bytes(data.replace(old, new, 1))
        with pytest.raises(UnknownSchema):
            open_store(at(tmp_path))


def test_a_file_of_several_names_is_refused_under_each(tmp_path: Path) -> None:
    """Its names would have a log each, and what is written under one be lost under the other; links are no names."""
    with open_store(at(tmp_path)) as store:
        store.create("a", chain(2))
    (tmp_path / "link.db").symlink_to(tmp_path / "work.db")
    open_store(f"sqlite:///{tmp_path / 'link.db'}").close()
    (tmp_path / "other.db").hardlink_to(tmp_path / "work.db")
    before = bytes_in(tmp_path)
    for name in ("work.db", "other.db", "link.db"):
        with pytest.raises(BadAddress) as raised:
            open_store(f"sqlite:///{tmp_path / name}")
        assert "2 names" in str(raised.value)
    assert bytes_in(tmp_path) == before
    (tmp_path / "other.db").unlink()
    with open_store(at(tmp_path)) as store:
        assert store.head("a").version == 2


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file of no bytes is where a store is to be made."""
    (tmp_path / "work.db").touch()
    with open_store(at(tmp_path)) as store:
        assert store.create("a", chain(1)).version == 1


def test_an_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    """A store of schema 1 is migrated: everything is still there, and what is new works."""
    records = chain(5)
    known = write_schema_1(sqlite_at(at(tmp_path), patience=1), records, 3)
    assert version_of(tmp_path) == 1
    with open_store(at(tmp_path)) as store:
        assert list(store.journals()) == known
        assert tuple(store.read("a")) == records
        assert tuple(store.read("b")) == records[:3]
        store.keep_snapshot("b", 2, b"x", "d")
        assert store.snapshot("a") is not None
    assert version_of(tmp_path) == len(MIGRATIONS)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """A migration is whole: where its last statement fails the schema is the old one, and the data too."""
    with open_store(at(tmp_path)) as store:
        store.create("a", chain(3))
    database = sqlite_at(at(tmp_path), patience=1)
    broken = Transactions(
        attrs.evolve(database, migrations=(*MIGRATIONS, ("CREATE TABLE extra (x)", "NONSENSE")))
    )
    with pytest.raises(StoreError, match="NONSENSE"):
        migrate(broken)
    broken.close()
    assert version_of(tmp_path) == len(MIGRATIONS)
    with open_store(at(tmp_path)) as store:
        assert tuple(store.read("a")) == chain(3)


def version_of(place: Path) -> int:
    """Return the schema version that the file says."""
    connection = sqlite3.connect(place / "work.db")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(version)


def test_many_open_a_new_file_at_once(tmp_path: Path) -> None:
    """Of those who open a file that is not there yet one makes the tables, and all can use it."""

    def use(number: int) -> int:
        with open_store(at(tmp_path)) as store:
            return store.create(f"journal {number}", chain(3)).version

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(8))) == [3] * 8
    with open_store(at(tmp_path)) as store:
        assert len(store.journals()) == 8


def test_a_name_is_taken_across_openings(tmp_path: Path) -> None:
    """Two openings agree on which names are taken, at once."""
    with open_store(at(tmp_path)) as one, open_store(at(tmp_path)) as other:
        one.create("a", chain(1))
        with pytest.raises(NameTaken):
            other.create("a", chain(1))
