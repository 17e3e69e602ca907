"""Chapters: C grows with the subgoals without end, so its oldest lines are folded when it takes too much (D19).

C takes more than `Policy.fold_at`   the newest lines stay whole, those that take a quarter of it together
of the older ones                    the chapters together, where they take more than half of it; else the summaries
their text                           from the summarizer; judged; asked for once more where it is refused
it fails twice                       not folded, and not tried again until more lines have come
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from returns.result import Success

from mage.chat.parts import too_long
from mage.effects import ChapterRequest, EffectError, Metered, Verdict
from mage.engine import (
    Active,
    Chapter,
    ExecutionState,
    Failed,
    Fold,
    FoldRequest,
    Line,
    Summary,
    fold_request,
)
from mage.memory.maintain import parts_of
from mage.memory.requests import IsDue, judge, summarize
from mage.memory.state import Run

_WHOLE: Final = 4
"""The newest lines that take this part of the mark together stay whole."""
_TRIES: Final = 2
_Kind = TypeVar("_Kind", Summary, Chapter)


async def fold_lines(run: Run) -> None:
    """Fold the oldest lines of C into chapters, as long as C takes more than the policy says."""
    while isinstance(run.state, Active):
        shown = run.shown()
        is_long = _is_long(run, shown)
        if is_long and not run.policy.maintain:
            await _tell(run, "no judge is asked here")
        due = is_long and run.policy.maintain and len(shown.compressed) > run.fold_behind
        lines = planned(run, shown) if due else ()
        if not (await IsDue(bool(lines), "chapter")):
            return
        lines = (
            lines or parts_of(shown.compressed)[0]
        )  # by the log: the texts that were counted are redacted since
        if not (await _folded(run, lines)):
            return


def _is_long(run: Run, shown: ExecutionState) -> bool:
    mark = run.policy.fold_at
    if mark is None or not run.policy.compress:
        return False
    return sum(map(run.meter.line, shown.compressed)) > mark


def planned(run: Run, shown: ExecutionState) -> tuple[Line, ...]:
    """Return the lines that are to be folded next; none where there are not two. Cost: O(lines of C)."""
    mark = run.policy.fold_at or 0
    lines, interim = parts_of(shown.compressed)
    whole = 0
    kept = sum(map(run.meter.line, interim))
    while whole < len(lines) and (kept := kept + run.meter.line(lines[-1 - whole])) <= mark // _WHOLE:
        whole += 1
    older = lines[: len(lines) - whole]
    chapters, summaries = _of_kind(older, Chapter), _of_kind(older, Summary)
    taken = sum(run.meter.line(line) for line in older if isinstance(line, Chapter))
    return chapters if len(summaries) < 2 or (chapters and taken > mark // 2) else summaries


def _of_kind(lines: Sequence[Line], kind: type[_Kind]) -> tuple[Line, ...]:
    """Return the run from the first line of a kind to the last; none where there are not two of it."""
    places = [place for place, line in enumerate(lines) if isinstance(line, kind)]
    return tuple(lines[places[0] : places[-1] + 1]) if len(places) > 1 else ()


async def _folded(run: Run, lines: tuple[Line, ...]) -> bool:
    """Fold these lines; where that fails, see to it that it is not tried again at once."""
    count = len(run.shown().compressed)
    try:
        for_sure = await _written(run, lines)
    except EffectError as error:  # nobody answers: it is tried again, and less and less often
        run.fold_behind = 2 * count
        await _tell(run, f"there is no text for a chapter ({error.fault.replace('_', ' ')})")
        return False
    if for_sure is None:
        run.fold_behind = count
        return False
    request, judged = for_sure
    folding = Fold(lines[0].label, lines[-1].boundary, request.text, request.digest)
    await run.operate(folding, judged.meta)
    return True


async def _written(run: Run, lines: tuple[Line, ...]) -> tuple[FoldRequest, Metered[Verdict]] | None:
    """Return a chapter's text that has passed, None where two have not.

    Raises:
        EffectError: summarizer or judge gives no answer.
    """
    limit = min(run.policy.summary_limit, sum(map(run.meter.line, lines)))
    shown = run.shown()
    rejected, feedback = None, ""
    for _ in range(_TRIES):
        asked = ChapterRequest(shown.task, shown.instructions, lines, limit, rejected, feedback)
        text = (await run.asked("summarizer", summarize(asked))).value
        request = _request(run, lines, text, limit)
        if isinstance(request, str):
            rejected, feedback = text, request
            continue
        judged = await run.asked("judge", judge(request))
        if not isinstance(judged.value, Failed):
            return request, judged
        rejected, feedback = text, judged.value.feedback
    return None


def _request(run: Run, lines: tuple[Line, ...], text: str, limit: int) -> FoldRequest | str:
    """Return what a judge is asked, or in words why the text is no chapter's."""
    if wrong := too_long(text, limit, run.meter.counter):
        return wrong
    if not isinstance(run.state, Active):
        raise AssertionError("lines are folded between subgoals")
    request = fold_request(run.state, lines[0].label, lines[-1].boundary, text)
    return request.unwrap() if isinstance(request, Success) else str(request.failure())


async def _tell(run: Run, why: str) -> None:
    """Tell once that C grows and cannot be folded."""
    if run.told_of_folding:
        return
    run.told_of_folding = True
    await run.notice("tokens", f"The finished parts take much room and cannot be made chapters: {why}.")
