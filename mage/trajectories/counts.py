"""What a history did to its tree, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import final

import attrs

from mage.engine import Command, Grow, MageError, RefusedCommand, Revise, State, apply
from mage.engine.ids import ROOT_STEP, StepId

__all__ = ["Counts", "counts"]


@final
@attrs.frozen
class Counts:
    """Numbers of one history; the root is no step but can be a branch point.

    Attributes:
        steps: in the tree.
        merges: grows that walked back into a step that was there (D10).
        revisions: revise commands.
        abandoned: steps that revisions left behind, summed over the revisions.
        branch_points: steps from which more than one step was taken.
        summaries: in the tree; a summary with a new text is still one.
        max_depth: steps on the longest path from the root.
    """

    steps: int
    merges: int
    revisions: int
    abandoned: int
    branch_points: int
    summaries: int
    max_depth: int


def counts(commands: Iterable[Command]) -> Counts:
    """Replay a history and count. Cost: that of the replay.

    Raises:
        MageError: a command is refused; `replay` tells it as a value.
    """
    state: State | None = None
    depth: dict[StepId, int] = {ROOT_STEP: 0}
    children: Counter[StepId] = Counter()
    grows = revisions = abandoned = 0
    for version, command in enumerate(commands, start=1):
        before = ROOT_STEP if state is None else state.tree.step_head
        state = _after(state, command, version)
        head = state.tree.step_head
        if isinstance(command, Grow):
            grows += 1
            if head not in depth:
                depth[head] = depth[before] + 1
                children[before] += 1
        elif isinstance(command, Revise):
            revisions += 1
            abandoned += depth[before] - depth[head]
    steps = len(depth) - 1
    return Counts(
        steps=steps,
        merges=grows - steps,
        revisions=revisions,
        abandoned=abandoned,
        branch_points=sum(number > 1 for number in children.values()),
        summaries=0 if state is None else state.tree.next_summary - 1,
        max_depth=max(depth.values()),
    )


def _after(state: State | None, command: Command, version: int) -> State:
    result = apply(state, command)
    after = result.value_or(None)
    if after is None:
        raise MageError(str(RefusedCommand(version, command, result.failure())))
    return after
