"""What redaction costs over many sessions and forks, and that it is whole over every shape of these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.cli.change import redact_store
from mage.engine import Grow, Start
from mage.stores import NOTHING, DamagedRecord, JournalStore, MemoryStore, Record, verify
from mage.testing.stores import following, recorded

SECRET = "hunter2-✓"


class Counting:
    """A store that counts its calls, and the records that are read from it."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self.calls = 0
        self.records = 0

    def __getattr__(self, name: str) -> object:
        self.calls += 1
        return getattr(self._store, name)

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        self.calls += 1
        for record in self._store.read(name, after, upto):
            self.records += 1
            yield record


def forked(store: JournalStore, depth: int) -> None:
    """Write a chain of forks with the secret in each."""
    store.create("0", recorded([Start(SECRET)]))
    for number in range(1, depth):
        head = store.fork(f"{number - 1}", f"{number}", number)
        store.append(f"{number}", head, following(head, SECRET))


@pytest.mark.parametrize("name", ["0", None])
def test_twice_the_forks_are_twice_the_work(name: str | None) -> None:
    """Each record is read once in a round, and what a chain of forks reads is replaced in one call."""
    for depth in (20, 40):
        with MemoryStore() as store:
            forked(store, depth)
            counting = Counting(store)
            dry = redact_store(cast("JournalStore", counting), name, re.compile(SECRET), dry_run=True)
            assert (len(dry), counting.records) == (2 * depth - 1, depth)
            counting = Counting(store)
            assert redact_store(cast("JournalStore", counting), name, re.compile(SECRET)) == dry
            assert counting.records == 2 * depth
            assert counting.calls <= 2 * depth + 4
            left = [part.text for record in store.read(f"{depth - 1}") for part in record.parts]
            assert not any(SECRET in text for text in left)


def test_twice_the_sessions_are_twice_the_work() -> None:
    """Each is read once in a round, and replaced by a call of its own."""
    for count in (20, 40):
        with MemoryStore() as store:
            for number in range(count):
                store.create(f"{number}", recorded([Start(SECRET)]))
            counting = Counting(store)
            assert len(redact_store(cast("JournalStore", counting), None, re.compile(SECRET))) == count
            assert (counting.records, counting.calls) == (2 * count, 3 * count + 2)


def test_a_damage_keeps_all_that_was_forked_from_one_session_as_it_was() -> None:
    """A family is looked through before any of it is changed; another family is redacted all the same or before."""
    with MemoryStore() as store:
        forked(store, 3)
        last = store._journals["2"].records[-1]
        store._journals["2"].records[-1] = attrs.evolve(last, body='{"op":"accept"}')
        with pytest.raises(DamagedRecord):
            redact_store(store, None, re.compile(SECRET))
        assert [part.text for record in store.read("1") for part in record.parts].count(SECRET) == 2


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 99), st.integers(0, 3)), max_size=8), st.randoms()
)
def test_every_shape_of_forks_is_redacted_whole(shape: list[tuple[int, int, int]], choices: Random) -> None:
    """Whatever was forked where: nothing that matches is left, and each place is told once."""
    with MemoryStore() as store:
        store.create("0", recorded([Start(SECRET), Grow(SECRET, ".")]))
        for number, (source, at, more) in enumerate(shape, start=1):
            parent = f"{source % number}"
            version = store.head(parent).version
            head = store.fork(parent, f"{number}", 1 + at % version)
            texts = [choices.choice([SECRET, "plain"]) + f" {each}" for each in range(more)]
            store.append(f"{number}", head, following(head, *texts))
        places = redact_store(store, "0", re.compile(SECRET))
        assert len(places) == len(set(places))
        for info in store.journals():
            assert not any(SECRET in part.text for record in store.read(info.name) for part in record.parts)
            assert len(list(verify(NOTHING, store.read(info.name), info.head))) == info.head.version
