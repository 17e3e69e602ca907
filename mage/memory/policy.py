"""`Policy`: the choices that the paper leaves open (when to wait, to give up, to leave out); and how a run ends.

The functions that decide when the open segment is due are pure: a memory and the measurement of recorded traces
(`mage.trajectories`) use the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, assert_never, final

import attrs

from mage.effects import RESET, EffectFault, Rules, Usage
from mage.engine import Step, StepId, Tree
from mage.engine.errors import MageError
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.render import Meter
from mage.tokens import SMALL, cut_to

_SHORTEST_LIMIT: Final = 400


@final
class BadPolicy(MageError, ValueError):
    """A value of a policy is not possible; the message says which and why."""


@final
@attrs.frozen
class Policy:
    """The choices of one run. Each can be changed when the run is resumed.

    Attributes:
        wait: whether the agent waits for the judge after each compress, as in the paper, or goes on meanwhile
            (D6). A late fail revises to the label and leaves what was built on it.
        high_water: the mark, in tokens. When the prompt without C (system prompt, tool schemas, task, instructions in
            force, open segment and hints) reaches it, and the open segment takes at least a quarter of it, the
            segment is summarized as a fallback before the next step (D12). A single step that is longer is shown
            with its middle left out. None for never.
        window: the most tokens of a whole prompt, where the model's window is known. A longer prompt is shortened
            before it is sent; a memory stops where that does not help. None where the window is unknown.
        fold_at: the most tokens of C. Where C takes more, its oldest lines are folded into chapters: the summarizer
            writes a chapter's text, the judge passes it (D19). Without either, C grows. None for never.
        keep_raw: how many of the newest steps of the newest fallback are still shown word for word beside its text,
            as far as they take at most a quarter of the mark together.
        summary_limit: the most tokens of a text in place of steps, whether model or summarizer writes it. None: an
            eighth of the mark, at least 400.
        cool_down: steps after a fallback that failed, before it is tried again.
        judge_finish: whether steps that are open when the model gives its answer are compressed as the last subgoal,
            with the answer as text, and judged; a fail sends the agent back. Without a judge it is accepted openly.
        on_fail: after a failed verdict: go back, accept the summary openly, or stop.
        judge_down: where the judge gives no answer: accept the summary openly, stop, or leave it pending and go on.
        max_revisions: how often to go back to one boundary (D13).
        max_subgoal_revisions: how often to go back, in all, to the beginning of a subgoal or to a boundary behind it.
        max_retexts: how often to write the text of one summary anew (D13); and of a memory, how often the model may give
            again an answer that has failed, with nothing done since: then the memory stops.
        rewrite: whether the summarizer rewrites a text of the model that the judge found wrong; if not, or where
            there is no summarizer, the model is asked for a better text (D16).
        exhausted: where one of these `max_` numbers is reached: accept the summary openly, or stop.
        cross_irreversible: whether a revise may abandon an action that the environment declared irreversible.
        point_out: whether the model is told once, before an action is performed, that the action was tried at this
            very place and abandoned.
        thoughts: which thoughts of the model are shown again, each before its step: those of all open steps, only
            the newest, or none. They count against the mark.
        on_divergence: when the environment could not be restored: tell the model, or stop.
        max_steps: steps that a run may take, also between the actions of one reply; None for no limit.
        max_total_tokens: tokens that all calls of a run may take; None for no limit.
        max_unusable: unusable replies of the model in a row.
        max_idle: turns in a row in which nothing was done, including those in which another writer was faster.
        maintain: False for the ablation without Maintain: each summary is accepted (D18).
        revise: False for the ablation without Revise: a failed summary is accepted despite its verdict, and the
            model cannot go back.
        compress: False for the ablation without Compress: summaries are made and judged as usual, but the model
            reads the steps that they cover, and the judge every step since the root.
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
        """The part of the policy that the model's system prompt explains."""
        fills = self.compress and self.high_water is not None
        return Rules(self.maintain, self.compress, self.revise, fills, self.maintain and self.judge_finish)

    @property
    def longest_text(self) -> int:
        """The most tokens of a text in place of steps."""
        if self.summary_limit is not None:
            return self.summary_limit
        return max(_SHORTEST_LIMIT, (self.high_water or 0) // 8)

    def document(self) -> dict[str, object]:
        """Return the values that differ from the defaults, as a JSON object."""
        given = attrs.asdict(self)
        return {name: value for name, value in given.items() if value != _DEFAULTS[name]}

    @classmethod
    def of(cls, document: object) -> Policy:
        """Return the policy of a JSON object; a field that the object does not name has its default.

        Raises:
            BadPolicy: no JSON object, an unknown field, or a value that is not possible.
        """
        if not isinstance(document, dict):
            raise BadPolicy(f"a policy is a JSON object, not {type(document).__name__}")
        unknown = sorted(set(document) - set(_DEFAULTS))
        if unknown:
            raise BadPolicy(f"there is no {unknown[0]!r} in a policy; there are {', '.join(_DEFAULTS)}")
        given: dict[str, Any] = document  # `Policy` checks each value
        return cls(**given)


def writing(policy: Policy, summarizer: object | None) -> Policy:
    """Return the policy, with `rewrite` off where there is no summarizer: no extract replaces a text of the model."""
    return policy if summarizer is not None else attrs.evolve(policy, rewrite=False)


def _problem(kind: str, value: object) -> str:
    """Return what is wrong with a value of a field whose annotation is `kind`; empty if the value fits."""
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
    """The steps and tokens of a run since its beginning; a resumed run does not count its replay.

    Attributes:
        steps: grows, including those that led to a known step.
        summaries: compresses.
        revisions: revises.
        tokens: by kind of call, as the providers counted them; `Usage.estimated` has the tokens that we counted.
        models: the same by the name of the model, `""` for a model without a name.
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
        """The tokens of all calls."""
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
    """The model has ended the task.

    Attributes:
        answer: the model's answer.
        totals: the steps and tokens of the run.
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
"""Why a run was stopped: a limit of the policy (the first five), a judge that gives no verdict, an environment that
could not be restored, a what-if, a script or a user without an answer, Ctrl-C."""


@final
@attrs.frozen
class RunStopped:
    """The policy or the user has stopped the run. The run can be resumed.

    Attributes:
        reason: see `StopReason`.
        detail: one line for people.
        totals: the steps and tokens of the run.
    """

    reason: StopReason
    detail: str
    totals: Totals


FailedPart: TypeAlias = Literal["model", "environment", "store"]
StoreFault: TypeAlias = Literal["conflict", "unavailable", "full", "damaged", "other"]
"""How a store failed: another process runs the session; the database cannot be reached, or it is unknown whether a
record was written; the disk is full; a record cannot be read; or something else that `detail` says."""


@final
@attrs.frozen
class RunFailed:
    """Model, environment or store has failed. The run can be resumed when that part works again; nothing is lost.

    Attributes:
        part: the part that has failed.
        fault: the fault of its `EffectError`; `"raised"` for an environment that raised another exception, `"bad"`
            for an environment that returned a value of the wrong type; a `StoreFault` of a store.
        detail: one line for people.
        totals: the steps and tokens of the run.
    """

    part: FailedPart
    fault: EffectFault | StoreFault | Literal["raised", "bad"]
    detail: str
    totals: Totals

    @property
    def reason(self) -> str:
        """Part and fault in one text, such as `"model: timeout"`."""
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
"""Compressing is due where less than a fifth of the open segment's room is left."""
SHARE: Final = 4
"""A segment that takes less than a quarter of the mark is not worth the calls of a summarizer and a judge: where
system prompt, task and instructions alone come near the mark, each single action would be summarized."""


def room_below(mark: int, fixed: int, opened: int) -> int:
    """Return the tokens by which the open segment may still grow; it is due where the next step takes as many.

    Args:
        mark: the policy's `high_water`, in tokens.
        fixed: the tokens that count against the mark and that no summary saves.
        opened: the tokens of the open segment.
    """
    return max(mark - fixed - opened, -(-mark // SHARE) - opened)


def most_of_text(most: int, replaced: int) -> int:
    """Return the most tokens of a text in place of `replaced` tokens: `most`, and never more than it replaces."""
    return min(most, max(SMALL, replaced))


def cut_step(step: Step, longest: int, meter: Meter) -> Step:
    """Return a step with at most some `longest` tokens: the middle of a longer one is left out, openly."""
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
        room: the tokens by which the open segment may still grow; None where it has no limit.

    Cost: O(steps of the subgoal before the newest instruction).
    """
    base = tree.summary(tree.head_summary.base).boundary
    asked = tree.asked_at
    if asked is not None and asked > base and _is_work_before(tree, base, asked):
        return "instruction"
    is_short = room is not None and opened > 0 and room * (_SHARE - 1) <= opened
    return "room" if is_short else ""


def _is_work_before(tree: Tree, base: StepId, asked: StepId) -> bool:
    """Tell whether this subgoal has an action before the instruction; the first reset is no such action."""
    steps = trace(tree, base, asked)
    return any(step.action != RESET or step.parent != ROOT_STEP for step in steps)
