"""A cancellation at every single await: the session says what is durable, and goes on to the same end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from mage import AsyncSession, FoldRequest, JudgeRequest, Session, Verdict
from mage.stores import AsyncJournalStore, MemoryStore, in_thread
from mage.testing import ScriptedJudge
from tests.session.broken import END, Hopping, Hops, constant, final_of, story, verdict_on
from tests.session.twins import plain


async def finished(work: Any, hops: Hops) -> bool:
    """Await what may be cancelled at a hop; tell whether it was not."""
    task = asyncio.ensure_future(work)
    hops.cancel = task.cancel
    try:
        await task
    except asyncio.CancelledError:
        return False
    return True


async def told_through(hops: Hops) -> AsyncSession:
    """Tell the story, cancelled at one hop; check what that leaves."""
    inner = MemoryStore()
    store = cast("AsyncJournalStore", Hopping(inner, hops))

    async def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
        await hops.hop()
        return verdict_on(request)

    opened: list[AsyncSession] = []

    async def opening() -> None:
        opened.append(
            await AsyncSession.open(
                store, "s", task="t", judge=judge, clock=constant, salts=plain, snapshot_every=3
            )
        )

    while not opened:
        await finished(opening(), hops)
    session = opened[0]
    while session.version < END:
        before, phase = session.version, session.phase
        done = await finished(story[before](cast("Session", session)), hops)
        assert done or (session.phase is phase) is (session.version == before)
        assert session.head == inner.head("s"), "what is durable is what the slot says"
    return session


def test_a_cancellation_at_every_await() -> None:
    """Wherever the task waits, for the store or for the judge, being cancelled there loses and doubles nothing."""
    head, phase = final_of(lambda *given, **named: Session.open(*given, clock=constant, salts=plain, **named))
    hops = Hops(-1)
    asyncio.run(told_through(hops))
    assert hops.seen > 60
    for at in range(hops.seen):
        session = asyncio.run(told_through(Hops(at)))
        assert (session.head, session.phase) == (head, phase), f"cancelled at hop {at}"


def test_a_cancelled_judge_leaves_the_summary_pending() -> None:
    """A judge that takes too long is cancelled; the compress stands, and others were never kept waiting."""

    async def story() -> None:
        asked = asyncio.Event()

        async def forever(request: JudgeRequest | FoldRequest, /) -> Verdict:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError(request)

        async with await AsyncSession.open(MemoryStore(), "s", task="t", judge=forever) as session:
            await session.grow("a", "o")
            compressing = asyncio.create_task(session.compress("s"))
            await asked.wait()
            await session.grow("b", "o")
            compressing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await compressing
            assert session.version == 4
            await session.accept()

    asyncio.run(story())


def test_a_time_limit_on_the_judge() -> None:
    """`asyncio.timeout` around a compress ends the judge, and only the judge."""

    async def story() -> None:
        async def forever(request: JudgeRequest | FoldRequest, /) -> Verdict:
            await asyncio.Event().wait()
            raise AssertionError(request)

        async with await AsyncSession.open(MemoryStore(), "s", task="t", judge=forever) as session:
            await session.grow("a", "o")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await session.compress("s")
            assert session.version == 3
            request = session.judge_request()
            assert request.text == "s"

    asyncio.run(story())


def test_tasks_share_a_session() -> None:
    """Many tasks grow one session at once: each step is there once, and nobody meets a conflict."""

    async def story() -> None:
        hops = Hops(-1)
        store = cast("AsyncJournalStore", Hopping(MemoryStore(), hops))
        async with await AsyncSession.open(store, "s", task="t") as session:
            await asyncio.gather(*[session.grow(f"a{number}", "o") for number in range(20)])
            assert sorted(step.action for step in session.tree.steps()) == sorted(
                f"a{number}" for number in range(20)
            )

    asyncio.run(story())


def test_every_kind_of_store_is_taken() -> None:
    """An awaitable store is used as it is, a plain one in threads, a URL is opened; the judge is awaited."""

    async def story() -> None:
        plain_store = MemoryStore()
        for store in (plain_store, in_thread(plain_store), "memory:"):
            judge = ScriptedJudge()
            async with await AsyncSession.open(
                store, "s", task="t", judge=judge.awaited, wait=False
            ) as session:
                await session.grow("a", "o")
                assert session.version == (3 if store is not plain_store and store != "memory:" else 2)

    asyncio.run(story())


def test_an_opening_that_is_cancelled_closes_its_store(tmp_path: Path) -> None:
    """However far it came, a cancelled opening leaves no store open: a SQLite file has no log beside it."""

    async def story(turns: int) -> None:
        opening = asyncio.ensure_future(
            AsyncSession.open(f"sqlite:///{tmp_path / f'{turns}.db'}", "s", task="t")
        )
        for _ in range(turns):
            await asyncio.wait([opening], timeout=0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    for turns in range(4):
        asyncio.run(story(turns))
    assert list(tmp_path.glob("*.db"))
    assert list(tmp_path.glob("*-wal")) == []
