"""A run as it was recorded: its tape, read entry by entry, and beside it the journal of its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import attrs

from mage.agent.performing import Note
from mage.agent.spelling import require_sound, understood
from mage.agent.tape import TapeDiverged, TapeEntry
from mage.effects import ActionEffect, NotRestored, Restored
from mage.engine import State, StepId
from mage.engine.journal import Operation
from mage.memory.policy import Policy
from mage.memory.requests import Counts
from mage.session import Entry

__all__ = ["PLACE", "Recorded", "Reel", "TapeEnds"]

PLACE: Final = "tape"
"""The key in a record's meta under which stands how much of the tape was there when the command was given."""


@final
class TapeEnds(Exception):
    """The tape has ended, and nobody may be asked: raised where a run is run again offline."""


@final
@attrs.frozen
class Recorded:
    """What is there of a run.

    Attributes:
        version: of the session, at which the run was begun.
        state: of the session at that version.
        counts: what its journal says of failures up to there, which is counted on.
        journal: what the session holds after that version.
        tape: the entries, without `began`.
        policy: the policy that the run was begun with.
        effects: what the steps up to that version have done to the world, where it was declared.
        remembered: what was kept for whoever resumes the run, when it was begun.
    """

    version: int
    state: State
    counts: Counts
    journal: Sequence[Entry]
    tape: Sequence[TapeEntry]
    policy: Policy
    effects: Mapping[StepId, ActionEffect] = attrs.field(factory=dict)
    remembered: Mapping[str, object] = attrs.field(factory=dict)


@final
class Reel:
    """The tape and the journal, each with the place up to which the program has come.

    Args:
        recorded: what is there of the run.
        live: False to stop where the tape ends.

    Attributes:
        done: how many commands of the journal were come to, and given since.
        answers: how many entries of the tape were come to, and noted since; those that answer nothing not counted.
        live: whether one may go on where the tape ends.
        resumed: what the world answered whenever the run was resumed; whoever tells of it takes it out.
    """

    def __init__(self, recorded: Recorded, *, live: bool) -> None:
        self.done = 0
        self.answers = 0
        self.live = live
        self.resumed: list[Restored | NotRestored] = []
        self._journal = recorded.journal
        self._tape = list(recorded.tape)
        self._place = 0
        self._sound = 0  # as far as its entries were looked at

    @property
    def has_ended(self) -> bool:
        """Whether every entry of the tape was come to."""
        return self._place == len(self._tape)

    def peek(self) -> TapeEntry | None:
        """Return the next entry that answers something; None where the tape has ended.

        Raises:
            BadTape: it cannot be read.
        """
        while not self.has_ended:
            entry = self._tape[self._place]
            if self._sound <= self._place:
                require_sound(entry)
                self._sound = self._place + 1
            if entry.kind != "resumed":
                return entry
            self._place += 1
            self.resumed.append(understood("resumed", entry.data))
        return None

    def is_next(self, kind: str) -> bool:
        """Tell whether the next entry that answers something is of this kind."""
        entry = self.peek()
        return entry is not None and entry.kind == kind

    def next(self, kind: str) -> TapeEntry | None:
        """Take the next entry, which must be of this kind; None where the run goes live.

        Raises:
            TapeDiverged: it is of another kind.
            TapeEnds: the tape has ended, and the run must not go live.
        """
        if self.goes_live(kind):
            return None
        entry = self._tape[self._place]
        if entry.kind != kind:
            raise self.diverged(kind)
        self._place += 1
        self.answers += 1
        return entry

    def overtaken(self, version: int) -> TapeEntry | None:
        """Return the next entry, if it says that a command at this version was not recorded."""
        entry = self.peek()
        there = entry is not None and entry.kind == "overtaken" and entry.data.get("version") == version
        return entry if there else None

    def goes_live(self, kind: str) -> bool:
        """Tell whether the tape has ended, where the next would be of this kind.

        Raises:
            TapeEnds: it has, and the run must not go live.
        """
        if self.peek() is not None:
            return False
        if not self.live:
            raise TapeEnds(kind)
        return True

    def diverged(self, asked: str, found: str | None = None) -> TapeDiverged:
        """Return the error for an ask that the next entry does not answer; or the last, which is `found` otherwise."""
        if found is not None:
            return TapeDiverged(self._place - 1, asked, found)
        return TapeDiverged(self._place, asked, self._tape[self._place].kind)

    async def note(self, kind: str, data: Mapping[str, Any]) -> None:
        """Write an entry behind the last."""
        await Note(kind, data)
        self._tape.append(TapeEntry(kind, data))
        self._place += 1
        self.answers += kind != "resumed"

    # -- the journal -------------------------------------------------------------------------------------

    @property
    def unread(self) -> bool:
        """Whether the journal holds commands that were not come to yet."""
        return self.done < len(self._journal)

    @property
    def is_behind(self) -> bool:
        """Whether there is more that this run has answered or done: on the tape, or in the journal at this place."""
        return self.peek() is not None or self._next_own() is not None

    def own_entry(self, kind: type[Operation]) -> Entry | None:
        """Return the next entry of the journal, if it is a command of this kind that was given at this place."""
        entry = self._next_own()
        return None if entry is None or type(entry.command) is not kind else entry

    def _next_own(self) -> Entry | None:
        entry = self._journal[self.done] if self.unread else None
        return None if entry is None or entry.meta.get(PLACE) != self.answers else entry

    def upto(self, done: int) -> Sequence[Entry]:
        """Return the entries of the journal that are next, until as many would be done."""
        return self._journal[self.done : done]
