"""Tokens of the prompt of a history that goes on: added up, not counted anew at every step."""

from __future__ import annotations

from typing import Protocol, final

import attrs

from mage.engine import Command, State, StepId, Summary, SummaryId, Tree
from mage.engine.view import instructions
from mage.render.blocks import Recent
from mage.render.caps import DEFAULT_CAPS
from mage.trajectories.tried import Tried

__all__ = ["Gauge", "Prompts"]


class Gauge(Protocol):
    """What counts the tokens of the parts of a rendered execution state, such as `mage.render.Meter`."""

    def frame(self, task: str, instructions: tuple[str, ...], boundary: StepId) -> int:
        """Return the tokens of the task, the instructions in force and where R begins."""
        ...

    def summary(self, summary: Summary) -> int:
        """Return the tokens of a summary of C."""
        ...

    def step(self, action: str, observation: str) -> int:
        """Return the tokens of a step of R."""
        ...

    def recent(self, hints: Recent) -> int:
        """Return the tokens of the hints that the default caps leave."""
        ...


@final
@attrs.define
class Prompts:
    """Adds up the tokens of S. C is remembered along the summary path, with a running total; H as it grows.

    Attributes:
        gauge: counts the parts.
    """

    gauge: Gauge
    _tried: Tried = attrs.field(factory=lambda: Tried(DEFAULT_CAPS), init=False)
    _path: list[tuple[Summary, int]] = attrs.field(factory=list, init=False)
    _place: dict[SummaryId, int] = attrs.field(factory=dict, init=False)

    def follow(self, before: State | None, command: Command, after: State) -> None:
        """Go on to the state that a command led to; every command of the history passes here. Cost: O(1)."""
        self._tried.follow(before, command, after)

    def size(self, state: State, raw: int) -> int:
        """Return the tokens of the rendered S of `state`, the newest one, of which its R takes `raw`.

        Cost: O(hints shown + instructions in force + summaries of C that are not those of the call before).
        """
        tree = state.tree
        frame = self.gauge.frame(tree.task, instructions(state), tree.boundary)
        return frame + self._compressed(tree) + raw + self.gauge.recent(self._tried.recent(state))

    def _compressed(self, tree: Tree) -> int:
        # A summary that is still the same value has the same summaries above it: they change only while
        # they are the head, and what is below a head is compressed again before it is on the path again.
        new: list[Summary] = []
        kept = 0
        for summary in tree.summaries_upwards():
            place = self._place.get(summary.id)
            if place is not None and self._path[place][0] is summary:
                kept = place + 1
                break
            new.append(summary)
        for left, _ in self._path[kept:]:
            self._place.pop(left.id, None)
        del self._path[kept:]
        for summary in reversed(new):
            self._place[summary.id] = len(self._path)
            self._path.append((summary, self._total() + self.gauge.summary(summary)))
        return self._total()

    def _total(self) -> int:
        return self._path[-1][1] if self._path else 0
