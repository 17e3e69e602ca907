"""The few ways in which a tree differs from the one before it.

The machine composes these; each returns a new tree that shares all it did not change with the old one.
None of them asks whether the change is legal: that is the machine's part.
"""

from __future__ import annotations

from collections.abc import Iterator

from rpds import HashTrieMap, List

from mage.engine.ids import ROOT_STEP, StepId
from mage.engine.nodes import ROOT, ROOT_OF_SUMMARIES, Chapter, Instruction, Pending, Step, Summary
from mage.engine.text import is_blank
from mage.engine.tree import CHUNK, Notes, Settled, TopLayer, Tree


def new_tree(task: str) -> Tree:
    """Return the tree that holds only the two root sentinels (D2)."""
    top = TopLayer(HashTrieMap(), HashTrieMap(), ROOT_OF_SUMMARIES, HashTrieMap())
    notes = Notes(HashTrieMap(), HashTrieMap(), List(), List())
    return Tree(Settled(task, HashTrieMap(), HashTrieMap(), top, notes), (ROOT,), ROOT_STEP)


def with_step(tree: Tree, action: str, observation: str) -> Tree:
    """Add a step below the step head and stand on it. Cost: O(1)."""
    tail = tree._tail
    newest = tail[-1].id
    parent = tree.step_head
    step = Step(StepId(newest + 1), parent, action, observation)
    settled = tree._settled
    if parent != newest:
        settled = _branched(settled, step)
    if len(tail) == CHUNK:
        settled = _packed(settled, tail)
        tail = ()
    return Tree(settled, (*tail, step), step.id)


def _branched(settled: Settled, step: Step) -> Settled:
    others = settled.branches.get(step.parent)
    if others is None:
        others = HashTrieMap()
    branches = settled.branches.insert(step.parent, others.insert(step.content, step.id))
    return Settled(settled.task, settled.chunks, branches, settled.top, settled.notes)


def _packed(settled: Settled, tail: tuple[Step, ...]) -> Settled:
    chunks = settled.chunks.insert(tail[0].id // CHUNK, tail)
    return Settled(settled.task, chunks, settled.branches, settled.top, settled.notes)


def at_step(tree: Tree, child: StepId) -> Tree:
    """Stand on a child of the step head, which was grown before. Cost: O(1)."""
    settled = tree._settled
    notes = settled.notes
    placed = notes.instructions.get(child)
    if placed is not None:
        settled = _noted(settled, _on_path(notes, child, placed))
    return Tree(settled, tree._tail, child)


def _on_path(notes: Notes, step: StepId, placed: tuple[Instruction, ...]) -> Notes:
    """Note that the active path now ends at `step`, where `placed` stand."""
    once, standing = notes.once, notes.standing
    if any(not instruction.standing for instruction in placed):
        once = once.push_front(step)
    if any(instruction.standing for instruction in placed):
        standing = standing.push_front(step)
    return Notes(notes.lessons, notes.instructions, once, standing)


def _up_to(places: List[StepId], boundary: StepId) -> List[StepId]:
    for step in places:
        if step <= boundary:
            break
        places = places.drop_first()
    return places


def at_boundary(tree: Tree, summary: Summary, *, lesson: str = "") -> Tree:
    """Stand where `summary` of the way ends, nothing open, and leave `lesson` there (D7, D8).

    Cost: O(instructions left behind).
    """
    settled = tree._settled
    old = settled.notes
    boundary = summary.boundary
    once, standing = _up_to(old.once, boundary), _up_to(old.standing, boundary)
    notes = Notes(_lessons_and(old, boundary, lesson), old.instructions, once, standing)
    top = _with_head(settled.top, summary)
    settled = Settled(settled.task, settled.chunks, settled.branches, top, notes)
    return Tree(settled, tree._tail, boundary)


def instructions_below(tree: Tree, boundary: StepId) -> tuple[Instruction, ...]:
    """Return the instructions placed on the active path after `boundary`, in path order (D7).

    Cost: O(their number).
    """
    notes = tree._settled.notes
    if not notes.instructions:
        return ()
    below = {*_after(notes.once, boundary), *_after(notes.standing, boundary)}
    return tuple(left for step in sorted(below) for left in tree.instructions_at(step))


def _after(places: List[StepId], boundary: StepId) -> Iterator[StepId]:
    for step in places:
        if step <= boundary:
            return
        yield step


def with_summary(tree: Tree, summary: Summary) -> Tree:
    """Put `summary` in place, new or changed, and make it the summary head. Cost: O(1).

    One that is pending loses the chapters that end at it: they were judged on other words (D19).
    """
    settled = tree._settled
    top = settled.top
    if summary.parent != summary.id - 1 and summary.id == tree.next_summary:
        top = _branched_above(top, summary)
    if isinstance(summary.verdict, Pending) and summary.id in top.chapters:
        top = TopLayer(top.others, top.branches, top.head, top.chapters.remove(summary.id))
    top = _with_head(top, summary)
    settled = Settled(settled.task, settled.chunks, settled.branches, top, settled.notes)
    return Tree(settled, tree._tail, tree.step_head)


def _branched_above(top: TopLayer, summary: Summary) -> TopLayer:
    others = top.branches.get(summary.parent)
    if others is None:
        others = HashTrieMap()
    branches = top.branches.insert(summary.parent, others.insert(summary.boundary, summary.id))
    return TopLayer(top.others, branches, top.head, top.chapters)


def _with_head(top: TopLayer, summary: Summary) -> TopLayer:
    """Make `summary` the head, and give the old head its place among the others. Cost: O(1)."""
    others, old = top.others, top.head
    if summary is old:
        return top
    if summary.id != old.id:
        others = others.insert(old.id, old).discard(summary.id)
    return TopLayer(others, top.branches, summary, top.chapters)


def with_chapter(tree: Tree, chapter: Chapter) -> Tree:
    """Show `chapter` in C in place of what stands under it (D19). Cost: O(chapters that end there)."""
    settled = tree._settled
    top = settled.top
    chapters = top.chapters.insert(chapter.last, (*tree.chapters_at(chapter.last), chapter))
    top = TopLayer(top.others, top.branches, top.head, chapters)
    settled = Settled(settled.task, settled.chunks, settled.branches, top, settled.notes)
    return Tree(settled, tree._tail, tree.step_head)


def with_lesson(tree: Tree, boundary: StepId, lesson: str) -> Tree:
    """Leave `lesson` at `boundary`; a blank one leaves none (D7, D8). Cost: O(1)."""
    notes = tree._settled.notes
    left = _lessons_and(notes, boundary, lesson)
    if left is notes.lessons:
        return tree
    settled = _noted(tree._settled, Notes(left, notes.instructions, notes.once, notes.standing))
    return Tree(settled, tree._tail, tree.step_head)


def _lessons_and(notes: Notes, boundary: StepId, lesson: str) -> HashTrieMap[StepId, List[str]]:
    if is_blank(lesson):
        return notes.lessons
    lessons: List[str] | None = notes.lessons.get(boundary)
    if lessons is None:
        lessons = List()
    return notes.lessons.insert(boundary, lessons.push_front(lesson))


def with_instruction(tree: Tree, instruction: Instruction) -> Tree:
    """Place `instruction` at the step head; the same one again changes nothing (D17).

    Cost: O(instructions at that step).
    """
    step = tree.step_head
    old = tree.instructions_at(step)
    if instruction in old:
        return tree
    notes = tree._settled.notes
    placed = notes.instructions.insert(step, (*old, instruction))
    new = Notes(
        notes.lessons, placed, _up_to(notes.once, StepId(step - 1)), _up_to(notes.standing, StepId(step - 1))
    )
    settled = _noted(tree._settled, _on_path(new, step, (*old, instruction)))
    return Tree(settled, tree._tail, step)


def _noted(settled: Settled, notes: Notes) -> Settled:
    return Settled(settled.task, settled.chunks, settled.branches, settled.top, notes)
