"""What Maintain asks about a summary, and the digest that ties an answer to the question (D5, D12, D17)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, final

import attrs

from mage.engine.hints import Hints, hints_for, taken_in
from mage.engine.ids import ROOT_STEP, ROOT_SUMMARY, Digest, StepId
from mage.engine.nodes import Accepted, Kind, Line, Step, Summary, SummaryVerdict
from mage.engine.text import quoted
from mage.engine.tree import Tree, trace

if TYPE_CHECKING:
    from rpds import List


@final
@attrs.frozen
class Earlier:
    """A fallback that the summary to be judged took in: an interim account of the same subgoal (D12).

    Attributes:
        label: the boundary it starts from.
        boundary: the last step it covers.
        text: its text.
        verdict: what was said of that text.
    """

    label: StepId
    boundary: StepId
    text: str
    verdict: SummaryVerdict


@final
@attrs.frozen
class JudgeRequest:
    """The question that Maintain puts to a judge: does `text` tell truly what `steps` did (D5)?

    Attributes:
        task: the task, as given at the start.
        instructions: the texts in force for these steps, in path order (D17).
        kind: what the summary claims: a finished subgoal, or only a faithful account (fallback).
        before: what C shows above the summary, oldest first.
        hints: what else was tried on the way of this subgoal, and the lessons there.
        earlier: the fallbacks that the summary took in, oldest first; `steps` has their steps too.
        steps: what was done, in execution order.
        text: the text to be judged.
        boundaries: where a mistake may be said to have begun (`Failed.boundary`), in path order.
        digest: give it back with the answer. `hints`, `boundaries`, `manual` and `later` do not enter it.
        manual: what the environment says of itself, which the engine does not know: an agent adds it.
        later: the instructions that came with the last of these steps; the engine leaves it empty, and a memory adds them.
    """

    task: str
    instructions: tuple[str, ...]
    kind: Kind
    before: tuple[Line, ...]
    hints: Hints
    earlier: tuple[Earlier, ...]
    steps: tuple[Step, ...]
    text: str
    boundaries: tuple[StepId, ...]
    digest: Digest
    manual: str = ""
    later: tuple[str, ...] = ()


def in_force(tree: Tree, base: StepId, end: StepId) -> tuple[str, ...]:
    """Return the instructions in force on the active path before step `end`, counted from `base` (D17).

    Cost: O(number returned + instructions placed at or after `end`).
    """
    notes = tree._settled.notes
    if not notes.instructions:
        return ()
    once: set[StepId] = set()
    for step in _before(notes.once, end):
        if step >= base or not once:
            once.add(step)
        if step < base:
            break
    return tuple(
        instruction.text
        for step in sorted(once.union(_before(notes.standing, end)))
        for instruction in tree.instructions_at(step)
        if instruction.standing or step in once
    )


def _before(places: List[StepId], end: StepId) -> Iterator[StepId]:
    """Yield the places before step `end`, deepest first."""
    return (step for step in places if step < end)


def request_for(tree: Tree, digest: Digest, *, since_root: bool) -> JudgeRequest:
    """Return the question about the summary head; `digest` is its digest.

    Cost: O(size of the answer), in which `boundaries` has one entry for each summary of the way.
    """
    summary = tree.head_summary
    before = list(tree.lines_upwards(tree.summary(summary.parent)))
    before.reverse()
    return JudgeRequest(
        task=tree.task,
        instructions=_in_force_for(tree, summary),
        kind=summary.kind,
        before=tuple(before),
        hints=hints_for(tree, summary),
        earlier=tuple(
            [Earlier(each.label, each.boundary, each.text, each.verdict) for each in taken_in(tree, summary)]
        ),
        steps=tuple(trace(tree, ROOT_STEP if since_root else summary.label, summary.boundary)),
        text=summary.text,
        boundaries=boundaries_below(tree, summary.boundary),
        digest=digest,
    )


def boundaries_below(tree: Tree, limit: StepId) -> tuple[StepId, ...]:
    """Return the boundaries of the way that lie below step `limit`, in path order (D5, D7).

    Cost: O(summaries of the way).
    """
    found = {summary.boundary for summary in tree.way_upwards()}
    return tuple(sorted([boundary for boundary in {ROOT_STEP, *found} if boundary < limit]))


def digest_of(tree: Tree) -> Digest:
    """Return the digest of the summary head: SHA-256 over the canonical JSON of what is asked (D5).

    What stands above the summary enters by the running hash that it keeps. Cost: O(contents of its covers).
    """
    summary = tree.head_summary
    steps = trace(tree, summary.label, summary.boundary)
    covers = [f"[{step.id},{quoted(step.action)},{quoted(step.observation)}]" for step in steps]
    earlier = [spelled(each) for each in taken_in(tree, summary)]
    instructions = [quoted(text) for text in _in_force_for(tree, summary)]
    return sealed(
        f'{{"before":"{summary.above}","covers":{_array(covers)},"earlier":{_array(earlier)},'
        f'"instructions":{_array(instructions)},"kind":"{summary.kind}","summary":{summary.id},'
        f'"task":{quoted(tree.task)},"text":{quoted(summary.text)}}}'
    )


def _in_force_for(tree: Tree, summary: Summary) -> tuple[str, ...]:
    base = tree.summary(tree.summary(summary.parent).base)
    return in_force(tree, base.boundary, summary.boundary)


def above(parent: Summary) -> Digest:
    """Return the running hash of what stands above a child of `parent`: over the parent's, and its line (D5).

    Cost: O(length of the parent's text).
    """
    if parent.id == ROOT_SUMMARY:
        return Digest("")
    return sealed(
        f'{{"above":"{parent.above}","label":{parent.label},"text":{quoted(parent.text)},'
        f'"verdict":{_spelled_verdict(parent.verdict)}}}'
    )


def spelled(summary: Summary) -> str:
    """Return the canonical JSON of what is said of a summary that stands in a line: all but its steps."""
    verdict = _spelled_verdict(summary.verdict)
    return f"[{summary.label},{summary.boundary},{quoted(summary.text)},{verdict}]"


def _spelled_verdict(verdict: SummaryVerdict) -> str:
    """Spell a verdict that stands above a head, where all are trusted (I8)."""
    if not isinstance(verdict, Accepted):
        return '["passed","","",null]'
    failed = verdict.despite
    if failed is None:
        return '["accepted","","",null]'
    boundary = "null" if failed.boundary is None else failed.boundary
    return f'["accepted",{quoted(failed.feedback)},"{failed.fault}",{boundary}]'


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def sealed(canonical: str) -> Digest:
    """Return the SHA-256 of canonical JSON, lone surrogates escaped as JSON does."""
    return Digest(hashlib.sha256(canonical.encode(errors="backslashreplace")).hexdigest())
