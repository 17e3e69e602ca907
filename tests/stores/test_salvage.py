"""What the chain still proves of a damaged journal: before a damage and behind it, by digests and by snapshots."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.codec import decode_tree
from mage.session.loading import pack, unpack
from mage.stores import (
    NOTHING,
    Head,
    MemoryStore,
    Record,
    fold,
    open_store,
    snapshot_digest,
    verify,
    write_parts,
)
from mage.stores.doctor import (
    Examined,
    Finding,
    KeptJournal,
    KeptSnapshot,
    Row,
    Stray,
    examine,
    repair,
    rest_of,
)
from mage.testing.stores import chain, following
from tests.cli.runner import mage
from tests.stores.corrupted import acknowledged, write

LENGTH = 16
RECORDS = chain(LENGTH)


@final
@attrs.frozen
class InMemory:
    """A `Kept` of one journal whose rows a test has damaged; forks read through it."""

    rows_of: dict[object, Sequence[Row]]
    journals: Sequence[KeptJournal]
    kept_snapshots: Sequence[KeptSnapshot] = ()
    findings: Sequence[Finding] = ()

    def rows(self, journal: object) -> Iterator[Row]:
        """Yield its rows."""
        yield from self.rows_of[journal]

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """Yield its snapshots."""
        yield from [each for each in self.kept_snapshots if each.journal == journal]

    def strays(self) -> Sequence[Stray]:
        """Return none."""
        return ()


def row_of(record: Record) -> Row:
    """Return a record as a store keeps it."""
    return (record.version, record.body, write_parts(record.parts), bytes.fromhex(record.digest))


def journal_of(rows: Sequence[Row], head: Head, snapshots: Collection[int] = ()) -> InMemory:
    """Return a store of one journal with these rows, and sound snapshots of some versions."""
    row = KeptJournal(
        1, "main", None, 0, head.version, bytes.fromhex(head.digest), None, None, created=0, changed=0
    )
    packed = [(version, pack(fold(RECORDS[:version]))) for version in sorted(snapshots)]
    kept = [
        KeptSnapshot(1, version, data, snapshot_digest(RECORDS[version - 1].head, data))
        for version, data in packed
    ]
    return InMemory({1: rows}, [row], kept)


def with_content(row: Row) -> Row:
    """Change the content of a record."""
    return (row[0], row[1], write_parts(following(NOTHING, "another")[0].parts), row[3])


def unreadable(row: Row) -> Row:
    """Cut the texts of a record."""
    assert isinstance(row[2], bytes)
    return (row[0], row[1], row[2][:-3], row[3])


def with_digest(row: Row) -> Row:
    """Flip a bit of the digest's column."""
    assert isinstance(row[3], bytes)
    return (*row[:3], bytes([row[3][0] ^ 1, *row[3][1:]]))


def cut_digest(row: Row) -> Row:
    """Cut the digest's column."""
    assert isinstance(row[3], bytes)
    return (*row[:3], row[3][:7])


def unchanged(row: Row) -> Row:
    """Leave a row as it is."""
    return row


def damaged(changes: dict[int, Callable[[Row], Row]]) -> list[Row]:
    """Return the rows of the journal, some of them changed."""
    return [changes.get(record.version, unchanged)(row_of(record)) for record in RECORDS]


@given(st.sets(st.integers(1, LENGTH)), st.sampled_from([with_digest, cut_digest]))
def test_columns_of_digests_alone_cost_nothing(versions: set[int], change: Callable[[Row], Row]) -> None:
    """However many are damaged, the contents and the head prove each record: each is named, none is left out."""
    kept = journal_of(damaged(dict.fromkeys(versions, change)), RECORDS[-1].head)
    examined = examine(kept)
    named = {each.version for each in examined.findings if each.fault == "damaged digest"}
    assert named == versions
    assert [sound.upto for sound in examined.sound] == [LENGTH]
    with MemoryStore() as into:
        assert repair(kept, examined, into) == ()
        assert tuple(into.read("main")) == RECORDS


@given(st.sets(st.integers(1, LENGTH), min_size=1), st.sampled_from([with_content, unreadable]), st.data())
def test_what_stands_before_and_behind_a_damage_is_known(
    versions: set[int], change: Callable[[Row], Row], data: st.DataObject
) -> None:
    """Records before the first damage are sound; those behind the last are proved; nothing else is said to be."""
    last = max(versions)
    snapshots = data.draw(st.sets(st.integers(1, LENGTH)))
    kept = journal_of(damaged(dict.fromkeys(versions, change)), RECORDS[-1].head, snapshots)
    examined = examine(kept, unpack=unpack)
    (sound,) = examined.sound
    assert {each.version for each in examined.findings if each.fault == "damaged record"} == versions
    assert sound.upto == min(versions) - 1
    assert sound.proved_from == (last + 1 if last < LENGTH else None)
    behind = [version for version in snapshots if version >= last] if last < LENGTH else []
    if behind:
        assert sound.carried is not None
        assert (sound.carried.since, sound.carried.upto) == (min(behind), LENGTH)
        assert sound.carried.state == fold(RECORDS)
    else:
        assert sound.carried is None
    require_rest(kept, examined, set(range(last + 1, LENGTH + 1)))


def require_rest(kept: InMemory, examined: Examined, proved: set[int]) -> None:
    """Ask that the rest says of each record behind the sound ones what it is."""
    lines = [json.loads(line) for line in rest_of(kept, examined)]
    (sound,) = examined.sound
    records = {line["record"]: line for line in lines if "record" in line}
    assert records.keys() == set(range(sound.upto + 1, LENGTH + 1))
    assert {version for version, line in records.items() if line["proved"]} == proved
    for version in proved:
        assert records[version]["digest"] == RECORDS[version - 1].digest
        assert records[version]["parts"] == json.loads(write_parts(RECORDS[version - 1].parts))
    states = [line for line in lines if "tree" in line]
    assert len(states) == (sound.carried is not None)
    for line in states:
        assert decode_tree(json.dumps(line["tree"]).encode()).unwrap() == fold(RECORDS)


@given(st.integers(2, LENGTH - 1), st.integers(2, LENGTH - 1))
def test_a_missing_record_costs_the_one_behind_it(first: int, second: int) -> None:
    """Behind a gap nothing says what the next record was chained to: it is there, and from the next on all is proved."""
    gaps = {first, second}
    rows = [row_of(record) for record in RECORDS if record.version not in gaps]
    (sound,) = examine(journal_of(rows, RECORDS[-1].head)).sound
    assert sound.upto == min(gaps) - 1
    assert sound.proved_from == (max(gaps) + 2 if max(gaps) + 2 <= LENGTH else None)


@given(st.sets(st.integers(1, LENGTH), min_size=1), st.booleans())
def test_of_rows_that_stand_twice_the_chain_tells_the_right_one(versions: set[int], first: bool) -> None:
    """As two writers without locks leave them: both rows are read, and the one that was written is taken."""
    rows: list[Row] = []
    for record in RECORDS:
        row = row_of(record)
        other = with_content(row)
        several = ([other, row] if first else [row, other]) if record.version in versions else [row]
        rows.extend(several)
    kept = journal_of(rows, RECORDS[-1].head)
    examined = examine(kept)
    assert [sound.upto for sound in examined.sound] == [LENGTH]
    assert {each.version for each in examined.findings if each.fault == "doubled record"} == versions
    with MemoryStore() as into:
        repair(kept, examined, into)
        assert tuple(into.read("main")) == RECORDS


def test_an_orphans_descendants_are_no_circle(tmp_path: Path) -> None:
    """A fork of an orphan is told that its parent is not sound; what it has itself is proved and can be had."""
    path, rest = tmp_path / "work.db", tmp_path / "rest.jsonl"
    with open_store(f"sqlite:///{path}") as store:
        write(store)
        at = store.fork("try again", "deep", 43)
        store.append("deep", at, following(at, "e"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE mage_journals SET parent = 77 WHERE name = 'try'")
    told = json.loads(mage("doctor", f"sqlite:///{path}", "--rest", rest, "--json").out)
    assert [(each["session"], each["fault"]) for each in told["findings"]] == [
        ("try", "orphan fork"),
        ("try again", "damaged parent"),
        ("deep", "damaged parent"),
    ]
    assert [(each["session"], each["proved_from"]) for each in told["salvaged"]] == [
        ("try", 42),
        ("try again", 43),
        ("deep", 44),
    ]
    lines = [json.loads(line) for line in rest.read_bytes().splitlines()]
    assert [(line["session"], line["record"]) for line in lines if line["proved"]] == [
        ("try", 42),
        ("try", 43),
        ("try again", 43),
        ("deep", 44),
    ]


@pytest.mark.parametrize("circle", [("try", "try again"), ("try again", "deep")])
def test_what_reads_through_a_circle_is_not_in_it(tmp_path: Path, circle: tuple[str, str]) -> None:
    """Only those that read through themselves are called a circle; another, made before or after them, has a damaged parent."""
    path = tmp_path / "work.db"
    ids = {"try": 2, "try again": 3, "deep": 4}
    with open_store(f"sqlite:///{path}") as store:
        write(store)
        store.fork("try again", "deep", 43)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM mage_snapshots")
        for journal in ids.values():
            parent = ids[circle[0]] if journal != ids[circle[0]] else ids[circle[1]]
            connection.execute("UPDATE mage_journals SET parent = ? WHERE id = ?", (parent, journal))
    told = json.loads(mage("doctor", f"sqlite:///{path}", "--json").out)
    found = {(each["session"], each["fault"]) for each in told["findings"]}
    assert {name for name, fault in found if fault == "circle of parents"} == set(circle)
    (other,) = set(ids) - set(circle)
    assert {fault for name, fault in found if name == other} & {"damaged parent", "fork point"}


def test_the_report_says_what_is_proved_and_what_is_merely_there(tmp_path: Path) -> None:
    """For people: up to where all is sound, from where on the chain proves, and which states a snapshot keeps."""
    path, out = tmp_path / "work.db", tmp_path / "repaired.db"
    with open_store(f"sqlite:///{path}") as store:
        write(store)
        records = list(store.read("main", upto=30))
        data = pack(fold(records))
        store.keep_snapshot("main", 30, data, snapshot_digest(records[-1].head, data))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE mage_records SET parts = x'5b5d' WHERE journal = 1 AND version = 12")
        connection.execute("UPDATE mage_records SET digest = x'00' WHERE journal = 1 AND version = 50")
    lines = mage("doctor", f"sqlite:///{path}", "--repair", f"sqlite:///{out}").out.splitlines()
    assert (
        "session 'main': records 1 to 11 are sound; 13 to 66 stand behind the damage and are proved: the chain leads"
        " from them to the head; the states of versions 30 to 66 are proved by the snapshot of version 30"
    ) in lines
    assert "--rest FILE writes what stands behind a damage" in lines
    with open_store(f"sqlite:///{out}") as store:
        history = acknowledged()
        for info in store.journals():
            assert list(verify(NOTHING, store.read(info.name), info.head))[-1].head in history[info.name]
