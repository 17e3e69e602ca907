"""One command on the engine and the state that it leads to; and commands as Python that can be pasted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, final

import attrs
from returns.pipeline import is_successful

from mage.engine import Command, IllegalPhase, Refusal, Revise, Revised, State, apply, revise
from mage.engine.journal import Operation

HEADING: Final = "from mage.engine import *"
"""The names that printed commands need."""

Refusing: TypeAlias = Refusal | IllegalPhase
"""The reason why a command was not carried out."""


@final
@attrs.frozen
class Edge:
    """One command on the engine: the states before and after.

    Attributes:
        before: the state before the command.
        command: the command.
        after: the state after it; `before` itself where it was refused.
        refusal: the reason why it was refused, or None.
        revised: the result of a revise, or None.
    """

    before: State
    command: Operation
    after: State
    refusal: Refusing | None = None
    revised: Revised | None = None


def carry_out(state: State, command: Operation) -> Edge:
    """Carry out one command on the engine; a refusal and an illegal phase stand in the `Edge`, not raised.

    Cost: that of the operation.

    Raises:
        NotText, UnknownName, NotAnId: a value of the command is no text, no name or no id.
    """
    try:
        if isinstance(command, Revise):
            return _revise(state, command)
        result = apply(state, command)
    except IllegalPhase as illegal:
        return Edge(state, command, state, illegal)
    if is_successful(result):
        return Edge(state, command, result.unwrap())
    return Edge(state, command, state, result.failure())


def _revise(state: State, command: Revise) -> Edge:
    result = revise(state, command.boundary, command.lesson)
    if is_successful(result):
        revised = result.unwrap()
        return Edge(state, command, revised.state, None, revised)
    return Edge(state, command, state, result.failure())


def state_after(commands: Iterable[Command]) -> State:
    """Return the state after these commands, a `Start` first; a refused command changes nothing.

    The states that `states()` draws are printed as a call of this function. Cost: that of the commands.

    Raises:
        ValueError: there is no `Start` among them.
        NotText, UnknownName, NotAnId: a value of a command is no text, no name or no id.
    """
    state: State | None = None
    for command in commands:
        try:
            state = apply(state, command).value_or(state)
        except IllegalPhase:
            continue
    if state is None:
        raise ValueError("none of the commands is a Start")
    return state


def listed(commands: Iterable[Command]) -> str:
    """Return commands as a Python list, one a line. Cost: O(size)."""
    return "\n".join(["[", *(f"    {command!r}," for command in commands), "]"])


def script(commands: Iterable[Command]) -> str:
    """Return Python that makes the list `commands`, refused ones included. Cost: O(size)."""
    return f"{HEADING}\n\ncommands = {listed(commands)}"


def state_script(**journals: Iterable[Command]) -> str:
    """Return Python that makes states, by name, of the commands that led to each, none refused. Cost: O(size)."""
    made = (f"{name} = replay({listed(journal)}).unwrap()" for name, journal in journals.items())
    return "\n\n".join([HEADING, *made])
