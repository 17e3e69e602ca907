"""A long run: the paper's figure of context growth, and an exit status: is the context bounded?

    python -m benchmarks.agent [--aisles 250] [--mark 2000] [--png growth.png]

250 aisles are 5,000 steps on the path. Exit status 0 where the run has finished and no prompt was longer than the
mark, its summaries and the largest single step together, else 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.agent.measuring import LongRun, long_run
from mage.agent import RunFinished
from mage.render import bars

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run, print what was seen, draw it, and return the exit status."""
    parser = argparse.ArgumentParser(description="A long run of an agent, and what its context took.")
    parser.add_argument("--aisles", type=int, default=250, help="subgoals, of 20 steps each")
    parser.add_argument("--mark", type=int, default=2_000, help="the policy's high-water mark, in tokens")
    parser.add_argument("--png", type=Path, help="write the figure here; needs matplotlib")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = long_run(chosen.aisles, chosen.mark, Path(folder))
    _tell(run, time.perf_counter() - start)
    if chosen.png is not None:
        from benchmarks.agent.figure import draw  # noqa: PLC0415  # matplotlib is for those who want a picture

        draw(run, chosen.png)
        print(f"figure: {chosen.png}")
    return 0 if isinstance(run.outcome, RunFinished) and not run.above() else 1


def _tell(run: LongRun, seconds: float) -> None:
    totals = run.outcome.totals
    shown, kept = [call.shown for call in run.calls], [call.kept for call in run.calls]
    print(
        f"{type(run.outcome).__name__} in {seconds:.0f} s: {len(run.calls):,} calls, {run.steps:,} steps in the tree,"
    )
    print(
        f"{totals.summaries} summaries ({run.fallbacks} fallbacks), {totals.revisions} revisions, {run.bytes:,} bytes on disk"
    )
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
