"""The fallback Compress: the open segment has grown too long, and its subgoal is not over (D12)."""

from __future__ import annotations

from mage.agent.asks import summarize
from mage.agent.maintaining import maintain, settle
from mage.agent.outcomes import Outcome
from mage.agent.situation import Run
from mage.effects import EffectError, SummaryRequest
from mage.engine import Active, Compress, ExecutionState, Unverified
from mage.render.extract import extract
from mage.session.asks import Program

__all__ = ["is_due", "relieve"]


def is_due(run: Run, shown: ExecutionState) -> bool:
    """Tell whether the open segment has passed the mark, and a fallback that failed has cooled down."""
    mark = run.policy.high_water
    if mark is None or not run.policy.compress or not shown.raw or run.totals.steps < run.cool_until:
        return False
    return run.marked(shown) >= mark


def relieve(run: Run) -> Program[Outcome | None]:
    """Summarize the open segment as a fallback, and have it judged.

    A summary that is still pending is settled first. An answer that cannot be used leaves the state as it was,
    is reported, and is not asked for again before some steps have passed.

    Returns:
        How the run ends, None where it goes on.
    """
    ended = yield from settle(run, wait=True)
    if ended is not None or not isinstance(run.state, Active):
        return ended
    shown = run.shown()
    if not shown.raw:  # settling has gone back
        return None
    text = yield from _text(run, shown)
    result = None if text is None else (yield from run.operate(Compress(text, "fallback")))
    if isinstance(result, Unverified):
        return (yield from maintain(run))
    run.cool_until = run.totals.steps + run.policy.cool_down
    yield from run.notice(
        "tokens", "The open steps are long and could not be summarized: complete a subgoal soon."
    )
    return None


def _text(run: Run, shown: ExecutionState) -> Program[str | None]:
    limit = run.policy.summary_limit
    request = SummaryRequest(shown.task, shown.instructions, "fallback", (), shown.raw, limit)
    try:
        return (yield from run.asked("summarizer", summarize(request))).value
    except EffectError as error:
        # a segment that does not fit into the summarizer's context would never fit again
        return extract(shown.raw) if error.fault == "overflow" else None
