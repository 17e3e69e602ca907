"""A state as the bytes of a snapshot: what a journal leads to, packed so that it is there at once.

A cache and no format to exchange: `mage.codec` has that. It is JSON of arrays, not of objects: 100,000 steps
are read in a quarter of a second. (Compressing it would halve its size, and take half as long again.) A
reader checks the digest first, which ties a snapshot to the very records that it was made from: `unpack` trusts
the bytes as far as that, and checks the rest only so far that no walk along the tree is endless.
"""

from __future__ import annotations

import json
from itertools import count
from operator import lt
from typing import Any, Final, cast, final

import attrs

from mage.codec.commands import SUMMARY_VERDICT, summary_verdict_document, summary_verdict_of
from mage.codec.strict_json import write_json
from mage.engine.assemble import assemble, in_phase
from mage.engine.ids import ROOT_STEP, Digest, StepId, SummaryId
from mage.engine.machine import State
from mage.engine.nodes import Chapter, Instruction, Passed, Step, Summary, as_kind
from mage.session.drivers import collector_paused

_FORMAT: Final = "mage-snapshot-1"
_BEGINNING: Final = f'["{_FORMAT}",'.encode()
_PASSED: Final = summary_verdict_document(Passed())


def pack(state: State) -> bytes:
    """Return a state in bytes. Cost: O(size of the tree)."""
    tree = state.tree
    parents: list[int] = []
    texts: list[str] = []
    for step in tree.steps():
        parents.append(step.parent)
        texts += step.content
    places = [StepId(number) for number in range(ROOT_STEP, tree.next_step)]
    document = [
        _FORMAT,
        [tree.task, tree.step_head, tree.summary_head],
        parents,
        texts,
        [_packed(summary) for summary in tree.summaries()],
        [[step, left] for step in places if (left := tree.lessons_at(step))],
        [
            [step, [[each.text, each.standing] for each in placed]]
            for step in places
            if (placed := tree.instructions_at(step))
        ],
        [attrs.astuple(chapter) for summary in tree.summaries() for chapter in tree.chapters_at(summary.id)],
    ]
    return write_json(document)


def _packed(summary: Summary) -> list[object]:
    place = [summary.parent, summary.after, summary.label, summary.covers]
    return [*place, summary.text, summary.kind, summary_verdict_document(summary.verdict)]


def unpack(data: bytes) -> State | None:
    """Return the state that `pack` was given, None where these bytes say none. Any bytes. Cost: O(size of the tree)."""
    state = read_packed(data)
    return state if isinstance(state, State) else None


def read_packed(data: bytes) -> State | str | None:
    """Return the state that `pack` was given, or why these bytes say none; None where they are of another form. Cost: O(size).

    Any bytes: what can be walked along is looked at first, so that every walk along the state's tree ends.
    """
    try:
        with collector_paused():
            return _unpacked(json.loads(data)) if data.startswith(_BEGINNING) else None
    except _Odd as odd:
        return str(odd)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return f"it cannot be read: {type(error).__name__}"


@final
class _Odd(Exception):
    """What was read fits no tree."""


def _unpacked(document: list[Any]) -> State:
    _, (task, step_head, summary_head), parents, texts, summaries, lessons, instructions, chapters = document
    _require_steps(task, step_head, parents, texts)
    numbers = map(StepId, range(1, len(parents) + 1))
    steps = list(map(Step, numbers, parents, texts[::2], texts[1::2]))
    found = [_summary(number, packed) for number, packed in enumerate(summaries, 1)]
    _require_covers(found, parents)
    _require_heads(found, parents, step_head, summary_head)
    tree = assemble(
        task,
        steps=steps,
        summaries=found,
        lessons={_place(step, parents): _texts(left) for step, left in lessons},
        instructions={
            _place(step, parents): tuple(
                [Instruction(text, standing) for text, standing in placed if _texts([text])]
            )
            for step, placed in instructions
        },
        step_head=StepId(step_head),
        summary_head=SummaryId(summary_head),
        chapters=_chapters(found, chapters),
    )
    return in_phase(tree)


def _chapters(summaries: list[Summary], packed: list[list[Any]]) -> dict[SummaryId, tuple[Chapter, ...]]:
    """Return the chapters by the summary that they end at, each of which begins above it."""
    chapters: dict[SummaryId, tuple[Chapter, ...]] = {}
    for label, boundary, text, accepted, first, last in packed:
        _require(_is_id(last, 2, len(summaries)) and _is_id(first, 1, last - 1), "a chapter has no summaries")
        _require(type(text) is str and type(accepted) is int, "a chapter has no text")
        ends = summaries[first - 1].label, summaries[last - 1].boundary
        _require(ends == (label, boundary), "a chapter does not end where its summaries do")
        chapter = Chapter(label, boundary, text, accepted, first, last)
        chapters[last] = (*chapters.get(last, ()), chapter)
    return chapters


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise _Odd(what)


def _is_id(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _texts(given: list[str]) -> list[str]:
    _require(set(map(type, given)) <= {str}, "a text is none")
    return given


def _place(step: object, parents: list[int]) -> StepId:
    _require(_is_id(step, 0, len(parents)), f"there is no step {step!r}")
    return StepId(cast("int", step))


def _require_steps(task: object, step_head: object, parents: list[int], texts: list[str]) -> None:
    """Ask that steps name earlier ones as their parents, so that every walk upwards ends (I1)."""
    _require(type(task) is str, "the task is no text")
    _require(len(_texts(texts)) == 2 * len(parents), "texts and steps do not match")
    _require(set(map(type, parents)) <= {int}, "a parent is no id")
    _require(min(parents, default=0) >= 0, "a step has a parent before the root")
    _require(all(map(lt, parents, count(1))), "steps are their own ancestors")
    _require(_is_id(step_head, 0, len(parents)), "there is no such step as the step head")


def _require_covers(summaries: list[Summary], parents: list[int]) -> None:
    """Ask that each summary covers steps that run down from where its parent ends (I3)."""
    above: list[int] = [0, *parents]
    ends: list[int] = [0]
    for number, summary in enumerate(summaries, 1):
        covers = summary.covers
        _require(_is_id(summary.parent, 0, number - 1), f"summary {number} is its own ancestor")
        ids = set(map(type, covers)) <= {int} and min(covers) > 0 and max(covers) < len(above)
        _require(ids, f"summary {number} covers what is no step")
        end = ends[summary.parent]
        runs = summary.label == end and [above[step] for step in covers] == [end, *covers[:-1]]
        _require(runs, f"summary {number} does not run on from where its parent ends")
        ends.append(covers[-1])


def _require_heads(
    summaries: list[Summary], parents: list[int], step_head: int, summary_head: object
) -> None:
    """Ask that the step head stands below the boundary of the summary head (I5)."""
    _require(_is_id(summary_head, 0, len(summaries)), "there is no such summary as the summary head")
    boundary = summaries[cast("int", summary_head) - 1].covers[-1] if summary_head else 0
    step = step_head
    while step > boundary:
        step = parents[step - 1]
    _require(step == boundary, "the step head is not below the summary head")
    _require_way(summaries, cast("int", summary_head))


def _require_way(summaries: list[Summary], head: int) -> None:
    """Ask that the way leads from the head to the root, by all that the summary path goes through (I11)."""
    way, summary = {0}, head
    while summary:
        _require(summary not in way, "the way is a circle")
        way.add(summary)
        summary = summaries[summary - 1].after
    while head:
        _require(head in way, "the way leaves out summaries of the summary path")
        head = summaries[head - 1].parent


def _summary(number: int, packed: Any) -> Summary:
    parent, after, label, covers, text, kind, verdict = packed
    if verdict != _PASSED and SUMMARY_VERDICT.problem(verdict) is not None:  # nearly all have passed
        raise _Odd(f"summary {number} has no verdict")
    _require(type(text) is str, f"summary {number} has no text")
    _require(type(after) is int and after >= 0, f"summary {number} came after none")
    after = SummaryId(after)
    steps = tuple(covers)
    found = Passed() if verdict == _PASSED else summary_verdict_of(verdict)
    own = SummaryId(number)
    return Summary(own, parent, after, label, steps, text, as_kind(kind), found, own, Digest(""))
