"""What was tried at each place of a history that goes on: kept as it grows, not gathered anew at every step.

The engine gathers all hints of a state, so that n tries at one step cost n squared. Of these only the newest
are shown; here each command adds its own, and what is shown is read off the end.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import final

import attrs

from mage.engine import Command, Revise, State, Step, StepId, Summary, SummaryId
from mage.engine.text import as_text, is_blank
from mage.render.blocks import Newest, Recent, newest
from mage.render.caps import Caps

__all__ = ["Tried"]


@final
@attrs.define
class Tried:
    """The hints of every place of one history, whose states it is shown one after the other.

    Attributes:
        caps: how many of the hints are shown.
    """

    caps: Caps
    _steps: dict[StepId, list[StepId]] = attrs.field(factory=dict, init=False)
    _summaries: dict[SummaryId, list[SummaryId]] = attrs.field(factory=dict, init=False)
    _lessons: dict[StepId, OrderedDict[str | int, str]] = attrs.field(factory=dict, init=False)

    def follow(self, before: State | None, command: Command, after: State) -> None:
        """Note what a command added: a step, a summary, or a lesson. Cost: O(1)."""
        if before is None:
            return
        old, new = before.tree, after.tree
        if new.next_step > old.next_step:
            self._steps.setdefault(old.step_head, []).append(new.step_head)
        if new.next_summary > old.next_summary:
            self._summaries.setdefault(new.head_summary.parent, []).append(new.summary_head)
        if isinstance(command, Revise) and not is_blank(command.lesson):
            self._learn(new.boundary, as_text(command.lesson))

    def _learn(self, boundary: StepId, lesson: str) -> None:
        lessons = self._lessons.setdefault(boundary, OrderedDict())
        key = lesson if self.caps.distinct_lessons else len(lessons)
        lessons[key] = lesson
        lessons.move_to_end(key)

    def recent(self, state: State) -> Recent:
        """Return `mage.render.blocks.recent(hints(state), caps)` of the newest state. Cost: O(what is returned)."""
        tree = state.tree
        steps = newest(self._steps.get(tree.step_head, ()), self.caps.continuations)
        summaries = newest(self._summaries.get(tree.summary_head, ()), self.caps.subgoals)
        return Recent(
            Newest[Step](steps.older, tuple(map(tree.step, steps.shown))),
            Newest[Summary](summaries.older, tuple(map(tree.summary, summaries.shown))),
            self._newest_lessons(tree.boundary),
        )

    def _newest_lessons(self, boundary: StepId) -> Newest[str]:
        lessons = self._lessons.get(boundary)
        if lessons is None:
            return Newest(0, ())
        newest_first = tuple(islice(reversed(lessons.values()), self.caps.lessons))
        return Newest(len(lessons) - len(newest_first), newest_first[::-1])
