"""What a PostgreSQL database keeps, read in one transaction that cannot write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from mage.stores.doctor.kept import Finding, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.errors import DamagedStore, UnknownSchema
from mage.stores.sql.faults import fault_of
from mage.stores.sql.postgres import open_postgres
from mage.stores.sql.tables import journals, records, snapshots

__all__ = ["PostgresKept", "kept_in_database"]

_AT_ONCE = 1000


@contextmanager
def kept_in_database(url: str, *, patience: float) -> Iterator[PostgresKept]:
    """Give what a database keeps, as it is at this moment.

    Raises:
        StoreUnavailable: it cannot be reached, or not be read.
    """
    backend = open_postgres(url, patience=patience)
    try:
        with backend.engine.connect() as connection:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            findings: list[Finding] = []
            version = 0
            try:
                version = backend.version(connection)
                newest = len(backend.migrations)
                if version > newest:
                    reason = f"its schema has version {version}, and this mage reads up to {newest}"
                    findings.append(Finding(None, None, "unknown schema", f"{reason}: use a newer mage"))
                    version = 0
                elif version == 0:
                    findings.append(Finding(None, None, "no store", "there are no tables of mage in it"))
            except (UnknownSchema, DamagedStore) as error:
                findings.append(Finding(None, None, "unknown schema", error.reason))
            yield PostgresKept(connection, version, findings)
    except SQLAlchemyError as error:
        raise fault_of(error) from error
    finally:
        backend.engine.dispose()


@final
class PostgresKept:
    """A `Kept` of a PostgreSQL database."""

    def __init__(self, connection: Connection, version: int, findings: list[Finding]) -> None:
        self._connection = connection
        self._version = version
        self.findings: list[Finding] = findings
        self.journals: Sequence[KeptJournal] = self._journals() if version else ()

    def _journals(self) -> Sequence[KeptJournal]:
        columns = journals.c
        asked = select(
            columns.id,
            columns.name,
            columns.parent,
            columns.forked_at,
            columns.head,
            columns.digest,
            columns.payload,
            columns.grows,
            columns.created,
            columns.changed,
        )
        return [KeptJournal(*tuple(row)) for row in self._connection.execute(asked.order_by(columns.id))]

    def rows(self, journal: object) -> Iterator[Row]:
        """See `Kept.rows`."""
        columns = records.c
        asked = select(columns.version, columns.body, columns.parts, columns.digest)
        asked = asked.where(columns.journal == journal).order_by(columns.version)
        options = {"stream_results": True, "yield_per": _AT_ONCE}
        with self._connection.execute(asked, execution_options=options) as found:
            for row in found:
                yield (row[0], row[1], row[2], row[3])

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """See `Kept.snapshots`."""
        if self._version < 2:
            return
        columns = snapshots.c
        asked = select(columns.journal, columns.version, columns.data, columns.digest)
        for row in self._connection.execute(
            asked.where(columns.journal == journal).order_by(columns.version)
        ):
            yield KeptSnapshot(*row)

    def strays(self) -> Sequence[Stray]:
        """See `Kept.strays`."""
        if not self._version:
            return ()
        known = {row.id for row in self.journals}
        asked = select(records.c.journal, func.count()).group_by(records.c.journal)
        return [Stray(row[0], row[1]) for row in self._connection.execute(asked) if row[0] not in known]
