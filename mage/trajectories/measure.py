"""What a trace costs in tokens: what the agent would have been shown, beside keeping everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import attrs

from mage.engine import Command, Compress, ExecutionState, Grow, Revise, Start, State, apply, view
from mage.trajectories.budget import fallback

__all__ = ["ContextSizes", "Measured", "measure"]


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


@final
@attrs.frozen
class Measured:
    """A trace put through the tree.

    Attributes:
        commands: those of the trace, and the fallback compresses that a budget asked for.
        state: the state that they lead to; None for no commands.
        sizes: the prompt at each decision.
    """

    commands: tuple[Command, ...]
    state: State | None
    sizes: ContextSizes


def measure(
    commands: Iterable[Command],
    count: Callable[[ExecutionState], int],
    size: Callable[[str, str], int],
    *,
    budget: int | None = None,
    progress: Callable[[Command], None] = lambda command: None,
) -> Measured:
    """Fold a journal, compress where the open segment would pass a budget, measure every prompt.

    Args:
        commands: a journal that is not refused anywhere.
        count: tokens of a rendered execution state.
        size: tokens that a step takes in it, from its action and observation.
        budget: tokens that the open segment may take, if it is to be kept short (see `fallback`).
        progress: is told of each command of the trace when it is done.

    Cost: O(sum of the sizes of S).
    """
    state: State | None = None
    done: list[Command] = []
    opened: list[int] = []
    shown: list[int] = []
    full: list[int] = []
    kept = 0
    for command in commands:
        if state is not None and isinstance(command, Grow):
            shown.append(count(view(state)))
            full.append(kept)
            tokens = size(command.action, command.observation)
            kept += tokens
            for extra in fallback(state, opened, tokens, budget) if budget is not None else ():
                state = apply(state, extra).unwrap()
                done.append(extra)
                opened.clear()
            opened.append(tokens)
        state = apply(state, command).unwrap()
        done.append(command)
        if isinstance(command, Start):
            kept = count(view(state))
        elif isinstance(command, Compress | Revise):
            opened.clear()
        progress(command)
    return Measured(tuple(done), state, ContextSizes(tuple(shown), tuple(full)))
