"""What a file of results says: one row for each domain, memory and agent, with an interval and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Final, cast

from benchmarks.arena.domains.results import Row, key_of
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.words import several

_Z: Final = 1.959964  # 95 %
_COLUMNS: Final = several(
    "domain; memory; agent; tasks; sr; interval; ps; soft ps; answered; capped; stopped; failed; tokens"
)


def report(rows: Iterable[Row]) -> list[dict[str, object]]:
    """Return an object for each series, in the order of their settings. Every task of a series counts, failed or not."""
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(key_of(row)[0], []).append(row)
    return [_summary(series[key]) for key in sorted(series)]


def _summary(rows: Sequence[Row]) -> dict[str, object]:
    settings = cast("Mapping[str, object]", rows[0]["settings"])
    count = len(rows)
    sr = _mean(rows, "sr")
    said: dict[str, object] = {
        "domain": settings.get("domain"),
        "memory": settings.get("memory"),
        "agent": settings.get("agent"),
        "tasks": count,
        "sr": sr,
        "sr_interval": list(wilson(round(sr * count), count)),
        "ps": _mean(rows, "ps"),
        "answered": _mean(rows, "answered"),
        "stopped_by_cap": _mean(rows, "stopped_by_cap"),
        "stopped": sum(row.get("outcome") == "stopped" for row in rows),
        "failed": sum(row.get("outcome") == "failed" for row in rows),
        "steps": _mean(rows, "steps"),
        "tokens": _mean(rows, "tokens"),
        "settings": settings,
        "origin": rows[0].get("origin"),
    }
    if any("soft_ps" in row for row in rows):
        said["soft_ps"] = _mean(rows, "soft_ps")
    return said


def _mean(rows: Sequence[Row], name: str) -> float:
    """Return the mean of a number over the tasks of a series; what a failed task does not have is 0."""
    values = [row.get(name, 0) for row in rows]
    return mean(float(value) if isinstance(value, int | float) else 0.0 for value in values)


def wilson(right: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score; of nothing it is everything."""
    if not count:
        return (0.0, 1.0)
    share, square = right / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z * sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
    return (max(0.0, middle - half), min(1.0, middle + half))


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a report as text, a line for each series."""
    lines = [_COLUMNS, *(tuple(_cells(row)) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cells(row: Mapping[str, object]) -> Iterable[str]:
    low, high = cast("Sequence[float]", row["sr_interval"])
    yield from (str(row["domain"]), str(row["memory"]), str(row["agent"]), str(row["tasks"]))
    yield f"{row['sr']:.3f}"
    yield f"[{low:.2f}, {high:.2f}]"
    yield f"{row['ps']:.3f}"
    yield f"{row['soft_ps']:.3f}" if "soft_ps" in row else "-"
    yield f"{row['answered']:.3f}"
    yield f"{row['stopped_by_cap']:.2f}"
    yield str(row["stopped"])
    yield str(row["failed"])
    yield f"{row['tokens']:,.0f}"
