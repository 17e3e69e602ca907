"""Hosts that fail: what a memory calls raises, is cancelled, or returns what it must not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mage.effects import EffectError, NotRestored, Restore, Restored
from mage.memory import AsyncMemory, Memory
from mage.stores import MemoryStore
from tests.memory.replies import TASK, buy, done, notices, reply, revise

NOT_BROUGHT_BACK = "The world could not be brought back to this point. Why, and what was done there and stands:"


def raising(error: BaseException) -> Callable[[Restore], Restored | NotRestored]:
    """Return a function that brings nothing back."""

    def restore(request: Restore) -> Restored | NotRestored:
        raise error

    return restore


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), EffectError("server", "no")])
def test_a_restore_that_raises_is_told_to_the_model(error: BaseException) -> None:
    """The revise is durable: it is not made again, so what stands in the world must be said, and what was asked for is kept."""
    with Memory.open(MemoryStore(), "m", task=TASK, restore=raising(error)) as kept:
        kept.take(reply(buy("a"), ids=["x"]), perform=done)
        kept.instruct("In oak.")
        left = reply(revise(0, "no"), ids=["y"])
        if isinstance(error, EffectError):
            kept.take(left)
        else:
            with pytest.raises(type(error)):
                kept.take(left)
        kept.take(left)
        shown = kept.messages()
        assert NOT_BROUGHT_BACK in notices(shown)
        assert "Instruction: In oak." in str(shown[-1]["content"])


def test_a_restore_that_is_cancelled_is_told_to_the_model() -> None:
    """The same where the task is cancelled while the world is brought back."""

    async def played() -> list[str]:
        begun = asyncio.Event()

        async def restore(request: Restore) -> Restored | NotRestored:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with await AsyncMemory.open(MemoryStore(), "m", task=TASK, restore=restore) as kept:
            await kept.take(reply(buy("a"), ids=["x"]), perform=done)
            taking = asyncio.ensure_future(kept.take(reply(revise(0, "no"), ids=["y"])))
            await begun.wait()
            taking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await taking
            return notices(await kept.messages())

    assert NOT_BROUGHT_BACK in asyncio.run(played())
