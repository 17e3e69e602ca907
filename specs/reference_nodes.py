"""What the reference is made of: Table 2's nodes, what is left at steps, and the walks along a path.

Like the reference itself this imports nothing of mage, and everything in it may be changed in place.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, TypeVar

__all__ = [
    "Instruction",
    "Kind",
    "Left",
    "Lesson",
    "Refused",
    "Request",
    "Step",
    "Summary",
    "Verdict",
    "above",
    "blank",
    "contents",
    "joined",
    "path",
    "trace",
]

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
    """The paper's note: pending, passed, failed or accepted, and what was wrong.

    In an accepted one, feedback and fault are those of the failed verdict it was accepted despite (D6).
    """

    word: str
    feedback: str = ""
    fault: str = ""


class Summary:
    """A node of the top layer; `label` is what the paper calls its id, alike for all siblings (D1)."""

    def __init__(self, number: int, parent: Summary | None, label: int, covers: list[Step]) -> None:
        self.id = number
        self.label = label
        self.text = ""
        self.kind: Kind = "subgoal"
        self.parent = parent
        self.children: list[Summary] = []
        self.cover_nodes = covers
        self.note = Verdict("pending")


class Lesson(NamedTuple):
    """What was left at a boundary for those who come back to it (D8)."""

    boundary: int
    text: str


class Instruction(NamedTuple):
    """What was asked for at a step, for the subtask or for good (D17)."""

    step: int
    text: str
    standing: bool


class Request(NamedTuple):
    """What the judge is given (D5)."""

    task: str
    instructions: list[str]
    kind: Kind
    earlier: list[tuple[int, str]]
    steps: list[Step]
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


def contents(summary: Summary) -> list[list[int | str]]:
    """Return ids and contents of the covers."""
    return [[step.id, *step.content] for step in summary.cover_nodes]
