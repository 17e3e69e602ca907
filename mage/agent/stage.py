"""The environment of a durable run: nothing is done in it before that was noted, nor twice in silence (D14)."""

from __future__ import annotations

from typing import Final, final

import attrs

from mage.agent.answering import answered, expected, failed, played, told
from mage.agent.ledger import Ledger
from mage.agent.observations import observed_of
from mage.agent.performing import Perform
from mage.agent.reel import Reel
from mage.agent.restore import foreseen
from mage.agent.spelling import spelled
from mage.effects import (
    Act,
    ActionEffect,
    Begin,
    EffectError,
    Foresight,
    Irreversible,
    Metered,
    NotRestored,
    Observed,
    Restore,
    Restored,
    lasts,
)
from mage.engine import Grow
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.requests import Overtaken, Twice, Uncertain
from mage.memory.revise import differing

__all__ = ["Stage"]

_ACT: Final = "act"


@final
class Stage:
    """Where actions are performed, and the world is brought back.

    Args:
        reel: where the run is read.
        ledger: says where it stands.
        repeatable: whether the world can be restored, so that an interrupted action may be repeated.
        foresees: what an action would do, as far as the world knows beforehand.
    """

    def __init__(self, reel: Reel, ledger: Ledger, *, repeatable: bool, foresees: Foresight) -> None:
        self._reel = reel
        self._ledger = ledger
        self._repeatable = repeatable
        self._foresees = foresees
        self._began = False
        self._world_is_here = False

    async def begin(self, request: Begin) -> object:
        """Let the world begin."""
        return await self._brought(request, "started")

    async def restore(self, request: Restore) -> object:
        """Bring the world back; one that cannot be restored and was interrupted in it is not touched again."""
        request = attrs.evolve(request, lasting=self._ledger.lasting_on(request.path))
        reel = self._reel
        if reel.next("restoring") is None:
            await reel.note("restoring", {"steps": len(request.plan)})
        elif reel.peek() is None and request.plan and not self._repeatable:
            reel.goes_live("restored")
            half_way = NotRestored("the run was interrupted while it was brought back; it may be half way")
            return (await told(reel, "restored", Metered(half_way))).value
        return await self._brought(request, "restored")

    async def _brought(self, request: Begin | Restore, kind: str) -> object:
        """Return what the world answers; if it is asked now, it is in this process, and where it should be."""
        asked_now = self._reel.peek() is None
        self._began = True
        answer = await answered(self._reel, request, kind)
        self._world_is_here |= asked_now
        return answer.value

    async def act(self, request: Act) -> Observed | Uncertain | Twice:
        """Perform an action, or return what came of it. What nobody knows is repeated only in a world brought back.

        Raises:
            Overtaken: the world was not what the decision was made for, so it was not performed.
            EffectError: the world could not perform it.
            TapeDiverged: the tape was about to perform another one, or this one somewhere else.
        """
        reel = self._reel
        instead = reel.overtaken(self._ledger.version)
        if instead is not None and instead.data.get("instead") == _ACT:
            reel.next("overtaken")
            raise Overtaken
        noted = reel.next("acting")
        if noted is None:
            return await self._intended(request)
        if (noted.data["action"], noted.data["after"]) != (request.action, request.after):
            raise reel.diverged("acting", "acting otherwise")
        repeated = self._was_repeated()
        no_step = reel.next("act_failed") if reel.is_next("act_failed") else None
        if no_step is not None:
            played("act_failed", no_step)  # raises, as it did
        there = self._what_came_of_it()
        if there is not None:
            return _told(there, repeated=repeated)
        if not reel.goes_live("act_failed"):
            raise reel.diverged("grow")
        if self._may_last(request.action, foreseen=noted.data.get("lasts") is True):
            return Uncertain(Irreversible("it is not known whether it was done"))
        if reel.unread or not self._repeatable or not (await self.bring_back()):
            return Uncertain()
        await reel.note("again", {"action": request.action})
        return _told((await self._performed(request)), repeated=True)

    async def _intended(self, request: Act) -> Observed:
        """Perform a new action, once it is noted, and whether it is known to last."""
        if not (await self.bring_back()):
            await self._reel.note("overtaken", {"instead": _ACT, "version": self._ledger.version})
            raise Overtaken
        intended: dict[str, object] = {"action": request.action, "after": request.after}
        if lasts(self._foreseen(request.action)):
            intended["lasts"] = True  # a world that is asked later may have forgotten it
        await self._reel.note("acting", intended)
        return await self._performed(request)

    def _was_repeated(self) -> bool:
        """Take what the tape says of how often the action was performed again."""
        repeated = False
        while self._reel.is_next("again"):
            self._reel.next("again")
            repeated = True
        return repeated

    def _may_last(self, action: str, *, foreseen: bool) -> bool:
        """Tell whether an action that was interrupted may last, so that it must not be done again in silence.

        It does where the world foresees it, or the same one did before. Where nobody foresees what it does, it may
        in a world of which it is known that it said so only afterwards.
        """
        tree, lasting = self._ledger.state.tree, self._ledger.lasting
        effect = self._foreseen(action)
        lasted = {tree.step(step).action for step in lasting}
        if foreseen or lasts(effect) or action in lasted:
            return True
        return effect is None and not all(lasts(self._foreseen(each)) for each in lasted)

    def _foreseen(self, action: str) -> ActionEffect | None:
        return foreseen(self._foresees, action)

    async def _performed(self, request: Act) -> Observed:
        try:
            seen: Observed = expected("started", (await Perform(request)))
        except EffectError as error:
            await failed(self._reel, "act_failed", error)
            raise
        return seen

    def _what_came_of_it(self) -> Observed | Uncertain | None:
        """Return what an action of the tape came to: the step that was grown behind it tells."""
        overtaken = self._reel.overtaken(self._ledger.version)
        if overtaken is not None:
            return observed_of(str(overtaken.data.get("observation", "")), overtaken.data)
        entry = self._reel.own_entry(Grow)
        if entry is not None and isinstance(entry.command, Grow):
            return observed_of(entry.command.observation, entry.meta)
        return None

    async def bring_back(self) -> bool:
        """In a new process, let the world become what the path says; tell whether it is that.

        A world that cannot be restored is taken to be what it was: it went on by itself, or was left alone.
        """
        if self._world_is_here or not self._began or not self._repeatable:
            return True
        self._world_is_here = True
        tree = self._ledger.state.tree
        path = tuple(trace(tree, ROOT_STEP, tree.step_head))
        request = Restore(path, lasting=self._ledger.lasting_on(path))
        answer: Restored | NotRestored
        try:
            answer = expected("restored", (await Perform(request)))
        except EffectError as error:
            answer = NotRestored(str(error))
        await self._reel.note("resumed", spelled("resumed", answer))
        self._reel.resumed.append(answer)
        return isinstance(answer, Restored) and differing(answer) is None


def _told(answer: Observed | Uncertain, *, repeated: bool) -> Observed | Uncertain | Twice:
    """Return an answer; of an action that was repeated, and turns out to last, it says so."""
    if repeated and isinstance(answer, Observed) and lasts(answer.effect):
        return Twice(answer)
    return answer
