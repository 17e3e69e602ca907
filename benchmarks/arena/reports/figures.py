"""The figures of a report as files, drawn by matplotlib (the dependency group `figures`); nothing else imports this."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")  # no screen
import matplotlib.pyplot as plt

from benchmarks.arena.reports.curves import COLOURS, Figure


def draw(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each figure as PNG and as SVG, and return the files. The same figures give the same bytes of SVG.

    Raises:
        OSError: the folder or a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for each in figures:
        with plt.rc_context({"svg.hashsalt": "arena"}):  # else its ids are drawn anew each time
            drawn, axes = plt.subplots(figsize=(7, 4), layout="constrained")
            for place, curve in enumerate(each.curves):
                colour = COLOURS[place % len(COLOURS)]
                drawn_as = ("-", "-", "--", ":", "-.")[
                    place % 5
                ]  # those that lie on each other can both be seen
                label = f"{curve.label} (n={curve.tasks})"
                axes.plot(*zip(*curve.points, strict=True), drawn_as, color=colour, label=label)
            axes.set_xlabel("step")
            axes.set_ylabel("tokens of the prompt, mean over tasks")
            axes.set_ylim(bottom=0)
            axes.legend(loc="upper left")
            axes.grid(alpha=0.3)
            axes.set_title(each.title, fontsize=8, wrap=True)
            for ending, metadata in (("png", {}), ("svg", {"Date": None})):
                path = folder / f"context-{each.name}.{ending}"
                if path in written:  # of series that differ in what names no file
                    path = folder / f"context-{each.name}-{len(written)}.{ending}"
                drawn.savefig(path, dpi=120, metadata=metadata)
                written.append(path)
            plt.close(drawn)
    return written
