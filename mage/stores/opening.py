"""Stores by URL: `memory:`, `sqlite:///work.db`, `postgresql://host/database`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mage.stores.errors import BadAddress, MissingExtra
from mage.stores.memory import MemoryStore
from mage.stores.protocol import JournalStore
from mage.stores.sources import Clock, checked_clock, checked_patience, now

if TYPE_CHECKING:
    from mage.stores.transactions import Database

KNOWN_URLS: Final = "memory:, sqlite:///work.db, sqlite:////var/lib/work.db, postgresql://user@host/database"
"""One URL of each kind, for messages."""

_QUERY: Final = re.compile(r"\?[A-Za-z_]+=")


def open_store(url: str, *, clock: Clock = now, patience: float = 10.0) -> JournalStore:
    """Open the store at `url`; a SQLite file, and the tables of a database, are made where there are none.

    Args:
        url: `memory:` is a new store each time, gone when it is closed. `sqlite:///work.db` is a file in the
            working directory, `sqlite:////var/lib/work.db` one anywhere; a path with a `.` or a `/` in it and no
            `:`, such as `work.db`, is such a file too. `postgresql://user@host/database`
            goes on as PostgreSQL has it.
        clock: gives the times of creation and change; it is asked once more than that, to see that it does.
        patience: seconds to wait for another writer before giving up with `StoreUnavailable`; up to 24 days.

    Raises:
        BadAddress: the URL says no store, or has parameters for a SQLite file, or its directory is not there.
        MissingExtra: what this kind of store needs is not installed.
        BadSource: what `clock` gives is no time, or `patience` is no number of seconds; nothing is made then.
        UnknownSchema: what is there is no store of mage, or one of a newer mage; it was left as it is.
        StoreUnavailable: it cannot be reached.
        StoreFull: there is no room to make it.
        WrongProcess: this process was forked from one that had the file open at that moment.
    """
    scheme, colon, rest = url.partition(":")
    if not colon and ("/" in url or "." in url):
        return open_store(f"sqlite:///{url}", clock=clock, patience=patience)
    if not colon:
        raise BadAddress(
            url, f"a URL begins with its kind, such as {KNOWN_URLS}; a path has a . or a / in it"
        )
    checked_patience(patience)
    if scheme == "memory":
        if rest:
            raise BadAddress(without_password(url), "a store in memory has no name: use memory:")
        return MemoryStore(clock=clock)
    if scheme not in ("sqlite", "postgresql"):
        raise BadAddress(without_password(url), f"unknown kind; known are {KNOWN_URLS}")
    if scheme == "sqlite" and _QUERY.search(rest):
        raise BadAddress(url, "a SQLite store takes no parameters: end the URL with the file's name")
    from mage.stores.sql import SqlStore  # noqa: PLC0415  # a database is loaded by those who use it
    from mage.stores.transactions import in_transaction  # noqa: PLC0415

    checked = checked_clock(clock)
    with in_transaction():  # no fork while SQLite opens the file
        return SqlStore(database_at(url, patience=patience), clock=checked)


def database_at(url: str, *, patience: float) -> Database:
    """Return the database at a URL that begins with `sqlite:` or `postgresql:`; nothing is connected yet.

    Raises:
        BadAddress, BadSource, MissingExtra, UnknownSchema, StoreUnavailable, StoreFull: see `open_store`.
    """
    patience = checked_patience(patience)
    if url.startswith("sqlite:"):
        from mage.stores.sqlite import sqlite_at  # noqa: PLC0415

        return sqlite_at(url, patience=patience)
    try:
        from mage.stores.postgres import postgres_at  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra("a PostgreSQL store", "postgres") from error
    return postgres_at(url, patience=patience)


def without_password(url: str) -> str:
    """Return a URL that can be shown: what stands between a user's name and the host is left out, and passwords among the parameters.

    Rather too much is left out than too little: a password may hold any character, a slash too.
    """
    shown = re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", r"\1***", url)
    return re.sub(r"(?s)(://[^/:]*):.*@", r"\1:***@", shown)
