"""Coverage on real traces: would the values that an action needs still be in the prompt, and at how many tokens?

No model acts: the actions are those of the recorded run, whatever is shown. What is measured of one run is a `Tally`;
tables are sums of these, and an interval is drawn from runs drawn anew, the same ones for every system.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import add
from typing import Final, Protocol, final

import attrs

from benchmarks.arena.systems import Product, System, literals_of, other_systems
from benchmarks.arena.traces import Act, Run
from mage import Policy
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import Coverage, Use, use_of

PRODUCT: Final = "MAGE, extract"
DRAWS: Final = 2_000
"""How often runs are drawn anew for an interval."""


@final
@attrs.frozen
class Tally:
    """Counts of one system over some runs.

    Attributes:
        decisions: prompts that were shown.
        tokens: of what a system shows, beside what it sends whatever it holds.
        sent: of all that is sent, the task, the words and tools of a system included.
        values, values_covered: that actions need, and of these those that were shown.
        far, far_covered: of these, those in no open step.
        actions, actions_covered: that need values, and of these those with all of them.
        writes, writes_covered: of these, those that change something.
        runs, runs_covered: with such actions, and of these those in which nothing was missing.
        words, words_covered: arguments that stood in an earlier observation, whatever they are made of.
        far_words, far_words_covered: of these, those in no open step.
    """

    decisions: int = 0
    tokens: int = 0
    sent: int = 0
    values: int = 0
    values_covered: int = 0
    far: int = 0
    far_covered: int = 0
    actions: int = 0
    actions_covered: int = 0
    writes: int = 0
    writes_covered: int = 0
    runs: int = 0
    runs_covered: int = 0
    words: int = 0
    words_covered: int = 0
    far_words: int = 0
    far_words_covered: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*map(add, attrs.astuple(self), attrs.astuple(other)))

    def part(self, name: str) -> float | None:
        """Return the covered part of what has this name; None of nothing."""
        of = getattr(self, name)
        return getattr(self, f"{name}_covered") / of if of else None

    @property
    def tokens_each(self) -> float:
        """The mean tokens of a prompt."""
        return self.tokens / self.decisions if self.decisions else 0.0


# -- one run --------------------------------------------------------------------------------------------


@final
@attrs.define
class _Row:
    """One system in one run, as it goes."""

    counter: TokenCounter
    frame: int
    beside: int
    uses: list[Use] = attrs.field(factory=list)
    decisions: int = 0
    tokens: int = 0
    words: list[int] = attrs.field(factory=lambda: [0, 0, 0, 0])
    counted: dict[str, int] = attrs.field(factory=dict)

    def look(self, act: Act, shown: Sequence[str], opened: Sequence[str]) -> None:
        """Look at what is shown before an action."""
        if act.action:
            self.decisions += 1
            self.tokens += sum(map(self._count, shown)) - self.beside
        if act.need.values:
            values, near = (frozenset[str]().union(*map(literals_of, texts)) for texts in (shown, opened))
            self.uses.append(use_of(act.need, near, values))
        if act.words:
            there, near_by = ("".join(texts).casefold() for texts in (shown, opened))
            found = {word for word in act.words if word in there}
            far = {word for word in act.words if word not in near_by}
            for place, many in enumerate([act.words, found, far, far & found]):
                self.words[place] += len(many)

    def _count(self, text: str) -> int:
        if text not in self.counted:
            self.counted[text] = self.counter.count(text)
        return self.counted[text]

    def tally(self) -> Tally:
        """Return the counts of the run."""
        shares = Coverage(tuple(self.uses)).shares()
        pairs = [number for share in shares.values() for number in (share.of, share.covered)]
        sent = self.tokens + self.decisions * self.frame
        return Tally(self.decisions, self.tokens, sent, *pairs, *self.words)


def covered(
    run: Run,
    room: int,
    systems: Sequence[System],
    counter: TokenCounter,
    limit: int | None = Policy().summary_limit,
) -> dict[str, Tally]:
    """Return the counts of each system over a run, the product's among them.

    Args:
        run: the run.
        room: tokens of open steps that the product's mark leaves room for.
        systems: all but the product.
        counter: counts tokens.
        limit: tokens that a text of the product's may have (the policy's `summary_limit`).
    """
    product = Product(run, room, counter, limit)
    opened: list[int] = []
    task = counter.count(run.task)
    rows = {PRODUCT: _Row(counter, product.frame, sum(map(counter.count, product.show())))}
    texts: list[str] = []
    for act in run.acts:
        shown = product.show()
        raw = product.state.raw
        opened.append(len(raw))
        rows[PRODUCT].look(act, shown, [text for step in raw for text in step.content])
        product.take(act.action, act.observation)
    for system in systems:
        row = rows[system.name] = _Row(counter, task, 0)
        kept = system.begin(run, opened)
        texts = []
        for act, many in zip(run.acts, opened, strict=True):
            row.look(act, kept.show(), texts[len(texts) - many :])
            kept.take(act.action, act.observation)
            texts.append(f"{act.action}\n{act.observation}")
    return {name: row.tally() for name, row in rows.items()}


def _covered(room: int, limit: int | None, seed: int, run: Run) -> dict[str, Tally]:
    return covered(run, room, other_systems(seed), default_counter(), limit)


def cover_all(
    runs: Sequence[Run], *, room: int, seed: int, workers: int, limit: int | None = Policy().summary_limit
) -> list[dict[str, Tally]]:
    """Return the counts of each system over each run, in their order, whatever the number of processes."""
    each = partial(_covered, room, limit, seed)
    if workers <= 1:
        return list(map(each, runs))
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(each, runs, chunksize=4))


# -- tables ---------------------------------------------------------------------------------------------


def summed(tallies: Iterable[Tally]) -> Tally:
    """Return the counts of all runs together."""
    return sum(tallies, Tally())


@final
@attrs.frozen
class Drawn:
    """Runs drawn anew, by group, with one seed: the same draws for every system and every difference.

    Attributes:
        groups: the places of the runs of each group.
        draws: for each draw, the groups in it.
    """

    groups: tuple[tuple[int, ...], ...]
    draws: tuple[tuple[int, ...], ...]

    def values(self, tallies: Sequence[Tally], name: str) -> list[float | None]:
        """Return the covered part of `name` in each draw; for `"tokens"` the mean tokens."""
        over, under = (name, "decisions") if name == "tokens" else (f"{name}_covered", name)
        return self.ratios(
            [getattr(tally, over) for tally in tallies], [getattr(tally, under) for tally in tallies]
        )

    def ratios(self, over: Sequence[float], under: Sequence[float]) -> list[float | None]:
        """Return in each draw the sum of the one over the sum of the other, each given for every run; None over nothing."""
        grouped = [
            (sum(over[place] for place in group), sum(under[place] for place in group))
            for group in self.groups
        ]
        found = list[float | None]()
        for draw in self.draws:
            many = sum(grouped[group][1] for group in draw)
            found.append(sum(grouped[group][0] for group in draw) / many if many else None)
        return found

    def means(self, values: Sequence[float]) -> list[float | None]:
        """Return the mean of a number of each run in each draw. Cost: O(draws x runs)."""
        sums = [(sum(values[place] for place in group), len(group)) for group in self.groups]
        found = list[float | None]()
        for draw in self.draws:
            many = sum(sums[group][1] for group in draw)
            found.append(sum(sums[group][0] for group in draw) / many if many else None)
        return found


class Grouped(Protocol):
    """What is drawn anew together with all else of its group."""

    @property
    def group(self) -> str:
        """Name the group."""
        ...


def draw(runs: Sequence[Grouped], seed: int, draws: int = DRAWS) -> Drawn:
    """Draw runs anew: as many tasks as there are, each with all of its runs."""
    places: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        places.setdefault(run.group, []).append(place)
    die = random.Random(seed)
    many = len(places)
    drawn = tuple([tuple(die.choices(range(many), k=many)) for _ in range(draws)])
    return Drawn(tuple(map(tuple, places.values())), drawn)


def interval(values: Iterable[float | None]) -> tuple[float, float] | None:
    """Return the middle 95 of 100 of what was drawn; None where nothing was."""
    found = sorted([value for value in values if value is not None])
    if not found:
        return None
    return found[int(0.025 * len(found))], found[min(len(found) - 1, int(0.975 * len(found)))]


def differences(first: Sequence[float | None], second: Sequence[float | None]) -> list[float | None]:
    """Return draw by draw what the first has more than the second."""
    return [
        None if one is None or other is None else one - other
        for one, other in zip(first, second, strict=True)
    ]


def by_system(results: Sequence[Mapping[str, Tally]]) -> dict[str, list[Tally]]:
    """Return for each system its counts in each run."""
    return {name: [result[name] for result in results] for name in (results[0] if results else {})}
