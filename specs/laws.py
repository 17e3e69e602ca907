"""L1 to L14 of README.md as functions over one edge, or over one state and what it was before.

Each has its sentence-name and yields what is wrong: nothing, where the law holds. The explorer runs them on
every edge it sees, `tests/engine/test_laws.py` on long random histories. L8 needs a second process and has
its own test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, final

import attrs

from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Chapter,
    Compress,
    Fold,
    Grow,
    Instruct,
    Line,
    Retext,
    Revise,
    State,
    StepId,
    Summary,
    SummaryId,
    Tree,
    Unverified,
    compress,
    judge_request,
    revise,
    view,
)
from mage.engine.journal import Operation
from mage.testing import Edge, canonical
from mage.testing.machine import Canonical
from specs.decision_laws import (
    fallback_hides_nothing,
    fallbacks_leave_no_trace,
    grown,
    question_is_whole,
    question_stands,
)

Law: TypeAlias = Callable[[Edge], Iterator[str]]


def nothing_is_lost(edge: Edge) -> Iterator[str]:
    """L1: every step keeps its parent and content; every summary its id, parent, label and covers; lessons
    and instructions before are a prefix of those after.
    """
    old, new = edge.before.tree, edge.after.tree
    if old is new:
        return
    if new.next_step < old.next_step or new.next_summary < old.next_summary:
        yield "there are fewer nodes than before"
        return
    for number in _steps(old):
        node, same = old.step(number), new.step(number)
        if same is not node and same != node:
            yield f"step {number} was {node} and is {same}"
        lessons, instructions = old.lessons_at(number), old.instructions_at(number)
        if new.lessons_at(number)[: len(lessons)] != lessons:
            yield f"the lessons at step {number} do not begin with those before"
        if new.instructions_at(number)[: len(instructions)] != instructions:
            yield f"the instructions at step {number} do not begin with those before"
    for name in _summaries(old):
        was, now = old.summary(name), new.summary(name)
        if was is not now and (was.id, was.parent, was.label, was.covers) != (
            now.id,
            now.parent,
            now.label,
            now.covers,
        ):
            yield f"summary {name} was {was} and is {now}"


@final
@attrs.frozen
class Snapshot:
    """All that can be read of a state, taken down before anything is done with it.

    Attributes:
        state: the state itself.
        plain: its canonical form.
        hash: its hash.
    """

    state: State
    plain: Canonical
    hash: int

    @classmethod
    def of(cls, state: State) -> Snapshot:
        """Take the snapshot. Cost: O(size of the tree)."""
        return cls(state, canonical(state), hash(state))


def old_versions_stand(before: Snapshot) -> Iterator[str]:
    """L2: the state before is unchanged, to the byte, by any operation on it."""
    now = Snapshot.of(before.state)
    if now.plain != before.plain or now.hash != before.hash:
        yield f"the state was {before.plain} and is {now.plain}"


def grow_is_idempotent(edge: Edge) -> Iterator[str]:
    """L3: growing the same content again from the same head reaches the same step and adds nothing."""
    if not isinstance(edge.command, Grow) or edge.refusal is not None:
        return
    back = revise(edge.after, edge.after.tree.boundary, "").unwrap().state
    again = grown(back, view(edge.after).raw)
    if again != edge.after:
        yield f"growing again from step {edge.before.tree.step_head} leads to {again}, not to {edge.after}"


def compress_reuses_summary(edge: Edge) -> Iterator[str]:
    """L4: compressing the same covers again from the same head reaches the same `SummaryId`."""
    if not isinstance(edge.command, Compress) or edge.refusal is not None:
        return
    tree = edge.after.tree
    head = tree.summary(tree.summary_head)
    back = grown(revise(edge.after, head.label, "").unwrap().state, map(tree.step, head.covers))
    if not isinstance(back, Active):
        yield f"the way back to label {head.label} ends in {type(back).__name__}"
        return
    again = compress(back, f"not {head.text}", head.kind).unwrap().tree
    if (again.summary_head, again.next_summary) != (head.id, tree.next_summary):
        yield f"the covers of summary {head.id} became summary {again.summary_head}"


def revise_restores(edge: Edge) -> Iterator[str]:
    """L5: after `revise(b)` the summary path is that of the target, texts and verdicts as they stood: for a
    target on the summary path the prefix that ends at b; b is the step head; R is empty.
    """
    if not isinstance(edge.command, Revise) or edge.refusal is not None:
        return
    boundary = edge.command.boundary
    old, new = edge.before.tree, edge.after.tree
    target = next((each for each in _way(old) if each.boundary == boundary), None)
    path = [] if target is None else [old.summary(each) for each in _path(old, target.id)]
    if [new.summary(each) for each in _path(new, new.summary_head)] != path:
        yield f"the summary path should be {path} after a revise to {boundary}"
    before, after = old.summary_path(), new.summary_path()
    if target is not None and target.id in before and after != before[: before.index(target.id) + 1]:
        yield f"the summary path was {before} and is {after} after a revise to {boundary}"
    raw = view(edge.after).raw
    if new.step_head != boundary or raw:
        yield f"the step head is {new.step_head} and R {raw} after a revise to {boundary}"


def errors_are_isolated(edge: Edge) -> Iterator[str]:
    """L6: right after `revise(b)` no abandoned step or summary is in C or R."""
    if not isinstance(edge.command, Revise) or edge.revised is None:
        return
    old, shown = edge.before.tree, view(edge.after)
    abandoned = [step for step in old.active_path() if step > edge.command.boundary]
    if [step.id for step in edge.revised.abandoned] != abandoned[::-1]:
        yield f"steps {abandoned} were abandoned, the result lists {edge.revised.abandoned}"
    undone = [each.id for each in _way(old) if each.boundary > edge.command.boundary]
    stands = [each for line in shown.compressed for each in _unfolded(edge.after.tree, line)]
    covered = {step for summary in stands for step in summary.covers}
    if not covered.union(step.id for step in shown.raw).isdisjoint(abandoned):
        yield f"C or R shows one of the abandoned steps {abandoned}"
    if any(summary.id in undone for summary in stands):
        yield f"C shows one of the abandoned summaries {undone}"


def refusal_changes_nothing(edge: Edge, before: Snapshot) -> Iterator[str]:
    """L7: a refused operation leaves the state as it was."""
    if edge.refusal is not None:
        yield from old_versions_stand(before)


def changes_are_local(edge: Edge) -> Iterator[str]:
    """L9: grow adds at most one child, at the old step head; compress, retext, verdict and accept change only
    the resulting head summary (compress and retext leave at most one lesson at its label and drop the
    chapters that end at it, verdict and accept do neither); revise adds at most one lesson at b, instruct
    one instruction at the step head, fold one chapter. So, but for fold, a summary path that does not go
    through that head has the same C.
    """
    old, new = edge.before.tree, edge.after.tree
    head = new.summary(new.summary_head)
    grows = instructs = lessons = changes = folds = False
    match edge.command:
        case Grow():
            grows = True
        case Instruct():
            instructs = True
        case Compress() | Retext():
            lessons = changes = True
        case ApplyVerdict() | Accept():
            changes = True
        case Revise():
            lessons = True
        case Fold():
            folds = edge.refusal is None
    judged_anew = head.id if lessons and changes and edge.refusal is None else None
    lesson_at = head.label if changes else head.boundary
    yield from _new_steps(old, new, old.step_head if grows else None)
    yield from _new_notes(old, new, lesson_at if lessons else None, old.step_head if instructs else None)
    yield from _new_summaries(old, new, head.id if changes else None)
    yield from _new_chapters(old, new, judged_anew, folds=folds)


def _new_steps(old: Tree, new: Tree, place: StepId | None) -> Iterator[str]:
    added = [StepId(number) for number in range(old.next_step, new.next_step)]
    if len(added) > 1 or any(new.step(step).parent != place for step in added):
        yield f"steps {added} were added, at most one below step {place} may be"


def _new_notes(old: Tree, new: Tree, lesson: StepId | None, instruction: StepId | None) -> Iterator[str]:
    for step in _steps(new):
        known = step < old.next_step
        lessons = len(new.lessons_at(step)) - (len(old.lessons_at(step)) if known else 0)
        placed = len(new.instructions_at(step)) - (len(old.instructions_at(step)) if known else 0)
        if lessons > (step == lesson) or placed > (step == instruction):
            yield f"{lessons} lessons and {placed} instructions were left at step {step}"


def _new_summaries(old: Tree, new: Tree, changed: SummaryId | None) -> Iterator[str]:
    added = [SummaryId(number) for number in range(old.next_summary, new.next_summary)]
    if added and added != [changed]:
        yield f"summaries {added} were added, only {changed} may change"
    for summary in _summaries(old):
        was, now = old.summary(summary), new.summary(summary)
        if summary != changed and was is not now and was != now:
            yield f"summary {summary} changed, only {changed} may"
        before = _path(old, summary)
        if changed not in before and before != _path(new, summary):
            yield f"the path to summary {summary} changed, which does not go through summary {changed}"


def _new_chapters(old: Tree, new: Tree, judged_anew: SummaryId | None, *, folds: bool) -> Iterator[str]:
    added = 0
    for summary in _summaries(new):
        was = old.chapters_at(summary) if summary < old.next_summary else ()
        now = new.chapters_at(summary)
        if summary == judged_anew:
            was = ()
        if now[: len(was)] != was:
            yield f"the chapters that end at summary {summary} were {was} and are {now}"
        added += len(now) - len(was)
    if added != folds:
        yield f"{added} chapters came"


def no_change_same_object(edge: Edge) -> Iterator[str]:
    """L10: an operation that changes nothing returns the object it was given."""
    if edge.after == edge.before and edge.after is not edge.before:
        yield "the state is equal to the one before and another object"


def retext_is_a_detour_saved(edge: Edge) -> Iterator[str]:
    """L11: `retext(m)` equals, but for `after`: revise to the label (blank lesson), grow the covers again,
    `compress(m)` with its kind, and grow the open segment again.
    """
    if not isinstance(edge.command, Retext) or edge.refusal is not None:
        return
    tree = edge.before.tree
    head = tree.summary(tree.summary_head)
    back = grown(revise(edge.before, head.label, "").unwrap().state, map(tree.step, head.covers))
    if not isinstance(back, Active):
        yield f"the way back to label {head.label} ends in {type(back).__name__}"
        return
    detour = grown(compress(back, edge.command.text, head.kind).unwrap(), view(edge.before).raw)
    alike = (
        detour == edge.after
        if head.after == head.parent
        else _but_for_after(detour) == _but_for_after(edge.after)
    )
    if not alike:
        yield f"the detour leads to {canonical(detour)}, the retext to {canonical(edge.after)}"


_BUT_FOR_AFTER: Final = (
    *("phase", "heads", "steps", "step children", "summary children", "chapters", "lessons", "instructions"),
    *("task", "in force", "R", "continuations", "subgoals", "lessons here", "boundary", "inside"),
)
"""The parts of a plain form that do not say how the summary head was come to."""


def _but_for_after(state: State) -> tuple[object, ...]:
    """Return what can be seen of a state, without `after` of the head and what is asked because of it."""
    form = canonical(state)
    summaries = [attrs.evolve(each, after=SummaryId(0)) for each in state.tree.summaries()]
    asked = judge_request(state) if isinstance(state, Unverified) else None
    question = asked and (asked.task, asked.instructions, asked.kind, asked.before, asked.steps, asked.text)
    others = [each.after for each in state.tree.summaries() if each.id != state.tree.summary_head]
    return (*[form[part] for part in _BUT_FOR_AFTER], summaries, others, question)


def fold_changes_only_what_is_shown(edge: Edge) -> Iterator[str]:
    """L14: fold leaves steps, summaries, lessons, instructions, heads and phase alone, and C has fewer lines."""
    if not isinstance(edge.command, Fold) or edge.refusal is not None:
        return
    was, now = canonical(edge.before), canonical(edge.after)
    changed = [part for part in was if was[part] != now[part] and part not in ("C", "chapters", "inside")]
    if changed:
        yield f"fold changed {changed}"
    before, after = view(edge.before).compressed, view(edge.after).compressed
    if len(after) >= len(before):
        yield f"C was {before} and is {after}"


def _steps(tree: Tree) -> Iterator[StepId]:
    return map(StepId, range(tree.next_step))


def _summaries(tree: Tree) -> Iterator[SummaryId]:
    return map(SummaryId, range(tree.next_summary))


def _path(tree: Tree, summary: SummaryId) -> list[SummaryId]:
    path = [summary]
    while path[-1] > 0:
        path.append(tree.summary(path[-1]).parent)
    return path


def _way(tree: Tree) -> list[Summary]:
    """Walk from the summary head by `after` up to the root."""
    way = [tree.summary(tree.summary_head)]
    while way[-1].id != 0:
        way.append(tree.summary(way[-1].after))
    return way


def _unfolded(tree: Tree, line: Line) -> list[Summary]:
    """Return the summaries that a line of C stands for, the last one first."""
    if not isinstance(line, Chapter):
        return [line]
    under = [tree.summary(line.last)]
    while under[-1].id not in (line.first, 0):
        under.append(tree.summary(under[-1].parent))
    return under


EDGE_LAWS: Final[dict[str, Law]] = {
    "L1": nothing_is_lost,
    "L3": grow_is_idempotent,
    "L4": compress_reuses_summary,
    "L5": revise_restores,
    "L6": errors_are_isolated,
    "L9": changes_are_local,
    "L10": no_change_same_object,
    "L11": retext_is_a_detour_saved,
    "L12": fallbacks_leave_no_trace,
    "L13": fallback_hides_nothing,
    "L14": fold_changes_only_what_is_shown,
    "D5": question_stands,
    "D12": question_is_whole,
}
"""The laws of one edge by their number; the last two are decisions that read like one."""

_SPECIAL: Final[dict[str, tuple[type, ...]]] = {
    "L3": (Grow,),
    "L4": (Compress,),
    "L5": (Revise,),
    "L6": (Revise,),
    "L11": (Retext,),
    "L12": (Compress,),
    "L13": (Compress,),
    "L14": (Fold,),
    "D5": (Grow, Instruct, Revise),
    "D12": (Compress, Retext),
}


def laws_of(command: Operation) -> tuple[tuple[str, Law], ...]:
    """Return the laws that say something about this kind of command, with their numbers."""
    return _LAWS_OF[type(command)]


_LAWS_OF: Final[dict[type, tuple[tuple[str, Law], ...]]] = {
    kind: tuple((number, law) for number, law in EDGE_LAWS.items() if kind in _SPECIAL.get(number, (kind,)))
    for kind in (Instruct, Grow, Compress, Retext, ApplyVerdict, Accept, Revise, Fold)
}
