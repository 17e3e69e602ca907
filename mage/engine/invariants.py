"""I1 to I12 of specs/README.md, checked on the whole of a state, with `raise` because `-O` strips `assert`.

Each is a function under its sentence-name. They run in order: a later one may rely on those before it, so
every loop ends on any state, however it was forged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from mage.engine.errors import InvariantError, UnknownStep
from mage.engine.folding import lines_inside
from mage.engine.ids import ROOT_STEP, ROOT_SUMMARY, StepId, SummaryId
from mage.engine.judging import above, digest_of
from mage.engine.machine import Active, State, Unverified
from mage.engine.nodes import (
    ROOT,
    ROOT_OF_SUMMARIES,
    Accepted,
    Chapter,
    Failed,
    Passed,
    Pending,
    Summary,
)
from mage.engine.text import is_blank
from mage.engine.tree import CHUNK, Tree


def check(state: State) -> None:
    """Check I1 to I12. Types are trusted, as mypy sees them. Cost: O(size of the tree).

    Raises:
        InvariantError: one does not hold; it names which, and where.
    """
    for invariant, holds in enumerate(INVARIANTS, start=1):
        for detail in holds(state):
            raise InvariantError(f"I{invariant}", holds.__name__, detail)


def steps_form_a_tree(state: State) -> Iterator[str]:
    """I1: step ids are 0..next-1, every parent id is smaller, one root."""
    tree = state.tree
    if not _is_in_chunks(tree):
        yield f"the steps should be kept in chunks of {CHUNK}, all but the newest full"
        return
    for number in range(tree.next_step):
        try:
            step = tree.step(StepId(number))
        except UnknownStep:
            yield f"step {number} is missing"
            return
        if number == ROOT_STEP and step != ROOT:
            yield f"step 0 should be the root, found {step}"
        if step.id != number:
            yield f"step {number} says it is {step.id}"
        if number and not 0 <= step.parent < number:
            yield f"step {number} has parent {step.parent}"


def _is_in_chunks(tree: Tree) -> bool:
    chunks, tail = tree._settled.chunks, tree._tail
    if not 1 <= len(tail) <= CHUNK or tail[0].id != CHUNK * len(chunks):
        return False
    return all(len(chunk) == CHUNK for chunk in chunks.values())


def siblings_differ(state: State) -> Iterator[str]:
    """I2: no two children of a step have the same content."""
    tree = state.tree
    seen: set[tuple[StepId, tuple[str, str]]] = set()
    for step in tree.steps():
        place = (step.parent, step.content)
        if place in seen:
            yield f"step {step.id} has the content of an older child of step {step.parent}"
        seen.add(place)


def covers_are_contiguous(state: State) -> Iterator[str]:
    """I3: every summary but the root covers a non-empty downward run of steps whose first has the parent's
    boundary as its parent; its label is that boundary.
    """
    tree = state.tree
    top = tree._settled.top
    if top.head.id in top.others:
        yield f"summary {top.head.id} is the head, and another is kept under its id"
    nodes = top.others.insert(top.head.id, top.head)
    if nodes.get(ROOT_SUMMARY) != ROOT_OF_SUMMARIES:
        yield "summary 0 should be the root, covering step 0, passed"
        return
    for number in range(1, tree.next_summary):
        summary = nodes.get(SummaryId(number))
        if summary is None or summary.id != number or not _is_placed(tree, summary):
            yield f"summary {number} is missing or misplaced: {summary}"
            return
        yield from breaks_in_covers(tree, summary)


def _is_placed(tree: Tree, summary: Summary) -> bool:
    return 0 <= summary.parent < summary.id and 0 <= summary.after < tree.next_summary


def breaks_in_covers(tree: Tree, summary: Summary) -> Iterator[str]:
    """Yield where the covers of one summary do not run on from its parent's boundary."""
    above = tree.summary(summary.parent).boundary
    if summary.label != above:
        yield f"summary {summary.id} has label {summary.label}, its parent ends at {above}"
    if not summary.covers:
        yield f"summary {summary.id} covers nothing"
    for step in summary.covers:
        if not 0 < step < tree.next_step or tree.step(step).parent != above:
            yield f"summary {summary.id} covers step {step}, which does not follow step {above}"
        above = step


def sibling_covers_differ(state: State) -> Iterator[str]:
    """I4: no two children of a summary have the same covers."""
    seen: set[tuple[SummaryId, tuple[StepId, ...]]] = set()
    for summary in state.tree.summaries():
        place = (summary.parent, summary.covers)
        if place in seen:
            yield f"summary {summary.id} has the covers of an older child of summary {summary.parent}"
        seen.add(place)


def heads_agree(state: State) -> Iterator[str]:
    """I5: the step head is the current boundary or below it."""
    tree = state.tree
    if not 0 <= tree.step_head < tree.next_step:
        yield f"the step head {tree.step_head} is no step"
        return
    step = tree.step_head
    while step > tree.boundary:
        step = tree.step(step).parent
    if step != tree.boundary:
        yield f"the step head {tree.step_head} is not below the current boundary {tree.boundary}"


def path_is_whole(state: State) -> Iterator[str]:
    """I6: the covers along the summary path, then the open segment, are exactly the active path."""
    tree = state.tree
    covered = [step for summary in _path(tree) for step in summary.covers]
    whole = (*covered, *tree.segment())
    if whole != tree.active_path():
        yield f"covers and open segment make {len(whole)} steps, the active path is another"


def labels_rise(state: State) -> Iterator[str]:
    """I7: labels rise strictly along any summary path below the root."""
    tree = state.tree
    for summary in tree.summaries():
        if summary.label <= tree.summary(summary.parent).label:
            yield f"summary {summary.id} has label {summary.label}, not above that of its parent"


def way_is_trusted(state: State) -> Iterator[str]:
    """I8: on the way every summary but the head has passed or was accepted openly; so has the head in
    Active, is pending in Unverified, has failed in Rejected.
    """
    head, *higher = _way(state.tree)
    for summary in higher:
        if not isinstance(summary.verdict, Passed | Accepted):
            yield f"summary {summary.id} above the head is {summary.verdict}"
    if not fits_phase(state, head):
        yield f"the summary head is {head.verdict} in {type(state).__name__}"


def fits_phase(state: State, head: Summary) -> bool:
    """Tell whether the verdict of the summary head is one that this phase stands for (D6)."""
    if isinstance(state, Active):
        return isinstance(head.verdict, Passed | Accepted)
    return isinstance(head.verdict, Pending if isinstance(state, Unverified) else Failed)


def lessons_stand_at_boundaries(state: State) -> Iterator[str]:
    """I9: lessons are not blank, each at a boundary of some summary; instructions are not blank, each at a
    step.
    """
    tree = state.tree
    notes = tree._settled.notes
    boundaries = {summary.boundary for summary in tree.summaries()} | {ROOT_STEP}
    for step, lessons in notes.lessons.items():
        if step not in boundaries or not len(lessons) or any(map(is_blank, lessons)):
            yield f"a lesson at step {step} is blank, or no summary ends there"
    for step, placed in notes.instructions.items():
        if not 0 <= step < tree.next_step or not placed or any(is_blank(each.text) for each in placed):
            yield f"an instruction at step {step} is blank, or there is no such step"


def indexes_agree(state: State) -> Iterator[str]:
    """I10: children and merge indexes say what the nodes say."""
    tree = state.tree
    yield from _step_indexes(tree)
    yield from _summary_indexes(tree)
    yield from _places_on_the_path(tree)
    yield from _caches_on_the_way(tree)
    if isinstance(state, Unverified) and state.digest != digest_of(tree):
        yield "the digest is not that of the summary head"


def _step_indexes(tree: Tree) -> Iterator[str]:
    children: dict[StepId, list[StepId]] = {}
    for step in tree.steps():
        children.setdefault(step.parent, []).append(step.id)
        if tree.child_with(step.parent, step.content) != step.id:
            yield f"step {step.id} is not found by its content"
    branches = tree._settled.branches
    if any(parent not in children or not len(ids) for parent, ids in branches.items()):
        yield "the branch index names a step that has no children"
    for parent, ids in children.items():
        if tree.step_children(parent) != tuple(ids):
            yield f"the children of step {parent} are {ids}, the index says otherwise"


def _summary_indexes(tree: Tree) -> Iterator[str]:
    children: dict[SummaryId, list[SummaryId]] = {}
    for summary in tree.summaries():
        children.setdefault(summary.parent, []).append(summary.id)
        if tree.child_ending_at(summary.parent, summary.boundary) != summary.id:
            yield f"summary {summary.id} is not found by its boundary"
    branches = tree._settled.top.branches
    if any(parent not in children or not len(ids) for parent, ids in branches.items()):
        yield "the summary index names a summary that has no children"
    for parent, ids in children.items():
        if tree.summary_children(parent) != tuple(ids):
            yield f"the children of summary {parent} are {ids}, the index says otherwise"


def _places_on_the_path(tree: Tree) -> Iterator[str]:
    path = [step for step in reversed(tree.active_path()) if tree.instructions_at(step)]
    once = [step for step in path if any(not each.standing for each in tree.instructions_at(step))]
    standing = [step for step in path if any(each.standing for each in tree.instructions_at(step))]
    notes = tree._settled.notes
    if (list(notes.once), list(notes.standing)) != (once, standing):
        yield "the instructions of the active path are not those that its steps carry"


def _caches_on_the_way(tree: Tree) -> Iterator[str]:
    for summary in _way(tree):
        if summary.id == ROOT_SUMMARY:
            return
        parent = tree.summary(summary.parent)
        base = summary.id if summary.kind == "subgoal" else parent.base
        if summary.base != base:
            yield f"summary {summary.id} says that its base is {summary.base}, it is {base}"
        if summary.above != above(parent):
            yield f"summary {summary.id} keeps another hash of what stands above it"


def taken_in_are_fallbacks(state: State) -> Iterator[str]:
    """I11: on the way, between a summary of the summary path and its parent stand fallbacks alone, whose
    covers tile a prefix of its own; between a fallback and its parent nothing. On the summary path
    fallbacks stand only at the end.
    """
    tree = state.tree
    way = _way(tree)
    if way[-1].id != ROOT_SUMMARY:
        yield "the way does not lead to the root"
        return
    path = _path(tree)
    for parent, child in pairwise(path):
        if parent.kind == "fallback" and child.kind == "subgoal":
            yield f"summary {child.id} is a subgoal and continues a fallback"
    places = {summary.id: place for place, summary in enumerate(way)}
    if not places.keys() >= {summary.id for summary in path}:
        yield "the way leaves out summaries of the summary path"
        return
    for parent, child in pairwise(path):
        taken_in = way[places[child.id] + 1 : places[parent.id]][::-1]
        yield from _breaks_in_tiling(parent, child, taken_in)


def _breaks_in_tiling(parent: Summary, child: Summary, taken_in: list[Summary]) -> Iterator[str]:
    if taken_in and child.kind == "fallback":
        yield f"summary {child.id} is a fallback and took others in"
    last = parent
    for fallback in taken_in:
        if fallback.kind != "fallback" or fallback.parent != last.id or fallback.boundary > child.boundary:
            yield f"summary {child.id} cannot have taken summary {fallback.id} in"
        last = fallback


def chapters_unfold(state: State) -> Iterator[str]:
    """I12: the lines of C, unfolded, are the summary path; every summary under a chapter that is shown is
    trusted and says what it said when the chapter was judged.
    """
    tree = state.tree
    for end, chapters in tree._settled.top.chapters.items():
        if not 0 < end < tree.next_summary or not chapters or any(each.last != end for each in chapters):
            yield f"chapters are kept at summary {end}, where they do not end"
            return
    path = _path(tree)
    places = {summary.id: place for place, summary in enumerate(path)}
    for summary in path:
        for chapter in tree.chapters_at(summary.id):
            first = places.get(chapter.first, 0)
            if not 0 < first < places[summary.id]:
                yield f"a chapter that ends at summary {summary.id} begins at summary {chapter.first}"
                return
            yield from _breaks_in_chapter(tree, chapter, path[first : places[summary.id] + 1])


def _breaks_in_chapter(tree: Tree, chapter: Chapter, under: list[Summary]) -> Iterator[str]:
    accepted = sum([isinstance(summary.verdict, Accepted) for summary in under])
    told = (under[0].label, under[-1].boundary, accepted)
    if (chapter.label, chapter.boundary, chapter.accepted) != told:
        yield f"the chapter {chapter.label}..{chapter.boundary} does not say what stands under it"
    if is_blank(chapter.text) or any(summary.kind == "fallback" for summary in under):
        yield f"the chapter {chapter.label}..{chapter.boundary} is blank, or stands for a fallback"
    lines = lines_inside(tree, chapter)
    ends = [chapter.label, *[line.boundary for line in lines[:-1]]]
    if len(lines) < 2 or [line.label for line in lines] != ends:
        yield f"the lines under the chapter {chapter.label}..{chapter.boundary} do not run on"


def _path(tree: Tree) -> list[Summary]:
    return [tree.summary(summary) for summary in tree.summary_path()]


def _way(tree: Tree) -> list[Summary]:
    """Return the summaries of the way from the head up to the root, which comes last; a forged way that is a
    circle ends without it.
    """
    way = [tree.head_summary]
    for _ in range(tree.next_summary):
        if way[-1].id == ROOT_SUMMARY:
            break
        way.append(tree.summary(way[-1].after))
    return way


INVARIANTS: Final[tuple[Callable[[State], Iterator[str]], ...]] = (
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
