"""How things are timed: garbage collector off, repetitions of both sides in turn, medians.

Other work on the machine slows whatever runs at that moment; taken in turn, it slows both sides alike. Runs
are timed by the processor time of this process, which does not count the moments that others had.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import TypeAlias, TypeVar

_Given = TypeVar("_Given")
Side: TypeAlias = tuple[Callable[[], object], Callable[[], object] | None]
"""A call, and what puts things back after it; None where it changes nothing."""


@contextmanager
def collector_off() -> Iterator[None]:
    """Collect garbage now, and not again until the block ends."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def runs_in_turn(
    sides: Sequence[Callable[[_Given], object]],
    given: Callable[[], _Given],
    repetitions: int,
    *,
    collect: bool = False,
) -> list[float]:
    """Time whole runs, each on an input of its own, and return the median of each side in ns.

    Making the input and freeing the result are not timed.

    Args:
        sides: what to time.
        given: makes the input of one run.
        repetitions: how often each side runs.
        collect: leave the garbage collector on, as most programs do.
    """
    times: list[list[int]] = [[] for _ in sides]
    for _ in range(repetitions):
        for side, seen in zip(sides, times, strict=True):
            made = given()
            with collector_off():
                if collect:
                    gc.enable()
                began = process_time_ns()
                result = side(made)
                seen.append(process_time_ns() - began)
            del result, made
    return [median(seen) for seen in times]


def calls_in_turn(
    sides: Sequence[Side],
    repetitions: int,
    *,
    block: int = 50,
) -> list[float]:
    """Time single calls and return the median of each side in ns, without what the clock itself takes.

    Args:
        sides: what to time, each with what puts things back after a call, untimed.
        repetitions: how often each side is called.
        block: how many calls of one side stand together before the other's turn.
    """
    empty: list[int] = []
    times: list[list[int]] = [[] for _ in sides]
    with collector_off():
        for _ in range(max(1, repetitions // block)):
            _calls(_nothing, None, min(block, repetitions), empty)
            for (call, put_back), seen in zip(sides, times, strict=True):
                _calls(call, put_back, min(block, repetitions), seen)
    return [median(seen) - median(empty) for seen in times]


def _nothing() -> None:
    """Stand for a call that costs nothing."""


def _calls(
    call: Callable[[], object], put_back: Callable[[], object] | None, times: int, seen: list[int]
) -> None:
    for _ in range(times):
        began = perf_counter_ns()
        result = call()
        seen.append(perf_counter_ns() - began)
        del result
        if put_back is not None:
            put_back()
