"""What a tree file holds: its fields, their shapes, and what one field demands of another.

    {"format":"mage-tree","version":1,"phase":"Active","task":...,"step_head":1,"summary_head":0,
    "steps":[{"id":1,"parent":0,"action":...,"observation":...}],
    "summaries":[{"id":1,"parent":0,"after":0,"label":0,"covers":[1],"text":...,"kind":...,"verdict":{...}}],
    "lessons":[{"boundary":0,"texts":[...]}],
    "instructions":[{"step":0,"placed":[{"text":...,"standing":false}]}],
    "chapters":[{"last":2,"chapters":[{"first":1,"text":...,"accepted":0}]}]}

The two roots are not written, they are the same in every tree (D2). Nor is what can be derived: digests and
indexes, and of a
chapter its label and boundary. Everything stands in order of ids and nothing twice, so equal states have one spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypedDict

from mage.codec.problems import Problem
from mage.codec.shapes import FLAG, TEXT, WHOLE, WORDS, Array, Object, header, name
from mage.codec.verdicts import SUMMARY_VERDICT, SummaryVerdictDocument
from mage.engine.nodes import KINDS, Kind

TREE_FORMAT: Final = "mage-tree"

_STEP: Final = Object({"id": WHOLE, "parent": WHOLE, "action": TEXT, "observation": TEXT})
_SUMMARY: Final = Object(
    {
        "id": WHOLE,
        "parent": WHOLE,
        "after": WHOLE,
        "label": WHOLE,
        "covers": Array(WHOLE, filled=True),
        "text": WORDS,
        "kind": name(*KINDS),
        "verdict": SUMMARY_VERDICT,
    }
)
_LESSONS: Final = Object({"boundary": WHOLE, "texts": Array(WORDS, filled=True)})
_PLACED: Final = Object(
    {"step": WHOLE, "placed": Array(Object({"text": WORDS, "standing": FLAG}), filled=True)}
)
_CHAPTERS: Final = Object(
    {
        "last": WHOLE,
        "chapters": Array(Object({"first": WHOLE, "text": WORDS, "accepted": WHOLE}), filled=True),
    }
)
TREE: Final = Object(
    {
        **header(TREE_FORMAT),
        "phase": name("Active", "Unverified", "Rejected"),
        "task": TEXT,
        "step_head": WHOLE,
        "summary_head": WHOLE,
        "steps": Array(_STEP),
        "summaries": Array(_SUMMARY),
        "lessons": Array(_LESSONS),
        "instructions": Array(_PLACED),
        "chapters": Array(_CHAPTERS),
    }
)
"""A whole tree file."""

PhaseName = Literal["Active", "Unverified", "Rejected"]


class StepDocument(TypedDict):
    """A step in JSON."""

    id: int
    parent: int
    action: str
    observation: str


class SummaryDocument(TypedDict):
    """A summary in JSON."""

    id: int
    parent: int
    after: int
    label: int
    covers: list[int]
    text: str
    kind: Kind
    verdict: SummaryVerdictDocument


class LessonsDocument(TypedDict):
    """The lessons at one boundary in JSON, oldest first."""

    boundary: int
    texts: list[str]


class InstructionDocument(TypedDict):
    """An instruction in JSON."""

    text: str
    standing: bool


class PlacedDocument(TypedDict):
    """The instructions at one step in JSON, oldest first."""

    step: int
    placed: list[InstructionDocument]


class ChapterDocument(TypedDict):
    """A chapter in JSON, by the first summary under it."""

    first: int
    text: str
    accepted: int


class ChaptersDocument(TypedDict):
    """The chapters that end at one summary in JSON, oldest first."""

    last: int
    chapters: list[ChapterDocument]


class TreeDocument(TypedDict):
    """A state in JSON."""

    format: str
    version: int
    phase: PhaseName
    task: str
    step_head: int
    summary_head: int
    steps: list[StepDocument]
    summaries: list[SummaryDocument]
    lessons: list[LessonsDocument]
    instructions: list[PlacedDocument]
    chapters: list[ChaptersDocument]


def contradictions(tree: TreeDocument) -> Iterator[Problem]:
    """Yield where fields of the right shape do not fit each other, so that no tree can be made of them.

    Where there are none, every id names a node, nodes name earlier nodes only, and the phase is that of the
    head's verdict. What is wrong beyond that the engine's `check` finds. Cost: O(size).
    """
    last = len(tree["steps"])
    yield from _misplaced("steps", tree["steps"])
    yield from _misplaced("summaries", tree["summaries"])
    for index, summary in enumerate(tree["summaries"]):
        yield from _unordered(f".summaries[{index}].covers", summary["covers"], 1, last)
        if summary["after"] > len(tree["summaries"]):
            path = f".summaries[{index}].after"
            yield _range_problem(path, 0, len(tree["summaries"]), summary["after"])
    yield from _unordered(".lessons", [each["boundary"] for each in tree["lessons"]], 0, last, ".boundary")
    yield from _unordered(".instructions", [each["step"] for each in tree["instructions"]], 0, last, ".step")
    for index, place in enumerate(tree["instructions"]):
        yield from _placed_twice(f".instructions[{index}].placed", place["placed"])
    yield from _chapters_astray(tree)
    if tree["step_head"] > last:
        yield _range_problem(".step_head", 0, last, tree["step_head"])
    if tree["summary_head"] > len(tree["summaries"]):
        yield _range_problem(".summary_head", 0, len(tree["summaries"]), tree["summary_head"])
    else:
        yield from _wrong_phase(tree)


def _misplaced(field: str, nodes: Sequence[StepDocument] | Sequence[SummaryDocument]) -> Iterator[Problem]:
    for number, node in enumerate(nodes, start=1):
        if node["id"] != number:
            path = f".{field}[{number - 1}].id"
            yield Problem(path, f"expected {number}, for ids rise by one from 1, found {node['id']}")
        if node["parent"] >= number:
            yield _range_problem(f".{field}[{number - 1}].parent", 0, number - 1, node["parent"])


def _unordered(path: str, ids: Sequence[int], least: int, most: int, below: str = "") -> Iterator[Problem]:
    for index, number in enumerate(ids):
        if not least <= number <= most:
            yield _range_problem(f"{path}[{index}]{below}", least, most, number)
        least = number + 1


def _range_problem(path: str, least: int, most: int, found: int) -> Problem:
    expected = f"an id from {least} to {most}" if least <= most else f"no id after {most}"
    return Problem(path, f"expected {expected}, found {found}")


def _chapters_astray(tree: TreeDocument) -> Iterator[Problem]:
    most = len(tree["summaries"])
    yield from _unordered(".chapters", [each["last"] for each in tree["chapters"]], 1, most, ".last")
    for index, ending in enumerate(tree["chapters"]):
        for place, chapter in enumerate(ending["chapters"]):
            if not 1 <= chapter["first"] < ending["last"]:
                path = f".chapters[{index}].chapters[{place}].first"
                yield _range_problem(path, 1, ending["last"] - 1, chapter["first"])


def _placed_twice(path: str, placed: Sequence[InstructionDocument]) -> Iterator[Problem]:
    seen: set[tuple[str, bool]] = set()
    for index, each in enumerate(placed):
        instruction = (each["text"], each["standing"])
        if instruction in seen:
            yield Problem(f"{path}[{index}]", "the same instruction stands here before")
        seen.add(instruction)


_PHASE_OF: Final[Mapping[str, PhaseName]] = {"pending": "Unverified", "failed": "Rejected"}


def _wrong_phase(tree: TreeDocument) -> Iterator[Problem]:
    """Yield a phase that is not the one of the summary head's verdict (D6)."""
    head = tree["summary_head"]
    verdict = tree["summaries"][head - 1]["verdict"]["type"] if head else "passed"
    phase = _PHASE_OF.get(verdict, "Active")
    if tree["phase"] != phase:
        why = f'expected "{phase}", for summary {head} is {verdict}'
        yield Problem(".phase", f'{why}, found "{tree["phase"]}"')
