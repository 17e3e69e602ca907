"""What an agent does where the paper leaves a choice: when to wait, when to give up, what to leave out."""

from __future__ import annotations

from typing import Any, Literal, final

import attrs

from mage.effects import Rules
from mage.engine.errors import MageError


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
        summary_limit: tokens that a summarizer is asked to stay within.
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
    summary_limit: int = 400
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
