"""Counts of a trace: the shape of its tree, and its tokens as prompts of mage beside the whole history.

The engine gathers all hints of a state, so that n tries at one step cost n squared. A prompt shows only the newest
of them: the tokens of a prompt are added up, not counted anew (`Prompts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias, final

import attrs

from mage.chat.parts import cut_to
from mage.engine import (
    Accept,
    Active,
    Command,
    Compress,
    ExecutionState,
    Fold,
    Grow,
    MageError,
    RefusedCommand,
    Revise,
    Start,
    State,
    Step,
    StepId,
    Summary,
    apply,
    view,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.engine.view import hints, instructions
from mage.memory.due import cut_step, most_of_text, room_below
from mage.memory.policy import Policy
from mage.render.blocks import Meter
from mage.render.extract import extract, is_extract


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


Decided: TypeAlias = Callable[[Grow, ExecutionState, ExecutionState], None]
"""Is called with each step of a trace, the S before it, and S as it was shown, where long steps may be cut."""


def measure(
    commands: Iterable[Command],
    meter: Meter,
    *,
    budget: int | None = None,
    beside: int = 0,
    trials: bool = False,
    progress: Callable[[Command], None] = lambda command: None,
    decided: Decided | None = None,
) -> Measured:
    """Fold a journal, compress as a memory does, measure every prompt.

    Args:
        commands: a journal that is not refused anywhere.
        meter: counts tokens.
        budget: the mark at which a memory with no judge and no summarizer would summarize the open segment (the
            policy's `high_water`), if it is to be kept short; one longer step is shown with its middle left out.
        beside: the tokens of what stands around S in each prompt; they count against the budget and nowhere else.
        trials: whether a revise to the root begins a trial that knows nothing of those before it, so that
            the full history begins anew.
        progress: called with each command of the trace when it is done.
        decided: called with each step and the S before it.

    Cost: that of the replay, and of the hints that are shown at each Grow, however many there are; with `decided`
    that of S at each Grow.
    """
    run = _Run(meter, budget, beside, trials, decided)
    for command in commands:
        run.take(command)
        progress(command)
    return Measured(tuple(run.done), run.state, ContextSizes(tuple(run.shown), tuple(run.full)))


@final
@attrs.frozen
class _Decision:
    """What was there when the agent decided: the state, and the prompt's tokens beside those of the full history."""

    state: State
    shown: int
    full: int


@final
@attrs.define
class _Run:
    """A fold under way: its state, and its sizes so far."""

    meter: Meter
    budget: int | None
    beside: int
    trials: bool
    decided: Decided | None
    prompts: Prompts = attrs.field(init=False)
    state: State | None = None
    done: list[Command] = attrs.field(factory=list)
    shown: list[int] = attrs.field(factory=list)
    full: list[int] = attrs.field(factory=list)
    opened: int = 0  # tokens of the open segment
    task: int = 0
    kept: int = 0
    decision: _Decision | None = None  # that of the next Grow, where its prompt is measured already

    def __attrs_post_init__(self) -> None:
        self.prompts = Prompts(self.meter)

    def take(self, command: Command) -> None:
        """Carry out one command of the trace."""
        if isinstance(command, Grow) and self.state is not None:
            self._grow(command, self.decision or self._decision(self.state))
            return
        if not isinstance(command, Accept):
            self.decision = None  # no Grow came of it
        if self.state is not None and is_our_extract(command):
            self.decision = self._decision(self.state)
        after = self._apply(command)
        if isinstance(command, Start):
            self.task = self.kept = self.prompts.size(after, 0)
        elif isinstance(command, Revise) and self.trials and command.boundary == ROOT_STEP:
            self.kept = self.task

    def _grow(self, command: Grow, decision: _Decision) -> None:
        self.decision = None
        self.shown.append(decision.shown)
        self.full.append(decision.full)
        if self.decided is not None:
            whole = view(decision.state)
            self.decided(command, whole, self._shown(whole))
        tokens = self.meter.step(command.action, command.observation)
        if self.budget is not None and self.state is not None:
            for extra in self._fallback(self.state, tokens, self.budget):
                self._apply(extra)
        tree = self._apply(command).tree
        self.opened += self.meter.step(*self._fitting(tree.step(tree.step_head)).content)
        self.kept += tokens

    def _decision(self, state: State) -> _Decision:
        return _Decision(state, self.prompts.size(state, self.opened), self.kept)

    def _shown(self, shown: ExecutionState) -> ExecutionState:
        return attrs.evolve(shown, raw=tuple(map(self._fitting, shown.raw)))

    def _fitting(self, step: Step) -> Step:
        return step if self.budget is None else cut_step(step, self.budget, self.meter)

    def _fallback(self, state: State, tokens: int, budget: int) -> tuple[Command, ...]:
        """Return the commands before a step is grown: none, or those that compress the open segment, as a memory would.

        So the newest step is always shown once. The text is an extract (no LLM), accepted openly, since no judge
        has judged it. Cost: O(contents of the open segment) where it is compressed.
        """
        tree, fixed = state.tree, self.beside + self.prompts.fixed(state)
        if tree.boundary == tree.step_head or not isinstance(state, Active):
            return ()
        if room_below(budget, fixed, self.opened) > tokens:
            return ()
        limit = most_of_text(Policy().summary_limit, self.opened)
        text = extract(trace(tree, tree.boundary, tree.step_head), limit)
        return (Compress(cut_to(text, limit, self.meter.counter), "fallback"), Accept())

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
        if self._compressed is None or self._compressed[0] is not tree.head_summary:
            lines = sum(map(self.meter.line, tree.lines_upwards(tree.head_summary)))
            self._compressed = (tree.head_summary, lines)
        return self.fixed(state) + self._compressed[1] + raw

    def fixed(self, state: State) -> int:
        """Return the tokens of S that no summary wins back: task, instructions in force, hints."""
        frame = self.meter.frame(state.tree.task, instructions(state), state.tree.boundary)
        return frame + self.meter.hints(hints(state))
