"""The sessions that a server has open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, final
from weakref import WeakValueDictionary

from mage.session import AsyncSession
from mage.stores import InThread, JournalStore, in_thread

_MOST: Final = 64
"""Sessions that are held open; another one is opened when it is called again."""


@final
class OpenSessions:
    """The sessions of a store, each opened once and for one call at a time; other processes may write to them, too."""

    def __init__(self, store: JournalStore) -> None:
        self._store = in_thread(store)
        self._open: dict[str, AsyncSession] = {}
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    @property
    def store(self) -> InThread:
        """The store."""
        return self._store

    def get(self, name: str) -> AsyncSession | None:
        """Return a session that is open, as it was last seen."""
        return self._open.get(name)

    @asynccontextmanager
    async def alone(self, name: str, task: str | None = None) -> AsyncIterator[AsyncSession]:
        """Give a session as others have left it; no other call here changes it meanwhile."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            session = self._open.pop(name, None)
            if session is None or task is not None:  # to open it is to ask whether it is for that task
                session = await AsyncSession.open(self._store, name, task=task)
            await session.refresh()
            self._open[name] = session
            if len(self._open) > _MOST:
                del self._open[next(iter(self._open))]
            yield session
