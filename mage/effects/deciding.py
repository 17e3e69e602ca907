"""What is asked of the agent's model: what to do next, seeing S."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, Protocol, TypeAlias, final, runtime_checkable

import attrs
from attrs.validators import deep_iterable, instance_of, optional

from mage.effects.answers import Metered
from mage.effects.tools import Tool
from mage.engine import Compress, ExecutionState, Revise, StepId

NoticeKind: TypeAlias = Literal[
    "refused",
    "unusable",
    "merged",
    "tried",
    "failed",
    "uncertain",
    "diverged",
    "irreversible",
    "left_behind",
    "tokens",
    "judge",
    "environment",
    "changed",
]
"""What a notice is about: a refused command, an unusable reply, a step walked into again (D10), an action that
was tried and left at this very place, a summary that has failed, an action of which nobody knows whether it was
performed, an environment that is not as it was, an action that cannot be undone, instructions that a revise left behind,
a segment that grows too long, a judge that is down, an environment that is over, somebody else who has written."""


@final
@attrs.frozen
class Notice:
    """Something that the model is told once, beside S (D11).

    Attributes:
        kind: what it is about.
        text: one or more sentences in our words, and nobody else's.
        said: what an environment, a judge, a server or the model itself has said of it: content, which is shown
            below our words and never among them; empty where nobody is quoted.
    """

    kind: NoticeKind
    text: str
    said: str = ""


@final
@attrs.frozen
class Decide:
    """The question to the agent's model: what now?

    Attributes:
        shown: S = (C, R, H), with the task and the instructions in force.
        boundaries: where `Revise` may go now, in path order; all but a last one that is the current boundary
            are labels that S shows.
        notices: what it is told once, in the order in which it happened.
        may_compress: whether there is an open segment to summarize, or a summary that wants a new text.
        room: tokens that the open segment may still take before it is summarized without being asked; None
            where there is no mark.
        tools: the environment's tools, whose calls are its actions; none if any text is an action. The same in
            every question of a run, as is `manual`: so a prompt that begins with them has a constant beginning.
        manual: what the environment says of itself and its actions.
    """

    shown: ExecutionState
    boundaries: tuple[StepId, ...]
    notices: tuple[Notice, ...] = ()
    may_compress: bool = True
    room: int | None = None
    tools: tuple[Tool, ...] = ()
    manual: str = ""


@final
@attrs.frozen
class Action:
    """One action for the environment, in the environment's own words.

    Attributes:
        text: what becomes the action of the step.
        call: the id that the model's interface gave to this call; kept beside the step (D15).
    """

    text: str = attrs.field(validator=instance_of(str))
    call: str | None = attrs.field(default=None, validator=optional(instance_of(str)))


@final
@attrs.frozen
class Finish:
    """The task is done, or cannot be done; `answer` is what there is to say."""

    answer: str = attrs.field(default="", validator=instance_of(str))


Then: TypeAlias = Compress | Revise | Finish
"""What an agent does to its own state."""


@final
@attrs.frozen
class Decision:
    """What the model has decided: actions in the order of its calls, and at most one thing about its own state, last (D11).

    Attributes:
        actions: to be performed, each a step. One in ReAct.
        then: done when all actions are.
        thought: what the model said beside it; kept with the step, not shown again.
    """

    actions: tuple[Action, ...] = attrs.field(
        default=(), validator=deep_iterable(instance_of(Action), instance_of(tuple))
    )
    then: Then | None = attrs.field(default=None, validator=optional(instance_of((Compress, Revise, Finish))))
    thought: str = attrs.field(default="", validator=instance_of(str))

    @classmethod
    def act(cls, *actions: str, thought: str = "") -> Decision:
        """Return the decision to perform these actions."""
        return cls(tuple(Action(action) for action in actions), None, thought)

    @classmethod
    def compress(cls, text: str, *, thought: str = "") -> Decision:
        """Return the decision that the subgoal is complete, with the text of its summary."""
        return cls((), Compress(text), thought)

    @classmethod
    def revise(cls, boundary: StepId | int, lesson: str, *, thought: str = "") -> Decision:
        """Return the decision to go back to a boundary."""
        return cls((), Revise(boundary, lesson), thought)

    @classmethod
    def finish(cls, answer: str = "", *, thought: str = "") -> Decision:
        """Return the decision that the task is over."""
        return cls((), Finish(answer), thought)


class Model(Protocol):
    """Decides what to do next. Raises `EffectError` where it cannot."""

    def __call__(self, request: Decide, /) -> Decision | Metered[Decision]:
        """Return a decision; one that does nothing at all counts as an unusable reply."""
        ...


class AsyncModel(Protocol):
    """A `Model` whose answer is awaited."""

    def __call__(self, request: Decide, /) -> Awaitable[Decision | Metered[Decision]]:
        """See `Model`."""
        ...


@runtime_checkable
class PromptedModel(Protocol):
    """A model that says how long its prompts are before anything is shown. Without this they count as empty.

    A run counts that text into its mark (`Policy.high_water`) once, when it is begun.
    """

    def prompt_text(self, tools: tuple[Tool, ...], manual: str) -> str:
        """Return the fixed text that goes with every call in an environment with these tools and this manual."""
        ...
