"""What Maintain asks about a summary, and the digest that ties an answer to the question (D5, D12, D17)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, final

import attrs

from mage.engine.ids import ROOT_STEP, Digest, StepId
from mage.engine.nodes import Kind, Step, Summary
from mage.engine.text import quoted
from mage.engine.tree import Tree, trace

if TYPE_CHECKING:
    from rpds import List

__all__ = ["Earlier", "JudgeRequest", "digest_of", "in_force", "request_for"]


@final
@attrs.frozen
class Earlier:
    """A fallback summary right above the one to be judged, of the same subgoal (D12).

    Attributes:
        label: the boundary it starts from.
        text: its text.
    """

    label: StepId
    text: str


@final
@attrs.frozen
class JudgeRequest:
    """The question that Maintain puts to a judge: does `text` tell truly what `steps` did (D5)?

    Attributes:
        task: the task, as given at the start.
        instructions: the texts in force for these steps, in path order (D17).
        kind: what the summary claims: a finished subgoal, or only a faithful account (fallback).
        earlier: the fallback summaries of the same subgoal, oldest first; their steps stand in `steps` too.
        steps: what was done, in execution order.
        text: the text to be judged.
        digest: give it back with the answer.
    """

    task: str
    instructions: tuple[str, ...]
    kind: Kind
    earlier: tuple[Earlier, ...]
    steps: tuple[Step, ...]
    text: str
    digest: Digest


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
    """Return the question about the summary head; `digest` is its digest. Cost: O(size of the answer)."""
    summary = tree.head_summary
    run = _fallbacks_above(tree, summary)
    above = ROOT_STEP if since_root else (run[0] if run else summary).label
    return JudgeRequest(
        task=tree.task,
        instructions=_in_force_for(tree, summary),
        kind=summary.kind,
        earlier=tuple(Earlier(fallback.label, fallback.text) for fallback in run),
        steps=tuple(trace(tree, above, summary.boundary)),
        text=summary.text,
        digest=digest,
    )


def digest_of(tree: Tree) -> Digest:
    """Return the digest of the summary head: SHA-256 over the canonical JSON of what is asked (D5).

    Cost: O(contents of the covers, its own and those of the fallbacks of the same subgoal).
    """
    summary = tree.head_summary
    earlier = [
        f'{{"covers":{_contents(tree, fallback)},"text":{quoted(fallback.text)}}}'
        for fallback in _fallbacks_above(tree, summary)
    ]
    instructions = [quoted(text) for text in _in_force_for(tree, summary)]
    canonical = (
        f'{{"covers":{_contents(tree, summary)},"earlier":[{",".join(earlier)}],'
        f'"instructions":[{",".join(instructions)}],"kind":"{summary.kind}","summary":{summary.id},'
        f'"task":{quoted(tree.task)},"text":{quoted(summary.text)}}}'
    )
    return Digest(hashlib.sha256(canonical.encode(errors="backslashreplace")).hexdigest())


def _in_force_for(tree: Tree, summary: Summary) -> tuple[str, ...]:
    return in_force(tree, tree.summary(summary.parent).base, summary.boundary)


def _fallbacks_above(tree: Tree, summary: Summary) -> list[Summary]:
    """Return the run of fallback summaries right above a subgoal, oldest first; a fallback has none (D12)."""
    run: list[Summary] = []
    while summary.kind == "subgoal" or run:
        summary = tree.summary(summary.parent)
        if summary.kind == "subgoal":
            break
        run.append(summary)
    run.reverse()
    return run


def _contents(tree: Tree, summary: Summary) -> str:
    steps = trace(tree, summary.label, summary.boundary)
    return (
        f"[{','.join([f'[{step.id},{quoted(step.action)},{quoted(step.observation)}]' for step in steps])}]"
    )
