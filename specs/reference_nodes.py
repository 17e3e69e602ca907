"""What the reference is made of: Table 2's nodes, what is left at steps, and the walks from node to node.

Like the reference itself this imports nothing of mage, and everything in it may be changed in place.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal, NamedTuple, TypeAlias, TypeVar

Kind: TypeAlias = Literal["subgoal", "fallback"]
Refused: TypeAlias = str


class Step:
    """A node of the bottom layer: one action and its observation, recorded raw."""

    def __init__(self, number: int, parent: Step | None, content: tuple[str, str]) -> None:
        self.id = number
        self.content = content
        self.parent = parent
        self.children: list[Step] = []


class Verdict(NamedTuple):
    """The paper's note: pending, passed, failed or accepted, what was wrong, and where it is said to have begun.

    In an accepted one, all but the word are those of the failed verdict it was accepted despite (D6).
    """

    word: str
    feedback: str = ""
    fault: str = ""
    boundary: int | None = None


class Summary:
    """A node of the top layer; `label` is what the paper calls its id, alike for all siblings (D1).

    `after` is the head that it was made from (D12); `chapters` are those that end at it, oldest first (D19).
    """

    def __init__(self, number: int, parent: Summary | None, label: int, covers: list[Step]) -> None:
        self.id = number
        self.label = label
        self.text = ""
        self.kind: Kind = "subgoal"
        self.parent = parent
        self.after = parent
        self.children: list[Summary] = []
        self.cover_nodes = covers
        self.note = Verdict("pending")
        self.chapters: list[Chapter] = []


class Chapter:
    """One text in place of a run of lines in C: those from the summary `first` down to the summary `last` (D19).

    `said` is what the summaries under it said when it was judged; nothing reads it but I12.
    """

    def __init__(self, text: str, first: Summary, last: Summary) -> None:
        run = path(last)[len(path(first)) - 1 :]
        self.label = first.label
        self.text = text
        self.accepted = sum(summary.note.word == "accepted" for summary in run)
        self.said = [(summary.id, summary.text, summary.note) for summary in run]
        self.first = first
        self.last = last


Line: TypeAlias = Summary | Chapter
"""What C shows in one place."""


class Lesson(NamedTuple):
    """What was left at a boundary for those who come back to it (D8)."""

    boundary: int
    text: str


class Instruction(NamedTuple):
    """What was asked for at a step, for the subtask or for good (D17)."""

    step: int
    text: str
    standing: bool


class Hints(NamedTuple):
    """H, or what a judge is told of what else was tried: steps, summaries and lessons (D9, D5)."""

    boundary: int
    continuations: list[Step]
    subgoals: list[Summary]
    lessons: list[Lesson]


class Request(NamedTuple):
    """What the judge is given (D5)."""

    task: str
    instructions: list[str]
    kind: Kind
    before: list[Line]
    earlier: list[Summary]
    steps: list[Step]
    text: str
    digest: str
    hints: Hints
    boundaries: list[int]


class FoldRequest(NamedTuple):
    """What is judged before lines are folded into a chapter (D19)."""

    task: str
    instructions: list[str]
    lines: list[Line]
    text: str
    digest: str


class Left(NamedTuple):
    """What a revise leaves: abandoned steps, newest first, and instructions, in path order (D7, D14)."""

    abandoned: list[Step]
    instructions: list[Instruction]


Node = TypeVar("Node", Step, Summary)


def joined(text: str) -> str:
    """Return the text with each surrogate pair made the one character that it stands for (D15)."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def blank(text: str) -> bool:
    """Say whether nothing of the text is left by `str.strip` (D3)."""
    return text.strip() == ""


def path(node: Node) -> list[Node]:
    """Return the nodes from the root down to this one, both included."""
    nodes = [node]
    while nodes[0].parent is not None:
        nodes.insert(0, nodes[0].parent)
    return nodes


def trace(b: Step, to: Step) -> list[Step]:
    """Return the steps from b, which is left out, down to `to`, in execution order (D3)."""
    return path(to)[len(path(b)) :]


def above(summary: Summary) -> Summary:
    """Return the parent; the root has none, and Algorithm 1 would run past it here."""
    if summary.parent is None:
        raise LookupError("there is nothing above the root")
    return summary.parent


def way(summary: Summary) -> list[Summary]:
    """Return the heads that led to this one, from the root to itself (D7)."""
    heads = [summary]
    while heads[0].after is not None:
        heads.insert(0, heads[0].after)
    return heads


def base(summary: Summary) -> Summary:
    """Return the summary, or the nearest above it, that is no fallback: where the subgoal began (D12)."""
    while summary.kind == "fallback":
        summary = above(summary)
    return summary


def boundary_of(line: Line) -> int:
    """Return the last step that a line stands for."""
    return (line.last if isinstance(line, Chapter) else line).cover_nodes[-1].id


def lines_down_to(head: Summary) -> list[Line]:
    """Return C as it is read upwards from a head: the newest chapter that ends there, else the summary (D19)."""
    lines: list[Line] = []
    while head.parent is not None:
        line = head.chapters[-1] if head.chapters else head
        lines.insert(0, line)
        head = above(line.first if isinstance(line, Chapter) else line)
    return lines


def lines_inside(chapter: Chapter) -> list[Line]:
    """Return the lines that a chapter replaced: at its last summary they begin with what is next older (D19)."""
    last = chapter.last
    older = last.chapters[: last.chapters.index(chapter)]
    newest: Line = older[-1] if older else last
    rest = lines_down_to(above(newest.first if isinstance(newest, Chapter) else newest))
    return [*(line for line in rest if line.label >= chapter.label), newest]


def contents(summary: Summary) -> list[list[int | str]]:
    """Return ids and contents of the covers."""
    return [[step.id, *step.content] for step in summary.cover_nodes]


def canonical_hash(value: dict[str, object]) -> str:
    """Return the SHA-256 of canonical JSON: sorted keys, no spaces, UTF-8, lone surrogates escaped (D5)."""
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(written.encode(errors="backslashreplace")).hexdigest()
