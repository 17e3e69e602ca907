"""The tree as lines of text: the active path straight down, what was left indented beside it."""

from __future__ import annotations

from typing import Final, final

import attrs

from mage.cli.output import printable
from mage.engine import Accepted, Failed, Passed, Pending, StepId, Summary, SummaryId, Tree

__all__ = ["Line", "draw", "one_line", "standing_of"]

_DEEPEST: Final = 24  # indents; what is deeper says how deep it is


@final
@attrs.frozen
class Line:
    """One line of a drawing.

    Attributes:
        depth: how far it is indented.
        text: what it says, without control characters.
        style: `"active"`, `"left"`, `"summary"`, `"lesson"` or `"note"`.
        opens: whether a branch begins here.
    """

    depth: int
    text: str
    style: str
    opens: bool = False

    def __str__(self) -> str:
        """Return the line as it is drawn: a branch that opens is tied to the line of its parent."""
        if self.depth > _DEEPEST:
            return f"{'│  ' * _DEEPEST}({self.depth} deep) {self.text}"
        return "│  " * (self.depth - self.opens) + "├─ " * self.opens + self.text


def one_line(text: str, width: int) -> str:
    """Return the start of a text on one line, safe for a terminal: what cannot be printed is escaped."""
    safe = printable(text[: 4 * width])
    return safe if len(safe) <= width and len(text) <= 4 * width else safe[: width - 1] + "…"


def standing_of(summary: Summary) -> str:
    """Return in a word or two what was said of a summary."""
    match summary.verdict:
        case Pending():
            return "unverified"
        case Passed():
            return "passed"
        case Failed(feedback=feedback, fault=fault):
            return f"failed, {fault}: {one_line(feedback, 60)}"
        case Accepted(despite=None):
            return "accepted"
        case Accepted():
            return "accepted despite a failure"


def draw(tree: Tree, *, limit: int | None = 80) -> list[Line]:
    """Draw a tree, folding more and more until it has about `limit` lines; None folds nothing.

    Runs of plain steps are folded first, then branches that were left, then the middle of the active path.
    Cost: O(number of steps).
    """
    active = set(tree.active_path())
    if limit is None:
        return _lines(tree, active, folded=False)
    lines = _fold_runs(_lines(tree, active, folded=False))
    if len(lines) > limit:
        lines = _fold_runs(_lines(tree, active, folded=True))
    if len(lines) > limit:
        head, tail = lines[: limit // 2], lines[-(limit // 2) :]
        lines = [*head, Line(0, f"… {len(lines) - len(head) - len(tail)} more lines …", "note"), *tail]
    return lines


def _lines(tree: Tree, active: set[StepId], *, folded: bool) -> list[Line]:
    ending = _summaries_by_boundary(tree)
    below = _sizes(tree) if folded else []
    mark = "◆ " * (tree.step_head == 0)
    lines = [Line(0, f"{mark}task: {one_line(tree.task, 90)}", "note"), *_notes(tree, StepId(0), 0, ending)]
    todo = _children(tree, StepId(0), 0, active)
    while todo:
        step, depth, opens = todo.pop()
        lines.append(_step(tree, step, active, depth, opens=opens))
        if folded and step not in active:
            if below[step] > 1:
                lines.append(Line(depth + 1, f"… {below[step] - 1} more steps that were left", "note"))
            continue
        lines.extend(_notes(tree, step, depth, ending))
        todo.extend(_children(tree, step, depth, active))
    return lines


def _children(tree: Tree, step: StepId, depth: int, active: set[StepId]) -> list[tuple[StepId, int, bool]]:
    """Return the children with their depths and whether a branch opens there; the last goes straight on."""
    children = tree.step_children(step)
    straight = next((child for child in children if child in active), None)
    if straight is None and len(children) == 1 and step not in active:
        straight = children[0]
    beside = [(child, depth + 1, True) for child in reversed(children) if child != straight]
    return beside if straight is None else [(straight, depth, False), *beside]


def _step(tree: Tree, step: StepId, active: set[StepId], depth: int, *, opens: bool) -> Line:
    node = tree.step(step)
    mark = "◆" if step == tree.step_head else "●" if step in active else "○"
    text = f"{mark} {step} {one_line(node.action, 56)}"
    if node.observation:
        text += f" → {one_line(node.observation, 48)}"
    return Line(depth, text, "active" if step in active else "left", opens)


def _notes(tree: Tree, step: StepId, depth: int, ending: dict[StepId, list[SummaryId]]) -> list[Line]:
    lines = [
        Line(depth, f"  ! {'standing ' * each.standing}instruction: {one_line(each.text, 80)}", "note")
        for each in tree.instructions_at(step)
    ]
    for summary in map(tree.summary, ending.get(step, ())):
        count = f"{len(summary.covers)} step{'s' * (len(summary.covers) > 1)}"
        said = f"  ■ [Step {summary.label}] {one_line(summary.text, 64)} ({count}, {standing_of(summary)})"
        lines.append(Line(depth, said, "summary"))
    lines.extend(
        Line(depth, f"  ✎ lesson at [Step {step}]: {one_line(lesson, 80)}", "lesson")
        for lesson in tree.lessons_at(step)
    )
    return lines


def _summaries_by_boundary(tree: Tree) -> dict[StepId, list[SummaryId]]:
    ending: dict[StepId, list[SummaryId]] = {}
    for summary in tree.summaries():
        ending.setdefault(summary.boundary, []).append(summary.id)
    return ending


def _sizes(tree: Tree) -> list[int]:
    """Return for each step how many steps its branch has, itself included."""
    sizes = [1] * tree.next_step
    for number in range(tree.next_step - 1, 0, -1):
        sizes[tree.step(StepId(number)).parent] += sizes[number]
    return sizes


def _fold_runs(lines: list[Line]) -> list[Line]:
    """Fold the middle of every run of more than six plain steps at one depth."""
    folded: list[Line] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and (end == start or _goes_on(lines[start], lines[end])):
            end += 1
        run = lines[start:end]
        if len(run) > 6:
            run = [*run[:2], Line(run[0].depth, f"… {len(run) - 4} steps …", run[0].style), *run[-2:]]
        folded.extend(run)
        start = end
    return folded


def _goes_on(first: Line, other: Line) -> bool:
    plain = first.style in ("active", "left") and not other.opens
    return plain and (first.depth, first.style) == (other.depth, other.style)
