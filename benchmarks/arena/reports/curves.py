"""Context against steps, the paper's figure: how long the prompt of each step was, on average over tasks.

The curves are values, so that a terminal, a page and a drawing show the same. A row has at most some fifty of its
prompts, of each stretch the longest (`decisions.context_of`); between two of them a curve is a straight line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from html import escape
from typing import Final, TypeAlias, final

import attrs

from benchmarks.arena.domains.results import Row
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.reports.blocks import Block
from benchmarks.arena.reports.series import who_acted

Point: TypeAlias = tuple[int, float]

COLOURS: Final = ("#c47820", "#228b57", "#2962a8", "#9c3d97", "#777777", "#b3332e", "#008b8b", "#6b5b00")
DASHES: Final = ("none", "none", "8 5", "3 4", "12 3 3 3")
"""Of curves: those that lie on each other can both be seen."""
_MARKS: Final = "ox+*#%@abcdefgh"
_NAMING: Final = ("agent", "model", "judge", "size", "seed")
_STEPS: Final = 96
"""Points of a curve at most."""
_WIDE, _HIGH = 640, 320
_LEFT, _RIGHT, _BOTTOM, _TOP = 62, 24, 40, 14


@final
@attrs.frozen
class Curve:
    """One memory.

    Attributes:
        label: the memory.
        tasks: how many tasks it is a mean of, at its beginning.
        points: by step, the mean tokens of the prompts of the tasks that came so far; as far as half of them came.
    """

    label: str
    tasks: int
    points: tuple[Point, ...]


@final
@attrs.frozen
class Figure:
    """The curves of one domain, of at least one point each.

    Attributes:
        name: for a file.
        title: of which tasks, and who acted.
        curves: one for each memory.
    """

    name: str
    title: str
    curves: tuple[Curve, ...]

    @property
    def most(self) -> Point:
        """The largest step and the most tokens, neither of them 0."""
        points = [point for curve in self.curves for point in curve.points]
        return max([step for step, _ in points], default=1), max(
            [tokens for _, tokens in points], default=1.0
        )


def figures(block: Block) -> list[Figure]:
    """Return a figure for each domain of which some rows say how long their prompts were."""
    found = []
    for domain in block.domains:
        curves = [
            _curve(label, block.series[label, domain].rows)
            for label in block.labels
            if (label, domain) in block.series
        ]
        known = tuple([curve for curve in curves if curve.points])
        if known:
            told = [str(block.settings[each]) for each in _NAMING if each in block.settings]
            name = "-".join([domain, *told])
            title = f"Context against steps, {domain}: {who_acted(block.settings)}"
            found.append(Figure("".join(char if char.isalnum() else "-" for char in name), title, known))
    return found


def _curve(label: str, rows: Sequence[Row]) -> Curve:
    runs = [run for run in map(_context, rows) if run]
    if not runs:
        return Curve(label, 0, ())
    ends = sorted(run[-1][0] for run in runs)
    last = ends[len(ends) // 2]
    first = min(run[0][0] for run in runs)
    steps = sorted({first + (last - first) * place // _STEPS for place in range(_STEPS + 1)})
    points = []
    for step in steps:
        known = [_at(run, step) for run in runs if run[-1][0] >= step]
        points.append((step, mean(known)))
    return Curve(label, len(runs), tuple(points))


def _context(row: Row) -> list[tuple[int, int]]:
    """Return the pairs of a row, by step; none where it has none, or what it has is no such list."""
    told = row.get("context")
    pairs = [pair for pair in told if _is_pair(pair)] if isinstance(told, list) else []
    return sorted({int(step): int(tokens) for step, tokens in pairs}.items())


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(each) is int and each > 0 for each in pair)


def _at(run: Sequence[tuple[int, int]], step: int) -> float:
    """Return the tokens at a step that is at most the last, on a straight line between the steps that are known."""
    after = bisect_left(run, (step, 0))
    if after == 0 or run[after][0] == step:
        return float(run[after][1])
    (low, less), (high, more) = run[after - 1], run[after]
    return less + (more - less) * (step - low) / (high - low)


# -- in a terminal --------------------------------------------------------------------------------------


def as_plot(figure: Figure, width: int = 72, height: int = 16) -> str:
    """Return a figure for a terminal, so many characters wide and lines high; a letter for each memory."""
    steps, tokens = figure.most
    field = [[" "] * width for _ in range(height)]
    for place, curve in enumerate(figure.curves):
        for step, many in curve.points:
            column = min(width - 1, (step - 1) * width // steps)
            line = min(height - 1, int(many * height / tokens))
            field[height - 1 - line][column] = _MARKS[place % len(_MARKS)]
    top = f"{tokens:,.0f}"
    lines = [figure.title]
    for at, row in enumerate(field):
        edge = top if at == 0 else "0" if at == height - 1 else ""
        lines.append(f"{edge:>{len(top)}} |{''.join(row)}".rstrip())
    lines.append(f"{'':>{len(top)}} +{'-' * width}")
    lines.append(f"{'':>{len(top)}}  1{f'step {steps}':>{width - 1}}")
    lines += [f"  {_MARKS[place % len(_MARKS)]}  {_told(curve)}" for place, curve in enumerate(figure.curves)]
    return "\n".join(lines)


def _told(curve: Curve) -> str:
    (first, less), (last, more) = curve.points[0], curve.points[-1]
    tasks = f"{curve.tasks} task{'s' if curve.tasks > 1 else ''}"
    return (
        f"{curve.label}: {less:,.0f} tokens at step {first}, {more:,.0f} at step {last}, {max(_tokens(curve)):,.0f} at"
        f" most ({tasks})"
    )


def _tokens(curve: Curve) -> list[float]:
    return [tokens for _, tokens in curve.points]


# -- in a page ------------------------------------------------------------------------------------------


def as_svg(figure: Figure) -> str:
    """Return a figure as SVG to stand in HTML, which scales with its page."""
    steps, tokens = figure.most
    inner = (_WIDE - _LEFT - _RIGHT, _HIGH - _BOTTOM - _TOP)
    parts = [f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(figure.title)}">']
    for part in range(5):
        y = _TOP + inner[1] * (4 - part) / 4
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tokens * part / 4:,.0f}</text>'
        )
        x = _LEFT + inner[0] * part / 4
        parts.append(
            f'<text x="{x:.1f}" y="{_HIGH - _BOTTOM + 16}" text-anchor="middle">{steps * part // 4}</text>'
        )
    parts.append(f'<text x="{_LEFT + inner[0] / 2:.1f}" y="{_HIGH - 6}" text-anchor="middle">step</text>')
    for place, curve in enumerate(figure.curves):
        at = [
            f"{_LEFT + inner[0] * step / steps:.1f},{_TOP + inner[1] * (1 - many / tokens):.1f}"
            for step, many in curve.points
        ]
        parts.append(
            f'<polyline fill="none" stroke="{COLOURS[place % len(COLOURS)]}" stroke-width="2"'
            f' stroke-dasharray="{DASHES[place % len(DASHES)]}" points="{" ".join(at)}"/>'
        )
    return "\n".join([*parts, "</svg>"])


def legend(figure: Figure) -> str:
    """Return what the colours of a figure mean, as HTML."""
    items = [
        f'<li><span class="key" style="background:{COLOURS[place % len(COLOURS)]}"></span>{escape(_told(curve))}</li>'
        for place, curve in enumerate(figure.curves)
    ]
    return f"<ul>{''.join(items)}</ul>"
