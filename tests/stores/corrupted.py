"""Stores that were corrupted on purpose: each way with what a doctor must call it, and where."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from mage.engine import Accept, Command, Compress, Grow, Instruct, Revise, Start, StepId
from mage.stores import (
    Draft,
    Head,
    JournalStore,
    open_store,
    read_parts,
    seal,
    snapshot_digest,
    write_parts,
)
from mage.stores.records import Part, Plain
from mage.testing.stores import following, recorded, salts

PAGE: Final = 4096
STEPS: Final = 60
SNAPSHOT: Final = b"a snapshot"


def story() -> list[Command]:
    """Return the commands of the journal "main": every kind of text, and steps enough for many pages."""
    commands: list[Command] = [Start("furnish a study"), Instruct("oak only", standing=True)]
    commands += [Grow(f"search {number}", f"found {number}: " + "chair " * 30) for number in range(STEPS)]
    commands += [Compress("searched"), Accept(), Revise(StepId(0), "look elsewhere"), Grow("ask", "told")]
    return commands


def write(store: JournalStore) -> None:
    """Write three journals: "main", a fork of it, a fork of that; and two snapshots."""
    records = recorded(story())
    head = store.create("main", records[:1])
    for record in records[1:]:
        head = store.append("main", head, [record])
    head = store.fork("main", "try", 40)
    middle = store.append("try", head, following(head, "a", "b", "c"))
    at = store.fork("try", "try again", middle.version - 1)
    store.append("try again", at, following(at, "d"))
    for name, version in (("main", 20), ("try", 42)):
        found = next(store.read(name, version - 1, version)).head
        store.keep_snapshot(name, version, SNAPSHOT, snapshot_digest(found, SNAPSHOT))


def acknowledged() -> dict[str, list[Head]]:
    """Return for each journal the heads that were acknowledged, in order."""
    with open_store("memory:") as store:
        write(store)
        return {info.name: [record.head for record in store.read(info.name)] for info in store.journals()}


class Fault(NamedTuple):
    """One way to corrupt a store.

    Attributes:
        make: does it to the file.
        fault: what a doctor must call it.
        journal: whose it is, None for the store's own.
        version: the record that must be named, None where there is none.
        lasting: whether records are lost by it, so that the repaired copy has less.
    """

    make: Callable[[Path], None]
    fault: str
    journal: str | None = None
    version: int | None = None
    lasting: bool = True


def sql(*statements: str) -> Callable[[Path], None]:
    """Return what carries out statements on the file, whatever its own rules are."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("PRAGMA ignore_check_constraints = ON")
            for statement in statements:
                connection.execute(statement)

    return make


def in_record(
    version: int, change: Callable[[str, tuple[Part, ...], bytes], tuple[str, bytes, bytes]]
) -> Callable[[Path], None]:
    """Return what changes the row of a record of "main": its body, parts and digest."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            body, data, digest = connection.execute(
                "SELECT body, parts, digest FROM mage_records WHERE journal = 1 AND version = ?", (version,)
            ).fetchone()
            parts = read_parts(data)
            assert isinstance(parts, tuple)
            connection.execute(
                "UPDATE mage_records SET body = ?, parts = ?, digest = ? WHERE journal = 1 AND version = ?",
                (*change(body, parts, digest), version),
            )

    return make


def with_text(place: int, text: str) -> Callable[[str, tuple[Part, ...], bytes], tuple[str, bytes, bytes]]:
    """Return what puts another text in a record."""

    def change(body: str, parts: tuple[Part, ...], digest: bytes) -> tuple[str, bytes, bytes]:
        new = list(parts)
        salt = parts[place].salt
        assert salt is not None
        new[place] = Plain(text, salt)
        return body, write_parts(new), digest

    return change


def with_salt(body: str, parts: tuple[Part, ...], digest: bytes) -> tuple[str, bytes, bytes]:
    """Put another salt before the first text."""
    return body, write_parts([Plain(parts[0].text, "x" * 16), *parts[1:]]), digest


def flipped(digest: bytes) -> bytes:
    """Return a digest with one bit flipped."""
    return bytes([digest[0] ^ 1, *digest[1:]])


def chained_behind(version: int, drafted: Draft) -> Callable[[Path], None]:
    """Return what puts a sound record behind `version` of "main", as its last: a chain that nothing breaks."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            digest = connection.execute(
                "SELECT digest FROM mage_records WHERE journal = 1 AND version = ?", (version,)
            ).fetchone()[0]
            record = seal(Head(version, digest.hex()), drafted, salts())
            row = (record.body, write_parts(record.parts), bytes.fromhex(record.digest))
            connection.execute(
                "INSERT INTO mage_records (journal, version, body, parts, digest) VALUES (1, ?, ?, ?, ?)",
                (version + 1, *row),
            )
            connection.execute(
                "UPDATE mage_journals SET head = ?, digest = ? WHERE id = 1", (version + 1, row[2])
            )

    return make


def in_file(offset: int, data: bytes) -> Callable[[Path], None]:
    """Return what overwrites bytes of the file; a negative offset counts from its end."""

    def make(path: Path) -> None:
        content = bytearray(path.read_bytes())
        start = offset if offset >= 0 else len(content) + offset
        content[start : start + len(data)] = data
        path.write_bytes(content)

    return make


def page_of(text: bytes, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return what changes the page on which a text stands."""

    def make(path: Path) -> None:
        content = bytearray(path.read_bytes())
        start = content.index(text) // PAGE * PAGE
        content[start : start + PAGE] = change(bytes(content[start : start + PAGE]))
        path.write_bytes(content)

    return make


def cut(size: int) -> Callable[[Path], None]:
    """Return what cuts so many bytes from the end of the file."""

    def make(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-size])

    return make


def with_log(data: bytes) -> Callable[[Path], None]:
    """Return what puts a log beside the file."""

    def make(path: Path) -> None:
        path.with_name(path.name + "-wal").write_bytes(data)

    return make


LAST: Final = STEPS + 6
BODY: Final = 'UPDATE mage_records SET body = \'{"op":"grow"}\' WHERE journal = 1 AND version = '
RENUMBERED: Final = "UPDATE mage_records SET version = {} WHERE journal = 1 AND version = {}"

FAULTS: Final[dict[str, Fault]] = {
    "flipped byte in a body": Fault(sql(BODY + "2"), "damaged record", "main", 2),
    "flipped byte in a text": Fault(in_record(5, with_text(0, "search 3")), "damaged record", "main", 5),
    "flipped byte in a salt": Fault(in_record(5, with_salt), "damaged record", "main", 5),
    "flipped byte in the meta": Fault(in_record(9, with_text(2, '{"at":1}')), "damaged record", "main", 9),
    "flipped bit in a digest": Fault(
        in_record(7, lambda body, parts, digest: (body, write_parts(parts), flipped(digest))),
        "damaged digest",
        "main",
        7,
        lasting=False,
    ),
    "flipped bit in the last digest": Fault(
        in_record(STEPS + 6, lambda body, parts, digest: (body, write_parts(parts), flipped(digest))),
        "damaged digest",
        "main",
        STEPS + 6,
        lasting=False,
    ),
    "truncated texts": Fault(
        in_record(6, lambda body, parts, digest: (body, write_parts(parts)[:-9], digest)),
        "damaged record",
        "main",
        6,
    ),
    "truncated digest": Fault(
        in_record(6, lambda body, parts, digest: (body, write_parts(parts), digest[:-1])),
        "damaged digest",
        "main",
        6,
        lasting=False,
    ),
    "a column of another kind": Fault(
        sql("UPDATE mage_records SET parts = 'text' WHERE journal = 1 AND version = 8"),
        "damaged record",
        "main",
        8,
    ),
    "a text less": Fault(
        in_record(10, lambda body, parts, digest: (body, write_parts(parts[1:]), digest)),
        "damaged record",
        "main",
        10,
    ),
    "missing record": Fault(
        sql("DELETE FROM mage_records WHERE journal = 1 AND version = 11"), "missing record", "main", 11
    ),
    "missing start": Fault(
        sql("DELETE FROM mage_records WHERE journal = 1 AND version = 1"), "missing record", "main", 1
    ),
    "missing record of a fork": Fault(
        sql("DELETE FROM mage_records WHERE journal = 2 AND version = 42"), "missing record", "try", 42
    ),
    "doubled record": Fault(
        sql(
            "DELETE FROM mage_records WHERE journal = 1 AND version = 13",
            "INSERT INTO mage_records SELECT journal, 13, body, parts, digest FROM mage_records"
            " WHERE journal = 1 AND version = 12",
        ),
        "doubled record",
        "main",
        13,
    ),
    "swapped records": Fault(
        sql(RENUMBERED.format(999, 14), RENUMBERED.format(14, 15), RENUMBERED.format(15, 999)),
        "damaged record",
        "main",
        14,
    ),
    "a record with a negative version": Fault(sql(RENUMBERED.format(-1, 14)), "missing record", "main", 14),
    "a record before the fork point": Fault(
        sql("INSERT INTO mage_records VALUES (2, 3, '{\"op\":\"accept\"}', x'5b5d', x'00')"),
        "hidden record",
        "try",
        3,
        lasting=False,
    ),
    "records of no journal": Fault(
        sql(
            "INSERT INTO mage_records SELECT 77, version, body, parts, digest FROM mage_records WHERE journal = 1"
        ),
        "stray records",
        lasting=False,
    ),
    "head beyond its records": Fault(
        sql("UPDATE mage_journals SET head = 99 WHERE id = 1"), "lost tail", "main", LAST + 1, lasting=False
    ),
    "head before its records": Fault(
        sql("UPDATE mage_journals SET head = 50 WHERE id = 1"),
        "records behind the head",
        "main",
        51,
        lasting=False,
    ),
    "flipped bit in the digest of a head": Fault(
        sql("UPDATE mage_journals SET digest = zeroblob(32) WHERE id = 1"),
        "head",
        "main",
        LAST,
        lasting=False,
    ),
    "no head": Fault(sql("UPDATE mage_journals SET head = 'x' WHERE id = 1"), "head", "main", lasting=False),
    "sums that are wrong": Fault(
        sql("UPDATE mage_journals SET payload = payload + 1 WHERE id = 1"), "sums", "main", lasting=False
    ),
    "fork of a missing parent": Fault(
        sql("UPDATE mage_journals SET parent = 77 WHERE id = 3"), "orphan fork", "try again"
    ),
    "fork of nothing": Fault(
        sql("UPDATE mage_journals SET parent = NULL WHERE id = 3"), "orphan fork", "try again"
    ),
    "deleted parent": Fault(
        sql("DELETE FROM mage_records WHERE journal = 2", "DELETE FROM mage_journals WHERE id = 2"),
        "orphan fork",
        "try again",
    ),
    "fork point beyond the parent's head": Fault(
        sql("UPDATE mage_journals SET forked_at = 95, head = 96 WHERE id = 3"), "fork point", "try again"
    ),
    "fork point before the parent's own": Fault(
        sql("UPDATE mage_journals SET forked_at = 5, head = 6 WHERE id = 3"), "fork point", "try again"
    ),
    "fork of a damaged parent": Fault(in_record(30, with_text(0, "other")), "damaged parent", "try", 30),
    "circle of parents": Fault(
        sql("UPDATE mage_journals SET parent = 3 WHERE id = 2"), "circle of parents", "try"
    ),
    "its own parent": Fault(
        sql("UPDATE mage_journals SET parent = 3 WHERE id = 3"), "circle of parents", "try again"
    ),
    "a name with a NUL": Fault(
        sql("UPDATE mage_journals SET name = 'a' || char(0) || 'b' WHERE id = 3"),
        "name",
        "journal 3",
        lasting=False,
    ),
    "a name that is no text": Fault(
        sql("UPDATE mage_journals SET name = x'00ff' WHERE id = 3"), "name", "journal 3", lasting=False
    ),
    "a snapshot that does not fit": Fault(
        sql("UPDATE mage_snapshots SET version = 21 WHERE journal = 1"), "snapshot", "main", 21, lasting=False
    ),
    "a snapshot that was changed": Fault(
        sql("UPDATE mage_snapshots SET data = x'00' WHERE journal = 2"), "snapshot", "try", 42, lasting=False
    ),
    "a snapshot of no version": Fault(
        sql("UPDATE mage_snapshots SET version = 2000 WHERE journal = 1"),
        "snapshot",
        "main",
        2000,
        lasting=False,
    ),
    "a command that the engine refuses": Fault(
        chained_behind(LAST, Draft('{"op":"revise","boundary":7}', ("back", "{}"))),
        "refused command",
        "main",
        LAST + 1,
        lasting=False,
    ),
    "a body that is no command": Fault(
        chained_behind(LAST, Draft('{"op":"forget"}', ("{}",))),
        "refused command",
        "main",
        LAST + 1,
        lasting=False,
    ),
    "newer schema": Fault(sql("PRAGMA user_version = 99"), "unknown schema"),
    "wrong application id": Fault(sql("PRAGMA application_id = 7"), "no store", lasting=False),
    "missing table of snapshots": Fault(sql("DROP TABLE mage_snapshots"), "missing table", lasting=False),
    "missing table of records": Fault(sql("DROP TABLE mage_records"), "missing table"),
    "no database": Fault(in_file(0, b"not a database at all"), "no database"),
    "torn first page": Fault(in_file(512, bytes(PAGE - 512)), "no database"),
    "torn page of records": Fault(
        page_of(b"search 30", lambda page: page[: PAGE // 2] + bytes(PAGE // 2)), "damaged pages"
    ),
    "page of zeros": Fault(page_of(b"search 30", lambda page: bytes(len(page))), "damaged pages"),
    "page of another file": Fault(page_of(b"search 20", lambda page: b"\xa5" * len(page)), "damaged pages"),
    "file cut by a page": Fault(cut(PAGE), "cut file"),
    "file cut in a page": Fault(cut(700), "cut file"),
    "garbage as a log": Fault(with_log(b"\xa5" * 5000), "write-ahead log", lasting=False),
    "log cut in its header": Fault(with_log(b"\x37\x7f\x06\x82"), "write-ahead log", lasting=False),
    "index that lost an entry": Fault(
        sql(
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET sql = 'CREATE INDEX mage_forks ON mage_journals (parent)'"
            " WHERE name = 'mage_forks'",
        ),
        "damaged pages",
        lasting=False,
    ),
}
