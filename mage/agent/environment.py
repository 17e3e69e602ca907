"""What users implement to give an agent a world: an `Environment`, as small as it can be.

    from mage.agent.environment import Restoring

    class Lamp:
        restoring: Restoring = "replay"

        def reset(self) -> str:
            self.lit = False
            return "A dark room, a lamp."

        def act(self, action: str) -> str:
            self.lit = action == "light the lamp"
            return "It is bright." if self.lit else "It is dark."

`mage.agent.world.EnvironmentWorld` makes of it what the agent asks. What an environment can do beyond this it
shows by having it: `manual`, `tools`, `snapshot` with `restore`; what its actions do to the world, by
`Observed.effect`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutine
from typing import Any, Final, Literal, Protocol, TypeAlias, final, runtime_checkable

from mage.chat import Tool
from mage.effects import Compensable, Irreversible, NoEffect, Observed, Reversible, WorldEffect
from mage.engine import MageError

__all__ = [
    "RESET",
    "RESTORINGS",
    "AsyncEnvironment",
    "AsyncSnapshots",
    "BadEnvironment",
    "Environment",
    "Foresees",
    "Manual",
    "Restoring",
    "Snapshots",
    "Tools",
    "foreseen",
    "has_snapshots",
    "manual_of",
    "tools_of",
]

RESET: Final = "reset"
"""The action of a first step whose observation is what the world showed when the task began. Not performed again."""

Restoring: TypeAlias = Literal["snapshot", "replay", "none"]
"""How an environment becomes what it was at an earlier step (D14).

    snapshot   it has `snapshot` and `restore`; where no snapshot is kept, as after a restart, as by replay
    replay     it is reset, and the actions of the path are performed again: it must do the same then
    none       by neither; only by the inverses of what is left behind, where it declares them
"""
RESTORINGS: Final[tuple[Restoring, ...]] = ("snapshot", "replay", "none")


class Environment(Protocol):
    """A world that an agent acts in, one action at a time.

    `reset` and `act` may raise `EffectError("world", ...)` for what they could not carry out; the world must
    then be as it was before. Anything else that they raise ends the run, and nobody knows then whether the
    action was performed.
    """

    @property
    def restoring(self) -> Restoring:
        """How it becomes what it was; the same for its whole life. A plain `restoring: Restoring = "replay"` will do."""
        ...

    def reset(self) -> Observed | str:
        """Be as at the start of the task, and return what is shown first; a blank text for nothing.

        What is shown becomes the first step, whose action is `reset`: a model sees it in `request.shown.raw`.
        """
        ...

    def act(self, action: str, /) -> Observed | str:
        """Perform an action, and return what came of it; a bare text says nothing of its effect."""
        ...


class AsyncEnvironment(Protocol):
    """An `Environment` that is awaited."""

    @property
    def restoring(self) -> Restoring:
        """See `Environment`."""
        ...

    def reset(self) -> Awaitable[Observed | str]:
        """See `Environment`."""
        ...

    def act(self, action: str, /) -> Awaitable[Observed | str]:
        """See `Environment`."""
        ...


@runtime_checkable
class Snapshots(Protocol):
    """An environment that can say what it is, and become it again. Wanted for `restoring = "snapshot"`."""

    def snapshot(self) -> Any:  # Any: whatever the environment makes of itself; only it reads it
        """Return what the world is now, as a value that later actions do not change. Taken before each action."""
        ...

    def restore(self, snapshot: Any, /) -> None:  # Any: what `snapshot` returned
        """Become what the world was when `snapshot` was taken, as often as asked. Raises `EffectError`."""
        ...


@runtime_checkable
class AsyncSnapshots(Protocol):
    """`Snapshots` that are awaited."""

    def snapshot(self) -> Awaitable[Any]:  # Any: see `Snapshots`
        """See `Snapshots`."""
        ...

    def restore(self, snapshot: Any, /) -> Awaitable[None]:  # Any: see `Snapshots`
        """See `Snapshots`."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """An environment that knows what an action would do, before it is performed.

    It is asked before each action, and before one is performed again to bring the world back. An action that was
    interrupted may be performed again in a world that was brought back: but not one that would last
    (`Compensable`, `Irreversible`). An environment that says so only afterwards, by `Observed.effect`, cannot
    keep its first such action from being repeated: the model is told then, and later ones are not repeated.
    """

    def effect_of(self, action: str, /) -> WorldEffect | None:
        """Return what the action would do; None where nobody knows. Nothing is done by asking."""
        ...


@runtime_checkable
class Tools(Protocol):
    """An environment whose actions are calls of tools."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What can be called; the action of a step is the call's canonical text (`mage.chat`)."""
        ...


@runtime_checkable
class Manual(Protocol):
    """An environment that says in words what can be done in it."""

    @property
    def manual(self) -> str:
        """Goes into the system prompt as it is."""
        ...


@final
class BadEnvironment(MageError, TypeError):
    """An environment lacks what it claims to have; the message says what."""


# What an environment has is asked of the object: `isinstance` does not see what a wrapper passes on.


def manual_of(environment: Environment | AsyncEnvironment) -> str:
    """Return what can be done, in words; empty where the environment does not say."""
    manual: str = getattr(environment, "manual", "")
    return manual


def tools_of(environment: Environment | AsyncEnvironment) -> tuple[Tool, ...]:
    """Return the environment's tools; none where an action is free text."""
    tools: tuple[Tool, ...] = getattr(environment, "tools", ())
    return tools


def has_snapshots(environment: Environment | AsyncEnvironment) -> bool:
    """Tell whether an environment has snapshots."""
    return all(callable(getattr(environment, name, None)) for name in ("snapshot", "restore"))


def foreseen(environment: Environment | AsyncEnvironment, action: str) -> WorldEffect | None:
    """Return what an environment says that an action would do, None where it does not say.

    Raises:
        BadEnvironment: it says something else. A coroutine is closed: nobody awaits here.
    """
    asking: Callable[[str], object] | None = getattr(environment, "effect_of", None)
    effect = None if asking is None else asking(action)
    if effect is None or isinstance(effect, NoEffect | Reversible | Compensable | Irreversible):
        return effect
    hint = "return an effect, such as Irreversible(), or None"
    if iscoroutine(effect):
        effect.close()
        hint = "it is called also in an AsyncEnvironment, and must be no `async def`"
    raise BadEnvironment(f"effect_of returned a {type(effect).__name__}; {hint}")
