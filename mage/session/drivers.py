"""A store as it answers what a session asks: by a call, or by an await. Nothing else differs between the twins."""

from __future__ import annotations

from typing import Any

from mage.effects.program import Ask
from mage.session.asks import (
    Append,
    Create,
    Delete,
    Fork,
    HeadOf,
    KeepSnapshot,
    NewestSnapshot,
    ReadRecords,
    Redactions,
)
from mage.session.collector import collector_paused
from mage.stores import AsyncJournalStore, JournalStore


def answer(store: JournalStore, asked: Ask[Any]) -> object:
    """Answer what is asked of a store."""
    match asked:
        case Append(name, expected, records):
            return store.append(name, expected, records)
        case HeadOf(name):
            return store.head(name)
        case ReadRecords(name, after, upto):
            with collector_paused():
                return list(store.read(name, after, upto))
        case Create(name, records):
            return store.create(name, records)
        case Fork(source, name, at):
            return store.fork(source, name, at)
        case Delete(name, expected):
            store.delete(name, expected=expected)
            return None
        case NewestSnapshot(name, upto):
            return store.snapshot(name, upto)
        case Redactions(name):
            return store.redactions(name)
        case KeepSnapshot(name, new, redactions):
            store.drop_snapshots(name)
            store.keep_snapshot(name, new.version, new.data, new.digest, redactions=redactions)
            return None
        case _:
            raise TypeError(f"no store answers a {type(asked).__name__}")


async def answer_awaited(store: AsyncJournalStore, asked: Ask[Any]) -> object:
    """Answer what is asked of a store, awaiting it."""
    match asked:
        case Append(name, expected, records):
            return await store.append(name, expected, records)
        case HeadOf(name):
            return await store.head(name)
        case ReadRecords(name, after, upto):
            return [record async for record in store.read(name, after, upto)]
        case Create(name, records):
            return await store.create(name, records)
        case Fork(source, name, at):
            return await store.fork(source, name, at)
        case Delete(name, expected):
            await store.delete(name, expected=expected)
            return None
        case NewestSnapshot(name, upto):
            return await store.snapshot(name, upto)
        case Redactions(name):
            return await store.redactions(name)
        case KeepSnapshot(name, new, redactions):
            await store.drop_snapshots(name)
            await store.keep_snapshot(name, new.version, new.data, new.digest, redactions=redactions)
            return None
        case _:
            raise TypeError(f"no store answers a {type(asked).__name__}")
