"""At which steps the records of a trace's file stand."""

from __future__ import annotations

from mage.engine import Grow, MageError, RefusedCommand, Start, State, StepId, apply
from mage.trajectories.trajectory import Entry, Trajectory

__all__ = ["placed"]


def placed(trajectory: Trajectory) -> dict[Entry, tuple[StepId, ...]]:
    """Return for each record of the file the ids of the steps that hold it, in order.

    What is part of the task is at the root, 0. A record can be at several steps, as a message with several
    tool calls is, and a step can hold several records; what made no step, such as a summary, is left out.
    Cost: that of a replay.

    Raises:
        MageError: a command is refused; what `load` returns has none.
    """
    found: dict[Entry, dict[StepId, None]] = {}
    state: State | None = None
    for version, (command, entries) in enumerate(
        zip(trajectory.commands, trajectory.sources, strict=False), start=1
    ):
        result = apply(state, command)
        state = result.value_or(None)
        if state is None:
            raise MageError(str(RefusedCommand(version, command, result.failure())))
        if isinstance(command, Start | Grow):
            for entry in entries:
                found.setdefault(entry, {})[state.tree.step_head] = None
    return {entry: tuple(steps) for entry, steps in found.items()}
