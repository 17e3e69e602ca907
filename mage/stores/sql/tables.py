"""The tables as SQLAlchemy Core sees them, and the statements of the daily work, built once.

Columns that hold bytes or text have no type here: what the database gives is taken as it is and looked at,
so that a damaged file shows as a damaged record and never as an error of a conversion.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Select, bindparam, column, insert, select, table, update

__all__ = [
    "ADD_JOURNAL",
    "ALONE",
    "ANCESTORS",
    "APPEND",
    "CHUNK",
    "DIGEST_AT",
    "FORKED",
    "HEAD",
    "INSERT_RECORDS",
    "JOURNAL",
    "ONE",
    "READERS",
    "journals",
    "records",
    "snapshots",
]

journals: Final = table(
    "mage_journals",
    column("id", BigInteger),
    column("name"),
    column("parent", BigInteger),
    column("forked_at", BigInteger),
    column("head", BigInteger),
    column("digest"),
    column("created", BigInteger),
    column("changed", BigInteger),
    column("payload", BigInteger),
    column("grows", BigInteger),
    column("redactions", BigInteger),
)
records: Final = table(
    "mage_records",
    column("journal", BigInteger),
    column("version", BigInteger),
    column("body"),
    column("parts"),
    column("digest"),
)
snapshots: Final = table(
    "mage_snapshots",
    column("journal", BigInteger),
    column("version", BigInteger),
    column("data"),
    column("digest"),
)

APPEND: Final = (
    update(journals)
    .where(
        journals.c.name == bindparam("named"),
        journals.c.head == bindparam("old_head"),
        journals.c.digest == bindparam("old_digest"),
    )
    .values(
        head=bindparam("new_head"),
        digest=bindparam("new_digest"),
        changed=bindparam("time"),
        payload=journals.c.payload + bindparam("more_payload"),
        grows=journals.c.grows + bindparam("more_grows"),
    )
    .returning(journals.c.id)
)
"""Compare and swap: moves the head if it is the expected one, and says whose it was."""

ADD_JOURNAL: Final = insert(journals).returning(journals.c.id)
"""Takes the columns but the id, and gives that. The name must be free."""
INSERT_RECORDS: Final = insert(records)
HEAD: Final = select(journals.c.head, journals.c.digest).where(journals.c.name == bindparam("named"))
JOURNAL: Final = select(
    journals.c.id,
    journals.c.parent,
    journals.c.forked_at,
    journals.c.head,
    journals.c.digest,
    journals.c.redactions,
).where(journals.c.name == bindparam("named"))


def _ancestors() -> Select[Any, Any, Any]:
    """Return the statement that follows parents, all in one: chains of forks can be hundreds long.

    It goes to smaller versions only, so that it ends whatever a damaged row says; and no further than to the
    journal that holds the version behind `after`: what is older is not asked for.
    """
    columns = (journals.c.id, journals.c.parent, journals.c.forked_at)
    found = select(*columns).where(journals.c.id == bindparam("parent_id")).cte("found", recursive=True)
    above = (
        journals.c.id == found.c.parent,
        journals.c.forked_at < found.c.forked_at,
        found.c.forked_at > bindparam("after"),
    )
    found = found.union_all(select(*columns).where(*above))
    return select(found).order_by(found.c.forked_at.desc())


ANCESTORS: Final = _ancestors()
"""A journal by its id, and those that it reads versions behind `after` through: newest first, as far as their rows
fit together."""


def _readers() -> Select[Any, Any, Any]:
    """Return the statement that follows forks, and forks of these; each once, so that it ends whatever a row says."""
    columns = (journals.c.id, journals.c.parent, journals.c.forked_at)
    reads = journals.c.forked_at >= bindparam("first")
    found = (
        select(*columns).where(journals.c.parent == bindparam("oldest"), reads).cte("found", recursive=True)
    )
    found = found.union(select(*columns).where(journals.c.parent == found.c.id, reads))
    return select(found).order_by(found.c.id)


READERS: Final = _readers()
"""The journals that read, through whatever forks, a version from the `first` on of the `oldest`: parents first."""
FORKED: Final = JOURNAL.with_for_update(read=True, key_share=True)
"""The same, of a journal that must not be deleted until we are done; appending to it goes on."""
ALONE: Final = select(journals.c.id).where(journals.c.id == bindparam("owner")).with_for_update()
"""A journal that nobody else may write, fork or delete until we are done. SQLite's writers are alone anyway."""
DIGEST_AT: Final = select(records.c.digest).where(
    records.c.journal == bindparam("owner"), records.c.version == bindparam("at")
)
CHUNK: Final = (
    select(records.c.version, records.c.body, records.c.parts, records.c.digest)
    .where(
        records.c.journal == bindparam("owner"),
        records.c.version > bindparam("after"),
        records.c.version <= bindparam("upto"),
    )
    .order_by(records.c.version)
    .limit(bindparam("at_most"))
)
ONE: Final = (
    select(records.c.version, records.c.body, records.c.parts, records.c.digest)
    .where(records.c.journal == bindparam("owner"), records.c.version == bindparam("at"))
    .with_for_update()
)
"""One record, which nobody else may replace until we are done."""
