"""What a durable run asks of its drivers: perform an effect, write to the tape, carry out a command, look.

The driver answers each in one line (`mage.agent.sync`, `mage.agent.asynchronous`); nothing is decided there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, final

import attrs

from mage.effects import JudgeRequest, Metered, Verdict
from mage.effects.program import Ask
from mage.engine import Digest, State
from mage.engine.journal import Operation
from mage.memory.events import AgentEvent
from mage.memory.requests import Request
from mage.session import Entry

__all__ = ["Commit", "Found", "JudgeLater", "Note", "Perform", "Refresh", "TellHooks", "VerdictOf"]

Answer = TypeVar("Answer")


@final
@attrs.frozen
class Perform(Ask[object]):
    """Ask whoever answers requests of this type, and wait."""

    request: Request


@final
@attrs.frozen
class JudgeLater(Ask[None]):
    """Ask the judge, and do not wait."""

    request: JudgeRequest


@final
@attrs.frozen
class VerdictOf(Ask[Metered[Verdict] | Verdict | None]):
    """Return what the judge said of a request, None where it is still thinking and `wait` is False."""

    digest: Digest
    wait: bool


@final
@attrs.frozen
class Note(Ask[None]):
    """Write an entry to the tape, durably."""

    kind: str
    data: Mapping[str, object]


@final
@attrs.frozen
class Commit(Ask[None]):
    """Carry out a command on the session, durably. Raises `Conflict` where somebody else has written."""

    command: Operation
    meta: Mapping[str, object]


@final
@attrs.frozen
class Found:
    """What has changed in a session.

    Attributes:
        entries: what its journal holds after the version asked about, whoever wrote it.
        state: at that version, where texts were taken out since; else None.
    """

    entries: tuple[Entry, ...] = ()
    state: State | None = None


@final
@attrs.frozen
class Refresh(Ask[Found]):
    """Look what has changed since a version. Raises `Conflict` where another journal has the name by now."""

    after: int


@final
@attrs.frozen
class TellHooks(Ask[None]):
    """Tell the hooks."""

    event: AgentEvent
