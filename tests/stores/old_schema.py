"""A store as the first schema had it, with a journal and a fork, written without the store's own code."""

from __future__ import annotations

import attrs

from mage.stores import JournalInfo, Record
from mage.stores.postgres import Postgres
from mage.stores.sql import row_of
from mage.stores.sqlite import Sqlite
from mage.stores.transactions import Connection, Transactions, migrate

_JOURNAL = (
    "INSERT INTO mage_journals (name, parent, forked_at, head, digest, created, changed, payload, grows)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
)
_RECORD = "INSERT INTO mage_records (journal, version, body, parts, digest) VALUES (?, ?, ?, ?, ?)"


def write_schema_1(database: Sqlite | Postgres, records: tuple[Record, ...], at: int) -> list[JournalInfo]:
    """Make a store of schema 1 that holds a journal "a" and its fork "b", and return what is known of them."""
    transactions = Transactions(attrs.evolve(database, migrations=database.migrations[:1]))
    migrate(transactions)
    known = [
        JournalInfo("a", records[-1].head, None, 0, 1, 2, 300, len(records) - 1),
        JournalInfo("b", records[at - 1].head, "a", at, 3, 4, 0, 0),
    ]

    def work(connection: Connection) -> None:
        ids: dict[str | None, int | None] = {None: None}
        for info in known:
            where = (info.name, ids[info.parent], info.forked_at)
            head = (info.head.version, bytes.fromhex(info.head.digest))
            row = (*where, *head, info.created, info.changed, info.payload, info.grows)
            ids[info.name] = connection.execute(_JOURNAL, row).fetchone()[0]
        connection.executemany(_RECORD, [(ids["a"], *row_of(record)) for record in records])

    transactions.repeat(work)
    transactions.close()
    return known
