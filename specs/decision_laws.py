"""What holds of fallbacks and of the question to a judge (D5, D12, L12, L13), as functions over one edge like those
of `specs.laws`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from mage.engine import (
    Active,
    Compress,
    Grow,
    Instruct,
    JudgeRequest,
    Revise,
    Step,
    Summary,
    Tree,
    Unverified,
    compress,
    grow,
    judge_request,
    revise,
    view,
)
from mage.testing import Edge

Shown = TypeVar("Shown")


def grown(state: Active | Unverified, steps: Iterable[Step]) -> Active | Unverified:
    """Return the state after these steps were taken again."""
    for step in steps:
        state = grow(state, step.action, step.observation)
    return state


def question_stands(edge: Edge) -> Iterator[str]:
    """D5: grow, instruct and dropping the open segment do not change what the judge is asked."""
    before, after = edge.before, edge.after
    if not isinstance(before, Unverified) or not isinstance(after, Unverified):
        return
    if not isinstance(edge.command, Grow | Instruct | Revise):
        return
    if after.digest != before.digest or judge_request(after) != judge_request(before):
        yield f"the judge was asked {judge_request(before)} and is asked {judge_request(after)}"


def question_is_whole(edge: Edge) -> Iterator[str]:
    """D12: a subgoal covers all steps since its base and is judged with the fallbacks that it took in, oldest
    first, whose covers tile a prefix of its own; a fallback covers and is judged on its own steps alone.
    """
    if not isinstance(edge.after, Unverified):
        return
    tree = edge.after.tree
    head = tree.summary(tree.summary_head)
    request = judge_request(edge.after)
    if tuple([step.id for step in request.steps]) != head.covers:
        yield f"the judge is given steps {request.steps} of summary {head.id}"
    if head.kind == "subgoal" and tree.summary(head.parent).kind == "fallback":
        yield f"summary {head.id} does not begin at a base"
    taken_in = _taken_in(tree, head)
    if [(each.label, each.boundary, each.text, each.verdict) for each in request.earlier] != [
        (each.label, each.boundary, each.text, each.verdict) for each in taken_in
    ]:
        yield f"the judge is given {request.earlier} of {taken_in}"
    tiles = [step for each in taken_in for step in each.covers]
    if tuple(tiles) != head.covers[: len(tiles)] or (taken_in and head.kind == "fallback"):
        yield f"summary {head.id} took in {taken_in}"


def _taken_in(tree: Tree, summary: Summary) -> list[Summary]:
    """Return the summaries of its way between it and its parent, oldest first."""
    way = [summary]
    while way[-1].id != summary.parent:
        way.append(tree.summary(way[-1].after))
    return way[-2:0:-1]


def fallbacks_leave_no_trace(edge: Edge) -> Iterator[str]:
    """L12: a subgoal that was cut by fallbacks, once complete, is the same summary (id, parent, label, covers)
    on the same steps, and its judge is asked the same, but for `earlier` and what was tried from the boundaries
    of the fallbacks, as uncut.
    """
    if (
        not isinstance(edge.command, Compress)
        or not isinstance(edge.after, Unverified)
        or edge.refusal is not None
    ):
        return
    if edge.command.kind == "fallback" or edge.before.tree.head_summary.kind == "subgoal":
        return
    tree = edge.after.tree
    cut = tree.summary(tree.summary_head)
    back = grown(revise(edge.before, cut.label, "").unwrap().state, map(tree.step, cut.covers))
    if not isinstance(back, Active):
        yield f"the way back to label {cut.label} ends in {type(back).__name__}"
        return
    other = compress(back, edge.command.text).unwrap()
    uncut = other.tree.summary(other.tree.summary_head)
    if _place(cut) != _place(uncut):
        yield f"cut it is {cut}, uncut {uncut}"
    asked, plainly = judge_request(edge.after), judge_request(other)
    if _question(asked) != _question(plainly):
        yield f"cut the judge is asked {asked}, uncut {plainly}"
    yield from _tried_elsewhere(asked, plainly, cut)


def _place(summary: Summary) -> tuple[object, ...]:
    return (summary.id, summary.parent, summary.label, summary.covers, summary.text, summary.kind)


def _question(asked: JudgeRequest) -> tuple[object, ...]:
    return (asked.task, asked.instructions, asked.kind, asked.before, asked.steps, asked.text)


def _tried_elsewhere(asked: JudgeRequest, plainly: JudgeRequest, cut: Summary) -> Iterator[str]:
    """Yield what differs between the two beside what was tried and learned at the boundaries of the fallbacks."""
    here = [step for step in asked.hints.continuations if step.parent == cut.label]
    if tuple(here) != plainly.hints.continuations:
        yield f"at its label {here} were tried, uncut {plainly.hints.continuations}"
    beyond = {step for each in asked.hints.subgoals if each.parent != cut.parent for step in each.covers}
    tried = [each for each in asked.hints.subgoals if each.parent == cut.parent]
    uncut = [each for each in plainly.hints.subgoals if each.kind == "subgoal" or each.boundary not in beyond]
    if tried != uncut:
        yield f"from its base {tried} were tried, uncut {uncut}"
    learned = [lesson for lesson in asked.hints.lessons if lesson.boundary <= cut.label]
    if tuple(learned) != plainly.hints.lessons:
        yield f"at its label {learned} was learned, uncut {plainly.hints.lessons}"
    below = [boundary for boundary in asked.boundaries if boundary <= cut.label]
    if tuple(below) != plainly.boundaries:
        yield f"a mistake may have begun at {below}, uncut at {plainly.boundaries}"


def fallback_hides_nothing(edge: Edge) -> Iterator[str]:
    """L13: compressing as a fallback takes no instruction out of force and no lesson out of H."""
    if not isinstance(edge.command, Compress) or edge.command.kind != "fallback":
        return
    before, after = view(edge.before), view(edge.after)
    if before.instructions != after.instructions:
        yield f"instructions {before.instructions} were in force and {after.instructions} are"
    if not _stand(before.hints.lessons, after.hints.lessons):
        yield f"lessons {before.hints.lessons} were shown and {after.hints.lessons} are"


def _stand(before: Sequence[Shown], after: Sequence[Shown]) -> bool:
    """Tell whether all that was there is there still, in the same order."""
    left = iter(after)
    return all(each in left for each in before)
