"""A database whose moments a test hears of: a begin, a statement, a commit, a rollback; each before it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast, final

from mage.stores import now
from mage.stores.opening import database_at
from mage.stores.sql import SqlStore
from mage.stores.transactions import Connection, Database, Rows

MOMENTS: Final = ("begin", "statement", "done", "commit", "rollback")
"""`done` is behind a statement."""

Act: TypeAlias = Callable[[Any, str], object]
"""Is given the connection and the statement, "" where there is none."""


@final
class Moments:
    """A `Database` that calls whoever hears it. All but its connections is the database's own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hearing: list[tuple[str, Act]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def connect(self) -> Connection:
        """Return a connection whose moments are heard."""
        return _Heard(self._database.connect(), self.tell)

    def hear(self, act: Act, *moments: str) -> None:
        """Call `act` at each such moment, until all are quiet."""
        self._hearing += [(moment, act) for moment in moments]

    def once(self, act: Act, moment: str) -> None:
        """Call `act` the next time that there is such a moment."""

        def acting(connection: Connection, statement: str) -> None:
            self._hearing.remove((moment, acting))
            act(connection, statement)

        self._hearing.append((moment, acting))

    def quiet(self) -> None:
        """Call nobody any more."""
        self._hearing.clear()

    def tell(self, moment: str, connection: Connection, statement: str = "") -> None:
        """Call all that hear such a moment."""
        for heard, act in list(self._hearing):
            if heard == moment:
                act(connection, statement)


@final
class _Heard:
    """A connection that tells its moments."""

    def __init__(self, connection: Connection, tell: Callable[..., None]) -> None:
        self._connection = connection
        self._tell = tell

    @property
    def is_lost(self) -> bool:
        return self._connection.is_lost

    def begin(self, *, writes: bool) -> None:
        self._tell("begin", self._connection)
        self._connection.begin(writes=writes)

    def execute(self, statement: str, parameters: Sequence[object] = (), /) -> Rows:
        self._tell("statement", self._connection, statement)
        rows = self._connection.execute(statement, parameters)
        self._tell("done", self._connection, statement)
        return rows

    def executemany(self, statement: str, parameters: Sequence[Sequence[object]], /) -> object:
        self._tell("statement", self._connection, statement)
        rows = self._connection.executemany(statement, parameters)
        self._tell("done", self._connection, statement)
        return rows

    def select_held(self, statement: str, parameters: Sequence[object], *, shared: bool = False) -> Rows:
        self._tell("statement", self._connection, statement)
        rows = self._connection.select_held(statement, parameters, shared=shared)
        self._tell("done", self._connection, statement)
        return rows

    def commit(self) -> None:
        self._tell("commit", self._connection)
        self._connection.commit()

    def rollback(self) -> None:
        self._tell("rollback", self._connection)
        self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


def heard(database: Database | str, *, patience: float = 10.0) -> tuple[SqlStore, Moments]:
    """Open a store whose moments can be heard, of a database or at a URL."""
    moments = Moments(database_at(database, patience=patience) if isinstance(database, str) else database)
    return opened(moments), moments


def opened(moments: Moments) -> SqlStore:
    """Open a store in a database that is heard."""
    return SqlStore(cast("Database", moments), clock=now)
