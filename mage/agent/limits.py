"""What a run may take (`Policy`)."""

from __future__ import annotations

from mage.agent.outcomes import RunStopped
from mage.agent.situation import Run

__all__ = ["reached"]


def reached(run: Run) -> RunStopped | None:
    """Return how the run is stopped if it has taken what it may; None where it may go on."""
    policy, totals = run.policy, run.totals
    if policy.max_steps is not None and totals.steps >= policy.max_steps:
        return RunStopped("max_steps", f"steps taken: {totals.steps}", totals)
    if policy.max_tokens is not None and totals.all_tokens >= policy.max_tokens:
        ours = f", counted here for calls: {totals.estimated}" if totals.estimated else ""
        return RunStopped("max_tokens", f"tokens taken: {totals.all_tokens}{ours}", totals)
    if run.idle > policy.max_idle:  # this turn has been counted
        return RunStopped("idle", f"nothing was done in {run.idle - 1} turns", totals)
    return None
