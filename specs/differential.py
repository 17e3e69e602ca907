"""Random histories, on the engine and on the oracle that was extracted from the proofs.

`python -m specs.differential --sequences 20000`: Hypothesis draws whole sequences of commands, refused ones
and every phase among them, three in ten with more than a hundred accepted commands. Every answer is
compared, and every state by its fingerprint; what differs is shrunk, and printed as Python that can be
pasted. The seed is printed; the same one draws the same sequences. Exit status 1 where the two differ, 2
where there is no oracle.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import attrs
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from mage.engine import Command, State
from mage.testing.comparing import Disagreement, compare, shortest
from mage.testing.implementation import Implementation
from mage.testing.strategies import sequences
from specs.exhaustive import oracle_or_none
from specs.proofs import ORACLE

__all__ = ["LONG", "Seen", "main", "search"]

LONG: Final = 100
"""A sequence with more accepted commands than this is a long one."""

_LONG_ONES: Final[st.SearchStrategy[int]] = st.just(LONG + 1)
_SHORT_ONES: Final[st.SearchStrategy[int]] = st.sampled_from((0, 4, 12, 30))


_AT_ONCE: Final = 1_000
"""Sequences that Hypothesis draws in one run: it remembers all of a run, 60 kB a sequence."""
_APART: Final = 1 << 33
"""What the seeds of two such runs differ by: further than those of two workers."""


@attrs.define
class Seen:
    """What was compared so far.

    Attributes:
        sequences: how many sequences.
        long: how many of them had more than `LONG` accepted commands.
        tried: how many commands, refused ones included.
        accepted: how many of them were accepted.
        phases: how many of the states were in each phase, by name.
    """

    sequences: int = 0
    long: int = 0
    tried: int = 0
    accepted: int = 0
    phases: Counter[str] = attrs.field(factory=Counter)

    def note(self, tried: Sequence[Command], states: Sequence[State]) -> None:
        """Count one sequence; the start is no command that was accepted."""
        self.sequences += 1
        self.long += len(states) - 1 > LONG
        self.tried += len(tried)
        self.accepted += len(states) - 1
        self.phases.update(type(state).__name__ for state in states)

    def add(self, other: Seen) -> None:
        """Count what another has seen as well."""
        self.sequences += other.sequences
        self.long += other.long
        self.tried += other.tried
        self.accepted += other.accepted
        self.phases.update(other.phases)

    def __str__(self) -> str:
        mean = self.accepted / max(self.sequences, 1)
        phases = ", ".join(f"{count:,} {phase}" for phase, count in sorted(self.phases.items()))
        return (
            f"{self.sequences:,} sequences, {self.long:,} of them with over {LONG} accepted commands,"
            f" mean {mean:.1f}; {self.tried:,} commands, {self.tried - self.accepted:,} not accepted;"
            f" states: {phases}"
        )


def search(implementation: Implementation, count: int, number: int, *, at_once: int = _AT_ONCE) -> Seen:
    """Compare random sequences, some 3 in 10 of them long; return what was seen.

    Args:
        implementation: what is held against the engine.
        count: how many sequences.
        number: the seed that they are drawn from.
        at_once: how many Hypothesis draws in one run; its memory grows with it.

    Raises:
        Disagreement: an answer or a state differs; as it was met, `shortest` makes the most of it.
    """
    seen = Seen()
    for part, place in enumerate(range(0, count, at_once)):
        drawn = min(at_once, count - place)
        long = drawn * 3 // 10
        for share, lengths in ((long, _LONG_ONES), (drawn - long, _SHORT_ONES)):
            if share:
                _search(implementation, seen, share, number + part * _APART, lengths)
    return seen


def _search(
    implementation: Implementation, seen: Seen, count: int, number: int, lengths: st.SearchStrategy[int]
) -> None:
    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(sequences(lengths))
    def compared(commands: tuple[Command, ...]) -> None:
        seen.note(commands, compare(implementation, commands))

    compared()


def _work(oracle: Path, count: int, number: int, shrink: bool) -> Seen | str | None:
    """Search in a process of its own; return what was seen, or how the two differ."""
    implementation = oracle_or_none(oracle)
    if implementation is None:
        return None
    with implementation:
        try:
            return search(implementation, count, number)
        except Disagreement as found:
            return str((shrink and shortest(implementation, found.commands)) or found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare as the command line says, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.differential", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--sequences", type=int, default=20_000, help="how many (default: 20,000)")
    parser.add_argument("--workers", type=int, default=2, help="processes to share them (default: 2)")
    parser.add_argument("--seed", type=int, help="draw the same sequences again (default: a new one)")
    parser.add_argument("--unshrunk", action="store_true", help="show the first difference as it was met")
    parser.add_argument("--oracle", type=Path, default=ORACLE, help="the program to compare with")
    parser.add_argument("--json", type=Path, help="where to write what was seen")
    options = parser.parse_args(arguments)
    number = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    print(f"seed {number}", flush=True)
    began = time.perf_counter()
    total = Seen()
    shares = [
        options.sequences // options.workers + (worker < options.sequences % options.workers)
        for worker in range(options.workers)
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        seeds = range(number, number + options.workers)
        same = [options.workers * [each] for each in (options.oracle, not options.unshrunk)]
        for found in pool.map(_work, same[0], shares, seeds, same[1]):
            if not isinstance(found, Seen):
                print(found or "", file=sys.stderr)
                return 2 if found is None else 1
            total.add(found)
    seconds = time.perf_counter() - began
    print(f"oracle and engine agree: {total}; {seconds:.0f} s")
    if options.json is not None:
        seen = {**attrs.asdict(total), "seed": number, "seconds": round(seconds, 1)}
        options.json.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
