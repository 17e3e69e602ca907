"""A long run, and what it was shown at each call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import attrs

from benchmarks.agent.warehouse import TASK, Clerk, Warehouse, auditor, note_taker
from mage import Session
from mage.agent import Agent, Outcome, Policy
from mage.chat import ChatMessage, judge_messages, summary_messages
from mage.effects import ChapterRequest, Decide, JudgeRequest, SummaryRequest, Verdict
from mage.engine import FoldRequest, State, StepId, inside, view
from mage.engine.ids import ROOT_STEP
from mage.render import Meter
from mage.tokens import TokenCounter, default_counter

SHELVES: Final = 19
CLOSING: Final = 200
"""Tokens of the lines that close a prompt: what is told once, where the agent may go back, whose turn it is."""


@final
@attrs.frozen
class Call:
    """One question to the model.

    Attributes:
        shown: tokens of the whole prompt.
        summaries: tokens of C, the summaries and chapters in it.
        kept: tokens of a prompt with all that was done so far in it, and no summary.
    """

    shown: int
    summaries: int
    kept: int


@final
@attrs.frozen
class LongRun:
    """What a long run came to.

    Attributes:
        outcome: how it ended.
        calls: each question to the model, in order.
        mark: the policy's high-water mark, in tokens.
        fold_at: where C is folded, in tokens.
        largest: tokens of the largest single step.
        asked: tokens of the longest prompt of the judge, and of the summarizer.
        counter: what counted.
        steps: of the tree, abandoned ones too.
        fallbacks: how many of the summaries are fallbacks.
        chapters: how many chapters were made.
        is_whole: whether every line of C can be looked into down to its raw steps, which are those of the path.
        bytes: what the session with its run takes on disk.
    """

    outcome: Outcome
    calls: Sequence[Call]
    mark: int
    fold_at: int | None
    largest: int
    asked: int
    counter: str
    steps: int
    fallbacks: int
    chapters: int
    is_whole: bool
    bytes: int

    def above(self) -> list[int]:
        """Return the calls whose prompt was longer than mark, C, largest step and closing lines together allow."""
        allowed = self.mark + self.largest + CLOSING
        return [place for place, call in enumerate(self.calls) if call.shown > allowed + call.summaries]

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt of all: of the model, the judge and the summarizer."""
        return max(self.asked, *[call.shown for call in self.calls])

    @property
    def reduction(self) -> float:
        """The part of all prompt tokens that was saved."""
        return 1 - sum(call.shown for call in self.calls) / sum(call.kept for call in self.calls)


@final
class _Watch:
    """Measures each prompt as it is put; what was kept grows by each step that is new to it."""

    def __init__(self, counter: TokenCounter) -> None:
        self.calls: list[Call] = []
        self.largest = 0
        self.asked = 0
        self._counter = counter
        self._meter = Meter(counter)
        self._steps: set[int] = set()
        self._kept = 0

    def __call__(self, request: Decide, prompt: str) -> None:
        shown = self._counter.count(prompt)
        summaries = sum(self._meter.line(line) for line in request.shown.compressed)
        opened = 0
        for step in request.shown.raw:
            tokens = self._meter.step(step.action, step.observation)
            opened += tokens
            if step.id not in self._steps:
                self._steps.add(step.id)
                self._kept += tokens
                self.largest = max(self.largest, tokens)
        self.calls.append(Call(shown, summaries, shown - summaries - opened + self._kept))

    def judge(self, request: JudgeRequest | FoldRequest, /) -> Verdict:
        """Judge as the auditor does, and measure what it was asked."""
        self._measure(judge_messages(request))
        return auditor(request)

    def summarize(self, request: SummaryRequest | ChapterRequest, /) -> str:
        """Write as the note taker does, and measure what it was asked."""
        self._measure(summary_messages(request))
        return note_taker(request)

    def _measure(self, chat: Sequence[ChatMessage]) -> None:
        self.asked = max(
            self.asked, self._counter.count("\n".join(getattr(each, "text", "") for each in chat))
        )


def is_whole(state: State) -> bool:
    """Tell whether looking into every line of C, and into what that shows, gives the steps of the path. Cost: O(steps)."""
    waiting = [(line.label, line.boundary) for line in view(state).compressed][::-1]
    found: list[StepId] = []
    while waiting:
        below = inside(state, *waiting.pop()).unwrap()
        found.extend(step.id for step in below.steps)
        waiting.extend([(line.label, line.boundary) for line in below.lines][::-1])
    path = state.tree.active_path()
    return found == [step for step in path if ROOT_STEP < step <= state.tree.boundary]


def long_run(aisles: int, mark: int, at: Path, *, fold_at: int | None = 3_500) -> LongRun:
    """Run the clerk through the warehouse, its session in a SQLite file in the directory `at`."""
    counter = default_counter()
    watch = _Watch(counter)
    agent = Agent(
        model=Clerk(aisles, SHELVES, watch),
        environment=Warehouse(aisles, SHELVES),
        judge=watch.judge,
        summarizer=watch.summarize,
        policy=Policy(high_water=mark, fold_at=fold_at, max_steps=None),
        counter=counter,
    )
    file = at / "long-run.db"
    outcome = agent.run(f"sqlite:///{file}", "stock", task=TASK)
    with Session.open(f"sqlite:///{file}", "stock") as session:
        tree = session.tree
        fallbacks = sum(summary.kind == "fallback" for summary in tree.summaries())
        chapters = sum(len(tree.chapters_at(summary.id)) for summary in tree.summaries())
        whole = is_whole(session.phase)
    return LongRun(
        outcome=outcome,
        calls=watch.calls,
        mark=mark,
        fold_at=fold_at,
        largest=watch.largest,
        asked=watch.asked,
        counter=counter.name,
        steps=tree.next_step - 1,
        fallbacks=fallbacks,
        chapters=chapters,
        is_whole=whole,
        bytes=file.stat().st_size,
    )
