"""What the programs of a memory and of an agent ask, the typed ways to ask it; and what they tell their hooks.

The programs await these and perform nothing. `Memory` answers them over its session. `mage.agent.replay` answers
each from the log of an earlier run or passes it on, and records the answer; so an agent's program need not know
whether it runs for the first time, is resumed, or is run again offline.

Hooks hear of both: by `mage.session.events` what was recorded, by the events here what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar, cast, final

import attrs

from mage.effects import (
    Act,
    ActionEffect,
    Begin,
    ChapterRequest,
    Decide,
    Decision,
    EffectFault,
    FoldRequest,
    JudgeRequest,
    Metered,
    Notice,
    NoticeKind,
    NotRestored,
    Observed,
    Restore,
    Restored,
    SummaryRequest,
    Verdict,
)
from mage.effects.program import Ask
from mage.engine import Digest, Refusal, State, StepId, SummaryId
from mage.engine.errors import MageError
from mage.engine.journal import Operation
from mage.memory.policy import Outcome, Policy
from mage.render import Meter
from mage.session import Event
from mage.session.events import as_hooks, tell

# -- what hooks are told ------------------------------------------------------------------------------------


@final
@attrs.frozen
class Asked:
    """Somebody was asked and has answered; tokens as the provider counted them, 0 where it did not.

    Attributes:
        who: `"model"`, `"judge"` or `"summarizer"`.
        shown: tokens of what the model was shown, by our own count; 0 for the others.
    """

    who: str
    prompt: int
    completion: int
    shown: int = 0


@final
@attrs.frozen
class AskFailed:
    """Somebody was asked, and there is no answer that can be used."""

    who: str
    fault: EffectFault


@final
@attrs.frozen
class Noticed:
    """The model will be told something of this kind."""

    kind: NoticeKind


@final
@attrs.frozen
class RunEnded:
    """The run has ended: `outcome` is `"finished"`, `"stopped"` or `"failed"`."""

    outcome: str
    reason: str


AgentEvent: TypeAlias = Asked | AskFailed | Noticed | RunEnded


AgentHook: TypeAlias = Callable[[Event | AgentEvent], object]
"""A plain function that hears everything, when it is over. What it raises is logged and harms nothing."""


def heard_by(hooks: AgentHook | Iterable[AgentHook]) -> tuple[AgentHook, ...]:
    """Return one hook or several as a tuple.

    Raises:
        TypeError: one cannot be called, or is an `async def`, which nobody would await.
    """
    given: object = hooks  # it may be anything, whatever its annotation says
    found = (given,) if not isinstance(given, Iterable) or callable(given) else tuple(given)
    for hook in found:
        if not callable(hook):
            raise TypeError(f"a hook is called with each event: give a function, not a {type(hook).__name__}")
    return as_hooks(cast("Sequence[AgentHook]", found))


def tell_hooks(hooks: Sequence[AgentHook], event: AgentEvent) -> None:
    """Log an event, and hand it to each hook."""
    tell(hooks, (event,))


# -- what is asked ------------------------------------------------------------------------------------------


Answer = TypeVar("Answer")


@final
class Overtaken(MageError):
    """Somebody else has written to the session: what was to be recorded was made for another head, and was not."""


@final
@attrs.frozen
class Counts:
    """How often the journal goes back, and writes texts anew (D13). It counts on while commands are carried out.

    Attributes:
        revisions: by boundary.
        retexts: by summary.
    """

    revisions: Mapping[StepId, int]
    retexts: Mapping[SummaryId, int]


@final
@attrs.frozen
class Seen:
    """Where the agent stands.

    Attributes:
        state: the state of its session.
        policy: the policy that is in force.
        counts: what its journal says of failures.
        news: what happened to session and world outside of the program.
        followed: whether somebody else has written since the last look.
        effects: what each step has done to the world, where its environment said so; it grows with the tree.
        beside: what the provider put beside the call of each step, where it put anything; likewise.
        thoughts: what the model thought before each step, where it said so; likewise.
        counting: what counts the tokens of what is shown, and how many go with every call beside; None where both are
            as before.
    """

    state: State
    policy: Policy
    counts: Counts
    news: tuple[Notice, ...] = ()
    followed: bool = False
    effects: Mapping[StepId, ActionEffect] = attrs.field(factory=dict)
    beside: Mapping[StepId, str] = attrs.field(factory=dict)
    thoughts: Mapping[StepId, str] = attrs.field(factory=dict)
    counting: tuple[Meter, int] | None = None


@final
@attrs.frozen
class Look(Ask[Seen]):
    """Where do we stand?"""


@final
@attrs.frozen
class WriteNote(Ask[None]):
    """Write down between the commands what no command says. It lands on the head as it was seen; else `Overtaken`."""

    kind: Literal["calling", "answered"]
    document: Mapping[str, object]


@final
@attrs.frozen
class Operate(Ask[State | Refusal]):
    """Carry out a command, durably. Answered by the new state, or by why not. Raises `Overtaken`.

    Attributes:
        command: what to do.
        meta: what is kept beside it (D15).
        despite: whether a summary that has failed is accepted openly before it, in the same write: for a step
            that was done, whatever has become of the summary meanwhile.
    """

    command: Operation
    meta: Mapping[str, object]
    despite: bool = False


Request: TypeAlias = (
    Decide | Act | Begin | Restore | JudgeRequest | FoldRequest | SummaryRequest | ChapterRequest
)
"""What is asked of model, environment, judge and summarizer."""


@final
@attrs.frozen
class Uncertain:
    """The run died while an action was performed, and it is not performed again: nobody knows whether it was.

    Attributes:
        effect: `Irreversible` where it would last, so that it is not done again later either; else None.
    """

    effect: ActionEffect | None = None


@final
@attrs.frozen
class Twice:
    """The run died while an action was performed, it was performed again, and it lasts: it may be done twice.

    Nobody had foreseen that it lasts; the world has said so only now.

    Attributes:
        observed: what came back.
    """

    observed: Observed


@final
@attrs.frozen
class Effect(Ask[Answer]):
    """Ask somebody outside. Raises `EffectError`."""

    request: Request


@final
@attrs.frozen
class BeginJudging(Ask[None]):
    """Put a request to the judge, and do not wait (D6)."""

    request: JudgeRequest


@final
@attrs.frozen
class AskVerdict(Ask[Metered[Verdict] | None]):
    """Is the verdict there? None where it is not, and `wait` is False. Raises `EffectError`."""

    digest: Digest
    wait: bool


@final
@attrs.frozen
class IsDue(Ask[bool]):
    """Is something to be summarized now? Answered by `now`, or by what was done at this place before.

    So what was decided by a count of tokens stays, also where texts were taken out of the journal since.

    Attributes:
        now: what a count says.
        what: the open segment; lines of C, which a chapter is to replace; or, with `"rest"`, whether the rest of a
            reply waits, as the open segment has passed the mark.
    """

    now: bool
    what: Literal["segment", "chapter", "rest"] = "segment"


@final
@attrs.frozen
class IsHarmless(Ask[bool]):
    """Does the environment foresee that an action has no effect? Or was it performed at this place before?

    So what was performed stays performed, also where the environment foresees other things by now.

    Attributes:
        action: in the environment's words.
    """

    action: str


@final
@attrs.frozen
class End(Ask[bool]):
    """The run ends. Answered by whether it goes on all the same, because it was resumed later."""

    outcome: Outcome


@final
@attrs.frozen
class Tell(Ask[None]):
    """Tell the hooks."""

    event: AgentEvent


async def decide(request: Decide) -> Metered[Decision]:
    """Ask the model."""
    return await Effect[Metered[Decision]](request)


async def act(request: Act) -> Observed | Uncertain | Twice:
    """Perform an action."""
    return await Effect[Observed | Uncertain | Twice](request)


async def begin() -> Observed:
    """Reset the environment."""
    return await Effect[Observed](Begin())


async def restore(request: Restore) -> Restored | NotRestored:
    """Have the environment brought back."""
    return await Effect[Restored | NotRestored](request)


async def judge(request: JudgeRequest | FoldRequest) -> Metered[Verdict]:
    """Ask the judge, and wait."""
    return await Effect[Metered[Verdict]](request)


async def summarize(request: SummaryRequest | ChapterRequest) -> Metered[str]:
    """Ask the summarizer."""
    return await Effect[Metered[str]](request)
