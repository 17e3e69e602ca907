"""The rule: the new records are those that are asked for, and no others."""

from __future__ import annotations

from typing import (
    Any,
)  # what other modules of the folder define: it is imported under another name than its tests are

import attrs


@attrs.frozen
class Score:
    """0 or 1."""

    score: int


def evaluate_state_requirements(task: Any, changes: Any) -> Score:
    asked = {(each["entity_type"], each["record_key"]): each["record"] for each in task.state_requirements}
    return Score(int(changes.created == asked))
