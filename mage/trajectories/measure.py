"""What a trace costs in tokens: what the agent would have been shown, beside keeping everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import attrs

from mage.engine import Accept, Command, Compress, Grow, Revise, Start, State, apply
from mage.engine.ids import ROOT_STEP
from mage.render.extract import is_extract
from mage.trajectories.budget import fallback
from mage.trajectories.prompts import Gauge, Prompts

__all__ = ["ContextSizes", "Measured", "is_our_extract", "measure"]


@final
@attrs.frozen
class ContextSizes:
    """Prompt tokens at each decision: before each Grow, in order.

    Attributes:
        shown: of the execution state S that mage would have shown.
        full: of the task and every step taken so far, abandoned ones too: a history that only grows (in a
            trace of trials, each trial's own).
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
    gauge: Gauge,
    *,
    budget: int | None = None,
    trials: bool = False,
    progress: Callable[[Command], None] = lambda command: None,
) -> Measured:
    """Fold a journal, compress where the open segment would pass a budget, measure every prompt.

    Args:
        commands: a journal that is not refused anywhere.
        gauge: counts tokens.
        budget: tokens that the open segment may take, if it is to be kept short (see `fallback`).
        trials: whether a revise to the root begins a trial that knows nothing of those before it, so that
            the full history begins anew.
        progress: is told of each command of the trace when it is done.

    Cost: that of the replay, and of the hints that are shown at each Grow, however many there are.
    """
    run = _Run(gauge, budget, trials)
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
    trials: bool
    prompts: Prompts = attrs.field(init=False)
    state: State | None = None
    done: list[Command] = attrs.field(factory=list)
    shown: list[int] = attrs.field(factory=list)
    full: list[int] = attrs.field(factory=list)
    opened: int = 0  # tokens of the open segment
    task: int = 0
    kept: int = 0
    decided: bool = False  # whether the prompt of the next Grow is measured already

    def __attrs_post_init__(self) -> None:
        self.prompts = Prompts(self.gauge)

    def take(self, command: Command) -> None:
        """Carry out one command of the trace."""
        if isinstance(command, Grow) and self.state is not None:
            self._grow(command, self.state)
            return
        if self.decided and not isinstance(command, Accept):
            self.decided = False  # no Grow came of it
            self.shown.pop()
            self.full.pop()
        if self.state is not None and is_our_extract(command) and not self.decided:
            self._decide(self.state)
        after = self._apply(command)
        if isinstance(command, Start):
            self.task = self.kept = self.prompts.size(after, 0)
        elif isinstance(command, Revise) and self.trials and command.boundary == ROOT_STEP:
            self.kept = self.task

    def _grow(self, command: Grow, before: State) -> None:
        if not self.decided:
            self._decide(before)
        self.decided = False
        tokens = self.gauge.step(command.action, command.observation)
        if self.budget is not None:
            for extra in fallback(before, self.opened, tokens, self.budget):
                self._apply(extra)
        self._apply(command)
        self.opened += tokens
        self.kept += tokens

    def _decide(self, state: State) -> None:
        self.shown.append(self.prompts.size(state, self.opened))
        self.full.append(self.kept)
        self.decided = True

    def _apply(self, command: Command) -> State:
        before = self.state
        self.state = after = apply(before, command).unwrap()
        self.prompts.follow(before, command, after)
        self.done.append(command)
        if isinstance(command, Compress | Revise):
            self.opened = 0
        return after


def is_our_extract(command: Command) -> bool:
    """Tell whether a session kept by `mage replay` compressed here, after the agent had decided."""
    return isinstance(command, Compress) and command.kind == "fallback" and is_extract(command.text)
