"""When the open segment is due, and when the model is told so: a new instruction has come, or the room is nearly used.

It is pure, so that what is measured on a trace that others recorded (`mage.trajectories`) is what a memory does.
"""

from __future__ import annotations

from typing import Final, Literal

import attrs

from mage.chat.parts import SMALL, cut_to
from mage.effects import RESET
from mage.engine import Step, StepId, Tree
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.render import Meter

_SHARE: Final = 5
"""The room is nearly used where less than this part of it is left."""
SHARE: Final = 4
"""A segment that takes less than this part of the mark is not worth the calls of a summarizer and a judge: where
system prompt, task and instructions alone come near the mark, each single action would be summarized."""


def room_below(mark: int, fixed: int, opened: int) -> int:
    """Return the tokens that the open segment may still take below a mark; it is due where no more is left than comes.

    Args:
        mark: the policy's `high_water`.
        fixed: the tokens that count against it and that no summary wins back.
        opened: the tokens of the open segment.
    """
    return max(mark - fixed - opened, -(-mark // SHARE) - opened)


def most_of_text(most: int, replaced: int) -> int:
    """Return the tokens that a text may have in place of so many: what the policy says, and never more than it replaces."""
    return min(most, max(SMALL, replaced))


def cut_step(step: Step, longest: int, meter: Meter) -> Step:
    """Return a step as it is shown where a step may take so many tokens: one that is longer is cut in its middle, openly."""
    if meter.step(*step.content) <= longest:
        return step
    action = cut_to(step.action, max(SMALL, longest // 2), meter.counter)
    return attrs.evolve(step, action=action, observation=cut_to(step.observation, longest, meter.counter))


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
