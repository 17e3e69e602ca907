"""When the model is told to compress: a new instruction has come while steps are open, or the room is nearly used."""

from __future__ import annotations

from typing import Final, Literal

from mage.effects import RESET
from mage.engine import StepId, Tree
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace

_SHARE: Final = 5
"""The room is nearly used where less than this part of it is left."""


def current(tree: Tree) -> str:
    """Return the newest instruction in force that is not standing; empty where there is none. Cost: O(1)."""
    step = tree.asked_at
    if step is None:
        return ""
    return [each.text for each in tree.instructions_at(step) if not each.standing][-1]


def nudge(tree: Tree, opened: int, room: int | None) -> Literal["instruction", "room", ""]:
    """Return why compressing is due now; empty where it is not.

    Args:
        tree: the agent's history.
        opened: the tokens of the open segment.
        room: the tokens that it may still take; None where nothing limits it.

    Cost: O(steps of the subgoal before the newest instruction).
    """
    base = tree.summary(tree.head_summary.base).boundary
    asked = tree.asked_at
    if asked is not None and asked > base and _is_work_before(tree, base, asked):
        return "instruction"
    is_short = room is not None and opened > 0 and room * (_SHARE - 1) <= opened
    return "room" if is_short else ""


def _is_work_before(tree: Tree, base: StepId, asked: StepId) -> bool:
    """Tell whether something was done in this subgoal before the instruction came; a reset is nothing done."""
    steps = trace(tree, base, asked)
    return any(step.action != RESET or step.parent != ROOT_STEP for step in steps)
