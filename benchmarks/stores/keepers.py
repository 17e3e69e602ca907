"""Who keeps steps: a session, the same awaited, and a bare INSERT and COMMIT as the floor of both databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, final

import psycopg

from benchmarks.work import TASK, Contents
from mage import AsyncSession, ExecutionState, Session

_NAME: Final = "session"


class Keeper(Protocol):
    """Keeps steps in a database, each durable before `step` returns.

    Every method is awaited, so that who is asynchronous by nature pays for no event loop of its own per step.
    """

    async def step(self, action: str, observation: str) -> None:
        """Keep one step."""
        ...

    async def end(self) -> None:
        """Let go of the database."""
        ...

    async def read(self) -> Contents:
        """Open it anew, as another process would, return what is shown, and let go. After the end only."""
        ...


Maker = Callable[[Path, int], Keeper]
"""Makes a keeper of so many steps in an empty directory of its own."""


def bytes_in(directory: Path) -> int:
    """Return the bytes of all files in a directory."""
    return sum(path.stat().st_size for path in directory.iterdir())


def _shown(state: ExecutionState) -> Contents:
    return [step.content for step in state.raw]


@final
class Mage:
    """A session of ours."""

    def __init__(self, directory: Path, steps: int, url: str = "") -> None:
        self._url = url or f"sqlite:///{directory / 'work.db'}"
        self._session = Session.open(self._url, _NAME, task=TASK)

    async def step(self, action: str, observation: str) -> None:
        self._session.grow(action, observation)

    async def end(self) -> None:
        self._session.close()

    async def read(self) -> Contents:
        with Session.open(self._url, _NAME) as session:
            return _shown(session.state())


@final
class Awaited:
    """The same, awaited: each write is made in a thread, as the peer's is."""

    def __init__(self, directory: Path, steps: int) -> None:
        self._url = f"sqlite:///{directory / 'work.db'}"
        self._session: AsyncSession | None = None

    async def step(self, action: str, observation: str) -> None:
        if self._session is None:
            self._session = await AsyncSession.open(self._url, _NAME, task=TASK)
        await self._session.grow(action, observation)

    async def end(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def read(self) -> Contents:
        session = await AsyncSession.open(self._url, _NAME)
        try:
            return _shown(session.state())
        finally:
            await session.close()


@final
class Bare:
    """A row for each step, and nothing else: no chain, no check of the head, no fork. As durable as ours."""

    def __init__(self, directory: Path, steps: int) -> None:
        self._path = directory / "work.db"
        self._connection = self._connected()
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("CREATE TABLE steps (id INTEGER PRIMARY KEY, action TEXT, observation TEXT)")

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    async def step(self, action: str, observation: str) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO steps (action, observation) VALUES (?, ?)", (action, observation))
        execute("COMMIT")

    async def end(self) -> None:
        self._connection.close()

    async def read(self) -> Contents:
        connection = self._connected()
        try:
            return connection.execute("SELECT action, observation FROM steps ORDER BY id").fetchall()
        finally:
            connection.close()


@final
class BarePostgres:
    """The same in PostgreSQL: INSERT, and the COMMIT of its own."""

    def __init__(self, directory: Path, steps: int, url: str = "") -> None:
        self._url = url
        self._connection = psycopg.connect(url)
        self._connection.execute(
            "CREATE TABLE steps (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, action TEXT, observation TEXT)"
        )
        self._connection.commit()

    async def step(self, action: str, observation: str) -> None:
        insert = "INSERT INTO steps (action, observation) VALUES (%s, %s)"
        self._connection.execute(insert, (action, observation))
        self._connection.commit()

    async def end(self) -> None:
        self._connection.close()

    async def read(self) -> Contents:
        with psycopg.connect(self._url) as connection:
            rows = connection.execute("SELECT action, observation FROM steps ORDER BY id").fetchall()
        return [(row[0], row[1]) for row in rows]
