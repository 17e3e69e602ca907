"""Two drivers for one program: one calls, one awaits. Nothing else of the session differs between the twins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mage.engine.errors import MageError
from mage.session.asks import (
    Append,
    Ask,
    Create,
    Delete,
    Fork,
    HeadOf,
    KeepSnapshot,
    NewestSnapshot,
    Program,
    ReadRecords,
    Redactions,
)
from mage.session.collector import collector_paused
from mage.stores import AsyncJournalStore, JournalStore

__all__ = ["answer", "answer_awaited", "drive", "drive_awaited"]

Answer = TypeVar("Answer")


def drive(program: Program[Answer], answering: Callable[[Ask[Any]], object]) -> Answer:
    """Run a program, each ask answered by a call.

    What an ask raises is thrown into the program where it is a `MageError`; anything else is passed on and
    the program closed. A `StopIteration` is passed on as the cause of a `RuntimeError`, as `asyncio` does.
    """
    try:
        asked = next(program)
        while True:
            try:
                got = answering(asked)
            except MageError as error:
                asked = program.throw(error)
            except StopIteration as error:  # theirs: it must not pass for the end of the program
                raise RuntimeError("what a session asked raised StopIteration") from error
            else:
                asked = program.send(got)
    except StopIteration as stop:
        result: Answer = stop.value
        return result
    finally:
        program.close()


async def drive_awaited(
    program: Program[Answer], answering: Callable[[Ask[Any]], Awaitable[object]]
) -> Answer:
    """Run a program, each ask answered by an await. See `drive`."""
    try:
        asked = next(program)
        while True:
            try:
                got = await answering(asked)
            except MageError as error:
                asked = program.throw(error)
            else:
                asked = program.send(got)
    except StopIteration as stop:
        result: Answer = stop.value
        return result
    finally:
        program.close()


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
