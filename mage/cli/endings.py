"""How a run ended, for people."""

from __future__ import annotations

from typing import Final

import attrs

from mage.agent import Outcome, RunFailed, RunFinished, RunStopped, Totals
from mage.render import printable

__all__ = ["BESIDE", "explained", "numbered", "told_outcome", "told_totals"]

BESIDE: Final = (
    "somebody else is running this session at this moment; nothing of theirs is lost. Run it again when that"
    " run has ended: it goes on from there, or says how it ended"
)
"""What is said to whoever runs a session that somebody else is running."""


def explained(outcome: Outcome) -> Outcome:
    """Return the outcome; where a log was written on by another run, in words of the command."""
    if isinstance(outcome, RunFailed) and (outcome.part, outcome.fault) == ("store", "conflict"):
        return attrs.evolve(outcome, detail=BESIDE)
    return outcome


def told_outcome(outcome: Outcome) -> str:
    """Return in one line how a run ended, and why."""
    match outcome:
        case RunFinished(answer):
            return f"finished: {printable(answer)}" if answer else "finished"
        case RunStopped(reason, detail):
            return f"stopped, {reason.replace('_', ' ')}: {printable(detail)}"
        case RunFailed(part, fault, detail):
            named = fault.replace("_", " ")
            said = detail if detail.startswith(f"{named}: ") else f"{named}: {detail}"
            return printable(f"failed, {part}: {said}")


def told_totals(totals: Totals) -> str:
    """Return in one line what a run did and took."""
    counts = (
        f"{numbered(totals.steps, 'step')}, {numbered(totals.summaries, 'summary')},"
        f" {numbered(totals.revisions, 'revision')}"
    )
    calls = [
        f"{who} {numbered(usage.calls, 'call')}, {usage.total:,} tokens"
        + f" ({usage.estimated:,} of the calls counted here, not by the server)" * bool(usage.estimated)
        for who, usage in totals.tokens.items()
        if usage.calls
    ]
    return "; ".join([counts, *calls])


def numbered(count: int, noun: str) -> str:
    """Return a count with its noun."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"
