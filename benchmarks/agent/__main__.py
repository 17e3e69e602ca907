"""A long run: the paper's figure of context growth, and an exit status: is the context bounded?

    python -m benchmarks.agent [--aisles 5000] [--mark 2000] [--fold-at 3500] [--png growth.png]

5,000 aisles are 100,000 steps on the path. Exit status 0 where the run has finished, no prompt of model, judge or
summarizer was longer than 8,000 tokens, none of the model's longer than the mark, C and the largest single step
together, ten planted mistakes have cost at most ten revisions, and every line of C can be looked into down to its raw
steps; else 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.agent.measuring import LongRun, long_run
from benchmarks.agent.warehouse import MISTAKES
from mage.agent import RunFinished
from mage.render import bars

LIMIT: Final = 8_000
"""Tokens of the longest prompt."""


def main(arguments: list[str] | None = None) -> int:
    """Run, print what was seen, draw it, and return the exit status."""
    parser = argparse.ArgumentParser(description="A long run of an agent, and what its context took.")
    parser.add_argument("--aisles", type=int, default=5_000, help="subgoals, of 20 steps each")
    parser.add_argument("--mark", type=int, default=2_000, help="the policy's high-water mark, in tokens")
    parser.add_argument("--fold-at", type=int, default=3_500, help="tokens of C from which on it is folded")
    parser.add_argument("--png", type=Path, help="write the figure here; needs matplotlib")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = long_run(chosen.aisles, chosen.mark, Path(folder), fold_at=chosen.fold_at)
    _tell(run, time.perf_counter() - start)
    if chosen.png is not None:
        from benchmarks.agent.figure import draw  # noqa: PLC0415  # matplotlib is for those who want a picture

        draw(run, chosen.png)
        print(f"figure: {chosen.png}")
    return 0 if is_bounded(run) else 1


def is_bounded(run: LongRun) -> bool:
    """Tell whether a run holds what README says of it."""
    return (
        isinstance(run.outcome, RunFinished)
        and not run.above()
        and run.longest <= LIMIT
        and run.outcome.totals.revisions <= MISTAKES
        and run.is_whole
    )


def _tell(run: LongRun, seconds: float) -> None:
    totals = run.outcome.totals
    shown, kept = [call.shown for call in run.calls], [call.kept for call in run.calls]
    print(
        f"{type(run.outcome).__name__} in {seconds:.0f} s: {len(run.calls):,} calls, {run.steps:,} steps in the tree,"
    )
    print(
        f"{totals.summaries} summaries ({run.fallbacks} fallbacks), {run.chapters} chapters, {totals.revisions} revisions, {run.bytes:,} bytes on disk"
    )
    print(f"the longest prompt of all, those of judge and summarizer too: {run.longest:,} tokens")
    print(f"every line can be looked into down to its raw steps: {'yes' if run.is_whole else 'no'}")
    print(f"tokens of a prompt ({run.counter}): largest {max(shown):,}; with every step kept {max(kept):,}")
    print(f"mage  |{bars(shown, top=max(kept))}| {sum(shown):,} in all")
    print(f"kept  |{bars(kept, top=max(kept))}| {sum(kept):,} in all")
    print(f"mage, on its own scale |{bars(shown, top=max(shown), width=48)}|")
    print(f"{run.reduction:.1%} fewer prompt tokens than keeping everything")
    above = run.above()
    bound = f"the mark {run.mark:,} + its summaries + the largest step {run.largest:,}"
    print(f"prompts above {bound}: {len(above)} of {len(run.calls):,}")
    if above:
        print(f"the first: call {above[0]}, {run.calls[above[0]]}")


if __name__ == "__main__":
    sys.exit(main())
