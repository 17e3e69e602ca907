"""How a run ends: as a value, with what it did and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never, final

import attrs

from mage.effects import EffectFault, Usage

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
