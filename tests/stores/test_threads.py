"""The awaitable twin of a store says whatever the store says."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from mage.engine import Start
from mage.stores import Conflict, Head, InThread, MemoryStore, in_thread
from mage.testing.stores import following, recorded


def test_a_clock_that_runs_out_is_told() -> None:
    """No future takes a StopIteration: it arrives as the cause of an error, and the store goes on."""

    async def use() -> None:
        store = in_thread(MemoryStore(clock=iter([0, 1]).__next__))
        head = await store.create("a", recorded([Start("t")]))
        with pytest.raises(RuntimeError, match="StopIteration") as raised:
            await asyncio.wait_for(store.append("a", head, following(head, "x")), 20)
        assert isinstance(raised.value.__cause__, StopIteration)
        assert await store.head("a") == head
        await store.close()

    asyncio.run(use())


def test_a_store_does_not_wait_for_the_loops_threads() -> None:
    """Where every thread of the event loop is held, by as many as wait for the store, the store is still asked."""

    async def use() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(2))
        store = in_thread(MemoryStore())
        head = await store.create("a", recorded([Start("t")]))

        def tool(number: int) -> int:
            return asyncio.run_coroutine_threadsafe(_appended(store, str(number)), loop).result().version

        running = [asyncio.to_thread(tool, number) for number in range(6)]
        versions = await asyncio.wait_for(asyncio.gather(*running), 60)
        assert sorted(versions) == list(range(head.version + 1, head.version + 7))
        await store.close()

    asyncio.run(use())


async def _appended(store: InThread, text: str) -> Head:
    while True:
        head = await store.head("a")
        try:
            appended: Head = await store.append("a", head, following(head, text))
        except Conflict:
            continue
        return appended


def test_twins_of_one_store_share_its_threads() -> None:
    """A thousand awaitable twins of one store have no thread each, and none is left once the store is freed."""
    before = {thread for thread in threading.enumerate() if thread.name.startswith("mage-store")}

    async def use() -> None:
        store = MemoryStore()
        await in_thread(store).create("a", recorded([Start("t")]))
        await asyncio.gather(*(in_thread(store).head("a") for _ in range(1000)))

    asyncio.run(use())
    gc.collect()
    left = {thread for thread in threading.enumerate() if thread.name.startswith("mage-store")} - before
    assert len(left) <= 8
    for thread in left:
        thread.join(20)
    assert not any(thread.is_alive() for thread in left)


def test_context_variables_reach_the_store() -> None:
    """A clock that reads a context variable reads that of the task which awaits."""
    who: ContextVar[int] = ContextVar("who", default=1)

    async def use() -> None:
        store = in_thread(MemoryStore(clock=who.get))
        who.set(7)
        await store.create("a", recorded([Start("t")]))
        assert (await store.journals())[0].created == 7
        await store.close()

    asyncio.run(use())
