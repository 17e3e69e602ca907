"""At which rate of an error a lead is gone: between the rates that were measured, and with an interval over tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Final, final

import attrs

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.scoring import mean
from benchmarks.arena.domains.sweeps import (
    ALARMS,
    ERRORS,
    LOSSES,
    MISSES,
    STRENGTHS,
    WEAKENED,
    WEAKENED_LOSSES,
    Conditions,
)

RESAMPLES: Final = 1000


@final
@attrs.frozen
class Lead:
    """One question: how much of something does the lead of one series over another survive?

    Attributes:
        rate: of what.
        leader: the memory that leads where the rate is lowest.
        other: the memory that it leads.
        points: rates, lowest first, with the conditions of the leader and of the other.
    """

    rate: str
    leader: str
    other: str
    points: tuple[tuple[float, Conditions, Conditions], ...]


@final
@attrs.frozen
class BreakEven:
    """Where a lead is gone.

    Attributes:
        lead: the question.
        at: the rate at which the difference in SR is 0; infinite where it is above 0 at the highest rate, and the
            lowest rate where there was no lead to begin with.
        low, high: what 95 of 100 draws of tasks span, in the same terms.
        tasks: how many.
    """

    lead: Lead
    at: float
    low: float
    high: float
    tasks: int

    def document(self) -> dict[str, object]:
        """Return it as JSON: None is more than the highest rate."""
        numbers = {"at": self.at, "low": self.low, "high": self.high}
        rates = [rate for rate, _, _ in self.lead.points]
        return {
            "rate": self.lead.rate,
            "lead": self.lead.leader,
            "over": self.lead.other,
            "rates": rates,
            "tasks": self.tasks,
            **{name: None if value == inf else value for name, value in numbers.items()},
        }


def leads(seed: int, size: str) -> Iterator[Lead]:
    """Yield the questions that the sweep answers."""
    mage, full = (_of(memory, seed, size) for memory in ("mage", "full-history"))
    judged = _of("full-history-judged", seed, size)
    over = "full history without a judge"

    def against_full(rate: str, points: Mapping[float, Conditions]) -> Lead:
        return Lead(rate, "MAGE", over, tuple((at, points[at], full) for at in sorted(points)))

    yield against_full(
        "summaries that lose their fact (judge: misses .10, alarms .05)",
        {loss: attrs.evolve(mage, loss=loss) for loss in (0.0, *LOSSES)},
    )
    yield against_full(
        "misses of the judge (alarms .05)",
        {misses: attrs.evolve(mage, misses=misses) for misses in (mage.misses, *MISSES)},
    )
    yield against_full(
        "false alarms of the judge (misses .10)",
        {alarms: attrs.evolve(mage, alarms=alarms) for alarms in (mage.alarms, *ALARMS)},
    )
    yield against_full(
        "misses and false alarms of the judge, equally many (at .5 a coin)",
        {error: attrs.evolve(mage, misses=error, alarms=error) for error in (*ERRORS, 0.5)},
    )
    for loss in WEAKENED_LOSSES:
        lossy = attrs.evolve(mage, loss=loss)
        weak = [(0.0, judged, lossy)]
        for strength in STRENGTHS:
            fallen = [attrs.evolve(each, recall=WEAKENED, strength=strength) for each in (judged, lossy)]
            weak.append((strength, fallen[0], fallen[1]))
        yield Lead(
            f"assumed: part of the fall of recall by {WEAKENED}",
            "full history with the same judge and undo",
            f"MAGE, {loss:.0%} of summaries lose their fact",
            tuple(weak),
        )


def _of(memory: str, seed: int, size: str) -> Conditions:
    return Conditions(memory, seed=seed, size="small" if size == "small" else "full")


def crossing(rates: Sequence[float], differences: Sequence[float]) -> float:
    """Return the first rate at which a difference is 0, on straight lines between the measured ones.

    It is the first rate where the difference is not above 0 from the beginning, and infinite where it stays above.
    """
    if differences[0] <= 0:
        return rates[0]
    for (rate, above), (next_rate, below) in pairwise(zip(rates, differences, strict=True)):
        if below <= 0:
            return rate + (next_rate - rate) * above / (above - below)
    return inf


def break_even(lead: Lead, sr: Mapping[Conditions, Sequence[float]]) -> BreakEven | None:
    """Return where a lead is gone, from SR by task; None where a series was not run.

    Cost: O(tasks * rates * 1000).
    """
    if any(each not in sr for _, *both in lead.points for each in both):
        return None
    rates = [rate for rate, _, _ in lead.points]
    by_rate = [
        [ours - theirs for ours, theirs in zip(sr[leader], sr[other], strict=True)]
        for _, leader, other in lead.points
    ]
    count = len(by_rate[0])
    draw = draws("break-even", count)
    found = sorted(_drawn(rates, by_rate, draw.choices(range(count), k=count)) for _ in range(RESAMPLES))
    low, high = found[round(0.025 * RESAMPLES)], found[round(0.975 * RESAMPLES) - 1]
    return BreakEven(lead, crossing(rates, [mean(each) for each in by_rate]), low, high, count)


def _drawn(rates: Sequence[float], by_rate: Sequence[Sequence[float]], tasks: Sequence[int]) -> float:
    return crossing(rates, [mean(each[task] for task in tasks) for each in by_rate])


def break_even_table(found: Sequence[BreakEven]) -> str:
    """Return where leads are gone as a table in Markdown."""
    lines = [
        "| a rate of | the lead of | over | is gone at | 95 % interval | measured at |",
        f"|{' --- |' * 6}",
    ]
    for each in found:
        rates = [rate for rate, _, _ in each.lead.points]
        at, low, high = (_said(value, rates) for value in (each.at, each.low, each.high))
        measured = ", ".join(f"{rate:g}" for rate in rates)
        cells = (each.lead.rate, each.lead.leader, each.lead.other, at, f"{low} to {high}", measured)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _said(value: float, rates: Sequence[float]) -> str:
    return f"more than {rates[-1]:g}" if value == inf else f"{value:.2f}"
