"""The paper's four operations, what goes with them, and the phases between them. Everything that changes a phase lives here.

A state is a tree in one of three phases. The phase follows from the verdict of the summary head (D6):

    Active       it has passed or was accepted     grow, instruct, compress, fold, revise
    Unverified   it is pending: a judge may think  grow, instruct, retext, take a verdict, accept, revise
    Rejected     it has failed                     retext, accept, revise; no growing on what is wrong

    start ----> Active --compress--> Unverified --Passed--> Active
                  ^                   |      ^
                  |                 Failed   retext
                  |                   v      |
                  +--accept, revise-- Rejected

Every operation is a pure function: it returns a new state and leaves the old one as it was, to the byte
(L2). What an agent can get wrong comes back as a `Failure` with a frozen value (L7). What only a program
can get wrong, an operation in a phase where it is not legal, is a type error for mypy and raises
`IllegalPhase`. `apply_verdict` is legal in every phase: an answer that was overtaken is refused as stale.

Not here: what the agent is shown (`view`), chapters (`folding`), who judges (`judge_request` asks; the host answers), what a
journal is (`journal`). What must change together with `TRANSITIONS`: a command in `journal.py`, the table
in README.md (generated), `specs/reference.py`, `specs/README.md` and the typing tests.
"""

from __future__ import annotations

from typing import Final, TypeAlias, assert_never, final, overload

import attrs
from returns.result import Failure, Result, Success

from mage.engine.edit import (
    at_boundary,
    at_step,
    instructions_below,
    new_tree,
    with_instruction,
    with_lesson,
    with_step,
    with_summary,
)
from mage.engine.errors import (
    BlankFeedback,
    BlankInstruction,
    BlankSummary,
    CompressRefusal,
    EmptySegment,
    IllegalPhase,
    StaleVerdict,
    UnknownBoundary,
    require_id,
)
from mage.engine.ids import ROOT_SUMMARY, Digest, StepId, SummaryId
from mage.engine.judging import JudgeRequest, above, boundaries_below, digest_of, request_for
from mage.engine.nodes import (
    Accepted,
    Failed,
    Fault,
    Instruction,
    Kind,
    Passed,
    Pending,
    Step,
    Summary,
    SummaryVerdict,
    Verdict,
    as_fault,
    as_kind,
)
from mage.engine.text import as_text, is_blank
from mage.engine.tree import Tree, trace


@final
@attrs.frozen(weakref_slot=False)
class Active:
    """The summary head has passed or was accepted; the agent works on the next subgoal."""

    tree: Tree


@final
@attrs.frozen(weakref_slot=False)
class Unverified:
    """The summary head is pending. The agent may go on while the judge thinks; a second compress waits.

    Attributes:
        digest: of the pending summary; an answer must bring it back (D5).
    """

    tree: Tree
    digest: Digest


@final
@attrs.frozen(weakref_slot=False)
class Rejected:
    """The summary head has failed: it is revised away, given a new text, or accepted despite its verdict."""

    tree: Tree


State: TypeAlias = Active | Unverified | Rejected


@final
@attrs.frozen
class Transition:
    """One operation in one phase.

    Attributes:
        phase: the phase it starts from, by name.
        operation: the operation's name.
        leads_to: the phases it may end in, by name.
        refuses: the values it may be refused with, by name. Where both are empty, it is not legal.
    """

    phase: str
    operation: str
    leads_to: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()


TRANSITIONS: Final[tuple[Transition, ...]] = (
    Transition("Active", "instruct", ("Active",), ("BlankInstruction",)),
    Transition("Active", "grow", ("Active",)),
    Transition("Active", "compress", ("Unverified",), ("EmptySegment", "BlankSummary")),
    Transition("Active", "fold_request", ("Active",), ("UnfoldableRange", "BlankSummary")),
    Transition("Active", "fold", ("Active",), ("UnfoldableRange", "BlankSummary", "StaleVerdict")),
    Transition("Active", "retext"),
    Transition("Active", "judge_request"),
    Transition("Active", "apply_verdict", (), ("StaleVerdict",)),
    Transition("Active", "accept"),
    Transition("Active", "revise", ("Active",), ("UnknownBoundary",)),
    Transition("Unverified", "instruct", ("Unverified",), ("BlankInstruction",)),
    Transition("Unverified", "grow", ("Unverified",)),
    Transition("Unverified", "compress"),
    Transition("Unverified", "fold_request"),
    Transition("Unverified", "fold"),
    Transition("Unverified", "retext", ("Unverified",), ("BlankSummary",)),
    Transition("Unverified", "judge_request", ("Unverified",)),
    Transition(
        "Unverified",
        "apply_verdict",
        ("Active", "Rejected"),
        ("StaleVerdict", "UnknownBoundary", "BlankFeedback"),
    ),
    Transition("Unverified", "accept", ("Active",)),
    Transition("Unverified", "revise", ("Active", "Unverified"), ("UnknownBoundary",)),
    Transition("Rejected", "instruct"),
    Transition("Rejected", "grow"),
    Transition("Rejected", "compress"),
    Transition("Rejected", "fold_request"),
    Transition("Rejected", "fold"),
    Transition("Rejected", "retext", ("Unverified",), ("BlankSummary",)),
    Transition("Rejected", "judge_request"),
    Transition("Rejected", "apply_verdict", (), ("StaleVerdict",)),
    Transition("Rejected", "accept", ("Active",)),
    Transition("Rejected", "revise", ("Active",), ("UnknownBoundary",)),
)
_LEGAL: Final[dict[str, tuple[str, ...]]] = {
    row.operation: tuple(
        legal.phase
        for legal in TRANSITIONS
        if legal.operation == row.operation and (legal.leads_to or legal.refuses)
    )
    for row in TRANSITIONS
}


def require_legal(operation: str, state: State) -> None:
    """Refuse an operation by its name in a phase where it is not legal.

    Raises:
        IllegalPhase: it is not legal in the phase of `state`.
    """
    if type(state).__name__ not in _LEGAL[operation]:
        raise illegal(operation, state)


def illegal(operation: str, state: State | None) -> IllegalPhase:
    """Return the error for an operation in a phase where it is not legal; None is before the start."""
    phase = "nothing" if state is None else type(state).__name__
    return IllegalPhase(operation, phase, _LEGAL[operation])


def start(task: str) -> Active:
    """Return the state of an agent that was given `task` and has done nothing yet (D2). Cost: O(1).

    Raises:
        NotText: `task` is not a string.
    """
    return Active(new_tree(as_text(task)))


@overload
def instruct(state: Active, text: str, *, standing: bool = False) -> Result[Active, BlankInstruction]: ...
@overload
def instruct(
    state: Unverified, text: str, *, standing: bool = False
) -> Result[Unverified, BlankInstruction]: ...
def instruct(
    state: Active | Unverified, text: str, *, standing: bool = False
) -> Result[Active, BlankInstruction] | Result[Unverified, BlankInstruction]:
    """Place an instruction at the step head (D17). The same one again there changes nothing.

    Args:
        state: `Active` or `Unverified`; the phase stays.
        text: what is wanted.
        standing: whether it stays in force past the subgoal it comes with.

    Returns:
        The new state, or `BlankInstruction`. Cost: O(instructions at that step).

    Raises:
        IllegalPhase: `state` is `Rejected`.
        NotText: `text` is not a string.
    """
    require_legal("instruct", state)
    instruction = Instruction(as_text(text), bool(standing))
    if is_blank(instruction.text):
        return Failure(BlankInstruction())
    tree = with_instruction(state.tree, instruction)
    if isinstance(state, Active):
        return Success(state if tree is state.tree else Active(tree))
    return Success(state if tree is state.tree else Unverified(tree, state.digest))


@overload
def grow(state: Active, action: str, observation: str) -> Active: ...
@overload
def grow(state: Unverified, action: str, observation: str) -> Unverified: ...
def grow(state: Active | Unverified, action: str, observation: str) -> Active | Unverified:
    """Record an action and what came back (Algorithm 1, Grow).

    Where the step head has a child with the same content, the agent walks back into it and nothing is
    added (D10, L3); else a step is added.

    Args:
        state: `Active` or `Unverified`; the phase stays.
        action: what the agent did. Any string.
        observation: what came back. Any string.

    Returns:
        The new state. Cost: O(1), and O(length) where content must be compared.

    Raises:
        IllegalPhase: `state` is `Rejected`.
        NotText: `action` or `observation` is not a string.
    """
    require_legal("grow", state)
    action, observation = as_text(action), as_text(observation)
    tree = state.tree
    known = tree.child_with(tree.step_head, (action, observation))
    tree = with_step(tree, action, observation) if known is None else at_step(tree, known)
    return Active(tree) if isinstance(state, Active) else Unverified(tree, state.digest)


def compress(state: Active, text: str, kind: Kind = "subgoal") -> Result[Unverified, CompressRefusal]:
    """Replace steps by a summary, to be judged (Algorithm 1, Compress).

    A fallback covers the open segment. A subgoal covers all steps since the last one ended, so it takes in
    the fallbacks that cut it (D12). A summary that covers the same steps from the same place is taken again:
    it keeps its id and gets the new text (D4, L4).

    Args:
        state: `Active`.
        text: what the agent will read instead of the steps.
        kind: `"subgoal"`, or `"fallback"` where the subgoal is not over (D12).

    Returns:
        The new state, or `EmptySegment` or `BlankSummary`, in this order (D3).
        Cost: O(contents of the covers).

    Raises:
        IllegalPhase: `state` is not `Active`.
        NotText: `text` is not a string.
        UnknownName: `kind` is no kind.
    """
    require_legal("compress", state)
    text = as_text(text)
    kind = as_kind(kind)
    tree = state.tree
    head = tree.head_summary
    parent = tree.summary(head.base) if kind == "subgoal" else head
    if parent.boundary == tree.step_head:
        return Failure(EmptySegment(parent.boundary))
    if is_blank(text):
        return Failure(BlankSummary())
    known = tree.child_ending_at(parent.id, tree.step_head)
    if known is not None:
        after = head.after if known == head.id else head.id
        return Success(_retexted(tree, tree.summary(known), text, kind, after))
    covers = tuple([step.id for step in trace(tree, parent.boundary, tree.step_head)])
    return Success(_pending(tree, tree.next_summary, parent, head.id, covers, text, kind))


def _pending(
    tree: Tree,
    summary: SummaryId,
    parent: Summary,
    after: SummaryId,
    covers: tuple[StepId, ...],
    text: str,
    kind: Kind,
) -> Unverified:
    base = summary if kind == "subgoal" else parent.base
    new = Summary(
        summary,
        parent.id,
        after,
        parent.boundary,
        covers,
        text,
        kind,
        Pending(),
        base,
        above(parent),
    )
    tree = with_summary(tree, new)
    return Unverified(tree, digest_of(tree))


def retext(state: Unverified | Rejected, text: str) -> Result[Unverified, BlankSummary]:
    """Give the summary head a new text and touch no step (D16, L11). The same text again changes nothing.

    Args:
        state: `Unverified` or `Rejected`.
        text: the new text; the kind stays.

    Returns:
        The new state, its summary pending, or `BlankSummary`. What an old failure said of the steps is
        left as a lesson at the label (D4). Cost: as for the judge's request.

    Raises:
        IllegalPhase: `state` is `Active`.
        NotText: `text` is not a string.
    """
    require_legal("retext", state)
    text = as_text(text)
    head = state.tree.head_summary
    if is_blank(text):
        return Failure(BlankSummary())
    if isinstance(state, Unverified) and text == head.text:
        return Success(state)
    return Success(_retexted(state.tree, head, text, head.kind, head.after))


def _retexted(tree: Tree, old: Summary, text: str, kind: Kind, after: SummaryId) -> Unverified:
    parent = tree.summary(old.parent)
    tree = with_lesson(tree, old.label, _feedback_on_steps(old.verdict))
    return _pending(tree, old.id, parent, after, old.covers, text, kind)


def _feedback_on_steps(verdict: SummaryVerdict) -> str:
    """Return what a verdict says against the steps, blank if nothing: it outlives the text (D4)."""
    match verdict:
        case Failed():
            failed = verdict
        case Accepted(despite=Failed() as overruled):
            failed = overruled
        case Pending() | Passed() | Accepted():
            return ""
        case _:
            assert_never(verdict)
    return failed.feedback if failed.fault == "execution" else ""


def judge_request(state: Unverified, *, since_root: bool = False) -> JudgeRequest:
    """Return what a judge is to be asked about the pending summary (Algorithm 1, Maintain; D5).

    Args:
        state: `Unverified`.
        since_root: give the judge every step since the root (the ablation without Compress, D18). The
            digest is the same.

    Returns:
        The request. It stays the same while the agent grows, is instructed or drops its open segment.
        Cost: O(number of steps in it).

    Raises:
        IllegalPhase: `state` is not `Unverified`.
    """
    require_legal("judge_request", state)
    return request_for(state.tree, state.digest, since_root=since_root)


def apply_verdict(
    state: State, verdict: Verdict, digest: Digest | str
) -> Result[Active | Rejected, StaleVerdict | UnknownBoundary | BlankFeedback]:
    """Take a judge's answer (Algorithm 1, Maintain; D5, D6). The open segment stays.

    Args:
        state: any; where no summary is pending, every answer is stale.
        verdict: `Passed()` or `Failed(feedback, fault, boundary)`.
        digest: the digest of the request that is answered.

    Returns:
        `Active` after a pass, `Rejected` after a fail; or `StaleVerdict`, `UnknownBoundary` (the verdict names
        a boundary that is none of the request's, or any where only the text is at fault) or `BlankFeedback`,
        in this order. Cost: O(1), with a boundary O(way passed over).

    Raises:
        NotAnId: the boundary is neither None nor an integer.
        NotText: the feedback is not a string.
        UnknownName: the fault is none of `"execution"`, `"summary"`.
    """
    require_legal("apply_verdict", state)
    if not isinstance(state, Unverified):
        return Failure(StaleVerdict(Digest(digest), None))
    if digest != state.digest:
        return Failure(StaleVerdict(Digest(digest), state.digest))
    match verdict:
        case Passed():
            return Success(Active(_judged(state.tree, verdict)))
        case Failed():
            boundary = None if verdict.boundary is None else require_id(verdict.boundary)
            failed = Failed(as_text(verdict.feedback), as_fault(verdict.fault), boundary)
            if boundary is not None and not _may_begin_at(state.tree, boundary, failed.fault):
                return Failure(_unknown_origin(state.tree, boundary, failed.fault))
            if is_blank(failed.feedback):
                return Failure(BlankFeedback())
            return Success(Rejected(_judged(state.tree, failed)))
        case _:
            assert_never(verdict)


def _may_begin_at(tree: Tree, boundary: StepId, fault: Fault) -> bool:
    """Tell whether a mistake may be said to have begun at `boundary`: one of the steps, on the way (D5)."""
    if fault == "summary" or boundary >= tree.boundary:
        return False
    return _ending_at(tree, boundary) is not None


def _unknown_origin(tree: Tree, boundary: StepId, fault: Fault) -> UnknownBoundary:
    if fault == "summary":
        return UnknownBoundary(boundary, ())
    return _unknown_boundary(tree, boundary, tree.boundary)


def _unknown_boundary(tree: Tree, boundary: StepId, limit: StepId) -> UnknownBoundary:
    """Return the refusal that lists the boundaries of the way below `limit`. Cost: O(way)."""
    legal = boundaries_below(tree, limit)
    lines = sorted([line.boundary for line in tree.lines_upwards(tree.head_summary) if line.boundary < limit])
    return UnknownBoundary(boundary, legal, tuple(lines))


def accept(state: Unverified | Rejected) -> Active:
    """Go on without a pass, openly: S says that the summary was accepted, and despite what (D6). Cost: O(1).

    Raises:
        IllegalPhase: `state` is `Active`.
    """
    require_legal("accept", state)
    verdict = state.tree.head_summary.verdict
    despite = verdict if isinstance(verdict, Failed) else None
    return Active(_judged(state.tree, Accepted(despite)))


def _judged(tree: Tree, verdict: SummaryVerdict) -> Tree:
    old = tree.head_summary
    return with_summary(
        tree,
        Summary(
            old.id,
            old.parent,
            old.after,
            old.label,
            old.covers,
            old.text,
            old.kind,
            verdict,
            old.base,
            old.above,
        ),
    )


@final
@attrs.frozen
class Revised:
    """Where a revise has led, and what it left behind (D7, D14).

    Attributes:
        state: the new state; `Unverified` where only the open segment of a pending summary was dropped.
        abandoned: the steps that are no longer on the active path, newest first, to be undone in the world.
        instructions: those that were placed at abandoned steps, in path order, to be placed again.
    """

    state: Active | Unverified
    abandoned: tuple[Step, ...]
    instructions: tuple[Instruction, ...]


def revise(state: State, boundary: StepId | int, lesson: str) -> Result[Revised, UnknownBoundary]:
    """Go back to a boundary, and leave there what was learned (Algorithm 1, Revise; D7, D8).

    The summary of the way that ends at `boundary` becomes the summary head, its last step the step head;
    nothing is open (L5). Given the label of a summary this is Algorithm 1 word for word; the current boundary
    drops only the open segment, and that of a fallback that a subgoal took in keeps what it stands for. No
    step and no summary is lost (L1).

    Args:
        state: any.
        boundary: the last step of a summary on the way; after a failed verdict below that summary's own.
        lesson: what to tell those who come back here; a blank one leaves none.

    Returns:
        What it led to, or `UnknownBoundary` with the legal ones.
        Cost: O(way passed over + steps and instructions left behind); a refusal O(way).

    Raises:
        NotAnId: `boundary` is not an integer.
        NotText: `lesson` is not a string.
    """
    require_legal("revise", state)
    lesson = as_text(lesson)
    tree = state.tree
    boundary = require_id(boundary)
    limit = _limit(state)
    target = _ending_at(tree, boundary) if boundary < limit else None
    if target is None:
        return Failure(_unknown_boundary(tree, boundary, limit))
    if target.boundary == tree.step_head and is_blank(lesson) and not isinstance(state, Rejected):
        return Success(Revised(state, (), ()))
    abandoned = trace(tree, target.boundary, tree.step_head)[::-1]
    left = instructions_below(tree, target.boundary)
    tree = at_boundary(tree, target, lesson=lesson)
    if isinstance(state, Unverified) and target.id == state.tree.summary_head:
        return Success(Revised(Unverified(tree, state.digest), tuple(abandoned), left))
    return Success(Revised(Active(tree), tuple(abandoned), left))


def boundaries(state: State) -> tuple[StepId, ...]:
    """Return where `revise` may go back to, in path order (D7). Cost: O(way)."""
    return boundaries_below(state.tree, _limit(state))


def _limit(state: State) -> StepId:
    """Return the step below which a boundary must lie; what was done for a failed summary is undone (D7)."""
    return state.tree.boundary if isinstance(state, Rejected) else state.tree.next_step


def _ending_at(tree: Tree, boundary: StepId) -> Summary | None:
    """Return the summary of the way that ends at `boundary`, a subgoal before what it took in last (D7)."""
    summary = tree.head_summary
    while summary.boundary > boundary and summary.id != ROOT_SUMMARY:
        summary = tree.summary(summary.after)
    return summary if summary.boundary == boundary else None
