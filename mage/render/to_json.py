"""Trees, execution states and what differs between two of them as plain JSON values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

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
    SummaryVerdict,
)
from mage.engine.ids import ROOT_SUMMARY
from mage.render.diff import Difference, Sides

Item = TypeVar("Item")

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
    """Return what differs as JSON values, part by part."""
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
