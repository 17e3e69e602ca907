"""Counts of a trace: the shape of its tree, and its tokens as prompts of mage beside the whole history.

The engine gathers all hints of a state, so that n tries at one step cost n squared. A prompt shows only the newest
of them: the tokens of a prompt are added up, not counted anew (`Prompts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import final

import attrs

from mage.engine import (
    Accept,
    Active,
    Command,
    Compress,
    Fold,
    Grow,
    MageError,
    RefusedCommand,
    Revise,
    Start,
    State,
    StepId,
    Summary,
    apply,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.engine.view import hints, instructions
from mage.render.extract import extract, is_extract
from mage.render.meter import Meter


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
        MageError: a command is refused; `replay` returns the refusal as a value.
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
        """All prompts together, as a run is billed for them."""
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
    """A trace that was carried out and measured.

    Attributes:
        commands: those of the trace, and the fallback compresses that a budget made necessary.
        state: the state that they lead to; None for no commands.
        sizes: the prompt at each decision.
    """

    commands: tuple[Command, ...]
    state: State | None
    sizes: ContextSizes


def measure(
    commands: Iterable[Command],
    meter: Meter,
    *,
    budget: int | None = None,
    trials: bool = False,
    progress: Callable[[Command], None] = lambda command: None,
) -> Measured:
    """Fold a journal, compress where the open segment would pass a budget, measure every prompt.

    Args:
        commands: a journal that is not refused anywhere.
        meter: counts tokens.
        budget: tokens that the open segment may take, if it is to be kept short (see `fallback`).
        trials: whether a revise to the root begins a trial that knows nothing of those before it, so that
            the full history begins anew.
        progress: called with each command of the trace when it is done.

    Cost: that of the replay, and of the hints that are shown at each Grow, however many there are.
    """
    run = _Run(meter, budget, trials)
    for command in commands:
        run.take(command)
        progress(command)
    return Measured(tuple(run.done), run.state, ContextSizes(tuple(run.shown), tuple(run.full)))


@final
@attrs.define
class _Run:
    """A fold under way: its state, and its sizes so far."""

    meter: Meter
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
        self.prompts = Prompts(self.meter)

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
        tokens = self.meter.step(command.action, command.observation)
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
        self.prompts.follow(command)
        self.done.append(command)
        if isinstance(command, Compress | Revise):
            self.opened = 0
        return after


def is_our_extract(command: Command) -> bool:
    """Tell whether `mage replay` made this compress in a session that it kept, after the agent had decided."""
    return isinstance(command, Compress) and command.kind == "fallback" and is_extract(command.text)


def fallback(state: State, opened: int, tokens: int, budget: int) -> tuple[Command, ...]:
    """Return the commands before a step is grown: none, or those that compress the open segment.

    The segment is compressed where the step would not fit beside it, so the newest step is always shown raw once; a
    step larger than the whole budget is compressed alone, when the next one comes. The text is an extract
    (no LLM), accepted openly, since no judge has judged it.

    Args:
        state: the state before the step.
        opened: tokens of the open segment.
        tokens: tokens of the step that comes.
        budget: tokens that the open segment may take.

    Cost: O(contents of the open segment) where it is compressed.
    """
    if (
        state.tree.boundary == state.tree.step_head
        or opened + tokens <= budget
        or not isinstance(state, Active)
    ):
        return ()
    steps = trace(state.tree, state.tree.boundary, state.tree.step_head)
    return (Compress(extract(steps), "fallback"), Accept())


@final
@attrs.define
class Prompts:
    """Adds up the tokens of S. What C takes is remembered as long as its lines stand.

    Attributes:
        meter: counts the parts.
    """

    meter: Meter
    _compressed: tuple[Summary, int] | None = attrs.field(default=None, init=False)

    def follow(self, command: Command) -> None:
        """Go on past a command; every command of the history passes here."""
        if isinstance(command, Fold):  # all else that changes C gives it another head
            self._compressed = None

    def size(self, state: State, raw: int) -> int:
        """Return the tokens of the rendered S of `state`, of which its R takes `raw`.

        Cost: O(hints + instructions in force), and O(lines of C) where they changed.
        """
        tree = state.tree
        frame = self.meter.frame(tree.task, instructions(state), tree.boundary)
        if self._compressed is None or self._compressed[0] is not tree.head_summary:
            lines = sum(map(self.meter.line, tree.lines_upwards(tree.head_summary)))
            self._compressed = (tree.head_summary, lines)
        return frame + self._compressed[1] + raw + self.meter.hints(hints(state))
