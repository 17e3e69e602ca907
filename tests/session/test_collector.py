"""The garbage collector pauses where very many values are made, and is never left off."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import reduce
from threading import Barrier

import pytest

from mage import Session
from mage.engine import State, grow, start
from mage.session.drivers import collector_paused
from mage.session.loading import pack, unpack
from mage.stores import MemoryStore


@contextmanager
def collector(*, on: bool) -> Iterator[None]:
    """Have the collector on or off, and put it back."""
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_it_is_put_back_however_the_block_ends(*, on: bool, fails: bool) -> None:
    """Inside it is off; afterwards it is as the host had it, on or off, also where the block raises."""
    with collector(on=on):
        with suppress(LookupError), collector_paused():
            assert not gc.isenabled()
            if fails:
                raise LookupError
        assert gc.isenabled() is on


def test_many_threads_leave_it_on() -> None:
    """However the blocks of several threads overlap, the collector is on when all have ended."""
    together = Barrier(8)

    def pause(_: int) -> None:
        together.wait()
        for _ in range(200):
            with collector_paused(), collector_paused():
                pass

    with collector(on=True):
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(pause, range(8)))
        assert gc.isenabled()


def test_nothing_is_collected_while_a_snapshot_is_read() -> None:
    """The collector looks once, when it is on again, at the 20,000 steps that were made; else some 50 times."""
    data = pack(reduce(lambda state, number: grow(state, f"a{number}", "o"), range(20_000), start("t")))
    looks: list[str] = []

    def looked(phase: str, _: dict[str, int]) -> None:
        looks.append(phase)

    with collector(on=True):
        gc.collect()
        gc.callbacks.append(looked)
        try:
            state = unpack(data)
        finally:
            gc.callbacks.remove(looked)
    assert isinstance(state, State)
    assert looks.count("start") <= 2


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("every", [None, 3])
def test_a_session_leaves_it_as_the_host_has_it(*, on: bool, every: int | None) -> None:
    """Opened from its records or from a snapshot, read back or refused: the collector is as it was."""
    with MemoryStore() as store, collector(on=on):
        with Session.open(store, "s", task="t", snapshot_every=every) as session:
            for number in range(10):
                session.grow(f"a{number}", "o")
        with Session.open(store, "s", snapshot_every=every) as session:
            assert len(session.history()) == session.version == 11
            with pytest.raises(LookupError):
                session.at(12)
        assert gc.isenabled() is on
