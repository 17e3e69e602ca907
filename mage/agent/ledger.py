"""The session of a durable run: commands that are found in its journal or given to it, and what others write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import final

from returns.pipeline import is_successful

from mage.agent.performing import Commit, Refresh
from mage.agent.reel import PLACE, Recorded, Reel
from mage.agent.spelling import policy_in
from mage.agent.tape import BadTape
from mage.effects import Notice, NotRestored, Restored, lasts
from mage.engine import Command, Grow, Refusal, State, Step, StepId, apply
from mage.engine.journal import Operation
from mage.memory.journal import BadEffect, Tally
from mage.memory.notices import told_once
from mage.memory.policy import Policy
from mage.memory.requests import Overtaken, Seen
from mage.memory.revise import differing, lasting_of
from mage.session import Conflict, Entry, Refused

__all__ = ["Ledger"]


@final
class Ledger:
    """The state of the session, and what its journal says of failures.

    Args:
        recorded: what is there of the run.
        reel: where it is read.
        policy: in force from where the run goes live; None for the one on the tape.
        remembered: kept from there on for whoever resumes the run; None for what the tape has.

    Attributes:
        state: where the program stands.
        policy: in force.
        counts: what the journal says of failures; it counts on.
        effects: what each step has done to the world, where that was declared.
    """

    def __init__(
        self,
        recorded: Recorded,
        reel: Reel,
        policy: Policy | None,
        remembered: Mapping[str, object] | None = None,
    ) -> None:
        self.state = recorded.state
        self.policy = recorded.policy
        self._base = recorded.version
        self._reel = reel
        self._given = policy
        self._remembered = recorded.remembered
        self._to_remember = remembered
        self._tally = Tally(recorded.counts, recorded.effects)
        self._lasting = set(lasting_of(self._tally.effects))
        self.counts = self._tally.counts
        self.effects = self._tally.effects

    @property
    def version(self) -> int:
        """The version of the session that the state is at."""
        return self._base + self._reel.done

    async def operate(self, command: Operation, meta: Mapping[str, object]) -> State | Refusal:
        """Find a command in the journal, or give it to the session; return the new state, or why not.

        Raises:
            Overtaken: somebody else had written; the tape says so, then and from then on.
            TapeDiverged: the tape goes on, where the journal does not hold the command.
        """
        result = apply(self.state, command)
        if not is_successful(result):
            return result.failure()
        if result.unwrap() is self.state:
            return self.state
        if self._reel.overtaken(self.version) is not None:
            self._reel.next("overtaken")
            raise Overtaken
        entry = self._reel.own_entry(type(command))
        if entry is not None:
            self._fold(entry.command, entry.meta)  # as recorded: its texts may have been redacted
            return self.state
        if not self._reel.goes_live("command"):
            raise self._reel.diverged(type(command).__name__)
        await self._give(command, meta)
        self._fold(command, meta)
        return self.state

    async def _give(self, command: Operation, meta: Mapping[str, object]) -> None:
        try:
            if self._reel.unread:
                raise Overtaken
            await Commit(command, {**meta, PLACE: self._reel.answers})
        except (
            Conflict,
            Overtaken,
            Refused,
        ):  # refused: texts were taken out meanwhile, and it is another state
            observation = {"observation": command.observation} if isinstance(command, Grow) else {}
            await self._reel.note("overtaken", {**meta, **observation, "version": self.version})
            raise Overtaken from None

    def _fold(self, command: Command, meta: Mapping[str, object]) -> None:
        self.state = apply(self.state, command).unwrap()
        self._reel.done += 1
        try:
            self._tally.add(command, meta, self.state)
        except BadEffect as error:
            raise BadTape(str(error)) from error
        step = self.state.tree.step_head
        if lasts(self.effects.get(step)):
            self._lasting.add(step)

    async def look(self) -> Seen:
        """Return where the program stands, and take what has changed outside."""
        reel = self._reel
        followed = False
        while (entry := reel.peek()) is not None and entry.kind in ("taken", "policy", "remembered"):
            reel.next(entry.kind)
            if entry.kind == "policy":
                self.policy = policy_in(entry.data)
            elif entry.kind == "remembered":
                self._remembered = entry.data
            else:
                self._take(reel.upto(entry.data["version"] - self._base))
                followed = True
        if reel.live and not reel.is_behind:  # else it was looked, and nothing was seen
            followed |= await self._look_around()
        return Seen(self.state, self.policy, self.counts, self.news(), followed, self.effects)

    def news(self) -> tuple[Notice, ...]:
        """Return what the model should know of a world that was brought back, and is not what it was; once."""
        resumed, self._reel.resumed = self._reel.resumed, []
        return tuple(notice for answer in resumed for notice in _news_of(answer))

    @property
    def lasting(self) -> Set[StepId]:
        """The steps whose actions must never be performed again, wherever they are; it grows with the tree."""
        return self._lasting

    def lasting_on(self, path: Iterable[Step]) -> frozenset[StepId]:
        """Return those of them that are on a path. Cost: O(length of the path)."""
        return frozenset(step.id for step in path if step.id in self._lasting)

    async def _look_around(self) -> bool:
        """See what has changed outside, and note it; tell whether somebody else has written."""
        if self._given is not None and self._given != self.policy:
            await self._reel.note("policy", self._given.document())
            self.policy = self._given
        if self._to_remember is not None and self._to_remember != self._remembered:
            await self._reel.note("remembered", self._to_remember)
            self._remembered = self._to_remember
        found = await Refresh(self.version)
        if found.state is not None:
            self.state = found.state
        if not found.entries:
            return False
        await self._reel.note("taken", {"version": found.entries[-1].version})
        self._take(found.entries)
        return True

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._fold(entry.command, entry.meta)


def _news_of(answer: Restored | NotRestored) -> Sequence[Notice]:
    """Return what the model should know of a world that was brought back when the run was resumed."""
    if isinstance(answer, NotRestored):
        told = "The run was resumed, and the world could not be brought back:"
        return (told_once("diverged", told, answer.reason),)
    differs = differing(answer)
    return () if differs is None else (told_once("diverged", f"The run was resumed, and {differs}."),)
