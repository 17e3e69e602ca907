"""The execution state as a sequence of blocks, each of our words, content and a line feed; and their tokens.

Only our words stand at the left margin, so no content can be mistaken for them: every line break in content is
followed by an indent. "Line break" is every character at which `str.splitlines` breaks, so that no reader sees a left
margin where we see none. The indent can be removed again, so a text can be parsed back into all that was rendered.

    Task: ...
    [Step 24] ...                                 for each summary of C: its label and text
    [Step 0..24] ...                              for each chapter: its first label, its last boundary, its text
    Status: ...                                   below a fallback, and below a line of which not all has passed
    Instruction: ...                              for each one in force
    open since [Step 40]                          always: where R begins, the current boundary
    Action: ...
    Observation: ...                              for each step of R
    Hints: ...                                    only where there are hints
    Tried action: ... / Tried observation: ...    for each continuation
    Tried subgoal [Step 40]: ... / Status: ...    for each subgoal
    Lesson: ... / Lesson [Step 36]: ...           for each lesson; its place, if it is not the boundary
    [... 12 more lessons, older] / [... 340 characters more]    for the parts that a cap leaves out

Every block begins at the left margin with a letter or `[`; every further line of it is indented. The label
is the paper's step id (D1); status and hints follow D6, D9, D12 and D16. Blocks that stay longest stand first (the
task; then C, which only grows), so a provider's cache of prefixes has most of each prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar, assert_never, final

import attrs

from mage.engine import (
    Accepted,
    Chapter,
    ExecutionState,
    Failed,
    Hints,
    Inside,
    Lesson,
    Line,
    Passed,
    Pending,
    Step,
    StepId,
    Summary,
)
from mage.engine.errors import MageError
from mage.engine.nodes import SummaryVerdict
from mage.tokens import TokenCounter

# -- content as part of our text ----------------------------------------------------------------------------


INDENT: Final = " "


def indented(content: str) -> str:
    r"""Return `content` with an indent after every line break; `"\r\n"` is one. Cost: O(length)."""
    # The guard makes a break at the very end count too: splitlines gives no empty last line.
    lines = f"{content}|".splitlines(keepends=True)
    return content if len(lines) == 1 else INDENT.join(lines)[:-1]


_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable and no terminal shows: fillers, blanks, variation selectors."""


def printable(text: str) -> str:
    """Return a text on one line whose every character a terminal shows and none obeys; a line break is one mark.

    Cost: O(length).
    """
    if is_seen(text):
        return text
    return "".join(char if is_seen(char) else _mark(char) for char in text)


def is_seen(text: str) -> bool:
    """Tell whether a terminal shows every character of a text and obeys none. Cost: O(length)."""
    return text.isprintable() and (text.isascii() or _UNSEEN.search(text) is None)


def _mark(char: str) -> str:
    return "⏎" if char == "\n" else char.encode("unicode_escape").decode("ascii")


def one_line(text: str, width: int) -> str:
    """Return the start of a text on one line of at most `width` characters, as `printable` returns it. Cost: O(width)."""
    safe = printable(text[: 4 * width])
    return safe if len(safe) <= width and len(text) <= 4 * width else safe[: width - 1] + "…"


_T = TypeVar("_T")


# -- limits of the hints; C and R are never cut, because the agent must see all of where it stands ------------


@final
@attrs.define
class BadCap(MageError, ValueError):
    """The limit `name` of `Caps` has the negative value `found`."""

    name: str
    found: int

    def __str__(self) -> str:
        return f"Caps({self.name}={self.found}): a limit is 0 or more, or None for no limit"


@final
@attrs.frozen(kw_only=True)
class Caps:
    """Limits for the hints; None is no limit. The newest hints are kept, and the number of the others is shown (D9).

    Attributes:
        continuations: how many steps tried from here are shown.
        subgoals: how many summaries tried from here are shown.
        lessons: how many lessons are shown.
        action_chars: characters of an action shown in a hint.
        observation_chars: characters of an observation shown in a hint.
        text_chars: characters of a summary's text, a feedback or a lesson shown in a hint.
        distinct_lessons: whether a lesson that was left several times is shown once, where it was left last.

    Raises:
        BadCap: a limit is negative.
    """

    continuations: int | None = 6
    subgoals: int | None = 6
    lessons: int | None = 12
    action_chars: int | None = 240
    observation_chars: int | None = 240
    text_chars: int | None = 600
    distinct_lessons: bool = True

    def __attrs_post_init__(self) -> None:
        for name, limit in attrs.asdict(self).items():
            if limit is not None and limit < 0:
                raise BadCap(name, limit)

    @classmethod
    def off(cls) -> Caps:
        """Return the caps that leave nothing out: parsing gives back all of S."""
        none: dict[str, Any] = {field.name: None for field in attrs.fields(cls)}
        return cls(**none | {"distinct_lessons": False})


DEFAULT_CAPS: Final = Caps()
NO_CAPS: Final = Caps.off()

# -- blocks ----------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A block that is not rendered yet: our `words`, at the left margin, then the `content` as recorded."""

    words: str
    content: str = ""

    @property
    def text(self) -> str:
        """The block as rendered. Cost: O(length)."""
        return f"{self.words}{indented(self.content)}\n"


class Newest(NamedTuple, Generic[_T]):
    """The items of a part of the hints that a cap leaves, oldest first, and the number of `older` ones."""

    older: int
    shown: Sequence[_T]


class Recent(NamedTuple):
    """The hints that caps leave."""

    boundary: StepId
    continuations: Newest[Step]
    subgoals: Newest[Summary]
    lessons: Newest[Lesson]


_HINTS = Block("Hints: what was tried from here before and left, and lessons from what went wrong")
_OVERRULED = "accepted despite a failed verdict"


def body_of(shown: ExecutionState) -> Iterator[Block]:
    """Yield all blocks but the hints: a grow that adds a step only adds to their end. Cost of all: O(number of blocks)."""
    yield from head_of(shown)
    for step in shown.raw:
        yield from step_of(step.action, step.observation)


def head_of(shown: ExecutionState) -> Iterator[Block]:
    """Yield the task, C, the instructions in force, and where R begins."""
    yield from task_of(shown.task)
    yield from lines_of(shown.compressed)
    yield from instructions_of(shown.instructions)
    yield opening_of(shown.boundary)


def task_of(task: str) -> Iterator[Block]:
    """Yield the task, where it is not empty."""
    if task:
        yield Block("Task: ", task)


def instructions_of(instructions: Sequence[str]) -> Iterator[Block]:
    """Yield the instructions in force."""
    for instruction in instructions:
        yield Block("Instruction: ", instruction)


def lines_of(lines: Iterable[Line]) -> Iterator[Block]:
    """Yield the blocks of lines of C."""
    for line in lines:
        yield from line_of(line)


def opening_of(boundary: StepId) -> Block:
    """Return the block that names the boundary at which R begins."""
    return Block(f"open since [Step {boundary}]")


def line_of(line: Line) -> Iterator[Block]:
    """Yield a line of C; a subgoal that passed, and a chapter of such subgoals, needs no status."""
    if isinstance(line, Chapter):
        yield Block(f"[Step {line.label}..{line.boundary}] ", line.text)
        if line.accepted:
            yield Block(f"Status: {line.accepted} of its subgoals accepted without a pass")
        return
    yield Block(f"[Step {line.label}] ", line.text)
    if line.kind == "fallback" or not isinstance(line.verdict, Passed):
        yield _status(line)


def inside_of(found: Inside) -> Iterator[Block]:
    """Yield the lines that a chapter stands for, each with its label and boundary for `look`; else the steps."""
    for line in found.lines:
        yield from named_line_of(line)
    for step in found.steps:
        yield from step_of(step.action, step.observation)


def named_line_of(line: Line) -> Iterator[Block]:
    """Yield a line with its label and its boundary (D19)."""
    first, *status = line_of(line)
    yield Block(f"[Step {line.label}..{line.boundary}] ", first.content)
    yield from status


def step_of(action: str, observation: str) -> tuple[Block, Block]:
    """Return the blocks of a step of R."""
    return (Block("Action: ", action), observation_of(observation))


def thought_of(thought: str) -> Block:
    """Return the block of the model's thought before a step; the thought is no part of the step."""
    return Block("Thought: ", thought)


def observation_of(observation: str) -> Block:
    """Return the block of an observation of R."""
    return Block("Observation: ", observation)


def _status(summary: Summary) -> Block:
    said, feedback = _verdict(summary.verdict)
    kind = "interim account of the subgoal that is going on; " if summary.kind == "fallback" else ""
    return Block(f"Status: {kind}{said}", feedback)


def _verdict(verdict: SummaryVerdict) -> tuple[str, str]:
    match verdict:
        case Pending():
            return "unverified", ""
        case Passed():
            return "passed", ""
        case Failed():
            return _failed("failed", verdict)
        case Accepted():
            failed = verdict.despite
            return ("accepted without a verdict", "") if failed is None else _failed(_OVERRULED, failed)
        case _:
            assert_never(verdict)


def _failed(words: str, verdict: Failed) -> tuple[str, str]:
    return f"{words}, the {verdict.fault} is at fault: ", verdict.feedback


def hints_of(hints: Hints, caps: Caps) -> Iterator[Block]:
    """Yield the hints within `caps`; nothing where there are none. Cost of all: O(number of hints)."""
    yield from under(_HINTS, recent(hints, caps), caps)


def recent(hints: Hints, caps: Caps) -> Recent:
    """Return the hints that `caps` leave. Cost: O(number of hints)."""
    subgoals = newest(hints.subgoals, caps.subgoals)
    lessons = _distinct(hints.lessons, subgoals.shown) if caps.distinct_lessons else hints.lessons
    return Recent(
        hints.boundary,
        newest(hints.continuations, caps.continuations),
        subgoals,
        newest(lessons, caps.lessons),
    )


def under(heading: Block, hints: Recent, caps: Caps) -> Iterator[Block]:
    """Yield the hints that `caps` left, their texts cut, below a heading; nothing where there are none."""
    parts = (hints.continuations, hints.subgoals, hints.lessons)
    if not any(part.older or part.shown for part in parts):
        return
    yield heading
    yield from _continuations(hints.continuations, caps)
    yield from _subgoals(hints.subgoals, caps)
    yield from _left_out(hints.lessons.older, "lesson")
    for lesson in hints.lessons.shown:
        place = "" if lesson.boundary == hints.boundary else f" [Step {lesson.boundary}]"
        yield from _cut(Block(f"Lesson{place}: ", lesson.text), caps.text_chars)


def _continuations(steps: Newest[Step], caps: Caps) -> Iterator[Block]:
    yield from _left_out(steps.older, "continuation")
    for step in steps.shown:
        yield from _cut(Block("Tried action: ", step.action), caps.action_chars)
        yield from _cut(Block("Tried observation: ", step.observation), caps.observation_chars)


def _subgoals(summaries: Newest[Summary], caps: Caps) -> Iterator[Block]:
    yield from _left_out(summaries.older, "subgoal")
    for summary in summaries.shown:
        yield from _cut(Block(f"Tried subgoal [Step {summary.label}]: ", summary.text), caps.text_chars)
        yield from _cut(_status(summary), caps.text_chars)


def _distinct(lessons: Sequence[Lesson], tried: Sequence[Summary]) -> Sequence[Lesson]:
    """Return each lesson once, where it was left last, without those that the status of a tried subgoal repeats."""
    said = {_verdict(summary.verdict)[1] for summary in tried} - {""}
    last = {lesson.text: lesson for lesson in lessons}
    kept = {id(lesson) for text, lesson in last.items() if text not in said}
    return tuple([lesson for lesson in lessons if id(lesson) in kept])


def newest(items: Sequence[_T], limit: int | None) -> Newest[_T]:
    """Return the newest items, `limit` at most, and the number of the older ones. Cost: O(items returned)."""
    older = 0 if limit is None else max(0, len(items) - limit)
    return Newest(older, items[older:])


def _left_out(number: int, what: str) -> Iterator[Block]:
    if number:
        yield Block(f"[... {number} more {what}{'s' * (number > 1)}, older]")


def _cut(block: Block, limit: int | None) -> Iterator[Block]:
    """Yield the block, cut at `limit` characters of content; a second block names the number left out."""
    more = 0 if limit is None else len(block.content) - limit
    if more <= 0:
        yield block
        return
    yield Block(block.words, block.content[:limit])
    yield Block(f"[... {more} character{'s' * (more > 1)} more]")


# -- tokens, counted block by block and each block once -----------------------------------------------------


@final
@attrs.frozen(eq=False)
class Meter:
    """Counts the tokens of a prompt, and remembers those of each block.

    The sum is exactly the count of the whole text: every block ends in a line feed and begins with a letter
    or `[`, and over such pieces a counter is additive (see `mage.tokens`). A known block is found by its raw
    content, whose hash Python keeps, so its cost is O(1) and not O(length). The memory grows with the blocks seen; it
    holds the same strings as the tree.

    Attributes:
        counter: counts the tokens of a block.
        sent: returns the blocks as which a step is sent, such as a call of a tool and its result.
    """

    counter: TokenCounter
    sent: Callable[[str, str], Iterable[Block]] = step_of
    _steps: dict[tuple[str, str], int] = attrs.field(init=False, factory=dict, repr=False)
    _counted: dict[Block, int] = attrs.field(init=False, factory=dict, repr=False)

    def count(self, shown: ExecutionState, *, caps: Caps = DEFAULT_CAPS) -> int:
        """Return `counter.count(render(shown, caps=caps))`. Cost: O(blocks + length of new blocks)."""
        return self._sum(body_of(shown)) + self.hints(shown.hints, caps=caps)

    def frame(self, task: str, instructions: Sequence[str], boundary: StepId) -> int:
        """Return the tokens of the task, the instructions in force and the line where R begins."""
        return self._sum([*task_of(task), *instructions_of(instructions), opening_of(boundary)])

    def line(self, line: Line) -> int:
        """Return the tokens of a line of C. Cost: O(length), O(1) when it was counted before."""
        return self._sum(line_of(line))

    def hints(self, hints: Hints, *, caps: Caps = DEFAULT_CAPS) -> int:
        """Return the tokens of the hints. Cost: O(number of hints + length of new blocks)."""
        return self._sum(hints_of(hints, caps))

    def step(self, action: str, observation: str) -> int:
        """Return the tokens of a step as it is sent. Cost: O(length), O(1) when it was counted before."""
        known = self._steps.get((action, observation))
        if known is None:
            known = self._steps[action, observation] = self._sum(self.sent(action, observation))
        return known

    def thought(self, text: str) -> int:
        """Return the tokens of a thought before its step. Cost: O(length), O(1) when it was counted before."""
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
