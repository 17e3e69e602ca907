"""The planner's tools as an agent finds them: finding options, booking them, looking at the plan, handing it in."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final, cast, final

import attrs

from benchmarks.arena.domains.calls import OPTIONAL_NUMBER, OPTIONAL_TEXT, TEXT, WHOLE, Call
from benchmarks.arena.domains.travel.groups import Group, plan_text
from benchmarks.arena.domains.travel.trip import KIND_OF, KINDS, Option, OptionKind, Slot, SlotName
from benchmarks.arena.domains.world import Answer, Told
from mage.effects import Tool

PAGE: Final = 8
"""Options of a page."""
_WORD: Final = re.compile(r"[^\W_]+")

TOOLS: Final = (
    Tool.of(
        "find",
        "List options of a kind at a place, eight on a page: a city, or of transport both, as 'A to B'. Words are looked"
        " for in names and in cuisines or types of rooms. Those that share most words come first, then the cheaper ones.",
        kind={"type": "string", "enum": list(KINDS)},
        where=TEXT,
        words=OPTIONAL_TEXT,
        min_rating=OPTIONAL_NUMBER,
        min_price=OPTIONAL_NUMBER,
        max_price=OPTIONAL_NUMBER,
        page=WHOLE,
    ),
    Tool.of(
        "book",
        "Put an option of the last search into the plan of the present traveller, in place of what was there.",
        day=WHOLE,
        slot={"type": "string", "enum": list(KIND_OF)},
        option=TEXT,
    ),
    Tool.of(
        "itinerary", "Show the plan of the present traveller: what is booked, what is missing, what it costs."
    ),
    Tool.of("done", "Hand in the plan of the present traveller. This ends the present subtask."),
)

MANUAL: Final = """\
You plan a trip for the members of a group, one after the other. They travel together; the plan of the first traveller
is given, and each of the others has a plan like it but for some wishes.
- For every day fill every slot that the first traveller's plan has: transport where one travels, breakfast, lunch,
  dinner, attraction and accommodation. What a member does not mention is as in the first traveller's plan.
- Find options before you book. Only ids of the last search can be booked; they mean nothing later, and names are never ids.
- Many wishes speak of what another member has: recall that choice, with its price and rating, turn the wish into plain
  conditions, and look at all options that meet them. Nothing here will show you the plans of others.
- Of what meets a wish, the cheapest is the one with the lowest price, then the higher rating, then the first by name; the
  best rated is the one with the highest rating, then the lower price, then the first by name.
- Hand a plan in only when nothing is missing: look at the itinerary. A plan that is handed in is final.
When a plan is handed in, write down what the member has in the slots of the wishes: members after may speak of it."""


@final
@attrs.frozen
class Planning:
    """Where somebody is in the plan of a member.

    Attributes:
        searches: how many there were, over all members.
        results: of the last one, as ids begin with its number.
        booked: by slot.
    """

    searches: int = 0
    results: tuple[Option, ...] = ()
    booked: tuple[tuple[Slot, Option], ...] = ()


@final
@attrs.define(slots=False)  # what is worked out once is kept beside its fields
class TravelRules:
    """The rules of one trip.

    Attributes:
        group: who travels, and what there is.
        cap: actions of a member's plan.
    """

    group: Group
    cap: int
    manual: str = MANUAL
    tools: tuple[Tool, ...] = TOOLS
    looks: frozenset[str] = frozenset({"find", "itinerary"})

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """What each member asks for."""
        names = self.group.names
        return tuple(
            f"Member {place}: {traveller.name}. As {names[0]}'s plan, but for:\n"
            + "\n".join(f"- {wish.text(names)}" for wish in traveller.wishes)
            for place, traveller in enumerate(self.group.travellers[1:], 1)
        )

    @property
    def text(self) -> str:
        """What is asked for, at the beginning."""
        first, *others = self.group.travellers
        days = [
            f"Day {number}: {f'{day.leg}, ' if day.leg else ''}{day.city}"
            for number, day in enumerate(self.group.trip.days, 1)
        ]
        return (
            f"Plan a trip of {len(days)} days for {len(others)} members of a group, who join {first.name}. You are told of"
            " each when their turn comes.\n"
            + "\n".join(days)
            + f"\n{first.name}'s plan:\n{plan_text(first.plan)}"
        )

    def begin(self) -> Planning:
        """Begin with nothing booked."""
        return Planning()

    def turn(self, state: Planning, _subtask: int, /) -> tuple[Answer, Planning]:
        """Hand in what is booked; the next member begins with nothing."""
        booked = {str(slot): option.name for slot, option in state.booked}
        order = [str(slot) for slot in self.group.trip.slots]
        answer = tuple((slot, booked[slot]) for slot in order if slot in booked)
        return answer, Planning(state.searches)

    def call(self, state: Planning, call: Call, subtask: int, /) -> Told[Planning]:
        """Find, book, look or hand in."""
        match call.name:
            case "find":
                return self._found(state, call)
            case "book":
                return self._booked(state, call)
            case "itinerary":
                return Told(self._itinerary(state), state)
            case _:
                answer, after = self.turn(state, subtask)
                name = self.group.travellers[subtask + 1].name
                return Told(f"The plan of {name} is handed in.", after, answer)

    def matching(self, call: Call) -> tuple[Option, ...]:
        """Return the options that a search finds, best first, on all pages together. Cost: O(options)."""
        words = frozenset(_WORD.findall(call.text("words").casefold()))
        least, cheapest, dearest = (call.number(name) for name in ("min_rating", "min_price", "max_price"))
        fit = [
            (-len(words & _words_of(option)), option.price, option.name, option)
            for option in self.group.trip.of(cast("OptionKind", call.text("kind")), call.text("where"))
            if (not words or words & _words_of(option))
            and (least is None or option.rating >= least)
            and (cheapest is None or option.price >= cheapest)
            and (dearest is None or option.price <= dearest)
        ]
        return tuple(option for *_, option in sorted(fit, key=lambda each: each[:3]))

    def _found(self, state: Planning, call: Call) -> Told[Planning]:
        fit = self.matching(call)
        page = max(1, call.whole("page"))
        shown = fit[(page - 1) * PAGE : page * PAGE]
        number = state.searches + 1
        after = attrs.evolve(state, searches=number, results=shown)
        if not shown:
            return Told("Nothing was found." if not fit else "There is no such page.", after)
        lines = [f"{number}-{place} | {option.listed}" for place, option in enumerate(shown, 1)]
        head = f"{len(fit)} found; page {page} of {-(-len(fit) // PAGE)}:"
        return Told("\n".join([head, *lines]), after)

    def _booked(self, state: Planning, call: Call) -> Told[Planning]:
        slot = Slot(call.whole("day"), cast("SlotName", call.text("slot")))
        if slot not in self.group.trip.slots:
            return Told(f"Not booked: a plan has no {slot}.", state)
        ids = {f"{state.searches}-{place}": option for place, option in enumerate(state.results, 1)}
        option = ids.get(call.text("option"))
        if option is None:
            return Told("Not booked: this is no id of the last search.", state)
        if option not in self.group.trip.at(slot):
            return Told(f"Not booked: {slot} takes a {slot.kind} of {self.group.trip.where(slot)}.", state)
        booked = dict(state.booked) | {slot: option}
        after = attrs.evolve(state, booked=tuple(sorted(booked.items(), key=lambda each: str(each[0]))))
        return Told(f"Booked, {slot}: {option.listed}.", after)

    def _itinerary(self, state: Planning) -> str:
        booked = dict(state.booked)
        lines = [
            f"- {slot}: {booked[slot].listed if slot in booked else 'missing'}"
            for slot in self.group.trip.slots
        ]
        return "\n".join([*lines, f"In all ${sum(option.price for option in booked.values())}."])


def _words_of(option: Option) -> frozenset[str]:
    return frozenset(_WORD.findall(" ".join([option.name, *option.tags]).casefold()))
