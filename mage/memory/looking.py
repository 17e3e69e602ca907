"""A look into a line of C, or into the open part: what stands there, verbatim from the tree, in pages (D19).

Every raw step is kept, but the model is shown none behind a summary, and of a long observation only its two ends. A
look shows what is left out, once; it changes nothing, records nothing, and costs no revise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
from returns.result import Success

from mage.chat.parts import cut
from mage.effects import Looked, LookInto
from mage.engine import Inside, State, Step, StepId, inside, view
from mage.engine.tree import trace
from mage.memory.journal import LONGEST_THOUGHT
from mage.memory.state import Run
from mage.render.blocks import Block, inside_of, named_line_of, step_of
from mage.tokens import TokenCounter

PAGE: Final = 1_500
"""Tokens of a page; its heading comes on top."""


def look_into(state: State, asked: LookInto, counter: TokenCounter, *, page: int = PAGE) -> Looked | str:
    """Return a page of what a line stands for, or in words why there is none.

    A summary stands for its steps, a chapter for the lines it replaced; the label at which the open part begins for its
    steps. Behind these stand the steps that were undone from there, where the hints say that there are any: they show
    of each way its beginning alone. With words only what holds all of them is shown, whatever their case: of a chapter
    every line and step under it.

    Cost: O(steps and lines under the line, and undone ones, times a few).
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
    """Return the steps of the open segment, where these are asked for: by the boundary at which they begin."""
    tree = state.tree
    if asked.boundary is not None or asked.label != tree.boundary:
        return ()
    return tuple(trace(tree, tree.boundary, tree.step_head))


def _undone(state: State, asked: LookInto) -> list[Step]:
    """Return the steps that were taken from a label of H, or from where the open part begins, and left: way by way."""
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
    """Yield undone steps that hold all words, each way of them under words of ours."""
    before: StepId | None = None
    for step in undone:
        if _holds(words, step.action, step.observation):
            if step.parent != before:
                yield Block("Undone:")
            yield from step_of(step.action, step.observation)
            before = step.id


def _holding_steps(steps: Sequence[Step], words: Sequence[str]) -> Iterator[Block]:
    """Yield those steps that hold all words."""
    return _steps([step for step in steps if _holds(words, step.action, step.observation)])


def _holding(state: State, found: Inside, words: Sequence[str]) -> Iterator[Block]:
    """Yield the lines and steps under a line that hold all words, in execution order; a line before what it stands for."""
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
    """Yield a block, in parts where it is longer than a page."""
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
    """Look as the model asks; it is shown what was found, or told why nothing was, with its next prompt.

    What it thought beside the look stands there too, as no step shows it.
    """
    found = look_into(run.state, asked, run.meter.counter)
    if isinstance(found, Looked):
        kept = "" if run.policy.thoughts == "none" else cut(thought.strip(), LONGEST_THOUGHT)
        run.looked = attrs.evolve(found, thought=kept)
    else:
        await run.notice("refused", f"You cannot look there: {found}")
