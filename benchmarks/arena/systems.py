"""Memory systems under one small protocol: what is shown before an action, and what is taken after it.

The seam is that of `mage.Memory` (`messages`, `record`). All but the first three share one open segment, that of the
product at its mark, and differ in what stands for the steps before it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final, Protocol, final

import attrs

from benchmarks.arena.retrieval.minilm import MissingMiniLM, Nearest, minilm
from benchmarks.arena.traces import Run
from mage import Memory, Policy
from mage.chat import canonical
from mage.engine import ExecutionState
from mage.stores import MemoryStore
from mage.tokens import TokenCounter
from mage.trajectories import values_in

_PIECE: Final = 200
"""Characters of a piece where steps are not retrieved whole."""
_WORD: Final = re.compile(r"\w+")


class Kept(Protocol):
    """What a system keeps of one run."""

    def show(self) -> Sequence[str]:
        """Return the texts that the agent is shown before its next action, beside the task; each ends in a line feed."""
        ...

    def take(self, action: str, observation: str) -> None:
        """Hear of an action and of what came back."""
        ...


class System(Protocol):
    """A memory system."""

    @property
    def name(self) -> str:
        """Name its row."""
        ...

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        """Begin a run, of which a system may know the task alone; only the oracle looks further.

        Args:
            run: the run.
            opened: before each action, how many of the newest steps are open: raw in every system that has an open
                segment.
        """
        ...


def text_of(action: str, observation: str) -> str:
    """Return a step as it is shown."""
    return f"Action: {action}\nObservation: {observation}\n"


# -- the product ----------------------------------------------------------------------------------------


@final
class Product:
    """MAGE as a user has it without a model: `Memory` with no judge and no summarizer, so an extract at its mark.

    Attributes:
        memory: the memory.
        frame: the tokens of its first prompt and of its tools: what is sent whatever it holds.
        mark: the policy's `high_water`.
    """

    def __init__(
        self, run: Run, room: int, counter: TokenCounter, limit: int | None = Policy().summary_limit
    ) -> None:
        """Begin a run, with room for so many tokens of open steps, and so many for each text in place of some."""
        begun = self._opened(run, Policy(high_water=None), counter)
        tools = sum(counter.count(canonical(tool)) for tool in begun.tools())
        first = sum(map(counter.count, _contents(begun)))
        self.frame = tools + first
        self.mark = self.frame + room
        policy = Policy(high_water=self.mark, summary_limit=limit, point_out=False)
        self.memory = self._opened(run, policy, counter)

    @staticmethod
    def _opened(run: Run, policy: Policy, counter: TokenCounter) -> Memory:
        return Memory.open(MemoryStore(), "run", task=run.task, policy=policy, counter=counter)

    def show(self) -> Sequence[str]:
        return _contents(self.memory)

    def take(self, action: str, observation: str) -> None:
        self.memory.record(action, observation)

    @property
    def state(self) -> ExecutionState:
        """S, of which R are the open steps."""
        return self.memory.session.state()


def _contents(memory: Memory) -> list[str]:
    return [str(message["content"]) for message in memory.messages()]


# -- the others -----------------------------------------------------------------------------------------


@final
@attrs.define
class _Shown:
    """A run of which some steps are shown."""

    choose: Callable[[Sequence[str]], Iterable[str]]
    texts: list[str] = attrs.field(factory=list)

    def show(self) -> Sequence[str]:
        return list(self.choose(self.texts))

    def take(self, action: str, observation: str) -> None:
        self.texts.append(text_of(action, observation))


@final
@attrs.frozen
class FullHistory:
    """Every step so far."""

    name: str = "full history"

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        return _Shown(lambda texts: texts)


@final
@attrs.frozen
class Window:
    """The last steps alone."""

    steps: int

    @property
    def name(self) -> str:
        return f"last {self.steps} steps"

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        return _Shown(lambda texts: texts[-self.steps :])


@final
@attrs.frozen
class Nothing:
    """No step at all: the agent is shown its task alone."""

    name: str = "nothing"

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        return _Shown(lambda texts: ())


@lru_cache(maxsize=100_000)
def literals_of(text: str) -> frozenset[str]:
    """Return the literal values of a text, which is read once."""
    return values_in(text)


def has_literal(value: str, text: str) -> bool:
    """Tell whether a literal value stands in a text."""
    return value in literals_of(text)


@final
@attrs.frozen
class Oracle:
    """The open steps, and of the others just the values that a later action needs: nothing can do better for fewer tokens.

    Attributes:
        name: of the row.
        holds: tells whether a value stands in a text; as a literal, unless said otherwise.
    """

    name: str = "oracle summary"
    holds: Callable[[str, str], bool] = has_literal

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        needed = [act.need.values for act in run.acts]

        def choose(texts: Sequence[str]) -> Iterable[str]:
            place = len(texts)
            first = place - opened[place]
            later = frozenset[str]().union(*needed[place:])
            closed = texts[:first]
            listed = sorted([value for value in later if any(self.holds(value, text) for text in closed)])
            return [*([f"Needed later: {' '.join(listed)}\n"] if listed else []), *texts[first:]]

        return _Shown(choose)


@final
@attrs.frozen
class Retrieval:
    """The open steps, and the closed ones that a rule picks, whole or in pieces.

    Attributes:
        name: of the row.
        most: how many are picked.
        rank: given the query, the chunks and a seed of the place, returns places of chunks, the best first.
        whole: whether a chunk is a step; else a piece of it of 200 characters.
        seed: of what is drawn.
    """

    name: str
    most: int
    rank: Callable[[str, Sequence[str], str], Iterable[int]]
    whole: bool = True
    seed: int = 0

    def begin(self, run: Run, opened: Sequence[int]) -> Kept:
        def choose(texts: Sequence[str]) -> Iterable[str]:
            place = len(texts)
            first = place - opened[place]
            closed = [chunk for text in texts[:first] for chunk in self._chunks(text)]
            if not closed or not self.most:
                return texts[first:]
            query = "".join(texts[first:])  # the current trace, as the paper retrieves
            picked = list(self.rank(query, closed, f"{self.seed} {run.name} {place}"))[: self.most]
            return [*[closed[each] for each in sorted(picked)], *texts[first:]]

        return _Shown(choose)

    def _chunks(self, text: str) -> Sequence[str]:
        if self.whole:
            return [text]
        return [f"{text[begin : begin + _PIECE].rstrip()}\n" for begin in range(0, len(text), _PIECE)]


def at_random(query: str, chunks: Sequence[str], seed: str) -> Iterable[int]:
    """Pick by a die."""
    return random.Random(seed).sample(range(len(chunks)), len(chunks))


def by_bm25(query: str, chunks: Sequence[str], seed: str) -> Iterable[int]:
    """Pick by BM25 (`bm25s`, Lucene's variant), the newest of equal ones first.

    Raises:
        ModuleNotFoundError: the dependency group `arena` is not installed.
    """
    index, known = _indexed(tuple(chunks))
    asked = sorted(known.intersection(_WORD.findall(query.lower())))
    if not asked:
        return range(len(chunks) - 1, -1, -1)
    scores = index.get_scores(asked)
    return sorted(range(len(chunks)), key=lambda place: (-float(scores[place]), -place))


# Any: the package says nothing of its types
@lru_cache(maxsize=2)
def _indexed(chunks: tuple[str, ...]) -> tuple[Any, frozenset[str]]:
    """Return an index of chunks, and their words. Chunks that are asked for again and again are indexed once."""
    module: Any = import_module("bm25s")
    words = [_WORD.findall(chunk.lower()) for chunk in chunks]
    known = frozenset(word for chunk in words for word in chunk)
    index = module.BM25(method="lucene")
    if known:
        index.index(words, show_progress=False)
    return index, known


def by_minilm(query: str, chunks: Sequence[str], seed: str) -> Iterable[int]:
    """Pick by the nearest vector of all-MiniLM-L6-v2, the newest of equal ones first. Cost: 14 ms for each new text.

    Raises:
        MissingMiniLM: a package is missing.
    """
    return _nearest()(query, chunks)


@cache
def _nearest() -> Nearest:
    return Nearest()


def has_minilm() -> bool:
    """Tell whether MiniLM is installed."""
    try:
        minilm()
    except MissingMiniLM:
        return False
    return True


def has_bm25() -> bool:
    """Tell whether the dependency group `arena` is installed."""
    try:
        import_module("bm25s")
    except ModuleNotFoundError:
        return False
    return True


def other_systems(seed: int) -> tuple[System, ...]:
    """Return all systems but the product, the controls first."""
    found: list[System] = [FullHistory(), Oracle(), *map(Window, (2, 4, 8))]
    found.append(Retrieval("open steps alone", 0, at_random))
    ranks = {"random": at_random, **({"BM25": by_bm25} if has_bm25() else {})}
    for name, rank in ranks.items():
        found.extend([Retrieval(f"{name}, {most} steps", most, rank, seed=seed) for most in (1, 3, 5)])
        found.append(Retrieval(f"{name}, 4 pieces", 4, rank, whole=False, seed=seed))
    if has_minilm():
        found.extend([Retrieval(f"dense, {most} steps", most, by_minilm) for most in (1, 3, 5)])
    return tuple(found)
