"""Tokens of a rendered execution state, counted block by block and each block once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import final

import attrs

from mage.engine import ExecutionState, Hints, Line, StepId
from mage.render.blocks import (
    DEFAULT_CAPS,
    Block,
    Caps,
    body_of,
    hints_of,
    instructions_of,
    line_of,
    opening_of,
    step_of,
    task_of,
    thought_of,
)
from mage.tokens import TokenCounter


@final
@attrs.frozen(eq=False)
class Meter:
    """Counts what a prompt takes, with a memory of blocks.

    The sum is exactly the count of the whole text: every block ends in a line feed and begins with a letter
    or `[`, and over such pieces a counter is additive (see `mage.tokens`). A block is known by its raw
    content, whose hash Python keeps, so an old block costs a look-up and not its length. The memory grows
    with the blocks seen; it holds the strings that the tree holds.

    Attributes:
        counter: what counts a block.
        sent: the blocks as which a step is sent, where that is not the text of R: as a call of a tool and its result,
            for example.
    """

    counter: TokenCounter
    sent: Callable[[str, str], Iterable[Block]] = step_of
    _steps: dict[tuple[str, str], int] = attrs.field(init=False, factory=dict, repr=False)
    _counted: dict[Block, int] = attrs.field(init=False, factory=dict, repr=False)

    def count(self, shown: ExecutionState, *, caps: Caps = DEFAULT_CAPS) -> int:
        """Return `counter.count(render(shown, caps=caps))`. Cost: O(blocks + length of new blocks)."""
        return self._sum(body_of(shown)) + self.hints(shown.hints, caps=caps)

    def frame(self, task: str, instructions: Sequence[str], boundary: StepId) -> int:
        """Return what the task, the instructions in force and the line where R begins take."""
        return self._sum([*task_of(task), *instructions_of(instructions), opening_of(boundary)])

    def line(self, line: Line) -> int:
        """Return what a line of C takes. Cost: O(length), O(1) when it was counted before."""
        return self._sum(line_of(line))

    def hints(self, hints: Hints, *, caps: Caps = DEFAULT_CAPS) -> int:
        """Return what the hints take. Cost: O(number of hints + length of new blocks)."""
        return self._sum(hints_of(hints, caps))

    def step(self, action: str, observation: str) -> int:
        """Return what a step takes as it is sent. Cost: O(length), O(1) when it was counted before."""
        known = self._steps.get((action, observation))
        if known is None:
            known = self._steps[action, observation] = self._sum(self.sent(action, observation))
        return known

    def thought(self, text: str) -> int:
        """Return what a thought takes before its step. Cost: O(length), O(1) when it was counted before."""
        return self._sum([thought_of(text)])

    def _sum(self, blocks: Iterable[Block]) -> int:
        counted = self._counted
        total = 0
        for block in blocks:
            tokens = counted.get(block)
            if tokens is None:
                tokens = counted[block] = self.counter.count(block.text)
            total += tokens
        return total
