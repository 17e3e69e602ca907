"""What an agent does where the paper leaves a choice: when to wait, when to give up, what to leave out; and how a run ends.

When the open segment is due is pure, so that what is measured on a trace that others recorded (`mage.trajectories`)
is what a memory does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, assert_never, final

import attrs

from mage.chat.parts import SMALL, cut_to
from mage.effects import RESET, EffectFault, Rules, Usage
from mage.engine import Step, StepId, Tree
from mage.engine.errors import MageError
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.render import Meter

_SHORTEST_LIMIT: Final = 400


@final
class BadPolicy(MageError, ValueError):
    """A policy says something that cannot be; the message says what."""


@final
@attrs.frozen
class Policy:
    """The choices of one run. Each can be changed when the run is resumed.

    Attributes:
        wait: whether the agent waits for the judge after each compress, as in the paper, or goes on meanwhile
            (D6). A late fail revises to the label and leaves what was built on it.
        high_water: tokens. When all that is sent but C takes as many (system prompt, tool schemas, task,
            instructions in force, open segment and hints), and the open segment at least a quarter of it, the
            segment is summarized as a fallback before the next step is made (D12). A single step is shown with at most as
            many, its middle left out. None for never.
        window: tokens that a prompt may take in all, where the model's window is known. What is longer is
            shortened before it is sent; a memory stops where that does not help. None where it is unknown.
        fold_at: tokens that C may take. Where it takes more, its oldest lines are folded into chapters, whose texts
            the summarizer writes and the judge passes (D19); without either it grows. None for never.
        keep_raw: how many of the newest steps that a fallback covers are still shown word for word, beside its text:
            those of the newest fallback only, as many as take a quarter of the mark together.
        summary_limit: tokens that a text in place of steps may have, whoever writes it. None: an eighth of the mark, but at
            least 400; a long segment has more to be kept.
        cool_down: steps after a fallback that failed, before it is tried again.
        judge_finish: whether steps that are open when the model gives its answer are compressed as the last subgoal,
            with the answer as its text, and judged; a fail sends the agent back. Without a judge it is accepted openly.
        on_fail: after a failed verdict go back, accept the summary openly, or stop.
        judge_down: where the judge gives no answer: accept the summary openly, stop, or leave it pending and go on.
        max_revisions: how often to go back to one boundary (D13).
        max_subgoal_revisions: how often to go back, in all, to where a subgoal begins or to a boundary behind that.
        max_retexts: how often to write the text of one summary anew (D13).
        rewrite: whether the summarizer writes a text of the model anew that a judge found wrong; if not, and where
            there is no summarizer, the model is asked for a better one (D16).
        exhausted: when it went wrong as often as that: accept openly, or stop.
        cross_irreversible: whether a revise may leave behind an action that its environment declares irreversible.
        point_out: whether an action that was tried at this very place, and left, is pointed out once before it is
            performed again.
        thoughts: which thoughts of the model beside its calls it is shown again, each before its step: that of every
            open step, only the newest of these, or none. They count against the mark.
        on_divergence: when the world could not be made what it was: tell the model, or stop.
        max_steps: steps that a run may take, also between the actions of one reply; None for no limit.
        max_total_tokens: tokens that all calls of a run may take; None for no limit.
        max_unusable: unusable replies of the model in a row.
        max_idle: turns in a row in which nothing was done, those that somebody else has overtaken included.
        maintain: False for the ablation without Maintain: each summary is accepted (D18).
        revise: False for the ablation without Revise: a failed summary is accepted despite its verdict, and the
            model cannot go back.
        compress: False for the ablation without Compress: summaries are made and judged as ever, but the model is
            shown the steps they cover, and the judge every step since the root.
    """

    wait: bool = True
    high_water: int | None = 8_000
    window: int | None = None
    fold_at: int | None = 4_000
    keep_raw: int = 0
    summary_limit: int | None = None
    cool_down: int = 10
    judge_finish: bool = True
    on_fail: Literal["revise", "accept", "stop"] = "revise"
    judge_down: Literal["accept", "stop", "leave"] = "stop"
    max_revisions: int = 3
    max_subgoal_revisions: int = 8
    max_retexts: int = 2
    rewrite: bool = True
    exhausted: Literal["accept", "stop"] = "accept"
    cross_irreversible: bool = True
    point_out: bool = True
    thoughts: Literal["none", "last", "open"] = "open"
    on_divergence: Literal["tell", "stop"] = "tell"
    max_steps: int | None = 1_000
    max_total_tokens: int | None = None
    max_unusable: int = 3
    max_idle: int = 8
    maintain: bool = True
    revise: bool = True
    compress: bool = True

    def __attrs_post_init__(self) -> None:
        for field in attrs.fields(Policy):
            problem = _problem(str(field.type), getattr(self, field.name))
            if problem:
                raise BadPolicy(f"{field.name} {problem}")

    @property
    def rules(self) -> Rules:
        """What a model is told of it."""
        fills = self.compress and self.high_water is not None
        return Rules(self.maintain, self.compress, self.revise, fills, self.maintain and self.judge_finish)

    @property
    def longest_text(self) -> int:
        """The tokens that a text in place of steps may have."""
        if self.summary_limit is not None:
            return self.summary_limit
        return max(_SHORTEST_LIMIT, (self.high_water or 0) // 8)

    def document(self) -> dict[str, object]:
        """Return it as a JSON object: what differs from the defaults."""
        given = attrs.asdict(self)
        return {name: value for name, value in given.items() if value != _DEFAULTS[name]}

    @classmethod
    def of(cls, document: object) -> Policy:
        """Return the policy of a JSON object; what it does not name has its default.

        Raises:
            BadPolicy: it names what no policy has, or gives a value that cannot be.
        """
        if not isinstance(document, dict):
            raise BadPolicy(f"a policy is a JSON object, not {type(document).__name__}")
        unknown = sorted(set(document) - set(_DEFAULTS))
        if unknown:
            raise BadPolicy(f"there is no {unknown[0]!r} in a policy; there are {', '.join(_DEFAULTS)}")
        given: dict[str, Any] = document  # each value is looked at when the policy is made
        return cls(**given)


def writing(policy: Policy, summarizer: object | None) -> Policy:
    """Return the policy where this, or nothing, writes texts: an extract never takes the place of the model's own text."""
    return policy if summarizer is not None else attrs.evolve(policy, rewrite=False)


def _problem(kind: str, value: object) -> str:
    """Return what is wrong with a value of a field whose annotation is `kind`; nothing if it fits."""
    if kind == "bool":
        return "" if isinstance(value, bool) else "must be true or false"
    if kind.startswith("Literal"):
        choices = [choice.strip("\"' ") for choice in kind[len("Literal[") : -1].split(",")]
        return "" if value in choices else f"must be one of {', '.join(choices)}"
    if value is None and kind.endswith("None"):
        return ""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if whole else "must be a whole number that is not negative"


_DEFAULTS: dict[str, object] = {field.name: field.default for field in attrs.fields(Policy)}


# -- how a run ends -----------------------------------------------------------------------------------------


KindOfCall: TypeAlias = Literal["model", "judge", "summarizer"]
KINDS_OF_CALL: Final[tuple[KindOfCall, ...]] = ("model", "judge", "summarizer")


@final
@attrs.frozen
class Totals:
    """What a run did and took, from its beginning; what was repeated when it was resumed counts once.

    Attributes:
        steps: actions that were grown, those that walked into a known step included.
        summaries: compresses.
        revisions: revises.
        tokens: by kind of call, as the providers counted them; `Usage.estimated` says where they did not.
        models: the same by the name of the model, `""` for one without.
    """

    steps: int = 0
    summaries: int = 0
    revisions: int = 0
    tokens: Mapping[KindOfCall, Usage] = attrs.field(
        factory=lambda: dict.fromkeys(KINDS_OF_CALL, Usage(calls=0))
    )
    models: Mapping[str, Usage] = attrs.field(factory=dict)

    @property
    def usage(self) -> Usage:
        """What all calls took."""
        return sum(self.tokens.values(), Usage(calls=0))

    def spent(self, kind: KindOfCall, usage: Usage, model: str = "") -> Totals:
        """Return the totals with one more call."""
        return attrs.evolve(
            self,
            tokens={**self.tokens, kind: self.tokens[kind] + usage},
            models={**self.models, model: self.models.get(model, Usage(calls=0)) + usage},
        )


@final
@attrs.frozen
class RunFinished:
    """The model said that the task is over.

    Attributes:
        answer: what it said.
        totals: what the run did and took.
    """

    answer: str
    totals: Totals


StopReason: TypeAlias = Literal[
    "max_steps",
    "max_total_tokens",
    "idle",
    "failed_verdict",
    "exhausted",
    "judge_down",
    "diverged",
    "unanswered",
    "script_ended",
    "input_ended",
    "interrupted",
]
"""Why a run was stopped: a limit of the policy (the first five), a judge that gives no verdict, an environment that is
not as it was, a what-if, a script or a user who has no answer, Ctrl-C."""


@final
@attrs.frozen
class RunStopped:
    """The policy, or somebody, has stopped the run. It can be resumed.

    Attributes:
        reason: see `StopReason`.
        detail: one line for people.
        totals: what the run did and took.
    """

    reason: StopReason
    detail: str
    totals: Totals


FailedPart: TypeAlias = Literal["model", "environment", "store"]
StoreFault: TypeAlias = Literal["conflict", "unavailable", "full", "damaged", "other"]
"""How a store failed: another process runs the session; the database cannot be reached, or it is unknown what was
written; there is no room; a record cannot be read; or something else that `detail` says."""


@final
@attrs.frozen
class RunFailed:
    """Something that the run needs does not answer. It can be resumed when it does; nothing is lost.

    Attributes:
        part: what has failed.
        fault: how: what its `EffectError` says; `"raised"` for an environment that has raised something else, `"bad"`
            for one that answers with what it must not; a `StoreFault` of a store.
        detail: one line for people.
        totals: what the run did and took.
    """

    part: FailedPart
    fault: EffectFault | StoreFault | Literal["raised", "bad"]
    detail: str
    totals: Totals

    @property
    def reason(self) -> str:
        """Both in one text, such as `"model: timeout"`."""
        return f"{self.part}: {self.fault}"


Outcome: TypeAlias = RunFinished | RunStopped | RunFailed


def outcome_document(outcome: Outcome) -> dict[str, object]:
    """Return an outcome as `mage run --json` prints it."""
    match outcome:
        case RunFinished(answer):
            said: dict[str, object] = {"outcome": "finished", "reason": "finished", "answer": answer}
        case RunStopped(reason, detail):
            said = {"outcome": "stopped", "reason": reason, "detail": detail}
        case RunFailed(detail=detail):
            said = {"outcome": "failed", "reason": outcome.reason, "detail": detail}
        case _:
            assert_never(outcome)
    totals = outcome.totals
    tokens = {kind: usage.document for kind, usage in totals.tokens.items()}
    models = {model: usage.document for model, usage in totals.models.items()}
    counts = {"steps": totals.steps, "summaries": totals.summaries, "revisions": totals.revisions}
    return {**said, **counts, "tokens": tokens, "models": models}


# -- when the open segment is due ---------------------------------------------------------------------------


_SHARE: Final = 5
"""The room is nearly used where less than this part of it is left."""
SHARE: Final = 4
"""A segment that takes less than this part of the mark is not worth the calls of a summarizer and a judge: where
system prompt, task and instructions alone come near the mark, each single action would be summarized."""


def room_below(mark: int, fixed: int, opened: int) -> int:
    """Return the tokens that the open segment may still take below a mark; it is due where no more is left than comes.

    Args:
        mark: the policy's `high_water`.
        fixed: the tokens that count against it and that no summary wins back.
        opened: the tokens of the open segment.
    """
    return max(mark - fixed - opened, -(-mark // SHARE) - opened)


def most_of_text(most: int, replaced: int) -> int:
    """Return the tokens that a text may have in place of so many: what the policy says, and never more than it replaces."""
    return min(most, max(SMALL, replaced))


def cut_step(step: Step, longest: int, meter: Meter) -> Step:
    """Return a step as it is shown where a step may take so many tokens: one that is longer is cut in its middle, openly."""
    if meter.step(*step.content) <= longest:
        return step
    action = cut_to(step.action, max(SMALL, longest // 2), meter.counter)
    return attrs.evolve(step, action=action, observation=cut_to(step.observation, longest, meter.counter))


def current(tree: Tree) -> str:
    """Return the newest instruction in force that is not standing; empty where there is none. Cost: O(1)."""
    step = tree.asked_at
    if step is None:
        return ""
    return [each.text for each in tree.instructions_at(step) if not each.standing][-1]


def nudge(tree: Tree, opened: int, room: int | None) -> Literal["instruction", "room", ""]:
    """Return why compressing is due now; empty where it is not.

    Args:
        tree: the agent's history.
        opened: the tokens of the open segment.
        room: the tokens that it may still take; None where nothing limits it.

    Cost: O(steps of the subgoal before the newest instruction).
    """
    base = tree.summary(tree.head_summary.base).boundary
    asked = tree.asked_at
    if asked is not None and asked > base and _is_work_before(tree, base, asked):
        return "instruction"
    is_short = room is not None and opened > 0 and room * (_SHARE - 1) <= opened
    return "room" if is_short else ""


def _is_work_before(tree: Tree, base: StepId, asked: StepId) -> bool:
    """Tell whether something was done in this subgoal before the instruction came; a reset is nothing done."""
    steps = trace(tree, base, asked)
    return any(step.action != RESET or step.parent != ROOT_STEP for step in steps)
