"""The plain form of the reference, so that `==` compares it whole with the engine's (`mage.testing.machine`).

The form is a dict of tuples, strings and numbers: every node with its children, the notes, the heads, the
phase, S = (C, R, H) and what a judge would be asked. Only the sentinels' own fields are left out, which
nothing shows and which the two spell differently (D2).
"""

from __future__ import annotations

from collections.abc import Iterable

from mage.testing.machine import Canonical
from specs.reference import Mage
from specs.reference_nodes import Chapter as PlainChapter
from specs.reference_nodes import Line, Request, above, boundary_of, lines_inside, path, trace, way
from specs.reference_nodes import Step as PlainStep
from specs.reference_nodes import Summary as PlainSummary


def canonical_of_reference(mage: Mage) -> Canonical:
    """Return the plain form of the reference, with R as Algorithm 1 kept it."""
    boundary = mage.p_t.cover_nodes[-1]
    return {
        "phase": mage.phase,
        "heads": (mage.p_b.id, mage.p_t.id, boundary.id, mage.l, len(mage.summaries)),
        "paths": (
            _ids(path(mage.p_b)),
            _ids(path(mage.p_t)),
            _ids(way(mage.p_t)),
            _ids(trace(boundary, mage.p_b)),
        ),
        **_plain_nodes(mage),
        **_plain_shown(mage),
        "inside": _plain_insides(mage),
        "asked": _plain_asked(mage),
    }


def _plain_nodes(mage: Mage) -> Canonical:
    return {
        "steps": _plain_steps(mage.steps[1:]),
        "step children": tuple([_ids(step.children) for step in mage.steps]),
        "summaries": _plain_lines(mage.summaries[1:]),
        "summary children": tuple([_ids(summary.children) for summary in mage.summaries]),
        "chapters": tuple(
            [(summary.id, _plain_lines(summary.chapters)) for summary in mage.summaries if summary.chapters]
        ),
        "lessons": tuple(
            [
                (boundary, tuple([lesson.text for lesson in mage.lessons_at(boundary)]))
                for boundary in sorted({lesson.boundary for lesson in mage.lessons})
            ]
        ),
        "instructions": tuple(sorted(mage.instructions, key=lambda placed: placed.step)),
    }


def _plain_shown(mage: Mage) -> Canonical:
    hints = mage.hints()
    return {
        "task": mage.task,
        "in force": tuple(mage.instructions_shown()),
        "C": _plain_lines(mage.C),
        "R": _plain_steps(mage.R),
        "continuations": _plain_steps(hints.continuations),
        "subgoals": _plain_lines(hints.subgoals),
        "lessons here": tuple(hints.lessons),
        "boundary": hints.boundary,
    }


def _plain_insides(mage: Mage) -> object:
    """Return every chapter that C shows or that stands inside one that it shows, an outer one first (D19)."""
    found: list[object] = []
    left: list[Line] = mage.C
    while left:
        line = left.pop(0)
        if isinstance(line, PlainChapter):
            lines = lines_inside(line)
            names = tuple([(each.label, boundary_of(each)) for each in lines])
            found.append((line.label, boundary_of(line), names))
            left = [*lines, *left]
    return tuple(found)


def _plain_asked(mage: Mage) -> object:
    request = mage.judge_request()
    if not isinstance(request, Request):
        return None
    hints = request.hints
    return (
        request.task,
        tuple(request.instructions),
        request.kind,
        _plain_lines(request.before),
        tuple([(each.label, boundary_of(each), each.text, each.note) for each in request.earlier]),
        _plain_steps(request.steps),
        request.text,
        request.digest,
        _ids(mage.steps_judged(since_root=True)),
        (
            hints.boundary,
            _plain_steps(hints.continuations),
            _plain_lines(hints.subgoals),
            tuple(hints.lessons),
        ),
        tuple(request.boundaries),
    )


def _ids(nodes: Iterable[PlainStep | PlainSummary]) -> tuple[int, ...]:
    return tuple([node.id for node in nodes])


def _plain_steps(steps: Iterable[PlainStep]) -> tuple[object, ...]:
    return tuple([(step.id, step.parent.id if step.parent else None, *step.content) for step in steps])


def _plain_lines(lines: Iterable[Line]) -> tuple[object, ...]:
    return tuple([_plain_line(line) for line in lines])


def _plain_line(line: Line) -> object:
    if isinstance(line, PlainChapter):
        return (line.label, boundary_of(line), line.text, line.accepted, line.first.id, line.last.id)
    parent, after = (node.id if node else None for node in (line.parent, line.after))
    return (line.id, parent, after, line.label, _ids(line.cover_nodes), line.text, line.kind, line.note)


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
    for summary in mage.summaries[1:]:
        _copy_pointers(copy, summary)
    copy.p_b, copy.p_t, copy.l = copy.steps[mage.p_b.id], copy.summaries[mage.p_t.id], mage.l
    copy.R = [copy.steps[step.id] for step in mage.R]
    copy.lessons, copy.instructions = list(mage.lessons), list(mage.instructions)
    return copy


def _copy_summary(copy: Mage, summary: PlainSummary) -> None:
    covers = [copy.steps[step.id] for step in summary.cover_nodes]
    parent = copy.summaries[above(summary).id]
    child = PlainSummary(summary.id, parent, summary.label, covers)
    child.text, child.kind, child.note = summary.text, summary.kind, summary.note
    parent.children.append(child)
    copy.summaries.append(child)


def _copy_pointers(copy: Mage, summary: PlainSummary) -> None:
    """Copy what may point to a summary that was made later: a head met again, the first and last under a chapter."""
    child = copy.summaries[summary.id]
    child.after = copy.summaries[summary.after.id] if summary.after else None
    child.chapters = [_copy_of_chapter(copy, chapter) for chapter in summary.chapters]


def _copy_of_chapter(copy: Mage, chapter: PlainChapter) -> PlainChapter:
    other = PlainChapter(chapter.text, copy.summaries[chapter.first.id], copy.summaries[chapter.last.id])
    other.accepted, other.said = chapter.accepted, list(chapter.said)
    return other
