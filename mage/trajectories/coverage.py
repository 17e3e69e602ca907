"""Coverage: of the values that an action needs and only the past can give, how many still stand in its prompt?

No model acts. An action of a recorded run has literal values in it (`mage.render.literals`). Those that stood first in
what came back from an earlier step must have been copied from there: without them in the prompt, the agent could not
have acted so, or would have had to look again.

It is a necessary condition and no more: a value that is shown need not be used, a list of bare values would pass, and
what is no literal (a sum, a colour, a reason) is not seen. The full history covers everything; so it shows loss, never
a gain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, final

import attrs

from mage.chat import BadAction, canonical, parse_action
from mage.effects import NoEffect
from mage.engine import Command, ExecutionState, Grow, Instruct, Revise, Start
from mage.engine.ids import ROOT_STEP
from mage.memory.journal import BadEffect, effect_of
from mage.render import render_hints
from mage.render.literals import literals
from mage.trajectories.trajectory import Trajectory

_CALL: Final = re.compile(r"[\w.-]+ \{")
_REPORTS: Final = re.compile(r"human|user|tool|environment|\w*surfer|\w*terminal|\w*executor", re.IGNORECASE)
"""How the name of a speaker begins who reports, in a run of several agents: what it says is no action of its own."""
Writes = Callable[[str], bool]
"""Tells of the name of a tool whether calls to it change something."""


@final
@attrs.frozen
class Need:
    """What an action of a recorded run needs.

    Attributes:
        values: the literal values in it that stood first in what came back from an earlier step.
        writes: whether the action changes something; None where nobody says.
        trial: of which trial it is, from 0, where the trace has several.
    """

    values: frozenset[str]
    writes: bool | None = None
    trial: int = 0


@final
@attrs.frozen
class Use:
    """An action that needs values, and what became of these under a memory.

    Attributes:
        need: what it needs.
        far: those of its values that stand in no step of the open segment.
        missing: those that stand nowhere in the prompt.
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
        """The part that is covered; None of nothing."""
        return self.covered / self.of if self.of else None


@final
@attrs.frozen
class Coverage:
    """What a memory would have shown of what the actions of a run needed.

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
        """Those values that stand in no step of the open segment."""
        of = sum(len(use.far) for use in self.uses)
        return Share(of - sum(len(use.far & use.missing) for use in self.uses), of)

    @property
    def actions(self) -> Share:
        """The actions that need values; covered are those of which no value is missing."""
        return _whole(self.uses)

    @property
    def writes(self) -> Share:
        """Those of them that change something, as far as the trace says which these are."""
        return _whole([use for use in self.uses if use.need.writes])

    @property
    def trials(self) -> Share:
        """The runs with such actions; covered are those in which none misses a value."""
        short = {use.need.trial: False for use in self.uses}
        short.update({use.need.trial: True for use in self.uses if use.missing})
        return Share(len(short) - sum(short.values()), len(short))

    def shares(self) -> dict[str, Share]:
        """Return them all by name. Cost: O(values)."""
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
    """Return what becomes of a need where these values stand in the open segment, and these in what is shown."""
    far = need.values - opened
    return Use(need, far, need.values - elsewhere)


# -- what actions need ----------------------------------------------------------------------------------


def needs(trajectory: Trajectory, *, writes: Writes | None = None) -> tuple[Need, ...]:
    """Return what each step of a trace needs, in the order of its Grows.

    A value is needed where an action copies it: it stands in the arguments of a call or, in a run without calls that
    can be read, in the action's text, there with a digit or an @ alone. What the task or an instruction gives is always
    shown, what the agent wrote first is its own, and neither is needed. In a run of several agents, whose steps are
    words by a speaker, the words are the action, but for those who report.

    Args:
        trajectory: the trace. A trial knows nothing of those before it.
        writes: tells which tools change something, for traces that do not say so themselves.

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
    """A trace that is being read: which values are known by now, and which of them only from what came back."""

    has_calls: bool
    spoken: bool
    writes: Writes | None
    trial: int = 0
    told: set[str] = attrs.field(factory=set)
    came: dict[str, bool] = attrs.field(
        factory=dict
    )  # by value, whether it came back before the agent wrote it

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
            self.came.setdefault(value, seen)  # what one agent says is news for the others
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
    """Looks at each decision of a replay (`mage.trajectories.measure`) whether S shows what its action needs.

    Attributes:
        needs: what the steps of the trace need, in their order.
    """

    needs: Sequence[Need]
    _uses: list[Use] = attrs.field(factory=list, init=False)
    _place: int = attrs.field(default=0, init=False)
    _values: dict[str, frozenset[str]] = attrs.field(factory=dict, init=False)

    @property
    def coverage(self) -> Coverage:
        """What was found by now."""
        return Coverage(tuple(self._uses))

    def decided(self, command: Command, whole: ExecutionState, shown: ExecutionState) -> None:
        """Look at a decision: its S, and S as it is shown, where long steps may be cut. Cost: O(size of S)."""
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
