"""What differs between two execution states S = (C, R, H): pure, and said in their own values.

Two versions, two branches or two sessions: each part of S is compared with the same part of the other, in
order. Steps are compared with their ids, summaries with their labels and covers, for these are what the agent
can go back to; ids of summaries, which nobody is shown, are not. Where nothing differs, both are shown the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import Generic, TypeVar, final

import attrs

from mage.engine import Chapter, ExecutionState, Lesson, Line, Step, Summary

Item = TypeVar("Item")


@final
@attrs.frozen
class Sides(Generic[Item]):
    """What differs in one part of S: what each side has alone, or elsewhere; `same` are in both, in one order."""

    left: tuple[Item, ...]
    right: tuple[Item, ...]
    same: int

    @property
    def differ(self) -> bool:
        """Whether the two are not the same."""
        return bool(self.left or self.right)


@final
@attrs.frozen
class Difference:
    """What differs between two execution states, part by part; `boundary`, the current one of H, has one item a side."""

    task: Sides[str]
    instructions: Sides[str]
    compressed: Sides[Line]
    raw: Sides[Step]
    boundary: Sides[int]
    continuations: Sides[Step]
    subgoals: Sides[Summary]
    lessons: Sides[Lesson]

    @property
    def differ(self) -> bool:
        """Whether an agent in one state is shown anything else than one in the other."""
        return any(getattr(self, field.name).differ for field in attrs.fields(Difference))


def compare_states(left: ExecutionState, right: ExecutionState) -> Difference:
    """Return what differs between what two agents are shown.

    Cost: O(size of both) for what is equal at the beginning and the end of each part; what lies between is
    aligned, which at worst costs the product of the two lengths.
    """
    return Difference(
        task=_sides((left.task,), (right.task,), _itself),
        instructions=_sides(left.instructions, right.instructions, _itself),
        compressed=_sides(left.compressed, right.compressed, _shown_line),
        raw=_sides(left.raw, right.raw, _shown_step),
        boundary=_sides((left.boundary,), (right.boundary,), _itself),
        continuations=_sides(left.hints.continuations, right.hints.continuations, _shown_step),
        subgoals=_sides(left.hints.subgoals, right.hints.subgoals, _shown_summary),
        lessons=_sides(left.hints.lessons, right.hints.lessons, _itself),
    )


def _itself(value: Hashable) -> Hashable:
    return value


def _shown_step(step: Step) -> Hashable:
    return (step.id, step.action, step.observation)


def _shown_line(line: Line) -> Hashable:
    if isinstance(line, Chapter):
        return (line.label, line.boundary, line.text, line.accepted)
    return _shown_summary(line)


def _shown_summary(summary: Summary) -> Hashable:
    return (summary.label, summary.covers, summary.text, summary.kind, summary.verdict)


def _sides(left: Sequence[Item], right: Sequence[Item], key: Callable[[Item], Hashable]) -> Sides[Item]:
    lefts, rights = [key(item) for item in left], [key(item) for item in right]
    start = 0
    shorter = min(len(lefts), len(rights))
    while start < shorter and lefts[start] == rights[start]:
        start += 1
    end = 0
    while end < shorter - start and lefts[-1 - end] == rights[-1 - end]:
        end += 1
    matcher = SequenceMatcher(
        None, lefts[start : len(lefts) - end], rights[start : len(rights) - end], autojunk=False
    )
    only_left: list[Item] = []
    only_right: list[Item] = []
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if tag != "equal":
            only_left.extend(left[start + left_from : start + left_to])
            only_right.extend(right[start + right_from : start + right_to])
    return Sides(tuple(only_left), tuple(only_right), len(left) - len(only_left))
