"""Schema versions: plain SQL in order, each step in one transaction, nothing ever dropped.

A database of a newer version is refused and left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, Engine

from mage.stores.errors import UnknownSchema

__all__ = ["Backend", "migrate"]


class Backend(Protocol):
    """What differs between the databases.

    Attributes:
        shown: the URL, without any password.
        engine: gives connections; what it begins reads.
        writer: the same connections; what it begins writes.
        migrations: for each schema version from 1 its statements.
    """

    @property
    def shown(self) -> str: ...  # noqa: D102
    @property
    def engine(self) -> Engine: ...  # noqa: D102
    @property
    def writer(self) -> Engine: ...  # noqa: D102
    @property
    def migrations(self) -> Sequence[Sequence[str]]: ...  # noqa: D102

    def require_place(self) -> None:
        """Ask, after a COMMIT, that what was written is where others will look for it.

        Raises:
            StoreUnavailable: it is not, or may not be.
        """
        ...

    def lock_schema(self, connection: Connection) -> None:
        """Wait until no one else migrates; until the transaction ends no one else will."""
        ...

    def version(self, connection: Connection) -> int:
        """Return the schema version, 0 where there is nothing yet.

        Raises:
            UnknownSchema: what is there is no store of mage.
        """
        ...

    def set_version(self, connection: Connection, version: int) -> None:
        """Note the schema version."""
        ...

    def outlast_writers(self, connection: Connection) -> None:
        """Wait until every transaction that writes now has ended, also one whose connection was lost."""
        ...

    def settle(self) -> None:
        """Do what is left to do once the tables are there."""
        ...

    def forget_traces(self) -> None:
        """Overwrite, where that is cheap, what was just replaced."""
        ...

    def reclaim(self) -> None:
        """Give back free room."""
        ...


def migrate(backend: Backend) -> None:
    """Bring a database to the newest schema version, from any earlier one.

    Raises:
        UnknownSchema: it is no store of mage, or one of a newer mage.
    """
    newest = len(backend.migrations)
    with backend.engine.connect() as connection:
        version = backend.version(connection)
    while version < newest:
        with backend.writer.begin() as connection:
            backend.lock_schema(connection)
            version = backend.version(connection)
            if version >= newest:
                break  # somebody else has done it meanwhile
            for statement in backend.migrations[version]:
                connection.exec_driver_sql(statement)
            version += 1
            backend.set_version(connection, version)
    if version > newest:
        reason = f"its schema has version {version}, and this mage reads up to {newest}: use a newer mage"
        raise UnknownSchema(backend.shown, reason)
