"""A long run, and what it was shown at each call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import attrs

from benchmarks.agent.warehouse import TASK, Clerk, Warehouse, auditor, note_taker
from mage import Session
from mage.agent import Agent, Outcome, Policy
from mage.effects import Decide
from mage.render import Meter
from mage.tokens import TokenCounter, default_counter

__all__ = ["Call", "LongRun", "long_run"]

SHELVES: Final = 19


@final
@attrs.frozen
class Call:
    """One question to the model.

    Attributes:
        shown: tokens of the whole prompt.
        summaries: tokens of the summaries in it.
        kept: tokens of a prompt with all that was done so far in it, and no summary.
    """

    shown: int
    summaries: int
    kept: int


@final
@attrs.frozen
class LongRun:
    """What a long run came to.

    Attributes:
        outcome: how it ended.
        calls: each question to the model, in order.
        mark: the policy's high-water mark, in tokens.
        largest: tokens of the largest single step.
        counter: what counted.
        steps: of the tree, abandoned ones too.
        fallbacks: how many of the summaries are fallbacks.
        bytes: what the session with its run takes on disk.
    """

    outcome: Outcome
    calls: Sequence[Call]
    mark: int
    largest: int
    counter: str
    steps: int
    fallbacks: int
    bytes: int

    def above(self) -> list[int]:
        """Return the calls whose prompt was longer than mark, summaries and largest step together allow."""
        allowed = self.mark + self.largest
        return [place for place, call in enumerate(self.calls) if call.shown > allowed + call.summaries]

    @property
    def reduction(self) -> float:
        """The part of all prompt tokens that was saved."""
        return 1 - sum(call.shown for call in self.calls) / sum(call.kept for call in self.calls)


@final
class _Watch:
    """Measures each prompt as it is put; what was kept grows by each step that is new to it."""

    def __init__(self, counter: TokenCounter) -> None:
        self.calls: list[Call] = []
        self.largest = 0
        self._counter = counter
        self._meter = Meter(counter)
        self._steps: set[int] = set()
        self._kept = 0

    def __call__(self, request: Decide, prompt: str) -> None:
        shown = self._counter.count(prompt)
        summaries = sum(self._meter.summary(summary) for summary in request.shown.compressed)
        opened = 0
        for step in request.shown.raw:
            tokens = self._meter.step(step.action, step.observation)
            opened += tokens
            if step.id not in self._steps:
                self._steps.add(step.id)
                self._kept += tokens
                self.largest = max(self.largest, tokens)
        self.calls.append(Call(shown, summaries, shown - summaries - opened + self._kept))


def long_run(aisles: int, mark: int, at: Path) -> LongRun:
    """Run the clerk through the warehouse, its session in a SQLite file in the directory `at`."""
    counter = default_counter()
    watch = _Watch(counter)
    agent = Agent(
        model=Clerk(aisles, SHELVES, watch),
        environment=Warehouse(aisles, SHELVES),
        judge=auditor,
        summarizer=note_taker,
        policy=Policy(high_water=mark, max_steps=None),
        counter=counter,
    )
    file = at / "long-run.db"
    outcome = agent.run(f"sqlite:///{file}", "stock", task=TASK)
    with Session.open(f"sqlite:///{file}", "stock") as session:
        tree = session.tree
        fallbacks = sum(summary.kind == "fallback" for summary in tree.summaries())
        steps = tree.next_step - 1
    return LongRun(
        outcome, watch.calls, mark, watch.largest, counter.name, steps, fallbacks, file.stat().st_size
    )
