"""Backends of a server that are ended, at any moment of a transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest

from mage.stores import Conflict, JournalStore, NameTaken, StoreUnavailable, UnknownJournal, open_store
from mage.testing.stores import chain, following
from tests.stores.conftest import new_room
from tests.stores.moments import heard
from tests.stores.postgres import Cluster
from tests.stores.test_postgres import Work, lose, once, run

pytestmark = pytest.mark.postgres


def test_a_connection_lost_before_rollback_hides_nothing(server: Cluster) -> None:
    """A backend that dies before ROLLBACK takes the place of no answer and of no refusal."""
    store, _ = heard(new_room(server))
    with store:
        head = store.create("a", chain(2))
        works: tuple[Work, ...] = (
            lambda: store.head("a"),
            lambda: store.redactions("a"),
            lambda: list(store.read("a")),
            store.journals,
        )
        for work in works:
            once(store, "rollback", lose)
            work()
        once(store, "rollback", lose)
        with pytest.raises(Conflict):
            store.append("a", chain(1)[-1].head, following(chain(1)[-1].head, "late"))
        once(store, "rollback", lose)
        with pytest.raises(NameTaken):
            store.create("a", chain(1))
        once(store, "rollback", lose)
        with pytest.raises(UnknownJournal):
            store.append("b", head, following(head, "x"))
        assert store.append("a", head, following(head, "x")).version == 3


def test_backends_that_are_ended_at_any_moment_raise_a_stores_errors_only(server: Cluster) -> None:
    """While somebody ends every backend, again and again, each operation has its answer or an error of a store."""
    database = new_room(server)
    with open_store(database) as opened:
        opened.create("a", chain(1))
    ended = Event()
    told: dict[str, int] = {}

    def write(mine: JournalStore) -> None:
        for number in range(40):
            text = f"{id(mine)} {number}"
            try:
                head = mine.head("a")
                told[text] = mine.append("a", head, following(head, text)).version
            except (Conflict, StoreUnavailable):
                continue

    def end_them() -> None:
        while not ended.is_set():
            run(database, _END_OTHERS)

    with ThreadPoolExecutor(5) as pool, ExitStack() as stack:
        stores = [stack.enter_context(open_store(database)) for _ in range(4)]
        ending = pool.submit(end_them)
        writing = [pool.submit(write, each) for each in stores]
        try:
            for each in writing:
                each.result()
        finally:
            ended.set()
        ending.result()
    with open_store(database) as opened:
        there = {record.parts[0].text: record.version for record in opened.read("a", 1)}
    assert told.items() <= there.items()


_END_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%mage%'"
