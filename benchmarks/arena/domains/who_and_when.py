"""Runs that failed and in which people have named the step of the mistake, put to judges: Who&When's.

A run is cut into segments as the product's memory compresses it without a model, at a mark; each segment is put to a
judge as a finished subgoal, with the product's extract as its claim. A judge that Maintain could trust passes the
segments before the mistake, and fails the one with it. What follows the mistake is neither right nor wrong, and is not
asked. The files are not part of the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, final

import attrs

from benchmarks.arena.domains.measured import Answer, Case
from benchmarks.arena.domains.results import BadResults
from benchmarks.arena.systems import Product
from benchmarks.arena.traces import Run, runs_of
from mage import Session
from mage.agent import extracted
from mage.effects import SummaryRequest
from mage.engine import (
    Active,
    Compress,
    Grow,
    JudgeRequest,
    Passed,
    Start,
    State,
    StepId,
    Unverified,
    apply,
    apply_verdict,
    judge_request,
)
from mage.tokens import TokenCounter, default_counter
from mage.trajectories import Trajectory, load, placed

ROOM: Final = 2_000
"""Tokens of open steps that the product's mark leaves room for: some segments to a run."""
LIMIT: Final = 1_000
"""Tokens that an extract may have."""


def labelled(folder: Path, room: int = ROOM) -> list[Case]:
    """Return the segments of the runs in a folder, up to the one with the mistake, run by run, in order.

    Raises:
        BadResults: there is no file, one cannot be read, or one has no label.
    """
    files = sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))
    if not files:
        raise BadResults(f"there is no *.json in {folder}: name the folder of Who&When's hand-labelled files")
    counter = default_counter()
    return [case for file in files for case in _of_file(file, room, counter)]


def _of_file(file: Path, room: int, counter: TokenCounter) -> Iterator[Case]:
    try:
        found = load(file.read_bytes(), file=file.name)
    except OSError as error:
        raise BadResults(f"{file} cannot be read: {error}") from None
    for trajectory in found.value_or(()):
        mistake = _mistake(trajectory)
        if mistake is None:
            raise BadResults(f"{file} says of no step that it is the mistake")
        yield from _segments(next(runs_of(trajectory)), mistake, room, counter)
        return
    raise BadResults(f"{file} is no run that can be read: {found.failure()}")


def _mistake(trajectory: Trajectory) -> StepId | None:
    where = placed(trajectory)
    steps = [
        step for each in trajectory.mistakes if each.entry is not None for step in where.get(each.entry, ())
    ]
    return min(steps, default=None)


def _segments(run: Run, mistake: StepId, room: int, counter: TokenCounter) -> Iterator[Case]:
    for place, request in enumerate(segments(run, room, counter)):
        is_wrong = any(step.id == mistake for step in request.steps)
        yield Case(run.name, place, request, not is_wrong, mistake if is_wrong else None)
        if is_wrong:
            return


def segments(run: Run, room: int, counter: TokenCounter) -> Iterator[JudgeRequest]:
    """Yield the questions on the segments of a run, each as if all before it had passed; the open steps are the last."""
    product = Product(run, room, counter, LIMIT)
    for act in run.acts:
        product.show()
        product.take(act.action, act.observation)
    state: State | None = None
    for text in _texts(product.memory.session):
        if isinstance(text, str):
            assert isinstance(state, Active)  # no segment is empty, and each before has passed
            judged = apply(state, Compress(text, "subgoal")).unwrap()
            assert isinstance(judged, Unverified)  # it was just compressed
            request = judge_request(judged)
            yield request
            state = apply_verdict(judged, Passed(), request.digest).unwrap()
        else:
            state = apply(state, text).unwrap()


def _texts(session: Session) -> Iterator[Start | Grow | str]:
    """Yield how a session began, its steps, and where a segment ends its text; an extract of the open steps at the end."""
    for entry in session.history():
        if isinstance(entry.command, Start | Grow):
            yield entry.command
        elif isinstance(entry.command, Compress):
            yield entry.command.text
    shown = session.state()
    if shown.raw:
        request = SummaryRequest(shown.task, shown.instructions, "subgoal", (), shown.raw, LIMIT)
        yield extracted(request)


# -- which segment fails first ----------------------------------------------------------------------------


@final
@attrs.frozen
class Firsts:
    """Of runs with a mistake each, which segment a judge fails first.

    Attributes:
        runs: how many.
        right: those in which it is the segment with the mistake: there an agent would have gone back in time.
        early: those in which it is one before: a false alarm.
        never: those in which it fails none up to the mistake.
    """

    runs: int
    right: int
    early: int
    never: int


def firsts(answers: Iterable[Answer]) -> Firsts:
    """Return which segments fail first; answers are of cases as `labelled` gives them."""
    by_run: dict[str, list[Answer]] = {}
    for each in answers:
        by_run.setdefault(each.case.task, []).append(each)
    found = [_first(each) for each in by_run.values()]
    right, early = sum(each is True for each in found), sum(each is False for each in found)
    return Firsts(len(found), right, early, len(found) - right - early)


def _first(answers: Sequence[Answer]) -> bool | None:
    """Tell whether the first segment that fails is the wrong one; None where none fails."""
    failed = next((each for each in answers if each.failed is not None), None)
    return None if failed is None else not failed.case.is_right
