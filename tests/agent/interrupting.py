"""Runs that are interrupted at a chosen place, before or after whatever is done there, and then run again.

A *place* is the n-th moment at which somebody outside is at work: before an effect is performed, after it was
performed and before anybody has noted its answer, before and after each write to the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from types import coroutine
from typing import Any, ParamSpec, TypeVar, cast, final

from mage.agent import Outcome
from mage.agent.restore import Restorable
from mage.effects import AsyncJudge, AsyncModel, AsyncSummarizer, Environment, Observed
from mage.stores import AsyncJournalStore, Head, JournalStore, MemoryStore, Record, Snapshot
from tests.agent.toys import TASK, Parts
from tests.agent.twins import NAME, awaited_agent, called_agent, constant, plain

Answer = TypeVar("Answer")
Asked = ParamSpec("Asked")


class Interrupted(BaseException):
    """What kills a process."""


@final
class Places:
    """Counts the places that a run comes to, and interrupts it at one of them. None: at none."""

    def __init__(self, at: int | None = None) -> None:
        self.seen = 0
        self.interrupt: Callable[[], object] = _die
        self._at = at

    @property
    def reached(self) -> bool:
        """Whether the run came to the place at which it was to be interrupted."""
        return self._at is not None and self.seen > self._at

    def come(self) -> None:
        """Come to the next place."""
        number, self.seen = self.seen, self.seen + 1
        if number == self._at:
            self.interrupt()

    def around(self, call: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
        """Return a function that comes to a place before it does what it does, and after."""

        def called(*args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
            self.come()
            answer = call(*args, **kwargs)
            self.come()
            return answer

        return called

    def around_awaited(self, call: Callable[Asked, Answer]) -> Callable[Asked, Awaitable[Answer]]:
        """Return the same as an `async` function, which waits at each place."""

        async def awaited(*args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
            await self.wait()
            answer = call(*args, **kwargs)
            await self.wait()
            return answer

        return awaited

    async def wait(self) -> None:
        """Come to the next place, and wait there for one turn of the event loop."""
        self.come()
        await one_turn()


def _die() -> None:
    raise Interrupted


@coroutine
def one_turn() -> Generator[None, None, None]:
    """Wait for one turn of the event loop."""
    yield


@final
class InterruptedEnvironment:
    """An environment with a place before and after whatever it does."""

    def __init__(self, environment: Environment, places: Places) -> None:
        self.capabilities = environment.capabilities.around(
            lambda name, operation: operation if name == "foresees" else places.around(operation)
        )
        self.reset: Callable[[], Observed | str] = places.around(environment.reset)
        self.act: Callable[[str], Observed | str] = places.around(environment.act)


@final
class InterruptedAsyncEnvironment:
    """The same, awaited."""

    def __init__(self, environment: Environment, places: Places) -> None:
        self.capabilities = environment.capabilities.around(
            lambda name, operation: operation if name == "foresees" else places.around_awaited(operation)
        )
        self.reset: Callable[[], Awaitable[Observed | str]] = places.around_awaited(environment.reset)
        self.act: Callable[[str], Awaitable[Observed | str]] = places.around_awaited(environment.act)


@final
class _Writing:
    """A store with a place before and after each write."""

    def __init__(self, inner: JournalStore, places: Places) -> None:
        self._inner = inner
        self._places = places

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create(self, name: str, records: Iterable[Record]) -> Head:
        self._places.come()
        head = self._inner.create(name, records)
        self._places.come()
        return head

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        self._places.come()
        head = self._inner.append(name, expected, records)
        self._places.come()
        return head


@final
class _AwaitedWriting:
    """The same, awaited: without threads, so that a run is the same each time."""

    def __init__(self, inner: JournalStore, places: Places) -> None:
        self._inner = inner
        self._places = places

    async def create(self, name: str, records: Iterable[Record]) -> Head:
        await self._places.wait()
        head = self._inner.create(name, records)
        await self._places.wait()
        return head

    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        await self._places.wait()
        head = self._inner.append(name, expected, records)
        await self._places.wait()
        return head

    async def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]:
        for record in self._inner.read(name, after, upto):
            yield record

    async def head(self, name: str) -> Head:
        return self._inner.head(name)

    async def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        return self._inner.snapshot(name, upto)

    async def drop_snapshots(self, name: str) -> None:
        self._inner.drop_snapshots(name)

    async def redactions(self, name: str) -> int:
        return self._inner.redactions(name)

    async def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        self._inner.keep_snapshot(name, version, data, digest, redactions=redactions)


def interrupt_called(parts: Parts, store: MemoryStore, places: Places) -> Outcome:
    """Run the agent that calls; an exception that nobody expects comes out of the chosen place.

    Raises:
        Interrupted: that one.
    """
    agent = called_agent(
        Parts(
            places.around(parts.model),
            InterruptedEnvironment(Restorable(parts.environment), places),
            None if parts.judge is None else places.around(parts.judge),
            None if parts.summarizer is None else places.around(parts.summarizer),
            parts.policy,
        )
    )
    writing = cast("JournalStore", _Writing(store, places))
    return agent.run(writing, NAME, task=TASK, clock=constant, salts=plain)


def interrupt_awaited(parts: Parts, store: MemoryStore, places: Places) -> Outcome:
    """Run the agent that awaits; its task is cancelled at the chosen place.

    Raises:
        Interrupted: it was.
    """
    try:
        return asyncio.run(_cancelled(parts, store, places))
    except asyncio.CancelledError:
        raise Interrupted from None


async def _cancelled(parts: Parts, store: MemoryStore, places: Places) -> Outcome:
    task = asyncio.current_task()
    assert task is not None
    places.interrupt = task.cancel
    plain_agent = awaited_agent(parts)
    agent = type(plain_agent)(
        model=cast("AsyncModel", places.around_awaited(parts.model)),
        environment=InterruptedAsyncEnvironment(Restorable(parts.environment), places),
        judge=None if parts.judge is None else cast("AsyncJudge", places.around_awaited(parts.judge)),
        summarizer=None
        if parts.summarizer is None
        else cast("AsyncSummarizer", places.around_awaited(parts.summarizer)),
        policy=parts.policy,
        counter=plain_agent.counter,
    )
    writing = cast("AsyncJournalStore", _AwaitedWriting(store, places))
    return await agent.run(writing, NAME, task=TASK, clock=constant, salts=plain)
