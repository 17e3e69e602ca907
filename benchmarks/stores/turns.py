"""Steps and readings of several keepers in turn, in one run; each must have kept what it was given.

Each side has a database of its own. They take turns in blocks of steps, and who begins changes from block to
block, so that nobody always comes after the same neighbour. The time is the clock's, since a durable step waits for the
disk; beside it the processor time of this process, its threads included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Final, final

import attrs

from benchmarks.clock import collector_off
from benchmarks.stores.keepers import Keeper, Maker, bytes_in
from benchmarks.work import Contents

_BLOCK: Final = 20
"""Steps of one side that stand together before another's turn."""


@final
@attrs.define
class Seen:
    """What was seen of one keeper.

    Attributes:
        clock: ns of each step.
        processor: ns of each step, of the processor.
        reading: ns of each reading of all steps, from a closed database.
        size: bytes on disk at the end.
    """

    clock: list[int] = attrs.field(factory=list)
    processor: list[int] = attrs.field(factory=list)
    reading: list[int] = attrs.field(factory=list)
    size: int = 0

    def step(self, last: int = 0) -> float:
        """Return the median time of a step in us, of the last so many steps (0: of all)."""
        return median(self.clock[-last:]) / 1000

    def work(self, last: int = 0) -> float:
        """Return the same in processor time."""
        return median(self.processor[-last:]) / 1000

    def read(self) -> float:
        """Return the median time of a reading in ms."""
        return median(self.reading) / 1e6


async def kept_in_turn(
    makers: Mapping[str, Maker], kept: Contents, directory: Path, *, readings: int
) -> dict[str, Seen]:
    """Let each keeper keep the steps and read them again, in turn, and return what was seen.

    Raises:
        RuntimeError: one of them does not show what it was given.
    """
    seen = {name: Seen() for name in makers}
    keepers: dict[str, Keeper] = {}
    for name, make in makers.items():
        (directory / name).mkdir()
        keepers[name] = make(directory / name, len(kept))
    await _step(keepers, kept, seen)
    for name, keeper in keepers.items():
        await keeper.end()
        seen[name].size = bytes_in(directory / name)
    for _ in range(readings):
        for name, keeper in keepers.items():
            await _read(name, keeper, kept, seen[name])
    return seen


async def _step(keepers: Mapping[str, Keeper], kept: Contents, seen: Mapping[str, Seen]) -> None:
    turns = [(keeper, seen[name]) for name, keeper in keepers.items()]
    for begin in range(0, len(kept), _BLOCK):
        for keeper, noted in _rotated(turns, begin // _BLOCK):
            with collector_off():
                for action, observation in kept[begin : begin + _BLOCK]:
                    processor, began = process_time_ns(), perf_counter_ns()
                    await keeper.step(action, observation)
                    noted.clock.append(perf_counter_ns() - began)
                    noted.processor.append(process_time_ns() - processor)


def _rotated(turns: Sequence[tuple[Keeper, Seen]], number: int) -> list[tuple[Keeper, Seen]]:
    first = number % len(turns)
    return [*turns[first:], *turns[:first]]


async def _read(name: str, keeper: Keeper, kept: Contents, noted: Seen) -> None:
    with collector_off():
        began = perf_counter_ns()
        found = await keeper.read()
        noted.reading.append(perf_counter_ns() - began)
    if found != kept:
        raise RuntimeError(f"{name} does not show what it was given")
