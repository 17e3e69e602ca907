"""An agent's walk through a world: it acts, goes back to earlier steps, is interrupted, and starts again."""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine
from typing import Any, Final, TypeAlias, TypeVar, final

import attrs
from hypothesis import strategies as st

from mage.agent.restore import AsyncRestorable, Restorable
from mage.effects import RESET, ActionEffect, EffectError, NotRestored, Observed, Restore, Restored
from mage.engine import Step, StepId
from mage.engine.ids import ROOT_STEP
from mage.engine.nodes import ROOT
from mage.engine.text import as_text, is_blank
from mage.memory.revise import plan
from mage.testing import AwaitedEnvironment
from tests.agent.ways import RestoredBy
from tests.agent.world.toy import Spec, Toy

Answer = TypeVar("Answer")


def finished(awaited: Coroutine[Any, Any, Answer]) -> Answer:
    """Run what never really waits."""
    try:
        awaited.send(None)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
    raise AssertionError("it waits")


@final
class Awaited:
    """An `AsyncRestorable` that is called."""

    def __init__(self, environment: AsyncRestorable) -> None:
        self._environment = environment
        self.capabilities = environment.capabilities

    def reset(self) -> Observed:
        return finished(self._environment.reset())

    def act(self, action: str) -> Observed:
        return finished(self._environment.act(action))

    def restore(self, request: Restore) -> Restored | NotRestored:
        return finished(self._environment.restore(request))


@final
@attrs.frozen
class Go:
    """Perform an action."""

    number: int


@final
@attrs.frozen
class Back:
    """Go back by this many steps, or to where nothing was done at all."""

    steps: int


@final
@attrs.frozen
class Interrupted:
    """Die inside an action, before or after it was performed, and go on in the same process."""

    number: int
    performed: bool


@final
@attrs.frozen
class Restart:
    """Go on in a new process, with a new world."""


Move: TypeAlias = Go | Back | Interrupted | Restart
walks: Final = st.lists(
    st.one_of(
        st.builds(Go, st.integers(0, 4)),
        st.builds(Go, st.integers(0, 4)),
        st.builds(Back, st.integers(0, 6)),
        st.builds(Interrupted, st.integers(0, 4), st.booleans()),
        st.just(Restart()),
    ),
    max_size=25,
)


class Stop(BaseException):
    """What kills a process."""


@final
class Interruptible(Toy):
    """A toy in which one can die."""

    def __init__(self, spec: Spec, restoring: RestoredBy, keep: int) -> None:
        super().__init__(spec, restoring, keep=keep)
        self.dying: Interrupted | None = None

    def act(self, action: str) -> Observed | str:
        dying, self.dying = self.dying, None
        if dying is None:
            return super().act(action)
        if dying.performed:
            super().act(action)
        raise Stop


@final
class Walk:
    """Where the agent stands in its tree, and what the world said of it.

    Attributes:
        path: from the root on.
        endings: what every restore has ended in.
        known: whether the world was said to be what the path says.
    """

    def __init__(self, spec: Spec, restoring: RestoredBy, *, awaited: bool = False, keep: int = 4) -> None:
        self.spec = spec
        self.restoring = restoring
        self.path: tuple[Step, ...] = (ROOT,)
        self.endings: list[Restored | NotRestored] = []
        self.known = True
        self.over = False
        self.called: list[str] = []
        self._awaited = awaited
        self._keep = keep
        self._ids: dict[tuple[StepId, str, str], StepId] = {}
        self._effects: dict[StepId, ActionEffect] = {}
        self._new_process()
        self._opening = self.world.reset()
        self._open()

    def _new_process(self) -> None:
        self.toy = Interruptible(self.spec, self.restoring, self._keep)
        self.toy.called = self.called
        self.world = (
            Awaited(AsyncRestorable(AwaitedEnvironment(self.toy))) if self._awaited else Restorable(self.toy)
        )

    def make(self, move: Move) -> None:
        match move:
            case Go(number):
                self._go(str(number % len(self.spec.moves)))
            case Back(steps):
                self._back(steps)
            case Interrupted(number):
                self._die(move, str(number % len(self.spec.moves)))
            case Restart():
                self._new_process()
                self._restore(())

    def _go(self, action: str) -> None:
        if self.over:
            return
        try:
            seen = self.world.act(action)
        except EffectError:
            return
        self.over = seen.over
        self._grow(action, seen)

    def _back(self, steps: int) -> None:
        kept = max(1, len(self.path) - steps)
        left = self.path[kept:]
        self.path = self.path[:kept]
        self._restore(left[::-1])

    def _die(self, dying: Interrupted, action: str) -> None:
        if self.over:
            return
        self.toy.dying = dying
        with contextlib.suppress(Stop, EffectError):
            self.world.act(action)
        self.toy.dying = None
        self._restore(())

    def _restore(self, abandoned: tuple[Step, ...]) -> None:
        ending = self.world.restore(Restore(self.path, plan(abandoned, self._effects)))
        self.endings.append(ending)
        self.known = isinstance(ending, Restored)
        self.over = isinstance(ending, Restored) and ending.over
        self._open()

    def _open(self) -> None:
        if self.path == (ROOT,) and not is_blank(self._opening.text):
            self._grow(RESET, self._opening)

    def _grow(self, action: str, seen: Observed) -> None:
        parent = self.path[-1].id
        key = (parent, action, as_text(seen.text))
        step = self._ids.setdefault(key, StepId(len(self._ids) + 1))
        self.path = (*self.path, Step(step, *key))
        if seen.effect is not None:
            self._effects[step] = seen.effect

    def expected(self) -> int:
        """Return the state of a fresh world that has performed the path."""
        fresh = Toy(self.spec)
        fresh.reset()
        for step in self.path:
            if step.id != ROOT_STEP and step.action != RESET:
                fresh.act(step.action)
        return fresh.state
