"""A document about each thing: what is true of it, among much that decides nothing and names other things."""

from __future__ import annotations

import random
from typing import Final

from benchmarks.arena.domains.search.corpus import Document
from benchmarks.arena.domains.search.country import Country, Kind, Relation, Thing
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
_PASSING: Final = several(
    "A letter of the time compares it with {}, not to the advantage of either.; "
    "For a while it was thought that {} had a hand in it, without proof.; "
    "An early account confuses it with {}.; "
    "Those who write about {} usually mention it in passing.; "
    "A lecture about {} touched on it at some length.; "
    "A guide names it between {} and the weather."
)
"""What names something else, and says nothing that anybody asks."""
_WHO: Final = several(
    "the council; a committee of three; the guild of rope makers; a travelling painter; the parish; two brothers; "
    "the night watch; a retired captain; the school; an inspector from the north; the fire brigade; a widow next door"
)
_DID: Final = several(
    "paid for new windows; had the cellar drained; asked for a longer ladder; counted everything twice; "
    "moved the old clock; kept a list of complaints; planted a row of limes; lost the larger key; "
    "gave a dinner for forty; ordered a second bell; copied the older papers; measured the north wall; "
    "sold the spare timber; mended the stairs; proposed another colour; took down the fence"
)
_SO: Final = several(
    "which was praised at first; of which nothing is left; although the accounts were never settled; "
    "as a drawing in brown ink shows; to the surprise of the neighbours; and was thanked in a short letter; "
    "before the frost came; after a debate of two evenings; as the bills in the archive prove; "
    "which later guides leave out; at a price that was thought too high; and nobody has done it since"
)
_WHEN: Final = several("spring; autumn; winter; summer; morning; market day; year of war; quiet year")
_NAMED: Final = 6
"""How many sentences of a long document name something else."""


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
    named = min(filler, _NAMED)
    body = [_TOLD[fact.relation].format(fact.object.name) for fact in country.facts_of(thing)]
    body += [each.format(draw.choice(others).name) for each in draw.sample(_PASSING, named)]
    body += [_happening(draw) for _ in range(filler - named)]
    draw.shuffle(body)
    return " ".join([opening, *body])


def _happening(draw: random.Random) -> str:
    """Return a sentence that decides nothing."""
    said = f"{draw.choice(_WHO)} {draw.choice(_DID)}, {draw.choice(_SO)}."
    return f"{said[0].upper()}{said[1:]}" if draw.random() < 0.5 else f"One {draw.choice(_WHEN)} {said}"
