"""A group on a trip, drawn from a seed: the first traveller's plan is given, the others' follow from their wishes.

A wish is kept only where it has an answer that does not count as the first traveller's choice, and where another choice
in the plan that it refers to would have made another answer right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, final

import attrs

from benchmarks.arena.domains.travel.alike import is_like_any
from benchmarks.arena.domains.travel.trip import Option, OptionKind, Plan, Slot, Trip
from benchmarks.arena.domains.travel.wishes import Pick, Reference, Relation, Traveller, Wish
from benchmarks.arena.domains.words import GIVEN

_TRIES: Final = 200
_ASKED: Final[dict[OptionKind, tuple[tuple[Relation, Pick], ...]]] = {
    "restaurant": (
        ("same", "cheapest"),
        ("dearer", "cheapest"),
        ("better", "cheapest"),
        ("cheaper", "best rated"),
    ),
    "hotel": (
        ("same", "cheapest"),
        ("dearer", "cheapest"),
        ("better", "cheapest"),
        ("cheaper", "best rated"),
    ),
    "transport": (("same", "cheapest"), ("other", "cheapest"), ("dearer", "cheapest")),
    "attraction": (("same", "cheapest"), ("other", "cheapest")),
}


@final
@attrs.frozen
class Group:
    """A group on a trip.

    Attributes:
        trip: what can be chosen.
        travellers: the first of them has no wishes, and a plan that is given.
    """

    trip: Trip
    travellers: tuple[Traveller, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """How they are called."""
        return tuple(traveller.name for traveller in self.travellers)


def gathered(draw: random.Random, trip: Trip, members: int, wishes: int) -> Group:
    """Return a group: the first traveller and so many members, each with so many wishes where so many were found."""
    called = draw.sample(GIVEN, members + 1)
    base = {slot: draw.choice(trip.at(slot)) for slot in trip.slots}
    travellers = [Traveller(called[0], (), base)]
    for name in called[1:]:
        plan: dict[Slot, Option] = dict(base)
        found: list[Wish] = []
        for slot in draw.sample(trip.slots, len(trip.slots)):
            if len(found) == wishes:
                break
            met = _wish(draw, trip, travellers, slot)
            if met is not None:
                found.append(met[0])
                plan[slot] = met[1]
        ordered = tuple(sorted(found, key=lambda wish: trip.slots.index(wish.slot)))
        travellers.append(Traveller(name, ordered, plan))
    return Group(trip, tuple(travellers))


def _wish(
    draw: random.Random, trip: Trip, earlier: Sequence[Traveller], slot: Slot
) -> tuple[Wish, Option] | None:
    """Return a wish for a slot and what is right then; None where none was found."""
    usual = earlier[0].plan[slot]
    references = [
        (place, other) for place in range(len(earlier)) for other in trip.slots if _alike(trip, slot, other)
    ]
    for _ in range(_TRIES):
        place, other = draw.choice(_preferred(draw, earlier, references))
        relation, pick = draw.choice(_ASKED[slot.kind])
        tag = _tag(draw, trip, slot) if relation in ("dearer", "better", "cheaper") else ""
        wish = Wish(slot, Reference(relation, place, other), tag, pick)
        right = wish.met_by(trip.at(slot), earlier[place].plan[other])
        if right is not None and not is_like_any(right.name, [usual.name]) and _depends(wish, trip, right):
            return wish, right
    return None


def _alike(trip: Trip, slot: Slot, other: Slot) -> bool:
    return (slot.kind, trip.where(slot)) == (other.kind, trip.where(other))


def _preferred(
    draw: random.Random, earlier: Sequence[Traveller], references: list[tuple[int, Slot]]
) -> list[tuple[int, Slot]]:
    """Return, mostly, what members before have wished for: only those who planned for them know it."""
    wished = [
        (place, slot)
        for place, slot in references
        if any(wish.slot == slot for wish in earlier[place].wishes)
    ]
    return wished if wished and draw.random() < 0.8 else references


def _tag(draw: random.Random, trip: Trip, slot: Slot) -> str:
    if slot.kind not in ("restaurant", "hotel") or draw.random() < 0.5:
        return ""
    return draw.choice(sorted({tag for option in trip.at(slot) for tag in option.tags}))


def _depends(wish: Wish, trip: Trip, right: Option) -> bool:
    options = trip.at(wish.slot)
    others = {met for other in options if (met := wish.met_by(options, other)) is not None}
    return any(not is_like_any(other.name, [right.name]) for other in others)


def plan_text(plan: Plan) -> str:
    """Return a plan in words, a line for each slot."""
    return "\n".join(f"- {slot}: {option.name}" for slot, option in plan.items())
