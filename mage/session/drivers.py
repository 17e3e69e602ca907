"""The asks of a session to store, judge and hooks, as frozen values; a store's answers; the errors of a session.

The twins differ only in how a store answers: by a call or by an await.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, final

import attrs

from mage.effects import Metered
from mage.effects.questions import Ask, Program
from mage.engine import JudgeRequest, Verdict
from mage.engine.errors import MageError, Refusal
from mage.session.events import Event
from mage.stores import AsyncJournalStore, Head, JournalStore, Record, Snapshot

# -- the errors of a session, beside those of its store and of the engine -----------------------------------


@final
@attrs.define
class Refused(MageError):
    """The state refuses the command. Nothing was recorded. `refusal`, the engine's frozen value, says what to do."""

    refusal: Refusal

    def __str__(self) -> str:
        return str(self.refusal)


@final
@attrs.define
class OtherTask(MageError, ValueError):
    """The session `name` exists and has another task. Open it without a task, or choose another name."""

    name: str

    def __str__(self) -> str:
        return f"session {self.name!r} is for another task: open it without one, or choose another name"


@final
@attrs.define
class SessionClosed(MageError):
    """The session `name` was closed. Open it again."""

    name: str

    def __str__(self) -> str:
        return f"session {self.name!r} was closed: open it again"


@final
@attrs.define
class WrongLoop(MageError):
    """The `AsyncSession` `name` belongs to another event loop, which is still open. Nothing was done."""

    name: str

    def __str__(self) -> str:
        return (
            f"session {self.name!r} belongs to another event loop, which is still open: open it in this one too,"
            " or send it there by asyncio.run_coroutine_threadsafe"
        )


@final
@attrs.define
class NotAVerdict(MageError, TypeError):
    """A judge's answer is no verdict, but a `found`, the name of a type. Nothing was recorded; the summary is still pending."""

    found: str

    def __str__(self) -> str:
        return f"a judge answers Passed() or Failed(feedback, fault), not {self.found}; the summary is still pending"


# -- the asks -----------------------------------------------------------------------------------------------


Answer = TypeVar("Answer")


@attrs.frozen
class _OfJournal(Ask[Answer]):
    name: str


@final
@attrs.frozen
class Create(_OfJournal[Head]):
    """Make a journal of these records."""

    records: tuple[Record, ...]


@final
@attrs.frozen
class Append(_OfJournal[Head]):
    """Write these records behind exactly the head `expected`."""

    expected: Head
    records: tuple[Record, ...]


@final
@attrs.frozen
class HeadOf(_OfJournal[Head]):
    """Get the head of the journal."""


@final
@attrs.frozen
class ReadRecords(_OfJournal[list[Record]]):
    """Read the records after version `after` up to `upto`."""

    after: int
    upto: int


@final
@attrs.frozen
class Fork(Ask[Head]):
    """Make the journal `name`, which starts at version `at` of `source`."""

    source: str
    name: str
    at: int


@final
@attrs.frozen
class Delete(_OfJournal[None]):
    """Delete a journal that ends at the head `expected`."""

    expected: Head


@final
@attrs.frozen
class NewestSnapshot(_OfJournal[Snapshot | None]):
    """Get the newest snapshot at or before version `upto`."""

    upto: int


@final
@attrs.frozen
class Redactions(_OfJournal[int]):
    """Get the number of redactions of the journal."""


@final
@attrs.frozen
class KeepSnapshot(_OfJournal[None]):
    """Keep this snapshot in place of all earlier ones of the journal's own versions. Raises `OutdatedTexts`."""

    snapshot: Snapshot
    redactions: int


@final
@attrs.frozen
class Tell(Ask[None]):
    """Give an event to the hooks, once the turn is over."""

    event: Event


@final
@attrs.frozen
class AskJudge(Ask[Verdict | Metered[Verdict]]):
    """Ask the session's judge. Other threads and tasks can use the session meanwhile."""

    request: JudgeRequest


@final
@attrs.frozen
class Turn(Ask[Answer]):
    """Run a program that asks only the store. No other turn of the session runs meanwhile; a cancellation takes effect after it."""

    program: Program[Answer]


# -- a store's answers -----------------------------------------------------------------------------------


def answer(store: JournalStore, asked: Ask[Any]) -> object:
    """Answer an ask to a store by a call."""
    if isinstance(asked, ReadRecords):
        with collector_paused():
            return list(store.read(asked.name, asked.after, asked.upto))
    if isinstance(asked, KeepSnapshot):
        store.drop_snapshots(asked.name)
    return _called(store, asked)


async def answer_awaited(store: AsyncJournalStore, asked: Ask[Any]) -> object:
    """Answer an ask to a store by an await."""
    if isinstance(asked, ReadRecords):
        return [record async for record in store.read(asked.name, asked.after, asked.upto)]
    if isinstance(asked, KeepSnapshot):
        await store.drop_snapshots(asked.name)
    return await _called(store, asked)


def _called(store: Any, asked: Ask[Any]) -> Any:  # Any: the answer of a store, or an awaitable of it
    match asked:
        case Append(name, expected, records):
            return store.append(name, expected, records)
        case HeadOf(name):
            return store.head(name)
        case Create(name, records):
            return store.create(name, records)
        case Fork(source, name, at):
            return store.fork(source, name, at)
        case Delete(name, expected):
            return store.delete(name, expected=expected)
        case NewestSnapshot(name, upto):
            return store.snapshot(name, upto)
        case Redactions(name):
            return store.redactions(name)
        case KeepSnapshot(name, new, redactions):
            return store.keep_snapshot(name, new.version, new.data, new.digest, redactions=redactions)
        case _:
            raise TypeError(f"no store answers a {type(asked).__name__}")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch the garbage collector off, in all threads, until the block ends; leave it off where the host has it off.

    The collector would visit very many values again and again, none of them garbage: a third of the time to open a session
    from a snapshot, a sixth of the time to read and fold its records. The block awaits nothing and makes no cycles, so only
    other threads make garbage. Of several threads in such blocks the first to end switches the collector on again.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
