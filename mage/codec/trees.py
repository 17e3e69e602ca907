"""A state in JSON: the tree with its phase. The layout of the file is in `tree_format`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from returns.result import Failure, Result, Success

from mage.codec.problems import DecodeError, Problem, short
from mage.codec.shapes import FORMAT_VERSION, header_problem
from mage.codec.strict_json import read_json, write_json
from mage.codec.tree_format import (
    TREE,
    TREE_FORMAT,
    ChapterDocument,
    ChaptersDocument,
    LessonsDocument,
    PlacedDocument,
    StepDocument,
    SummaryDocument,
    TreeDocument,
    contradictions,
)
from mage.codec.verdicts import summary_verdict_document, summary_verdict_of
from mage.engine.assemble import assemble, in_phase
from mage.engine.errors import InvariantError
from mage.engine.ids import ROOT_STEP, ROOT_SUMMARY, Digest, StepId, SummaryId
from mage.engine.invariants import breaks_in_covers, check
from mage.engine.machine import State
from mage.engine.nodes import Chapter, Instruction, Step, Summary
from mage.engine.tree import Tree


def encode_tree(state: State) -> bytes:
    """Return a state as one JSON object, a node a line; equal states give equal bytes.

    Cost: O(size of the tree).
    """
    tree = state.tree
    heads = {"step_head": tree.step_head, "summary_head": tree.summary_head}
    begin = {"format": TREE_FORMAT, "version": FORMAT_VERSION, "phase": type(state).__name__}
    parts = [
        write_json({**begin, "task": tree.task, **heads})[:-1],
        _array("steps", map(_step_document, tree.steps())),
        _array("summaries", map(_summary_document, tree.summaries())),
        _array("lessons", _lessons(tree)),
        _array("instructions", _instructions(tree)),
        _array("chapters", _chapters(tree)),
    ]
    return b",\n".join(parts) + b"}\n"


def _array(field: str, documents: Iterable[object]) -> bytes:
    lines = b",\n".join(map(write_json, documents))
    return write_json(field) + (b":[\n" + lines + b"\n]" if lines else b":[]")


def _step_document(step: Step) -> StepDocument:
    return {"id": step.id, "parent": step.parent, "action": step.action, "observation": step.observation}


def _summary_document(summary: Summary) -> SummaryDocument:
    return {
        "id": summary.id,
        "parent": summary.parent,
        "after": summary.after,
        "label": summary.label,
        "covers": list(summary.covers),
        "text": summary.text,
        "kind": summary.kind,
        "verdict": summary_verdict_document(summary.verdict),
    }


def _lessons(tree: Tree) -> Iterator[LessonsDocument]:
    for boundary in sorted({ROOT_STEP, *[summary.boundary for summary in tree.summaries()]}):
        texts = tree.lessons_at(boundary)
        if texts:
            yield {"boundary": boundary, "texts": list(texts)}


def _instructions(tree: Tree) -> Iterator[PlacedDocument]:
    for step in map(StepId, range(tree.next_step)):
        placed = tree.instructions_at(step)
        if placed:
            yield {"step": step, "placed": [{"text": i.text, "standing": i.standing} for i in placed]}


def _chapters(tree: Tree) -> Iterator[ChaptersDocument]:
    for summary in tree.summaries():
        chapters = tree.chapters_at(summary.id)
        if chapters:
            ending = [_chapter_document(chapter) for chapter in chapters]
            yield {"last": summary.id, "chapters": ending}


def _chapter_document(chapter: Chapter) -> ChapterDocument:
    return {"first": chapter.first, "text": chapter.text, "accepted": chapter.accepted}


def decode_tree(data: bytes) -> Result[State, DecodeError]:
    """Return the state that a file says, or the first thing that is wrong with it. Any bytes.

    Every field is looked at; then the whole is held against I1 to I12, so that a forged file is refused
    and not trusted. Cost: O(size).
    """
    document = read_json(data)
    if isinstance(document, Problem):
        return Failure(document.as_error())
    problem = header_problem(document, TREE_FORMAT) or TREE.problem(document)
    if problem is not None:
        return Failure(problem.as_error())
    read = cast("TreeDocument", document)
    problem = next(contradictions(read), None)
    if problem is not None:
        return Failure(problem.as_error())
    return _checked(_tree_of(read))


def _checked(tree: Tree) -> Result[State, DecodeError]:
    for summary in tree.summaries():  # before the phase: a digest is taken over covers that hold together
        for gap in breaks_in_covers(tree, summary):
            return Failure(Problem("", f"I3 covers_are_contiguous: {short(gap, limit=200)}").as_error())
    state = in_phase(tree)
    try:
        check(state)
    except InvariantError as broken:
        return Failure(Problem("", short(str(broken), limit=200)).as_error())
    return Success(state)


def _tree_of(document: TreeDocument) -> Tree:
    summaries = [_summary_of(summary) for summary in document["summaries"]]
    return assemble(
        document["task"],
        steps=[_step_of(step) for step in document["steps"]],
        summaries=summaries,
        lessons={StepId(each["boundary"]): each["texts"] for each in document["lessons"]},
        instructions={
            StepId(place["step"]): tuple(
                Instruction(each["text"], each["standing"]) for each in place["placed"]
            )
            for place in document["instructions"]
        },
        step_head=StepId(document["step_head"]),
        summary_head=SummaryId(document["summary_head"]),
        chapters={
            SummaryId(ending["last"]): tuple(
                [_chapter_of(each, summaries[ending["last"] - 1], summaries) for each in ending["chapters"]]
            )
            for ending in document["chapters"]
        },
    )


def _chapter_of(document: ChapterDocument, last: Summary, summaries: Sequence[Summary]) -> Chapter:
    first = summaries[document["first"] - 1]
    text, accepted = document["text"], document["accepted"]
    return Chapter(first.label, last.boundary, text, accepted, first.id, last.id)


def _step_of(document: StepDocument) -> Step:
    return Step(
        StepId(document["id"]), StepId(document["parent"]), document["action"], document["observation"]
    )


def _summary_of(document: SummaryDocument) -> Summary:
    covers = tuple(map(StepId, document["covers"]))
    return Summary(
        SummaryId(document["id"]),
        SummaryId(document["parent"]),
        SummaryId(document["after"]),
        StepId(document["label"]),
        covers,
        document["text"],
        document["kind"],
        summary_verdict_of(document["verdict"]),
        ROOT_SUMMARY,
        Digest(""),
    )
