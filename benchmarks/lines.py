"""What the report measures: each function compares one kind of thing and yields lines of the table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, final

import attrs

from benchmarks import floor as floor_of
from benchmarks.calls import CALLS, LONG, histories
from benchmarks.clock import calls_in_turn, runs_in_turn
from benchmarks.imports import start_times, unwanted_imports
from benchmarks.memory import bytes_per_step
from benchmarks.work import contents, detour, floor_run, journal, lazily, run, without_ids
from mage.engine import replay, view

REPETITIONS: Final = {1_000: 41, 10_000: 15, 100_000: 7, 1_000_000: 3}
"""How often each side makes a run of so many steps."""
MANY: Final = 100_000


@final
@attrs.frozen
class Line:
    """One line of the table: a number of ours and what it is compared with, in one unit.

    Attributes:
        name: what was measured.
        ours: the engine's number.
        beside: what it is compared with; None where nothing is.
        unit: of both.
        against: what it is compared with, in words.
        limit: what must hold, in words; empty where the line only informs.
        holds: whether it does.
    """

    name: str
    ours: float
    beside: float | None
    unit: str
    against: str = "floor"
    limit: str = ""
    holds: bool = True


def runs() -> Iterator[Line]:
    """Compare runs: grow, and every 20 steps a compress and a verdict, with and without making strings.

    The limits are on the first, which is how the sketch was timed that they were set by.
    """
    smallest = 0.0
    for steps, repetitions in REPETITIONS.items():
        name = f"run of {steps:,} steps, a step"
        times = runs_in_turn([run, floor_run], partial(lazily, steps), repetitions)
        ours, floor = (time / steps / 1000 for time in times)
        if steps <= MANY:
            smallest = smallest or ours
            yield Line(name, ours, floor, "us", limit="at most 8x", holds=ours <= 8 * floor)
        else:
            yield Line(name, ours, floor, "us")
            held = ours <= 2.3 * smallest
            yield Line(name, ours, smallest, "us", "at 1,000", "at most 2.3x", held)
        times = runs_in_turn([run, floor_run], partial(contents, steps), repetitions)
        yield _timed("  the same, strings made before", times, steps)


def variants() -> Iterator[Line]:
    """Compare runs with the garbage collector on, as most programs have it, and replays."""
    repetitions = REPETITIONS[MANY]
    times = runs_in_turn([run, floor_run], partial(lazily, MANY), repetitions, collect=True)
    yield _timed(f"run of {MANY:,} steps, collector on, a step", times, MANY)
    commands = journal(contents(MANY))
    times = runs_in_turn([replay, floor_of.replay], lambda: commands, repetitions)
    yield _timed(f"replay of {MANY:,} steps, a step", times, MANY)


def calls() -> Iterator[Line]:
    """Compare single calls on a history of 100,000 steps, 20 more of them open."""
    at = histories(MANY)
    for name, made in CALLS.items():
        call = made(at)
        repetitions = 50 if name in LONG else 5000
        times = calls_in_turn([(call.ours, None), (call.floor, at.put_back)], repetitions)
        line = _timed(f"{name} at {MANY:,} steps", times)
        if name == "revise to the last boundary":
            line = attrs.evolve(line, limit="under 10 us", holds=line.ours < 10)
        yield line
    histories.cache_clear()


def _timed(name: str, times: list[float], per: int = 1) -> Line:
    ours, floor = (time / per / 1000 for time in times)
    return Line(name, ours, floor, "us")


def views() -> Iterator[Line]:
    """Compare the view of a small tree with that of a large one that shows the same."""
    small, large = detour(1_000), detour(1_000_000)
    same = without_ids(view(small)) == without_ids(view(large))
    of_small, of_large = calls_in_turn([(partial(view, small), None), (partial(view, large), None)], 5000)
    held = same and max(of_small, of_large) <= 1.3 * min(of_small, of_large)
    name = "view of equal S, tree of 1,000,000 steps"
    yield Line(name, of_large / 1000, of_small / 1000, "us", "of 1,000", "within 1.3x", held)


def memory() -> Iterator[Line]:
    """Compare what a run leaves in memory: its last version, every version, the floor's one tree."""
    for steps in (10_000, 100_000):
        for traced in (False, True):
            how = "tracemalloc" if traced else "resident"
            last, every, floor = (
                bytes_per_step(kept, steps, traced=traced) for kept in ("last", "every", "floor")
            )
            yield Line(f"last version of {steps:,}, a step, {how}", last, floor, "B")
            limit, more = "at most 4,096 B more", every - last
            name = f"every version of {steps:,}, a step, {how}"
            yield Line(name, every, last, "B", "last", limit, more <= 4096)


def imports() -> Iterator[Line]:
    """Compare a Python that imports mage with one that does nothing, and the engine with what it is built on."""
    needed = "import attrs, rpds, returns.result"
    ours, nothing, engine, below = start_times(15, "import mage", "pass", "import mage.engine", needed)
    limit = "under 150 ms"
    yield Line("python -c 'import mage'", ours * 1000, nothing * 1000, "ms", "pass", limit, ours < 0.150)
    name, limit = "python -c 'import mage.engine'", "at most 2.5x"
    yield Line(name, engine * 1000, below * 1000, "ms", "its needs", limit, engine <= 2.5 * below)
    found = unwanted_imports()
    named = f"none unwanted{': ' * bool(found)}{', '.join(sorted(found))}"
    yield Line("unwanted packages that it imports", len(found), None, "", "", named, not found)


MEASUREMENTS: Final = (imports, runs, variants, calls, views, memory)
"""In the order of the table."""
