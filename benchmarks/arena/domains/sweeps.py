"""What the laboratory sweeps: the conditions of each series, and how a memory is made there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, Literal, TypeAlias, final

import attrs

from benchmarks.arena.domains.registry import VERSION, SizeName
from mage.agent import Policy

Chunking: TypeAlias = Literal["steps", "pieces", "subtasks"]
CHUNKS: Final[tuple[Chunking, ...]] = ("steps", "pieces", "subtasks")
Query: TypeAlias = Literal["trace", "instruction", "both"]
QUERIES: Final[tuple[Query, ...]] = ("trace", "instruction", "both")
Rank: TypeAlias = Literal["bm25", "random"]
_EVERYTHING: Final = Policy(compress=False, maintain=False, revise=False)


@final
@attrs.frozen
class Setup:
    """How a memory is made here.

    Attributes:
        policy: of the agent.
        window: how many of the newest steps are shown; None for all that the policy shows.
        compresses: whether the reader writes a summary after each product.
        forgets: whether no summary says a fact.
        watched: whether the shop is watched by the judge, in place of the agent's own Maintain.
        rank: how chunks of earlier subtasks are picked, in place of their steps; None where none are.
    """

    policy: Policy
    window: int | None = None
    compresses: bool = True
    forgets: bool = False
    watched: bool = False
    rank: Rank | None = None

    @property
    def is_judged(self) -> bool:
        """Whether a judge is asked, where there is one."""
        return self.watched or self.policy.maintain


MEMORIES: Final = {
    "full-history": Setup(_EVERYTHING, compresses=False),
    "full-history-judged": Setup(_EVERYTHING, compresses=False, watched=True),
    "mage": Setup(Policy()),
    "mage-without-compress": Setup(Policy(compress=False)),
    "mage-without-maintain": Setup(Policy(maintain=False)),
    "mage-without-revise": Setup(Policy(revise=False)),
    "no-memory-judged": Setup(Policy(), forgets=True),
    "no-memory": Setup(Policy(maintain=False), forgets=True),
    "window-20": Setup(_EVERYTHING, window=20, compresses=False),
    "window-40": Setup(_EVERYTHING, window=40, compresses=False),
}
RETRIEVERS: Final = {
    "bm25": Setup(_EVERYTHING, compresses=False, rank="bm25"),
    "random": Setup(_EVERYTHING, compresses=False, rank="random"),
}
ALL_MEMORIES: Final = {**MEMORIES, **RETRIEVERS}


@final
@attrs.frozen
class Conditions:
    """One series of the laboratory.

    Attributes:
        memory: one of `ALL_MEMORIES`.
        mistakes: the share of purchases that the reader gets wrong, whatever it knows.
        misses: the share of wrong purchases that the judge passes.
        alarms: the share of right ones that it fails. With misses, half each is a coin.
        judge: whether there is one.
        throw: which draw of the judge's errors, from 0 on.
        loss: the share of summaries that lose their fact.
        cart: whether the shop shows its cart.
        recall: a name of `recall.CURVES`; empty where all that is shown is noticed.
        strength: the part of the curve's fall that is applied, from 0 to 1.
        chunks: what is retrieved: steps, pieces of 200 characters, or whole subtasks. It says something where the
            memory retrieves, as do the next two.
        most: how many chunks.
        query: what they are retrieved by: the steps of the open subtask, its instruction, or both. A random pick
            is drawn anew for each query.
        seed: of the tasks and of all draws.
        size: of the tasks.
    """

    memory: str
    mistakes: float = 0.1
    misses: float = 0.1
    alarms: float = 0.05
    judge: bool = True
    throw: int = 0
    loss: float = 0.0
    cart: bool = False
    recall: str = ""
    strength: float = 1.0
    chunks: Chunking = "steps"
    most: int = 0
    query: Query = "trace"
    seed: int = 0
    size: SizeName = "full"

    @property
    def setup(self) -> Setup:
        """How the memory is made."""
        return ALL_MEMORIES[self.memory]

    def document(self) -> dict[str, object]:
        """Return as JSON all that a row depends on."""
        return {"domain": "shopping", "agent": "context-reader", "tasks": VERSION, **attrs.asdict(self)}


MISTAKES: Final = (0.0, 0.1, 0.2)
LOSSES: Final = (0.05, 0.08, 0.1, 0.2, 0.4)
MISSES: Final = (0.0, 0.3, 0.6, 0.8, 1.0)
ALARMS: Final = (0.0, 0.15, 0.3, 0.5, 0.75)
ERRORS: Final = (0.0, 0.1, 0.2, 0.3)
"""Of a judge that misses and alarms equally often; at .5 it is a coin."""
COINS: Final = 5
MOST: Final = (1, 5)
"""Chunks that are retrieved."""
FALLING: Final = ("NoLiMa GPT-4o", "NoLiMa Llama 3.3 70B")
STRENGTHS: Final = (0.5, 1.0)
WEAKENED: Final = "NoLiMa GPT-4o"
WEAKENED_LOSSES: Final = (0.05, 0.1, 0.2)
_PAIR: Final = ("full-history-judged", "mage")
_ONCE: Final = frozenset({"no-memory-judged", "window-20", "window-40"})
"""Memories that are run at one rate of mistakes."""


def sweep(seed: int, size: SizeName = "full", bm25: bool = True) -> tuple[Conditions, ...]:
    """Return all series, in the order of the table, each once.

    Args:
        seed: of the tasks and of all draws.
        size: of the tasks.
        bm25: whether BM25 is installed; without it its rows are left out.
    """
    found = [*_memories(), *_judges(), *_summaries(), *_carts(), *_recalls(), *_retrievals()]
    made = dict.fromkeys(attrs.evolve(each, seed=seed, size=size) for each in found)
    return tuple(each for each in made if bm25 or each.memory != "bm25")


def _memories() -> Iterator[Conditions]:
    for mistakes, memory in product(MISTAKES, MEMORIES):
        if mistakes == MISTAKES[1] or memory not in _ONCE:
            yield Conditions(memory, mistakes)


def _judges() -> Iterator[Conditions]:
    """Yield judges beside that of `Conditions`: with one of its errors changed, with both, coins, and none.

    Full history with the same judge buys what MAGE buys, whatever the judge: it is there twice, for its tokens.
    """
    yield Conditions("mage", judge=False)
    yield from (Conditions("mage", misses=misses) for misses in MISSES)
    yield from (Conditions("mage", alarms=alarms) for alarms in ALARMS)
    yield from (Conditions("mage", misses=error, alarms=error) for error in ERRORS)
    yield from (Conditions("mage", misses=0.5, alarms=0.5, throw=throw) for throw in range(COINS))
    yield Conditions("full-history-judged", misses=0.0, alarms=0.0)
    yield Conditions("full-history-judged", alarms=0.3)


def _summaries() -> Iterator[Conditions]:
    for memory, loss in product(("mage", "mage-without-maintain"), LOSSES):
        yield Conditions(memory, loss=loss)


def _carts() -> Iterator[Conditions]:
    for memory in ("full-history", "no-memory", "window-20", "full-history-judged", "mage"):
        yield Conditions(memory, cart=True)
    yield Conditions("bm25", most=1, cart=True)


def _recalls() -> Iterator[Conditions]:
    yield from (Conditions(memory, recall="flat 1.0") for memory in _PAIR)
    yield from (Conditions(memory, recall="flat 0.9") for memory in ("full-history", *_PAIR))
    yield Conditions("mage-without-compress", recall="flat 0.9")
    for name in FALLING:
        yield from (Conditions(memory, recall=name) for memory in ("full-history", *_PAIR))
        yield Conditions("mage-without-compress", recall=name)
        yield Conditions("mage-without-maintain", recall=name)
    for strength in STRENGTHS:
        yield Conditions("full-history-judged", recall=WEAKENED, strength=strength)
        lossy = (Conditions("mage", loss=loss) for loss in WEAKENED_LOSSES)
        yield from (attrs.evolve(each, recall=WEAKENED, strength=strength) for each in lossy)


def _retrievals() -> Iterator[Conditions]:
    """Yield each kind of chunk by two numbers, and the larger number of each by all queries."""
    for chunks, most in product(CHUNKS, MOST):
        yield Conditions("random", chunks=chunks, most=most)
        yield Conditions("bm25", chunks=chunks, most=most)
    for chunks, query in product(CHUNKS, QUERIES):
        yield Conditions("bm25", chunks=chunks, most=MOST[-1], query=query)
