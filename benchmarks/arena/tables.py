"""The coverage tables: rows for machines, and the same as text, with the interval of each number beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, final

import attrs

from benchmarks.arena.coverage import (
    PRODUCT,
    Drawn,
    Tally,
    by_system,
    differences,
    draw,
    interval,
    summed,
)
from benchmarks.arena.traces import Run

Row: TypeAlias = "dict[str, str | int | float | list[float] | None]"
SHARES: Final = ("values", "far", "actions", "writes", "runs", "words", "far_words")
FULL: Final = "full history"
_COLUMNS: Final = "{:<18} {:>6} {:>12} {:>7} {:>7} {:>6} {:>9} {:>12} {:>7} {:>7}"


@final
@attrs.frozen
class Setting:
    """What the numbers depend on beside the traces: it stands in every row.

    Attributes:
        room: tokens of open steps that the product's mark leaves room for.
        summary_limit: tokens that a text of the product's may have; None for an eighth of its mark, but at least 400.
        seed: of what is drawn.
        counter: what counts tokens.
    """

    room: int
    summary_limit: int | None
    seed: int
    counter: str


def rows(
    traces: str, runs: Sequence[Run], results: Sequence[Mapping[str, Tally]], setting: Setting
) -> Iterator[Row]:
    """Yield a row for each system, then one for each paired difference. Cost: draws x tasks x systems."""
    drawn = draw(runs, setting.seed)
    systems = by_system(results)
    common: Row = {"traces": traces, "tasks": len(drawn.groups), **attrs.asdict(setting)}
    far = {name: drawn.values(tallies, "far") for name, tallies in systems.items()}
    tokens = {name: drawn.values(tallies, "tokens") for name, tallies in systems.items()}
    for name, tallies in systems.items():
        yield {"table": "coverage", "system": name, **common, **_numbers(tallies, systems[FULL], drawn)}
    for one, other in _pairs(list(systems)):
        yield {
            "table": "paired",
            "system": one,
            "beside": other,
            **common,
            **_difference(
                "far",
                summed(systems[one]).part("far"),
                summed(systems[other]).part("far"),
                far[one],
                far[other],
            ),
            **_difference(
                "tokens",
                summed(systems[one]).tokens_each,
                summed(systems[other]).tokens_each,
                tokens[one],
                tokens[other],
            ),
        }


def _pairs(systems: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the product beside each other system, then BM25 and dense retrieval beside as many that were drawn by a die."""
    yield from [(PRODUCT, name) for name in systems if name != PRODUCT]
    for name in systems:
        drawn = name.replace("BM25", "random").replace("dense", "random")
        if drawn != name and drawn in systems:
            yield name, drawn


def _numbers(tallies: Sequence[Tally], full: Sequence[Tally], drawn: Drawn) -> Row:
    """Return what is told of one system: each count, each share, and the half-widths of two of them."""
    total = summed(tallies)
    found: Row = dict(attrs.asdict(total))
    for name in SHARES:
        found[f"{name}_part"] = _rounded(total.part(name))
    found["far_half_width"] = _half_width(drawn.values(tallies, "far"))
    found["tokens_each"] = round(total.tokens_each, 1)
    found["tokens_half_width"] = _half_width(drawn.values(tallies, "tokens"), 1)
    of = summed(full).tokens
    found["of_full_history"] = round(total.tokens / of, 4) if of else None
    found["sent_each"] = round(total.sent / total.decisions, 1) if total.decisions else None
    return found


def _difference(
    name: str,
    one: float | None,
    other: float | None,
    draws: Sequence[float | None],
    beside: Sequence[float | None],
) -> Row:
    found = interval(differences(draws, beside))
    return {
        f"{name}_difference": None if one is None or other is None else round(one - other, 4),
        f"{name}_interval": None if found is None else [round(end, 4) for end in found],
    }


def _half_width(draws: Sequence[float | None], digits: int = 4) -> float | None:
    found = interval(draws)
    return None if found is None else round((found[1] - found[0]) / 2, digits)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


# -- text -----------------------------------------------------------------------------------------------


def as_text(found: Sequence[Row]) -> Iterator[str]:
    """Yield the rows of one set of traces as lines."""
    systems = [row for row in found if row["table"] == "coverage"]
    first = next(row for row in systems if row["system"] == FULL)
    yield (
        f"{first['traces']}: {first['decisions']:,} decisions in runs of {first['tasks']:,} tasks; {first['values']:,} values in"
        f" {first['actions']:,} actions, {first['far']:,} of them far; {first['writes']:,} actions that write"
    )
    yield _COLUMNS.format(
        "", "all", "far", "actions", "writes", "runs", "far words", "tokens", "of full", "sent"
    )
    for row in systems:
        yield _COLUMNS.format(
            row["system"],
            _part(row["values_part"]),
            f"{_part(row['far_part'])} ±{_part(row['far_half_width'])}",
            _part(row["actions_part"]),
            _part(row["writes_part"]),
            _part(row["runs_part"]),
            _part(row["far_words_part"]),
            f"{row['tokens_each']:,.0f} ±{row['tokens_half_width']:,.0f}",
            _part(row["of_full_history"]),
            f"{row['sent_each']:,.0f}",
        ).rstrip()
    yield "far coverage, paired differences (95 of 100 draws of tasks), and the tokens that they cost:"
    for row in found:
        if row["table"] == "paired":
            yield (
                f"  {row['system']} - {row['beside']}: {_signed(row['far_difference'])} {_ends(row['far_interval'], '+.2f')},"
                f" tokens {row['tokens_difference']:+,.0f} {_ends(row['tokens_interval'], '+,.0f')}"
            )


def _part(number: object) -> str:
    return "-" if not isinstance(number, float | int) else f"{number:.3f}".removeprefix("0")


def _signed(number: object) -> str:
    return "-" if not isinstance(number, float | int) else f"{number:+.2f}"


def _ends(interval: object, form: str) -> str:
    return f"[{', '.join([format(end, form) for end in interval])}]" if isinstance(interval, list) else "[-]"
