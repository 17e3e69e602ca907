"""A whole tree from its nodes, as a file brings them: the same tree that the operations would have built.

The operations build a tree one change at a time. Whoever has all nodes at hand, such as the codec, would
pay for every version in between; here the maps and indexes are made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from rpds import HashTrieMap, List

from mage.engine.ids import ROOT_STEP, ROOT_SUMMARY, StepId, SummaryId
from mage.engine.judging import above, digest_of
from mage.engine.machine import Active, Rejected, State, Unverified
from mage.engine.nodes import (
    ROOT,
    ROOT_OF_SUMMARIES,
    Accepted,
    Chapter,
    Failed,
    Instruction,
    Passed,
    Pending,
    Step,
    Summary,
)
from mage.engine.tree import CHUNK, Content, Notes, Settled, TopLayer, Tree


def assemble(
    task: str,
    *,
    steps: Sequence[Step] = (),
    summaries: Iterable[Summary] = (),
    lessons: Mapping[StepId, Sequence[str]],
    instructions: Mapping[StepId, tuple[Instruction, ...]],
    step_head: StepId,
    summary_head: SummaryId,
    chapters: Mapping[SummaryId, tuple[Chapter, ...]],
) -> Tree:
    """Return the tree that holds these nodes and notes, and stands on these heads.

    It trusts its arguments as far as said below and proves nothing: wrap the tree in its phase and call
    `check` before anyone else trusts it. For the parts of a reachable tree the result equals that tree.

    Args:
        task: the task.
        steps: all but the root, in order of ids from 1; every parent smaller than its child.
        summaries: all but the root, in order of ids from 1; every parent smaller than its child, none
            without covers. Their `base` and `above` are not read: they are derived here, on the way.
        lessons: by boundary, oldest first (D8).
        instructions: by step, oldest first (D17).
        step_head: the root or one of `steps`.
        summary_head: the root or one of `summaries`.
        chapters: by the summary at which they end, oldest first (D19).

    Returns:
        The tree. Cost: O(size of the arguments).
    """
    chunks, tail = _chunked(steps)
    left = HashTrieMap({step: List(texts[::-1]) for step, texts in lessons.items()})
    places = _places_upwards(steps, step_head, instructions)
    notes = Notes(
        lessons=left,
        instructions=HashTrieMap(instructions),
        once=List([step for step in places if any(not each.standing for each in instructions[step])]),
        standing=List([step for step in places if any(each.standing for each in instructions[step])]),
    )
    top = _top_layer(summaries, summary_head, chapters)
    return Tree(Settled(task, chunks, _branches(steps), top, notes), tail, step_head)


def _chunked(steps: Sequence[Step]) -> tuple[HashTrieMap[int, tuple[Step, ...]], tuple[Step, ...]]:
    """Cut the steps as the tree keeps them. A full tail is packed only when the next step comes."""
    every = (ROOT, *steps)
    tail_from = (len(every) - 1) // CHUNK * CHUNK
    chunks = {start // CHUNK: every[start : start + CHUNK] for start in range(0, tail_from, CHUNK)}
    return HashTrieMap(chunks), every[tail_from:]


def _branches(steps: Sequence[Step]) -> HashTrieMap[StepId, HashTrieMap[Content, StepId]]:
    """Index every step that does not follow the one created right before it."""
    branches: dict[StepId, dict[Content, StepId]] = {}
    for step in steps:
        if step.parent != step.id - 1:
            branches.setdefault(step.parent, {})[step.content] = step.id
    index: dict[StepId, HashTrieMap[Content, StepId]] = {
        parent: HashTrieMap(others) for parent, others in branches.items()
    }
    return HashTrieMap(index)


def _places_upwards(
    steps: Sequence[Step], head: StepId, instructions: Mapping[StepId, tuple[Instruction, ...]]
) -> list[StepId]:
    """Return the steps of the active path that carry instructions, deepest first."""
    if not instructions:
        return []
    return [step for step in _upwards(steps, head) if step in instructions]


def _upwards(steps: Sequence[Step], head: StepId) -> Iterator[StepId]:
    step = head
    while step != ROOT_STEP:
        yield step
        step = steps[step - 1].parent
    yield ROOT_STEP


def _top_layer(
    summaries: Iterable[Summary], head: SummaryId, chapters: Mapping[SummaryId, tuple[Chapter, ...]]
) -> TopLayer:
    nodes = {ROOT_SUMMARY: ROOT_OF_SUMMARIES}
    branches: dict[SummaryId, dict[StepId, SummaryId]] = {}
    for summary in summaries:
        nodes[summary.id] = summary
        if summary.parent != summary.id - 1:
            branches.setdefault(summary.parent, {})[summary.boundary] = summary.id
    for summary in _way(nodes, head):
        nodes[summary.id] = _with_caches(summary, nodes[summary.parent])
    index = HashTrieMap({parent: HashTrieMap(others) for parent, others in branches.items()})
    at_head = nodes.pop(head)
    return TopLayer(HashTrieMap(nodes), index, at_head, HashTrieMap(chapters))


def _way(nodes: Mapping[SummaryId, Summary], head: SummaryId) -> list[Summary]:
    """Return the summaries of the way, without the root; parents before their children."""
    way: list[Summary] = []
    for _ in nodes:  # a forged way may be a circle
        if head == ROOT_SUMMARY:
            break
        way.append(nodes[head])
        head = nodes[head].after
    way.reverse()
    return way


def _with_caches(old: Summary, parent: Summary) -> Summary:
    base = old.id if old.kind == "subgoal" else parent.base
    return Summary(
        old.id,
        old.parent,
        old.after,
        old.label,
        old.covers,
        old.text,
        old.kind,
        old.verdict,
        base,
        above(parent),
    )


def in_phase(tree: Tree) -> State:
    """Return a tree in the phase that the verdict of its summary head stands for (D6).

    Its covers must hold together (I3), since a pending summary's digest is taken over them.
    Cost: O(1), for a pending one that of its digest.
    """
    verdict = tree.head_summary.verdict
    match verdict:
        case Pending():
            return Unverified(tree, digest_of(tree))
        case Failed():
            return Rejected(tree)
        case Passed() | Accepted():
            return Active(tree)
        case _:
            assert_never(verdict)
