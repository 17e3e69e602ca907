"""Trees and execution states as plain JSON values, for `--json`."""

from __future__ import annotations

from typing import TypeAlias

from mage.engine import (
    Accepted,
    ExecutionState,
    Failed,
    Passed,
    Pending,
    State,
    Step,
    StepId,
    Summary,
    SummaryVerdict,
)

__all__ = ["Json", "plain_state", "plain_step", "plain_summary", "plain_tree"]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def plain_state(shown: ExecutionState) -> Json:
    """Return S as JSON values."""
    return {
        "task": shown.task,
        "instructions": list(shown.instructions),
        "compressed": [plain_summary(summary) for summary in shown.compressed],
        "raw": [plain_step(step) for step in shown.raw],
        "hints": {
            "boundary": shown.hints.boundary,
            "continuations": [plain_step(step) for step in shown.hints.continuations],
            "subgoals": [plain_summary(summary) for summary in shown.hints.subgoals],
            "lessons": list(shown.hints.lessons),
        },
        "boundary": shown.boundary,
    }


def plain_tree(state: State) -> Json:
    """Return a tree as JSON values."""
    tree = state.tree
    return {
        "phase": type(state).__name__.lower(),
        "task": tree.task,
        "step_head": tree.step_head,
        "summary_head": tree.summary_head,
        "active_path": list(tree.active_path()),
        "summary_path": list(tree.summary_path()),
        "steps": [plain_step(step) | {"parent": step.parent} for step in tree.steps()],
        "summaries": [plain_summary(summary) | {"parent": summary.parent} for summary in tree.summaries()],
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


def plain_step(step: Step) -> dict[str, Json]:
    """Return a step as JSON values, without its parent."""
    return {"id": step.id, "action": step.action, "observation": step.observation}


def plain_summary(summary: Summary) -> dict[str, Json]:
    """Return a summary as JSON values, without its parent."""
    return {
        "id": summary.id,
        "label": summary.label,
        "covers": list(summary.covers),
        "text": summary.text,
        "kind": summary.kind,
        "verdict": _verdict(summary.verdict),
    }


def _verdict(verdict: SummaryVerdict) -> dict[str, Json]:
    match verdict:
        case Pending():
            return {"is": "pending"}
        case Passed():
            return {"is": "passed"}
        case Failed(feedback=feedback, fault=fault):
            return {"is": "failed", "feedback": feedback, "fault": fault}
        case Accepted(despite=despite):
            return {"is": "accepted", "despite": None if despite is None else _verdict(despite)}
