"""I1 to I12 over one change: what is checked is what the change touched, so a journal costs its length.

Where the state before holds every invariant, so does the one after if nothing is found here, as long as
the change touched nothing else; that it did not is what the full `check` at the end is for.
"""

from __future__ import annotations

from collections.abc import Iterator

from mage.engine.errors import InvariantError
from mage.engine.ids import NO_SUMMARY
from mage.engine.invariants import INVARIANTS, breaks_in_covers, fits_phase
from mage.engine.judging import above, digest_of
from mage.engine.machine import Active, State, Unverified
from mage.engine.nodes import Pending, Summary
from mage.engine.text import is_blank
from mage.engine.tree import Tree


def check_change(before: State, after: State) -> None:
    """Check what one operation changed, given that `before` holds every invariant.

    Cost: that of the operation.

    Raises:
        InvariantError: one does not hold after the change.
    """
    if after.tree.next_step < before.tree.next_step:
        raise InvariantError("I1", INVARIANTS[0].__name__, "steps are missing that were there before")
    head = after.tree.head_summary
    for found in (
        _step(before.tree, after.tree),
        _summary(before.tree, after.tree, head),
        _heads(before.tree, after.tree, head),
        _way(before.tree, head),
        _chapters(before.tree, after, head),
        _trust(before, after, head),
        _notes(after.tree, head),
        _places(after.tree),
        _digest(before, after),
    ):
        for number, detail in found:
            raise InvariantError(f"I{number}", INVARIANTS[number - 1].__name__, detail)


def _step(old: Tree, new: Tree) -> Iterator[tuple[int, str]]:
    if new.next_step == old.next_step:
        return
    step = new.step(old.next_step)
    if new.next_step != old.next_step + 1 or step.parent != old.step_head:
        yield 1, f"step {step.id} should be the only new one and follow step {old.step_head}"
    if old.child_with(step.parent, step.content) is not None:
        yield 2, f"step {step.id} has the content of an older child of step {step.parent}"
    if new.child_with(step.parent, step.content) != step.id:
        yield 10, f"step {step.id} is not found by its content"


def _summary(old: Tree, new: Tree, head: Summary) -> Iterator[tuple[int, str]]:
    if head.parent == NO_SUMMARY:
        return
    if new.next_summary == old.next_summary:
        known = old.summary(head.id)
        if (known.parent, known.label, known.covers) != (head.parent, head.label, head.covers):
            yield 3, f"summary {head.id} stands for other steps than before"
    elif (head.id, head.after, new.next_summary) != (old.next_summary, old.summary_head, head.id + 1):
        yield 3, f"summary {head.id} should be the only new one and come after summary {old.summary_head}"
    elif old.child_ending_at(head.parent, head.boundary) is not None:
        yield 4, f"summary {head.id} has the covers of an older child of summary {head.parent}"
    else:
        yield from ((3, detail) for detail in breaks_in_covers(new, head))
    if new.child_ending_at(head.parent, head.boundary) != head.id:
        yield 10, f"summary {head.id} is not found by its boundary"
    parent = new.summary(head.parent)
    if head.base != (head.id if head.kind == "subgoal" else parent.base) or head.above != above(parent):
        yield 10, f"summary {head.id} keeps the wrong base or hash of what stands above it"


def _way(old: Tree, head: Summary) -> Iterator[tuple[int, str]]:
    """A summary that was just made stands right after the old head: a fallback below it, a subgoal below its
    base, which is the only summary between which and it fallbacks stand.
    """
    if head.id == old.summary_head or head.after != old.summary_head:
        return
    parent = old.head_summary.id if head.kind == "fallback" else old.head_summary.base
    if head.parent != parent:
        yield 11, f"summary {head.id} came after summary {old.summary_head}, but continues {head.parent}"


def _chapters(old: Tree, state: State, head: Summary) -> Iterator[tuple[int, str]]:
    before, after = old._settled.top.chapters, state.tree._settled.top.chapters
    if before is after:
        return
    if isinstance(head.verdict, Pending):
        alike = after == before.discard(head.id)  # of two empty maps of rpds `!=` is true, and `==` too
        if not alike:
            yield 12, f"chapters changed that do not end at summary {head.id}"
    else:
        yield from ((12, detail) for detail in INVARIANTS[11](state))


def _heads(old: Tree, new: Tree, head: Summary) -> Iterator[tuple[int, str]]:
    step = new.step_head
    if head.id == old.summary_head:
        moved = step not in (old.step_head, head.boundary) and new.step(step).parent != old.step_head
    elif head.after == old.summary_head:
        moved = not step == old.step_head == head.boundary
    else:
        moved = step != head.boundary or not _is_above(old, head)
    if moved:
        yield 5, f"the heads went from {_heads_of(old)} to {_heads_of(new)}, which no operation does"


def _heads_of(tree: Tree) -> str:
    return f"step {tree.step_head} under summary {tree.summary_head}"


def _is_above(old: Tree, head: Summary) -> bool:
    """Tell whether `head` is the summary of the old way to which revise goes back: the lowest that ends there."""
    summary = old.head_summary
    while summary.boundary > head.boundary and summary.after != NO_SUMMARY:
        summary = old.summary(summary.after)
    return summary.id == head.id


def _trust(before: State, after: State, head: Summary) -> Iterator[tuple[int, str]]:
    if not fits_phase(after, head):
        yield 8, f"the summary head is {head.verdict} in {type(after).__name__}"
    moved = head.id != before.tree.summary_head
    if moved and head.after == before.tree.summary_head and not isinstance(before, Active):
        yield 8, f"summary {head.id} was put below one that nobody trusted"


def _places(new: Tree) -> Iterator[tuple[int, str]]:
    placed = new.instructions_at(new.step_head)
    notes = new._settled.notes
    for places, standing in ((notes.once, False), (notes.standing, True)):
        is_noted = next(iter(places), None) == new.step_head
        if is_noted != any(each.standing == standing for each in placed):
            yield 10, f"the instructions at step {new.step_head} are not noted on the active path"


def _digest(before: State, after: State) -> Iterator[tuple[int, str]]:
    if not isinstance(after, Unverified):
        return
    known = before.digest if isinstance(before, Unverified) else None
    if known is None or before.tree.head_summary != after.tree.head_summary:
        known = digest_of(after.tree)
    if after.digest != known:
        yield 10, "the digest is not that of the summary head"


def _notes(new: Tree, head: Summary) -> Iterator[tuple[int, str]]:
    for step in (head.label, head.boundary):
        lessons = new._settled.notes.lessons.get(step)
        if lessons and is_blank(next(iter(lessons))):
            yield 9, f"a lesson at step {step} is blank"
    placed = new.instructions_at(new.step_head)
    if placed and is_blank(placed[-1].text):
        yield 9, f"an instruction at step {new.step_head} is blank"
