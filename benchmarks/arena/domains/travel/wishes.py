"""What a traveller asks for in one slot, and which option meets it: by what others chose before.

A wish has conditions, and a way to pick among what meets them. Nothing is picked by chance: what is alike in one
respect is told apart by the next, at last by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Literal, TypeAlias, final

import attrs

from benchmarks.arena.domains.travel.trip import Option, Plan, Slot

Relation: TypeAlias = Literal["same", "other", "dearer", "cheaper", "better"]
Pick: TypeAlias = Literal["cheapest", "best rated"]


@final
@attrs.frozen
class Reference:
    """A condition on another's choice.

    Attributes:
        relation: what the choice must be, compared with that one.
        traveller: whose choice it is, counted from 0; 0 is the first traveller, whose plan is given.
        slot: which of theirs.
    """

    relation: Relation
    traveller: int
    slot: Slot


@final
@attrs.frozen
class Wish:
    """What is asked for in one slot.

    Attributes:
        slot: which.
        reference: the condition on another's choice.
        tag: a cuisine or a type of room that it must have; empty for none.
        pick: which of those that meet all of it.
    """

    slot: Slot
    reference: Reference
    tag: str
    pick: Pick

    def met_by(self, options: Iterable[Option], other: Option) -> Option | None:
        """Return the option that is right, where the other's choice is known; None where there is none."""
        fit = [
            each for each in options if _holds(self.reference.relation, each, other) and self._has_tag(each)
        ]
        return min(fit, key=self._order, default=None)

    def _has_tag(self, option: Option) -> bool:
        return not self.tag or self.tag in option.tags

    def _order(self, option: Option) -> tuple[float, float, str]:
        price = option.price or inf  # 0 is a price that nobody knows
        if self.pick == "cheapest":
            return (price, -option.rating, option.name)
        return (-option.rating, price, option.name)

    def text(self, names: Sequence[str]) -> str:
        """Return the wish in words."""
        whose = f"{names[self.reference.traveller]}'s {self.reference.slot}"
        head = f"{self.slot}: "
        if self.reference.relation == "same":
            return f"{head}the same as {whose}."
        kind = {"restaurant": "restaurant", "hotel": "place to stay", "attraction": "attraction"}.get(
            self.slot.kind, "way to travel"
        )
        tag = f" with {self.tag}" if self.tag else ""
        if self.slot.kind == "attraction":
            return f"{head}the first {kind} by name that is not {whose}."
        pick = f"the {self.pick} {kind}{tag}"
        compared = {
            "other": f"other than {whose}",
            "dearer": f"that costs more than {whose}",
            "cheaper": f"that costs less than {whose}",
            "better": f"that is rated higher than {whose}",
        }[self.reference.relation]
        return f"{head}{pick} {compared}."


def _holds(relation: Relation, option: Option, other: Option) -> bool:
    match relation:
        case "same":
            return option.name == other.name
        case "other":
            return option.name != other.name
        case "dearer":
            return option.price > other.price
        case "cheaper":
            return 0 < option.price < other.price  # 0 is a price that nobody knows
        case "better":
            return option.rating > other.rating


@final
@attrs.frozen
class Traveller:
    """One of a group.

    Attributes:
        name: what the others call them.
        wishes: where their plan is not that of the first traveller.
        plan: what is right.
    """

    name: str
    wishes: tuple[Wish, ...]
    plan: Plan = attrs.field(hash=False)
