"""Journals in SQL databases, through SQLAlchemy Core: one implementation, two databases."""

from __future__ import annotations

from sqlalchemy.exc import SQLAlchemyError

from mage.stores.errors import DamagedStore, UnknownSchema
from mage.stores.sources import Clock
from mage.stores.sql.faults import fault_of, unreadable
from mage.stores.sql.forks import in_transaction
from mage.stores.sql.postgres import open_postgres
from mage.stores.sql.schema import Backend, migrate
from mage.stores.sql.sqlite import open_sqlite
from mage.stores.sql.store import SqlStore

__all__ = ["SqlStore", "open_sql"]


def open_sql(url: str, *, clock: Clock, patience: float) -> SqlStore:
    """Open the store at a URL that begins with `sqlite:` or `postgresql:`; see `open_store`."""
    opening = open_sqlite if url.startswith("sqlite:") else open_postgres
    with in_transaction():  # no fork while SQLite opens the file
        return SqlStore(_ready(opening(url, patience=patience)), clock=clock)


def _ready(backend: Backend) -> Backend:
    """Return the backend, its tables made and of the newest schema."""
    opened = False
    try:
        migrate(backend)
        backend.settle()
        opened = True
    except UnicodeDecodeError as error:
        raise UnknownSchema(backend.shown, str(unreadable(error))) from error
    except SQLAlchemyError as error:
        fault = fault_of(error)
        if isinstance(fault, DamagedStore):
            raise UnknownSchema(backend.shown, f"it cannot be read: {fault.reason}") from error
        raise fault from error
    finally:
        if not opened:
            backend.engine.dispose()
    return backend
