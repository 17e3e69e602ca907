"""The awaitable twin of any store: each operation runs in a thread, and is over before its await is.

The threads are the store's own. Those of the event loop's are for whatever the program runs in them: tools
that wait for the store there would keep it from ever being asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from types import TracebackType
from typing import Final, Self, TypeVar, final
from weakref import WeakKeyDictionary

from mage.stores.processes import Home
from mage.stores.protocol import JournalInfo, JournalStore, Snapshot
from mage.stores.records import Head, Record

Answer = TypeVar("Answer")

_AT_ONCE: Final = 256
"""Records that are read for each change of thread."""
_MOST: Final = 8
"""Threads of one store; as many as are asked at once are started."""
_THREADS: Final[WeakKeyDictionary[JournalStore, Executor]] = WeakKeyDictionary()
"""Those of each store that is used by several awaitable twins. They end when it is freed."""


async def to_its_end(work: Coroutine[object, object, Answer]) -> Answer:
    """Await `work` to its end: a cancellation arrives after it, so that nothing is in doubt when it does."""
    running = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return running.result()
    if not running.cancelled():
        running.exception()  # seen: asyncio would otherwise complain of an error that nobody asked for
    raise cancelled


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THREADS.clear)  # a child has the threads of its parent in name only


def _threads() -> Executor:
    return ThreadPoolExecutor(_MOST, thread_name_prefix="mage-store")


async def _over(threads: Executor, work: Callable[[], Answer]) -> Answer:
    """Carry out `work` in one of the threads, to its end, with the context variables of the task that awaits it."""
    context = copy_context()

    async def in_one() -> Answer:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, lambda: context.run(_raising_no_stop, work))

    return await to_its_end(in_one())


def _raising_no_stop(work: Callable[[], Answer]) -> Answer:
    """Carry out `work`. No future takes a `StopIteration`: one from a clock that ran out would never arrive."""
    try:
        return work()
    except StopIteration as error:
        raise RuntimeError("what a store ran raised StopIteration") from error


@final
class InThread:
    """An `AsyncJournalStore` of any `JournalStore`."""

    def __init__(self, store: JournalStore, threads: Executor) -> None:
        """Use `in_thread`."""
        self._store = store
        self._threads = threads
        self._home = Home("this store")

    async def _over(self, work: Callable[[], Answer]) -> Answer:
        self._home.require()  # in a fork of the process the threads are none: nothing would ever be carried out
        return await _over(self._threads, work)

    async def create(self, name: str, records: Iterable[Record]) -> Head:
        """See `JournalStore.create`."""
        return await self._over(lambda: self._store.create(name, records))

    async def fork(self, source: str, name: str, at: int) -> Head:
        """See `JournalStore.fork`."""
        return await self._over(lambda: self._store.fork(source, name, at))

    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        """See `JournalStore.append`."""
        return await self._over(lambda: self._store.append(name, expected, records))

    async def head(self, name: str) -> Head:
        """See `JournalStore.head`."""
        return await self._over(lambda: self._store.head(name))

    async def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]:
        """See `JournalStore.read`."""
        records = self._store.read(name, after, upto)
        while chunk := await self._over(lambda: list(islice(records, _AT_ONCE))):
            for record in chunk:
                yield record

    async def journals(self) -> tuple[JournalInfo, ...]:
        """See `JournalStore.journals`."""
        return await self._over(self._store.journals)

    async def delete(self, name: str, *, expected: Head | None = None) -> None:
        """See `JournalStore.delete`."""
        await self._over(lambda: self._store.delete(name, expected=expected))

    async def rename(self, name: str, new: str) -> None:
        """See `JournalStore.rename`."""
        await self._over(lambda: self._store.rename(name, new))

    async def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        """See `JournalStore.replace_parts`."""
        await self._over(lambda: self._store.replace_parts(name, records))

    async def redactions(self, name: str) -> int:
        """See `JournalStore.redactions`."""
        return await self._over(lambda: self._store.redactions(name))

    async def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        """See `JournalStore.keep_snapshot`."""
        await self._over(
            lambda: self._store.keep_snapshot(name, version, data, digest, redactions=redactions)
        )

    async def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        """See `JournalStore.snapshot`."""
        return await self._over(lambda: self._store.snapshot(name, upto))

    async def drop_snapshots(self, name: str) -> None:
        """See `JournalStore.drop_snapshots`."""
        await self._over(lambda: self._store.drop_snapshots(name))

    async def reclaim(self) -> None:
        """See `JournalStore.reclaim`."""
        await self._over(self._store.reclaim)

    async def close(self) -> None:
        """See `JournalStore.close`."""
        if self._home.is_here:
            await self._over(self._store.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.close()


def in_thread(store: JournalStore) -> InThread:
    """Return the awaitable twin of `store`, to be used instead of it. Closing it closes the store.

    Each operation costs one change of thread more. Where an await is cancelled, the cancellation arrives once
    the operation is over: it was carried out as a whole or not at all, and `head` says which. It may be used
    in several event loops.
    """
    try:
        threads = _THREADS.setdefault(store, _threads())
    except TypeError:  # a store that cannot be referred to weakly
        threads = _threads()
    return InThread(store, threads)


async def opened_in_thread(opening: Callable[[], JournalStore]) -> InThread:
    """Open a store in one of its threads, and return its awaitable twin."""
    threads = _threads()
    return InThread(await _over(threads, opening), threads)
