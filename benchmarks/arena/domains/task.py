"""A task of a domain: its text, its rules, what is right in it, and a plan that solves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, final

import attrs

from benchmarks.arena.domains.scoring import Score, Slot
from benchmarks.arena.domains.world import Closed, Rules


@final
@attrs.frozen
class Marked:
    """The answers of a run beside the truth.

    Attributes:
        right: by subtask: True, False, or None without an answer.
        score: the paper's scores.
    """

    right: tuple[Slot, ...]
    score: Score


Marking: TypeAlias = Callable[[Sequence[Closed]], Marked]
"""Compares the subtasks that are over with the truth. Those that are missing are unanswered."""


@final
@attrs.frozen
class Part:
    """How an oracle solves one subtask.

    Attributes:
        actions: what it does, the last of which hands the answer in.
        claim: what it says when it is done, which is what later subtasks need of it.
    """

    actions: tuple[str, ...]
    claim: str


@final
@attrs.frozen
class Task:
    """One task. Nothing of `mark` and `plan` is shown to an agent.

    Attributes:
        id: the domain, the seed and the number.
        text: what is asked for, at the beginning.
        rules: of its world.
        mark: what compares answers with the truth.
        plan: a solution, by subtask.
    """

    id: str
    text: str
    # Any: each domain has a state of its own, and only its rules look into it
    rules: Rules[Any] = attrs.field(repr=False)
    mark: Marking = attrs.field(repr=False)
    plan: tuple[Part, ...] = attrs.field(repr=False)


class Domain(Protocol):
    """A kind of tasks."""

    @property
    def name(self) -> str:
        """Its name, such as `"shopping"`."""
        ...

    def task(self, seed: int, number: int, /) -> Task:
        """Return a task; the same for the same seed and number, on every machine."""
        ...
