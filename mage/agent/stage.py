"""The world of a durable run: nothing is done in it before that was noted, nor twice in silence (D14)."""

from __future__ import annotations

from typing import cast, final

from mage.agent.answering import answered, failed, played, told
from mage.agent.asks import Uncertain
from mage.agent.ledger import Ledger
from mage.agent.observations import observed_of
from mage.agent.performing import Perform
from mage.agent.reel import Reel
from mage.agent.spelling import spelled
from mage.effects import Act, Begin, EffectError, Metered, NotRestored, Observed, Restore, Restored
from mage.engine import Grow
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.session.asks import Program, ask

__all__ = ["Stage"]


@final
class Stage:
    """Where actions are performed, and the world is brought back.

    Args:
        reel: where the run is read.
        ledger: says where it stands.
        repeatable: whether the world can be restored, so that an interrupted action may be repeated.
    """

    def __init__(self, reel: Reel, ledger: Ledger, *, repeatable: bool) -> None:
        self._reel = reel
        self._ledger = ledger
        self._repeatable = repeatable
        self._world_is_here = False

    def begin(self, request: Begin) -> Program[object]:
        """Let the world begin."""
        return (yield from self._brought(request, "started"))

    def restore(self, request: Restore) -> Program[object]:
        """Bring the world back; one that cannot be restored and was interrupted in it is not touched again."""
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
        answer = yield from answered(self._reel, request, kind)
        self._world_is_here |= asked_now
        return answer.value

    def act(self, request: Act) -> Program[Observed | Uncertain]:
        """Perform an action, or return what came of it. What nobody knows is repeated only in a world brought back."""
        reel = self._reel
        if reel.next("acting") is None:
            yield from self._bring_back()
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
        if reel.unread or not self._repeatable:
            return Uncertain()
        yield from self._bring_back()
        return (yield from self._performed(request))

    def _performed(self, request: Act) -> Program[Observed]:
        try:
            return cast("Observed", (yield from ask(Perform(request))))
        except EffectError as error:
            yield from failed(self._reel, "act_failed", error)
            raise

    def _what_came_of_it(self) -> Observed | Uncertain | None:
        """Return what an action of the tape came to: the step that was grown behind it tells."""
        entry = self._reel.own_entry(Grow)
        if entry is not None and isinstance(entry.command, Grow):
            return observed_of(entry.command.observation, entry.meta)
        overtaken = self._reel.peek()
        if overtaken is not None and overtaken.kind == "overtaken":  # it, and not a command behind the step
            return observed_of(str(overtaken.data.get("observation", "")), overtaken.data)
        return None

    def _bring_back(self) -> Program[None]:
        """In a new process, let the world become what the path says, before anything is done in it."""
        if self._world_is_here:
            return
        self._world_is_here = True
        tree = self._ledger.state.tree
        path = tuple(trace(tree, ROOT_STEP, tree.step_head))
        try:
            answer = cast("Restored | NotRestored", (yield from ask(Perform(Restore(path)))))
        except EffectError as error:
            answer = NotRestored(str(error))
        yield from self._reel.note("resumed", spelled("resumed", answer))
        self._reel.resumed.append(answer)
