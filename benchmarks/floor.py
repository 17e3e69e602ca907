"""The floor: the same history as a mutable tree, written by hand, as fast as plain Python goes.

It holds one version, the last, and is changed in place: objects with slots, parent pointers, a dict of
children in each node. It does the work that an agent needs (merge on grow, covers, texts, verdicts, revise
with its lesson and its abandoned steps) and none of what the engine adds: no older versions, no phases, no
digest, no refusals, no check of what it is given. What the engine costs beyond it is the price of those.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from mage.engine import ApplyVerdict, Command, Compress, Grow, Revise, Start

PENDING: Final = "pending"
PASSED: Final = "passed"


class FloorStep:
    """One action and its observation, its parent, and its children by content."""

    __slots__ = ("children", "content", "id", "parent")

    def __init__(self, number: int, parent: FloorStep, content: tuple[str, str]) -> None:
        self.id = number
        self.parent = parent
        self.content = content
        self.children: dict[tuple[str, str], FloorStep] = {}


class FloorSummary:
    """A text in place of a run of steps, its parent, and its children by boundary."""

    __slots__ = ("children", "covers", "id", "label", "parent", "text", "verdict")

    def __init__(
        self, number: int, parent: FloorSummary, label: int, covers: list[FloorStep], text: str
    ) -> None:
        self.id = number
        self.parent = parent
        self.label = label
        self.covers = covers
        self.text = text
        self.verdict = PENDING
        self.children: dict[int, FloorSummary] = {}


class FloorView:
    """What the agent is shown: summaries, raw steps, what was tried, lessons."""

    __slots__ = ("compressed", "continuations", "lessons", "raw", "subgoals", "task")

    def __init__(self, floor: Floor) -> None:
        head = floor.summary_head
        self.task = floor.task
        self.compressed: list[FloorSummary] = []
        summary = head
        while summary.id:
            self.compressed.append(summary)
            summary = summary.parent
        self.compressed.reverse()
        self.raw = floor.segment()
        self.continuations = list(floor.step_head.children.values())
        self.subgoals = list(head.children.values())
        self.lessons = list(floor.lessons.get(head.covers[-1].id, ()))


class Floor:
    """One history, changed in place. The roots have no parent, and no loop asks for it."""

    __slots__ = ("lessons", "next_step", "next_summary", "step_head", "summary_head", "task")

    def __init__(self, task: str) -> None:
        root = FloorStep(0, cast("FloorStep", None), ("", ""))
        self.task = task
        self.step_head = root
        self.summary_head = FloorSummary(0, cast("FloorSummary", None), -1, [root], "")
        self.next_step = 1
        self.next_summary = 1
        self.lessons: dict[int, list[str]] = {}

    def grow(self, action: str, observation: str) -> None:
        """Add a step below the step head, or walk into the child that has this content."""
        head = self.step_head
        content = (action, observation)
        child = head.children.get(content)
        if child is None:
            number = self.next_step
            child = head.children[content] = FloorStep(number, head, content)
            self.next_step = number + 1
        self.step_head = child

    def segment(self) -> list[FloorStep]:
        """Return the open segment, in execution order."""
        boundary = self.summary_head.covers[-1]
        steps: list[FloorStep] = []
        step = self.step_head
        while step is not boundary:
            steps.append(step)
            step = step.parent
        steps.reverse()
        return steps

    def compress(self, text: str) -> None:
        """Cover the open segment by a pending summary, new or known."""
        head = self.summary_head
        covers = self.segment()
        boundary = covers[-1].id
        summary = head.children.get(boundary)
        if summary is None:
            number = self.next_summary
            summary = FloorSummary(number, head, head.covers[-1].id, covers, text)
            head.children[boundary] = summary
            self.next_summary = number + 1
        else:
            summary.text = text
            summary.verdict = PENDING
        self.summary_head = summary

    def apply_verdict(self, verdict: str) -> None:
        """Write down what was said of the summary head."""
        self.summary_head.verdict = verdict

    def revise(self, boundary: int, lesson: str) -> list[FloorStep]:
        """Go back to where a summary ends, leave a lesson, return the abandoned steps, newest first."""
        summary = self.summary_head
        while summary.covers[-1].id > boundary:
            summary = summary.parent
        target = summary.covers[-1]
        abandoned: list[FloorStep] = []
        step = self.step_head
        while step is not target:
            abandoned.append(step)
            step = step.parent
        self.step_head = target
        self.summary_head = summary
        if lesson:
            self.lessons.setdefault(boundary, []).append(lesson)
        return abandoned

    def view(self) -> FloorView:
        """Return what the agent is to be shown."""
        return FloorView(self)


def render(shown: FloorView) -> str:
    """Return what is shown as text, joined and nothing more: no escapes, no marks, no budget."""
    lines = [shown.task]
    lines += [f"[Step {summary.label}] {summary.text}" for summary in shown.compressed]
    lines += [f"{action}\n{observation}" for action, observation in [step.content for step in shown.raw]]
    lines += [step.content[0] for step in shown.continuations]
    lines += [summary.text for summary in shown.subgoals]
    lines += shown.lessons
    return "\n".join(lines)


def replay(commands: Iterable[Command]) -> Floor:
    """Carry out a journal of a start, grows, compresses, passes and revises."""
    floor = Floor("")
    for command in commands:
        if isinstance(command, Grow):
            floor.grow(command.action, command.observation)
        elif isinstance(command, Compress):
            floor.compress(command.text)
        elif isinstance(command, ApplyVerdict):
            floor.apply_verdict(PASSED)
        elif isinstance(command, Revise):
            floor.revise(command.boundary, command.lesson)
        elif isinstance(command, Start):
            floor = Floor(command.task)
        else:
            raise TypeError(f"the floor knows no {type(command).__name__}")
    return floor
