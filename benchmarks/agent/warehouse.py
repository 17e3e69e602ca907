"""A long task that can be as long as one likes: stock-taking, shelf by shelf, aisle by aisle.

The world answers each action with a text whose length varies and is the same in every run. The model is a
function of what it is shown, so it goes on wherever a run goes on. In ten aisles it trusts a label the first time
instead of counting; its summary fails, and it goes back to where that was and counts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final, final

from mage.chat import Prompt, decide_messages, system_prompt
from mage.effects import (
    Capabilities,
    ChapterRequest,
    Decide,
    Decision,
    JudgeRequest,
    NoEffect,
    Observed,
    SummaryRequest,
    Tool,
    Verdict,
)
from mage.engine import Chapter, ExecutionState, Failed, FoldRequest, Line, Passed, Summary

TASK: Final = (
    "Take stock of every aisle: count each shelf yourself, and report the total of the aisle before the next."
)
_THINGS: Final = """
pallet crate drum coil bracket hinge valve gasket flange bearing spindle washer rivet clamp hose fitting
grey blue steel brass nylon sealed opened dented labelled stacked left right upper lower rear
"""
_WORDS: Final = tuple(_THINGS.split())
MISTAKES: Final = 10
"""Aisles in which the clerk trusts a label."""
_NAMED: Final = 40
"""Aisles whose totals a chapter has one by one."""


@final
class Warehouse:
    """Aisles of as many shelves as there are steps in a subgoal, but for the one that reports."""

    capabilities: Final = Capabilities(
        "replay",
        manual="count[aisle-shelf] counts a shelf, label[aisle-shelf] reads its label, report[aisle, total] reports.",
    )

    def __init__(self, aisles: int, shelves: int) -> None:
        self._aisles = aisles
        self._shelves = shelves

    def reset(self) -> Observed:
        """Show nothing, and ask for the first aisle."""
        return Observed("", instructions=(self._asked(1),))

    def act(self, action: str, /) -> Observed:
        """Count, read or report; nothing that is done here changes the warehouse."""
        verb, aisle, rest = _parts(action)
        if verb == "report":
            over = aisle >= self._aisles
            asked = () if over else (self._asked(aisle + 1),)
            return Observed(f"Aisle {aisle} is reported.", over=over, instructions=asked, effect=NoEffect())
        words = random.Random(f"{aisle}-{rest}")
        seen = " ".join(words.choices(_WORDS, k=words.choice((8, 20, 60, 160))))
        return Observed(f"{verb}ed {aisle}-{rest}: {words.randrange(100)} pieces. {seen}.", effect=NoEffect())

    def _asked(self, aisle: int) -> str:
        return f"Aisle {aisle}: {self._shelves} shelves, then report."


def _parts(action: str) -> tuple[str, int, str]:
    found = re.fullmatch(r"(\w+)\[(\d+)(?:-|, )(\d+)\]", action)
    if found is None:
        raise ValueError(f"no such action: {action}")
    return found[1], int(found[2]), found[3]


@final
class Clerk:
    """The model. What it is shown is handed to `watch`, as the text of a prompt.

    Args:
        aisles: how many there are.
        shelves: of each aisle.
        watch: gets each question and the text of its prompt.
    """

    def __init__(self, aisles: int, shelves: int, watch: Callable[[Decide, str], object]) -> None:
        self._aisles = aisles
        self._shelves = shelves
        self._hasty = frozenset(range(1, aisles + 1, max(1, aisles // MISTAKES))[:MISTAKES])
        self._watch = watch
        self._system = system_prompt("text", manual=Warehouse.capabilities.manual)

    mode: Final = "text"

    def prompt_text(self, _tools: tuple[Tool, ...], _manual: str) -> str:
        """Return the fixed words that go with every call."""
        return self._system.text

    def __call__(self, request: Decide, /) -> Decision:
        """Count the next shelf; report and sum up when all are counted; finish when all aisles are."""
        self._watch(request, prompt_of(request, self._system))
        shown = request.shown
        if _reported(shown) == self._aisles:
            return Decision.finish(f"{self._aisles} aisles are reported.")
        aisle = int(_digits(shown.instructions[0])[0])
        last = _parts(shown.raw[-1].action) if shown.raw else None
        if last is not None and last[0] == "report":
            return Decision.compress(
                f"Aisle {aisle}: {self._shelves} shelves counted, {last[2]} pieces reported."
            )
        shelf = _counted(shown) + 1
        if shelf > self._shelves:
            return Decision.act(f"report[{aisle}, {aisle * 31}]")
        hasty = aisle in self._hasty and shelf == 2 and not shown.hints.lessons
        return Decision.act(f"{'label' if hasty else 'count'}[{aisle}-{shelf}]")


def prompt_of(request: Decide, system: Prompt) -> str:
    """Return the text of a prompt, all of its messages."""
    messages = decide_messages(request, system=system, mode="text")
    return "\n".join(message.text for message in messages)


def _digits(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _reported(shown: ExecutionState) -> int:
    """Return how many aisles are done: the last of which a finished line speaks."""
    done = [line for line in shown.compressed if isinstance(line, Chapter) or line.kind == "subgoal"]
    return _aisles_of(done[-1])[1] if done else 0


def _aisles_of(line: Line) -> tuple[int, int, int]:
    """Return from which aisle to which a finished line speaks, and how many pieces they have."""
    said = list(map(int, _digits(line.text)))
    return (said[0], said[1], said[2]) if isinstance(line, Chapter) else (said[0], said[0], said[2])


def _counted(shown: ExecutionState) -> int:
    """Return how many shelves of the current aisle are done: those in R, else those in a fallback's text."""
    if shown.raw:
        return int(_parts(shown.raw[-1].action)[2])
    head = shown.compressed[-1] if shown.compressed else None
    is_interim = isinstance(head, Summary) and head.kind == "fallback"
    return int(_digits(head.text)[1]) if head is not None and is_interim else 0


def note_taker(request: SummaryRequest | ChapterRequest, /) -> str:
    """The summarizer: say up to which shelf it was counted; of finished aisles, what they came to."""
    if isinstance(request, ChapterRequest):
        told = list(map(_aisles_of, request.lines))
        newest = "; ".join(f"aisle {last} {pieces}" for _, last, pieces in told[-_NAMED:])
        total = sum(pieces for _, _, pieces in told)
        return f"Aisles {told[0][0]} to {told[-1][1]}: {total} pieces reported, every shelf counted. Of these: {newest}."
    _, aisle, shelf = _parts(request.steps[-1].action)
    return f"Aisle {aisle}: shelves up to {shelf} are counted, the others and the report are to be done."


def auditor(request: JudgeRequest | FoldRequest, /) -> Verdict:
    """The judge: what was read off a label was not counted, and a chapter has the sum of its lines."""
    if isinstance(request, FoldRequest):
        total = sum(pieces for _, _, pieces in map(_aisles_of, request.lines))
        is_right = int(_digits(request.text)[2]) == total
        return Passed() if is_right else Failed(f"They came to {total}.", "summary")
    hasty = next((step for step in request.steps if step.action.startswith("label")), None)
    if hasty is None or request.kind == "fallback":
        return Passed()
    told = f"{hasty.action}: the shelf was not counted, its label was trusted. Count every shelf."
    return Failed(told, boundary=max(step for step in request.boundaries if step < hasty.id))
