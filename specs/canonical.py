"""The plain form of the reference, so that `==` compares it whole with the engine's (`mage.testing.canonical`).

The form is a dict of tuples, strings and numbers: every node with its children, the notes, the heads, the
phase, S = (C, R, H) and what a judge would be asked. Only the sentinels' own fields are left out, which
nothing shows and which the two spell differently (D2).
"""

from __future__ import annotations

from mage.testing.canonical import Canonical
from specs.reference import Mage
from specs.reference_nodes import Request, path, trace
from specs.reference_nodes import Step as PlainStep
from specs.reference_nodes import Summary as PlainSummary

__all__ = ["canonical_of_reference", "copy_of_reference"]


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
