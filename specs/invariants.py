"""I1 to I12 of README.md, stated a second time: over what a tree shows, not over how it is kept.

The engine's own `check` looks at its maps and indexes. These look only at the public surface and walk from
node to node, so that neither hides a fault of the other. Each yields what is wrong, and nothing where the
invariant holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from mage.engine import (
    Accepted,
    Active,
    Chapter,
    Failed,
    Line,
    Passed,
    Pending,
    Rejected,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    Tree,
    Unverified,
    inside,
    view,
)

Invariant: TypeAlias = Callable[[State], Iterator[str]]


def _steps(tree: Tree) -> list[Step]:
    return [tree.step(StepId(number)) for number in range(tree.next_step)]


def _summaries(tree: Tree) -> list[Summary]:
    return [tree.summary(SummaryId(number)) for number in range(tree.next_summary)]


def _step_path(tree: Tree) -> list[StepId]:
    """Walk from the step head up to the root."""
    path = [tree.step_head]
    while path[-1] != 0:
        path.append(tree.step(path[-1]).parent)
    return path[::-1]


def _summary_path(tree: Tree) -> list[Summary]:
    """Walk from the summary head up to the root."""
    path = [tree.summary(tree.summary_head)]
    while path[-1].id != 0:
        path.append(tree.summary(path[-1].parent))
    return path[::-1]


def _way(tree: Tree) -> list[Summary]:
    """Walk from the summary head by `after` up to the root; where that leads in a circle, as far as it is new."""
    way = [tree.summary(tree.summary_head)]
    while way[-1].id != 0 and len(way) <= tree.next_summary:
        way.append(tree.summary(way[-1].after))
    return way[::-1]


def steps_form_a_tree(state: State) -> Iterator[str]:
    """I1: step ids are 0..next-1, every parent id is smaller, one root."""
    for number, step in enumerate(_steps(state.tree)):
        if step.id != number:
            yield f"step {number} is called {step.id}"
        if not step.parent < number or (step.parent < 0) != (number == 0):
            yield f"step {number} follows step {step.parent}"


def siblings_differ(state: State) -> Iterator[str]:
    """I2: no two children of a step have the same content."""
    steps = _steps(state.tree)[1:]
    if len({(step.parent, step.action, step.observation) for step in steps}) != len(steps):
        yield "two siblings have the same content"


def covers_are_contiguous(state: State) -> Iterator[str]:
    """I3: every summary but the root covers a non-empty downward run of steps whose first has the parent's
    boundary as its parent; its label is that boundary.
    """
    tree = state.tree
    if tree.summary(SummaryId(0)).covers != (0,):
        yield "the root should cover step 0"
    for summary in _summaries(tree)[1:]:
        if not summary.covers:
            yield f"summary {summary.id} covers nothing"
            return
        run = [tree.summary(summary.parent).covers[-1], *summary.covers]
        if summary.label != run[0]:
            yield f"summary {summary.id} has label {summary.label}, its parent ends at {run[0]}"
        if [tree.step(step).parent for step in run[1:]] != run[:-1]:
            yield f"summary {summary.id} covers {summary.covers}, which is no run down from step {run[0]}"


def sibling_covers_differ(state: State) -> Iterator[str]:
    """I4: no two children of a summary have the same covers."""
    summaries = _summaries(state.tree)[1:]
    if len({(summary.parent, summary.covers) for summary in summaries}) != len(summaries):
        yield "two siblings have the same covers"


def heads_agree(state: State) -> Iterator[str]:
    """I5: the step head is the current boundary or below it."""
    tree = state.tree
    boundary = tree.summary(tree.summary_head).covers[-1]
    if boundary not in _step_path(tree):
        yield f"step head {tree.step_head} is not below boundary {boundary}"
    if tree.boundary != boundary:
        yield f"the current boundary is said to be {tree.boundary}, it is {boundary}"


def path_is_whole(state: State) -> Iterator[str]:
    """I6: the covers along the summary path, then the open segment, are exactly the active path."""
    tree = state.tree
    covered = [step for summary in _summary_path(tree) for step in summary.covers]
    if [*covered, *tree.segment()] != _step_path(tree):
        yield f"covers {covered} and open segment {tree.segment()} are not the path {_step_path(tree)}"
    if list(tree.active_path()) != _step_path(tree):
        yield f"the active path is said to be {tree.active_path()}"
    if list(tree.summary_path()) != [summary.id for summary in _summary_path(tree)]:
        yield f"the summary path is said to be {tree.summary_path()}"


def labels_rise(state: State) -> Iterator[str]:
    """I7: labels rise strictly along any summary path below the root."""
    tree = state.tree
    for summary in _summaries(tree)[1:]:
        if summary.parent != 0 and not summary.label > tree.summary(summary.parent).label:
            yield f"summary {summary.id} has label {summary.label}, which is not above its parent's"


def way_is_trusted(state: State) -> Iterator[str]:
    """I8: on the way every summary but the head has passed or was accepted openly; so has the head in
    Active, is pending in Unverified, has failed in Rejected.
    """
    *above, head = _way(state.tree)
    for summary in above:
        if not isinstance(summary.verdict, Passed | Accepted):
            yield f"summary {summary.id}, above the head, is {summary.verdict}"
    fitting = {Active: (Passed, Accepted), Unverified: (Pending,), Rejected: (Failed,)}[type(state)]
    if not isinstance(head.verdict, fitting):
        yield f"the head is {head.verdict} in {type(state).__name__}"


def lessons_stand_at_boundaries(state: State) -> Iterator[str]:
    """I9: lessons are not blank, each at a boundary of some summary; instructions are not blank, each at a
    step.
    """
    tree = state.tree
    boundaries = {summary.covers[-1] for summary in _summaries(tree)}
    for step in _steps(tree):
        lessons = tree.lessons_at(step.id)
        if lessons and step.id not in boundaries:
            yield f"lessons stand at step {step.id}, where no summary ends"
        if not all(text.strip() for text in lessons):
            yield f"a lesson at step {step.id} is blank"
        if not all(instruction.text.strip() for instruction in tree.instructions_at(step.id)):
            yield f"an instruction at step {step.id} is blank"


def indexes_agree(state: State) -> Iterator[str]:
    """I10: children and merge indexes say what the nodes say."""
    tree = state.tree
    steps, summaries = _steps(tree), _summaries(tree)
    for step in steps:
        children = tuple(child.id for child in steps if child.parent == step.id)
        if tree.step_children(step.id) != children:
            yield f"the children of step {step.id} are {children}, not {tree.step_children(step.id)}"
        if step.id and tree.child_with(step.parent, (step.action, step.observation)) != step.id:
            yield f"step {step.id} is not found by its content"
    for summary in summaries:
        below = tuple(child.id for child in summaries if child.parent == summary.id)
        if tree.summary_children(summary.id) != below:
            yield f"the children of summary {summary.id} are {below}, not {tree.summary_children(summary.id)}"
        if summary.id and tree.child_ending_at(summary.parent, summary.covers[-1]) != summary.id:
            yield f"summary {summary.id} is not found by its boundary"


def taken_in_are_fallbacks(state: State) -> Iterator[str]:
    """I11: on the way, between a summary of the summary path and its parent stand fallbacks alone, whose
    covers tile a prefix of its own; between a fallback and its parent nothing. On the summary path
    fallbacks stand only at the end.
    """
    path, way = _summary_path(state.tree), _way(state.tree)
    for parent, summary in pairwise(path):
        if parent not in way or summary not in way:
            yield f"the way {way} leaves out summary {parent.id} or {summary.id}"
            return
        taken_in = way[way.index(parent) + 1 : way.index(summary)]
        tiles = [step for fallback in taken_in for step in fallback.covers]
        if any(each.kind != "fallback" for each in taken_in) or tuple(tiles) != summary.covers[: len(tiles)]:
            yield f"summary {summary.id} took in {taken_in}"
        if summary.kind == "fallback" and taken_in:
            yield f"summary {summary.id} is a fallback and took in {taken_in}"
        if parent.kind == "fallback" and summary.kind == "subgoal":
            yield f"summary {parent.id} is a fallback, and summary {summary.id} below it is none"


def chapters_unfold(state: State) -> Iterator[str]:
    """I12: the lines of C, unfolded, are the summary path; every summary under a chapter that is shown is
    trusted and says what it said when the chapter was judged.
    """
    path = _summary_path(state.tree)
    places = {summary.id: place for place, summary in enumerate(path)}
    unfolded: list[Line] = []
    lines = [*view(state).compressed][::-1]
    while lines:
        line = lines.pop()
        if not isinstance(line, Chapter):
            unfolded.append(line)
            continue
        if not 0 < places.get(line.first, 0) < places.get(line.last, 0):
            yield f"{line} stands for no run of the summary path"
            return
        broken = list(_broken_chapter(line, path[places[line.first] : places[line.last] + 1]))
        if broken:
            yield from broken
            return
        replaced = inside(state, line.label, line.boundary).unwrap().lines
        if len(replaced) < 2:
            yield f"{line} stands in place of {replaced}"
            return
        lines.extend(replaced[::-1])
    if unfolded != path[1:]:
        yield f"C, unfolded, is {unfolded}, the summary path is {path[1:]}"


def _broken_chapter(chapter: Chapter, under: list[Summary]) -> Iterator[str]:
    """Yield what a chapter says that is not so: that its words are those judged shows along a history alone."""
    accepted = sum(isinstance(summary.verdict, Accepted) for summary in under)
    if (chapter.label, chapter.boundary, chapter.accepted) != (under[0].label, under[-1].boundary, accepted):
        yield f"{chapter} stands for {under}"
    if not all(isinstance(summary.verdict, Passed | Accepted) for summary in under):
        yield f"{chapter} stands for {under}, of which one is not trusted"
    if any(summary.kind == "fallback" for summary in under):
        yield f"{chapter} stands for {under}, of which one is a fallback"


INVARIANTS: Final[tuple[Invariant, ...]] = (
    steps_form_a_tree,
    siblings_differ,
    covers_are_contiguous,
    sibling_covers_differ,
    heads_agree,
    path_is_whole,
    labels_rise,
    way_is_trusted,
    lessons_stand_at_boundaries,
    indexes_agree,
    taken_in_are_fallbacks,
    chapters_unfold,
)
"""I1 to I12, in this order."""
