"""One command on the reference: how its answer differs from the engine's, and the reference as an implementation."""

from __future__ import annotations

from hashlib import sha256
from typing import assert_never, final

from mage.engine import (
    Accept,
    ApplyVerdict,
    Compress,
    Failed,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
    Start,
)
from mage.engine.journal import Operation
from mage.testing import Edge
from mage.testing.machine import plain_verdict, spelled
from specs.canonical import canonical_of_reference, copy_of_reference
from specs.conformance import BEFORE_START, Answer, Detail, Implementation, Reached, Request, refused_with
from specs.conformance import Refused as RefusedAnswer
from specs.reference import Mage
from specs.reference_nodes import Chapter, Left, Refused, Verdict, boundary_of, lines_inside, path


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
            return mage.retext(command.text)
        case ApplyVerdict():
            return mage.apply_verdict(Verdict(*plain_verdict(command.verdict)), command.digest)
        case Accept():
            return mage.accept()
        case Revise():
            return mage.revise(command.boundary, command.lesson)
        case Fold():
            return mage.fold(command.first, command.last, command.text, command.digest)
        case _:
            assert_never(command)


def disagreement(edge: Edge, mage: Mage, answer: Refused | Left | None) -> str:
    """Return how the engine's answer differs from the reference's, and nothing where it does not.

    Args:
        edge: what the engine did.
        mage: the reference after the same command.
        answer: what the reference gave back.
    """
    ours = None if edge.refusal is None else refused_with(edge.refusal)
    theirs = RefusedAnswer(answer, _detail(answer, mage, edge.command)) if isinstance(answer, str) else None
    if ours != theirs:
        return f"the engine answers {ours}, the reference {theirs}"
    if isinstance(answer, Left) and edge.revised is not None:
        left = [(each.text, each.standing) for each in answer.instructions]
        if [(each.text, each.standing) for each in edge.revised.instructions] != left:
            return f"the engine leaves instructions {edge.revised.instructions} behind, the reference {left}"
        abandoned = [(step.id, *step.content) for step in answer.abandoned]
        if [(step.id, *step.content) for step in edge.revised.abandoned] != abandoned:
            return f"the engine abandons {edge.revised.abandoned}, the reference {abandoned}"
    return ""


def overtaken_chapters(mage: Mage) -> str:
    """Return which chapter of C stands for other words than it was judged on, and nothing where none does (I12)."""
    left = mage.C
    for line in left:  # which grows by what is found inside
        if isinstance(line, Chapter):
            run = path(line.last)[len(path(line.first)) - 1 :]
            said = [(summary.id, summary.text, summary.note) for summary in run]
            if said != line.said:
                return f"I12 chapters_unfold: {line.text!r} was judged on {line.said} and stands for {said}"
            left.extend(lines_inside(line))
    return ""


@final
class Reference(Implementation):
    """The reference as one implementation among others, each of its states a copy that is left alone."""

    def __init__(self) -> None:
        self._states: list[Mage] = []

    def apply(self, request: Request) -> Answer:
        """Carry out one command on a copy of the state that it goes on from."""
        if request.on == BEFORE_START or isinstance(request.command, Start):
            if request.on != BEFORE_START or not isinstance(request.command, Start):
                return RefusedAnswer("IllegalPhase")
            return self._reached(Mage(request.command.task), None)
        mage = copy_of_reference(self._states[request.on - 1])
        answer = perform(mage, request.command)
        if isinstance(answer, str):
            return RefusedAnswer(answer, _detail(answer, mage, request.command))
        return self._reached(mage, answer)

    def _reached(self, mage: Mage, left: Left | None) -> Reached:
        self._states.append(mage)
        number, fingerprint = len(self._states), sha256(spelled(canonical_of_reference(mage))).hexdigest()
        if left is None:
            return Reached(number, fingerprint)
        abandoned = tuple([step.id for step in left.abandoned])
        instructions = tuple([(each.text, each.standing) for each in left.instructions])
        return Reached(number, fingerprint, abandoned, instructions)

    def show(self, state: int) -> bytes:
        """Return the canonical JSON of a state."""
        return spelled(canonical_of_reference(self._states[state - 1]))

    def forget(self) -> None:
        """Drop all states; numbers begin anew."""
        self._states.clear()


def _detail(refused: Refused, mage: Mage, command: Operation) -> Detail:
    """Return what a refusal of the reference says beside its name."""
    match refused:
        case "EmptySegment":
            return mage.p_b.id
        case "UnknownBoundary" if isinstance(command, ApplyVerdict) and isinstance(command.verdict, Failed):
            return tuple(mage.blamable(command.verdict.fault))
        case "UnknownBoundary":
            return tuple(mage.legal_boundaries())
        case "UnfoldableRange":
            return tuple([(line.label, boundary_of(line)) for line in mage.foldable()])
        case "StaleVerdict" if isinstance(command, Fold):
            request = mage.fold_request(command.first, command.last, command.text)
            return request if isinstance(request, str) else request.digest
        case "StaleVerdict":
            return mage.digest() if mage.phase == "Unverified" else None
        case _:
            return None
