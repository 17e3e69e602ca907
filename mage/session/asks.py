"""What a session asks of the world, as frozen values, and programs that ask.

A *program* is a generator that yields asks and is sent their answers; it does nothing itself. The drivers
(`mage.session.drivers`) answer, one by calling and one by awaiting, so both twins run one program. A program
is thrown the `MageError` that an ask met; any other exception ends it where it stands.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeAlias, TypeVar, final

import attrs

from mage.effects import Metered
from mage.engine import JudgeRequest, Verdict
from mage.session.events import Event
from mage.stores import Head, Record, Snapshot

__all__ = [
    "Append",
    "Ask",
    "AskJudge",
    "Create",
    "Delete",
    "Fork",
    "HeadOf",
    "KeepSnapshot",
    "NewestSnapshot",
    "Program",
    "ReadRecords",
    "Redactions",
    "Tell",
    "Turn",
    "ask",
]

Answer = TypeVar("Answer")


@attrs.frozen
class Ask(Generic[Answer]):
    """Something asked for; `Answer` is what comes back."""


Program: TypeAlias = Generator[Ask[Any], Any, Answer]
"""A generator of asks that returns an `Answer`. `Any`, because each ask has an answer of its own type: `ask` types it."""


def ask(what: Ask[Answer]) -> Program[Answer]:
    """Ask for one thing, typed: a bare `yield` would return anything."""
    answer: Answer = yield what
    return answer


@final
@attrs.frozen
class Create(Ask[Head]):
    """Make a journal of these records."""

    name: str
    records: tuple[Record, ...]


@final
@attrs.frozen
class Append(Ask[Head]):
    """Write these records behind exactly the head `expected`."""

    name: str
    expected: Head
    records: tuple[Record, ...]


@final
@attrs.frozen
class HeadOf(Ask[Head]):
    """Where does the journal end?"""

    name: str


@final
@attrs.frozen
class ReadRecords(Ask[list[Record]]):
    """Read the records after version `after` up to `upto`."""

    name: str
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
class Delete(Ask[None]):
    """Delete a journal that ends at the head `expected`."""

    name: str
    expected: Head


@final
@attrs.frozen
class NewestSnapshot(Ask[Snapshot | None]):
    """Get the newest snapshot at or before version `upto`."""

    name: str
    upto: int


@final
@attrs.frozen
class Redactions(Ask[int]):
    """How often were texts taken out of the journal?"""

    name: str


@final
@attrs.frozen
class KeepSnapshot(Ask[None]):
    """Keep this snapshot, in place of all earlier ones of the journal's own versions.

    It holds the texts as they were when `Redactions` was answered so; if some were taken out since, it is
    refused (`OutdatedTexts`).
    """

    name: str
    snapshot: Snapshot
    redactions: int


@final
@attrs.frozen
class Tell(Ask[None]):
    """Tell the hooks, once the turn is over."""

    event: Event


@final
@attrs.frozen
class AskJudge(Ask[Verdict | Metered[Verdict]]):
    """Ask the session's judge. Nobody is kept from using the session meanwhile."""

    request: JudgeRequest


@final
@attrs.frozen
class Turn(Ask[Answer]):
    """Run a program that has the session to itself: no other turn runs meanwhile, and a cancellation waits.

    A turn asks the store only, and tells: it is short.
    """

    program: Program[Answer]
