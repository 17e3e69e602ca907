"""The paper's figure of context growth (Appendix, Bounded Context Growth), from a run of ours."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("agg")  # no screen
import matplotlib.pyplot as plt

from benchmarks.agent.measuring import LongRun


def draw(run: LongRun, path: Path) -> None:
    """Write a PNG: tokens of each prompt, beside those with all steps kept; on two scales, or one hides the other."""
    figure, (both, ours) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    shown = [call.shown for call in run.calls]
    both.plot([call.kept for call in run.calls], color="#c47820", label="every step kept")
    both.plot(shown, color="#228b57", label="mage: S = (C, R, H)")
    ours.plot(shown, color="#228b57", linewidth=0.7, label="prompt")
    ours.plot(
        [call.summaries for call in run.calls], color="#2962a8", label="of it, C: summaries and chapters"
    )
    for axes in (both, ours):
        axes.set_xlabel("call of the model")
        axes.set_ylabel(f"prompt tokens ({run.counter})")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left")
        axes.grid(alpha=0.3)
    figure.suptitle(f"{run.steps:,} steps: {run.reduction:.1%} fewer prompt tokens than keeping everything")
    figure.savefig(path, dpi=120)
    plt.close(figure)
