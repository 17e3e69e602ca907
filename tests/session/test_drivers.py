"""The two drivers answer alike; a program is closed whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mage import MageError
from mage.effects.questions import Ask, drive, drive_awaited
from mage.engine import IllegalPhase
from mage.session.drivers import AskJudge, HeadOf, Tell, answer, answer_awaited
from mage.session.events import Refreshed
from mage.stores import Head, MemoryStore, UnknownJournal, in_thread
from mage.stores.opening import to_its_end


async def looking(said: list[str]) -> str:
    """Look for a journal, and say what came of it."""
    try:
        head = await HeadOf("s")
    except MageError as error:
        said.append(type(error).__name__)
        return "not there"
    finally:
        said.append("closed")
    return f"at {head.version}"


async def awaited(found: object) -> object:
    """Return or raise what it is given."""
    if isinstance(found, BaseException):
        raise found
    return found


@pytest.mark.parametrize(
    ("found", "result", "said"),
    [
        (Head(3, "d"), "at 3", ["closed"]),
        (UnknownJournal("s"), "not there", ["UnknownJournal", "closed"]),
        (KeyError("s"), KeyError, ["closed"]),
        (KeyboardInterrupt(), KeyboardInterrupt, ["closed"]),
        (StopIteration("not my end"), RuntimeError, ["closed"]),
    ],
    ids=["answered", "refused", "failed", "interrupted", "stopped"],
)
def test_both_drive_alike(found: object, result: object, said: list[str]) -> None:
    """An answer is sent, a MageError thrown, anything else passed on after the program was closed."""

    def answering(asked: Ask[Any]) -> object:
        assert asked == HeadOf("s")
        if isinstance(found, BaseException):
            raise found
        return found

    def calling(heard: list[str]) -> str:
        return drive(looking(heard), answering)

    def awaiting(heard: list[str]) -> str:
        return asyncio.run(drive_awaited(looking(heard), lambda asked: awaited(found)))

    for driving in (calling, awaiting):
        heard: list[str] = []
        if isinstance(result, str):
            assert driving(heard) == result
        else:
            with pytest.raises(BaseException) as raised:  # noqa: PT011
                driving(heard)
            assert raised.type is result
        assert heard == said


@pytest.mark.parametrize("asked", [Tell(Refreshed("s", 2, 1)), AskJudge(None)])  # type: ignore[arg-type]
def test_a_store_is_not_asked_what_it_cannot_know(asked: Ask[Any]) -> None:
    """What is no question for a store is a mistake of the program, and said so."""
    store = MemoryStore()
    with pytest.raises(TypeError, match="no store answers"):
        answer(store, asked)
    with pytest.raises(TypeError, match="no store answers"):
        asyncio.run(answer_awaited(in_thread(store), asked))


def test_work_goes_on_to_its_end() -> None:
    """However often its await is cancelled, work is done before the cancellation arrives, once."""
    done: list[str] = []

    async def story(error: Exception | None) -> None:
        free = asyncio.Event()

        async def work() -> str:
            await free.wait()
            done.append("done")
            if error is not None:
                raise error
            return "result"

        waiting = asyncio.ensure_future(to_its_end(work()))
        for _ in range(3):
            await asyncio.wait([waiting], timeout=0)
            waiting.cancel()
            assert not waiting.done()
        await asyncio.wait([waiting], timeout=0)
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    for error in (None, IllegalPhase("grow", "nothing", ())):
        asyncio.run(story(error))
    assert done == ["done", "done"]


def test_work_that_is_cancelled_itself() -> None:
    """At the end of an event loop all tasks are cancelled, the work too: that is the end of it."""

    async def story() -> Iterator[bool]:
        async def work() -> None:
            await asyncio.Event().wait()

        before = asyncio.all_tasks()
        waiting = asyncio.ensure_future(to_its_end(work()))
        await asyncio.wait([waiting], timeout=0)
        for task in asyncio.all_tasks() - before:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return iter([waiting.cancelled()])

    assert next(asyncio.run(story()))
