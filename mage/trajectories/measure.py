"""What a trace costs in tokens: what the agent would have been shown, beside keeping everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, final

import attrs

from mage.engine import Command, Compress, ExecutionState, Grow, Hints, Revise, Start, State, apply, view
from mage.engine.view import hints
from mage.trajectories.budget import fallback

__all__ = ["ContextSizes", "Gauge", "Measured", "measure"]


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


class Gauge(Protocol):
    """What counts the tokens of a rendered execution state, such as `mage.render.Meter`."""

    def body(self, shown: ExecutionState) -> int:
        """Return the tokens of S without its hints; a grow adds a step to it."""
        ...

    def hints(self, hints: Hints) -> int:
        """Return the tokens of the hints."""
        ...

    def step(self, action: str, observation: str) -> int:
        """Return the tokens of a step of R."""
        ...


def measure(
    commands: Iterable[Command],
    gauge: Gauge,
    *,
    budget: int | None = None,
    progress: Callable[[Command], None] = lambda command: None,
) -> Measured:
    """Fold a journal, compress where the open segment would pass a budget, measure every prompt.

    Args:
        commands: a journal that is not refused anywhere.
        gauge: counts tokens.
        budget: tokens that the open segment may take, if it is to be kept short (see `fallback`).
        progress: is told of each command of the trace when it is done.

    Cost: O(hints) a Grow, O(size of S) at each other command that a Grow follows.
    """
    run = _Run(gauge, budget)
    for command in commands:
        run.take(command)
        progress(command)
    return Measured(tuple(run.done), run.state, ContextSizes(tuple(run.shown), tuple(run.full)))


@final
@attrs.define
class _Run:
    """A fold under way: where it stands, and what it has measured."""

    gauge: Gauge
    budget: int | None
    state: State | None = None
    done: list[Command] = attrs.field(factory=list)
    shown: list[int] = attrs.field(factory=list)
    full: list[int] = attrs.field(factory=list)
    kept: int = 0
    body: int | None = None  # tokens of S without hints; None where they must be counted anew
    opened: list[int] = attrs.field(factory=list)

    def take(self, command: Command) -> None:
        """Carry out one command of the trace."""
        if isinstance(command, Grow) and self.state is not None:
            self._grow(command, self.state)
            return
        after = self._apply(command)
        if isinstance(command, Start):
            self.kept = self.gauge.body(view(after))
        elif isinstance(command, Compress | Revise):
            self.opened.clear()

    def _grow(self, command: Grow, before: State) -> None:
        self._decide(before)
        tokens = self.gauge.step(command.action, command.observation)
        if self.budget is not None:
            for extra in fallback(before, self.opened, tokens, self.budget):
                self._apply(extra)
                self.opened.clear()
        body = self.body
        tree = self._apply(command).tree
        if body is not None and not tree.instructions_at(tree.step_head):
            self.body = body + tokens
        self.opened.append(tokens)
        self.kept += tokens

    def _decide(self, state: State) -> None:
        if self.body is None:
            self.body = self.gauge.body(view(state))
        self.shown.append(self.body + self.gauge.hints(hints(state)))
        self.full.append(self.kept)

    def _apply(self, command: Command) -> State:
        self.state = after = apply(self.state, command).unwrap()
        self.body = None
        self.done.append(command)
        return after
