"""Random sequences of commands on the engine and on an implementation, from a seed, and what was seen on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from mage.engine import Command, State
from specs.conformance.comparison import compare
from specs.conformance.implementation import Implementation
from specs.conformance.sequences import sequences

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


def search(
    implementation: Implementation, count: int, seed: int, *, at_once: int = _AT_ONCE, shrink: bool = True
) -> Seen:
    """Compare random sequences, some 3 in 10 of them long; return what was seen. No clock is looked at.

    Args:
        implementation: held against the engine.
        count: how many sequences.
        seed: what they are drawn from; the same one draws the same sequences.
        at_once: how many Hypothesis draws in one run; its memory grows with it.
        shrink: whether a difference that is found comes down to the fewest commands that show it.

    Raises:
        Disagreement: an answer or a state differs.
    """
    seen = Seen()
    for part, place in enumerate(range(0, count, at_once)):
        drawn = min(at_once, count - place)
        long = drawn * 3 // 10
        for share, lengths in ((long, _LONG_ONES), (drawn - long, _SHORT_ONES)):
            if share:
                _search(implementation, seen, share, seed + part * _APART, lengths, shrink)
    return seen


def _search(
    implementation: Implementation,
    seen: Seen,
    count: int,
    seed: int,
    lengths: st.SearchStrategy[int],
    shrink: bool,
) -> None:
    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(sequences(lengths))
    def compared(commands: tuple[Command, ...]) -> None:
        seen.note(commands, compare(implementation, commands, shrink=shrink))

    compared()
