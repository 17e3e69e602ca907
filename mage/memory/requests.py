"""The asks of the programs of a memory and of an agent, the checks of the parts that answer, and the events for hooks.

The programs await asks and perform nothing. `Memory` answers an ask over its session. `mage.agent.replay` answers
an ask from the log of an earlier run, or passes it on and records the answer; so an agent's program need not know
whether it runs for the first time, is resumed, or is run again offline.

Hooks are called with two kinds of events: `mage.session.events` say what was recorded, those here what was asked.
"""

from __future__ import annotations

import json
from asyncio import CancelledError, Task, create_task, current_task
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from inspect import isawaitable
from threading import Thread
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, final

import attrs

from mage.effects import (
    Act,
    ActionEffect,
    Begin,
    ChapterRequest,
    Decide,
    Decision,
    EffectError,
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
    metered,
)
from mage.effects.questions import Ask
from mage.engine import Digest, Failed, Passed, Refusal, State, StepId, SummaryId
from mage.engine.errors import MageError
from mage.engine.journal import Operation
from mage.memory.policy import Outcome, Policy
from mage.render import Meter
from mage.render.extract import extract
from mage.session import Event, NotAVerdict
from mage.session.events import as_hooks, tell
from mage.tokens import TokenCounter, default_counter

# -- events for hooks ---------------------------------------------------------------------------------------


@final
@attrs.frozen
class Asked:
    """Model, judge or summarizer has answered; tokens as the provider counted them, 0 where it did not count.

    Attributes:
        who: `"model"`, `"judge"` or `"summarizer"`.
        shown: tokens of the model's prompt, by our own count; 0 for judge and summarizer.
    """

    who: str
    prompt: int
    completion: int
    shown: int = 0


@final
@attrs.frozen
class AskFailed:
    """Model, judge or summarizer was asked and gave no usable answer."""

    who: str
    fault: EffectFault


@final
@attrs.frozen
class Noticed:
    """The model's next prompt has a notice of this kind."""

    kind: NoticeKind


@final
@attrs.frozen
class RunEnded:
    """The run has ended: `outcome` is `"finished"`, `"stopped"` or `"failed"`."""

    outcome: str
    reason: str


AgentEvent: TypeAlias = Asked | AskFailed | Noticed | RunEnded


AgentHook: TypeAlias = Callable[[Event | AgentEvent], object]
"""A plain function, called with each event after it happened. An exception that it raises is logged, not passed on."""


def heard_by(hooks: AgentHook | Iterable[AgentHook]) -> tuple[AgentHook, ...]:
    """Return one hook or several as a tuple.

    Raises:
        TypeError: a hook cannot be called, or is an `async def`, which would never be awaited.
    """
    given: object = hooks  # a user may pass anything, whatever the annotation says
    found = (given,) if not isinstance(given, Iterable) or callable(given) else tuple(given)
    for hook in found:
        if not callable(hook):
            raise TypeError(f"a hook is called with each event: give a function, not a {type(hook).__name__}")
    return as_hooks(cast("Sequence[AgentHook]", found))


def tell_hooks(hooks: Sequence[AgentHook], event: AgentEvent) -> None:
    """Log an event, and call each hook with it."""
    tell(hooks, (event,))


# -- asks ---------------------------------------------------------------------------------------------------


Answer = TypeVar("Answer")


@final
class Overtaken(MageError):
    """Another writer has changed the session's head, so a command made for the old head was not recorded."""


@final
@attrs.frozen
class Counts:
    """How many revises and rewritten texts the journal has (D13). The counts grow with each such command.

    Attributes:
        revisions: the number of revises, by boundary.
        retexts: the number of rewritten texts, by summary.
    """

    revisions: Mapping[StepId, int]
    retexts: Mapping[SummaryId, int]


@final
@attrs.frozen
class Seen:
    """Where the agent stands.

    Attributes:
        state: the state of the session.
        policy: the policy in force.
        counts: how many revises and rewritten texts the journal has.
        news: notices of what happened to session and environment outside of the program.
        followed: whether another writer has recorded commands since the last look.
        effects: by step, the declared effect of its action; the mapping grows with the tree.
        beside: by step, the provider's data beside its call; the mapping grows too.
        thoughts: by step, the model's thought before it; the mapping grows too.
        counting: the meter for the tokens of S, and the overhead of every call in tokens; None where both are
            unchanged.
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
    """Read the session: what other writers have recorded, and where the agent stands."""


@final
@attrs.frozen
class WriteNote(Ask[None]):
    """Write a note between the commands of the journal. Raises `Overtaken` where the head has changed since `Look`."""

    kind: Literal["calling", "declined", "answered"]
    document: Mapping[str, object]


@final
@attrs.frozen
class Operate(Ask[State | Refusal]):
    """Carry out a command, durably. Answered by the new state, or by a `Refusal`. Raises `Overtaken`.

    Attributes:
        command: the command.
        meta: is kept beside the command (D15).
        despite: whether a failed summary is accepted openly before the command, in the same write: for a step
            whose action was performed, so that it must be recorded.
    """

    command: Operation
    meta: Mapping[str, object]
    despite: bool = False


Request: TypeAlias = (
    Decide | Act | Begin | Restore | JudgeRequest | FoldRequest | SummaryRequest | ChapterRequest
)
"""The questions to model, environment, judge and summarizer."""


@final
@attrs.frozen
class Uncertain:
    """The run died during an action: it is unknown whether the action was performed, and it is not performed again.

    Attributes:
        effect: `Irreversible` where the effect lasts, so that no later replay performs the action; else None.
    """

    effect: ActionEffect | None = None


@final
@attrs.frozen
class Twice:
    """The run died during an action and performed it again: the action may be done twice, and its effect lasts.

    The environment had not foreseen that the effect lasts; it declared so with the result.

    Attributes:
        observed: the observation.
    """

    observed: Observed


@final
@attrs.frozen
class Effect(Ask[Answer]):
    """Ask model, environment, judge or summarizer. Raises `EffectError`."""

    request: Request


@final
@attrs.frozen
class BeginJudging(Ask[None]):
    """Send a request to the judge, and do not wait for the verdict (D6)."""

    request: JudgeRequest


@final
@attrs.frozen
class AskVerdict(Ask[Metered[Verdict] | None]):
    """Get the verdict of `BeginJudging`. None where it is not there yet and `wait` is False. Raises `EffectError`."""

    digest: Digest
    wait: bool


@final
@attrs.frozen
class IsDue(Ask[bool]):
    """Is summarizing due now? Answered by `now`, or in a replay by the decision that the log has at this place.

    So a decision made by counting tokens stays, also where texts have been redacted from the journal since.

    Attributes:
        now: the decision by the present count of tokens.
        what: `"segment"`, the open segment; `"chapter"`, lines of C that a chapter will replace; `"rest"`, whether
            the rest of a reply is held back because the open segment has passed the mark.
    """

    now: bool
    what: Literal["segment", "chapter", "rest"] = "segment"


@final
@attrs.frozen
class IsHarmless(Ask[bool]):
    """Does the environment foresee that an action has no effect? Or did the log perform the action at this place?

    So an action that was performed stays performed, even if the environment foresees another effect by now.

    Attributes:
        action: in the environment's words.
    """

    action: str


@final
@attrs.frozen
class End(Ask[bool]):
    """Record that the run ends. Answered True where the log goes on, because the run was resumed later."""

    outcome: Outcome


@final
@attrs.frozen
class Tell(Ask[None]):
    """Call the hooks with an event."""

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
    """Have the environment restored."""
    return await Effect[Restored | NotRestored](request)


async def judge(request: JudgeRequest | FoldRequest) -> Metered[Verdict]:
    """Ask the judge, and wait for the verdict."""
    return await Effect[Metered[Verdict]](request)


async def summarize(request: SummaryRequest | ChapterRequest) -> Metered[str]:
    """Ask the summarizer."""
    return await Effect[Metered[str]](request)


# -- the parts that answer: their checks, and those of their answers -----------------------------------------


_NO_CHAPTERS: Final = "an extract is no chapter: a summarizer writes those"


def extracted(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return an extract of the steps: values and the most telling lines (`mage.render.extract`), marked as an extract.

    The extract stays within the request's limit, counted in tokens by `mage.tokens.EstimateCounter`.

    Raises:
        EffectError: the request is for a chapter. No extract can tell what later work needs of finished subgoals.
    """
    if isinstance(request, ChapterRequest):
        raise EffectError("unreachable", _NO_CHAPTERS)
    return extract(request.steps, request.limit)


async def extracted_awaited(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return what `extracted` returns: its awaited twin."""
    return extracted(request)


@final
class BadAgent(MageError, TypeError):
    """A part of an agent or a memory has the wrong type or value; the message says which part."""


def sound_part(_agent: object, field: attrs.Attribute[Any], given: object) -> None:  # Any: of whatever field
    """Check a part of an agent when the agent is made; None is allowed where None is the default.

    Raises:
        BadAgent: see `require_part`.
    """
    if given is not None or field.default is not None:
        require_part(field.name, given)


def require_part(name: str, given: object) -> None:
    """Require a `Policy` for `"policy"`, a token counter for `"counter"`, and for any other part a function.

    Raises:
        BadAgent: the part has another type, or no `name` or `count` where it is a counter.
    """
    found = f"{name} is a {type(given).__name__}, and must"
    if name == "policy":
        if not isinstance(given, Policy):
            raise BadAgent(f"{found} be a Policy: Policy(max_steps=50)")
    elif name == "counter":
        counts = isinstance(getattr(given, "name", None), str) and callable(getattr(given, "count", None))
        if isinstance(given, type) or not counts:
            raise BadAgent(f"{found} have a `name` and a `count`: mage.tokens.ExactCounter()")
    elif not callable(given):
        ours = "" if name == "restore" else f", or mage.llm.Chat{name.capitalize()}"
        raise BadAgent(f"{found} be called with a request: give a function{ours}")


def require_one_of(what: str, given: object, known: Sequence[str]) -> None:
    """Require that a value is one of the known words.

    Raises:
        BadAgent: the value is none of these words.
    """
    if given not in known:
        raise BadAgent(f"{what} is {given!r:.80}, and must be one of {', '.join(known)}")


def require_json_object(what: str, given: Mapping[str, object] | None) -> None:
    """Require a mapping that is the same after a round trip through JSON, or None.

    Raises:
        BadAgent: the value is no such mapping.
    """
    try:
        is_json = given is None or json.loads(json.dumps(dict(given), allow_nan=False)) == given
    except (TypeError, ValueError, RecursionError):
        is_json = False
    if not is_json:
        raise BadAgent(
            f"{what} must be a JSON object: a dict of text to text, numbers, true, false, null, lists and dicts"
        )


def require_parts(
    asked: Mapping[str, object],
    policy: Policy | None,
    counter: TokenCounter | None,
    on_event: AgentHook | Iterable[AgentHook],
) -> tuple[Policy, TokenCounter, tuple[AgentHook, ...]]:
    """Return policy, counter and hooks with defaults filled in; without a judge `Policy.maintain` is False.

    Raises:
        BadAgent: a part has the wrong type.
        TypeError: a hook cannot be called, or is an `async def`.
    """
    for name, given in {**asked, "policy": policy, "counter": counter}.items():
        if given is not None:
            require_part(name, given)
    chosen = policy or Policy()
    if asked["judge"] is None:
        chosen = attrs.evolve(chosen, maintain=False)
    return chosen, default_counter() if counter is None else counter, heard_by(on_event)


@final
@attrs.define
class NotAwaitable(MageError, TypeError):
    """An `AsyncAgent` or `AsyncMemory` has a part that returned no awaitable. Its answer was not recorded.

    Attributes:
        who: the part in words, such as `"judge"`.
        found: the name of the type of the answer.
    """

    who: str
    found: str

    def __str__(self) -> str:
        return (
            f"the {self.who} is awaited here, but this one returned a {self.found}:"
            " make it an `async def`, or use the twin that is not awaited"
        )


def awaitable(who: str, answer: Awaitable[Answer]) -> Awaitable[Answer]:
    """Return an answer that can be awaited.

    Raises:
        NotAwaitable: the answer cannot be awaited, because the part is a plain function.
    """
    if not isawaitable(answer):
        raise NotAwaitable(who, type(answer).__name__)
    return answer


async def answer_of(who: str, answer: Awaitable[Answer]) -> Answer:
    """Await the answer to a question that changes nothing and may be asked again.

    Raises:
        EffectError: the part was cancelled, and the run was not, so the run must not look cancelled.
        NotAwaitable: the answer cannot be awaited.
    """
    try:
        return await awaitable(who, answer)
    except CancelledError as error:
        task = current_task()
        if task is None or task.cancelling():  # the run itself is cancelled
            raise
        raise EffectError("dropped", f"the {who} was cancelled, and the run was not") from error


def verdict_of(answer: object) -> Metered[Verdict]:
    """Return a judge's answer as a verdict with its usage.

    Raises:
        NotAVerdict: the answer is neither `Passed` nor `Failed`.
    """
    found: Metered[Any] = metered(answer)
    if not isinstance(found.value, Passed | Failed):
        raise NotAVerdict(type(found.value).__name__)
    return found


def text_of(answer: object) -> Metered[str]:
    """Return a summarizer's answer as a text with its usage.

    Raises:
        TypeError: the answer is no text.
    """
    found: Metered[Any] = metered(answer)
    if not isinstance(found.value, str):
        raise TypeError(f"a summarizer returns a text, not a {type(found.value).__name__}")
    return found


def restored_of(answer: object) -> Restored | NotRestored:
    """Return the answer of `restore`.

    Raises:
        TypeError: the answer is neither `Restored` nor `NotRestored`.
    """
    if not isinstance(answer, Restored | NotRestored):
        raise TypeError(
            f"`restore` returned a {type(answer).__name__}, and must return Restored or NotRestored"
        )
    return answer


# -- a judge in the background -------------------------------------------------------------------------------


def in_background(question: Coroutine[Any, Any, Answer]) -> Task[Answer]:
    """Ask in a task of its own, which keeps an exception for code that awaits it; asyncio does not log it."""
    task = create_task(question)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


def thought_about(request: JudgeRequest, judge: Callable[[JudgeRequest], Answer]) -> Future[Answer]:
    """Ask a judge in a thread, and return a future of its answer or exception.

    The thread is a daemon: a program that ends does not wait for it, as it would for a thread of a pool.
    """
    future: Future[Answer] = Future()

    def think() -> None:
        try:
            future.set_result(judge(request))
        except BaseException as error:  # `Future.result` raises it again
            future.set_exception(error)

    Thread(target=think, name="mage-judge", daemon=True).start()
    return future
