"""A world of subtasks: one environment for all domains, over the pure rules of each.

The rules say what a call does to a state, which is a frozen value. The world keeps the one mutable slot, deals out the
instructions one by one, takes the answers, and closes a subtask that has taken more actions than the cap. It says
nothing of whether an answer is right: it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar, cast, final

import attrs

from benchmarks.arena.domains.calls import Call, call_of
from mage.effects import Capabilities, NoEffect, Observed, Snapshots, Tool

Answer: TypeAlias = tuple[tuple[str, str], ...]
"""What was handed in for a subtask: values by slot. Most domains have one slot; a travel plan has many."""

State = TypeVar("State")


@final
@attrs.frozen
class Told(Generic[State]):
    """What became of a call.

    Attributes:
        text: what the agent is told.
        state: what the world is now.
        answer: what the call has handed in for the subtask, which is over then; None where it goes on.
    """

    text: str
    state: State
    answer: Answer | None = None


class Rules(Protocol[State]):
    """The rules of one task, and what is in it. All of it is pure: no call changes a value."""

    @property
    def manual(self) -> str:
        """The rules in words, for the model."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What can be called."""
        ...

    @property
    def looks(self) -> frozenset[str]:
        """The tools that only look: nobody need be warned before one is called again."""
        ...

    @property
    def instructions(self) -> tuple[str, ...]:
        """What each subtask asks for, in their order."""
        ...

    @property
    def cap(self) -> int:
        """How many actions a subtask may take; the same for each of them."""
        ...

    def begin(self) -> State:
        """Return what the world is before anything was done."""
        ...

    def call(self, state: State, call: Call, subtask: int, /) -> Told[State]:
        """Return what a call does in a subtask, counted from 0."""
        ...

    def turn(self, state: State, subtask: int, /) -> tuple[Answer, State]:
        """Return what there is for a subtask that the cap closes, and the state with nothing of the subtask in it."""
        ...


Ending: TypeAlias = Literal["answered", "cap"]


@final
@attrs.frozen
class Closed:
    """A subtask that is over.

    Attributes:
        ending: whether it was answered, or closed by the cap.
        answer: what was handed in; after a cap what there was, which may be nothing.
        actions: how many it took.
    """

    ending: Ending
    answer: Answer
    actions: int


@final
@attrs.frozen
class Standing(Generic[State]):
    """Where a world stands: a value, which is its own snapshot.

    Attributes:
        state: the rules' state.
        closed: the subtasks that are over, in their order.
        used: actions in the present subtask.
    """

    state: State
    closed: tuple[Closed, ...] = ()
    used: int = 0


def stand(rules: Rules[State]) -> Standing[State]:
    """Return where a world stands before the first action."""
    return Standing(rules.begin())


def step(rules: Rules[State], before: Standing[State], action: str) -> tuple[Standing[State], Observed]:
    """Return where a world stands after an action, and what is seen. Total: any text is an action."""
    subtask = len(before.closed)
    if subtask >= len(rules.instructions):
        return before, Observed("The task is over.", over=True, effect=NoEffect())
    call = call_of(action, rules.tools)
    told = Told(call, before.state) if isinstance(call, str) else rules.call(before.state, call, subtask)
    used = before.used + 1
    if told.answer is not None:
        closed = Closed("answered", told.answer, used)
        return _next(rules, told.text, Standing(told.state, (*before.closed, closed)))
    if used < rules.cap:
        after = Standing(told.state, before.closed, used)
        return after, Observed(told.text)  # no action is without effect: each counts towards the cap
    left, state = rules.turn(told.state, subtask)
    text = f"{told.text}\nSubtask {subtask + 1} is closed: it has taken {rules.cap} actions, and may take no more."
    return _next(rules, text, Standing(state, (*before.closed, Closed("cap", left, used))))


def _next(rules: Rules[State], text: str, after: Standing[State]) -> tuple[Standing[State], Observed]:
    place = len(after.closed)
    if place == len(rules.instructions):
        return after, Observed(f"{text}\nThat was the last subtask: the task is over.", over=True)
    return after, Observed(text, instructions=(rules.instructions[place],))


def played(rules: Rules[State], actions: Iterable[str]) -> Standing[State]:
    """Return where a world stands after these actions: what counts of a run is the path that its agent stands on."""
    standing = stand(rules)
    for each in actions:
        standing, _ = step(rules, standing, each)
    return standing


@final
class World(Generic[State]):
    """The environment of a task, for one run at a time. It goes back by snapshots.

    Attributes:
        rules: the task's.
        standing: where it stands.
        capabilities: its tools, its manual, and how it goes back.
    """

    def __init__(self, rules: Rules[State]) -> None:
        self.rules = rules
        self.standing = stand(rules)
        self.capabilities = Capabilities(
            Snapshots(self._take, self._put_back),
            foresees=self._foresees,
            tools=rules.tools,
            manual=rules.manual,
        )

    def reset(self) -> Observed:
        """Begin anew, with the first subtask."""
        self.standing = stand(self.rules)
        return Observed("", instructions=self.rules.instructions[:1])

    def act(self, action: str, /) -> Observed:
        """Perform any action; one that cannot be understood says what can."""
        self.standing, seen = step(self.rules, self.standing, action)
        return seen

    def _foresees(self, action: str) -> NoEffect | None:
        return NoEffect() if action.partition(" ")[0] in self.rules.looks else None

    def _take(self) -> Standing[State]:
        return self.standing

    def _put_back(self, saved: object) -> None:
        self.standing = cast("Standing[State]", saved)
