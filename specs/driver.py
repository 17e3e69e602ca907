"""One command on the engine and on the reference: what the explorer and the stateful test have in common."""

from __future__ import annotations

from typing import TypeAlias, assert_never, final

import attrs
from returns.pipeline import is_successful

from mage.engine import (
    Accept,
    ApplyVerdict,
    Compress,
    EmptySegment,
    Grow,
    IllegalPhase,
    Instruct,
    Refusal,
    Retext,
    Revise,
    Revised,
    StaleVerdict,
    State,
    UnknownBoundary,
    apply,
    revise,
)
from mage.engine.journal import Operation
from specs.canonical import plain_verdict
from specs.reference import Mage
from specs.reference_nodes import Left, Refused, Verdict

__all__ = ["Edge", "carry_out", "disagreement", "perform"]

Refusing: TypeAlias = Refusal | IllegalPhase


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
    """Carry out one command on the engine; a refusal and an illegal phase are noted, not raised."""
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


def perform(mage: Mage, command: Operation) -> Refused | Left | None:
    """Carry out one command on the reference, in place."""
    match command:
        case Instruct():
            return mage.instruct(command.text, command.standing)
        case Grow():
            return mage.grow(command.action, command.observation)
        case Compress():
            return mage.compress(command.text, command.kind)
        case Retext():
            return mage.retext(command.text, command.kind)
        case ApplyVerdict():
            return mage.apply_verdict(Verdict(*plain_verdict(command.verdict)), command.digest)
        case Accept():
            return mage.accept()
        case Revise():
            return mage.revise(command.boundary, command.lesson)
        case _:
            assert_never(command)


def disagreement(edge: Edge, mage: Mage, answer: Refused | Left | None) -> str:
    """Return how the engine's answer differs from the reference's, and nothing where it does not.

    Args:
        edge: what the engine did.
        mage: the reference after the same command.
        answer: what the reference gave back.
    """
    refused = answer if isinstance(answer, str) else None
    found = None if edge.refusal is None else type(edge.refusal).__name__
    if found != refused:
        return f"the engine answers {found}, the reference {refused}"
    if edge.refusal is not None and (detail := _wrong_detail(edge.refusal, mage)):
        return detail
    if isinstance(answer, Left) and edge.revised is not None:
        left = [(each.text, each.standing) for each in answer.instructions]
        if [(each.text, each.standing) for each in edge.revised.instructions] != left:
            return f"the engine leaves instructions {edge.revised.instructions} behind, the reference {left}"
        abandoned = [(step.id, *step.content) for step in answer.abandoned]
        if [(step.id, *step.content) for step in edge.revised.abandoned] != abandoned:
            return f"the engine abandons {edge.revised.abandoned}, the reference {abandoned}"
    return ""


def _wrong_detail(refusal: Refusing, mage: Mage) -> str:
    match refusal:
        case UnknownBoundary() if refusal.legal != tuple(mage.legal_boundaries()):
            return f"the engine names {refusal.legal} as legal, the reference {mage.legal_boundaries()}"
        case EmptySegment() if refusal.boundary != mage.p_b.id:
            return f"the engine names boundary {refusal.boundary}, the reference {mage.p_b.id}"
        case StaleVerdict() if refusal.expected != (mage.digest() if mage.phase == "Unverified" else None):
            return f"the engine expects digest {refusal.expected}, the reference another"
        case _:
            return ""
