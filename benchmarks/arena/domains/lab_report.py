"""What the rows of the laboratory come to: a line for each series, with half-widths by a bootstrap over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.laboratory import MEMORIES, Conditions
from benchmarks.arena.domains.results import Row, key_of
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.words import several
from mage.chat import canonical

RESAMPLES: Final = 1000
_COLUMNS: Final = several(
    "memory; mistakes; judge: misses, alarms; lost; SR; PS; SR less full history's; tokens; steps; guessed"
)
_AGAINST: Final = "full-history"

Values: TypeAlias = Sequence[float]


def half_width(values: Values) -> float:
    """Return half the width of the 95 % interval of a mean, by a seeded bootstrap over tasks.

    It is 0 where all tasks have one value, which says that more tasks are needed to see a difference, and not that
    there is none. Cost: O(tasks * 1000).
    """
    if len(set(values)) <= 1:
        return 0.0
    count = len(values)
    draw = draws("bootstrap", count)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(RESAMPLES))
    return (means[round(0.975 * RESAMPLES) - 1] - means[round(0.025 * RESAMPLES)]) / 2


def lab_report(rows: Sequence[Row], conditions: Sequence[Conditions]) -> list[dict[str, object]]:
    """Return an object for each series, in their order: means, half-widths, and SR against full history, by pairs."""
    by_series: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: key_of(row)[1]):
        by_series.setdefault(key_of(row)[0], []).append(row)
    plain = {
        each.mistakes: _values(by_series[canonical(each.document())], "sr")
        for each in conditions
        if each.memory == _AGAINST
    }
    found: list[dict[str, object]] = []
    for each in dict.fromkeys(conditions):
        mine = by_series[canonical(each.document())]
        said: dict[str, object] = {"settings": each.document(), "memory": each.memory, "tasks": len(mine)}
        said["failed"] = sum(row.get("outcome") == "failed" for row in mine)
        for name in ("sr", "ps", "tokens", "steps", "guessed", "revisions", "stopped_by_cap"):
            values = _values(mine, name)
            said |= {name: mean(values), f"{name}_half_width": half_width(values)}
        if each.mistakes in plain:
            pairs = zip(_values(mine, "sr"), plain[each.mistakes], strict=True)
            differences = [ours - theirs for ours, theirs in pairs]
            said |= {"sr_more": mean(differences), "sr_more_half_width": half_width(differences)}
        found.append(said)
    return found


def _values(rows: Sequence[Row], name: str) -> list[float]:
    """Return a number of each task; what a failed one does not have is 0."""
    values = [row.get(name, 0) for row in rows]
    return [float(value) if isinstance(value, int | float) else 0.0 for value in values]


def lab_table(report: Sequence[Mapping[str, object]]) -> str:
    """Return a report as a table in Markdown."""
    lines = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(tuple(_cells(each)) for each in report)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(said: Mapping[str, object]) -> tuple[str, ...]:
    of = cast("Mapping[str, object]", said["settings"])
    setup = MEMORIES[str(of["memory"])]
    judged = of["judge"] and (setup.watched or setup.policy.maintain)
    judge = f"{of['misses']:.2f}, {of['alarms']:.2f}" if judged else "none"
    lost = f"{of['loss']:.2f}" if setup.compresses and not setup.forgets else "-"
    against = _with(said, "sr_more", "+.2f") if "sr_more" in said else "-"
    return (
        str(of["memory"]),
        f"{of['mistakes']:.1f}",
        judge,
        "all" if setup.forgets else lost,
        _with(said, "sr", ".2f"),
        _with(said, "ps", ".3f"),
        against,
        _with(said, "tokens", ",.0f", lambda value: value / 1000) + "K",
        f"{said['steps']:.0f}",
        f"{said['guessed']:.1f}",
    )


def _with(said: Mapping[str, object], name: str, form: str, scale: Callable[[float], float] = float) -> str:
    value, half = (scale(cast("float", said[each])) for each in (name, f"{name}_half_width"))
    return f"{value:{form}} ± {half:{form.lstrip('+')}}"
