"""One command on the engine, and where it led: what properties of a change are stated over."""

from __future__ import annotations

from typing import TypeAlias, final

import attrs
from returns.pipeline import is_successful

from mage.engine import IllegalPhase, Refusal, Revise, Revised, State, apply, revise
from mage.engine.journal import Operation

__all__ = ["Edge", "Refusing", "carry_out"]

Refusing: TypeAlias = Refusal | IllegalPhase
"""Why a command was not carried out."""


@final
@attrs.frozen
class Edge:
    """One command on the engine: where it started and where it led.

    Attributes:
        before: the state it was given.
        command: what was asked for.
        after: the state that it led to; `before` itself where it was refused.
        refusal: why it was refused, or None.
        revised: what a revise gave back, or None.
    """

    before: State
    command: Operation
    after: State
    refusal: Refusing | None = None
    revised: Revised | None = None


def carry_out(state: State, command: Operation) -> Edge:
    """Carry out one command on the engine; a refusal and an illegal phase are noted, not raised.

    Cost: that of the operation.

    Raises:
        NotText, UnknownName, NotAnId: the command holds what is no text, no name or no id.
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
