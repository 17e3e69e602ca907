"""The driver carries out the same command on both sides, and notices every difference between the answers."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings

from mage import Failed, Passed
from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Command,
    Compress,
    Digest,
    EmptySegment,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
    StaleVerdict,
    Start,
    State,
    StepId,
    UnfoldableRange,
    UnknownBoundary,
    accept,
    compress,
    fold_request,
    grow,
    start,
)
from mage.engine.journal import Operation
from mage.testing import Edge, carry_out
from mage.testing.machine import canonical, canonical_json
from specs.canonical import canonical_of_reference
from specs.conformance import Reached, Refused, Request, compare, sequences
from specs.driver import Reference, disagreement, overtaken_chapters, perform
from specs.reference import Mage
from specs.reference_nodes import Left
from specs.reference_nodes import Refused as RefusedName


def both(command: Operation) -> tuple[Edge, Mage, RefusedName | Left | None]:
    """Carry out a command on both sides, after one summary, an instruction and an open step."""
    state: State = accept(compress(grow(start("t"), "a", "o"), "m").unwrap())
    mage = Mage("t")
    mage.grow("a", "o")
    mage.compress("m")
    mage.accept()
    mage.grow("b", "o")
    mage.instruct("i")
    state = carry_out(carry_out(state, Grow("b", "o")).after, Instruct("i")).after
    return carry_out(state, command), mage, perform(mage, command)


COMMANDS: tuple[tuple[Operation, str | None], ...] = (
    (Grow("c", "o"), None),
    (Instruct("j", standing=True), None),
    (Instruct(""), "BlankInstruction"),
    (Compress("m", "fallback"), None),
    (Compress(" "), "BlankSummary"),
    (Retext("m"), "IllegalPhase"),
    (ApplyVerdict(Passed(), Digest("")), "StaleVerdict"),
    (ApplyVerdict(Failed("f"), Digest("")), "StaleVerdict"),
    (Accept(), "IllegalPhase"),
    (Revise(StepId(1), "l"), None),
    (Revise(StepId(2), "l"), "UnknownBoundary"),
    (Fold(0, 1, "x", ""), "UnfoldableRange"),
)


@pytest.mark.parametrize(("command", "refusal"), COMMANDS)
def test_both_sides_answer_alike(command: Operation, refusal: str | None) -> None:
    """A command is taken or refused for the same reason on both sides; where refused, nothing moves."""
    edge, mage, answer = both(command)
    assert disagreement(edge, mage, answer) == ""
    assert (answer if isinstance(answer, str) else None) == refusal
    assert (type(edge.refusal).__name__ if edge.refusal else None) == refusal
    assert (edge.after is edge.before) == (refusal is not None)
    assert (edge.revised is not None) == (isinstance(command, Revise) and refusal is None)


def test_another_refusal_is_noticed() -> None:
    """A refusal on one side only, or another one, is a disagreement."""
    edge, mage, answer = both(Compress(" "))
    assert "BlankSummary" in disagreement(edge, mage, None)
    assert "EmptySegment" in disagreement(edge, mage, "EmptySegment")
    assert "None" in disagreement(attrs.evolve(edge, refusal=None), mage, answer)


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        (Revise(StepId(2), "l"), UnknownBoundary(StepId(2), (StepId(0),))),
        (ApplyVerdict(Passed(), Digest("")), StaleVerdict(Digest(""), Digest("x"))),
        (Fold(0, 1, "x", ""), UnfoldableRange(StepId(0), StepId(1), ())),
    ],
)
def test_what_a_refusal_says_is_compared(
    command: Operation, wrong: UnknownBoundary | StaleVerdict | UnfoldableRange
) -> None:
    """Legal boundaries, lines and the awaited digest are the reference's, or there is a disagreement."""
    edge, mage, answer = both(command)
    assert disagreement(attrs.evolve(edge, refusal=wrong), mage, answer)


@pytest.mark.parametrize(
    "told",
    [
        (Failed("f", "execution", StepId(9)), "right"),
        (Failed("f", "summary", StepId(0)), "right"),
        (Failed(" ", "execution", StepId(0)), "right"),
        (Failed("f", "execution", StepId(9)), "stale"),
    ],
)
def test_where_a_mistake_began_is_answered_alike(told: tuple[Failed, str]) -> None:
    """A boundary that a verdict may not name is refused by both, with the ones that it may."""
    state, mage = compress(grow(start("t"), "a", "o"), "m").unwrap(), Mage("t")
    mage.grow("a", "o")
    mage.compress("m")
    command = ApplyVerdict(told[0], state.digest if told[1] == "right" else Digest(""))
    edge, answer = carry_out(state, command), perform(mage, command)
    assert isinstance(answer, str)
    assert disagreement(edge, mage, answer) == ""


def test_a_fold_is_answered_alike() -> None:
    """Both sides fold the same lines, expect the same digest, and the reference notices words that changed."""
    commands: tuple[Operation, ...] = (
        Grow("a", "o"),
        Compress("m"),
        Accept(),
        Grow("b", "o"),
        Compress("n"),
        Accept(),
    )
    state: State = start("t")
    mage = Mage("t")
    for command in commands:
        state = carry_out(state, command).after
        perform(mage, command)
    assert isinstance(state, Active)
    digest = fold_request(state, 0, 2, "x").unwrap().digest
    stale, folded = (carry_out(state, Fold(0, 2, "x", sent)) for sent in ("", digest))
    assert disagreement(stale, mage, perform(mage, stale.command)) == ""
    assert disagreement(folded, mage, perform(mage, folded.command)) == ""
    assert (stale.refusal is None, folded.refusal is None) == (False, True)
    assert canonical_of_reference(mage) == canonical(folded.after)
    assert overtaken_chapters(mage) == ""
    mage.summaries[1].text = "z"
    assert "I12" in overtaken_chapters(mage)


def test_an_empty_segment_names_its_boundary() -> None:
    """The boundary in `EmptySegment` is compared with the reference's."""
    edge, mage, answer = carry_out(start("t"), Compress("m")), Mage("t"), "EmptySegment"
    assert disagreement(edge, mage, answer) == ""
    assert disagreement(attrs.evolve(edge, refusal=EmptySegment(StepId(1))), mage, answer)


def test_what_a_revise_leaves_is_compared() -> None:
    """Abandoned steps and instructions left behind are the reference's, or there is a disagreement."""
    edge, mage, answer = both(Revise(StepId(1), "l"))
    assert edge.revised is not None
    for less in (attrs.evolve(edge.revised, abandoned=()), attrs.evolve(edge.revised, instructions=())):
        assert disagreement(attrs.evolve(edge, revised=less), mage, answer)


@settings(max_examples=40)
@given(sequences())
def test_the_reference_is_an_implementation(commands: tuple[Command, ...]) -> None:
    """Held against the engine like one in another language, the reference agrees over long sequences."""
    reference = Reference()
    states = compare(reference, commands)
    assert reference.show(len(states)) == canonical_json(states[-1])


def test_the_reference_forgets_and_forks() -> None:
    """Its states are numbered and left alone: each may be gone on from again."""
    reference = Reference()
    for _ in range(2):
        reference.forget()
        assert reference.apply(Request(0, Grow("a", "o"))) == Refused("IllegalPhase")
        began = reference.apply(Request(0, Start("t")))
        assert isinstance(began, Reached)
        assert began.state == 1
        one, other = (reference.apply(Request(1, Grow(action, "o"))) for action in "ab")
        assert isinstance(one, Reached)
        assert isinstance(other, Reached)
        assert (one.state, other.state) == (2, 3)
        assert reference.show(1) == canonical_json(start("t"))
        assert reference.apply(Request(3, Start("u"))) == Refused("IllegalPhase")
