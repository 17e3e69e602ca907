"""The awaitable twin of a store says whatever the store says."""

from __future__ import annotations

import asyncio

import pytest

from mage.engine import Start
from mage.stores import MemoryStore, in_thread
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
