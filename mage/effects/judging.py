"""What is asked about summaries: is this one true to its steps, and what should be read instead of these?"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, final

import attrs

from mage.effects.answers import Metered
from mage.engine import Earlier, JudgeRequest, Kind, Step, Verdict

__all__ = ["AsyncJudge", "AsyncSummarizer", "Judge", "Summarizer", "SummaryRequest"]


@final
@attrs.frozen
class SummaryRequest:
    """The question that Compress puts to a summarizer: what is to be read instead of these steps (Section 3.2)?

    Attributes:
        task: the task, as given at the start.
        instructions: the texts in force for these steps, in path order (D17).
        kind: what the summary is to claim: a finished subgoal, or only a faithful account (fallback, D12).
        earlier: the fallback summaries of the same subgoal, oldest first, which the new text should go on from.
        steps: what was done and is to be replaced, in execution order.
        limit: the most tokens that the text may have; None where nobody counts.
        rejected: the text that a judge has failed and that the new one is to replace (D16); None for a first one.
        feedback: what the judge said of it.
    """

    task: str
    instructions: tuple[str, ...]
    kind: Kind
    earlier: tuple[Earlier, ...]
    steps: tuple[Step, ...]
    limit: int | None = None
    rejected: str | None = None
    feedback: str = ""


class Judge(Protocol):
    """Tells whether a summary is true to what was done (Algorithm 1, Maintain; D5). What it raises is passed on."""

    def __call__(self, request: JudgeRequest, /) -> Verdict | Metered[Verdict]:
        """Return `Passed()`, or `Failed(feedback, fault)` with feedback that is not blank."""
        ...


class AsyncJudge(Protocol):
    """A `Judge` whose answer is awaited."""

    def __call__(self, request: JudgeRequest, /) -> Awaitable[Verdict | Metered[Verdict]]:
        """See `Judge`."""
        ...


class Summarizer(Protocol):
    """Writes the text of a summary. What it raises is passed on."""

    def __call__(self, request: SummaryRequest, /) -> str | Metered[str]:
        """Return a text that is not blank."""
        ...


class AsyncSummarizer(Protocol):
    """A `Summarizer` whose answer is awaited."""

    def __call__(self, request: SummaryRequest, /) -> Awaitable[str | Metered[str]]:
        """See `Summarizer`."""
        ...
