"""A state as JSON: the tree and its phase.

    {"format":"mage-tree","version":1,"phase":"Active","task":...,"step_head":1,"summary_head":0,
    "steps":[{"id":1,"parent":0,"action":...,"observation":...}],
    "summaries":[{"id":1,"parent":0,"after":0,"label":0,"covers":[1],"text":...,"kind":...,"verdict":{...}}],
    "lessons":[{"boundary":0,"texts":[...]}],
    "instructions":[{"step":0,"placed":[{"text":...,"standing":false}]}],
    "chapters":[{"last":2,"chapters":[{"first":1,"text":...,"accepted":0}]}]}

The two roots are not written, because they are the same in every tree (D2), nor is anything that can be derived: digests,
indexes, the label and the boundary of a chapter. Nodes stand in order of ids, and nothing stands twice, so equal states
have one spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, cast

from returns.result import Failure, Result, Success

from mage.codec.commands import SUMMARY_VERDICT, Document, summary_verdict_document, summary_verdict_of
from mage.codec.strict_json import (
    FLAG,
    FORMAT_VERSION,
    KIND,
    TEXT,
    WHOLE,
    WORDS,
    Array,
    DecodeError,
    Object,
    Problem,
    header,
    header_problem,
    name,
    read_json,
    short,
    write_json,
)
from mage.engine.assemble import assemble, in_phase
from mage.engine.errors import InvariantError
from mage.engine.ids import ROOT_STEP, ROOT_SUMMARY, Digest, StepId
from mage.engine.invariants import breaks_in_covers, check
from mage.engine.machine import State
from mage.engine.nodes import Chapter, Instruction, Step, Summary
from mage.engine.tree import Tree

_STEP: Final = Object({"id": WHOLE, "parent": WHOLE, "action": TEXT, "observation": TEXT})
_SUMMARY: Final = Object(
    {
        "id": WHOLE,
        "parent": WHOLE,
        "after": WHOLE,
        "label": WHOLE,
        "covers": Array(WHOLE, filled=True),
        "text": WORDS,
        "kind": KIND,
        "verdict": SUMMARY_VERDICT,
    }
)
_INSTRUCTION: Final = Object({"text": WORDS, "standing": FLAG})
_CHAPTER: Final = Object({"first": WHOLE, "text": WORDS, "accepted": WHOLE})
_TREE_FORMAT: Final = "mage-tree"
TREE: Final = Object(
    {
        **header(_TREE_FORMAT),
        "phase": name("Active", "Unverified", "Rejected"),
        "task": TEXT,
        "step_head": WHOLE,
        "summary_head": WHOLE,
        "steps": Array(_STEP),
        "summaries": Array(_SUMMARY),
        "lessons": Array(Object({"boundary": WHOLE, "texts": Array(WORDS, filled=True)})),
        "instructions": Array(Object({"step": WHOLE, "placed": Array(_INSTRUCTION, filled=True)})),
        "chapters": Array(Object({"last": WHOLE, "chapters": Array(_CHAPTER, filled=True)})),
    }
)
"""A whole tree file."""

# -- writing a tree --------------------------------------------------------------------------------------


def encode_tree(state: State) -> bytes:
    """Return a state as one JSON object, a line for each node; equal states give equal bytes. Cost: O(size of the tree)."""
    tree = state.tree
    heads = {"step_head": tree.step_head, "summary_head": tree.summary_head}
    begin = {"format": _TREE_FORMAT, "version": FORMAT_VERSION, "phase": type(state).__name__}
    parts = [
        write_json({**begin, "task": tree.task, **heads})[:-1],
        _array("steps", map(_step, tree.steps())),
        _array("summaries", map(_summary_document, tree.summaries())),
        _array("lessons", _lessons(tree)),
        _array("instructions", _instructions(tree)),
        _array("chapters", _chapters(tree)),
    ]
    return b",\n".join(parts) + b"}\n"


def _array(field: str, documents: Iterable[object]) -> bytes:
    lines = b",\n".join(map(write_json, documents))
    return write_json(field) + (b":[\n" + lines + b"\n]" if lines else b":[]")


def _fields_in(shape: Object) -> Callable[[object], Document]:
    """Return a function that takes from a node the fields of this shape."""
    keys, values = tuple(shape.fields), attrgetter(*shape.fields)
    return lambda node: dict(zip(keys, values(node), strict=True))


_summary: Final = _fields_in(_SUMMARY)
_instruction: Final = _fields_in(_INSTRUCTION)
_chapter: Final = _fields_in(_CHAPTER)


def _step(step: Step) -> Document:  # by hand: there are very many
    return {"id": step.id, "parent": step.parent, "action": step.action, "observation": step.observation}


def _summary_document(summary: Summary) -> Document:
    return _summary(summary) | {"verdict": summary_verdict_document(summary.verdict)}


def _lessons(tree: Tree) -> Iterator[Document]:
    for boundary in sorted({ROOT_STEP, *[summary.boundary for summary in tree.summaries()]}):
        if texts := tree.lessons_at(boundary):
            yield {"boundary": boundary, "texts": texts}


def _instructions(tree: Tree) -> Iterator[Document]:
    for step in map(StepId, range(tree.next_step)):
        if placed := tree.instructions_at(step):
            yield {"step": step, "placed": [_instruction(each) for each in placed]}


def _chapters(tree: Tree) -> Iterator[Document]:
    for summary in tree.summaries():
        if chapters := tree.chapters_at(summary.id):
            yield {"last": summary.id, "chapters": [_chapter(each) for each in chapters]}


# -- reading a tree --------------------------------------------------------------------------------------


def decode_tree(data: bytes) -> Result[State, DecodeError]:
    """Return the state in a file, or the first problem of the file. Takes any bytes. Cost: O(size).

    Every field is checked against its shape, then the whole tree against I1 to I12, so that a forged file is refused.
    """
    document = read_json(data)
    if isinstance(document, Problem):
        return Failure(document.as_error())
    problem = header_problem(document, _TREE_FORMAT) or TREE.problem(document)
    if problem is not None:
        return Failure(problem.as_error())
    read = cast("Document", document)
    problem = next(contradictions(read), None)
    return _checked(_tree_of(read)) if problem is None else Failure(problem.as_error())


def _checked(tree: Tree) -> Result[State, DecodeError]:
    for summary in tree.summaries():  # before the phase, whose digest takes covers that are contiguous
        for gap in breaks_in_covers(tree, summary):
            return Failure(Problem("", f"I3 covers_are_contiguous: {short(gap, limit=200)}").as_error())
    state = in_phase(tree)
    try:
        check(state)
    except InvariantError as broken:
        return Failure(Problem("", short(str(broken), limit=200)).as_error())
    return Success(state)


def _tree_of(document: Document) -> Tree:
    summaries = [_summary_of(summary) for summary in document["summaries"]]
    return assemble(
        document["task"],
        steps=[Step(**step) for step in document["steps"]],
        summaries=summaries,
        lessons={each["boundary"]: each["texts"] for each in document["lessons"]},
        instructions={
            place["step"]: tuple([Instruction(**each) for each in place["placed"]])
            for place in document["instructions"]
        },
        step_head=document["step_head"],
        summary_head=document["summary_head"],
        chapters={
            ending["last"]: tuple(
                [_chapter_of(each, summaries[ending["last"] - 1], summaries) for each in ending["chapters"]]
            )
            for ending in document["chapters"]
        },
    )


def _summary_of(document: Document) -> Summary:
    known = {"covers": tuple(document["covers"]), "verdict": summary_verdict_of(document["verdict"])}
    return Summary(**{**document, **known}, base=ROOT_SUMMARY, above=Digest(""))


def _chapter_of(document: Document, last: Summary, summaries: Sequence[Summary]) -> Chapter:
    first = summaries[document["first"] - 1]
    return Chapter(first.label, last.boundary, document["text"], document["accepted"], first.id, last.id)


# -- fields that do not fit each other -------------------------------------------------------------------


def contradictions(tree: Document) -> Iterator[Problem]:
    """Yield the places where fields do not fit each other, so that no tree can be made of them. Cost: O(size).

    Without such a place every id names a node, nodes name earlier nodes only, and the phase is that of the head's verdict.
    The engine's `check` finds everything else.
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


def _misplaced(field: str, nodes: Sequence[Document]) -> Iterator[Problem]:
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


def _chapters_astray(tree: Document) -> Iterator[Problem]:
    most = len(tree["summaries"])
    yield from _unordered(".chapters", [each["last"] for each in tree["chapters"]], 1, most, ".last")
    for index, ending in enumerate(tree["chapters"]):
        for place, chapter in enumerate(ending["chapters"]):
            if not 1 <= chapter["first"] < ending["last"]:
                path = f".chapters[{index}].chapters[{place}].first"
                yield _range_problem(path, 1, ending["last"] - 1, chapter["first"])


def _placed_twice(path: str, placed: Sequence[Document]) -> Iterator[Problem]:
    seen: set[tuple[str, bool]] = set()
    for index, each in enumerate(placed):
        instruction = (each["text"], each["standing"])
        if instruction in seen:
            yield Problem(f"{path}[{index}]", "the same instruction stands here before")
        seen.add(instruction)


_PHASE_OF: Final[Mapping[str, str]] = {"pending": "Unverified", "failed": "Rejected"}


def _wrong_phase(tree: Document) -> Iterator[Problem]:
    """Yield the place of a phase that does not fit the summary head's verdict (D6)."""
    head = tree["summary_head"]
    verdict = tree["summaries"][head - 1]["verdict"]["type"] if head else "passed"
    phase = _PHASE_OF.get(verdict, "Active")
    if tree["phase"] != phase:
        why = f'expected "{phase}", for summary {head} is {verdict}'
        yield Problem(".phase", f'{why}, found "{tree["phase"]}"')
