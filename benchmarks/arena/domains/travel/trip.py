"""A trip: what can be chosen where, and what a plan must fill. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal, TypeAlias, final

import attrs

OptionKind: TypeAlias = Literal["transport", "restaurant", "attraction", "hotel"]
KINDS: Final[tuple[OptionKind, ...]] = ("transport", "restaurant", "attraction", "hotel")
SlotName: TypeAlias = Literal["transport", "breakfast", "lunch", "dinner", "attraction", "accommodation"]
KIND_OF: Final[dict[str, OptionKind]] = {
    "transport": "transport",
    "breakfast": "restaurant",
    "lunch": "restaurant",
    "dinner": "restaurant",
    "attraction": "attraction",
    "accommodation": "hotel",
}
"""What each slot of a day takes, in the order of a day."""


@final
@attrs.frozen
class Option:
    """One thing that can be chosen.

    Attributes:
        kind: transport, restaurant, attraction or hotel.
        name: as it is written in a plan; at one place no two of a kind have the same.
        where: the city; of transport both, as "A to B".
        price: dollars, of a meal, a night, a ride; 0 where none is known.
        rating: of 5; 0 where none is known.
        tags: cuisines, the type of a room, times of departure and arrival.
    """

    kind: OptionKind
    name: str
    where: str
    price: int
    rating: float
    tags: tuple[str, ...]

    @property
    def listed(self) -> str:
        """What a search says of it."""
        said = [self.name]
        if self.price:
            said.append(f"${self.price}")
        if self.rating:
            said.append(f"rated {self.rating:g}")
        return " | ".join([*said, ", ".join(self.tags)] if self.tags else said)


@final
@attrs.frozen(order=True)
class Slot:
    """What one day of a plan must have.

    Attributes:
        day: from 1 on.
        name: which of the day's.
    """

    day: int
    name: SlotName

    @property
    def kind(self) -> OptionKind:
        """What it takes."""
        return KIND_OF[self.name]

    def __str__(self) -> str:
        return f"day {self.day} {self.name}"


Plan: TypeAlias = Mapping[Slot, Option]


@final
@attrs.frozen
class Day:
    """One day.

    Attributes:
        city: where one eats, looks and sleeps.
        leg: the way that is travelled, as "A to B"; empty where one stays.
    """

    city: str
    leg: str = ""


@final
@attrs.define(slots=False)  # what is worked out once is kept beside its fields
class Trip:
    """Days, and what can be chosen on them.

    Attributes:
        days: in their order; on the last one travels home.
        options: everything that there is.
    """

    days: tuple[Day, ...]
    options: tuple[Option, ...]

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """What a whole plan fills, in the order of the days: what there is nothing to choose for is left out."""
        return tuple(
            slot
            for number, day in enumerate(self.days, 1)
            for slot in (Slot(number, name) for name in _NAMES)
            if not (slot.name == "transport" and not day.leg)
            and not (slot.name == "accommodation" and number == len(self.days))
            and self.at(slot)
        )

    def where(self, slot: Slot) -> str:
        """Return the place of which a slot takes an option."""
        day = self.days[slot.day - 1]
        return day.leg if slot.kind == "transport" else day.city

    def at(self, slot: Slot) -> tuple[Option, ...]:
        """Return what can be chosen for a slot."""
        return self._by_place.get((slot.kind, self.where(slot)), ())

    @cached_property
    def _by_place(self) -> dict[tuple[OptionKind, str], tuple[Option, ...]]:
        found: dict[tuple[OptionKind, str], dict[str, Option]] = {}
        for option in self.options:
            found.setdefault((option.kind, option.where), {}).setdefault(option.name, option)
        return {place: tuple(options.values()) for place, options in found.items()}

    def of(self, kind: OptionKind, where: str) -> tuple[Option, ...]:
        """Return what there is of a kind at a place, whatever the case of its letters."""
        known = {
            place.casefold(): options for (each, place), options in self._by_place.items() if each == kind
        }
        return known.get(where.casefold(), ())


_NAMES: Final[tuple[SlotName, ...]] = (
    "transport",
    "breakfast",
    "lunch",
    "dinner",
    "attraction",
    "accommodation",
)
