"""The command `follow`: every memory over every plan, rows for machines, and the same as text.

A row `run` says what became of one plan under one memory; a row `follow` sums these up, with half of what 95 of 100
draws of tasks span; a row `paired` is the product beside another memory, over the same draws.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, final

import attrs

from benchmarks.arena.coverage import PRODUCT, Drawn, differences, draw, interval
from benchmarks.arena.domains.results import refuse_new, write_whole
from benchmarks.arena.following.cooking import CookingWorld
from benchmarks.arena.following.follower import BadFile, Followed, Plan, follow
from benchmarks.arena.following.state_bench import READINGS, StateBench
from benchmarks.arena.systems import (
    FullHistory,
    Nothing,
    Oracle,
    Retrieval,
    System,
    Window,
    at_random,
    by_bm25,
    has_bm25,
    has_literal,
)
from benchmarks.arena.traces import Run
from mage import Policy
from mage.tokens import default_counter

Row: TypeAlias = "dict[str, Any]"  # Any: values of JSON
FULL: Final = FullHistory().name
LOOK_UPS: Final = {"on": (True,), "off": (False,), "both": (False, True)}
_LINE: Final = "{:<18} {:>12} {:>6} {:>8} {:>12} {:>8} {:>8} {:>6} {:>6} {:>8}"


class Plans(Protocol):
    """Plans in an environment; it can be sent to another process."""

    @property
    def name(self) -> str: ...
    def version(self) -> str: ...
    def names(self) -> Sequence[str]: ...
    def plan(self, name: str) -> Plan | str: ...
    def others(self, name: str, many: int, seed: int) -> list[Run]: ...


@final
@attrs.frozen
class Setting:
    """What the numbers depend on beside the plans: it stands in every row.

    Attributes:
        before: runs of others that are in a memory before.
        reading: what counts as a value.
        room: tokens of open steps that the product's mark leaves room for.
        summary_limit: tokens that a text of the product's may have: the policy's default.
        seed: of what is drawn.
        counter: what counts tokens.
    """

    before: int
    reading: str
    room: int
    seed: int
    summary_limit: int | None = Policy().summary_limit
    counter: str = attrs.field(factory=lambda: default_counter().name)


def systems(seed: int, holds: Callable[[str, str], bool] = has_literal) -> dict[str, System | None]:
    """Return the memories by name; None is the product. The oracle has to know what holds a value."""
    found: list[System] = [FullHistory(), Oracle(holds=holds), Window(4), Window(8)]
    found.append(Retrieval("open steps alone", 0, at_random))
    found.append(Retrieval("random, 3 steps", 3, at_random, seed=seed))
    if has_bm25():
        found.extend([Retrieval(f"BM25, {many} steps", many, by_bm25, seed=seed) for many in (1, 3)])
    return {PRODUCT: None, **{each.name: each for each in (*found, Nothing())}}


# -- following ------------------------------------------------------------------------------------------


def follow_one(
    plans: Plans, setting: Setting, look_ups: Sequence[bool], only: Sequence[str], name: str
) -> list[Row] | str:
    """Return the rows of a plan, memory by memory; or why it is left out.

    Raises:
        BadFile: its files are not what they should be.
    """
    plan = plans.plan(name)
    if isinstance(plan, str):
        return plan
    before = plans.others(name, setting.before, setting.seed)
    counter = default_counter()
    rows = list[Row]()
    for memory, system in systems(setting.seed, plan.holds).items():
        if only and memory not in only and memory != FULL:
            continue
        found: Followed | None = None
        for may in look_ups:
            if found is None or found.lost:  # where nothing was lost, nothing is looked up
                found = follow(plan, system, look_ups=may, room=setting.room, counter=counter, before=before)
            rows.append({"table": "run", "run": name, "memory": memory, "look_ups": may, **_numbers(found)})
    return rows


def _numbers(found: Followed) -> Row:
    return {
        "passed": found.passed,
        "score": round(found.score, 4),
        "steps": found.prompts,
        "tokens": found.tokens,
        "sent": found.sent,
        "looked_up": found.looked_up,
        "lost": len(found.lost),
        "unsaid": found.unsaid,
        "missing": [list(each) for each in found.lost],
    }


def follow_all(
    plans: Plans,
    setting: Setting,
    *,
    look_ups: Sequence[bool],
    names: Sequence[str],
    workers: int,
    only: Sequence[str] = (),
) -> tuple[list[Row], Counter[str]]:
    """Return the rows of all plans in their order, whatever the number of processes; and why how many are left out.

    Raises:
        BadFile: a file is not what it should be.
    """
    each = partial(follow_one, plans, setting, look_ups, only)
    if workers <= 1:
        results = list(map(each, names))
    else:
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:  # an engine of Java is not forked
            results = list(pool.map(each, names, chunksize=4))
    left = Counter([result for result in results if isinstance(result, str)])
    common = {"environment": plans.name, "version": plans.version(), **attrs.asdict(setting)}
    rows = [{**row, **common} for result in results if not isinstance(result, str) for row in result]
    return rows, left


# -- tables ---------------------------------------------------------------------------------------------


def summed(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield of the rows of one environment a row for each memory, then the paired differences, by look-ups."""
    for look_ups in (False, True):
        these = [row for row in rows if row["look_ups"] is look_ups]
        by_memory: dict[str, list[Row]] = {}
        for row in these:
            by_memory.setdefault(row["memory"], []).append(row)
        if by_memory:
            yield from _tables(by_memory)


def _tables(by_memory: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    full = by_memory[FULL]
    drawn = draw([Run(row["run"], row["run"], "", ()) for row in full], full[0]["seed"])
    common = {name: full[0][name] for name in ("environment", "version", "look_ups", *_FIELDS)}
    many = len(full)
    for memory, rows in by_memory.items():
        yield {
            "table": "follow",
            "memory": memory,
            "runs": many,
            **common,
            "sr": _mean(rows, "passed"),
            "sr_interval": _interval(_draws(drawn, rows, "passed")),
            "score": _mean(rows, "score"),
            **{name: _mean(rows, name, 1) for name in ("tokens", "sent", "steps")},
            "of_full_history": _ratio(rows, full, "tokens"),
            "of_full_interval": _interval(_draws(drawn, rows, "tokens", full)),
            "sent_of_full_history": _ratio(rows, full, "sent"),
            "sent_of_full_interval": _interval(_draws(drawn, rows, "sent", full)),
            **{name: sum(row[name] for row in rows) for name in ("lost", "unsaid", "looked_up")},
        }
    for one, other in _pairs(by_memory):
        paired = _paired(drawn, by_memory[one], by_memory[other], full)
        yield {"table": "paired", "memory": one, "beside": other, "runs": many, **common, **paired}


def _pairs(memories: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the product beside each other memory, then BM25 beside as many steps that were drawn by a die."""
    names = list(memories)
    if PRODUCT in names:
        yield from [(PRODUCT, name) for name in names if name != PRODUCT]
    drawn = {name: name.replace("BM25", "random") for name in names}
    yield from [(name, other) for name, other in drawn.items() if name != other and other in names]


_FIELDS: Final = tuple(field.name for field in attrs.fields(Setting))


def _paired(drawn: Drawn, one: Sequence[Row], other: Sequence[Row], full: Sequence[Row]) -> Row:
    passed = [_draws(drawn, rows, "passed") for rows in (one, other)]
    tokens = [_draws(drawn, rows, "tokens", full) for rows in (one, other)]
    return {
        "sr_difference": round(_mean(one, "passed") - _mean(other, "passed"), 4),
        "sr_interval": _interval(differences(*passed)),
        "of_full_difference": round(
            (_ratio(one, full, "tokens") or 0.0) - (_ratio(other, full, "tokens") or 0.0), 4
        ),
        "of_full_interval": _interval(differences(*tokens)),
    }


def _draws(
    drawn: Drawn, rows: Sequence[Row], name: str, full: Sequence[Row] | None = None
) -> list[float | None]:
    under = [1.0] * len(rows) if full is None else [row[name] for row in full]
    return drawn.ratios([row[name] for row in rows], under)


def _mean(rows: Sequence[Row], name: str, digits: int = 4) -> float:
    return round(float(sum(row[name] for row in rows)) / len(rows), digits)


def _ratio(rows: Sequence[Row], full: Sequence[Row], name: str) -> float | None:
    under = sum(row[name] for row in full)
    return round(sum(row[name] for row in rows) / under, 4) if under else None


def _interval(values: Iterable[float | None]) -> list[float] | None:
    found = interval(values)
    return None if found is None else [round(end, 4) for end in found]


# -- text -----------------------------------------------------------------------------------------------


def as_text(found: Sequence[Row]) -> Iterator[str]:
    """Yield the rows of `summed` as lines."""
    before: tuple[object, ...] = ()
    for row in found:
        if row["table"] == "follow":
            if (now := (row["environment"], row["look_ups"])) != before:
                yield ""
                yield (
                    f"{row['environment']} {row['version']}, {row['runs']} runs, look-ups {'on' if row['look_ups'] else 'off'},"
                    f" {row['before']} runs of others before, values: {row['reading']}"
                )
                yield _LINE.format(
                    "", "SR", "score", "tokens", "of full", "sent", "of full", "steps", "lost", "looked up"
                )
                before = now
            yield _LINE.format(
                row["memory"],
                f"{row['sr']:.3f} ±{_half(row['sr_interval']):.3f}",
                f"{row['score']:.2f}",
                f"{row['tokens']:,.0f}",
                f"{row['of_full_history']:.3f} ±{_half(row['of_full_interval']):.3f}",
                f"{row['sent']:,.0f}",
                f"{row['sent_of_full_history']:.3f}",
                f"{row['steps']:.1f}",
                f"{row['lost']:,}",
                f"{row['looked_up']:,}",
            )
        else:
            yield (
                f"  {row['memory']} - {row['beside']}: SR {row['sr_difference']:+.3f} {_ends(row['sr_interval'])},"
                f" tokens of full {row['of_full_difference']:+.3f} {_ends(row['of_full_interval'])}"
            )


def _half(ends: Sequence[float] | None) -> float:
    return 0.0 if ends is None else (ends[1] - ends[0]) / 2


def _ends(ends: Sequence[float] | None) -> str:
    return "[-]" if ends is None else f"[{', '.join([f'{end:+.3f}' for end in ends])}]"


# -- the command ----------------------------------------------------------------------------------------


# Any: argparse keeps the type of its own parsers to itself
def add_command(commands: Any) -> None:
    """Add the command to the subparsers of a parser; `chosen.command(chosen)` runs it."""
    following = commands.add_parser("follow", help="can recorded plans still be followed with this memory?")
    following.add_argument(
        "--state-bench", type=Path, help="a checkout of STATE-Bench, whose code is imported from there"
    )
    following.add_argument(
        "--cooking", type=_whole, default=0, help="so many games of TextWorldExpress' CookingWorld"
    )
    following.add_argument(
        "--look-ups",
        choices=list(LOOK_UPS),
        default="both",
        help="whether a missing value may be looked up again (default: %(default)s)",
    )
    following.add_argument(
        "--before", type=_whole, default=0, help="runs of other customers in each memory before (default: 0)"
    )
    following.add_argument(
        "--values",
        choices=READINGS,
        default=READINGS[0],
        help="STATE-Bench: what must be shown, literals in arguments or arguments as a whole (default: %(default)s)",
    )
    following.add_argument("--memory", action="append", help="this row alone, beside the full history")
    following.add_argument("--limit", type=_whole, help="so many plans alone, spread over all")
    following.add_argument(
        "--room", type=_positive, default=700, help="tokens of open steps (default: %(default)s)"
    )
    following.add_argument("--seed", type=int, default=1, help="of what is drawn (default: %(default)s)")
    following.add_argument("--workers", type=_whole, default=2, help="processes; they change no number")
    following.add_argument("--out", type=Path, help="write every row here, as JSON Lines")
    following.set_defaults(command=run_follow)


def run_follow(chosen: argparse.Namespace) -> int:
    """Carry out the command and return the exit status."""
    if chosen.out is not None and (why := refuse_new(chosen.out)):
        return _refused(why)
    environments: list[Plans] = []
    if chosen.state_bench is not None:
        environments.append(StateBench(chosen.state_bench, chosen.values))
    if chosen.cooking:
        environments.append(CookingWorld(chosen.cooking))
    if not environments:
        return _refused("nothing to follow: --state-bench names a checkout, --cooking a number of games")
    unknown = set(chosen.memory or ()) - systems(chosen.seed).keys()
    if unknown:
        return _refused(f"no memory is named {min(unknown)!r}: there are {', '.join(systems(chosen.seed))}")
    if not has_bm25():
        sys.stderr.write(
            "BM25 is left out: bm25s is not installed (the dependency group `arena` brings it)\n"
        )
    written = list[Row]()
    try:
        for plans in environments:
            written.extend(_environment(plans, chosen))
    except BadFile as error:
        return _refused(error.reason)
    if chosen.out is not None:
        write_whole(chosen.out, "".join(json.dumps(row) + "\n" for row in written))
    return 0 if written else 1


def _environment(plans: Plans, chosen: argparse.Namespace) -> list[Row]:
    reading = chosen.values if isinstance(plans, StateBench) else "recipe and names"
    setting = Setting(chosen.before, reading, chosen.room, chosen.seed)
    names = plans.names()
    if chosen.limit:
        names = names[:: max(1, len(names) // chosen.limit)][: chosen.limit]
    rows, left = follow_all(
        plans,
        setting,
        look_ups=LOOK_UPS[chosen.look_ups],
        names=names,
        workers=chosen.workers,
        only=chosen.memory or (),
    )
    told = "".join(f"; {many} left out: the run {why}" for why, many in sorted(left.items()))
    sys.stdout.write(f"{plans.name}: {len(names)} recorded runs{told}\n")
    found = list(summed(rows))
    sys.stdout.write("\n".join(as_text(found)) + "\n\n")
    sys.stdout.flush()
    return [*rows, *found]


def _refused(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 1


def _positive(text: str) -> int:
    if _whole(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)
