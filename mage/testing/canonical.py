"""The plain form of a state: everything that can be observed of it, as data that any language can write.

Two implementations agree on a state when they write the same bytes: `canonical_json`. Where they do not,
`differences` of the two forms names the parts. `specs/conformance/PROTOCOL.md` lists the parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never

import attrs

from mage.engine import (
    Accepted,
    Chapter,
    ExecutionState,
    Failed,
    Hints,
    Line,
    Passed,
    Pending,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    SummaryVerdict,
    Tree,
    Unverified,
    inside,
    judge_request,
    view,
)
from mage.engine.ids import ROOT_SUMMARY

Canonical: TypeAlias = dict[str, object]
"""A plain form: its parts by name, each made of tuples, strings, numbers, True, False and None."""

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
)


def canonical(state: State) -> Canonical:
    """Return the plain form of a state: every node with its children, the notes, the heads, the phase,
    S = (C, R, H) and the question to a judge.

    Only the fields of the two sentinels are left out, which no view shows (D2). Two states are equal
    exactly when their forms are. Cost: O(size of the tree); 0.2 ms for 100 steps under 15 summaries.
    """
    tree = state.tree
    return {
        "phase": type(state).__name__,
        "heads": (tree.step_head, tree.summary_head, tree.boundary, tree.next_step, tree.next_summary),
        "paths": (tree.active_path(), tree.summary_path(), _way(tree), tree.segment()),
        **_nodes(tree),
        **_shown(view(state)),
        "inside": _inside(state),
        "asked": _asked(state),
    }


def canonical_json(state: State) -> bytes:
    r"""Return the plain form of a state as canonical JSON, in the spelling of D5. Cost: O(size of the tree).

    Keys are sorted, no space stands between the tokens, text is UTF-8; characters that JSON must escape are escaped
    in lower case, and lone surrogates are written as escapes, `\ud800`.
    """
    return spelled(canonical(state))


def spelled(form: Canonical) -> bytes:
    """Return a plain form, of whatever implementation, as canonical JSON. Cost: O(size)."""
    return _ENCODER.encode(form).encode(errors="backslashreplace")


def _way(tree: Tree) -> tuple[SummaryId, ...]:
    return (ROOT_SUMMARY, *[summary.id for summary in tree.way_upwards()][::-1])


def _inside(state: State) -> tuple[object, ...]:
    """Every chapter that C shows, or that stands inside one, and the lines that it replaced."""
    found: list[object] = []
    lines = [*view(state).compressed][::-1]
    while lines:
        line = lines.pop()
        if isinstance(line, Chapter):
            replaced = inside(state, line.label, line.boundary).unwrap().lines
            found.append(
                (line.label, line.boundary, tuple([(each.label, each.boundary) for each in replaced]))
            )
            lines.extend(replaced[::-1])
    return tuple(found)


def _nodes(tree: Tree) -> Canonical:
    steps = [StepId(number) for number in range(tree.next_step)]
    summaries = [SummaryId(number) for number in range(tree.next_summary)]
    return {
        "steps": _steps(tree.steps()),
        "step children": tuple([tree.step_children(step) for step in steps]),
        "summaries": _lines(tree.summaries()),
        "summary children": tuple([tree.summary_children(summary) for summary in summaries]),
        "chapters": tuple(
            [(summary, _lines(ended)) for summary in summaries if (ended := tree.chapters_at(summary))]
        ),
        "lessons": tuple([(step, left) for step in steps if (left := tree.lessons_at(step))]),
        "instructions": tuple(
            [(step, each.text, each.standing) for step in steps for each in tree.instructions_at(step)]
        ),
    }


def _shown(shown: ExecutionState) -> Canonical:
    hints = shown.hints
    return {
        "task": shown.task,
        "in force": shown.instructions,
        "C": _lines(shown.compressed),
        "R": _steps(shown.raw),
        "continuations": _steps(hints.continuations),
        "subgoals": _lines(hints.subgoals),
        "lessons here": tuple([(lesson.boundary, lesson.text) for lesson in hints.lessons]),
        "boundary": shown.boundary,
    }


def _asked(state: State) -> object:
    if not isinstance(state, Unverified):
        return None
    request = judge_request(state)
    return (
        request.task,
        request.instructions,
        request.kind,
        _lines(request.before),
        tuple(
            [(each.label, each.boundary, each.text, plain_verdict(each.verdict)) for each in request.earlier]
        ),
        _steps(request.steps),
        request.text,
        request.digest,
        tuple([step.id for step in judge_request(state, since_root=True).steps]),
        _hints(request.hints),
        request.boundaries,
    )


def _hints(hints: Hints) -> object:
    lessons = tuple([(lesson.boundary, lesson.text) for lesson in hints.lessons])
    return (hints.boundary, _steps(hints.continuations), _lines(hints.subgoals), lessons)


def _steps(steps: Iterable[Step]) -> tuple[object, ...]:
    return tuple([(step.id, step.parent, step.action, step.observation) for step in steps])


def _lines(lines: Iterable[Line]) -> tuple[object, ...]:
    return tuple([attrs.astuple(line) if isinstance(line, Chapter) else _summary(line) for line in lines])


def _summary(summary: Summary) -> object:
    place = (summary.id, summary.parent, summary.after, summary.label, summary.covers)
    return (*place, summary.text, summary.kind, plain_verdict(summary.verdict))


def plain_verdict(verdict: SummaryVerdict) -> tuple[str, str, str, int | None]:
    """Return a verdict as a word, feedback, fault and boundary; an accepted one has those that it is despite (D6)."""
    match verdict:
        case Pending():
            return ("pending", "", "", None)
        case Passed():
            return ("passed", "", "", None)
        case Failed():
            return ("failed", verdict.feedback, verdict.fault, verdict.boundary)
        case Accepted():
            failed = verdict.despite
            if failed is None:
                return ("accepted", "", "", None)
            return ("accepted", failed.feedback, failed.fault, failed.boundary)
        case _:
            assert_never(verdict)


def differences(engine: Canonical, other: Canonical, name: str = "the other") -> str:
    """Return the parts in which two plain forms differ, a line each; empty where they are equal.

    Of a part that is a list the line names the first place that differs, and how many more there are.

    Args:
        engine: the engine's form.
        other: the other side's form.
        name: the name of the other side.
    """
    parts = dict.fromkeys([*engine, *other])
    lines = (_difference(part, engine.get(part), other.get(part), name) for part in parts)
    return "\n".join(line for line in lines if line)


def _difference(part: str, ours: object, theirs: object, name: str) -> str:
    if ours == theirs:
        return ""
    if not isinstance(ours, tuple | list) or not isinstance(theirs, tuple | list):
        return f"{part}: the engine has {ours!r}, {name} {theirs!r}"
    most = max(len(ours), len(theirs))
    at = [place for place in range(most) if ours[place : place + 1] != theirs[place : place + 1]]
    more = f" (and {len(at) - 1} more places)" if len(at) > 1 else ""
    found, instead = (repr(each[at[0]]) if at[0] < len(each) else "nothing" for each in (ours, theirs))
    return f"{part}[{at[0]}]: the engine has {found}, {name} {instead}{more}"
