"""`Environment`, in which an agent acts; its capabilities and tools, and the effects of its actions.

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

`Capabilities` is one value with everything else that an environment may offer: how it goes back to an
earlier step, what its actions would do, its tools and its manual. mage looks for no other methods, so an environment
that wraps another one passes on its `capabilities`, or `capabilities.around(...)`, and loses none.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, final

import attrs
from attrs.validators import deep_iterable, instance_of

from mage.engine import Step, StepId
from mage.engine.errors import MageError

RESET: Final = "reset"
"""The action of a first step, whose observation `Environment.reset` returned. It is not performed again."""


@final
class BadEnvironment(MageError, TypeError):
    """An environment lacks a method, or declares or returns a value of a wrong type; the message says which."""


# -- what actions do -----------------------------------------------------------------------------------


@final
@attrs.frozen
class NoEffect:
    """The action changed nothing, so it need not be undone."""


@final
@attrs.frozen
class Reversible:
    """The action can be undone by another one.

    Raises:
        TypeError: `inverse` is no text.

    Attributes:
        inverse: the action that undoes it.
    """

    inverse: str = attrs.field(validator=instance_of(str))


@final
@attrs.frozen
class Compensable:
    """The action cannot be undone, but its damage can be made good.

    Raises:
        TypeError: `how` is no text.

    Attributes:
        how: how to make it good, for people and for the model.
    """

    how: str = attrs.field(validator=instance_of(str))


@final
@attrs.frozen
class Irreversible:
    """The action can neither be undone nor its damage be made good.

    Raises:
        TypeError: `why` is no text.

    Attributes:
        why: one line.
    """

    why: str = attrs.field(default="", validator=instance_of(str))


ActionEffect: TypeAlias = NoEffect | Reversible | Compensable | Irreversible
"""The effect of an action on its environment, as the environment declares it."""
ACTION_EFFECTS: Final = (NoEffect, Reversible, Compensable, Irreversible)
"""The classes of an `ActionEffect`."""

Foresight: TypeAlias = Callable[[str], ActionEffect | None]
"""Returns the effect that an action would have; None if it is unknown. A call changes nothing."""


def _require_effect(_observed: object, _field: attrs.Attribute[Any], effect: object) -> None:
    if effect is not None and not isinstance(effect, ACTION_EFFECTS):
        known = ", ".join([kind.__name__ for kind in ACTION_EFFECTS])
        raise TypeError(
            f"effect is an object of mage.effects ({known}), such as Irreversible(), not {effect!r}"
        )


def lasts(effect: ActionEffect | None) -> bool:
    """Tell whether an effect is declared to last, so that the agent must never repeat the action by itself."""
    return isinstance(effect, Compensable | Irreversible)


@final
@attrs.frozen
class Observed:
    """The result of an action.

    Raises:
        TypeError: a field is of another type; a bare text as `instructions` would count as a list of its letters.

    Attributes:
        text: the observation of the step.
        over: whether the environment takes no more actions (a game that is won or lost).
        instructions: instructions from here on, as of a next subtask; pinned at the new step (D17).
        effect: the effect of the action; None if the environment does not say.
        parts: images, sounds and files, as parts of a message, by the digests in the marks that stand for them in
            `text` (`mage.chat.content_of`). They are kept in the meta of the step, and not shown.
    """

    text: str = attrs.field(validator=instance_of(str))
    over: bool = attrs.field(default=False, validator=instance_of(bool))
    instructions: tuple[str, ...] = attrs.field(
        default=(), validator=deep_iterable(instance_of(str), instance_of(tuple))
    )
    effect: ActionEffect | None = attrs.field(default=None, validator=_require_effect)
    # Any: JSON, which the journal of a run holds
    parts: dict[str, Any] = attrs.field(
        factory=dict, validator=instance_of(dict), repr=lambda parts: f"<{len(parts)} parts>", hash=False
    )


# -- the requests of an agent's program to its environment ---------------------------------------------


@final
@attrs.frozen
class Begin:
    """Reset the environment to the start of the task. Answered by its first observation, as `Observed`."""


@final
@attrs.frozen
class Act:
    """Perform an action. The journal has its intent already. Answered by `Observed`.

    Attributes:
        action: in the environment's own words.
        after: the step head before the action.
    """

    action: str
    after: StepId


@final
@attrs.frozen
class Undo:
    """One entry of the plan for a revise: an abandoned step, and the effect of its action.

    Attributes:
        step: the abandoned step.
        effect: the effect of its action; None if the environment declared none.
    """

    step: Step
    effect: ActionEffect | None


@final
@attrs.frozen
class Restore:
    """Restore the environment to its state after the last step of `path`. Answered by `Restored` or `NotRestored`.

    Attributes:
        path: the steps from the root to the agent's step head, in execution order.
        plan: the abandoned steps, newest first, each with its effect. Empty when a run is resumed.
        lasting: the steps of the path whose effect was declared `Compensable` or `Irreversible`: their actions are
            never performed again.
    """

    path: tuple[Step, ...]
    plan: tuple[Undo, ...] = ()
    lasting: frozenset[StepId] = frozenset()


@final
@attrs.frozen
class Divergence:
    """An action of the path that, performed again, led to another observation.

    Attributes:
        step: the step as recorded.
        observed: the new observation.
    """

    step: Step
    observed: str


@final
@attrs.frozen
class Restored:
    """The environment has its earlier state again, except for `divergences`.

    Attributes:
        how: by a snapshot, by a reset and the actions of the path, by the inverses of the abandoned actions, or
            `"nothing"`: no action had an effect.
        divergences: the steps whose new observation differs from the recorded one, in path order.
        over: whether the environment takes no more actions.
        lasted: steps of the path that were performed again, and whose effect was declared to last only then.
    """

    how: Literal["snapshot", "replay", "inverses", "nothing"]
    divergences: tuple[Divergence, ...] = ()
    over: bool = False
    lasted: tuple[StepId, ...] = ()


@final
@attrs.frozen
class NotRestored:
    """The environment does not have its earlier state, and a notice tells the agent's model.

    Attributes:
        reason: one line.
    """

    reason: str


# -- the capabilities of an environment ----------------------------------------------------------------

# `Any` below: the same value serves an `Environment`, whose operations return their answer, and an
# `AsyncEnvironment`, whose operations return an awaitable of it.


def _require_callable(owner: object, field: attrs.Attribute[Any], given: object) -> None:
    if not callable(given):
        named = f"{type(owner).__name__}.{field.name}"
        raise BadEnvironment(f"{named} is a {type(given).__name__}, and must be a function")


@final
@attrs.frozen
class Snapshots:
    """The environment can save its state, and go back to it.

    Raises:
        BadEnvironment: an operation cannot be called, or `keep` is no number of snapshots.

    Attributes:
        take: returns the state of the environment, as a value that later actions do not change. Called before each
            action. May raise `EffectError`: then there is no snapshot of that place.
        put_back: takes such a value, any number of times, and restores the state that it holds. May raise
            `EffectError`: then the actions of the path are performed again.
        keep: how many snapshots are kept in memory: the newest, and fewer the older they are.
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
    """The environment goes back by an operation of its own, as in a repository or a virtual machine.

    Raises:
        BadEnvironment: `restore` cannot be called.

    Attributes:
        restore: takes a `Restore`, and returns `Restored` or `NotRestored`.
        repeatable: whether `restore` reaches the end of any path. Only then is an interrupted action performed
            again: else it might be performed twice.
    """

    restore: Callable[[Restore], Any] = attrs.field(validator=_require_callable)
    repeatable: bool = attrs.field(default=True, validator=instance_of(bool))


Restoring: TypeAlias = Literal["inverses", "replay"] | Snapshots | CustomRestore
"""How an environment goes back to an earlier step (D14).

    "inverses"       without a reset: the inverses that `Observed.effect` declares undo all abandoned actions, or none
    "replay"         by a reset and the actions of the path, which must have the same effects again
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
        BadEnvironment: a field is of another type; the message says which, and what it must be.

    Attributes:
        restoring: how the environment goes back to an earlier step; see `Restoring`.
        foresees: returns the effect of an action before it is performed, None if unknown. It is called, never
            awaited. An action whose effect would last (`Compensable`, `Irreversible`) is not performed again, even if
            the run died during it. Where an environment declares that only afterwards, by `Observed.effect`, its first
            such action may be repeated: a notice tells the model, and later ones are not repeated.
        tools: the tools whose calls are its actions; empty if any text is an action. The action of a step is the
            tool's name, a space and the arguments as canonical JSON.
        manual: a description of the environment for the model; it stands in the system prompt unchanged.
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
        """Whether the environment can go to the end of any path, so that an interrupted action may be repeated."""
        if isinstance(self.restoring, CustomRestore):
            return self.restoring.repeatable
        return self.restoring != "inverses"

    def around(self, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Capabilities:
        """Return the same capabilities with each operation in them replaced by `wrap(name, operation)`.

        For environments that wrap another one: no operation is forgotten, nor any that a later version adds.

        Args:
            wrap: called for `foresees`, and for `take`, `put_back` and `restore` where the environment has them.
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
    """An agent acts in it, one action at a time. An environment serves one run at a time.

    `reset` and `act` may raise `EffectError("environment", ...)` if they could not act; the environment must then be
    unchanged. Any other exception ends the run, and it is then unknown whether the action was performed.
    """

    @property
    def capabilities(self) -> Capabilities:
        """Its capabilities beyond `reset` and `act`; read once a run. A class attribute will do: `Capabilities()`."""
        ...

    def reset(self) -> Observed | str:
        """Go to the start of the task, and return the first observation; a blank text for none.

        The observation becomes the first step, whose action is `reset`: a model sees it in `request.shown.raw`.
        """
        ...

    def act(self, action: str, /) -> Observed | str:
        """Perform an action, and return its result; a bare text declares no effect."""
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


# -- tools ---------------------------------------------------------------------------------------------


JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""A JSON value."""
Schema: TypeAlias = Mapping[str, JsonValue]
"""A JSON Schema of an object, such as a tool's parameters."""

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The form of a tool's name."""


@final
@attrs.define
class BadTool(MageError, ValueError):
    """A tool cannot be offered to a model.

    Attributes:
        name: the tool's name.
        reason: one line.
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"tool {self.name!r}: {self.reason}"


@final
@attrs.frozen
class Tool:
    """A tool that a model may call.

    Attributes:
        name: at most 64 letters, digits, `_` and `-`.
        description: tells the model what the tool does, and when to call it.
        parameters: a JSON Schema of the arguments, an object.

    Raises:
        BadTool: the name has another form, the description is no text, or the parameters describe no object.
    """

    name: str
    description: str
    parameters: Schema = attrs.field(hash=False)

    def __attrs_post_init__(self) -> None:
        # objects: a program without types, or a log, may hold any value
        name: object = self.name
        description: object = self.description
        parameters: object = self.parameters
        if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
            raise BadTool(str(name), "a name has 1 to 64 letters, digits, underscores and hyphens")
        if not isinstance(description, str):
            raise BadTool(self.name, "its description must be a text")
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
            raise BadTool(self.name, 'its parameters must be a JSON Schema with "type": "object"')

    @property
    def is_strict(self) -> bool:
        """Whether a provider can enforce the parameters strictly. Cost: O(size of the schema)."""
        return is_strict(self.parameters)

    @classmethod
    def of(cls, name: str, description: str, /, **parameters: Schema) -> Tool:
        """Return a tool whose parameters are all required, so that a provider can enforce its schema."""
        return cls(
            name,
            description,
            {
                "type": "object",
                "properties": parameters,
                "required": list(parameters),
                "additionalProperties": False,
            },
        )


def is_strict(schema: object) -> bool:
    """Tell whether each object in a schema allows only required properties, as `strict: true` asks. Cost: O(size)."""
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, object]", schema)
    if "$ref" in known or not _is_closed(known):
        return False
    return all(is_strict(inner) for inner in _inner(known))


def _is_closed(schema: Mapping[str, object]) -> bool:
    if schema.get("type") != "object" and "properties" not in schema:
        return True
    required = schema.get("required")
    names = set(_mapping(schema.get("properties")))
    return (
        schema.get("additionalProperties") is False and isinstance(required, list) and set(required) == names
    )


def _inner(schema: Mapping[str, object]) -> Iterator[object]:
    yield from _mapping(schema.get("properties")).values()
    yield schema.get("items")
    for word in ("anyOf", "oneOf", "allOf"):
        yield from _choices(schema.get(word))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _choices(value: object) -> list[object]:
    return value if isinstance(value, list) else []
