"""Restore an environment to an earlier step (D14): one program, for environments that are called or awaited.

A `Restorer` reports an environment as restored only where it knows the environment's place. So it forgets the place
before it calls an operation, and sets it again after the operation has returned: an exception or a cancelled await in
the middle leaves the environment `Lost`, with the reason. Only a reset or a snapshot ends that.

    places          where an environment is, by the actions performed in it; the snapshots kept of such places
    Restorer        the program: resets, acts and restores by the operations of one environment
    Restorable, AsyncRestorable    an environment that restores itself, made of any other: an agent runs on it
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from inspect import iscoroutine
from typing import Any, Literal, NewType, TypeAlias, final

import attrs

from mage.chat import offered
from mage.effects import (
    ACTION_EFFECTS,
    RESET,
    ActionEffect,
    AsyncEnvironment,
    BadEnvironment,
    Capabilities,
    CustomRestore,
    Decide,
    Divergence,
    EffectError,
    Environment,
    Foresight,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Reversible,
    Snapshots,
    Undo,
    lasts,
)
from mage.effects.questions import Ask, drive, drive_awaited
from mage.engine import FoldRequest, JudgeRequest, Step
from mage.engine.ids import ROOT_STEP, StepId
from mage.engine.text import as_text, is_blank
from mage.memory.requests import awaitable
from mage.memory.revise import first_in_the_way, leaves_no_trace, undo_line
from mage.stores.records import is_marker

# -- places ----------------------------------------------------------------------------------------------

Trail = NewType("Trail", bytes)
"""A hash over the observation of the reset and the contents (a, o) of the steps performed since.

So equal paths are one place, whatever ids their steps have, and a place has the same size at every depth.
"""


@final
@attrs.frozen
class Place:
    """The known place of an environment.

    Attributes:
        trail: the steps performed in it, as recorded.
        divergences: the steps whose observation differed when they were last performed again, in path order.
        over: whether the environment takes no more actions.
    """

    trail: Trail
    divergences: tuple[Divergence, ...] = ()
    over: bool = False

    def after(self, action: str, seen: Observed) -> Place:
        """Return where the environment is after a new action. Cost: O(length of the content)."""
        return Place(_further(self.trail, action, seen.text), self.divergences, seen.over)

    def again(self, step: Step, seen: Observed) -> Place:
        """Return where the environment is after a step was performed again. Cost: O(length of the content)."""
        trail = _further(self.trail, step.action, step.observation)
        return Place(trail, self.divergences + differs(step, seen), seen.over)


def differs(step: Step, seen: Observed) -> tuple[Divergence, ...]:
    """Return the divergence of an observation from the recorded one; empty where both are equal."""
    return () if as_text(seen.text) == step.observation else (Divergence(step, seen.text),)


@final
@attrs.frozen
class Lost:
    """The place of the environment is unknown: `reason` says why, in one line."""

    reason: str


_Where: TypeAlias = Place | Lost


def trails(opening: str, steps: Sequence[Step]) -> tuple[Trail, ...]:
    """Return the trail before the first of these steps, and after each; `opening`: the observation of the reset.

    Cost: O(length of the contents).
    """
    found = [Trail(hashlib.sha256(_spelled(opening)).digest())]
    for step in steps:
        found.append(_further(found[-1], step.action, step.observation))
    return tuple(found)


def _further(trail: Trail, action: str, observation: str) -> Trail:
    spelled = _spelled(action)
    longer = hashlib.sha256(trail)
    longer.update(b"%d:" % len(spelled))  # where the action ends: ("a", "bc") is not ("ab", "c")
    longer.update(spelled)
    longer.update(_spelled(observation))
    return Trail(longer.digest())


def _spelled(text: str) -> bytes:
    return as_text(text).encode("utf-8", "surrogatepass")


@final
@attrs.frozen
class Kept:
    """A snapshot of the environment at a place."""

    place: Place
    snapshot: object


@final
class KeptSnapshots:
    """A bounded number of snapshots in memory: dense among new ones, sparser with age.

    So each place has a snapshot not far above it, from which the rest of the path is replayed. A place counts as new
    again when another action is performed there, so a boundary that the agent returned to keeps its snapshot.

    Args:
        most: the most snapshots that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._time = 0
        self._kept: dict[Trail, tuple[int, Kept]] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, kept: Kept) -> None:
        """Keep a snapshot, in place of an earlier one of the same place. Cost: O(most)."""
        if self._most < 1:
            return
        self._kept.pop(kept.place.trail, None)
        self._time += 1
        self._kept[kept.place.trail] = (self._time, kept)
        if len(self._kept) > self._most:
            del self._kept[self._least_missed()]

    def _least_missed(self) -> Trail:
        """Return the snapshot whose removal leaves the smallest gap for its age. Never the newest."""
        known = [(time, trail) for trail, (time, _) in self._kept.items()]
        before = 0
        gaps: list[tuple[float, int]] = []
        for at, (time, _) in enumerate(known[:-1]):
            gaps.append(((known[at + 1][0] - before) / (self._time + 1 - time), at))
            before = time
        return known[min(gaps)[1]][1]

    def get(self, trail: Trail) -> Kept | None:
        """Return the snapshot of a place, if it is kept."""
        found = self._kept.get(trail)
        return None if found is None else found[1]


# -- the program -----------------------------------------------------------------------------------------


@final
@attrs.frozen
class _Call(Ask[Any]):  # Any: what the operation returns
    """Call an operation of the environment; an `AsyncEnvironment` has the result awaited."""

    name: str
    operation: Callable[..., Any]  # Any: each operation has arguments and an answer of its own
    given: tuple[object, ...] = ()


def _called(call: _Call) -> object:
    answer = call.operation(*call.given)
    if iscoroutine(answer):
        answer.close()
        raise BadEnvironment(f"{call.name} returned a coroutine; an `async def` belongs to AsyncAgent")
    return answer


async def _awaited(call: _Call) -> object:
    return await awaitable(f"environment's {call.name}", call.operation(*call.given))


@final
@attrs.frozen
class _Arrived:
    how: Literal["snapshot", "replay", "inverses", "nothing"]
    place: Place
    lasted: tuple[StepId, ...] = ()


_Ending: TypeAlias = _Arrived | NotRestored


@final
class Restorer:
    """The place of one environment, and the programs that move it. The one mutable value of this module.

    Attributes:
        capabilities: the declared capabilities of the environment; read once.

    Raises:
        BadEnvironment, BadTool: see `capabilities_of`.
    """

    def __init__(self, environment: Environment | AsyncEnvironment) -> None:
        self.capabilities = capabilities_of(environment)
        self._environment = environment
        self._restoring = self.capabilities.restoring
        self._kept = KeptSnapshots(self._restoring.keep if isinstance(self._restoring, Snapshots) else 0)
        self._where: _Where = Lost("it was not begun here, and nobody knows what was done to it before")
        self._opening = ""  # the observation of the last reset; empty where it was blank
        self._silent = False  # whether the opening was blank, as far as this process knows

    async def reset(self) -> Observed:
        """Reset the environment to the start of the task."""
        before, self._where = self._where, Lost("its reset was interrupted")
        try:
            seen = await self._reset()
        except EffectError:  # the environment says that it did nothing
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
            seen = await self._perform(action)
        except EffectError:  # the environment says that it did nothing
            self._where = before
            raise
        self._where = before.after(action, seen) if isinstance(before, Place) else before
        return seen

    async def restore(self, request: Restore) -> Restored | NotRestored:
        """Restore the environment to its place after the last step of a path."""
        if isinstance(self._restoring, CustomRestore):
            return _as_restored(await _Call("restore", self._restoring.restore, (request,)))
        path = tuple(step for step in request.path if step.id != ROOT_STEP)
        before, self._where = self._where, Lost("its restoring was interrupted")
        there = self._unless_changed(before, path, request.plan)
        if there is not None:
            ending: _Ending = there
        elif self._restoring == "inverses":
            ending = await self._undo(before, path, request.plan)
        else:
            ending = await self._return(path, request.lasting)
        if isinstance(ending, NotRestored):
            self._where = Lost(ending.reason)
            return ending
        self._where = ending.place
        return Restored(ending.how, ending.place.divergences, ending.place.over, ending.lasted)

    def _unless_changed(
        self, where: _Where, path: Sequence[Step], undoing: Sequence[Undo]
    ) -> _Arrived | None:
        """Return the environment's place if no action since the end of `path` had an effect; else None."""
        if not isinstance(where, Place) or not self._comes_from(where, path, undoing):
            return None
        undone = self._performed(path, undoing)
        if not leaves_no_trace(undone) or (undone and where.over):
            return None
        left = {undo.step.id for undo in undoing}
        divergences = tuple(each for each in where.divergences if each.step.id not in left)
        return _Arrived("nothing", Place(self._trails(path)[-1], divergences, where.over))

    async def _undo(self, where: _Where, path: Sequence[Step], undoing: Sequence[Undo]) -> _Ending:
        """Go back by inverses, all or none: a step without an inverse is reported before any step is undone."""
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
                    over = (await self._perform(undo.effect.inverse)).over
                except EffectError as error:
                    return NotRestored(f"{undo_line(undo)}, but that failed: {error.detail}")
        return _Arrived("inverses", Place(self._trails(path)[-1], (), over))

    async def _return(self, path: Sequence[Step], lasting: frozenset[StepId]) -> _Ending:
        """Go back by the deepest snapshot on the path, or by a reset, and replay the missing steps.

        Do nothing at all where the replay would repeat an action whose effect lasts.
        """
        way, known = self._restoring, self._trails(path)
        steps = path[len(path) - len(known) + 1 :]
        for depth in range(len(steps), -1, -1):
            kept = self._kept.get(known[depth])
            if kept is not None and isinstance(way, Snapshots) and await self._put_back(way, kept):
                how: Literal["snapshot", "replay"] = "snapshot" if depth == len(steps) else "replay"
                return await self._replay(steps[depth:], kept.place, how)
            again = self._not_to_be_done_again(steps[depth - 1], lasting) if depth else None
            if again is not None:
                return again
        return await self._replay_all(path)

    async def _replay_all(self, path: Sequence[Step]) -> _Ending:
        try:
            seen = await self._reset()
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
        """Perform all steps again. An observation that differs is reported, and does not stop the replay.

        Nor does an effect that the environment declares as lasting only now, after the repetition.
        """
        lasted: list[StepId] = []
        for step in steps:
            await self._keep(place)
            try:
                seen = await self._perform(step.action)
            except EffectError as error:
                return NotRestored(f"[Step {step.id}] could not be performed again: {error.detail}")
            if lasts(seen.effect):
                lasted.append(step.id)
            place = place.again(step, seen)
        return _Arrived(how, place, tuple(lasted))

    async def _keep(self, place: Place) -> None:
        """Take a snapshot before an action. Where that fails, a later restore replays the steps instead."""
        if not isinstance(self._restoring, Snapshots):
            return
        try:
            snapshot: object = await _Call("take", self._restoring.take)
        except EffectError:
            return
        self._kept.put(Kept(place, snapshot))

    async def _put_back(self, snapshots: Snapshots, kept: Kept) -> bool:
        try:
            await _Call("put_back", snapshots.put_back, (kept.snapshot,))
        except EffectError:
            return False
        return True

    async def _reset(self) -> Observed:
        return _observed(await _Call("reset", self._environment.reset), "reset")

    async def _perform(self, action: str) -> Observed:
        """Perform an action, new or again, or the inverse of one."""
        return _observed(await _Call("act", self._environment.act, (action,)), "act")

    def _is_opened_by(self, path: Sequence[Step]) -> bool:
        """Tell whether the first step of a path is the environment's opening observation, and no action of the agent.

        In a new process, an action "reset" by an agent in a silent environment counts as one: at worst a divergence.
        """
        first = path[0] if path and not self._silent else None
        return first is not None and first.action == RESET and not is_blank(first.observation)

    def _trails(self, path: Sequence[Step]) -> tuple[Trail, ...]:
        if self._is_opened_by(path):
            return trails(path[0].observation, path[1:])
        return trails(self._opening, path)

    def _comes_from(self, where: Place, path: Sequence[Step], undoing: Sequence[Undo]) -> bool:
        """Tell whether exactly the steps of `path`, and then those of `undoing`, were performed in the environment."""
        done = [*path, *(undo.step for undo in reversed(undoing))]
        return where.trail == self._trails(done)[-1]

    def _not_to_be_done_again(self, step: Step, lasting: frozenset[StepId]) -> NotRestored | None:
        """Return why an action must not be performed again; None where it may be."""
        if step.id in lasting or lasts(foreseen(self.capabilities.foresees, step.action)):
            return NotRestored(f"what was done at [Step {step.id}] cannot be undone, so it is not done again")
        if is_marker(step.action):
            return NotRestored(f"the action of [Step {step.id}] was redacted")
        return None

    def _performed(self, path: Sequence[Step], undoing: Sequence[Undo]) -> Sequence[Undo]:
        """Return the entries of a plan whose actions were performed: all but the opening observation."""
        opened = not path and self._is_opened_by([undo.step for undo in undoing[-1:]])
        return undoing[:-1] if opened else undoing


def _opening(seen: Observed) -> str:
    """Return the observation of a reset; empty where it is blank, so that it becomes no step."""
    return "" if is_blank(seen.text) else seen.text


def _observed(given: object, by: str) -> Observed:
    if isinstance(given, str):
        return Observed(given)
    if isinstance(given, Observed):
        return given
    raise BadEnvironment(f"{by} returned a {type(given).__name__}; return a str, or an Observed")


def _as_restored(given: object) -> Restored | NotRestored:
    if isinstance(given, Restored | NotRestored):
        return given
    raise BadEnvironment(
        f"restore returned a {type(given).__name__}; return Restored(...) or NotRestored(...)"
    )


def foreseen(foresees: Foresight, action: str) -> ActionEffect | None:
    """Return the effect that an environment foresees of an action; None where it foresees none.

    Raises:
        BadEnvironment: `foresees` returned another type. A coroutine is closed, as it is never awaited.
    """
    effect: object = foresees(action)
    if effect is None or isinstance(effect, ACTION_EFFECTS):
        return effect
    hint = "return an effect, such as Irreversible(), or None"
    if iscoroutine(effect):
        effect.close()
        hint = "it is called also in an AsyncEnvironment, and must be no `async def`"
    raise BadEnvironment(f"Capabilities.foresees returned a {type(effect).__name__}; {hint}")


# -- the environments that agents run on -----------------------------------------------------------------


@final
class Restorable:
    """An environment that restores itself, made of any other; for one run at a time.

    `restore` does nothing where no action since then had an effect. Else it goes to the deepest snapshot on the
    path, or resets, and performs the missing steps again; each observation that differs is a `Divergence`, reported
    by every answer whose path has that step. An environment without snapshots and replay is undone by the inverses of
    the plan, all or none. Where that is impossible the answer is `NotRestored`, and so is each later one until a
    reset.

    Attributes:
        capabilities: the environment's, except `restoring`, which is `restore`.

    Raises:
        BadEnvironment, BadTool: see `capabilities_of`.
    """

    def __init__(self, environment: Environment) -> None:
        self._restorer = Restorer(environment)
        self.capabilities = _restoring_itself(self._restorer.capabilities, self.restore)

    def reset(self) -> Observed:
        """Reset the environment, and return its first observation."""
        return drive(self._restorer.reset(), _called)

    def act(self, action: str, /) -> Observed:
        """Perform an action. Cost: the environment's, and that of a snapshot where it takes snapshots."""
        return drive(self._restorer.act(action), _called)

    def restore(self, request: Restore, /) -> Restored | NotRestored:
        """Restore. Cost: O(contents of the path), and that of the actions that are performed again."""
        return drive(self._restorer.restore(request), _called)


@final
class AsyncRestorable:
    """The twin of `Restorable`, for an `AsyncEnvironment`."""

    def __init__(self, environment: AsyncEnvironment) -> None:
        self._restorer = Restorer(environment)
        self.capabilities = _restoring_itself(self._restorer.capabilities, self.restore)

    async def reset(self) -> Observed:
        """See `Restorable.reset`."""
        return await drive_awaited(self._restorer.reset(), _awaited)

    async def act(self, action: str, /) -> Observed:
        """See `Restorable.act`."""
        return await drive_awaited(self._restorer.act(action), _awaited)

    async def restore(self, request: Restore, /) -> Restored | NotRestored:
        """See `Restorable.restore`."""
        return await drive_awaited(self._restorer.restore(request), _awaited)


def _restoring_itself(
    capabilities: Capabilities,
    restore: Callable[[Restore], Any],  # Any: an answer, or an awaitable of it
) -> Capabilities:
    return attrs.evolve(capabilities, restoring=CustomRestore(restore, capabilities.repeatable))


def introduced(request: Decide, capabilities: Capabilities) -> Decide:
    """Return a question to the model with the tools and the manual of the environment."""
    return attrs.evolve(request, tools=capabilities.tools, manual=capabilities.manual)


def with_manual(
    request: JudgeRequest | FoldRequest, capabilities: Capabilities
) -> JudgeRequest | FoldRequest:
    """Return a question to the judge with the environment's manual, so that the judge reads steps by its rules."""
    return request if isinstance(request, FoldRequest) else attrs.evolve(request, manual=capabilities.manual)


def sound(_agent: object, _field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Check the environment of an agent when the agent is made.

    Raises:
        BadEnvironment, BadTool: see `capabilities_of`.
    """
    capabilities_of(given)


def capabilities_of(environment: object) -> Capabilities:
    """Return the declared capabilities of an environment.

    Raises:
        BadEnvironment: a class instead of an object, or a method or `capabilities` is missing; the message says which.
        BadTool: two of its tools have the same name, or a tool has the name of one of the agent's own tools.
    """
    if isinstance(environment, type):
        made = environment.__name__
        raise BadEnvironment(
            f"the environment is the class {made}, and must be one of its objects: {made}(...)"
        )
    name = type(environment).__name__
    lacking = [each for each in ("reset", "act") if not callable(getattr(environment, each, None))]
    if lacking:
        raise BadEnvironment(f"{name} is no environment: it lacks `{'` and `'.join(lacking)}`")
    said = getattr(environment, "capabilities", None)
    if not isinstance(said, Capabilities):
        apart = [each for each in ("tools", "manual") if hasattr(environment, each)]
        raise BadEnvironment(
            f"{name} does not say what it can do (mage.effects.Capabilities): give it `capabilities = Capabilities()`, or"
            ' `Capabilities("replay")` if after `reset` the same actions do the same'
            + f"; its {' and '.join(apart)} belong in there, too"
            * bool(apart)
        )
    offered(said.tools)
    return said
