"""Execution states to render: any value of the type, and those that operations reach."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar, get_args

import attrs
from hypothesis import strategies as st

from mage.engine import (
    Accepted,
    Active,
    Chapter,
    Digest,
    ExecutionState,
    Failed,
    Hints,
    Lesson,
    Line,
    Passed,
    Pending,
    Rejected,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    SummaryVerdict,
    Unverified,
    accept,
    apply_verdict,
    compress,
    fold,
    fold_request,
    grow,
    instruct,
    retext,
    revise,
    start,
    view,
)
from mage.engine.nodes import FAULTS, KINDS
from tests.render.parser import Parsed, ParsedChapter, ParsedSummary, Verdict

Item = TypeVar("Item")

BREAKS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
FORGERIES = (
    "Task: ",
    "Instruction: ",
    "[Step 0] ",
    "Status: passed",
    "Status: failed, the execution is at fault: ",
    "open since [Step 3]",
    "Action: ",
    "Observation: ",
    "Hints: ",
    "Tried action: ",
    "Tried observation: ",
    "Tried subgoal [Step 3]: ",
    "Lesson: ",
    "[... 3 characters more]",
    "[... 2 more lessons, older]",
)
_SCRAPS = (
    "",
    " ",
    "  ",
    "   ",
    "\t",
    "/",
    "//",
    "[",
    "\ud800",
    "\udc00",
    "\x00",
    "\x1f",
    "a",
    "I",
    "7",
    "了",
    "…",
    "🎂",
)

hostile_texts: st.SearchStrategy[str] = st.one_of(
    st.lists(st.sampled_from((*BREAKS, *FORGERIES, *_SCRAPS)), max_size=8).map("".join),
    st.text(st.characters(), max_size=12),
)

_step_ids = st.integers(-1, 10**12).map(StepId)
steps: st.SearchStrategy[Step] = st.builds(Step, _step_ids, _step_ids, hostile_texts, hostile_texts)
_failed: st.SearchStrategy[Failed] = st.builds(Failed, hostile_texts, st.sampled_from(FAULTS))
_verdicts: st.SearchStrategy[SummaryVerdict] = st.one_of(
    st.just(Passed()), st.just(Pending()), _failed, st.builds(Accepted, st.none() | _failed)
)
summaries: st.SearchStrategy[Summary] = st.builds(
    Summary,
    id=st.integers(0, 9).map(SummaryId),
    parent=st.integers(0, 9).map(SummaryId),
    after=st.integers(0, 9).map(SummaryId),
    label=_step_ids,
    covers=st.just((StepId(1),)),
    text=hostile_texts,
    kind=st.sampled_from(KINDS),
    verdict=_verdicts,
    base=st.just(SummaryId(0)),
    above=st.just(Digest("")),
)
chapters: st.SearchStrategy[Chapter] = st.builds(
    Chapter,
    label=_step_ids,
    boundary=_step_ids,
    text=hostile_texts,
    accepted=st.integers(0, 3),
    first=st.just(SummaryId(1)),
    last=st.just(SummaryId(2)),
)
lessons: st.SearchStrategy[Lesson] = st.builds(Lesson, st.integers(0, 2).map(StepId), hostile_texts)


def _few(items: st.SearchStrategy[Item]) -> st.SearchStrategy[tuple[Item, ...]]:
    return st.lists(items, max_size=4).map(tuple)


execution_states: st.SearchStrategy[ExecutionState] = st.builds(
    ExecutionState,
    task=hostile_texts,
    instructions=_few(hostile_texts),
    compressed=_few(st.one_of(summaries, chapters)),
    raw=_few(steps),
    hints=st.builds(
        Hints,
        boundary=st.integers(0, 2).map(StepId),
        continuations=_few(steps),
        subgoals=_few(summaries),
        lessons=_few(lessons),
    ),
)
"""Any S at all, reachable or not, in hostile words."""


def said(shown: ExecutionState) -> Parsed:
    """Return what a complete rendering of S says, taken from S itself."""
    return Parsed(
        task=shown.task,
        instructions=list(shown.instructions),
        compressed=[_said_of_line(line) for line in shown.compressed],
        boundary=shown.boundary,
        raw=[step.content for step in shown.raw],
        continuations=[step.content for step in shown.hints.continuations],
        subgoals=[_said_of(summary) for summary in shown.hints.subgoals],
        lessons=[
            (None if lesson.boundary == shown.boundary else lesson.boundary, lesson.text)
            for lesson in shown.hints.lessons
        ],
    )


def _said_of_line(line: Line) -> ParsedSummary | ParsedChapter:
    if isinstance(line, Chapter):
        return ParsedChapter(line.label, line.boundary, line.text, line.accepted)
    return _said_of(line)


def _said_of(summary: Summary) -> ParsedSummary:
    return ParsedSummary(summary.label, summary.text, summary.kind, _verdict_of(summary.verdict))


def _verdict_of(verdict: SummaryVerdict) -> Verdict:
    match verdict:
        case Pending():
            return ("unverified",)
        case Passed():
            return ("passed",)
        case Failed():
            return ("failed", verdict.fault, verdict.feedback)
        case Accepted(despite=Failed(feedback, fault)):
            return ("accepted despite a failed verdict", fault, feedback)
        case Accepted():
            return ("accepted without a verdict",)


Operation: TypeAlias = Literal[
    "grow",
    "instruct",
    "compress",
    "retext",
    "pass",
    "fail",
    "accept",
    "revise",
    "drop the open segment",
    "fold",
]


@attrs.frozen
class Move:
    """One operation to try; what is illegal or refused then and there changes nothing."""

    operation: Operation
    number: int = 0
    text: str = "a"
    other: str = "b"


_words = st.one_of(st.sampled_from(("a", "b")), hostile_texts)
moves: st.SearchStrategy[Move] = st.builds(
    Move,
    st.sampled_from(("grow", "grow", "compress", "compress", "pass", "fail", "revise"))
    | st.sampled_from(get_args(Operation)),
    st.integers(0, 5),
    _words,
    _words,
)
walks: st.SearchStrategy[list[Move]] = st.lists(moves, min_size=10, max_size=30)
"""Random sequences of operations; few different words, so that branches merge."""


def visited(task: str, walk: list[Move]) -> list[State]:
    """Return the states along a walk, the start included."""
    states: list[State] = [start(task)]
    for move in walk:
        states.append(taken(states[-1], move))
    return states


def taken(state: State, move: Move) -> State:
    """Return the state after a move."""
    match move.operation:
        case "grow":
            return state if isinstance(state, Rejected) else grow(state, move.text, move.other)
        case "instruct":
            return state if isinstance(state, Rejected) else _instructed(state, move)
        case "compress":
            kind = KINDS[move.number % 2]
            return compress(state, move.text, kind).value_or(state) if isinstance(state, Active) else state
        case "retext":
            return state if isinstance(state, Active) else retext(state, move.text).value_or(state)
        case "accept":
            return state if isinstance(state, Active) else accept(state)
        case "pass" | "fail":
            return _judged(state, move)
        case "revise":
            return _revised(state, move, tuple(summary.label for summary in view(state).compressed))
        case "fold":
            return _folded(state, move)
        case "drop the open segment":
            return _revised(state, move, (view(state).boundary,))


def _instructed(state: Active | Unverified, move: Move) -> State:
    if isinstance(state, Active):
        return instruct(state, move.text, standing=move.number % 2 == 1).value_or(state)
    return instruct(state, move.text, standing=move.number % 2 == 1).value_or(state)


def _judged(state: State, move: Move) -> State:
    if not isinstance(state, Unverified):
        return state
    failed = Failed(move.text, FAULTS[move.number % 2])
    verdict = Passed() if move.operation == "pass" else failed
    return apply_verdict(state, verdict, state.digest).value_or(state)


def _folded(state: State, move: Move) -> State:
    lines = view(state).compressed
    if not isinstance(state, Active) or len(lines) < 2:
        return state
    first, last = lines[0].label, lines[1 + move.number % (len(lines) - 1)].boundary
    request = fold_request(state, first, last, move.text).value_or(None)
    return state if request is None else fold(state, first, last, move.text, request.digest).unwrap()


def _revised(state: State, move: Move, boundaries: tuple[StepId, ...]) -> State:
    if not boundaries:
        return state
    revised = revise(state, boundaries[move.number % len(boundaries)], move.other).value_or(None)
    return state if revised is None else revised.state
