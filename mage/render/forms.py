"""A tree, and an execution state S = (C, R, H), in other forms than a prompt: drawn lines, diagrams, JSON, and differences.

Of two states, each part of one S is compared with the same part of the other, in order. Steps are compared with their
ids, summaries with their labels and covers, because the agent can go back to these; ids of summaries are not compared,
because no model is shown them. Two states without a difference are rendered as the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final, Generic, Literal, TypeAlias, TypeVar, final

import attrs

from mage.engine import (
    Accepted,
    Chapter,
    ExecutionState,
    Failed,
    Lesson,
    Line,
    Passed,
    Pending,
    State,
    Step,
    StepId,
    Summary,
    SummaryVerdict,
    Tree,
)
from mage.engine.ids import ROOT_SUMMARY
from mage.render.blocks import one_line

Style: TypeAlias = Literal["active", "left", "note", "lesson", "passed", "failed", "accepted", "unverified"]
"""The kind of a line: a step on the active path or beside it, a remark, a lesson, or a summary with its verdict."""

_DEEPEST: Final = 24
"""The most levels of indentation; a deeper line has its depth as a number."""
_INDENT: Final = 3
"""Columns of one level."""
_LEAST: Final = 50
"""The least columns that indentation leaves for the text, where the width is known."""


@final
@attrs.frozen
class DrawnLine:
    """One line of a drawing.

    Attributes:
        depth: the levels of indentation.
        text: the text, without control characters.
        style: the kind of the line.
        opens: whether a branch begins here.
    """

    depth: int
    text: str
    style: Style
    opens: bool = False

    def __str__(self) -> str:
        """Return the line as `drawn` draws it without a limit."""
        return self.drawn()

    def drawn(self, width: int | None = None) -> str:
        """Return the line with its indentation, and a tie to the parent where a branch opens; the text is never cut.

        Args:
            width: the columns of the terminal, of which indentation takes the smaller part; None for no limit.
        """
        deepest = _DEEPEST if width is None else max(1, min(_DEEPEST, (width - _LEAST) // _INDENT))
        if self.depth > deepest:
            return f"{'│  ' * deepest}({self.depth} deep) {self.text}"
        return "│  " * (self.depth - self.opens) + "├─ " * self.opens + self.text


def verdict_of(summary: Summary) -> str:
    """Return the verdict of a summary in a word or two, with the feedback where it failed."""
    word, _ = _said(summary.verdict)
    return word + "".join(f": {one_line(why, 60)}" for why in _reasons(summary.verdict))


def _said(verdict: SummaryVerdict) -> tuple[str, Style]:
    match verdict:
        case Pending():
            return "unverified", "unverified"
        case Passed():
            return "passed", "passed"
        case Failed(fault=fault):
            return f"failed, {fault}", "failed"
        case Accepted(despite=despite):
            return "accepted" + " despite a failure" * (despite is not None), "accepted"


def _reasons(verdict: SummaryVerdict) -> list[str]:
    return [verdict.feedback] if isinstance(verdict, Failed) else []


def draw(tree: Tree, *, limit: int | None = 80) -> list[DrawnLine]:
    """Draw a tree, folding more and more until it has about `limit` lines; None folds nothing.

    Runs of plain steps are folded first, then abandoned branches, then the middle of the active path.
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
        lines = [*head, DrawnLine(0, f"… {len(lines) - len(head) - len(tail)} more lines …", "note"), *tail]
    return lines


def _lines(tree: Tree, active: set[StepId], *, folded: bool) -> list[DrawnLine]:
    ending = _lines_by_boundary(tree)
    below = _sizes(tree) if folded else []
    mark = "◆ " * (tree.step_head == 0)
    lines = [
        DrawnLine(0, f"{mark}task: {one_line(tree.task, 90)}", "note"),
        *_notes(tree, StepId(0), 0, ending),
    ]
    todo = _children(tree, StepId(0), 0, active)
    while todo:
        step, depth, opens = todo.pop()
        lines.append(_step(tree, step, active, depth, opens=opens))
        if folded and step not in active:
            if below[step] > 1:
                lines.append(DrawnLine(depth + 1, f"… {below[step] - 1} more steps that were left", "note"))
            continue
        lines.extend(_notes(tree, step, depth, ending))
        todo.extend(_children(tree, step, depth, active))
    return lines


def _children(tree: Tree, step: StepId, depth: int, active: set[StepId]) -> list[tuple[StepId, int, bool]]:
    """Return the children, each with its depth and whether a branch opens there; the first continues the path."""
    children = tree.step_children(step)
    straight = next((child for child in children if child in active), None)
    if straight is None and len(children) == 1 and step not in active:
        straight = children[0]
    beside = [(child, depth + 1, True) for child in reversed(children) if child != straight]
    return beside if straight is None else [(straight, depth, False), *beside]


def _step(tree: Tree, step: StepId, active: set[StepId], depth: int, *, opens: bool) -> DrawnLine:
    node = tree.step(step)
    mark = "◆" if step == tree.step_head else "●" if step in active else "○"
    text = f"{mark} {step} {one_line(node.action, 56)}"
    if node.observation:
        text += f" → {one_line(node.observation, 48)}"
    return DrawnLine(depth, text, "active" if step in active else "left", opens)


def _notes(tree: Tree, step: StepId, depth: int, ending: dict[StepId, list[Line]]) -> list[DrawnLine]:
    lines = [
        DrawnLine(depth, f"  ! {'standing ' * each.standing}instruction: {one_line(each.text, 80)}", "note")
        for each in tree.instructions_at(step)
    ]
    for line in ending.get(step, ()):
        if isinstance(line, Chapter):
            text = f"  ▤ chapter  [Step {line.label}..{line.boundary}] {one_line(line.text, 64)}"
            lines.append(DrawnLine(depth, text, "note"))
            continue
        interim = "interim, " * (line.kind == "fallback")
        count = f"{len(line.covers)} step{'s' * (len(line.covers) > 1)}"
        word, style = _said(line.verdict)
        text = f"  ■ {word}  [Step {line.label}] ({interim}{count}) {one_line(line.text, 64)}"
        lines.append(DrawnLine(depth, text, style))
        lines += [
            DrawnLine(depth, f"    because: {one_line(why, 90)}", style) for why in _reasons(line.verdict)
        ]
    lines.extend(
        DrawnLine(depth, f"  ✎ lesson at [Step {step}]: {one_line(lesson, 80)}", "lesson")
        for lesson in tree.lessons_at(step)
    )
    return lines


def _lines_by_boundary(tree: Tree) -> dict[StepId, list[Line]]:
    """Return by boundary every summary, and every chapter in C."""
    ending: dict[StepId, list[Line]] = {}
    shown = [line for line in tree.lines_upwards(tree.head_summary) if isinstance(line, Chapter)]
    every: tuple[Line, ...] = (*tree.summaries(), *shown)
    for line in every:
        ending.setdefault(line.boundary, []).append(line)
    return ending


def _sizes(tree: Tree) -> list[int]:
    """Return for each step the number of steps of its branch, itself included."""
    sizes = [1] * tree.next_step
    for number in range(tree.next_step - 1, 0, -1):
        sizes[tree.step(StepId(number)).parent] += sizes[number]
    return sizes


def _fold_runs(lines: list[DrawnLine]) -> list[DrawnLine]:
    """Fold the middle of every run of more than six plain steps at one depth."""
    folded: list[DrawnLine] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and (end == start or _goes_on(lines[start], lines[end])):
            end += 1
        run = lines[start:end]
        if len(run) > 6:
            run = [*run[:2], DrawnLine(run[0].depth, f"… {len(run) - 4} steps …", run[0].style), *run[-2:]]
        folded.extend(run)
        start = end
    return folded


def _goes_on(first: DrawnLine, other: DrawnLine) -> bool:
    plain = first.style in ("active", "left") and not other.opens
    return plain and (first.depth, first.style) == (other.depth, other.style)


_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_ASCII: Final = " .:-=+*#@"


def bars(values: Sequence[int], *, top: int, width: int = 72, encoding: str = "utf-8") -> str:
    """Return one row of bars: each shows the largest of its share of the values, a full bar the value `top`.

    Where the terminal's encoding has no blocks, the row is of ASCII characters. Cost: O(values).
    """
    levels = _BLOCKS if encoding.lower().startswith("utf") else _ASCII
    if not values or top <= 0:
        return ""
    columns = min(width, len(values))
    edges = [len(values) * column // columns for column in range(columns + 1)]
    highest = [max(values[start:end]) for start, end in pairwise(edges)]
    most = len(levels) - 1  # levels are rounded up, so that no value above 0 looks like 0
    return "".join(levels[min(most, -(-value * most // top))] for value in highest)


# -- for diagram tools: every content is quoted for its tool -------------------------------------------------

_TITLE: Final = 48
"""Characters of a summary's text."""


def as_mermaid(tree: Tree) -> str:
    """Return the tree as a Mermaid flowchart. Cost: O(size of the tree)."""
    active = set(tree.active_path())
    lines = ["flowchart TD", '  s0(["task"])']
    for step in tree.steps():
        arrow = "-->" if step.id in active else "-.->"
        lines.append(f'  s{step.parent} {arrow} s{step.id}["{step.id}: {_entities(step.action)}"]')
    lines.extend(
        f'  t{summary.id}[["{_entities(_title(summary))}"]] --- s{summary.boundary}'
        for summary in tree.summaries()
    )
    lines.append("  classDef active stroke-width:3px")
    lines.append("  class " + ",".join(f"s{step}" for step in tree.active_path()) + " active")
    return "\n".join(lines) + "\n"


def as_dot(tree: Tree) -> str:
    """Return the tree as a Graphviz digraph. Cost: O(size of the tree)."""
    active = set(tree.active_path())
    lines = ["digraph mage {", "  node [shape=box];", '  s0 [label="task", shape=oval, penwidth=3];']
    for step in tree.steps():
        pen = 3 if step.id in active else 1
        lines.append(f'  s{step.id} [label="{step.id}: {_escaped(step.action)}", penwidth={pen}];')
        lines.append(f"  s{step.parent} -> s{step.id}{'' if step.id in active else ' [style=dashed]'};")
    for summary in tree.summaries():
        lines.append(f'  t{summary.id} [label="{_escaped(_title(summary))}", shape=note];')
        lines.append(f"  t{summary.id} -> s{summary.boundary} [dir=none, style=dotted];")
    return "\n".join([*lines, "}"]) + "\n"


def _title(summary: Summary) -> str:
    return f"[Step {summary.label}] {one_line(summary.text, _TITLE)} ({verdict_of(summary)})"


def _entities(text: str) -> str:
    """Return a text quoted for Mermaid: each character that may be syntax becomes a numbered entity."""
    return "".join(
        char if char.isalnum() or char in " .,-_" else f"#{ord(char)};" for char in one_line(text, 2 * _TITLE)
    )


def _escaped(text: str) -> str:
    return one_line(text, 2 * _TITLE).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


# -- what differs between two states ------------------------------------------------------------------------

Item = TypeVar("Item")


@final
@attrs.frozen
class Sides(Generic[Item]):
    """The difference in one part of S.

    Attributes:
        left, right: the items that only this side has, or has in another place.
        same: the number of items that both have, in the same order.
    """

    left: tuple[Item, ...]
    right: tuple[Item, ...]
    same: int

    @property
    def differ(self) -> bool:
        """Whether the two sides differ."""
        return bool(self.left or self.right)


@final
@attrs.frozen
class Difference:
    """The difference between two execution states, part by part; `boundary` has one item on each side."""

    task: Sides[str]
    instructions: Sides[str]
    compressed: Sides[Line]
    raw: Sides[Step]
    boundary: Sides[int]
    continuations: Sides[Step]
    subgoals: Sides[Summary]
    lessons: Sides[Lesson]

    @property
    def differ(self) -> bool:
        """Whether any part differs, so that models in the two states are shown different texts."""
        return any(getattr(self, field.name).differ for field in attrs.fields(Difference))


def compare_states(left: ExecutionState, right: ExecutionState) -> Difference:
    """Return the difference between two execution states.

    Cost: O(size of both) for the equal beginning and end of each part; the items between are aligned, which at worst
    costs the product of the two lengths.
    """
    return Difference(
        task=_sides((left.task,), (right.task,), _itself),
        instructions=_sides(left.instructions, right.instructions, _itself),
        compressed=_sides(left.compressed, right.compressed, _shown_line),
        raw=_sides(left.raw, right.raw, _shown_step),
        boundary=_sides((left.boundary,), (right.boundary,), _itself),
        continuations=_sides(left.hints.continuations, right.hints.continuations, _shown_step),
        subgoals=_sides(left.hints.subgoals, right.hints.subgoals, _shown_summary),
        lessons=_sides(left.hints.lessons, right.hints.lessons, _itself),
    )


def _itself(value: Hashable) -> Hashable:
    return value


def _shown_step(step: Step) -> Hashable:
    return (step.id, step.action, step.observation)


def _shown_line(line: Line) -> Hashable:
    if isinstance(line, Chapter):
        return (line.label, line.boundary, line.text, line.accepted)
    return _shown_summary(line)


def _shown_summary(summary: Summary) -> Hashable:
    return (summary.label, summary.covers, summary.text, summary.kind, summary.verdict)


def _sides(left: Sequence[Item], right: Sequence[Item], key: Callable[[Item], Hashable]) -> Sides[Item]:
    lefts, rights = [key(item) for item in left], [key(item) for item in right]
    start = 0
    shorter = min(len(lefts), len(rights))
    while start < shorter and lefts[start] == rights[start]:
        start += 1
    end = 0
    while end < shorter - start and lefts[-1 - end] == rights[-1 - end]:
        end += 1
    matcher = SequenceMatcher(
        None, lefts[start : len(lefts) - end], rights[start : len(rights) - end], autojunk=False
    )
    only_left: list[Item] = []
    only_right: list[Item] = []
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if tag != "equal":
            only_left.extend(left[start + left_from : start + left_to])
            only_right.extend(right[start + right_from : start + right_to])
    return Sides(tuple(only_left), tuple(only_right), len(left) - len(only_left))


# -- as JSON ------------------------------------------------------------------------------------------------


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def state_as_json(shown: ExecutionState) -> Json:
    """Return S as JSON values."""
    return {
        "task": shown.task,
        "instructions": list(shown.instructions),
        "compressed": [line_as_json(line) for line in shown.compressed],
        "raw": [step_as_json(step) for step in shown.raw],
        "hints": {
            "boundary": shown.hints.boundary,
            "continuations": [step_as_json(step) for step in shown.hints.continuations],
            "subgoals": [line_as_json(summary) for summary in shown.hints.subgoals],
            "lessons": [_lesson(lesson) for lesson in shown.hints.lessons],
        },
        "boundary": shown.boundary,
    }


def tree_as_json(state: State) -> Json:
    """Return a tree as JSON values."""
    tree = state.tree
    return {
        "phase": type(state).__name__.lower(),
        "task": tree.task,
        "step_head": tree.step_head,
        "summary_head": tree.summary_head,
        "active_path": list(tree.active_path()),
        "summary_path": list(tree.summary_path()),
        "steps": [step_as_json(step) | {"parent": step.parent} for step in tree.steps()],
        "way": [ROOT_SUMMARY, *[summary.id for summary in tree.way_upwards()][::-1]],
        "summaries": [
            line_as_json(summary) | {"parent": summary.parent, "after": summary.after}
            for summary in tree.summaries()
        ],
        "chapters": [
            line_as_json(chapter) for summary in tree.summaries() for chapter in tree.chapters_at(summary.id)
        ],
        "lessons": {
            str(number): list(lessons)
            for number in range(tree.next_step)
            if (lessons := tree.lessons_at(StepId(number)))
        },
        "instructions": {
            str(number): [{"text": each.text, "standing": each.standing} for each in placed]
            for number in range(tree.next_step)
            if (placed := tree.instructions_at(StepId(number)))
        },
    }


def step_as_json(step: Step) -> dict[str, Json]:
    """Return a step as JSON values, without its parent."""
    return {"id": step.id, "action": step.action, "observation": step.observation}


def line_as_json(line: Line) -> dict[str, Json]:
    """Return a summary, without its parent, or a chapter as JSON values."""
    place: dict[str, Json] = {"label": line.label, "boundary": line.boundary, "text": line.text}
    if isinstance(line, Chapter):
        return {"kind": "chapter", **place, "accepted": line.accepted, "first": line.first, "last": line.last}
    return {
        "id": line.id,
        **place,
        "covers": list(line.covers),
        "kind": line.kind,
        "verdict": _verdict(line.verdict),
    }


def _lesson(lesson: Lesson) -> dict[str, Json]:
    return {"boundary": lesson.boundary, "text": lesson.text}


def _verdict(verdict: SummaryVerdict) -> dict[str, Json]:
    match verdict:
        case Pending():
            return {"is": "pending"}
        case Passed():
            return {"is": "passed"}
        case Failed(feedback=feedback, fault=fault, boundary=boundary):
            return {"is": "failed", "feedback": feedback, "fault": fault, "boundary": boundary}
        case Accepted(despite=despite):
            return {"is": "accepted", "despite": None if despite is None else _verdict(despite)}


def difference_as_json(found: Difference) -> Json:
    """Return a difference as JSON values, part by part."""
    return {
        "task": _both(found.task, str),
        "instructions": _both(found.instructions, str),
        "compressed": _both(found.compressed, line_as_json),
        "raw": _both(found.raw, step_as_json),
        "boundary": _both(found.boundary, int),
        "continuations": _both(found.continuations, step_as_json),
        "subgoals": _both(found.subgoals, line_as_json),
        "lessons": _both(found.lessons, _lesson),
    }


def _both(sides: Sides[Item], plain: Callable[[Item], Json]) -> Json:
    return {
        "left": [plain(item) for item in sides.left],
        "right": [plain(item) for item in sides.right],
        "same": sides.same,
    }
