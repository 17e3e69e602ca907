"""Chapters: one text shown in C in place of a run of finished subgoals, and what stands under a line (D19).

C would grow with the subgoals without end. A chapter changes what is shown and nothing else: the summary
path, verdicts, covers and the targets of revise stand. It is recorded only once it was judged against the
texts that it replaces, so there is no phase for it and nothing is pending.
"""

from __future__ import annotations

from typing import final

import attrs
from returns.result import Failure, Result, Success

from mage.engine.edit import with_chapter
from mage.engine.errors import (
    BlankSummary,
    FoldRefusal,
    StaleVerdict,
    UnfoldableRange,
    UnknownLine,
    require_id,
)
from mage.engine.ids import Digest, StepId
from mage.engine.judging import sealed, spelled
from mage.engine.machine import Active, State, require_legal
from mage.engine.nodes import Accepted, Chapter, Line, Step
from mage.engine.text import as_text, is_blank, quoted
from mage.engine.tree import Tree, first_of, trace
from mage.engine.view import instructions


@final
@attrs.frozen
class FoldRequest:
    """The question about a chapter: does `text` say all of `lines` that later work needs, and truly (D19)?

    Attributes:
        task: the task, as given at the start.
        instructions: the texts in force, in path order (D17).
        lines: the lines of C that the chapter is to replace, oldest first.
        text: the text to be judged.
        digest: give it back with the fold.
    """

    task: str
    instructions: tuple[str, ...]
    lines: tuple[Line, ...]
    text: str
    digest: Digest


def fold_request(
    state: Active, first: StepId | int, last: StepId | int, text: str
) -> Result[FoldRequest, FoldRefusal]:
    """Return what a judge is to be asked about a chapter before it is recorded (D19).

    Args:
        state: `Active`.
        first: the label of the first line that is to be replaced.
        last: the boundary of the last.
        text: what C is to show instead.

    Returns:
        The request, or `UnfoldableRange` or `BlankSummary`, in this order. Cost: O(lines of C).

    Raises:
        IllegalPhase: `state` is not `Active`.
        NotAnId: `first` or `last` is not an integer.
        NotText: `text` is not a string.
    """
    require_legal("fold_request", state)
    return _request(state, require_id(first), require_id(last), as_text(text))


def _request(state: Active, first: StepId, last: StepId, text: str) -> Result[FoldRequest, FoldRefusal]:
    tree = state.tree
    lines = _run(tree, first, last)
    if len(lines) < 2 or not all(map(_may_be_folded, lines)):
        return Failure(UnfoldableRange(first, last, _foldable(tree)))
    if is_blank(text):
        return Failure(BlankSummary())
    given = instructions(state)
    digest = _digest(tree.task, given, lines, text)
    return Success(FoldRequest(tree.task, given, lines, text, digest))


def _run(tree: Tree, first: StepId, last: StepId) -> tuple[Line, ...]:
    """Return the lines of C from label `first` to boundary `last`, oldest first; none if they are no lines."""
    run: list[Line] = []
    for line in tree.lines_upwards(tree.head_summary):
        if line.boundary == last or run:
            run.append(line)
        if line.label <= first:
            break
    if not run or run[-1].label != first:
        return ()
    run.reverse()
    return tuple(run)


def _may_be_folded(line: Line) -> bool:
    return isinstance(line, Chapter) or line.kind == "subgoal"


def _foldable(tree: Tree) -> tuple[tuple[StepId, StepId], ...]:
    lines = [
        (line.label, line.boundary) for line in tree.lines_upwards(tree.head_summary) if _may_be_folded(line)
    ]
    lines.reverse()
    return tuple(lines)


def _digest(task: str, given: tuple[str, ...], lines: tuple[Line, ...], text: str) -> Digest:
    spelled_lines = ",".join([_spelled(line) for line in lines])
    spelled_instructions = ",".join([quoted(each) for each in given])
    return sealed(
        f'{{"instructions":[{spelled_instructions}],"lines":[{spelled_lines}],'
        f'"task":{quoted(task)},"text":{quoted(text)}}}'
    )


def _spelled(line: Line) -> str:
    if isinstance(line, Chapter):
        return f"[{line.label},{line.boundary},{quoted(line.text)},{line.accepted}]"
    return spelled(line)


def fold(
    state: Active, first: StepId | int, last: StepId | int, text: str, digest: Digest | str
) -> Result[Active, FoldRefusal | StaleVerdict]:
    """Show a chapter in C in place of a run of lines, once its text was judged (D19, L14).

    Args:
        state: `Active`; the phase stays.
        first: the label of the first line that is replaced.
        last: the boundary of the last.
        text: what C shows instead.
        digest: the digest of the request that a judge has passed, or that the host answers for.

    Returns:
        The new state, or `UnfoldableRange`, `BlankSummary` or `StaleVerdict`, in this order.
        Cost: O(lines of C).

    Raises:
        IllegalPhase: `state` is not `Active`.
        NotAnId: `first` or `last` is not an integer.
        NotText: `text` is not a string.
    """
    require_legal("fold", state)
    text = as_text(text)
    requested = _request(state, require_id(first), require_id(last), text)
    request = requested.value_or(None)
    if request is None:
        return Failure(requested.failure())
    if digest != request.digest:
        return Failure(StaleVerdict(Digest(digest), request.digest))
    tree = state.tree
    oldest, newest = request.lines[0], request.lines[-1]
    chapter = Chapter(
        label=oldest.label,
        boundary=newest.boundary,
        text=text,
        accepted=sum(map(_accepted, request.lines)),
        first=first_of(oldest, tree).id,
        last=newest.last if isinstance(newest, Chapter) else newest.id,
    )
    return Success(Active(with_chapter(tree, chapter)))


def _accepted(line: Line) -> int:
    return line.accepted if isinstance(line, Chapter) else int(isinstance(line.verdict, Accepted))


@final
@attrs.frozen
class Inside:
    """What one line stands for (D19).

    Attributes:
        line: the line.
        lines: the lines that a chapter replaced, oldest first; none for a summary.
        steps: the steps that a summary covers, in execution order; none for a chapter.
    """

    line: Line
    lines: tuple[Line, ...]
    steps: tuple[Step, ...]


def inside(
    state: State, label: StepId | int, boundary: StepId | int | None = None
) -> Result[Inside, UnknownLine]:
    """Return what a line of C, or a line inside one of its chapters, stands for (D19). Any phase.

    A chapter, a chapter in it and its first summary have one label: the boundary tells them apart.

    Args:
        state: any.
        label: the label of the line.
        boundary: its boundary; None means the line of C that has this label.

    Returns:
        The line and what stands under it, or `UnknownLine` with the lines of C.
        Cost: O(lines of C and of the chapters passed through + steps returned).

    Raises:
        NotAnId: `label` or `boundary` is not an integer.
    """
    tree = state.tree
    label = require_id(label)
    end = None if boundary is None else require_id(boundary)
    line = _line_at(tree, label, end)
    if line is None:
        shown = [(each.label, each.boundary) for each in tree.lines_upwards(tree.head_summary)]
        return Failure(UnknownLine(label, end, tuple(shown[::-1])))
    if isinstance(line, Chapter):
        return Success(Inside(line, lines_inside(tree, line), ()))
    return Success(Inside(line, (), tuple(trace(tree, line.label, line.boundary))))


def _line_at(tree: Tree, label: StepId, boundary: StepId | None) -> Line | None:
    lines = tuple(tree.lines_upwards(tree.head_summary))
    while True:
        around = next((line for line in lines if line.label <= label < line.boundary), None)
        if around is None:
            return None
        if around.label == label and boundary in (None, around.boundary):
            return around
        if boundary is None or not isinstance(around, Chapter):
            return None
        lines = lines_inside(tree, around)


def lines_inside(tree: Tree, chapter: Chapter) -> tuple[Line, ...]:
    """Return the lines that a chapter replaced, oldest first (D19). Cost: O(their number)."""
    ending_here = tree.chapters_at(chapter.last)
    place = ending_here.index(chapter)
    line: Line = ending_here[place - 1] if place else tree.summary(chapter.last)
    lines = [line]
    while line.label > chapter.label:
        line = next(tree.lines_upwards(tree.summary(first_of(line, tree).parent)))
        lines.append(line)
    lines.reverse()
    return tuple(lines)
