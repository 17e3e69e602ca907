"""Stores by URL: `memory:`, `sqlite:///work.db`, `postgresql://host/database`; and the awaitable twin of any store.

The twin runs each operation in a thread, and the operation ends before its await does. The threads belong to the store: a
program runs its tools in those of the event loop, and tools that wait for the store could occupy them all.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextvars import copy_context
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, final
from weakref import WeakKeyDictionary

from mage.stores.errors import BadAddress, MissingExtra
from mage.stores.memory import MemoryStore
from mage.stores.protocol import (
    AsyncJournalStore,
    Clock,
    Home,
    JournalInfo,
    JournalStore,
    Snapshot,
    checked_clock,
    checked_patience,
    now,
)
from mage.stores.records import Head, Record

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mage.stores.transactions import Database

Answer = TypeVar("Answer")

KNOWN_URLS: Final = "memory:, sqlite:///work.db, sqlite:////var/lib/work.db, postgresql://user@host/database"
"""One URL of each kind, for messages."""

GROUP: Final = "mage.stores"
"""The group of entry points by which other packages bring kinds of stores. The name is the scheme of the URL; its function
is called with the URL, `clock=` and `patience=`, and returns a `JournalStore`."""
_QUERY: Final = re.compile(r"\?[A-Za-z_]+=")


def open_store(url: str, *, clock: Clock = now, patience: float = 10.0) -> JournalStore:
    """Open the store at `url`; a SQLite file, and the tables of a database, are made where there are none.

    Args:
        url: `memory:` is a new store each time, gone when it is closed. `sqlite:///work.db` is a file in the
            working directory, `sqlite:////var/lib/work.db` a file anywhere; so is a path with a `.` or a `/` and no
            `:`, such as `work.db`. `postgresql://user@host/database` can have all that PostgreSQL takes in a URL. A
            package brings any other kind under the entry point `mage.stores`.
        clock: returns the times of creation and change; called once more to check it.
        patience: seconds to wait for another writer before `StoreUnavailable` is raised; up to 24 days.

    Raises:
        BadAddress: the URL names no store, has parameters for a SQLite file, or a directory that is not there.
        MissingExtra: a package that this kind of store needs is not installed.
        BadSource: `clock` returns no time, or `patience` is no number of seconds; nothing is made then.
        UnknownSchema: the file or database is no store of mage, or one of a newer mage; it was left as it is.
        StoreUnavailable: the store cannot be reached.
        StoreFull: there is no room to make the store.
        WrongProcess: this process was forked while its parent had the file in use.
    """
    scheme, colon, rest = url.partition(":")
    if not colon and ("/" in url or "." in url):
        return open_store(f"sqlite:///{url}", clock=clock, patience=patience)
    if not colon:
        raise BadAddress(
            url, f"a URL begins with its kind, such as {KNOWN_URLS}; a path has a . or a / in it"
        )
    checked_patience(patience)
    if scheme == "memory":
        if rest:
            raise BadAddress(without_password(url), "a store in memory has no name: use memory:")
        return MemoryStore(clock=clock)
    if scheme not in ("sqlite", "postgresql"):
        return _installed(scheme, url, checked_clock(clock), patience)
    if scheme == "sqlite" and _QUERY.search(rest):
        raise BadAddress(url, "a SQLite store takes no parameters: end the URL with the file's name")
    from mage.stores.sql import SqlStore  # noqa: PLC0415  # a database is loaded where one is used
    from mage.stores.transactions import in_transaction  # noqa: PLC0415

    checked = checked_clock(clock)
    with in_transaction():  # no fork while SQLite opens the file
        return SqlStore(database_at(url, patience=patience), clock=checked)


def _installed(scheme: str, url: str, clock: Clock, patience: float) -> JournalStore:
    """Open a store of a kind that another package brings; raise `BadAddress` if there is none, or it cannot be loaded."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # as long to load as this room, and rarely needed

    shown = without_password(url)
    points = {point.name: point for point in entry_points(group=GROUP)}
    if scheme not in points:
        more = f"; and by other packages {', '.join(sorted(points))}" if points else ""
        raise BadAddress(shown, f"unknown kind; known are {KNOWN_URLS}{more}")
    try:
        opening: Callable[..., JournalStore] = points[scheme].load()
    except Exception as error:  # raised by the other package's code
        what = f"{type(error).__name__}: {error}"
        raise BadAddress(
            shown, f"{points[scheme].value}, which is installed for it, cannot be loaded: {what}"
        ) from error
    return opening(url, clock=clock, patience=patience)


def database_at(url: str, *, patience: float) -> Database:
    """Return the database of a URL that begins with `sqlite:` or `postgresql:`, not connected. Raises as `open_store`."""
    patience = checked_patience(patience)
    if url.startswith("sqlite:"):
        from mage.stores.sqlite import sqlite_at  # noqa: PLC0415

        return sqlite_at(url, patience=patience)
    try:
        from mage.stores.postgres import postgres_at  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra("a PostgreSQL store", "postgres") from error
    return postgres_at(url, patience=patience)


def without_password(url: str) -> str:
    """Return a URL to be shown, without what may be a password: rather too much is left out, as a password may have any character."""
    shown = re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", r"\1***", url)
    return re.sub(r"(?s)(://[^/:]*):.*@", r"\1:***@", shown)


# -- the awaitable twin --------------------------------------------------------------------------------


_AT_ONCE: Final = 256
"""The number of records that are read for each change of thread."""
_MOST: Final = 8
"""The most threads of one store; each starts when it is needed."""
_THREADS: Final[WeakKeyDictionary[JournalStore, Executor]] = WeakKeyDictionary()
"""The threads of each store, shared by its awaitable twins. They end when the store is freed."""


async def to_its_end(work: Coroutine[object, object, Answer]) -> Answer:
    """Await `work` to its end: a cancellation is raised after that, so that nothing is in doubt then."""
    import asyncio  # noqa: PLC0415  # a sixth of the time to load this room, and only the twin needs it

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
        running.exception()  # asyncio would log an error that was not retrieved
    raise cancelled


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THREADS.clear)  # a child has the threads of its parent in name only


def _threads() -> Executor:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # as above

    return ThreadPoolExecutor(_MOST, thread_name_prefix="mage-store")


async def _over(threads: Executor, work: Callable[[], Answer]) -> Answer:
    """Carry out `work` in one of the threads, to its end, with the context variables of the awaiting task."""
    context = copy_context()

    async def in_one() -> Answer:
        from asyncio import get_running_loop  # noqa: PLC0415  # as above

        loop = get_running_loop()
        return await loop.run_in_executor(threads, lambda: context.run(_raising_no_stop, work))

    return await to_its_end(in_one())


def _raising_no_stop(work: Callable[[], Answer]) -> Answer:
    """Carry out `work`, and raise its `StopIteration`, as from a clock that ran out, as `RuntimeError`: no future takes the first."""
    try:
        return work()
    except StopIteration as error:
        raise RuntimeError("what a store ran raised StopIteration") from error


@final
class InThread(AsyncJournalStore):
    """The `AsyncJournalStore` of any `JournalStore`: the same methods, awaited."""

    def __init__(self, store: JournalStore, threads: Executor) -> None:
        """Use `in_thread`."""
        self.store = store
        self._threads = threads
        self._home = Home("this store")

    async def over(self, work: Callable[[], Answer]) -> Answer:
        """Carry out work in one of the store's threads."""
        self._home.require()  # a fork of the process has no such threads, and would wait for ever
        return await _over(self._threads, work)

    async def create(self, name: str, records: Iterable[Record]) -> Head:
        return await self.over(lambda: self.store.create(name, records))

    async def fork(self, source: str, name: str, at: int) -> Head:
        return await self.over(lambda: self.store.fork(source, name, at))

    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        return await self.over(lambda: self.store.append(name, expected, records))

    async def head(self, name: str) -> Head:
        return await self.over(lambda: self.store.head(name))

    async def journals(self) -> tuple[JournalInfo, ...]:
        return await self.over(self.store.journals)

    async def delete(self, name: str, *, expected: Head | None = None) -> None:
        return await self.over(lambda: self.store.delete(name, expected=expected))

    async def rename(self, name: str, new: str) -> None:
        return await self.over(lambda: self.store.rename(name, new))

    async def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        return await self.over(lambda: self.store.replace_parts(name, records))

    async def redactions(self, name: str) -> int:
        return await self.over(lambda: self.store.redactions(name))

    async def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        return await self.over(
            lambda: self.store.keep_snapshot(name, version, data, digest, redactions=redactions)
        )

    async def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        return await self.over(lambda: self.store.snapshot(name, upto))

    async def drop_snapshots(self, name: str) -> None:
        return await self.over(lambda: self.store.drop_snapshots(name))

    async def reclaim(self) -> None:
        await self.over(self.store.reclaim)

    async def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]:
        records = self.store.read(name, after, upto)
        while chunk := await self.over(lambda: list(islice(records, _AT_ONCE))):
            for record in chunk:
                yield record

    async def close(self) -> None:
        if self._home.is_here:
            await self.over(self.store.close)


def in_thread(store: JournalStore) -> InThread:
    """Return the awaitable twin of `store`, to be used instead of it. Closing the twin closes the store.

    Each operation costs one more change of thread. When an await is cancelled, the cancellation is raised once the operation
    has ended: it was carried out as a whole or not at all, and `head` tells which. Several event loops may use the twin.
    """
    try:
        threads = _THREADS.setdefault(store, _threads())
    except TypeError:  # a store without weak references
        threads = _threads()
    return InThread(store, threads)


async def opened_in_thread(opening: Callable[[], JournalStore]) -> InThread:
    """Open a store in one of its threads, and return its awaitable twin."""
    threads = _threads()
    return InThread(await _over(threads, opening), threads)
