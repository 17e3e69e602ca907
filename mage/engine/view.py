"""What the agent is shown: the execution state S = (C, R, H), derived from one path of the tree.

Nothing here is stored; the same tree gives the same S (D9). Its cost follows what is shown and not the
size of the tree.
"""

from __future__ import annotations

from typing import final

import attrs

from mage.engine.hints import Hints, hints_shown
from mage.engine.ids import StepId
from mage.engine.judging import in_force
from mage.engine.machine import State
from mage.engine.nodes import Line, Step
from mage.engine.tree import trace


@final
@attrs.frozen
class ExecutionState:
    """S = (C, R, H), with the task and the instructions in force.

    Attributes:
        task: the task, as given at the start.
        instructions: the texts in force, in path order (D17).
        compressed: C, a line for each chapter and each summary of the summary path that stands in none.
        raw: R, the steps of the open segment.
        hints: H.
    """

    task: str
    instructions: tuple[str, ...]
    compressed: tuple[Line, ...]
    raw: tuple[Step, ...]
    hints: Hints

    @property
    def boundary(self) -> StepId:
        """The current boundary: the step after which R begins."""
        return self.hints.boundary


def view(state: State) -> ExecutionState:
    """Return what an agent in `state` is to be shown (Section 3.2; D9). Any phase.

    Cost: O(size of what is returned).
    """
    tree = state.tree
    head = tree.head_summary
    compressed = list(tree.lines_upwards(head))
    compressed.reverse()
    return ExecutionState(
        task=tree.task,
        instructions=instructions(state),
        compressed=tuple(compressed),
        raw=tuple(trace(tree, head.boundary, tree.step_head)),
        hints=hints(state),
    )


def instructions(state: State) -> tuple[str, ...]:
    """Return the texts in force alone, in path order (D17). Any phase. Cost: O(size of what is returned)."""
    tree = state.tree
    return in_force(tree, tree.summary(tree.head_summary.base).boundary, tree.next_step)


def hints(state: State) -> Hints:
    """Return H alone. Any phase. Cost: O(size of what is returned)."""
    return hints_shown(state.tree)
