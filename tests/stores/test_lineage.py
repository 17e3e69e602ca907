"""Chains of forks, however long: what is read through them, and in how many statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from mage.engine import Start
from mage.stores import DamagedStore, JournalStore, open_store, redacted, snapshot_digest
from mage.stores.sql import SqlStore, lineage_of, readers_of
from mage.testing.stores import following, recorded
from tests.stores.corrupted import sql
from tests.stores.moments import Moments, heard


@contextmanager
def chain(url: str, depth: int) -> Iterator[SqlStore]:
    """Open a store with "0", its fork "1", a fork of that, and so on; each adds a record of its own."""
    store, _ = heard(url)
    with store:
        head = store.create("0", recorded([Start("t")]))
        for number in range(1, depth):
            head = store.fork(f"{number - 1}", f"{number}", head.version)
            head = store.append(f"{number}", head, following(head, f"{number}"))
        yield store


def statements(store: SqlStore, use: Callable[[JournalStore, str], object], name: str) -> int:
    """Return how many statements a use of a journal takes."""
    seen: list[str] = []
    moments = store._database
    assert isinstance(moments, Moments)
    moments.hear(lambda _, statement: seen.append(statement), "statement")
    use(store, name)
    moments.quiet()
    return len(seen)


USES: dict[str, Callable[[JournalStore, str], object]] = {
    "fork": lambda store, last: store.fork(last, "new", 1),
    "redactions": lambda store, last: store.redactions(last),
    "delete": lambda store, last: store.delete(last),
    "read the newest": lambda store, last: list(store.read(last, store.head(last).version - 1)),
    "redact": lambda store, last: store.replace_parts(last, [redacted(next(store.read(last)), [0])]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_longer_chain_takes_no_more_statements(
    use: Callable[[JournalStore, str], object], tmp_path: Path
) -> None:
    """What is done to the last of 20 forks takes as many statements as with 3."""
    counted: list[int] = []
    for depth in (3, 20):
        with chain(f"sqlite:///{tmp_path / str(depth)}.db", depth) as store:
            counted.append(statements(store, use, f"{depth - 1}"))
    assert counted[0] == counted[1]


def test_a_long_chain_is_read_through(url: str) -> None:
    """Every record comes from the journal that holds it, in order, 40 forks deep."""
    with chain(url, 40) as store:
        assert [record.version for record in store.read("39")] == list(range(1, 41))
        assert [record.parts[0].text for record in store.read("39", 1)] == [f"{n}" for n in range(1, 40)]
        assert store.fork("39", "early", 30).version == 30
        assert {info.name: info.parent for info in store.journals()}["early"] == "29"


@pytest.mark.parametrize(
    "change",
    [
        "parent = 999 WHERE name = '7'",
        "parent = id WHERE name = '7'",
        "parent = (SELECT id FROM mage_journals WHERE name = '11') WHERE name = '7'",
        "parent = 'x' WHERE name = '7'",
        "parent = NULL WHERE name = '7'",
        "forked_at = 'x' WHERE name = '7'",
        "forked_at = 1.5 WHERE name = '7'",
        "forked_at = -1 WHERE name = '7'",
        "forked_at = 0 WHERE name = '7'",
        "forked_at = 99 WHERE name = '7'",
        "id = 999 WHERE name = '7'",
    ],
)
def test_a_break_in_a_chain_is_told(change: str, tmp_path: Path) -> None:
    """Whatever the row in the middle says, circles too: those behind it are refused, those before it are read."""
    path = tmp_path / "work.db"
    with chain(f"sqlite:///{path}", 12):
        pass
    sql(f"UPDATE mage_journals SET {change}")(path)
    with open_store(f"sqlite:///{path}") as store:
        assert len(list(store.read("6"))) == 7
        with pytest.raises(DamagedStore):
            list(store.read("11"))


COPIES = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
    INSERT INTO mage_journals
        (name, parent, forked_at, head, digest, created, changed, payload, grows, redactions)
    SELECT 'fork ' || n, parent, forked_at, head, digest, created, changed, payload, grows, redactions
    FROM mage_journals, numbers WHERE name = 'fork 0' ORDER BY n
"""


def test_what_more_forks_than_one_statement_names_have_seen_is_forgotten(tmp_path: Path) -> None:
    """Of 1,201 forks each counts the redaction, and none that saw the text keeps a snapshot."""
    path = tmp_path / "work.db"
    with open_store(f"sqlite:///{path}") as store:
        records = recorded([Start("secret")])
        store.create("main", records)
        store.fork("main", "fork 0", 1)
    sql(COPIES)(path)
    with open_store(f"sqlite:///{path}") as store:
        kept = ("fork 0", "fork 600", "fork 1200")
        for name in kept:
            before = store.head(name)
            head = store.append(name, before, following(before, "own"))
            store.keep_snapshot(name, head.version, b"secret", snapshot_digest(head, b"secret"))
        store.replace_parts("main", [redacted(records[0], [0])])
        assert {store.redactions(info.name) for info in store.journals()} == {1}
        assert [store.snapshot(name) for name in kept] == [None] * 3


def test_only_the_forks_that_hold_what_is_asked_for_are_followed(tmp_path: Path) -> None:
    """Reading the end of a long chain takes its last journals, and not all those above."""
    with chain(f"sqlite:///{tmp_path / 'work.db'}", 30) as store:
        for after, pieces in ((29, 1), (28, 2), (20, 10), (0, 30)):
            found = store._transactions.read(partial(lineage_of, name="29", after=after))
            assert len(found.pieces) == pieces
            assert [record.version for record in store.read("29", after)] == list(range(after + 1, 31))


def test_only_the_readers_of_what_has_changed_are_followed(tmp_path: Path) -> None:
    """Forks that begin before it, and other sessions, are not looked at."""
    with chain(f"sqlite:///{tmp_path / 'work.db'}", 9) as store:
        store.create("other", recorded([Start("t")]))
        store.fork("8", "early", 3)
        ids = {
            name: store._transactions.read(partial(lineage_of, name=name)).pieces[0].journal for name in "678"
        }
        found = store._transactions.read(partial(readers_of, changed=[(ids["6"], 7)]))
        assert found == {ids["6"]: 7, ids["7"]: 7, ids["8"]: 7}
