"""What the rows of the laboratory come to: a line for each series, with half-widths by a bootstrap over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, cast

import attrs

from benchmarks.arena.domains.breakeven import BreakEven, break_even, break_even_table, leads
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.results import Row, key_of
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.sweeps import ALL_MEMORIES, Conditions
from benchmarks.arena.domains.words import several
from mage.chat import canonical

RESAMPLES: Final = 1000
_COLUMNS: Final = several(
    "memory; mistakes; judge: misses, alarms; lost; besides; SR; PS; SR less full history's; tokens; steps; guessed"
)
_NUMBERS: Final = ("sr", "ps", "tokens", "steps", "guessed", "revisions", "stopped_by_cap")
ASSUMED: Final = (
    "A row with a recall is a sensitivity analysis: it says what would follow if recall fell with the length of a prompt "
    "along that curve, wherever in it a fact stands. It is evidence of nothing."
)

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


_ByThrow: TypeAlias = dict[Conditions, list[list[Row]]]
"""By series, but for the draw of its judge: the rows of each draw, by task."""


def _by_series(rows: Sequence[Row], conditions: Sequence[Conditions]) -> _ByThrow:
    by_key: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: key_of(row)[1]):
        by_key.setdefault(key_of(row)[0], []).append(row)
    found: _ByThrow = {}
    for each in dict.fromkeys(conditions):
        found.setdefault(attrs.evolve(each, throw=0), []).append(by_key[canonical(each.document())])
    return found


def lab_report(rows: Sequence[Row], conditions: Sequence[Conditions]) -> list[dict[str, object]]:
    """Return an object for each series, in their order: means, half-widths, and SR against full history, by pairs.

    Series that differ in the draw of their judge alone are one: each of its tasks counts with its mean over draws.
    """
    found: list[dict[str, object]] = []
    series = _by_series(rows, conditions)
    for each, throws in series.items():
        said: dict[str, object] = {
            "settings": each.document(),
            "memory": _name(each),
            "tasks": len(throws[0]),
        }
        said["failed"] = sum(row.get("outcome") == "failed" for mine in throws for row in mine)
        for name in _NUMBERS:
            values = _values(throws, name)
            said |= {name: mean(values), f"{name}_half_width": half_width(values)}
        if len(throws) > 1:
            of = [mean(_values([mine], "sr")) for mine in throws]
            said |= {"draws": len(throws), "sr_of_draws": of}
        plain = series.get(_plain(each))
        if plain is not None:
            pairs = zip(_values(throws, "sr"), _values(plain, "sr"), strict=True)
            differences = [ours - theirs for ours, theirs in pairs]
            said |= {"sr_more": mean(differences), "sr_more_half_width": half_width(differences)}
        if each.recall:
            said["sensitivity"] = ASSUMED
        found.append(said)
    return found


def _plain(each: Conditions) -> Conditions:
    """Return full history without a judge, where all else is as in some conditions."""
    return Conditions(
        "full-history",
        each.mistakes,
        cart=each.cart,
        recall=each.recall,
        strength=each.strength,
        seed=each.seed,
        size=each.size,
    )


def _values(throws: Sequence[Sequence[Row]], name: str) -> list[float]:
    """Return a number of each task, over draws in the mean; what a failed one does not have is 0."""
    by_task = zip(*throws, strict=True)
    return [mean(_number(row.get(name, 0)) for row in rows) for rows in by_task]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def lab_break_even(rows: Sequence[Row], conditions: Sequence[Conditions]) -> list[BreakEven]:
    """Return the rates at which leads are gone, of those whose series were all run."""
    series = _by_series(rows, conditions)
    sr = {each: _values(throws, "sr") for each, throws in series.items()}
    seed, size = conditions[0].seed, conditions[0].size
    found = (break_even(lead, sr) for lead in leads(seed, size))
    return [each for each in found if each is not None]


# -- tables ---------------------------------------------------------------------------------------------


def lab_table(report: Sequence[Mapping[str, object]], found: Sequence[BreakEven] = ()) -> str:
    """Return a report as tables in Markdown: the series, what recall is, and where leads are gone."""
    lines = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(tuple(_cells(each)) for each in report)]
    parts = ["\n".join(f"| {' | '.join(line)} |" for line in lines)]
    if any("sensitivity" in each for each in report):
        parts.append(ASSUMED)
    if found:
        parts.append(break_even_table(found))
    return "\n\n".join(parts)


def _name(each: Conditions) -> str:
    if each.setup.rank is None:
        return each.memory
    by = f" by {each.query}" if each.setup.rank == "bm25" else ""
    return f"{each.memory}: {each.most} {each.chunks}{by}"


def _cells(said: Mapping[str, object]) -> tuple[str, ...]:
    of = cast("Mapping[str, object]", said["settings"])
    setup = ALL_MEMORIES[str(of["memory"])]
    judge = f"{of['misses']:.2f}, {of['alarms']:.2f}" if of["judge"] and setup.is_judged else "none"
    lost = f"{of['loss']:.2f}" if setup.compresses and not setup.forgets else "-"
    return (
        str(said["memory"]),
        f"{of['mistakes']:.1f}",
        judge,
        "all" if setup.forgets else lost,
        _besides(said, of),
        _with(said, "sr", ".2f"),
        _with(said, "ps", ".3f"),
        _with(said, "sr_more", "+.2f") if "sr_more" in said else "-",
        _with(said, "tokens", ",.0f", lambda value: value / 1000) + "K",
        f"{said['steps']:.0f}",
        f"{said['guessed']:.1f}",
    )


def _besides(said: Mapping[str, object], of: Mapping[str, object]) -> str:
    found = ["cart"] if of["cart"] else []
    if of["recall"]:
        part = "" if of["strength"] == 1 else f" by {of['strength']:g}"
        found.append(f"if recall: {of['recall']}{part}")
    if "draws" in said:
        by_draw = cast("Sequence[float]", said["sr_of_draws"])
        found.append(f"{said['draws']} draws: SR {min(by_draw):.2f} to {max(by_draw):.2f}")
    return "; ".join(found) or "-"


def _with(said: Mapping[str, object], name: str, form: str, scale: Callable[[float], float] = float) -> str:
    value, half = (scale(cast("float", said[each])) for each in (name, f"{name}_half_width"))
    return f"{value:{form}} ± {half:{form.lstrip('+')}}"
