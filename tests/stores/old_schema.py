"""A store as the first schema had it, with a journal and a fork, written without the store's own code."""

from __future__ import annotations

import attrs

from mage.stores import JournalInfo, Record
from mage.stores.sql.postgres import Postgres
from mage.stores.sql.rows import row_of, with_journal
from mage.stores.sql.schema import migrate
from mage.stores.sql.sqlite import Sqlite
from mage.stores.sql.tables import ADD_JOURNAL, INSERT_RECORDS

__all__ = ["write_schema_1"]


def write_schema_1(backend: Sqlite | Postgres, records: tuple[Record, ...], at: int) -> list[JournalInfo]:
    """Make a store of schema 1 that holds a journal "a" and its fork "b", and return what is known of them."""
    migrate(attrs.evolve(backend, migrations=backend.migrations[:1]))
    known = [
        JournalInfo("a", records[-1].head, None, 0, 1, 2, 300, len(records) - 1),
        JournalInfo("b", records[at - 1].head, "a", at, 3, 4, 0, 0),
    ]
    ids: dict[str | None, int | None] = {None: None}
    with backend.writer.begin() as connection:
        for info in known:
            row = {
                "name": info.name,
                "parent": ids[info.parent],
                "forked_at": info.forked_at,
                "head": info.head.version,
                "digest": bytes.fromhex(info.head.digest),
                "created": info.created,
                "changed": info.changed,
                "payload": info.payload,
                "grows": info.grows,
            }
            ids[info.name] = connection.execute(ADD_JOURNAL, row).scalar_one()
        connection.execute(INSERT_RECORDS, with_journal(ids["a"] or 0, map(row_of, records)))
    backend.engine.dispose()
    return known
