"""A state as the bytes of a snapshot: what a journal leads to, packed so that it is there at once.

A cache and no format to exchange: `mage.codec` has that. It is JSON of arrays, not of objects: 100,000 steps
are read in a quarter of a second. (Compressing it would halve its size, and take half as long again.) Whoever
finds a snapshot checks its digest first, which ties it to the very records that it was made from: `unpack`
trusts what it reads as far as that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from mage.codec.strict_json import write_json
from mage.codec.verdicts import SUMMARY_VERDICT, summary_verdict_document, summary_verdict_of
from mage.engine.assemble import assemble, in_phase
from mage.engine.ids import ROOT_STEP, StepId, SummaryId
from mage.engine.machine import State
from mage.engine.nodes import Instruction, Step, Summary, as_kind
from mage.engine.tree import Tree
from mage.session.collector import collector_paused

__all__ = ["pack", "unpack"]

_FORMAT: Final = "mage-snapshot-1"


def pack(state: State) -> bytes:
    """Return a state in bytes. Cost: O(size of the tree)."""
    tree = state.tree
    parents: list[int] = []
    texts: list[str] = []
    for step in tree.steps():
        parents.append(step.parent)
        texts += step.content
    document = [
        _FORMAT,
        [tree.task, tree.step_head, tree.summary_head],
        parents,
        texts,
        [_packed(summary) for summary in tree.summaries()],
        [[step, tree.lessons_at(step)] for step in _places(tree) if tree.lessons_at(step)],
        [
            [step, [[placed.text, placed.standing] for placed in tree.instructions_at(step)]]
            for step in _places(tree)
            if tree.instructions_at(step)
        ],
    ]
    return write_json(document)


def _places(tree: Tree) -> Iterator[StepId]:
    return map(StepId, range(ROOT_STEP, tree.next_step))


def _packed(summary: Summary) -> list[object]:
    return [
        summary.parent,
        summary.label,
        summary.covers,
        summary.text,
        summary.kind,
        summary_verdict_document(summary.verdict),
    ]


def unpack(data: bytes) -> State | None:
    """Return the state that `pack` was given, or None where these bytes are of another form.

    Cost: O(size of the tree). The garbage collector pauses until it returns.
    """
    try:
        with collector_paused():
            return _unpacked(json.loads(data))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _unpacked(document: Any) -> State | None:
    form, (task, step_head, summary_head), parents, texts, summaries, lessons, instructions = document
    if form != _FORMAT or len(texts) != 2 * len(parents):
        return None
    numbers = map(StepId, range(1, len(parents) + 1))
    steps = list(map(Step, numbers, parents, texts[::2], texts[1::2]))
    tree = assemble(
        task,
        steps=steps,
        summaries=[_summary(number, packed) for number, packed in enumerate(summaries, 1)],
        lessons={StepId(step): left for step, left in lessons},
        instructions={
            StepId(step): tuple(Instruction(text, standing) for text, standing in placed)
            for step, placed in instructions
        },
        step_head=StepId(step_head),
        summary_head=SummaryId(summary_head),
    )
    return in_phase(tree)


def _summary(number: int, packed: Any) -> Summary:
    parent, label, covers, text, kind, verdict = packed
    if SUMMARY_VERDICT.problem(verdict) is not None:
        raise ValueError(verdict)
    steps = tuple(covers)
    return Summary(
        SummaryId(number), parent, label, steps, text, as_kind(kind), summary_verdict_of(verdict), steps[-1]
    )
