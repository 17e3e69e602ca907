"""The world of a durable run: nothing is done in it before that was noted, nor twice in silence (D14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs

from mage.agent.answering import answered, expected, failed, played, told
from mage.agent.asks import Overtaken, Uncertain
from mage.agent.ledger import Ledger
from mage.agent.observations import observed_of
from mage.agent.performing import Perform
from mage.agent.reel import Reel
from mage.agent.spelling import spelled
from mage.effects import (
    Act,
    Begin,
    EffectError,
    Irreversible,
    Metered,
    NotRestored,
    Observed,
    Restore,
    Restored,
)
from mage.engine import Grow
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.session.asks import Program, ask

__all__ = ["Stage"]

_ACT: Final = "act"


@final
class Stage:
    """Where actions are performed, and the world is brought back.

    Args:
        reel: where the run is read.
        ledger: says where it stands.
        repeatable: whether the world can be restored, so that an interrupted action may be repeated.
        foresees: whether an action will not last, as far as the world knows beforehand.
    """

    def __init__(
        self, reel: Reel, ledger: Ledger, *, repeatable: bool, foresees: Callable[[str], bool]
    ) -> None:
        self._reel = reel
        self._ledger = ledger
        self._repeatable = repeatable
        self._foresees = foresees
        self._began = False
        self._world_is_here = False

    def begin(self, request: Begin) -> Program[object]:
        """Let the world begin."""
        return (yield from self._brought(request, "started"))

    def restore(self, request: Restore) -> Program[object]:
        """Bring the world back; one that cannot be restored and was interrupted in it is not touched again."""
        request = attrs.evolve(request, lasting=self._ledger.lasting)
        reel = self._reel
        if reel.next("restoring") is None:
            yield from reel.note("restoring", {"steps": len(request.plan)})
        elif reel.peek() is None and request.plan and not self._repeatable:
            reel.goes_live("restored")
            half_way = NotRestored("the run was interrupted while it was brought back; it may be half way")
            return (yield from told(reel, "restored", Metered(half_way))).value
        return (yield from self._brought(request, "restored"))

    def _brought(self, request: Begin | Restore, kind: str) -> Program[object]:
        """Return what the world answers; if it is asked now, it is in this process, and where it should be."""
        asked_now = self._reel.peek() is None
        self._began = True
        answer = yield from answered(self._reel, request, kind)
        self._world_is_here |= asked_now
        return answer.value

    def act(self, request: Act) -> Program[Observed | Uncertain]:
        """Perform an action, or return what came of it. What nobody knows is repeated only in a world brought back.

        Raises:
            Overtaken: the world was not what the decision was made for, so it was not performed.
            EffectError: the world could not perform it.
        """
        reel = self._reel
        instead = reel.overtaken(self._ledger.version)
        if instead is not None and instead.data.get("instead") == _ACT:
            reel.next("overtaken")
            raise Overtaken
        if reel.next("acting") is None:
            if not (yield from self.bring_back()):
                yield from reel.note("overtaken", {"instead": _ACT, "version": self._ledger.version})
                raise Overtaken
            yield from reel.note("acting", {"action": request.action, "after": request.after})
            return (yield from self._performed(request))
        no_step = reel.next("act_failed") if reel.is_next("act_failed") else None
        if no_step is not None:
            played("act_failed", no_step)  # raises, as it did
        there = self._what_came_of_it()
        if there is not None:
            return there
        if not reel.goes_live("act_failed"):
            raise reel.diverged("grow")
        if self._would_last(request):
            return Uncertain(Irreversible("it is not known whether it was done"))
        if reel.unread or not self._repeatable or not (yield from self.bring_back()):
            return Uncertain()
        return (yield from self._performed(request))

    def _would_last(self, request: Act) -> bool:
        """Tell whether an action would last, as the world foresees, or as the same one was declared to before."""
        tree, lasting = self._ledger.state.tree, self._ledger.lasting
        lasted = any(tree.step(step).action == request.action for step in lasting)
        return lasted or not self._foresees(request.action)

    def _performed(self, request: Act) -> Program[Observed]:
        try:
            seen: Observed = expected("started", (yield from ask(Perform(request))))
        except EffectError as error:
            yield from failed(self._reel, "act_failed", error)
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

    def bring_back(self) -> Program[bool]:
        """In a new process, let the world become what the path says; tell whether it is that.

        A world that cannot be restored is taken to be what it was: it went on by itself, or was left alone.
        """
        if self._world_is_here or not self._began or not self._repeatable:
            return True
        self._world_is_here = True
        tree = self._ledger.state.tree
        path = tuple(trace(tree, ROOT_STEP, tree.step_head))
        request = Restore(path, lasting=self._ledger.lasting)
        answer: Restored | NotRestored
        try:
            answer = expected("restored", (yield from ask(Perform(request))))
        except EffectError as error:
            answer = NotRestored(str(error))
        yield from self._reel.note("resumed", spelled("resumed", answer))
        self._reel.resumed.append(answer)
        return isinstance(answer, Restored) and not answer.divergences
