"""What a session asks of the world, as frozen values (`mage.effects.program`)."""

from __future__ import annotations

from typing import TypeVar, final

import attrs

from mage.effects import Metered
from mage.effects.program import Ask, Program
from mage.engine import JudgeRequest, Verdict
from mage.session.events import Event
from mage.stores import Head, Record, Snapshot

Answer = TypeVar("Answer")


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
