"""The questions to a model, a judge and a summarizer, as frozen values, the cost and the error of an answer; programs.

A model reads S and decides what to do next; a judge says whether a summary is true to its steps; a summarizer writes
the text that is read instead of steps. An answer may come with its cost (`Metered`); `EffectError` is the one error
of an effect without an answer.

A *program* is a coroutine that asks and performs nothing. It awaits asks, which are frozen values, and only asks; a
driver sends it their answers, one driver by calling and one by awaiting. So one program serves a class and its
awaitable twin, and a test reads as a script of asks and answers. A forgotten `await` is an error of mypy
(`unused-awaitable`, `unused-coroutine`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    final,
    get_args,
    runtime_checkable,
)

import attrs
from attrs.validators import and_, deep_iterable, ge, instance_of, optional

from mage.effects.environment import Tool
from mage.engine import (
    Compress,
    Earlier,
    ExecutionState,
    FoldRequest,
    JudgeRequest,
    Kind,
    Line,
    Revise,
    Step,
    StepId,
    Verdict,
)
from mage.engine.errors import MageError

# -- answers -------------------------------------------------------------------------------------------


Answer_co = TypeVar("Answer_co", covariant=True)
_COUNT: Final = and_(instance_of(int), ge(0))


@final
@attrs.frozen
class Usage:
    """Tokens of one or more calls, as the provider counted them, or as mage did where the provider did not.

    Raises:
        TypeError: a count is no integer.
        ValueError: a count is below 0: a negative count in a sum would defeat a limit.

    Attributes:
        prompt: tokens read.
        completion: tokens written.
        cached: tokens of `prompt` that came from the provider's cache.
        calls: the number of calls.
        estimated: the number of calls for which mage counted, because the provider gave no plausible number.
    """

    prompt: int = attrs.field(default=0, validator=_COUNT)
    completion: int = attrs.field(default=0, validator=_COUNT)
    cached: int = attrs.field(default=0, validator=_COUNT)
    calls: int = attrs.field(default=1, validator=_COUNT)
    estimated: int = attrs.field(default=0, validator=_COUNT)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.calls + other.calls,
            self.estimated + other.estimated,
        )

    @property
    def document(self) -> dict[str, object]:
        """The counts as a JSON object, without `estimated` where that is 0."""
        return {name: count for name, count in attrs.asdict(self).items() if name != "estimated" or count}

    @property
    def total(self) -> int:
        """Tokens read and written."""
        return self.prompt + self.completion


@final
@attrs.frozen
class Metered(Generic[Answer_co]):
    """An answer with its cost. A model, a judge or a summarizer may return it in place of the bare answer.

    Attributes:
        value: the answer.
        usage: the tokens of all calls, those without a usable reply included.
        model: the name of the model that answered; empty where no model did.
        prompt_hash: the hash of the prompt's wording, which tells its version.
    """

    value: Answer_co
    usage: Usage = Usage()
    model: str = ""
    prompt_hash: str = ""

    @property
    def meta(self) -> dict[str, object]:
        """The metadata for the record of this answer: a JSON object of the known fields, empty where none is known."""
        known: dict[str, object] = {"model": self.model, "prompt": self.prompt_hash}
        kept = {name: value for name, value in known.items() if value}
        return {**kept, "usage": self.usage.document} if self.usage != Usage() else kept


Bare = TypeVar("Bare")


def metered(answer: Bare | Metered[Bare]) -> Metered[Bare]:
    """Return an answer with its cost; a bare answer counts as one call without tokens."""
    return answer if isinstance(answer, Metered) else Metered(answer)


EffectFault: TypeAlias = Literal[
    "refusal",
    "empty",
    "truncated",
    "not_json",
    "wrong_schema",
    "unknown_tool",
    "too_many_calls",
    "overflow",
    "rate_limit",
    "server",
    "timeout",
    "dropped",
    "unreachable",
    "rejected",
    "environment",
]
"""How an effect can fail.

    refusal, empty, truncated, not_json,      a model has answered, and the answer cannot be used
    wrong_schema, unknown_tool, too_many_calls
    overflow                                  the prompt does not fit into the model's context
    rate_limit, server, timeout, dropped,     there was no answer, even after repetitions
    unreachable
    rejected                                  the provider rejects the request: key, model or parameters
    environment                               the environment could not carry out an action
"""

EFFECT_FAULTS: Final[tuple[EffectFault, ...]] = get_args(EffectFault)
_UNUSABLE: Final = frozenset(EFFECT_FAULTS[:7])


def _spent(usage: Usage | None) -> Usage:
    return Usage(calls=0) if usage is None else usage


@final
@attrs.define
class EffectError(MageError):
    """An effect has no answer. Raise it from a model, judge, summarizer or environment: the agent has an end for each.

    Attributes:
        fault: the kind of failure.
        detail: one line for people and for the model; no key, no prompt.
        retry_after: seconds after which the provider accepts the next request; None where it named none.
        usage: the tokens of the calls that failed.
        shorter_may_help: whether a shorter prompt is worth one try: the provider rejects the request, and does not say
            whether the prompt is too long.
        model: the name of the model that was asked; empty where it is not known.
    """

    fault: EffectFault
    detail: str
    retry_after: float | None = None
    usage: Usage = attrs.field(default=None, converter=_spent)
    shorter_may_help: bool = False
    model: str = ""

    @property
    def unusable(self) -> bool:
        """Whether the model has answered, so that a notice can say what was wrong with its reply."""
        return self.fault in _UNUSABLE

    def __str__(self) -> str:
        return f"{self.fault.replace('_', ' ')}: {self.detail}"


# -- the model -----------------------------------------------------------------------------------------


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
    "revised",
    "tokens",
    "judge",
    "environment",
    "changed",
]
"""The subject of a notice: a refused command, an unusable reply, a step that was merged (D10), an action that
was tried and left at this very place, a summary that has failed, an action that may or may not have been
performed, an environment that was not restored, an action that cannot be undone, instructions left behind, steps
that a revise has undone, a long segment, a judge without a verdict, a finished environment, another writer's change."""


@final
@attrs.frozen
class Notice:
    """A message to the model that is shown once, beside S (D11).

    Attributes:
        kind: the subject of the notice.
        text: one or more sentences in our words only.
        said: the words of an environment, a judge, a server or the model itself: content, which is shown below our
            words and never among them; empty for no quotation.
    """

    kind: NoticeKind
    text: str
    said: str = ""


@final
@attrs.frozen
class LookInto:
    """The model reads again the steps or lines that a line of C stands for; its state does not change.

    Attributes:
        label: the N of [Step N], or the A of [Step A..B].
        boundary: the last step of the line, for a line inside a chapter; None for the line that is shown.
        words: show only parts that contain all of these words; empty for all parts.
        page: the page to show, from 1 on.
    """

    label: StepId | int
    boundary: StepId | int | None = None
    words: str = ""
    page: int = 1


@final
@attrs.frozen
class Looked:
    """The result of a look, shown once.

    Attributes:
        asked: the look.
        text: our words at the left margin, content of the tree indented, as `mage.render` writes it.
        thought: the model's thought beside the look; empty for none.
    """

    asked: LookInto
    text: str
    thought: str = ""


@final
@attrs.frozen
class Rules:
    """The operations on its own state that a policy allows a model. Fixed words and tools depend on the rules alone.

    Attributes:
        judges: whether a judge checks each summary.
        compresses: whether the text of a summary replaces its steps; if not, the model reads all steps (D18).
        revises: whether the model may go back.
        fills: whether a fallback replaces the open steps where they have no more room (D12).
        judges_end: whether a judge checks the answer against the steps that are open at the end.
    """

    judges: bool = True
    compresses: bool = True
    revises: bool = True
    fills: bool = True
    judges_end: bool = True


def _all_that_is_shown(request: Decide) -> int:
    return len(request.shown.raw)


@final
@attrs.frozen
class Decide:
    """The question to the agent's model: what to do next?

    Attributes:
        shown: S = (C, R, H), with the task and the instructions in force.
        boundaries: targets of `Revise` that undo a step, in path order: those at which a line of C begins or ends, and
            the newest 20.
        notices: the messages of this turn, in the order of their causes.
        may_compress: whether there is an open segment to summarize, or a summary that needs a new text.
        room: tokens by which the open segment may still grow before the agent summarizes it by itself; None where
            there is no mark.
        tools: the environment's tools, whose calls are its actions; empty if any text is an action. The same in every
            question of a run, as is `manual`: so a prompt that begins with both has a constant beginning.
        manual: the environment's description of itself and its actions.
        more: how many further targets of `Revise` there are, inside the lines of C.
        looked: the result of a look in the model's last turn.
        beside: by step, the provider's data beside its call (`Action.beside`), for models that are shown calls.
        rules: the operations that the policy allows the model; they change only with the policy.
        current: the newest instruction in force that is not standing; empty where there is none.
        opened: how many steps are open. Without Compress fewer than `shown` has.
        thoughts: by step of R, the model's thought before it, where the policy shows the thought.
        nudge: why compressing is due now: a new instruction has come while steps are open, or the room is nearly used;
            empty where it is not due.
    """

    shown: ExecutionState
    boundaries: tuple[StepId, ...]
    notices: tuple[Notice, ...] = ()
    may_compress: bool = True
    room: int | None = None
    tools: tuple[Tool, ...] = ()
    manual: str = ""
    more: int = 0
    looked: Looked | None = None
    beside: Mapping[StepId, str] = attrs.field(factory=dict, repr=False, hash=False)
    rules: Rules = Rules()
    current: str = ""
    opened: int = attrs.field(default=attrs.Factory(_all_that_is_shown, takes_self=True))
    thoughts: Mapping[StepId, str] = attrs.field(factory=dict)
    nudge: Literal["instruction", "room", ""] = ""


@final
@attrs.frozen
class Action:
    """One action for the environment, in the environment's own words; or a note, which also becomes a step.

    Attributes:
        text: the action of the step, or the text of the note.
        call: the id of this call in the model's interface; kept beside the step (D15).
        beside: the provider's data beside the call, as JSON, kept beside the step; it is sent back as long as the
            step is shown as a call (`mage.chat.messages`).
        is_note: whether this is a note of the model for itself, which the environment does not perform.
    """

    text: str = attrs.field(validator=instance_of(str))
    call: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    beside: str = attrs.field(default="", validator=instance_of(str), repr=False)
    is_note: bool = attrs.field(default=False, validator=instance_of(bool))


@final
@attrs.frozen
class Finish:
    """The task is done, or cannot be done; `answer` is the model's answer."""

    answer: str = attrs.field(default="", validator=instance_of(str))


Then: TypeAlias = Compress | Revise | LookInto | Finish
"""An operation of the model on its own state, a look into it, or the end of its task."""


@final
@attrs.frozen
class Decision:
    """A decision of the model: actions in the order of its calls, and at most one operation on its own state, last (D11).

    Attributes:
        actions: the actions to perform, each a step. One in ReAct.
        then: the operation after all actions.
        thought: the model's words beside its calls; kept with the step, and shown again as the policy says.
    """

    actions: tuple[Action, ...] = attrs.field(
        default=(), validator=deep_iterable(instance_of(Action), instance_of(tuple))
    )
    then: Then | None = attrs.field(
        default=None, validator=optional(instance_of((Compress, Revise, LookInto, Finish)))
    )
    thought: str = attrs.field(default="", validator=instance_of(str))

    @classmethod
    def act(cls, *actions: str, thought: str = "") -> Decision:
        """Return the decision to perform these actions."""
        return cls(tuple(Action(action) for action in actions), None, thought)

    @classmethod
    def note(cls, text: str, *, thought: str = "") -> Decision:
        """Return the decision to write a note."""
        return cls((Action(text, is_note=True),), None, thought)

    @classmethod
    def compress(cls, text: str, *, thought: str = "") -> Decision:
        """Return the decision that the subgoal is complete, with the text of its summary."""
        return cls((), Compress(text), thought)

    @classmethod
    def revise(cls, boundary: StepId | int, lesson: str, *, thought: str = "") -> Decision:
        """Return the decision to go back to a boundary."""
        return cls((), Revise(boundary, lesson), thought)

    @classmethod
    def look(cls, label: StepId | int, *, thought: str = "") -> Decision:
        """Return the decision to read again the steps or lines that the line [Step `label`] stands for."""
        return cls((), LookInto(label), thought)

    @classmethod
    def finish(cls, answer: str = "", *, thought: str = "") -> Decision:
        """Return the decision that the task is over."""
        return cls((), Finish(answer), thought)


class Model(Protocol):
    """Decides what to do next. Raises `EffectError` where it has no answer."""

    def __call__(self, request: Decide, /) -> Decision | Metered[Decision]:
        """Return a decision; a decision without actions and operation counts as an unusable reply."""
        ...


class AsyncModel(Protocol):
    """A `Model` whose answer is awaited."""

    def __call__(self, request: Decide, /) -> Awaitable[Decision | Metered[Decision]]:
        """See `Model`."""
        ...


Mode: TypeAlias = Literal["tools", "text", "json"]
"""How a model replies: by calling tools, by lines such as `Action[...]`, or by a JSON object."""


@runtime_checkable
class PromptedModel(Protocol):
    """A model that knows the fixed text of its prompts. The fixed text of any other model counts as empty.

    A run counts this text into its mark (`Policy.high_water`) once, at its beginning, and each step as it is sent.
    """

    @property
    def mode(self) -> Mode:
        """How the model replies, and so how its steps are sent."""
        ...

    def prompt_text(self, tools: tuple[Tool, ...], manual: str) -> str:
        """Return the fixed text that goes with every call in an environment with these tools and this manual."""
        ...


# -- judge and summarizer ------------------------------------------------------------------------------


@final
@attrs.frozen
class SummaryRequest:
    """The question of Compress to a summarizer: which text replaces these steps (Section 3.2)?

    Attributes:
        task: the task of the session.
        instructions: the texts in force for these steps, in path order (D17).
        kind: the claim of the summary: a finished subgoal, or only a faithful account (fallback, D12).
        earlier: the fallback summaries of the same subgoal, oldest first, which the new text continues.
        steps: the steps that the text replaces, in execution order.
        limit: the most tokens that the text may have; None for no limit.
        rejected: the text that a judge has failed, or that was too long, and that the new text replaces (D16); None
            for a first text.
        feedback: what is wrong with `rejected`.
        before: the lines of C above: finished subgoals, which the text need not repeat.
        thought: the model's newest thought before these steps, where the subgoal goes on: its plan; empty where there
            is none.
    """

    task: str
    instructions: tuple[str, ...]
    kind: Kind
    earlier: tuple[Earlier, ...]
    steps: tuple[Step, ...]
    limit: int | None = None
    rejected: str | None = None
    feedback: str = ""
    before: tuple[Line, ...] = ()
    thought: str = ""


@final
@attrs.frozen
class ChapterRequest:
    """The question to a summarizer: which text replaces consecutive finished subgoals in C (D19)?

    Attributes:
        task: the task of the session.
        instructions: the texts in force, in path order (D17).
        lines: the lines that the chapter replaces, oldest first.
        limit: the most tokens that the text may have; None for no limit.
        rejected: the text that was refused and that the new text replaces; None for a first text.
        feedback: what was wrong with `rejected`.
    """

    task: str
    instructions: tuple[str, ...]
    lines: tuple[Line, ...]
    limit: int | None = None
    rejected: str | None = None
    feedback: str = ""


class Judge(Protocol):
    """Judges a summary against its steps (Algorithm 1, Maintain; D5), a chapter against its lines (D19).

    The exceptions of a judge are raised again.
    """

    def __call__(self, request: JudgeRequest | FoldRequest, /) -> Verdict | Metered[Verdict]:
        """Return `Passed()`, or `Failed(feedback, fault, boundary)` with feedback that is not blank.

        A boundary that is none of the request's `boundaries` is removed from the verdict; for a chapter only the
        feedback is used.
        """
        ...


class AsyncJudge(Protocol):
    """A `Judge` whose answer is awaited."""

    def __call__(self, request: JudgeRequest | FoldRequest, /) -> Awaitable[Verdict | Metered[Verdict]]:
        """See `Judge`."""
        ...


class Summarizer(Protocol):
    """Writes the text of a summary, or of a chapter. The exceptions of a summarizer are raised again."""

    def __call__(self, request: SummaryRequest | ChapterRequest, /) -> str | Metered[str]:
        """Return a text that is not blank."""
        ...


class AsyncSummarizer(Protocol):
    """A `Summarizer` whose answer is awaited."""

    def __call__(self, request: SummaryRequest | ChapterRequest, /) -> Awaitable[str | Metered[str]]:
        """See `Summarizer`."""
        ...


# -- programs ------------------------------------------------------------------------------------------


Answer = TypeVar("Answer")


@attrs.frozen
class Ask(Generic[Answer]):
    """A request of a program to its driver; awaiting an ask returns its `Answer`."""

    def __await__(self) -> Generator[Ask[Any], Any, Answer]:
        """Hand the ask to the driver, and return the answer that it sends."""
        answer: Answer = yield self
        return answer


Program: TypeAlias = Coroutine[Ask[Any], Any, Answer]
"""A coroutine that awaits asks and returns an `Answer`. `Any`, because each ask has an answer of its own type."""


def drive(program: Program[Answer], answering: Callable[[Any], object]) -> Answer:
    """Run a program to its end, each ask answered by a call.

    `answering` takes the asks of this program, which have several types; hence `Any`.
    A `MageError` of `answering` is thrown into the program; any other exception is raised from here, and the program
    is closed. A `StopIteration` becomes the cause of a `RuntimeError`, as in `asyncio`.
    """
    try:
        asked = program.send(None)
        while True:
            try:
                got = answering(asked)
            except MageError as error:
                asked = program.throw(error)
            except StopIteration as error:  # raised by `answering`: not the end of the program
                raise RuntimeError("what a program asked for raised StopIteration") from error
            else:
                asked = program.send(got)
    except StopIteration as stop:
        result: Answer = stop.value
        return result
    finally:
        program.close()


async def drive_awaited(program: Program[Answer], answering: Callable[[Any], Awaitable[object]]) -> Answer:
    """Run a program to its end, each ask answered by an await. See `drive`."""
    try:
        asked = program.send(None)
        while True:
            try:
                got = await answering(asked)
            except MageError as error:
                asked = program.throw(error)
            else:
                asked = program.send(got)
    except StopIteration as stop:
        result: Answer = stop.value
        return result
    finally:
        program.close()
