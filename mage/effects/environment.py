"""What an agent acts in: an `Environment`, what it says that it can do, and what its actions do.

An environment is as small as this one; `mage.effects` has every name.

    from mage.effects import Capabilities

    class Lamp:
        capabilities = Capabilities("replay")

        def reset(self) -> str:
            self.lit = False
            return "A dark room, a lamp."

        def act(self, action: str) -> str:
            self.lit = action == "light the lamp"
            return "It is bright." if self.lit else "It is dark."

`Capabilities` is one value with everything else that an environment may offer: how it is brought back to an
earlier step, what its actions would do, its tools and its manual. Nothing is found out by looking for methods, so
an environment that wraps another one passes on its `capabilities`, or `capabilities.around(...)`, and loses none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Literal, Protocol, TypeAlias, final

import attrs
from attrs.validators import deep_iterable, instance_of, optional

from mage.effects.tools import Tool
from mage.engine import Step, StepId
from mage.engine.errors import MageError

RESET: Final = "reset"
"""The action of a first step whose observation is what `Environment.reset` returned. It is not performed again."""


@final
class BadEnvironment(MageError, TypeError):
    """An environment lacks something, or says or returns something of a wrong type; the message says what."""


# -- what actions do -----------------------------------------------------------------------------------


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


ActionEffect: TypeAlias = NoEffect | Reversible | Compensable | Irreversible
"""What an action does to its environment, as the environment declares it."""
ACTION_EFFECTS: Final = (NoEffect, Reversible, Compensable, Irreversible)
"""The classes of an `ActionEffect`."""

Foresight: TypeAlias = Callable[[str], ActionEffect | None]
"""Returns what an action would do; None if that is unknown. Calling it changes nothing."""


def lasts(effect: ActionEffect | None) -> bool:
    """Return whether an action was declared to last, so that the agent must never repeat it by itself."""
    return isinstance(effect, Compensable | Irreversible)


@final
@attrs.frozen
class Observed:
    """What an action came to.

    Raises:
        TypeError: a field is of another type; a bare text for `instructions` would be taken for its letters.

    Attributes:
        text: the observation of the step.
        over: whether the environment takes no more actions (a game that is won or lost).
        instructions: what is asked for from here on, as with a next subtask; pinned at the new step (D17).
        effect: what the action has done; None if the environment does not say.
    """

    text: str = attrs.field(validator=instance_of(str))
    over: bool = attrs.field(default=False, validator=instance_of(bool))
    instructions: tuple[str, ...] = attrs.field(
        default=(), validator=deep_iterable(instance_of(str), instance_of(tuple))
    )
    effect: ActionEffect | None = attrs.field(default=None, validator=optional(instance_of(ACTION_EFFECTS)))


# -- what an agent's program asks of its environment ---------------------------------------------------


@final
@attrs.frozen
class Begin:
    """Reset the environment to the start of the task. Answered by what it shows first, as `Observed`."""


@final
@attrs.frozen
class Act:
    """Perform an action. It was recorded as intended before this is asked. Answered by `Observed`.

    Attributes:
        action: in the environment's own words.
        after: the step head that it is performed at.
    """

    action: str
    after: StepId


@final
@attrs.frozen
class Undo:
    """One line of the plan for going back: a step that is abandoned, and what its action has done.

    Attributes:
        step: the abandoned step.
        effect: what its action has done; None if nothing was declared.
    """

    step: Step
    effect: ActionEffect | None


@final
@attrs.frozen
class Restore:
    """Bring the environment to where it was after the last step of `path`. Answered by `Restored` or `NotRestored`.

    Attributes:
        path: the steps from the root to where the agent stands now, in execution order.
        plan: the steps that are abandoned, newest first, each with what it has done. Empty when a run is resumed.
        lasting: those steps of the path whose action was declared compensable or irreversible: these actions are
            never performed again, whatever else is done to restore the environment.
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
    """The environment is what it was, but for `divergences`.

    Attributes:
        how: by a snapshot, by a reset and the actions of the path, by the inverses of what was abandoned, or
            because there was nothing to do.
        divergences: where it is not as recorded, in path order.
        over: whether the environment takes no more actions.
        lasted: steps of the path that were performed again, and only then turned out to last.
    """

    how: Literal["snapshot", "replay", "inverses", "nothing"]
    divergences: tuple[Divergence, ...] = ()
    over: bool = False
    lasted: tuple[StepId, ...] = ()


@final
@attrs.frozen
class NotRestored:
    """The environment could not be made what it was; the agent's model is told so.

    Attributes:
        reason: one line.
    """

    reason: str


# -- what an environment can do ------------------------------------------------------------------------

# `Any` below: the same value serves an `Environment`, whose operations return their answer, and an
# `AsyncEnvironment`, whose operations return an awaitable of it.


def _require_callable(owner: object, field: attrs.Attribute[Any], given: object) -> None:
    if not callable(given):
        named = f"{type(owner).__name__}.{field.name}"
        raise BadEnvironment(f"{named} is a {type(given).__name__}, and must be a function")


@final
@attrs.frozen
class Snapshots:
    """The environment can save what it is, and become that again.

    Raises:
        BadEnvironment: an operation cannot be called, or `keep` is no number of snapshots.

    Attributes:
        take: returns what the environment is now, as a value that later actions do not change. Called before each
            action. May raise `EffectError`: then there is no snapshot of that place.
        put_back: takes such a value, as often as asked, and makes the environment what it was. May raise
            `EffectError`: then the actions of the path are performed again.
        keep: how many snapshots are kept in memory, 64 by default: the newest, and fewer the older they are.
    """

    take: Callable[[], Any] = attrs.field(validator=_require_callable)
    put_back: Callable[[Any], Any] = attrs.field(validator=_require_callable)
    keep: int = 64

    def __attrs_post_init__(self) -> None:
        if type(self.keep) is not int or self.keep < 0:
            raise BadEnvironment(f"Snapshots.keep is {self.keep!r}, and must be a number of snapshots")


@final
@attrs.frozen
class CustomRestore:
    """The environment goes back by itself, as one in a repository or a virtual machine may.

    Raises:
        BadEnvironment: `restore` cannot be called.

    Attributes:
        restore: takes a `Restore`, and returns `Restored` or `NotRestored`.
        repeatable: whether `restore` reaches the end of any path. Only then is an interrupted action performed
            again: else an action that may have been performed would be performed twice.
    """

    restore: Callable[[Restore], Any] = attrs.field(validator=_require_callable)
    repeatable: bool = attrs.field(default=True, validator=instance_of(bool))


Restoring: TypeAlias = Literal["inverses", "replay"] | Snapshots | CustomRestore
"""How an environment is brought to an earlier step (D14).

    "inverses"       it is not reset: what is left behind is undone by the inverses that `Observed.effect`
                     declares, all of it or nothing
    "replay"         it is reset, and the actions of the path are performed again: they must do the same then
    Snapshots        by the nearest snapshot, and by replay from there
    CustomRestore    by an operation of its own
"""
_NAMED: Final = ("inverses", "replay")


def _nothing_foreseen(_action: str) -> None:
    return None


def _as_tuple(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    try:
        return tuple(tools)
    except TypeError:
        name = type(tools).__name__
        raise BadEnvironment(f"Capabilities.tools is a {name}, and must be a tuple of Tool") from None


@final
@attrs.frozen
class Capabilities:
    """What an environment can do beyond `reset` and `act`. `Capabilities()` promises nothing.

        Capabilities("replay")
        Capabilities(Snapshots(self.save, self.load), foresees=self.effect_of, tools=TOOLS, manual="...")

    Raises:
        BadEnvironment: a field is of another type; says which, and what it must be.

    Attributes:
        restoring: how it is brought to an earlier step; see `Restoring`.
        foresees: returns what an action would do, before it is performed: None if that is unknown. It is called,
            never awaited. An action that would last (`Compensable`, `Irreversible`) is not performed again, also if
            the run died in it. An environment that says so only afterwards, by `Observed.effect`, cannot keep its
            first such action from being repeated: the model is told then, and later ones are not repeated.
        tools: the tools whose calls are its actions; none if any text is an action. The action of a step is the
            tool's name, a space and the arguments as canonical JSON.
        manual: what can be done in it, for the model: it stands in the system prompt as it is.
    """

    restoring: Restoring = "inverses"
    foresees: Foresight = attrs.field(default=_nothing_foreseen, kw_only=True, validator=_require_callable)
    tools: tuple[Tool, ...] = attrs.field(default=(), kw_only=True, converter=_as_tuple)
    manual: str = attrs.field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.restoring not in _NAMED and not isinstance(self.restoring, Snapshots | CustomRestore):
            raise BadEnvironment(
                f"Capabilities.restoring is {self.restoring!r}; it must be 'inverses', 'replay',"
                " Snapshots(take, put_back) or CustomRestore(restore)"
            )
        if any(not isinstance(tool, Tool) for tool in self.tools):
            raise BadEnvironment("Capabilities.tools has something in it that is no mage.effects.Tool")
        if not isinstance(self.manual, str):
            raise BadEnvironment(f"Capabilities.manual is a {type(self.manual).__name__}, and must be a str")

    @property
    def repeatable(self) -> bool:
        """Whether the environment can be brought to the end of any path, so that an interrupted action may be repeated."""
        if isinstance(self.restoring, CustomRestore):
            return self.restoring.repeatable
        return self.restoring != "inverses"

    def around(self, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Capabilities:
        """Return the same capabilities with each operation in them replaced by `wrap(name, operation)`.

        For environments that wrap another one: no operation is forgotten, also none that is added later.

        Args:
            wrap: is given `foresees`, and of what there is `take`, `put_back` and `restore`, by these names.
        """
        match self.restoring:
            case Snapshots(take, put_back, keep):
                restoring: Restoring = Snapshots(wrap("take", take), wrap("put_back", put_back), keep)
            case CustomRestore(restore, repeatable):
                restoring = CustomRestore(wrap("restore", restore), repeatable)
            case _:
                restoring = self.restoring
        return attrs.evolve(self, restoring=restoring, foresees=wrap("foresees", self.foresees))


class Environment(Protocol):
    """What an agent acts in, one action at a time. It serves one run at a time.

    `reset` and `act` may raise `EffectError("environment", ...)` for what they could not carry out; everything must then
    be as it was before. Any other exception ends the run, and whether the action was performed is then unknown.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do beyond `reset` and `act`; read once a run. A class attribute will do: `Capabilities()`."""
        ...

    def reset(self) -> Observed | str:
        """Go to the start of the task, and return what is shown first; a blank text for nothing.

        What is shown becomes the first step, whose action is `reset`: a model sees it in `request.shown.raw`.
        """
        ...

    def act(self, action: str, /) -> Observed | str:
        """Perform an action, and return what came of it; a bare text says nothing of its effect."""
        ...


class AsyncEnvironment(Protocol):
    """An `Environment` whose `reset`, `act` and operations are awaited; `Capabilities.foresees` is called."""

    @property
    def capabilities(self) -> Capabilities:
        """See `Environment`."""
        ...

    def reset(self) -> Awaitable[Observed | str]:
        """See `Environment`."""
        ...

    def act(self, action: str, /) -> Awaitable[Observed | str]:
        """See `Environment`."""
        ...
