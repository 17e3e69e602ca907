"""Promises about opening: several times in a process, beside others that come and go, and before a fork."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Final

from mage.stores import JournalStore, StoreError
from mage.testing.stores.kit import Kit, Promise, chain, expect, expect_equal, following, state_of
from mage.testing.stores.sharing import write_many

__all__ = ["OPENINGS"]

_ROUNDS: Final = 5
_WRITERS: Final = 3


def openings_come_and_go(kit: Kit) -> None:
    """Processes of several threads that open the store, twice at once, write and close it, again and again: all is there."""
    if not kit.processes:
        return
    with kit.open() as store:
        store.create("shared", chain(1))
    with kit.open() as kept, kit.open() as idle:
        with ProcessPoolExecutor(_WRITERS, mp_context=get_context("spawn")) as pool:
            running = [pool.submit(_visits, kit.open, number) for number in range(_WRITERS)]
            told = write_many(kept, "shared", [f"kept {number}" for number in range(20)]).acknowledged
            for each in running:
                told |= each.result()
        found = {record.parts[0].text: record.version for record in idle.read("shared", 1)}
        expect_equal(found, told, "where each step is")
        expect_equal(len(told), 20 + _WRITERS**2 * _ROUNDS * 2, "the steps that were acknowledged")
    with kit.open() as store:
        expect_equal(store.head("shared").version, len(told) + 1, "the head, once all have closed it")
        state_of(store, "shared")


def _visits(open_it: Callable[[], JournalStore], process: int) -> dict[str, int]:
    told: dict[str, int] = {}
    with ThreadPoolExecutor(_WRITERS) as pool:
        for written in pool.map(lambda thread: _visit(open_it, f"{process} {thread}"), range(_WRITERS)):
            told |= written
    return told


def _visit(open_it: Callable[[], JournalStore], who: str) -> dict[str, int]:
    told: dict[str, int] = {}
    for turn in range(_ROUNDS):
        with open_it() as one, open_it() as other:
            told |= write_many(one, "shared", [f"{who} {turn} one"]).acknowledged
            open_it().close()
            told |= write_many(other, "shared", [f"{who} {turn} other"]).acknowledged
    return told


def a_fork_of_the_process_loses_nothing(kit: Kit) -> None:
    """A store that was open when the process forked: a child is refused, or what it is told is written is there."""
    if not kit.processes or not hasattr(os, "fork"):
        return
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_forks, kit.open).result()
    with kit.open() as store:
        texts = [record.parts[0].text for record in store.read("a", 1)]
    expect(texts[-2:] == ["parent", "anew"] and texts[:-2] in ([], ["child"]), f"the steps are {texts}")


def _forks(open_it: Callable[[], JournalStore]) -> None:
    store = open_it()
    head = store.create("a", chain(1))
    told = _in_child(lambda: _by_child(store))
    if told == "written":
        head = store.head("a")
        expect_equal(head.version, 2, "the head, after a child was told that its step is written")
    else:
        expect_equal(told, "refused", "how the store was in the child")
    write_many(store, "a", ["parent"])
    expect_equal(_in_child(lambda: _anew(open_it)), "written", "how the store was that the child has opened")
    expect_equal(store.head("a").version, head.version + 2, "the head that the parent sees")
    store.close()


def _by_child(store: JournalStore) -> str:
    try:
        head = store.head("a")
        store.append("a", head, following(head, "child"))
    except StoreError:
        return "refused"
    return "written"


def _anew(open_it: Callable[[], JournalStore]) -> str:
    with open_it() as store:
        write_many(store, "a", ["anew"])
    return "written"


def _in_child(work: Callable[[], str]) -> str:
    """Fork, and return what the child says of its work; nothing where it says nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


OPENINGS: Final[tuple[Promise, ...]] = (openings_come_and_go, a_fork_of_the_process_loses_nothing)
