"""What two writers leave that did not hear of each other's locks, or a copy that took half: pages of two moments."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from mage.stores import open_store
from mage.testing.stores import chain, following
from tests.stores.corrupted import PAGE, STEPS, Fault, page_of, sql, write

LAST: Final = STEPS + 6


def roots(path: Path) -> dict[str, int]:
    """Return the number of the first page of each table and index."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0").fetchall()
    return {str(name): int(page) for name, page in rows}


def below(content: bytes, page: int) -> list[int]:
    """Return the pages of a tree of SQLite's."""
    start = (page - 1) * PAGE
    kind, count = content[start], struct.unpack(">H", content[start + 3 : start + 5])[0]
    if kind in (0x0D, 0x0A):
        return [page]
    pointers = struct.unpack(f">{count}H", content[start + 12 : start + 12 + 2 * count])
    children = [struct.unpack(">I", content[start + at : start + at + 4])[0] for at in pointers]
    children.append(struct.unpack(">I", content[start + 8 : start + 12])[0])
    return [page, *[inner for child in children for inner in below(content, child)]]


def of_two_moments(*names: str) -> Callable[[Path], None]:
    """Return what leaves the pages of some tables as they were before a record was appended to "main"."""

    def make(path: Path) -> None:
        old = path.read_bytes()
        with open_store(f"sqlite:///{path}") as store:
            head = store.head("main")
            store.append("main", head, following(head, "one more"))
        new = bytearray(path.read_bytes())
        for name in names:
            for page in below(old, roots(path)[name]):
                new[(page - 1) * PAGE : page * PAGE] = old[(page - 1) * PAGE : page * PAGE]
        path.write_bytes(new)

    return make


def swap_cells(page: bytes) -> bytes:
    """Return a page of a table with its first two rows in the other order."""
    assert page[0] == 0x0D
    return page[:8] + page[10:12] + page[8:10] + page[12:]


def another_version(page: bytes) -> bytes:
    """Return a page on which the last record says that it is the one before."""
    last = page.index(bytes([LAST]) + b'{"op":"grow"}')
    return page[:last] + bytes([LAST - 1]) + page[last + 1 :]


def beside(fill: Callable[[Path], None], ending: str = "-wal") -> Callable[[Path], None]:
    """Return what puts the log of another store beside the file: its writer was killed, so all stands in the log."""

    def make(path: Path) -> None:
        folder = path.parent.parent / "another"
        folder.mkdir()
        fill(folder / "work.db")
        shutil.move(folder / "killed-wal", path.with_name(path.name + ending))
        shutil.rmtree(folder)

    return make


def another_store(path: Path) -> None:
    """Leave the log of a store with one session."""
    with open_store(f"sqlite:///{path}") as store:
        store.create("another", chain(9))
        shutil.copy(path.with_name("work.db-wal"), path.with_name("killed-wal"))


def the_same_names(path: Path) -> None:
    """Leave the log of a store with the same three sessions, made at another time."""
    with open_store(f"sqlite:///{path}", clock=lambda: 7) as store:
        write(store)
        shutil.copy(path.with_name("work.db-wal"), path.with_name("killed-wal"))


def of_other_pages(path: Path) -> None:
    """Leave the log of a database with larger pages."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE other (a)")
        shutil.copy(path.with_name("work.db-wal"), path.with_name("killed-wal"))


LOST_LOCKS: Final[dict[str, Fault]] = {
    "an index of an earlier moment": Fault(
        of_two_moments("sqlite_autoindex_mage_records_1"), "damaged pages", lasting=False
    ),
    "records of an earlier moment": Fault(
        of_two_moments("mage_records", "sqlite_autoindex_mage_records_1"),
        "lost tail",
        "main",
        LAST + 1,
        lasting=False,
    ),
    "rows of an earlier moment": Fault(of_two_moments("mage_records"), "damaged pages", lasting=False),
    "heads of an earlier moment": Fault(
        of_two_moments("mage_journals"), "records behind the head", "main", LAST + 1, lasting=False
    ),
    "rows out of order": Fault(page_of(b"search 30", swap_cells), "damaged pages", lasting=False),
    "a row under another's version": Fault(
        page_of(b'"told"', another_version), "doubled record", "main", LAST - 1, lasting=False
    ),
    "the log of another store": Fault(beside(another_store), "foreign log", lasting=False),
    "the log of a store of the same names": Fault(beside(the_same_names), "foreign log", lasting=False),
    "the log of a database of other pages": Fault(beside(of_other_pages), "foreign log", lasting=False),
    "a journal that counts too little": Fault(
        sql("UPDATE mage_journals SET grows = grows - 1 WHERE id = 2"), "sums", "try", lasting=False
    ),
}
"""Each with what a doctor must call it; beside `tests.stores.corrupted`."""
