"""A document about each thing: what is true of it, among much that decides nothing and names other things."""

from __future__ import annotations

import random
from typing import Final

from benchmarks.arena.domains.search.corpus import Document
from benchmarks.arena.domains.search.country import Country, Fact, Kind, Relation, Thing
from benchmarks.arena.domains.words import several

_OPENING: Final[dict[Kind, str]] = {
    "town": "{name} is a town on the river {note}. It was founded in {year}.",
    "person": "{name} was a {note}, born in {year}.",
    "institute": "The {name} is an institute that was founded in {year}.",
    "book": '"{name}" is a book of the year {year}.',
    "bridge": "The {name} is a bridge that was finished in {year}.",
}
_TOLD: Final[dict[Relation, str]] = {
    "birthplace": "The house of birth is shown in {}.",
    "teacher": "After some years of travel this pupil of {} came back and set up a workshop.",
    "founder": "The founder was {}, who paid for the first roof.",
    "seat": "It stands in {}, behind the market.",
    "author": "The author is {}, who is named on the second leaf.",
    "printed in": "It was printed in {}, on paper of the place.",
    "designer": "The drawings were made by {}, and are kept.",
    "stands in": "It stands in {}, a little above the harbour.",
}
_FILLER: Final = several(
    "A guide of the last century gives two pages to it, one of which is about the weather.; "
    "Little is left of the first years.; "
    "A letter of the time compares it with {}, not to the advantage of either.; "
    "Visitors are let in on three days of the week.; "
    "For a time it was thought that {} had a hand in it, without proof.; "
    "The local society meets once a year to speak of it.; "
    "There is a model of it in a private collection.; "
    "A fire did some damage, which was mended within the year.; "
    "An early account confuses it with {}.; "
    "Its name is spelled in at least four ways in the records.; "
    "A stamp shows it, in brown.; "
    "In the archive there are some forty sheets about it, most of them bills.; "
    "A song about it was known well beyond the valley.; "
    "Those who write about {} usually mention it in passing.; "
    "An inscription was found in a cellar and copied wrongly twice.; "
    "The anniversary was kept quietly.; "
    "A lecture about {} touched on it at some length.; "
    "A painting of it hangs in a town hall far away.; "
    "Two of the older studies disagree about the order of events.; "
    "The price of it was a matter of dispute for a decade."
)


def written(draw: random.Random, country: Country, filler: int) -> tuple[Document, ...]:
    """Return a document about each thing, in an order that says nothing."""
    things = list(country.things)
    draw.shuffle(things)
    return tuple(
        Document(f"doc{number}", thing.name, _text(draw, country, thing, filler))
        for number, thing in enumerate(things, 1)
    )


def _text(draw: random.Random, country: Country, thing: Thing, filler: int) -> str:
    opening = _OPENING[thing.kind].format(name=thing.name, note=thing.note, year=thing.year)
    others = [other for other in country.things if other != thing]
    body = [_told(fact) for fact in country.facts_of(thing)]
    body += [each.format(draw.choice(others).name) for each in draw.sample(_FILLER, filler)]
    draw.shuffle(body)
    return " ".join([opening, *body])


def _told(fact: Fact) -> str:
    return _TOLD[fact.relation].format(fact.object.name)
