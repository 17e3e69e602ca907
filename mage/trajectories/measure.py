"""Counts of a trace: which values an action needs and still sees (coverage), the shape of its tree, and its tokens as prompts.

Coverage: no model acts. An action of a recorded run has literal values in it (`mage.render.extract`). A value that
stood first in the observation of an earlier step must be a copy from there: without the value in the prompt, the agent
could not have acted so, or would have had to look again.

Coverage is a necessary condition and no more: the agent need not use a value that is shown, a list of bare values would
pass, and a need for anything but literals (a sum, a colour, a reason) does not count. The full history covers
everything; so coverage shows loss, never a gain.

The engine gathers all hints of a state, so that n tries at one step cost n squared. A prompt shows only the newest
of them: the tokens of a prompt are added up, not counted anew (`Prompts`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, TypeAlias, final

import attrs

from mage.chat import BadAction, canonical, parse_action
from mage.effects import NoEffect
from mage.engine import (
    Accept,
    Active,
    Command,
    Compress,
    ExecutionState,
    Fold,
    Grow,
    Instruct,
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
from mage.memory.journal import BadEffect, effect_of
from mage.memory.policy import Policy, cut_step, most_of_text, room_below
from mage.render import render_hints
from mage.render.blocks import Meter
from mage.render.extract import extract, is_extract, literals
from mage.tokens import cut_to
from mage.trajectories.trajectory import Trajectory, carried_out

# -- coverage -----------------------------------------------------------------------------------------------


_CALL: Final = re.compile(r"[\w.-]+ \{")
_REPORTS: Final = re.compile(r"human|user|tool|environment|\w*surfer|\w*terminal|\w*executor", re.IGNORECASE)
"""How the names of speakers begin that only report, in a run of several agents: their words are no actions."""
Writes = Callable[[str], bool]
"""Tells whether calls of the tool with a name change something."""


@final
@attrs.frozen
class Need:
    """What an action of a recorded run needs.

    Attributes:
        values: the literal values in it that stood first in the observation of an earlier step.
        writes: whether the action changes something; None where that is not known.
        trial: the number of its trial, from 0, where the trace has several.
    """

    values: frozenset[str]
    writes: bool | None = None
    trial: int = 0


@final
@attrs.frozen
class Use:
    """An action that needs values, and where these stand under a memory.

    Attributes:
        need: the values.
        far: the values that stand in no step of the open segment.
        missing: the values that stand nowhere in the prompt.
    """

    need: Need
    far: frozenset[str]
    missing: frozenset[str]


@final
@attrs.frozen
class Share:
    """How many of how many are covered."""

    covered: int
    of: int

    @property
    def part(self) -> float | None:
        """The part that is covered; None where `of` is 0."""
        return self.covered / self.of if self.of else None


@final
@attrs.frozen
class Coverage:
    """How much a memory would have shown of the values that the actions of a run needed.

    Attributes:
        uses: the actions that need values, in order.
    """

    uses: tuple[Use, ...]

    @property
    def values(self) -> Share:
        """All values, each once for each action that needs it."""
        of = sum(len(use.need.values) for use in self.uses)
        return Share(of - sum(len(use.missing) for use in self.uses), of)

    @property
    def far(self) -> Share:
        """The values that stand in no step of the open segment."""
        of = sum(len(use.far) for use in self.uses)
        return Share(of - sum(len(use.far & use.missing) for use in self.uses), of)

    @property
    def actions(self) -> Share:
        """The actions that need values; an action is covered where no value is missing."""
        return _whole(self.uses)

    @property
    def writes(self) -> Share:
        """The actions that need values and change something, as far as the trace says so."""
        return _whole([use for use in self.uses if use.need.writes])

    @property
    def trials(self) -> Share:
        """The runs with such actions; a run is covered where no value of any action is missing."""
        short = {use.need.trial: False for use in self.uses}
        short.update({use.need.trial: True for use in self.uses if use.missing})
        return Share(len(short) - sum(short.values()), len(short))

    def shares(self) -> dict[str, Share]:
        """Return all shares by name. Cost: O(values)."""
        return {
            "values": self.values,
            "far": self.far,
            "actions": self.actions,
            "writes": self.writes,
            "runs": self.trials,
        }


def _whole(uses: Sequence[Use]) -> Share:
    return Share(sum(not use.missing for use in uses), len(uses))


def values_in(text: str) -> frozenset[str]:
    """Return the literal values of a text. Cost: O(length)."""
    return frozenset([each.value for each in literals(text)])


def use_of(need: Need, opened: frozenset[str], elsewhere: frozenset[str]) -> Use:
    """Return the use of a need where the values `opened` stand in the open segment, and `elsewhere` in the prompt."""
    far = need.values - opened
    return Use(need, far, need.values - elsewhere)


# -- what actions need ----------------------------------------------------------------------------------


def needs(trajectory: Trajectory, *, writes: Writes | None = None) -> tuple[Need, ...]:
    """Return the need of each step of a trace, in the order of its Grows.

    An action needs a value that it copies: the value stands in the arguments of a call or, in a run without readable
    calls, in the action's text, there with a digit or an @ alone. A value of the task or of an instruction is always
    shown, and a value that the agent wrote first is the agent's own: neither is a need. In a run of several agents,
    whose steps are words by a speaker, the words are the action, but for the speakers that only report.

    Args:
        trajectory: the trace. A trial knows nothing of the trials before it.
        writes: tells which tools change something, for traces that do not say so.

    Cost: O(contents).
    """
    steps = [command for command in trajectory.commands if isinstance(command, Grow)]
    has_calls = any(_calls(step.action) for step in steps)
    reading = _Reading(has_calls, trajectory.spoken, writes)
    found: list[Need] = []
    for command, meta in zip_longest(trajectory.commands, trajectory.metas[: len(trajectory.commands)]):
        if isinstance(command, Grow):
            found.append(reading.step(command, meta or {}))
        elif isinstance(command, Start):
            reading.tell(command.task)
        elif isinstance(command, Instruct):
            reading.tell(command.text)
        elif isinstance(command, Revise) and trajectory.trials and command.boundary == ROOT_STEP:
            reading.begin_trial()
    return tuple(found)


@final
@attrs.define
class _Reading:
    """A trace as far as it is read: the known values, and which of them observations brought first."""

    has_calls: bool
    spoken: bool
    writes: Writes | None
    trial: int = 0
    told: set[str] = attrs.field(factory=set)
    came: dict[str, bool] = attrs.field(factory=dict)  # by value, whether an observation brought it first

    def tell(self, text: str) -> None:
        self.told.update(values_in(text))

    def begin_trial(self) -> None:
        self.trial += 1
        self.came.clear()

    def step(self, command: Grow, meta: Mapping[str, object]) -> Need:
        if self.spoken and _REPORTS.match(command.action) is None:
            words, seen = f"{command.action}\n{command.observation}", True
        else:
            words, seen = command.action, False
        used, names = self._used(words)
        values = frozenset([value for value in used if self.came.get(value) and value not in self.told])
        for value in values_in(words):
            self.came.setdefault(value, seen)  # the words of one agent are news for the others
        for value in values_in(command.observation):
            self.came.setdefault(value, True)
        return Need(values, self._writes(command, meta, names), self.trial)

    def _used(self, words: str) -> tuple[Iterable[str], list[str]]:
        if not self.has_calls:
            return [value for value in values_in(words) if not value.isalpha()], []
        calls = _calls(words)
        leaves = [leaf for _, arguments in calls for leaf in _leaves(arguments)]
        return frozenset().union(*map(values_in, leaves)), [name for name, _ in calls]

    def _writes(self, command: Grow, meta: Mapping[str, object], names: Sequence[str]) -> bool | None:
        try:
            effect = effect_of(command, meta)
        except BadEffect:
            effect = None
        if effect is not None:
            return not isinstance(effect, NoEffect)
        return any(map(self.writes, names)) if self.writes is not None and names else None


def _calls(action: str) -> list[tuple[str, object]]:
    """Return the calls in an action, a line each, by name and arguments."""
    found = list[tuple[str, object]]()
    for line in action.split("\n"):
        if _CALL.match(line) is None:
            continue
        try:
            found.append(parse_action(line))
        except (BadAction, ValueError, RecursionError):
            continue
    return found


def _leaves(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value of JSON."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, str):
            yield each
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield canonical(each)


# -- what S shows ---------------------------------------------------------------------------------------


@final
@attrs.define
class Covering:
    """Finds out for each decision of a replay (`measure`) whether S shows the values that its action needs.

    Attributes:
        needs: the needs of the steps of the trace, in their order.
    """

    needs: Sequence[Need]
    _uses: list[Use] = attrs.field(factory=list, init=False)
    _place: int = attrs.field(default=0, init=False)
    _values: dict[str, frozenset[str]] = attrs.field(factory=dict, init=False)

    @property
    def coverage(self) -> Coverage:
        """The coverage of the decisions so far."""
        return Coverage(tuple(self._uses))

    def decided(self, command: Command, whole: ExecutionState, shown: ExecutionState) -> None:
        """Take in a decision: its S, and S as the prompt shows it, where long steps may be cut. Cost: O(size of S)."""
        need = self.needs[self._place]
        self._place += 1
        if not need.values:
            return
        opened = self._of(text for step in whole.raw for text in step.content)
        inside = self._of(text for step in shown.raw for text in step.content)
        lines = self._of(line.text for line in shown.compressed)
        hints = values_in(render_hints(shown))
        self._uses.append(use_of(need, opened, inside | lines | hints))

    def _of(self, texts: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*map(self._known, texts))

    def _known(self, text: str) -> frozenset[str]:
        known = self._values.get(text)
        if known is None:
            known = self._values[text] = values_in(text)
        return known


def together(each: Iterable[Coverage]) -> Coverage:
    """Return the coverage of several traces as one; their runs stay apart."""
    uses: list[Use] = []
    begun = 0
    for coverage in each:
        moved = [
            attrs.evolve(use, need=attrs.evolve(use.need, trial=use.need.trial + begun))
            for use in coverage.uses
        ]
        uses.extend(moved)
        begun = max([use.need.trial + 1 for use in uses], default=begun)
    return Coverage(tuple(uses))


# -- the shape of a tree, and its tokens --------------------------------------------------------------------


@final
@attrs.frozen
class Counts:
    """Numbers of one history; the root is no step but can be a branch point.

    Attributes:
        steps: the steps of the tree.
        merges: grows into a step that was there (D10).
        revisions: revise commands.
        abandoned: the steps that revisions left, summed over the revisions.
        branch_points: the steps with more than one next step.
        summaries: the summaries of the tree; a summary with a new text counts once.
        max_depth: the steps on the longest path from the root.
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
        state = carried_out(state, command, version)
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


@final
@attrs.frozen
class ContextSizes:
    """Prompt tokens at each decision: before each Grow, in order.

    Attributes:
        shown: the tokens of the execution state S that mage would have shown.
        full: the tokens of the task and every step so far, abandoned ones too: a history that only grows (in a
            trace of trials, the history of the trial).
    """

    shown: tuple[int, ...]
    full: tuple[int, ...]

    @property
    def shown_max(self) -> int:
        """The largest prompt."""
        return max(self.shown, default=0)

    @property
    def shown_total(self) -> int:
        """All prompts together, as a provider bills them."""
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
    """A trace, carried out and measured.

    Attributes:
        commands: the commands of the trace, and the fallback compresses that a budget made necessary.
        state: the state behind them; None for no commands.
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
        budget: the mark (the policy's `high_water`) at which a memory with no judge and no summarizer would summarize
            the open segment, None for no mark; a longer step is shown with its middle left out.
        beside: the tokens around S in each prompt; they count against the budget and nowhere else.
        trials: whether a revise to the root begins a trial that knows nothing of the trials before it, so that
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
    """A decision of the agent: the state, the tokens of its prompt, and those of the full history."""

    state: State
    shown: int
    full: int


@final
@attrs.define
class _Run:
    """A replay so far: its state, and its sizes."""

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
    decision: _Decision | None = None  # the next Grow's, where its prompt is measured already

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
        """Return the commands before a Grow: none, or those that compress the open segment, as a memory would.

        So every step is shown once. The text is an extract (no LLM), accepted openly, since no judge has judged it.
        Cost: O(contents of the open segment) where it is compressed.
        """
        tree, fixed = state.tree, self.beside + self.prompts.fixed(state)
        if tree.boundary == tree.step_head or not isinstance(state, Active):
            return ()
        if room_below(budget, fixed, self.opened) > tokens:
            return ()
        limit = most_of_text(Policy(high_water=budget).longest_text, self.opened)
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
    """Tell whether `mage replay` made this compress, after the agent's decision, in a session that it kept."""
    return isinstance(command, Compress) and command.kind == "fallback" and is_extract(command.text)


@final
@attrs.define
class Prompts:
    """Adds up the tokens of S; those of C are kept as long as its lines stand.

    Attributes:
        meter: counts the parts.
    """

    meter: Meter
    _compressed: tuple[Summary, int] | None = attrs.field(default=None, init=False)

    def follow(self, command: Command) -> None:
        """Take in a command; this must be called with every command of the history."""
        if isinstance(command, Fold):  # all else that changes C gives it another head
            self._compressed = None

    def size(self, state: State, raw: int) -> int:
        """Return the tokens of the rendered S of `state`, of which R has `raw`.

        Cost: O(hints + instructions in force), and O(lines of C) where they changed.
        """
        tree = state.tree
        if self._compressed is None or self._compressed[0] is not tree.head_summary:
            lines = sum(map(self.meter.line, tree.lines_upwards(tree.head_summary)))
            self._compressed = (tree.head_summary, lines)
        return self.fixed(state) + self._compressed[1] + raw

    def fixed(self, state: State) -> int:
        """Return the tokens of S that no summary can save: task, instructions in force, hints."""
        frame = self.meter.frame(state.tree.task, instructions(state), state.tree.boundary)
        return frame + self.meter.hints(hints(state))
