"""Tasks of group travel: an oracle's plan, and how a run is marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import final

import attrs

from benchmarks.arena.domains.calls import Call, action
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.scoring import Member, group
from benchmarks.arena.domains.scoring import Slot as Mark
from benchmarks.arena.domains.task import Marked, Part, Task
from benchmarks.arena.domains.travel.alike import is_alike
from benchmarks.arena.domains.travel.groups import gathered
from benchmarks.arena.domains.travel.invented import invented_row
from benchmarks.arena.domains.travel.rows import Row, trip_of
from benchmarks.arena.domains.travel.rules import PAGE, TravelRules
from benchmarks.arena.domains.travel.trip import Option, Slot
from benchmarks.arena.domains.travel.wishes import Traveller
from benchmarks.arena.domains.world import Closed


@final
@attrs.frozen
class Travelling:
    """Groups on trips.

    Attributes:
        members: whose plans are asked for.
        wishes: of each.
        rows: reference data, one trip a row, in turn; none for made-up trips.
        cities: of a made-up trip.
        nights: in each of them.
        cap: actions of a member's plan.
    """

    members: int = 7
    wishes: int = 4
    rows: tuple[Row, ...] = attrs.field(default=(), repr=False, hash=False)
    cities: int = 1
    nights: int = 2
    cap: int = 90
    name: str = "travel"

    def task(self, seed: int, number: int, /) -> Task:
        """Return a task.

        Raises:
            BadRow: the row of its number is none.
        """
        draw = draws("travel", seed, number)
        row = (
            self.rows[number % len(self.rows)]
            if self.rows
            else invented_row(draw, cities=self.cities, nights=self.nights)
        )
        rules = TravelRules(gathered(draw, trip_of(row), self.members, self.wishes), self.cap)
        members = rules.group.travellers[1:]
        plan, searches = [], 0
        for traveller in members:
            actions = tuple(_actions(rules, traveller, searches))
            searches += sum(each.startswith("find ") for each in actions)
            plan.append(Part(actions, _claim(rules, traveller)))
        return Task(f"{self.name}-{seed}-{number}", rules.text, rules, _Marking(members), tuple(plan))


def _actions(rules: TravelRules, traveller: Traveller, searches: int) -> Iterator[str]:
    """Yield what an oracle does: for each slot it finds the option by its name, and books it."""
    for slot, option in traveller.plan.items():
        asked: dict[str, str | int | float | None] = {
            "kind": slot.kind,
            "where": option.where,
            "words": option.name,
            "min_rating": None,
            "min_price": None,
            "max_price": None,
            "page": 1,
        }
        place = rules.matching(Call("find", asked)).index(option)
        for page in range(1, place // PAGE + 2):
            searches += 1
            yield action("find", **{**asked, "page": page})
        yield action("book", day=slot.day, slot=slot.name, option=f"{searches}-{place % PAGE + 1}")
    yield action("itinerary")
    yield action("done")


def _claim(rules: TravelRules, traveller: Traveller) -> str:
    wished = {wish.slot for wish in traveller.wishes}
    chosen = [f"{slot}: {_told(option)}" for slot, option in traveller.plan.items() if slot in wished]
    first = rules.group.travellers[0].name
    return f"{traveller.name}'s plan is handed in. {'; '.join(chosen)}. All else as {first}."


def _told(option: Option) -> str:
    """Return what others may compare their wishes with."""
    known = [f"${option.price}"] * bool(option.price) + [f"rated {option.rating:g}"] * bool(option.rating)
    return f"{option.name} ({', '.join(known)})" if known else option.name


@final
@attrs.frozen
class _Marking:
    members: tuple[Traveller, ...]

    def __call__(self, closed: Sequence[Closed]) -> Marked:
        """Mark plans: a slot is right where its name is like the right one, a plan where every slot is."""
        plans: list[Mapping[str, str]] = [dict(each.answer) for each in closed]
        plans += [{}] * (len(self.members) - len(plans))
        members = [_member(traveller, plan) for traveller, plan in zip(self.members, plans, strict=True)]
        right = tuple(
            None if all(mark is None for mark in member.slots) else all(member.slots) for member in members
        )
        return Marked(right, group(members))


def _member(traveller: Traveller, plan: Mapping[str, str]) -> Member:
    marks = {slot: _mark(slot, option, plan) for slot, option in traveller.plan.items()}
    wished = {wish.slot for wish in traveller.wishes}
    return Member(tuple(marks.values()), tuple(mark for slot, mark in marks.items() if slot in wished))


def _mark(slot: Slot, right: Option, plan: Mapping[str, str]) -> Mark:
    given = plan.get(str(slot))
    return None if given is None else is_alike(given, right.name)
