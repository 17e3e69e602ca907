"""Systems of our own over chunks of what was written: some at random, the best by BM25, the nearest by an embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeAlias, final

from benchmarks.arena.retrieval.attached import steps_of, wrapped
from benchmarks.arena.systems import at_random, by_bm25

Size: TypeAlias = Literal["subtask", "step"] | int
"""Of a chunk: a whole trace, a step, or so many characters of a trace."""
Rank: TypeAlias = Callable[[str, Sequence[str]], Iterable[int]]
"""Returns places of chunks for a query, the best first."""

DEFAULT_K: Final = 5
DEFAULT_SIZE: Final[Size] = "step"


def pieces(trace: str, size: Size) -> list[str]:
    """Return the chunks of a trace."""
    if size == "subtask":
        return [trace]
    if size == "step":
        return steps_of(trace)
    return [trace[begin : begin + size] for begin in range(0, len(trace), size)]


@final
class Chunks:
    """A system that keeps chunks, and gives the first few of a ranking back in the order in which they were written."""

    def __init__(self, rank: Rank, *, size: Size = DEFAULT_SIZE, k: int = DEFAULT_K) -> None:
        self._rank = rank
        self._size = size
        self._k = k
        self._chunks: list[str] = []

    def add_chunk(self, chunk: str, /) -> None:
        """Keep a trace, in chunks. Cost: O(length)."""
        self._chunks += pieces(chunk, self._size)

    def wrap_user_prompt(self, question: str, /) -> str:
        """Return the question below the chunks that are picked for it. Cost: that of the ranking."""
        if not self._chunks or not self._k:
            return question
        picked = list(self._rank(question, self._chunks))[: self._k]
        return wrapped([self._chunks[place] for place in sorted(picked)], question)


def bm25(query: str, chunks: Sequence[str], /) -> Iterable[int]:
    """Rank by BM25, the newest of equal ones first.

    Raises:
        ModuleNotFoundError: the dependency group `arena` is not installed.
    """
    return by_bm25(query, chunks, "")


def drawn(seed: int) -> Rank:
    """Return a ranking by a die; the same for the same question and chunks, also after a run was resumed."""
    return lambda query, chunks: at_random(query, chunks, f"{seed} {len(chunks)} {query}")
