"""PostgreSQL, through psycopg 3: many machines, one store. Tables stand in the first schema of the search path.

No state of the server's session outlives a transaction, so a pooler such as PgBouncer, which gives each transaction another
session, may stand between: limits are set for a transaction (`SET LOCAL`), the lock for a migration belongs to one, no
statement is prepared on the server, and no parameter is set when a connection starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, final

import attrs
import psycopg
from psycopg.conninfo import conninfo_to_dict

from mage.stores.errors import (
    BadAddress,
    DamagedStore,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UnknownSchema,
)
from mage.stores.opening import without_password
from mage.stores.transactions import Connection, Rows, schema, words_of

MIGRATIONS: Final = schema(
    key="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    data="BYTEA",
    room=" WITH (fillfactor = 50)",  # the head moves with each append: room for it on the same page
)
_LOCK: Final = 0x6D616765
"""The advisory lock for a migration."""
_UNREADABLE: Final = "it cannot be read as postgresql://user@host:port/database"
_FULL: Final = "53100"
"""The SQLSTATE of a full disk."""
_BUSY: Final = ("55P03", "40P01", "40001", "57014")
"""The SQLSTATEs of a lock that was not free in time, a deadlock, a transaction that lost to another, and a cancelled
statement."""
_TABLES: Final = (
    "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    " AND tablename IN ('mage_schema', 'mage_journals', 'mage_records', 'mage_snapshots')"
)
_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND table_name = 'mage_schema'"
)


@final
@attrs.define
class PostgresConnection:
    """A connection to a server or its pooler; see `Connection`. `driver` is psycopg's connection."""

    driver: psycopg.Connection[tuple[Any, ...]]
    _reads: bytes
    _writes: bytes

    @property
    def is_lost(self) -> bool:
        return self.driver.closed

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction; a writer reads the last committed state, also against the server's default."""
        self.driver.execute(self._writes if writes else self._reads)

    def execute(self, statement: str, parameters: Sequence[object] = (), /) -> Rows:
        return self.driver.execute(_spelled(statement), parameters or None)

    def executemany(self, statement: str, parameters: Sequence[Sequence[object]], /) -> None:
        self.driver.cursor().executemany(_spelled(statement), parameters)

    def select_held(self, statement: str, parameters: Sequence[object], *, shared: bool = False) -> Rows:
        return self.execute(statement + (" FOR KEY SHARE" if shared else " FOR UPDATE"), parameters)

    def commit(self) -> None:
        self.driver.commit()

    def rollback(self) -> None:
        self.driver.rollback()

    def close(self) -> None:
        self.driver.close()


@lru_cache(maxsize=256)
def _spelled(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


@final
@attrs.frozen
class Postgres:
    """A PostgreSQL database; see `Database`."""

    shown: str
    parameters: dict[str, Any]
    patience: float
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS
    errors: type[Exception] = psycopg.Error

    def connect(self) -> PostgresConnection:
        try:
            driver = psycopg.connect(
                **self.parameters,
                autocommit=True,  # transactions begin where `begin` says
                prepare_threshold=None,  # a pooler would look for a prepared statement in another session
            )
        except UnicodeEncodeError as error:
            raise BadAddress(self.shown, _UNREADABLE) from error
        except UnicodeDecodeError:  # of a server's message
            raise
        except UnicodeError as error:
            raise BadAddress(self.shown, "its host has a name that no host can have") from error
        limits = (
            f"SET LOCAL lock_timeout = {max(1, int(self.patience * 1000))};"
            " SET LOCAL idle_in_transaction_session_timeout = 60000"
        )
        return PostgresConnection(
            driver,
            f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {limits}".encode(),
            f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {limits}; SET LOCAL synchronous_commit = on".encode(),
        )

    def fault_of(self, error: Exception, *, committing: bool = False, lost: bool = False) -> StoreError:
        words = words_of(error)
        if isinstance(error, psycopg.IntegrityError):
            return DamagedStore(f"its rows contradict each other: {words}")
        state = getattr(error, "sqlstate", None)
        if state == _FULL:
            return StoreFull(words)
        if state in _BUSY:
            return StoreUnavailable(f"another writer holds it ({words})")
        return StoreUnavailable(words, in_doubt=committing and lost)

    def require_place(self) -> None:
        """Do nothing: the server keeps the place."""

    def lock_schema(self, connection: Connection) -> None:
        connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")

    def version(self, connection: Connection) -> int:
        there = {name for (name,) in connection.execute(_TABLES).fetchall()}
        if not there:
            return 0
        if "mage_schema" not in there:
            raise UnknownSchema(self.shown, f"it has a table {min(there)} that is not mage's")
        if connection.execute(_COLUMNS).fetchall() != [("version",)]:
            raise UnknownSchema(self.shown, "it has a table mage_schema that is not mage's")
        return int(connection.execute("SELECT max(version) FROM mage_schema").fetchone()[0] or 0)

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute("CREATE TABLE IF NOT EXISTS mage_schema (version BIGINT PRIMARY KEY)")
        connection.execute("INSERT INTO mage_schema (version) VALUES (?)", (version,))

    def outlast_writers(self, connection: Connection) -> None:
        # every writer has changed a row of this table
        connection.execute("LOCK TABLE mage_journals IN SHARE ROW EXCLUSIVE MODE")

    def settle(self, connection: Connection) -> None:
        """Do nothing: a server needs no more than the tables."""

    def forget_traces(self, connection: Connection) -> None:
        """Do nothing: old rows stay until they are vacuumed; `reclaim` writes the tables anew."""

    def reclaim(self, connection: Connection) -> None:
        """Write each table anew by CLUSTER, which unlike VACUUM FULL runs in a transaction, with the limit to waiting."""
        for name in ("mage_records", "mage_snapshots", "mage_journals"):
            connection.begin(writes=True)
            connection.execute(f"CLUSTER {name} USING {name}_pkey")
            connection.commit()


def postgres_at(url: str, *, patience: float) -> Postgres:
    """Return the database of a URL, not connected yet; raise `BadAddress` if the URL cannot be read.

    A writer that stops in the middle of a transaction makes others wait for a minute at most.
    """
    shown = without_password(url)
    if not url.startswith("postgresql://") or "\0" in url:
        raise BadAddress(shown, _UNREADABLE)
    try:
        parameters = conninfo_to_dict(url)
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise BadAddress(shown, _UNREADABLE) from error
    ports = str(parameters.get("port") or "").split(",")
    if not all(port == "" or (port.isascii() and port.isdigit()) for port in ports):
        raise BadAddress(shown, _UNREADABLE)
    return Postgres(shown, {"connect_timeout": 10, **parameters, "client_encoding": "utf8"}, patience)
