"""The context reader as a model: it has the text of the prompt that a model would be sent, and nothing else.

What stands in that prompt beside what the agent's policy shows is decided here: the newest steps alone, or the steps of
the open subtask with some that were retrieved from earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias, final

import attrs

from benchmarks.arena.domains.reader import GIVEN_BACK, RETRIEVED, ContextReader, ended_by
from benchmarks.arena.systems import at_random, by_bm25, text_of
from mage.chat import decide_messages, system_prompt, written
from mage.effects import Decide, Decision, Metered, Usage
from mage.engine import Step
from mage.tokens import TokenCounter

Sight: TypeAlias = Callable[[str], str]
"""What becomes of the text of a prompt before the reader has it; tests take facts out with it."""
Showing: TypeAlias = Callable[[Decide], tuple[Decide, str]]
"""What is shown of a question, and what stands below it."""


def everything(request: Decide, /) -> tuple[Decide, str]:
    """Show all that the policy shows."""
    return request, ""


@final
@attrs.frozen
class Newest:
    """Show the newest steps alone.

    Attributes:
        steps: how many.
    """

    steps: int

    def __call__(self, request: Decide, /) -> tuple[Decide, str]:
        """Leave out all older steps."""
        return _with_steps(request, request.shown.raw[-self.steps :]), ""


Chunks: TypeAlias = Literal["steps", "pieces", "subtasks"]
CHUNKS: Final[tuple[Chunks, ...]] = ("steps", "pieces", "subtasks")
Query: TypeAlias = Literal["trace", "instruction", "both"]
QUERIES: Final[tuple[Query, ...]] = ("trace", "instruction", "both")
Rank: TypeAlias = Literal["bm25", "random"]
_RANKS: Final = {"bm25": by_bm25, "random": at_random}
PIECE: Final = 200
"""Characters of a piece of a step."""


@final
@attrs.frozen
class Retrieving:
    """Show the steps of the open subtask, and the chunks of earlier ones that a rule picks, before each action.

    Attributes:
        rank: BM25, or at random, drawn anew before each action.
        chunks: whole steps, pieces of 200 characters of each, or whole subtasks with their instruction.
        most: how many chunks are picked.
        query: the open steps (the current trace), the instruction in force, or both.
        dice: names the draws.
    """

    rank: Rank
    chunks: Chunks
    most: int
    query: Query
    dice: str

    def __call__(self, request: Decide, /) -> tuple[Decide, str]:
        """Leave out the steps of earlier subtasks, and put what was retrieved of them below the rest."""
        *closed, last = _by_subtask(request.shown.raw)
        shown = _with_steps(request, last)
        chunks = list(self._cut(closed, request.shown.instructions))
        if not chunks:
            return shown, ""
        trace = "".join(text_of(each.action, each.observation) for each in last)
        parts = {"trace": trace, "instruction": request.current, "both": f"{request.current}\n{trace}"}
        dice = f"{self.dice} {len(request.shown.raw)}"
        picked = sorted(list(_RANKS[self.rank](parts[self.query], chunks, dice))[: self.most])
        lines = [f" {line}" for each in picked for line in chunks[each].rstrip("\n").split("\n")]
        return shown, "\n".join([f"{RETRIEVED}from earlier subtasks", *lines])

    def _cut(self, closed: Sequence[Sequence[Step]], instructions: Sequence[str]) -> Iterator[str]:
        for place, steps in enumerate(closed):
            texts = [text_of(each.action, each.observation) for each in steps]
            if self.chunks == "subtasks":
                yield "".join([f"Instruction: {instructions[place]}\n", *texts])
            elif self.chunks == "steps":
                yield from texts
            else:
                yield from _pieces(texts)


def _pieces(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (text[begin : begin + PIECE] for begin in range(0, len(text), PIECE))


def _by_subtask(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Return steps by subtask; those of the open one, which may be none, stand last."""
    found: list[tuple[Step, ...]] = []
    begin = 0
    for place, each in enumerate(steps, 1):
        if ended_by(each.observation) and GIVEN_BACK not in each.observation:
            found.append(tuple(steps[begin:place]))
            begin = place
    return [*found, tuple(steps[begin:])]


def _with_steps(request: Decide, steps: Sequence[Step]) -> Decide:
    return attrs.evolve(request, shown=attrs.evolve(request.shown, raw=tuple(steps)))


@final
class ReaderModel:
    """A model, to an agent: a context reader behind the prompt that a model would be sent, in plain text."""

    def __init__(
        self, reader: ContextReader, counter: TokenCounter, showing: Showing = everything, sight: Sight = str
    ) -> None:
        """Make a model of a reader.

        Args:
            reader: decides.
            counter: counts the tokens of prompts and replies.
            showing: what is shown of a question.
            sight: what becomes of the text before the reader has it.
        """
        self._reader = reader
        self._count = lru_cache(maxsize=20_000)(counter.count)
        self._showing = showing
        self._sight = sight

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Render the prompt, and return what its reader decides. Tokens are counted message by message."""
        request, below = self._showing(request)
        said = (*prompt_of(request), *([below] if below else []))
        decision = self._reader(self._sight("\n".join(said)))
        reply = "".join(each.text for each in decision.actions) or str(getattr(decision.then, "text", ""))
        return Metered(
            decision, Usage(sum(map(self._count, said)), self._count(reply), estimated=1), "reader", ""
        )


def prompt_of(request: Decide) -> tuple[str, ...]:
    """Return the texts of the messages that ask for a decision in the mode without tool calls."""
    system = system_prompt("text", tools=request.tools, manual=request.manual, rules=request.rules)
    chat = written(decide_messages(request, system=system, mode="text", tools=request.tools), "chat")
    return tuple(each["content"] for each in chat)
