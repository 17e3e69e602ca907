"""An implementation of the state machine, as it is tried out: commands go in, answers come out.

States are numbered in the order in which commands were accepted, from 1; 0 is before the start. Any earlier
state may be gone on from, so a fork is tried as easily as the newest state.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, Protocol, TypeAlias, assert_never, final

import attrs

from mage.engine import (
    BlankFeedback,
    BlankInstruction,
    BlankSummary,
    Command,
    EmptySegment,
    IllegalPhase,
    MageError,
    Revised,
    StaleVerdict,
    Start,
    State,
    UnfoldableRange,
    UnknownBoundary,
    apply,
)
from mage.testing.machine import canonical_json
from mage.testing.strategies import Edge, Refusing, carry_out

BEFORE_START: Final = 0
"""The number of what is there before the start: a `Start` goes on from it, and nothing else."""

Detail: TypeAlias = int | tuple[int, ...] | tuple[tuple[int, int], ...] | str | None
"""What a refusal says beside its name: the boundary of `EmptySegment`, what is legal of `UnknownBoundary`,
label and boundary of the lines that `UnfoldableRange` names, the digest that `StaleVerdict` expects (None where
none is), None of the others.
"""


@final
@attrs.frozen
class Request:
    """One command, and the state that it goes on from.

    Attributes:
        on: the number of that state.
        command: the command.
    """

    on: int
    command: Command


@final
@attrs.frozen
class Reached:
    """The command was accepted.

    Attributes:
        state: the number of the state that it led to.
        fingerprint: of that state.
        abandoned: after a revise, the ids of the steps left behind, newest first (D7); else None.
        instructions: after a revise, text and standing of those left behind, in path order; else None.
    """

    state: int
    fingerprint: str
    abandoned: tuple[int, ...] | None = None
    instructions: tuple[tuple[str, bool], ...] | None = None


@final
@attrs.frozen
class Refused:
    """The command was refused; there is no new state.

    Attributes:
        refusal: the name of the engine's refusal, or `"IllegalPhase"`.
        detail: what it says.
    """

    refusal: str
    detail: Detail = None


Answer: TypeAlias = Reached | Refused


@final
class UnknownState(MageError, LookupError):
    """No state has this number: it was never reached, or was forgotten."""

    def __init__(self, state: int) -> None:
        self.state = state
        super().__init__(state)

    def __str__(self) -> str:
        return f"there is no state {self.state}"


class Implementation(Protocol):
    """A state machine that is held against the engine. A subclass defines `apply`, `show` and `forget`."""

    @abstractmethod
    def apply(self, request: Request) -> Answer:
        """Carry out one command.

        Raises:
            UnknownState: there is no state to go on from.
        """
        ...

    @abstractmethod
    def show(self, state: int) -> bytes:
        """Return the canonical JSON of a state.

        Raises:
            UnknownState: there is none with this number.
        """
        ...

    @abstractmethod
    def forget(self) -> None:
        """Drop all states; numbers begin anew."""
        ...

    def apply_many(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Carry out one command after the other, and yield their answers in order.

        A request may go on from a state that an earlier one of them reaches.
        """
        return map(self.apply, requests)


@final
class Engine(Implementation):
    """mage's own engine, as one implementation among others."""

    def __init__(self) -> None:
        self._states: list[State] = []

    def apply(self, request: Request) -> Answer:
        """Carry out one command. Cost: that of the operation and of the fingerprint.

        Raises:
            UnknownState: there is no state to go on from.
        """
        before = None if request.on == BEFORE_START else self._state(request.on)
        outcome = outcome_of(before, request.command)
        if outcome.after is not None and outcome.refusal is None:
            self._states.append(outcome.after)
        return answer_of(outcome, len(self._states))

    def show(self, state: int) -> bytes:
        """Return the canonical JSON of a state. Cost: O(size of its tree).

        Raises:
            UnknownState: there is none with this number.
        """
        return canonical_json(self._state(state))

    def forget(self) -> None:
        """Drop all states; numbers begin anew."""
        self._states.clear()

    def _state(self, number: int) -> State:
        if not 0 < number <= len(self._states):
            raise UnknownState(number)
        return self._states[number - 1]


@final
@attrs.frozen
class Outcome:
    """What a command led to on the engine, the start included.

    Attributes:
        after: the state after it; the one before where it was refused.
        refusal: why it was refused, or None.
        revised: what a revise gave back, or None.
    """

    after: State | None
    refusal: Refusing | None = None
    revised: Revised | None = None

    @classmethod
    def of(cls, edge: Edge) -> Outcome:
        """Return where an edge led."""
        return cls(edge.after, edge.refusal, edge.revised)


def outcome_of(before: State | None, command: Command) -> Outcome:
    """Carry out one command on the engine; `before` is None before the start.

    Cost: that of the operation.

    Raises:
        NotText, UnknownName, NotAnId: the command holds what is no text, no name or no id.
    """
    if before is not None and not isinstance(command, Start):
        return Outcome.of(carry_out(before, command))
    try:
        return Outcome(apply(before, command).unwrap())
    except IllegalPhase as illegal:
        return Outcome(before, illegal)


def fingerprint(state: State) -> str:
    """Return the SHA-256 of a state's canonical JSON, in hexadecimal. Cost: O(size of the tree)."""
    return hashlib.sha256(canonical_json(state)).hexdigest()


def answer_of(outcome: Outcome, number: int) -> Answer:
    """Return what the engine answers.

    Args:
        outcome: what the command led to.
        number: the number of the state after it.
    """
    if outcome.refusal is not None or outcome.after is None:
        return refused_with(outcome.refusal)
    revised = outcome.revised
    if revised is None:
        return Reached(number, fingerprint(outcome.after))
    abandoned = tuple([int(step.id) for step in revised.abandoned])
    left = tuple([(each.text, each.standing) for each in revised.instructions])
    return Reached(number, fingerprint(outcome.after), abandoned, left)


def refused_with(refusal: Refusing | None) -> Refused:
    """Return the answer that a refusal of the engine is."""
    name = type(refusal).__name__
    match refusal:
        case EmptySegment():
            return Refused(name, int(refusal.boundary))
        case UnknownBoundary():
            return Refused(name, tuple([int(step) for step in refusal.legal]))
        case UnfoldableRange():
            return Refused(name, tuple([(int(label), int(boundary)) for label, boundary in refusal.lines]))
        case StaleVerdict():
            return Refused(name, refusal.expected)
        case BlankSummary() | BlankFeedback() | BlankInstruction() | IllegalPhase() | None:
            return Refused(name)
        case _:
            assert_never(refusal)
