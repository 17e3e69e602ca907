"""What a provider's cache of prefixes has of each prompt: the order of its parts, beside another one.

    python -m benchmarks.agent.cached [--aisles 100]

The clerk runs through the warehouse. Each prompt is divided into its blocks, and compared with all earlier ones: what
stands behind the longest beginning that it has in common with one of them was not in a cache. Part of that is new and
can be in no cache; the rest was sent before, and is sent again for its place alone. The control has the same blocks,
with the instructions in force in front of C, as in version 1. Exit status 0 where what is sent again is at most half
of the control's.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, final

from benchmarks.agent.measuring import SHELVES
from benchmarks.agent.warehouse import TASK, Clerk, Warehouse, auditor, note_taker
from mage.agent import Agent, Policy
from mage.effects import Decide
from mage.engine import ExecutionState
from mage.render import DEFAULT_CAPS
from mage.render.blocks import (
    Block,
    hints_of,
    instructions_of,
    lines_of,
    opening_of,
    step_of,
    task_of,
)
from mage.tokens import TokenCounter, default_counter

SHARE: Final = 0.5
"""The part of what the control sends again that ours may send again."""


def ours(shown: ExecutionState) -> list[Block]:
    """Return the blocks of S as they are rendered."""
    return [
        *task_of(shown.task),
        *lines_of(shown.compressed),
        *instructions_of(shown.instructions),
        *_rest(shown),
    ]


def control(shown: ExecutionState) -> list[Block]:
    """Return the same blocks with the instructions in front of C."""
    return [
        *task_of(shown.task),
        *instructions_of(shown.instructions),
        *lines_of(shown.compressed),
        *_rest(shown),
    ]


def _rest(shown: ExecutionState) -> Iterable[Block]:
    yield opening_of(shown.boundary)
    for step in shown.raw:
        yield from step_of(step.action, step.observation)
    yield from hints_of(shown.hints, DEFAULT_CAPS)


@final
class Cache:
    """A cache that holds every beginning of every prompt, cut at its blocks.

    Attributes:
        sent: tokens of all prompts.
        missed: those of them behind the longest beginning that an earlier prompt had.
        again: those of these in blocks that were sent before.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.sent = 0
        self.missed = 0
        self.again = 0
        self._counter = counter
        self._known = set[bytes]()
        self._blocks = set[str]()

    def ask(self, blocks: Sequence[Block]) -> None:
        """Send a prompt."""
        begun = hashlib.sha256()
        is_known = True
        for block in blocks:
            begun.update(block.text.encode())
            tokens = self._counter.count(block.text)
            is_known = is_known and begun.digest() in self._known
            self._known.add(begun.digest())
            self.sent += tokens
            self.missed += 0 if is_known else tokens
            self.again += tokens if not is_known and block.text in self._blocks else 0
            self._blocks.add(block.text)


def measured(aisles: int) -> tuple[Cache, Cache]:
    """Return what a cache has seen of a run: in our order, and in the control's."""
    counter = default_counter()
    caches = (Cache(counter), Cache(counter))

    def watch(request: Decide, _prompt: str) -> None:
        for cache, ordered in zip(caches, (ours, control), strict=True):
            cache.ask(ordered(request.shown))

    agent = Agent(
        model=Clerk(aisles, SHELVES, watch),
        environment=Warehouse(aisles, SHELVES),
        judge=auditor,
        summarizer=note_taker,
        policy=Policy(high_water=2_000, fold_at=None, max_steps=None),
        counter=counter,
    )
    with tempfile.TemporaryDirectory() as folder:
        agent.run(f"sqlite:///{Path(folder) / 'cached.db'}", "stock", task=TASK)
    return caches


def main(arguments: list[str] | None = None) -> int:
    """Run, print what was seen, and return the exit status."""
    parser = argparse.ArgumentParser(description="What a cache of prefixes has of each prompt.")
    parser.add_argument("--aisles", type=int, default=100, help="subgoals, of 20 steps each")
    found, beside = measured(parser.parse_args(arguments).aisles)
    print(f"sent {found.sent:,} tokens")
    for name, cache in (("ours", found), ("instructions in front of C", beside)):
        print(f"{name}: {cache.missed:,} in no cache, {cache.again:,} of them sent before")
    print(
        f"ratio: {found.missed / beside.missed:.2f}, of what was sent before {found.again / beside.again:.2f}"
    )
    return 0 if found.again <= SHARE * beside.again else 1


if __name__ == "__main__":
    sys.exit(main())
