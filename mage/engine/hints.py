"""H, what else was tried and what was learned (D8, D9); and what a judge hears of it (D5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import final

import attrs

from mage.engine.ids import StepId, SummaryId
from mage.engine.nodes import Lesson, Step, Summary
from mage.engine.tree import Tree


@final
@attrs.frozen
class Hints:
    """H: what was tried from here, and what was learned (D8, D9).

    Attributes:
        boundary: the current boundary; for a judge the label of the summary.
        continuations: the steps that were taken from here before, in order of ids.
        subgoals: the summaries that were made from here before, with their verdicts, in order of ids.
        lessons: the lessons left since the base, in path order, at one boundary oldest first.
    """

    boundary: StepId
    continuations: tuple[Step, ...]
    subgoals: tuple[Summary, ...]
    lessons: tuple[Lesson, ...]


def hints_shown(tree: Tree) -> Hints:
    """Return what S shows: what was tried from the heads, and the lessons from the base to the head (D9).

    Cost: O(fallbacks since the base + size of what is returned).
    """
    head = tree.head_summary
    run = _since_base(tree, head)
    children = [tree.summary(child) for each in run for child in tree.summary_children(each.id)]
    return Hints(
        boundary=head.boundary,
        continuations=tuple([tree.step(step) for step in tree.step_children(tree.step_head)]),
        subgoals=_tried(children, fallbacks_of=(head.id,)),
        lessons=tuple(_lessons(tree, [each.boundary for each in run])),
    )


def hints_for(tree: Tree, summary: Summary) -> Hints:
    """Return what a judge of `summary`, the summary head, hears: what else was tried on its way (D5).

    Its own steps and what it took in are left out, and so is its own boundary: what is tried from there
    comes after it. Cost: O(its covers + fallbacks since the base + size of what is returned).
    """
    parent = tree.summary(summary.parent)
    inner = taken_in(tree, summary)
    taken = [each for each in inner if each.boundary != summary.boundary]
    own = frozenset(summary.covers)
    known = {summary.id, *[each.id for each in inner]}
    children = [
        tree.summary(child)
        for each in (parent, *taken)
        for child in tree.summary_children(each.id)
        if child not in known
    ]
    steps = [step for each in (parent, *taken) for step in tree.step_children(each.boundary)]
    places = [each.boundary for each in (*_since_base(tree, parent), *taken)]
    return Hints(
        boundary=summary.label,
        continuations=tuple([tree.step(step) for step in sorted(steps) if step not in own]),
        subgoals=_tried(children, fallbacks_of=[parent.id, *[each.id for each in taken]], own=own),
        lessons=tuple(_lessons(tree, places)),
    )


def taken_in(tree: Tree, summary: Summary) -> list[Summary]:
    """Return the fallbacks that a summary of the way took in, oldest first (D12). Cost: O(their number)."""
    found: list[Summary] = []
    before = summary.after
    while before > summary.parent:  # parents are smaller, so this ends whatever a forged tree says
        found.append(tree.summary(before))
        before = found[-1].parent
    found.reverse()
    return found


def _since_base(tree: Tree, summary: Summary) -> list[Summary]:
    """Return the summaries from the base of `summary` down to it."""
    run = [summary]
    while run[-1].id != summary.base:
        run.append(tree.summary(run[-1].parent))
    run.reverse()
    return run


def _tried(
    children: Sequence[Summary], *, fallbacks_of: Sequence[SummaryId], own: Collection[StepId] = ()
) -> tuple[Summary, ...]:
    """Return the subgoals among `children`, and the fallbacks of these parents that none of them covers."""
    subgoals = [child for child in children if child.kind == "subgoal"]
    covers = [own, *[subgoal.covers for subgoal in subgoals]]
    fallbacks = [
        child
        for child in children
        if child.kind == "fallback" and child.parent in fallbacks_of
        if not any(child.boundary in each for each in covers)
    ]
    return tuple(sorted([*subgoals, *fallbacks], key=lambda summary: summary.id))


def _lessons(tree: Tree, boundaries: Iterable[StepId]) -> Iterator[Lesson]:
    for boundary in boundaries:
        for text in tree.lessons_at(boundary):
            yield Lesson(boundary, text)
