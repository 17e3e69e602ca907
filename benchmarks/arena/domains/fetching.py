"""The retrieving memories of the laboratory: the systems of `retrieval.chunks`, without caps, and with each part of a query."""

from __future__ import annotations

from typing import Any, Final, final

from benchmarks.arena.domains.sweeps import Conditions
from benchmarks.arena.domains.world import Rules
from benchmarks.arena.retrieval.attached import (
    ByRules,
    Caps,
    Remembering,
    Remembers,
    beside,
    steps_of,
    windowed,
)
from benchmarks.arena.retrieval.chunks import Chunks, Size, bm25, drawn
from mage.effects import Model
from mage.tokens import TokenCounter

PIECE: Final = 200
"""Characters of a piece."""
_SIZES: Final[dict[str, Size]] = {"steps": "step", "pieces": PIECE, "subtasks": "subtask"}
_NO_CAP: Final = 1_000_000
"""Tokens: more than any text here has."""


@final
class _BySteps:
    """A system that is asked with the steps of the open subtask, and not with its instruction."""

    def __init__(self, memory: Remembers) -> None:
        self._memory = memory

    def add_chunk(self, chunk: str, /) -> None:
        self._memory.add_chunk(chunk)

    def wrap_user_prompt(self, question: str, /) -> str:
        _, *steps = steps_of(question)
        asked = "".join(steps)
        return f"{beside(self._memory.wrap_user_prompt(asked), asked)}\n{question}"


# Any: each domain has a state of its own
def shown_by(
    conditions: Conditions, model: Model, rules: Rules[Any], counter: TokenCounter, number: int
) -> Model:
    """Return a model that is shown what the memory of some conditions shows in a task, beside the agent's policy."""
    setup = conditions.setup
    if setup.window is not None:
        return windowed(model, setup.window)
    if setup.rank is None:
        return model
    rank = bm25 if setup.rank == "bm25" else drawn(conditions.seed * 1_000 + number)
    memory: Remembers = Chunks(rank, size=_SIZES[conditions.chunks], k=conditions.most)
    if conditions.query == "trace":
        memory = _BySteps(memory)
    caps = Caps(_NO_CAP, _NO_CAP, "instruction" if conditions.query == "instruction" else "trace")
    return Remembering(model, memory, ByRules(rules), counter, caps=caps, name=conditions.memory)
