"""A history as commands: the tree is their fold (L8).

A journal is a `Start` and the commands that were accepted after it. Its version is the number of commands;
the state at version 1 is the one right after the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never, final

import attrs
from returns.result import Failure, Result, Success

from mage.engine.errors import IllegalPhase, MageError, Refusal
from mage.engine.folding import fold
from mage.engine.ids import Digest, StepId
from mage.engine.machine import (
    Active,
    Rejected,
    Revised,
    State,
    Unverified,
    accept,
    apply_verdict,
    compress,
    grow,
    illegal,
    instruct,
    retext,
    revise,
    start,
)
from mage.engine.nodes import Kind, Verdict


@final
@attrs.frozen
class Start:
    """Begin a history: the first command of a journal, and only the first."""

    task: str


@final
@attrs.frozen
class Instruct:
    """Place an instruction at the step head (D17)."""

    text: str
    standing: bool = False


@final
@attrs.frozen
class Grow:
    """Record an action and its observation."""

    action: str
    observation: str


@final
@attrs.frozen
class Compress:
    """Replace the open segment by a summary."""

    text: str
    kind: Kind = "subgoal"


@final
@attrs.frozen
class Retext:
    """Give the summary head a new text (D16)."""

    text: str


@final
@attrs.frozen
class ApplyVerdict:
    """Take a judge's answer to the request with this digest (D5)."""

    verdict: Verdict
    digest: Digest | str


@final
@attrs.frozen
class Accept:
    """Go on without a pass, openly (D6)."""


@final
@attrs.frozen
class Revise:
    """Go back to a boundary and leave a lesson there (D7)."""

    boundary: StepId | int
    lesson: str = ""


@final
@attrs.frozen
class Fold:
    """Show a chapter in C in place of a run of lines, judged under this digest (D19)."""

    first: StepId | int
    last: StepId | int
    text: str
    digest: Digest | str


Operation: TypeAlias = Instruct | Grow | Compress | Retext | ApplyVerdict | Accept | Revise | Fold
Command: TypeAlias = Start | Operation


_OPERATIONS: Final[dict[type, str]] = {
    Instruct: "instruct",
    Grow: "grow",
    Compress: "compress",
    Retext: "retext",
    ApplyVerdict: "apply_verdict",
    Accept: "accept",
    Revise: "revise",
    Fold: "fold",
}


@final
@attrs.frozen
class EmptyJournal:
    """A journal holds no command at all, not even a start."""

    def __str__(self) -> str:
        return "the journal is empty: it should begin with a start"


@final
@attrs.frozen
class RefusedCommand:
    """A journal holds a command that its own state refuses: it was tampered with.

    Attributes:
        version: the version of the journal that the command would have made, from 1.
        command: the refused command.
        reason: why: the refusal, or what it raised.
    """

    version: int
    command: Command
    reason: Refusal | MageError

    def __str__(self) -> str:
        return f"command {self.version}, {type(self.command).__name__}: {self.reason}"


def apply(state: State | None, command: Command) -> Result[State, Refusal]:
    """Carry out one command; `state` is None before the start. Cost: that of the operation.

    Raises:
        IllegalPhase: the command is not legal in this phase.
        NotText: something that must be a string is none.
        UnknownName: a kind or a fault is none.
    """
    if isinstance(command, Start):
        if state is not None:
            raise IllegalPhase("start", type(state).__name__, ("nothing",))
        return Success(start(command.task))
    if state is None:
        raise illegal(_OPERATIONS[type(command)], None)
    return _carry_out(state, command)


def _carry_out(state: State, command: Operation) -> Result[State, Refusal]:
    match command:
        case Grow():
            return Success(grow(_growing(state, "grow"), command.action, command.observation))
        case Instruct():
            going_on = _growing(state, "instruct")
            return instruct(going_on, command.text, standing=command.standing)
        case Compress():
            return compress(_active(state, "compress"), command.text, command.kind)
        case Retext():
            return retext(_unsettled(state, "retext"), command.text)
        case ApplyVerdict():
            return apply_verdict(state, command.verdict, command.digest)
        case Accept():
            return Success(accept(_unsettled(state, "accept")))
        case Revise():
            return revise(state, command.boundary, command.lesson).map(_state_of)
        case Fold():
            active = _active(state, "fold")
            return fold(active, command.first, command.last, command.text, command.digest)
        case _:
            assert_never(command)


def _state_of(revised: Revised) -> State:
    return revised.state


def _active(state: State, operation: str) -> Active:
    if not isinstance(state, Active):
        raise illegal(operation, state)
    return state


def _growing(state: State, operation: str) -> Active | Unverified:
    if isinstance(state, Rejected):
        raise illegal(operation, state)
    return state


def _unsettled(state: State, operation: str) -> Unverified | Rejected:
    if isinstance(state, Active):
        raise illegal(operation, state)
    return state


def replay(commands: Iterable[Command]) -> Result[State, RefusedCommand | EmptyJournal]:
    """Return the state that a journal leads to (L8), or the first command that is refused, and why.

    Cost: the sum of its commands.
    """
    state: State | None = None
    for version, command in enumerate(commands, start=1):
        try:
            result = apply(state, command)
        except MageError as reason:
            return Failure(RefusedCommand(version, command, reason))
        state = result.value_or(None)
        if state is None:
            return Failure(RefusedCommand(version, command, result.failure()))
    return Failure(EmptyJournal()) if state is None else Success(state)
