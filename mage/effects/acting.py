"""What is asked of the world: perform an action, and become what it was at a boundary (D14)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeAlias, final

import attrs
from attrs.validators import deep_iterable, instance_of, optional

from mage.engine import Step, StepId

__all__ = [
    "Act",
    "AsyncWorld",
    "Begin",
    "Compensable",
    "Divergence",
    "Foresight",
    "Irreversible",
    "NoEffect",
    "NotRestored",
    "Observed",
    "Restore",
    "Restored",
    "Reversible",
    "Undo",
    "World",
    "WorldEffect",
    "foresight_of",
    "lasts",
]


@final
@attrs.frozen
class NoEffect:
    """The action only looked: there is nothing to undo."""


@final
@attrs.frozen
class Reversible:
    """The action can be undone by another one.

    Raises:
        TypeError: `inverse` is no text.

    Attributes:
        inverse: that action.
    """

    inverse: str = attrs.field(validator=instance_of(str))


@final
@attrs.frozen
class Compensable:
    """The action cannot be undone, but made good.

    Raises:
        TypeError: `how` is no text.

    Attributes:
        how: what would make it good, for people and for the model.
    """

    how: str = attrs.field(validator=instance_of(str))


@final
@attrs.frozen
class Irreversible:
    """The action can neither be undone nor made good.

    Raises:
        TypeError: `why` is no text.

    Attributes:
        why: one line.
    """

    why: str = attrs.field(default="", validator=instance_of(str))


WorldEffect: TypeAlias = NoEffect | Reversible | Compensable | Irreversible
"""What an action has done to the world, as its environment declares it."""

Foresight: TypeAlias = Callable[[str], WorldEffect | None]
"""Tells beforehand what an action would do; None where nobody knows. Nothing is done by asking."""


def lasts(effect: WorldEffect | None) -> bool:
    """Tell whether an action was declared to last, so that it must never be done again by itself."""
    return isinstance(effect, Compensable | Irreversible)


def foresight_of(world: object) -> Foresight:
    """Return how a world tells beforehand what an action would do; of one without `foresees` nobody knows.

    Who wraps a world has `foresees` too, and passes this on: else what is never to be done again would be.
    """
    told: Foresight | None = getattr(world, "foresees", None)
    return _nobody_knows if told is None else told


def _nobody_knows(_action: str) -> None:
    return None


@final
@attrs.frozen
class Begin:
    """Be as at the start of the task. Answered by what the world shows first, as `Observed`."""


@final
@attrs.frozen
class Act:
    """Perform an action. It was recorded as intended before this is asked.

    Attributes:
        action: in the environment's own words.
        after: the step head that it is performed at.
    """

    action: str
    after: StepId


@final
@attrs.frozen
class Observed:
    """What came back from the world.

    Raises:
        TypeError: a field is of another type; a bare text for `instructions` would be taken for its letters.

    Attributes:
        text: the observation of the step.
        over: whether the world takes no more actions (a game that is won or lost).
        instructions: what is asked for from here on, as with a next subtask; pinned at the new step (D17).
        effect: what the action has done; None where the environment does not say.
    """

    text: str = attrs.field(validator=instance_of(str))
    over: bool = attrs.field(default=False, validator=instance_of(bool))
    instructions: tuple[str, ...] = attrs.field(
        default=(), validator=deep_iterable(instance_of(str), instance_of(tuple))
    )
    effect: WorldEffect | None = attrs.field(
        default=None,
        validator=optional(instance_of((NoEffect, Reversible, Compensable, Irreversible))),
    )


@final
@attrs.frozen
class Undo:
    """One line of the plan for going back: a step that is abandoned, and what it has done to the world.

    Attributes:
        step: the abandoned step.
        effect: what it has done; None where nobody said.
    """

    step: Step
    effect: WorldEffect | None


@final
@attrs.frozen
class Restore:
    """Become what the world was after the last step of `path`.

    Attributes:
        path: the steps from the root to where the agent stands now, in execution order.
        plan: the steps that are abandoned, newest first, each with what it has done. Empty when a run is resumed.
        lasting: those steps of the path whose action was declared compensable or irreversible: whatever else is
            done to restore the world, these actions are never performed again.
    """

    path: tuple[Step, ...]
    plan: tuple[Undo, ...] = ()
    lasting: frozenset[StepId] = frozenset()


@final
@attrs.frozen
class Divergence:
    """An action of the path that, performed again, came back with something else.

    Attributes:
        step: the step as recorded.
        observed: what came back this time.
    """

    step: Step
    observed: str


@final
@attrs.frozen
class Restored:
    """The world is what it was, but for `divergences`.

    Attributes:
        how: by a snapshot, by a reset and the actions of the path, by the inverses of what was abandoned, or
            because there was nothing to do.
        divergences: where it is not as recorded, in path order.
        over: whether the world takes no more actions.
        lasted: steps of the path that were performed again, of which nobody knew that they last: the world has
            said so only then.
    """

    how: Literal["snapshot", "replay", "inverses", "nothing"]
    divergences: tuple[Divergence, ...] = ()
    over: bool = False
    lasted: tuple[StepId, ...] = ()


@final
@attrs.frozen
class NotRestored:
    """The world could not be made what it was; the agent is told.

    Attributes:
        reason: one line.
    """

    reason: str


class World(Protocol):
    """Answers what is asked of the world. `mage.agent.EnvironmentWorld` makes one of an `Environment`.

    One that knows beforehand what an action would do has `foresees` too, a `Foresight` (see `foresight_of`). It is
    asked before each action; one that would last is not performed again after an interruption.

    What it raises, but for `EffectError`, ends the run; the action that was asked for is then uncertain.
    """

    @property
    def repeatable(self) -> bool:
        """Whether `restore` brings back the world of any path, so that an interrupted action may be repeated."""
        ...

    def begin(self, request: Begin, /) -> Observed:
        """Be as at the start of the task, and return what is shown first; a blank text for nothing."""
        ...

    def act(self, request: Act, /) -> Observed:
        """Perform an action."""
        ...

    def restore(self, request: Restore, /) -> Restored | NotRestored:
        """Become what the world was."""
        ...


class AsyncWorld(Protocol):
    """A `World` whose answers are awaited."""

    @property
    def repeatable(self) -> bool:
        """See `World`."""
        ...

    def begin(self, request: Begin, /) -> Awaitable[Observed]:
        """See `World`."""
        ...

    def act(self, request: Act, /) -> Awaitable[Observed]:
        """See `World`."""
        ...

    def restore(self, request: Restore, /) -> Awaitable[Restored | NotRestored]:
        """See `World`."""
        ...
