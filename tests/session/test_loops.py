"""One `AsyncSession` and several event loops, and the threads that a loop lends to others."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mage.session import AsyncSession, WrongLoop
from mage.stores import MemoryStore


def test_tools_in_the_loops_threads_record_while_all_are_busy(tmp_path: Path) -> None:
    """Six plain tools in the loop's threads that record through the loop come to an end, opened by a URL too."""

    async def use() -> list[str]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(6))
        began = threading.Barrier(7)
        ended = threading.Event()

        def holds() -> None:
            began.wait(60)
            ended.wait(60)

        held = [loop.run_in_executor(None, holds) for _ in range(6)]
        await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(1), began.wait)
        async with await AsyncSession.open(f"sqlite:///{tmp_path / 'w.db'}", "a", task="t") as session:
            await session.grow("before", "seen")
            ended.set()
            await asyncio.gather(*held)

            def tool(number: int) -> None:
                asyncio.run_coroutine_threadsafe(session.grow(f"tool {number}", "seen"), loop).result(60)

            await asyncio.gather(*(asyncio.to_thread(tool, number) for number in range(6)))
            return [step.action for step in session.state().raw]

    assert sorted(asyncio.run(asyncio.wait_for(use(), 120)))[1:] == [f"tool {number}" for number in range(6)]


def test_a_session_follows_to_the_next_loop() -> None:
    """Opened in one loop and used in the next, once the first is closed, a session works as before."""
    store = MemoryStore()
    session = asyncio.run(AsyncSession.open(store, "a", task="t"))
    for number in range(3):

        async def grow_at_once(number: int = number) -> None:
            await asyncio.gather(*(session.grow(f"{number} {which}", "seen") for which in range(4)))

        asyncio.run(grow_at_once())
    assert len(session.state().raw) == 12
    asyncio.run(session.close())


def test_a_session_is_refused_in_a_second_loop() -> None:
    """While its own loop is open every operation in another one is refused, typed, and changes nothing."""
    store = MemoryStore()
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        session = first.run_until_complete(AsyncSession.open(store, "a", task="t"))
        for use in (session.grow("x", "y"), session.compress("x"), session.revise(0), session.refresh()):
            with pytest.raises(WrongLoop, match="belongs to another event loop"):
                second.run_until_complete(use)
        with pytest.raises(WrongLoop):
            second.run_until_complete(session.close())
        assert first.run_until_complete(session.grow("x", "y")) is session.phase
        assert session.version == 2
        first.run_until_complete(session.close())
    finally:
        first.close()
        second.close()
