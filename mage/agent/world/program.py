"""How a world goes back: one program for both twins (D14).

It is never said that the world is what it was unless it is known to be. So the place is forgotten before
anything is asked of the environment, and known again when the answer is there: whatever ends an action or a
restoring half way (an exception, a cancelled await) leaves a world that is `Lost`, and says why. Only a world
that can be reset or put back is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, final

import attrs

from mage.agent.environment import RESET, Restoring
from mage.agent.world.asks import Perform, PutBack, Reset, TakeSnapshot
from mage.agent.world.places import Kept, KeptSnapshots, Lost, Place, Trail, Where, differs, trails
from mage.effects import (
    EffectError,
    Foresight,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Reversible,
    Undo,
    lasts,
)
from mage.engine import Step
from mage.engine.ids import ROOT_STEP, StepId
from mage.engine.text import is_blank
from mage.memory.revise import first_in_the_way, leaves_no_trace, undo_line
from mage.stores.records import is_marker

__all__ = ["Restorer"]


@final
@attrs.frozen
class _Arrived:
    how: Literal["snapshot", "replay", "inverses", "nothing"]
    place: Place
    lasted: tuple[StepId, ...] = ()


_Ending: TypeAlias = _Arrived | NotRestored


@final
class Restorer:
    """Where a world is, and the programs that move it. The one mutable value of this room.

    Args:
        restoring: how its environment is restored.
        keep: how many snapshots are kept.
        foresees: what an action would do, as far as its environment knows beforehand.
    """

    def __init__(self, restoring: Restoring, keep: int, foresees: Foresight) -> None:
        self._restoring = restoring
        self._foresees = foresees
        self._kept = KeptSnapshots(keep)
        self._where: Where = Lost("it was not begun here, and nobody knows what was done to it before")
        self._opening = ""  # what the last reset showed; blank for nothing
        self._silent = False  # whether the task began with nothing shown, as far as this process knows

    async def begin(self) -> Observed:
        """Be as at the start of the task."""
        before, self._where = self._where, Lost("its reset was interrupted")
        try:
            seen = await Reset()
        except EffectError:  # not done, says the environment
            self._where = before
            raise
        self._opening = _opening(seen)
        self._silent = not self._opening
        self._where = Place(trails(self._opening, ())[0], (), seen.over)
        return seen

    async def act(self, action: str) -> Observed:
        """Perform a new action."""
        before = self._where
        if isinstance(before, Place):
            self._where = Lost("its last action was interrupted, and nobody knows whether it was performed")
            await self._keep(before)
        try:
            seen = await Perform(action)
        except EffectError:  # not done, says the environment
            self._where = before
            raise
        self._where = before.after(action, seen) if isinstance(before, Place) else before
        return seen

    async def restore(self, request: Restore) -> Restored | NotRestored:
        """Become what the world was after the last step of a path."""
        path = tuple(step for step in request.path if step.id != ROOT_STEP)
        before, self._where = self._where, Lost("its restoring was interrupted")
        there = self._unless_changed(before, path, request.plan)
        if there is not None:
            ending: _Ending = there
        elif self._restoring == "none":
            ending = await self._undo(before, path, request.plan)
        else:
            ending = await self._return(path, request.lasting)
        if isinstance(ending, NotRestored):
            self._where = Lost(ending.reason)
            return ending
        self._where = ending.place
        return Restored(ending.how, ending.place.divergences, ending.place.over, ending.lasted)

    def _unless_changed(self, where: Where, path: Sequence[Step], undoing: Sequence[Undo]) -> _Arrived | None:
        """Return where the world is if nothing that had an effect was done to it since the end of `path`."""
        if not isinstance(where, Place) or not self._comes_from(where, path, undoing):
            return None
        undone = self._performed(path, undoing)
        if not leaves_no_trace(undone) or (undone and where.over):
            return None
        left = {undo.step.id for undo in undoing}
        divergences = tuple(each for each in where.divergences if each.step.id not in left)
        return _Arrived("nothing", Place(self._trails(path)[-1], divergences, where.over))

    async def _undo(self, where: Where, path: Sequence[Step], undoing: Sequence[Undo]) -> _Ending:
        """Go back by inverses, all or none: the first that cannot be undone is told before anything is."""
        if isinstance(where, Lost):
            return NotRestored(where.reason)
        if not self._comes_from(where, path, undoing):
            return NotRestored("other things were done to it than these steps")
        undone = self._performed(path, undoing)
        stuck = first_in_the_way(undone)
        if stuck is not None:
            return NotRestored(undo_line(stuck))
        over = where.over
        for undo in undone:
            if isinstance(undo.effect, Reversible):
                try:
                    over = (await Perform(undo.effect.inverse)).over
                except EffectError as error:
                    return NotRestored(f"{undo_line(undo)}, but that failed: {error.detail}")
        return _Arrived("inverses", Place(self._trails(path)[-1], (), over))

    async def _return(self, path: Sequence[Step], lasting: frozenset[StepId]) -> _Ending:
        """Go back by the deepest snapshot on the path, or by a reset, and replay what is missing.

        Where an action that lasts would have to be performed again, nothing is done at all.
        """
        known = self._trails(path)
        steps = path[len(path) - len(known) + 1 :]
        for depth in range(len(steps), -1, -1):
            kept = self._kept.get(known[depth])
            if kept is not None and (await self._put_back(kept)):
                how: Literal["snapshot", "replay"] = "snapshot" if depth == len(steps) else "replay"
                return await self._replay(steps[depth:], kept.place, how)
            again = self._not_to_be_done_again(steps[depth - 1], lasting) if depth else None
            if again is not None:
                return again
        return await self._replay_all(path)

    async def _replay_all(self, path: Sequence[Step]) -> _Ending:
        try:
            seen = await Reset()
        except EffectError as error:
            return NotRestored(f"it could not be reset: {error.detail}")
        self._opening = _opening(seen)
        start = Place(self._trails(path)[0], (), seen.over)
        if not self._is_opened_by(path):
            return await self._replay(path, start, "replay")
        start = attrs.evolve(start, divergences=differs(path[0], seen))
        return await self._replay(path[1:], start, "replay")

    async def _replay(
        self, steps: Sequence[Step], place: Place, how: Literal["snapshot", "replay"]
    ) -> _Ending:
        """Perform steps again, to the last: what comes back differently is noted, not a reason to stop.

        So is what turns out to last: it was done again, and nobody had known beforehand.
        """
        lasted: list[StepId] = []
        for step in steps:
            await self._keep(place)
            try:
                seen = await Perform(step.action)
            except EffectError as error:
                return NotRestored(f"[Step {step.id}] could not be performed again: {error.detail}")
            if lasts(seen.effect):
                lasted.append(step.id)
            place = place.again(step, seen)
        return _Arrived(how, place, tuple(lasted))

    async def _keep(self, place: Place) -> None:
        """Take a snapshot before an action. Where that fails there is none, and a replay takes its place."""
        if self._restoring != "snapshot":
            return
        try:
            snapshot = await TakeSnapshot()
        except EffectError:
            return
        self._kept.put(Kept(place, snapshot))

    async def _put_back(self, kept: Kept) -> bool:
        try:
            await PutBack(kept.snapshot)
        except EffectError:
            return False
        return True

    def _is_opened_by(self, path: Sequence[Step]) -> bool:
        """Tell whether the first step of a path is what the world showed first, and no action of the agent's.

        In a new process an action "reset" of an agent in a silent world is taken for it: a divergence at worst.
        """
        first = path[0] if path and not self._silent else None
        return first is not None and first.action == RESET and not is_blank(first.observation)

    def _trails(self, path: Sequence[Step]) -> tuple[Trail, ...]:
        if self._is_opened_by(path):
            return trails(path[0].observation, path[1:])
        return trails(self._opening, path)

    def _comes_from(self, where: Place, path: Sequence[Step], undoing: Sequence[Undo]) -> bool:
        """Tell whether exactly `path`, and after it what is to be undone, was done to the world."""
        done = [*path, *(undo.step for undo in reversed(undoing))]
        return where.trail == self._trails(done)[-1]

    def _not_to_be_done_again(self, step: Step, lasting: frozenset[StepId]) -> NotRestored | None:
        """Return why an action must not be performed again, None where it may."""
        if step.id in lasting or lasts(self._foresees(step.action)):
            return NotRestored(f"what was done at [Step {step.id}] cannot be undone, so it is not done again")
        if is_marker(step.action):
            return NotRestored(f"the action of [Step {step.id}] was redacted")
        return None

    def _performed(self, path: Sequence[Step], undoing: Sequence[Undo]) -> Sequence[Undo]:
        """Return what there is to undo: all but the reset, if that is left behind too."""
        opened = not path and self._is_opened_by([undo.step for undo in undoing[-1:]])
        return undoing[:-1] if opened else undoing


def _opening(seen: Observed) -> str:
    """Return what a reset showed; what is blank is nothing, and becomes no step."""
    return "" if is_blank(seen.text) else seen.text
