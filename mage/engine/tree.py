"""The immutable two-layer tree and how it is read.

Steps are kept in chunks of 32: full ones in a persistent map, the newest in a plain tuple, the *tail*. A
grow at the newest step touches the tail alone. That step `p + 1` is a child of step `p` is the usual case
and needs no index; every other child stands in `branches`.

Costs name `d` for the depth of a path, `k` for the number of children of one node. Looking up a step or a
summary costs O(1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias, final

import attrs

from mage.engine.errors import UnknownStep, UnknownSummary
from mage.engine.ids import ROOT_STEP, ROOT_SUMMARY, StepId, SummaryId
from mage.engine.nodes import Chapter, Instruction, Line, Step, Summary

if TYPE_CHECKING:
    from rpds import HashTrieMap, List

CHUNK: Final = 32
"""Steps per chunk: a power of two, small enough that copying a tail is cheaper than a map insert."""
_SHIFT: Final = 5
_MASK: Final = CHUNK - 1

Content: TypeAlias = tuple[str, str]


@final
@attrs.frozen(weakref_slot=False)
class TopLayer:
    """The summaries, and where the agent stands among them.

    Attributes:
        others: every summary but the head, by id. The head changes with each verdict and text; the map
            only when the agent moves on.
        branches: for each summary its children by boundary, without the one that has the next id; below
            one summary the boundary decides the covers, because the path to a step is unique.
        head: the summary head.
        chapters: for each summary the chapters that end at it, oldest first (D19).
    """

    others: HashTrieMap[SummaryId, Summary]
    branches: HashTrieMap[SummaryId, HashTrieMap[StepId, SummaryId]]
    head: Summary
    chapters: HashTrieMap[SummaryId, tuple[Chapter, ...]]


@final
@attrs.frozen(weakref_slot=False)
class Notes:
    """What was left at steps: lessons (D8) and instructions (D17).

    Attributes:
        lessons: by boundary, newest first.
        instructions: by step, oldest first.
        once: steps of the active path with an instruction that is not standing, deepest first.
        standing: steps of the active path with a standing instruction, deepest first.
    """

    lessons: HashTrieMap[StepId, List[str]]
    instructions: HashTrieMap[StepId, tuple[Instruction, ...]]
    once: List[StepId] = attrs.field(eq=False)
    standing: List[StepId] = attrs.field(eq=False)


@final
@attrs.frozen(weakref_slot=False, cache_hash=True)
class Settled:
    """All that a grow at the newest step leaves alone."""

    task: str
    chunks: HashTrieMap[int, tuple[Step, ...]]
    branches: HashTrieMap[StepId, HashTrieMap[Content, StepId]]
    top: TopLayer
    notes: Notes


@final
@attrs.frozen(weakref_slot=False, repr=False)
class Tree:
    """An agent's history: steps, the summaries over them, what was left at boundaries, and two heads.

    Two trees are equal when they hold the same nodes, notes and heads; both that and a hash cost O(size).

    Attributes:
        step_head: where the agent stands among the steps (p_b).
    """

    _settled: Settled
    _tail: tuple[Step, ...]
    step_head: StepId

    def __repr__(self) -> str:
        return (
            f"<Tree {self.next_step - 1} steps, {self.next_summary - 1} summaries,"
            f" at [Step {self.step_head}] under summary {self.summary_head}>"
        )

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Tree:
        return self

    @property
    def task(self) -> str:
        """The task, as given at the start."""
        return self._settled.task

    @property
    def summary_head(self) -> SummaryId:
        """Where the agent stands among the summaries (p_t)."""
        return self._settled.top.head.id

    @property
    def head_summary(self) -> Summary:
        """The summary at the summary head."""
        return self._settled.top.head

    @property
    def boundary(self) -> StepId:
        """The current boundary: the last step that the summary head covers."""
        return self._settled.top.head.covers[-1]

    @property
    def next_step(self) -> StepId:
        """The id that the next new step gets (l); ids run from 0 to it."""
        return StepId(self._tail[-1].id + 1)

    @property
    def next_summary(self) -> SummaryId:
        """The id that the next new summary gets; ids run from 0 to it."""
        return SummaryId(len(self._settled.top.others) + 1)

    def step(self, step: StepId) -> Step:
        """Return the step with this id. Cost: O(1).

        Raises:
            UnknownStep: there is none.
        """
        tail = self._tail
        place = step - tail[0].id
        if place >= 0:
            if place < len(tail):
                return tail[place]
            raise UnknownStep(step)
        chunk = self._settled.chunks.get(step >> _SHIFT)
        if chunk is None:
            raise UnknownStep(step)
        return chunk[step & _MASK]

    def summary(self, summary: SummaryId) -> Summary:
        """Return the summary with this id. Cost: O(1).

        Raises:
            UnknownSummary: there is none.
        """
        top = self._settled.top
        found = top.head if summary == top.head.id else top.others.get(summary)
        if found is None:
            raise UnknownSummary(summary)
        return found

    def steps(self) -> Iterator[Step]:
        """Yield every step but the root, in order of ids."""
        return map(self.step, map(StepId, range(1, self.next_step)))

    def summaries(self) -> Iterator[Summary]:
        """Yield every summary but the root, in order of ids."""
        return map(self.summary, map(SummaryId, range(1, self.next_summary)))

    def active_path(self) -> tuple[StepId, ...]:
        """Return the ids of the steps from the root to the step head. Cost: O(d)."""
        below = trace(self, ROOT_STEP, self.step_head)
        return (ROOT_STEP, *[step.id for step in below])

    def segment(self) -> tuple[StepId, ...]:
        """Return the ids of the open segment, in execution order. Cost: O(its length)."""
        return tuple([step.id for step in trace(self, self.boundary, self.step_head)])

    def summary_path(self) -> tuple[SummaryId, ...]:
        """Return the ids of the summaries from the root to the summary head. Cost: O(d)."""
        path = [summary.id for summary in self.summaries_upwards()]
        path.reverse()
        return (ROOT_SUMMARY, *path)

    def summaries_upwards(self) -> Iterator[Summary]:
        """Yield the summaries of the summary path from the head upwards, without the root."""
        others = self._settled.top.others
        summary = self._settled.top.head
        while summary.id != ROOT_SUMMARY:
            yield summary
            summary = others[summary.parent]

    def way_upwards(self) -> Iterator[Summary]:
        """Yield the summaries of the way from the head upwards, without the root (D7)."""
        others = self._settled.top.others
        summary = self._settled.top.head
        while summary.id != ROOT_SUMMARY:
            yield summary
            summary = others[summary.after]

    def chapters_at(self, summary: SummaryId) -> tuple[Chapter, ...]:
        """Return the chapters that end at a summary, oldest first (D19). Cost: O(1)."""
        return self._settled.top.chapters.get(summary, ())

    def lines_upwards(self, summary: Summary) -> Iterator[Line]:
        """Yield the lines of C from that of `summary` upwards: the newest chapter that ends at a summary
        stands for it and for all that the chapter covers (D19).
        """
        others, chapters = self._settled.top.others, self._settled.top.chapters
        has_chapters = len(chapters) > 0
        while summary.id != ROOT_SUMMARY:
            ending = chapters.get(summary.id) if has_chapters else None
            if ending is None:
                yield summary
            else:
                yield ending[-1]
                summary = self.summary(ending[-1].first)
            summary = others[summary.parent]  # the head is nobody's parent

    def step_children(self, step: StepId) -> tuple[StepId, ...]:
        """Return the ids of the steps taken from here, in order of ids. Cost: O(k log k).

        Raises:
            UnknownStep: there is no such step.
        """
        self.step(step)
        after = StepId(step + 1)
        first = (after,) if after < self.next_step and self.step(after).parent == step else ()
        others = self._settled.branches.get(step)
        return first if others is None else (*first, *sorted(others.values()))

    def summary_children(self, summary: SummaryId) -> tuple[SummaryId, ...]:
        """Return the ids of the summaries that continue this one, in order of ids. Cost: O(k log k).

        Raises:
            UnknownSummary: there is no such summary.
        """
        self.summary(summary)
        after = SummaryId(summary + 1)
        first = (after,) if after < self.next_summary and self.summary(after).parent == summary else ()
        others = self._settled.top.branches.get(summary)
        return first if others is None else (*first, *sorted(others.values()))

    def child_with(self, step: StepId, content: Content) -> StepId | None:
        """Return the child of `step`, which must be there, with this content. Cost: O(length of content)."""
        if step == self._tail[-1].id:
            return None  # the newest step, where an agent mostly is
        follower = self.step(StepId(step + 1))
        if follower.parent == step and follower.content == content:
            return follower.id
        others = self._settled.branches.get(step)
        return None if others is None else others.get(content)

    def child_ending_at(self, summary: SummaryId, boundary: StepId) -> SummaryId | None:
        """Return the child of `summary`, which must be there, whose covers end at `boundary`. Cost: O(1)."""
        after = SummaryId(summary + 1)
        if after < self.next_summary:
            follower = self.summary(after)
            if follower.parent == summary and follower.boundary == boundary:
                return after
        others = self._settled.top.branches.get(summary)
        return None if others is None else others.get(boundary)

    def lessons_at(self, boundary: StepId) -> tuple[str, ...]:
        """Return the lessons left at `boundary`, oldest first (D8). Cost: O(their number)."""
        lessons = self._settled.notes.lessons.get(boundary)
        return () if lessons is None else tuple(lessons)[::-1]

    @property
    def asked_at(self) -> StepId | None:
        """The deepest step of the active path with an instruction that is not standing (D17); None without one.

        Cost: O(1).
        """
        return next(iter(self._settled.notes.once), None)

    def instructions_at(self, step: StepId) -> tuple[Instruction, ...]:
        """Return the instructions placed at `step`, oldest first (D17). Cost: O(1)."""
        return self._settled.notes.instructions.get(step, ())


def first_of(line: Line, tree: Tree) -> Summary:
    """Return the first summary under a line: itself, where it is no chapter. Cost: O(1)."""
    return tree.summary(line.first) if isinstance(line, Chapter) else line


def trace(tree: Tree, above: StepId, below: StepId) -> list[Step]:
    """Return the steps after `above` down to `below`, in execution order (Algorithm 1, Trace; D3).

    `above` must stand on the path from the root to `below`. Cost: O(number of steps returned).
    """
    steps: list[Step] = []
    chunk = tree._tail
    first = chunk[0].id
    while below != above:
        if below < first:
            chunk = tree._settled.chunks[below >> _SHIFT]
            first = chunk[0].id
        step = chunk[below - first]
        steps.append(step)
        below = step.parent
    steps.reverse()
    return steps
