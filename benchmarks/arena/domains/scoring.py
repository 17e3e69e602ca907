"""The paper's scores, as functions of what is right: pure, total, and over all slots.

A slot is True where its answer is right, False where it is wrong, None where there is no answer. A missing answer is
worth nothing and stays in the denominator; a task without slots is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, final

import attrs

Slot: TypeAlias = bool | None


@final
@attrs.frozen
class Score:
    """What a run of a task is worth, each from 0 to 1.

    Attributes:
        sr: success, 0 or 1.
        ps: progress: the share of subtasks that are right.
        answered: the share of slots with an answer, right or not.
        soft_ps: of group travel, the share of the added constraints that are met; None elsewhere.
    """

    sr: float
    ps: float
    answered: float
    soft_ps: float | None = None


NOTHING = Score(0.0, 0.0, 0.0)
"""What a run is worth that came to nothing."""


def bundle(slots: Sequence[Slot]) -> Score:
    """Return the score of a bundle: success where every purchase is right."""
    return Score(float(bool(slots) and all(slots)), _share(slots), _answered(slots))


def chain(slots: Sequence[Slot]) -> Score:
    """Return the score of a chain, of questions or derivations: success where the last answer is right."""
    return Score(float(bool(slots) and slots[-1] is True), _share(slots), _answered(slots))


@final
@attrs.frozen
class Member:
    """What is right in the plan of one member of a group.

    Attributes:
        slots: every slot of the plan.
        added: the slots among them that the member's own constraints decide.
    """

    slots: tuple[Slot, ...]
    added: tuple[Slot, ...]


def group(members: Sequence[Member]) -> Score:
    """Return the score of a group: a member passes where every slot is right, the group where every member passes.

    The soft progress is the share of added constraints that are met, over the members together.
    """
    passes = [bool(member.slots) and all(member.slots) for member in members]
    added = [slot for member in members for slot in member.added]
    slots = [slot for member in members for slot in member.slots]
    return Score(float(bool(passes) and all(passes)), _share(passes), _answered(slots), _share(added))


def mean(values: Iterable[float]) -> float:
    """Return the mean of numbers; 0 of none."""
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def _share(slots: Iterable[Slot]) -> float:
    return mean(float(slot is True) for slot in slots)


def _answered(slots: Iterable[Slot]) -> float:
    return mean(float(slot is not None) for slot in slots)
