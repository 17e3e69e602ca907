"""Chapters fold the oldest lines of C, which else grows with each subgoal; `look` shows what a line stands for (D19).

C takes more than `Policy.fold_at`   the newest lines stay, as many as take a quarter of `fold_at` together
which older lines are folded         the chapters, where they take more than half of `fold_at`; else the summaries
the text of a chapter                the summarizer writes it, the judge reads it; one more try where it is refused
it is refused twice                  the lines are not folded, nor tried again until C has more lines

Every raw step is kept, but the model sees no step behind a summary, and only the two ends of a long observation. A
look shows the model the parts left out, once; it changes nothing, records nothing, and costs no revise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import attrs
from returns.result import Success

from mage.effects import ChapterRequest, EffectError, Looked, LookInto, Metered, Verdict
from mage.engine import (
    Active,
    Chapter,
    ExecutionState,
    Failed,
    Fold,
    FoldRequest,
    Inside,
    Line,
    State,
    Step,
    StepId,
    Summary,
    fold_request,
    inside,
    view,
)
from mage.engine.tree import trace
from mage.memory.journal import LONGEST_THOUGHT
from mage.memory.requests import IsDue, judge, summarize
from mage.memory.state import Run
from mage.memory.summaries import parts_of
from mage.render.blocks import Block, inside_of, named_line_of, step_of
from mage.tokens import TokenCounter, cut, too_long

_WHOLE: Final = 4
"""The newest lines that take a quarter of the mark together stay whole."""
_TRIES: Final = 2
_Kind = TypeVar("_Kind", Summary, Chapter)


async def fold_lines(run: Run) -> None:
    """Fold the oldest lines of C into chapters, as long as C takes more than `Policy.fold_at`."""
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
        )  # a replay folds by its log: texts were redacted since, so C counts fewer tokens now
        if not (await _folded(run, lines)):
            return


def _is_long(run: Run, shown: ExecutionState) -> bool:
    mark = run.policy.fold_at
    if mark is None or not run.policy.compress:
        return False
    return sum(map(run.meter.line, shown.compressed)) > mark


def planned(run: Run, shown: ExecutionState) -> tuple[Line, ...]:
    """Return the lines to fold next; empty where there are fewer than two. Cost: O(lines of C)."""
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
    """Return the lines from the first line of a kind to the last; empty where fewer than two are of that kind."""
    places = [place for place, line in enumerate(lines) if isinstance(line, kind)]
    return tuple(lines[places[0] : places[-1] + 1]) if len(places) > 1 else ()


async def _folded(run: Run, lines: tuple[Line, ...]) -> bool:
    """Fold these lines; where that fails, raise `fold_behind` so that it is not tried again at once."""
    count = len(run.shown().compressed)
    try:
        for_sure = await _written(run, lines)
    except EffectError as error:  # no answer: each next try waits for twice as many lines
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
    """Return a chapter's text that has passed the judge; None where two texts were refused.

    Raises:
        EffectError: summarizer or judge gives no answer.
    """
    limit = min(run.policy.longest_text, sum(map(run.meter.line, lines)))
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
    """Return the question for the judge, or in words why the text cannot be a chapter."""
    if wrong := too_long(text, limit, run.meter.counter):
        return wrong
    if not isinstance(run.state, Active):
        raise AssertionError("lines are folded between subgoals")
    request = fold_request(run.state, lines[0].label, lines[-1].boundary, text)
    return request.unwrap() if isinstance(request, Success) else str(request.failure())


async def _tell(run: Run, why: str) -> None:
    """Tell the model once that C grows and cannot be folded."""
    if run.told_of_folding:
        return
    run.told_of_folding = True
    await run.notice("tokens", f"The finished parts take much room and cannot be made chapters: {why}.")


# -- a look into a line -------------------------------------------------------------------------------------


PAGE: Final = 1_500
"""The most tokens of a page, without its heading."""


def look_into(state: State, asked: LookInto, counter: TokenCounter, *, page: int = PAGE) -> Looked | str:
    """Return a page of the text that a line stands for, or in words why there is none.

    A summary stands for its steps, a chapter for the lines it replaced, the label of the open segment for the open
    steps. Behind these stand the abandoned steps that began at the label, where the hints have any, because hints show
    only the first step of each abandoned branch. With words, only steps and lines that contain all of them are
    shown, whatever their case; for a chapter, also the lines and steps under its lines.

    Cost: O(steps and lines under the line, and abandoned steps).
    """
    words = asked.words.casefold().split()
    opened, undone = _open_part(state, asked), _undone(state, asked)
    named, what, blocks = f"[Step {asked.label}]", "the open steps", list(_holding_steps(opened, words))
    if not opened:
        found = inside(state, asked.label, asked.boundary)
        if isinstance(found, Success):
            line = found.unwrap().line
            named = f"[Step {line.label}..{line.boundary}]"
            what = "the parts" if found.unwrap().lines else "the steps"
            blocks = list(_holding(state, found.unwrap(), words) if words else inside_of(found.unwrap()))
        elif undone:
            what = "what was undone from there"
        else:
            return str(found.failure())
    blocks += _ways(undone, words)
    if not blocks:
        return f"Nothing in {named} holds these words"
    pages = _pages([piece for block in blocks for piece in _pieces(block, counter, page)], counter, page)
    if not 1 <= asked.page <= len(pages):
        return f"{named} has {len(pages)} page{'s' * (len(pages) > 1)}, and no page {asked.page}"
    held = " that hold these words" if words else ""
    heading = f"Looked into {named}: {what}{held}, page {asked.page} of {len(pages)}\n"
    return Looked(asked, heading + pages[asked.page - 1])


def _open_part(state: State, asked: LookInto) -> tuple[Step, ...]:
    """Return the steps of the open segment, where the label is the boundary at which it begins; else none."""
    tree = state.tree
    if asked.boundary is not None or asked.label != tree.boundary:
        return ()
    return tuple(trace(tree, tree.boundary, tree.step_head))


def _undone(state: State, asked: LookInto) -> list[Step]:
    """Return the abandoned steps behind a label of H, or behind the boundary of the open segment, branch by branch."""
    tree, hints = state.tree, view(state).hints
    if asked.boundary is not None or asked.label not in {
        tree.boundary,
        *[each.label for each in hints.subgoals],
    }:
        return []
    onward = {step.id for step in trace(tree, StepId(asked.label), tree.step_head)}
    waiting = [*reversed(tree.step_children(StepId(asked.label)))]
    left = list[Step]()
    while waiting:
        step = tree.step(waiting.pop())
        waiting += reversed(tree.step_children(step.id))
        if step.id not in onward:
            left.append(step)
    return left


def _ways(undone: Sequence[Step], words: Sequence[str]) -> Iterator[Block]:
    """Yield the abandoned steps that contain all words, each branch under a heading."""
    before: StepId | None = None
    for step in undone:
        if _holds(words, step.action, step.observation):
            if step.parent != before:
                yield Block("Undone:")
            yield from step_of(step.action, step.observation)
            before = step.id


def _holding_steps(steps: Sequence[Step], words: Sequence[str]) -> Iterator[Block]:
    """Yield the steps that contain all words."""
    return _steps([step for step in steps if _holds(words, step.action, step.observation)])


def _holding(state: State, found: Inside, words: Sequence[str]) -> Iterator[Block]:
    """Yield the lines and steps under a line that contain all words, in execution order; a line before its steps."""
    yield from _holding_steps(found.steps, words)
    waiting = list(reversed(found.lines))
    while waiting:
        line = waiting.pop()
        below = inside(state, line.label, line.boundary).unwrap()
        steps = [step for step in below.steps if _holds(words, step.action, step.observation)]
        if steps or _holds(words, line.text):
            yield from named_line_of(line)
        yield from _steps(steps)
        waiting.extend(reversed(below.lines))


def _steps(steps: Sequence[Step]) -> Iterator[Block]:
    for step in steps:
        yield from step_of(step.action, step.observation)


def _holds(words: Sequence[str], *texts: str) -> bool:
    text = "\n".join(texts).casefold()
    return all(word in text for word in words)


def _pieces(block: Block, counter: TokenCounter, limit: int) -> Iterator[Block]:
    """Yield a block, split where it is longer than a page."""
    longest = max(1, len(block.content))
    while longest > 1 and _longest(block, longest, counter) > limit:
        longest = -(-longest // 2)
    for start in range(0, max(1, len(block.content)), longest):
        words = block.words if start == 0 else "... "
        yield Block(words, block.content[start : start + longest])


def _longest(block: Block, length: int, counter: TokenCounter) -> int:
    return max(
        counter.count(Block(block.words, block.content[start : start + length]).text)
        for start in range(0, max(1, len(block.content)), length)
    )


def _pages(blocks: Sequence[Block], counter: TokenCounter, limit: int) -> list[str]:
    pages: list[str] = []
    texts: list[str] = []
    taken = 0
    for block in blocks:
        tokens = counter.count(block.text)
        if texts and taken + tokens > limit:
            pages.append("".join(texts))
            texts, taken = [], 0
        texts.append(block.text)
        taken += tokens
    pages.append("".join(texts))
    return pages


async def look_as_asked(run: Run, asked: LookInto, thought: str) -> None:
    """Look as the model asks; the model's next prompt shows the page, or says why there is none.

    The model's thought beside the look stands there too, because no step shows it.
    """
    found = look_into(run.state, asked, run.meter.counter)
    if isinstance(found, Looked):
        kept = "" if run.policy.thoughts == "none" else cut(thought.strip(), LONGEST_THOUGHT)
        run.looked = attrs.evolve(found, thought=kept)
    else:
        await run.notice("refused", f"You cannot look there: {found}")
