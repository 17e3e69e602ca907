"""What a trace costs in tokens: what the agent would have been shown, beside keeping everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import attrs

from mage.engine import Command, ExecutionState, Grow, Start, State, apply, view

__all__ = ["ContextSizes", "measure"]


@final
@attrs.frozen
class ContextSizes:
    """Prompt tokens at each decision: before each Grow, in order.

    Attributes:
        shown: of the execution state S that mage would have shown.
        full: of the task and every step taken so far, abandoned ones too: a history that only grows.
    """

    shown: tuple[int, ...]
    full: tuple[int, ...]

    @property
    def shown_max(self) -> int:
        """The largest prompt."""
        return max(self.shown, default=0)

    @property
    def shown_total(self) -> int:
        """All prompts together: what a run is billed for."""
        return sum(self.shown)

    @property
    def shown_mean(self) -> float:
        """The mean prompt; 0 where there is none."""
        return self.shown_total / len(self.shown) if self.shown else 0.0

    @property
    def full_total(self) -> int:
        """All prompts together, were everything kept."""
        return sum(self.full)

    @property
    def reduction(self) -> float:
        """The part of all prompt tokens that is saved; negative where S costs more than it saves."""
        return 1 - self.shown_total / self.full_total if self.full_total else 0.0



def measure(
    commands: Iterable[Command],
    count: Callable[[ExecutionState], int],
    size: Callable[[str, str], int],
    *,
    progress: Callable[[Command], None] = lambda command: None,
) -> tuple[State | None, ContextSizes]:
    """Fold a journal and measure the prompt at each decision.

    Args:
        commands: a journal that is not refused anywhere.
        count: tokens of a rendered execution state.
        size: tokens that a step takes in it, from its action and observation.
        progress: is told of each command when it is done.

    Returns:
        The last state (None for no commands) and the sizes. Cost: O(sum of the sizes of S).
    """
    state: State | None = None
    shown: list[int] = []
    full: list[int] = []
    kept = 0
    for command in commands:
        if state is not None and isinstance(command, Grow):
            shown.append(count(view(state)))
            full.append(kept)
            kept += size(command.action, command.observation)
        state = apply(state, command).unwrap()
        if isinstance(command, Start):
            kept = count(view(state))
        progress(command)
    return state, ContextSizes(tuple(shown), tuple(full))
