"""One plain form for a state of the engine and for the reference, so that `==` compares them whole.

The form is a dict of tuples, strings and numbers: every node with its children, the notes, the heads, the
phase, S = (C, R, H) and what a judge would be asked. Only the sentinels' own fields are left out, which
nothing shows and which the two spell differently (D2).
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from mage.engine import (
    Accepted,
    ExecutionState,
    Failed,
    Passed,
    Pending,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    SummaryVerdict,
    Tree,
    Unverified,
    judge_request,
    view,
)
from specs.reference import Mage
from specs.reference_nodes import Request, path, trace
from specs.reference_nodes import Step as PlainStep
from specs.reference_nodes import Summary as PlainSummary

__all__ = [
    "Canonical",
    "canonical",
    "canonical_of_reference",
    "copy_of_reference",
    "differences",
    "plain_verdict",
]

Canonical: TypeAlias = dict[str, object]


def canonical(state: State) -> Canonical:
    """Return the plain form of a state of the engine. Cost: O(size of the tree)."""
    tree = state.tree
    shown = view(state)
    return {
        "phase": type(state).__name__,
        "heads": (tree.step_head, tree.summary_head, tree.boundary, tree.next_step, tree.next_summary),
        "paths": (tree.active_path(), tree.summary_path(), tree.segment()),
        **_nodes(tree),
        **_shown(shown),
        "asked": _asked(state),
    }


def _nodes(tree: Tree) -> Canonical:
    steps = [StepId(number) for number in range(tree.next_step)]
    summaries = [SummaryId(number) for number in range(tree.next_summary)]
    return {
        "steps": tuple([_step(tree.step(step)) for step in steps[1:]]),
        "step children": tuple([tree.step_children(step) for step in steps]),
        "summaries": tuple([_summary(tree.summary(summary)) for summary in summaries[1:]]),
        "summary children": tuple([tree.summary_children(summary) for summary in summaries]),
        "lessons": tuple([(step, left) for step in steps if (left := tree.lessons_at(step))]),
        "instructions": tuple(
            [(step, each.text, each.standing) for step in steps for each in tree.instructions_at(step)]
        ),
    }


def _shown(shown: ExecutionState) -> Canonical:
    hints = shown.hints
    return {
        "task": shown.task,
        "in force": shown.instructions,
        "C": tuple([_summary(summary) for summary in shown.compressed]),
        "R": tuple([_step(step) for step in shown.raw]),
        "continuations": tuple([_step(step) for step in hints.continuations]),
        "subgoals": tuple([_summary(summary) for summary in hints.subgoals]),
        "lessons here": hints.lessons,
        "boundary": shown.boundary,
    }


def _asked(state: State) -> object:
    if not isinstance(state, Unverified):
        return None
    request = judge_request(state)
    return (
        request.task,
        request.instructions,
        request.kind,
        tuple([(earlier.label, earlier.text) for earlier in request.earlier]),
        tuple([_step(step) for step in request.steps]),
        request.text,
        request.digest,
        tuple([step.id for step in judge_request(state, since_root=True).steps]),
    )


def _step(step: Step) -> object:
    return (step.id, step.parent, step.action, step.observation)


def _summary(summary: Summary) -> object:
    verdict = plain_verdict(summary.verdict)
    return (summary.id, summary.parent, summary.label, summary.covers, summary.text, summary.kind, verdict)


def plain_verdict(verdict: SummaryVerdict) -> tuple[str, str, str]:
    """Return a verdict as the reference notes it: the word, the feedback and the fault."""
    match verdict:
        case Pending():
            return ("pending", "", "")
        case Passed():
            return ("passed", "", "")
        case Failed():
            return ("failed", verdict.feedback, verdict.fault)
        case Accepted():
            failed = verdict.despite
            return ("accepted", failed.feedback, failed.fault) if failed else ("accepted", "", "")
        case _:
            assert_never(verdict)


def canonical_of_reference(mage: Mage) -> Canonical:
    """Return the plain form of the reference, with C and R as Algorithm 1 kept them."""
    boundary = mage.p_t.cover_nodes[-1]
    return {
        "phase": mage.phase,
        "heads": (mage.p_b.id, mage.p_t.id, boundary.id, mage.l, len(mage.summaries)),
        "paths": (
            tuple([step.id for step in path(mage.p_b)]),
            tuple([summary.id for summary in path(mage.p_t)]),
            tuple([step.id for step in trace(boundary, mage.p_b)]),
        ),
        **_plain_nodes(mage),
        **_plain_shown(mage),
        "asked": _plain_asked(mage),
    }


def _plain_nodes(mage: Mage) -> Canonical:
    return {
        "steps": tuple([_plain_step(step) for step in mage.steps[1:]]),
        "step children": tuple([tuple([child.id for child in step.children]) for step in mage.steps]),
        "summaries": tuple([_plain_summary(summary) for summary in mage.summaries[1:]]),
        "summary children": tuple([tuple([c.id for c in summary.children]) for summary in mage.summaries]),
        "lessons": tuple(
            [
                (boundary, tuple([lesson.text for lesson in mage.lessons if lesson.boundary == boundary]))
                for boundary in sorted({lesson.boundary for lesson in mage.lessons})
            ]
        ),
        "instructions": tuple(sorted(mage.instructions, key=lambda placed: placed.step)),
    }


def _plain_shown(mage: Mage) -> Canonical:
    continuations, subgoals, lessons = mage.hints()
    return {
        "task": mage.task,
        "in force": tuple(mage.instructions_shown()),
        "C": tuple([_plain_summary(summary) for summary in mage.C]),
        "R": tuple([_plain_step(step) for step in mage.R]),
        "continuations": tuple([_plain_step(step) for step in continuations]),
        "subgoals": tuple([_plain_summary(summary) for summary in subgoals]),
        "lessons here": tuple(lessons),
        "boundary": mage.p_t.cover_nodes[-1].id,
    }


def _plain_asked(mage: Mage) -> object:
    request = mage.judge_request()
    if not isinstance(request, Request):
        return None
    return (
        request.task,
        tuple(request.instructions),
        request.kind,
        tuple(request.earlier),
        tuple([_plain_step(step) for step in request.steps]),
        request.text,
        request.digest,
        tuple([step.id for step in mage.steps_judged(since_root=True)]),
    )


def _plain_step(step: PlainStep) -> object:
    return (step.id, step.parent.id if step.parent else None, *step.content)


def _plain_summary(summary: PlainSummary) -> object:
    parent = summary.parent.id if summary.parent else None
    covers = tuple([step.id for step in summary.cover_nodes])
    return (summary.id, parent, summary.label, covers, summary.text, summary.kind, summary.note)


def copy_of_reference(mage: Mage) -> Mage:
    """Return a reference that shares no node with this one.

    `copy.deepcopy` does the same, but recurses down the chain of children and is five times slower.
    """
    copy = Mage(mage.task)
    for step in mage.steps[1:]:
        if step.parent is None:
            raise LookupError("only the root has no parent")
        child = PlainStep(step.id, copy.steps[step.parent.id], step.content)
        copy.steps[step.parent.id].children.append(child)
        copy.steps.append(child)
    for summary in mage.summaries[1:]:
        _copy_summary(copy, summary)
    copy.p_b, copy.p_t, copy.l = copy.steps[mage.p_b.id], copy.summaries[mage.p_t.id], mage.l
    copy.C = [copy.summaries[summary.id] for summary in mage.C]
    copy.R = [copy.steps[step.id] for step in mage.R]
    copy.lessons, copy.instructions = list(mage.lessons), list(mage.instructions)
    return copy


def _copy_summary(copy: Mage, summary: PlainSummary) -> None:
    if summary.parent is None:
        raise LookupError("only the root has no parent")
    parent = copy.summaries[summary.parent.id]
    child = PlainSummary(
        summary.id, parent, summary.label, [copy.steps[step.id] for step in summary.cover_nodes]
    )
    child.text, child.kind, child.note = summary.text, summary.kind, summary.note
    parent.children.append(child)
    copy.summaries.append(child)


def differences(engine: Canonical, reference: Canonical) -> str:
    """Return where two plain forms differ, a line each, and nothing where they do not."""
    return "\n".join(
        f"{part}: the engine has {engine.get(part)!r}, the reference {reference.get(part)!r}"
        for part in dict.fromkeys([*engine, *reference])
        if engine.get(part) != reference.get(part)
    )
