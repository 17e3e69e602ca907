"""The difference between two execution states S = (C, R, H); and trees, states and differences as plain JSON values.

Each part of one S is compared with the same part of the other, in order. Steps are compared with their ids, summaries
with their labels and covers, because the agent can go back to these; ids of summaries are not compared, because no
model is shown them. Two states without a difference are rendered as the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import Generic, TypeAlias, TypeVar, final

import attrs

from mage.engine import (
    Accepted,
    Chapter,
    ExecutionState,
    Failed,
    Lesson,
    Line,
    Passed,
    Pending,
    State,
    Step,
    StepId,
    Summary,
    SummaryVerdict,
)
from mage.engine.ids import ROOT_SUMMARY

Item = TypeVar("Item")


@final
@attrs.frozen
class Sides(Generic[Item]):
    """The difference in one part of S.

    Attributes:
        left, right: the items that only this side has, or has in another place.
        same: the number of items that both have, in the same order.
    """

    left: tuple[Item, ...]
    right: tuple[Item, ...]
    same: int

    @property
    def differ(self) -> bool:
        """Whether the two sides differ."""
        return bool(self.left or self.right)


@final
@attrs.frozen
class Difference:
    """The difference between two execution states, part by part; `boundary` has one item on each side."""

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
        """Whether any part differs, so that models in the two states are shown different texts."""
        return any(getattr(self, field.name).differ for field in attrs.fields(Difference))


def compare_states(left: ExecutionState, right: ExecutionState) -> Difference:
    """Return the difference between two execution states.

    Cost: O(size of both) for the equal beginning and end of each part; the items between are aligned, which at worst
    costs the product of the two lengths.
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


# -- as JSON ------------------------------------------------------------------------------------------------


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def state_as_json(shown: ExecutionState) -> Json:
    """Return S as JSON values."""
    return {
        "task": shown.task,
        "instructions": list(shown.instructions),
        "compressed": [line_as_json(line) for line in shown.compressed],
        "raw": [step_as_json(step) for step in shown.raw],
        "hints": {
            "boundary": shown.hints.boundary,
            "continuations": [step_as_json(step) for step in shown.hints.continuations],
            "subgoals": [line_as_json(summary) for summary in shown.hints.subgoals],
            "lessons": [_lesson(lesson) for lesson in shown.hints.lessons],
        },
        "boundary": shown.boundary,
    }


def tree_as_json(state: State) -> Json:
    """Return a tree as JSON values."""
    tree = state.tree
    return {
        "phase": type(state).__name__.lower(),
        "task": tree.task,
        "step_head": tree.step_head,
        "summary_head": tree.summary_head,
        "active_path": list(tree.active_path()),
        "summary_path": list(tree.summary_path()),
        "steps": [step_as_json(step) | {"parent": step.parent} for step in tree.steps()],
        "way": [ROOT_SUMMARY, *[summary.id for summary in tree.way_upwards()][::-1]],
        "summaries": [
            line_as_json(summary) | {"parent": summary.parent, "after": summary.after}
            for summary in tree.summaries()
        ],
        "chapters": [
            line_as_json(chapter) for summary in tree.summaries() for chapter in tree.chapters_at(summary.id)
        ],
        "lessons": {
            str(number): list(lessons)
            for number in range(tree.next_step)
            if (lessons := tree.lessons_at(StepId(number)))
        },
        "instructions": {
            str(number): [{"text": each.text, "standing": each.standing} for each in placed]
            for number in range(tree.next_step)
            if (placed := tree.instructions_at(StepId(number)))
        },
    }


def step_as_json(step: Step) -> dict[str, Json]:
    """Return a step as JSON values, without its parent."""
    return {"id": step.id, "action": step.action, "observation": step.observation}


def line_as_json(line: Line) -> dict[str, Json]:
    """Return a summary, without its parent, or a chapter as JSON values."""
    place: dict[str, Json] = {"label": line.label, "boundary": line.boundary, "text": line.text}
    if isinstance(line, Chapter):
        return {"kind": "chapter", **place, "accepted": line.accepted, "first": line.first, "last": line.last}
    return {
        "id": line.id,
        **place,
        "covers": list(line.covers),
        "kind": line.kind,
        "verdict": _verdict(line.verdict),
    }


def _lesson(lesson: Lesson) -> dict[str, Json]:
    return {"boundary": lesson.boundary, "text": lesson.text}


def _verdict(verdict: SummaryVerdict) -> dict[str, Json]:
    match verdict:
        case Pending():
            return {"is": "pending"}
        case Passed():
            return {"is": "passed"}
        case Failed(feedback=feedback, fault=fault, boundary=boundary):
            return {"is": "failed", "feedback": feedback, "fault": fault, "boundary": boundary}
        case Accepted(despite=despite):
            return {"is": "accepted", "despite": None if despite is None else _verdict(despite)}


def difference_as_json(found: Difference) -> Json:
    """Return a difference as JSON values, part by part."""
    return {
        "task": _both(found.task, str),
        "instructions": _both(found.instructions, str),
        "compressed": _both(found.compressed, line_as_json),
        "raw": _both(found.raw, step_as_json),
        "boundary": _both(found.boundary, int),
        "continuations": _both(found.continuations, step_as_json),
        "subgoals": _both(found.subgoals, line_as_json),
        "lessons": _both(found.lessons, _lesson),
    }


def _both(sides: Sides[Item], plain: Callable[[Item], Json]) -> Json:
    return {
        "left": [plain(item) for item in sides.left],
        "right": [plain(item) for item in sides.right],
        "same": sides.same,
    }
