"""The rule: the new records are those that are asked for, and no others."""

from __future__ import annotations

import attrs

from .schemas import StateDiff, TaskDefinition


@attrs.frozen
class Score:
    """0 or 1."""

    score: int


def evaluate_state_requirements(task: TaskDefinition, changes: StateDiff) -> Score:
    asked = {(each["entity_type"], each["record_key"]): each["record"] for each in task.state_requirements}
    return Score(int(changes.created == asked))
