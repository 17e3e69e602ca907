"""PostgreSQL, through psycopg 3: many machines, one store. Tables stand in the first schema of the search path."""

from __future__ import annotations

from typing import Final, final

import attrs
from sqlalchemy import Connection, Engine, column, create_engine, insert, make_url, table
from sqlalchemy.exc import ArgumentError

from mage.stores.errors import BadAddress, UnknownSchema
from mage.stores.opening import without_password
from mage.stores.sql.forks import closes_before_fork

__all__ = ["MIGRATIONS", "Postgres", "open_postgres"]

MIGRATIONS: Final = (
    (
        """CREATE TABLE mage_journals (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            parent BIGINT REFERENCES mage_journals (id),
            forked_at BIGINT NOT NULL,
            head BIGINT NOT NULL,
            digest BYTEA NOT NULL,
            created BIGINT NOT NULL,
            changed BIGINT NOT NULL,
            payload BIGINT NOT NULL,
            grows BIGINT NOT NULL
        ) WITH (fillfactor = 50)""",  # the head moves with each append: room for it on the same page
        "CREATE INDEX mage_forks ON mage_journals (parent) WHERE parent IS NOT NULL",
        """CREATE TABLE mage_records (
            journal BIGINT NOT NULL REFERENCES mage_journals (id),
            version BIGINT NOT NULL,
            body TEXT NOT NULL,
            parts BYTEA NOT NULL,
            digest BYTEA NOT NULL,
            PRIMARY KEY (journal, version)
        )""",
    ),
    (
        """CREATE TABLE mage_snapshots (
            journal BIGINT NOT NULL REFERENCES mage_journals (id),
            version BIGINT NOT NULL,
            data BYTEA NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (journal, version)
        )""",
        "ALTER TABLE mage_journals ADD COLUMN redactions BIGINT NOT NULL DEFAULT 0",
    ),
)
_LOCK: Final = 0x6D616765
"""The advisory lock of those who migrate."""


@final
@attrs.frozen
class Postgres:
    """A PostgreSQL database; see `Backend`."""

    shown: str
    engine: Engine
    writer: Engine
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS

    def require_place(self) -> None:
        """See `Backend.require_place`: the server knows."""

    def lock_schema(self, connection: Connection) -> None:
        """See `Backend.lock_schema`."""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")

    def version(self, connection: Connection) -> int:
        """See `Backend.version`."""
        there = set(connection.exec_driver_sql(_TABLES).scalars())
        if not there:
            return 0
        if "mage_schema" not in there:
            raise UnknownSchema(self.shown, f"it has a table {sorted(there)[0]} that is not mage's")
        if set(connection.exec_driver_sql(_COLUMNS).scalars()) != {"version"}:
            raise UnknownSchema(self.shown, "it has a table mage_schema that is not mage's")
        return int(connection.exec_driver_sql("SELECT max(version) FROM mage_schema").scalar() or 0)

    def set_version(self, connection: Connection, version: int) -> None:
        """See `Backend.set_version`."""
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS mage_schema (version BIGINT PRIMARY KEY)")
        connection.execute(insert(table("mage_schema", column("version"))).values(version=version))

    def outlast_writers(self, connection: Connection) -> None:
        """See `Backend.outlast_writers`: whoever writes has changed a row of this table."""
        connection.exec_driver_sql("LOCK TABLE mage_journals IN SHARE ROW EXCLUSIVE MODE")

    def settle(self) -> None:
        """See `Backend.settle`: nothing is left."""

    def forget_traces(self) -> None:
        """See `Backend.forget_traces`: old rows stay until they are vacuumed; `reclaim` does that."""

    def reclaim(self) -> None:
        """See `Backend.reclaim`. It locks each table for as long as it takes to write it anew."""
        with self.writer.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql("VACUUM (FULL) mage_records")
            connection.exec_driver_sql("VACUUM (FULL) mage_snapshots")
            connection.exec_driver_sql("VACUUM (FULL) mage_journals")


_TABLES: Final = (
    "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    " AND tablename IN ('mage_schema', 'mage_journals', 'mage_records', 'mage_snapshots')"
)
_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND table_name = 'mage_schema'"
)


def open_postgres(url: str, *, patience: float) -> Postgres:
    """Return the backend of a URL such as `postgresql://user@host/database`; nothing is connected yet.

    A writer that stops in the middle of a transaction holds up the others for a minute at most.

    Raises:
        BadAddress: the URL cannot be read.
    """
    shown = without_password(url)
    try:
        address = make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        raise BadAddress(shown, "it cannot be read as postgresql://user@host:port/database") from error
    limits = {
        "lock_timeout": f"{int(patience * 1000)}",
        "idle_in_transaction_session_timeout": "60000",
        "synchronous_commit": "on",
    }
    given = address.query.get("options", "")
    options = " ".join(
        [given if isinstance(given, str) else " ".join(given), *[f"-c {k}={v}" for k, v in limits.items()]]
    )
    engine = create_engine(
        address,
        connect_args={"options": options.strip(), "client_encoding": "utf8", "connect_timeout": 10},
        max_overflow=-1,
        hide_parameters=True,  # no text of a record in an error or a log,
    )
    closes_before_fork(engine)
    reader = engine.execution_options(isolation_level="REPEATABLE READ")  # a lineage is read as of one moment
    writer = engine.execution_options(isolation_level="READ COMMITTED")  # whatever the server's default is
    return Postgres(shown, reader, writer)
