"""A country, drawn from a seed: things with names that resemble each other, and facts between them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, final

import attrs

from benchmarks.arena.domains.search.country import Country, Fact, Thing
from benchmarks.arena.domains.words import GIVEN, names, several

_TRADES: Final = several(
    "surveyor; glassmaker; botanist; printer; bridge builder; physician; mapmaker; clockmaker"
)
_INSTITUTES: Final = several("Observatory; Academy; Botanical Garden; School of Navigation; Archive; Museum")
_ADJECTIVES: Final = ("Royal", "Civic", "Northern", "Old", "New", "United")
_SUBJECTS: Final = several("Tides; Mosses; Bells; Lenses; Harbours; Comets; Salt; Looms; Owls; Rivers")
_FORMS: Final = several(
    "On {}; A Treatise of {}; {} and Their Makers; The Hours of {}; Notes on {}; {} Explained"
)
_BRIDGES: Final = ("Bridge", "Viaduct", "Footbridge", "Crossing")


@final
@attrs.frozen
class Size:
    """How large a corpus is, and how many questions are asked.

    Attributes:
        towns, persons, institutes, books, bridges: how many of each.
        filler: sentences in each document that decide nothing.
        questions: of the chain, the last one included; at least three.
        results: of one search.
    """

    towns: int = 10
    persons: int = 26
    institutes: int = 14
    books: int = 26
    bridges: int = 16
    filler: int = 105
    questions: int = 12
    results: int = 5


FULL: Final = Size()


def settled(draw: random.Random, size: Size) -> Country:
    """Return a country. Cost: O(things)."""
    made = names(draw, size.towns * 2 + 12)
    towns = [
        Thing("town", name, draw.randint(1100, 1500), river)
        for name, river in zip(made[: size.towns], made[size.towns : 2 * size.towns], strict=True)
    ]
    persons = list(_persons(draw, size.persons, made[2 * size.towns :]))
    institutes = list(_institutes(draw, size.institutes, towns))
    books = list(_books(draw, size.books))
    bridges = list(_bridges(draw, size.bridges, made[2 * size.towns :]))
    facts: list[Fact] = []
    for place, person in enumerate(persons):
        facts.append(Fact(person, "birthplace", draw.choice(towns)))
        if place:
            facts.append(Fact(person, "teacher", draw.choice(persons[:place])))
    for institute, town in institutes:
        facts += [Fact(institute, "seat", town), Fact(institute, "founder", draw.choice(persons))]
    for book in books:
        facts += [Fact(book, "author", draw.choice(persons)), Fact(book, "printed in", draw.choice(towns))]
    for bridge in bridges:
        facts += [
            Fact(bridge, "designer", draw.choice(persons)),
            Fact(bridge, "stands in", draw.choice(towns)),
        ]
    things = (*towns, *persons, *(each for each, _ in institutes), *books, *bridges)
    return Country(things, tuple(facts))


def title(draw: random.Random, taken: set[str]) -> str:
    """Return a title of a book that is not taken yet, and take it."""
    while True:
        first, second = draw.sample(_SUBJECTS, 2)
        new = draw.choice(_FORMS).format(f"{first} and {second}")
        if new not in taken:
            taken.add(new)
            return new


def _persons(draw: random.Random, count: int, families: tuple[str, ...]) -> Iterator[Thing]:
    """Yield persons: few families and given names, so that many names are half alike."""
    taken: set[str] = set()
    born = 1600
    while len(taken) < count:
        first, second = draw.sample(GIVEN, 2)
        name = f"{first} {second} {draw.choice(families[:6])}"
        if name not in taken:
            taken.add(name)
            born += draw.randint(3, 9)
            yield Thing("person", name, born, draw.choice(_TRADES))


def _institutes(draw: random.Random, count: int, towns: list[Thing]) -> Iterator[tuple[Thing, Thing]]:
    taken: set[str] = set()
    while len(taken) < count:
        town = draw.choice(towns)
        name = f"{draw.choice(_ADJECTIVES)} {draw.choice(_INSTITUTES)} of {town.name}"
        if name not in taken:
            taken.add(name)
            yield Thing("institute", name, draw.randint(1650, 1850)), town


def _books(draw: random.Random, count: int) -> Iterator[Thing]:
    taken: set[str] = set()
    for _ in range(count):
        yield Thing("book", title(draw, taken), draw.randint(1660, 1860))


def _bridges(draw: random.Random, count: int, families: tuple[str, ...]) -> Iterator[Thing]:
    taken: set[str] = set()
    while len(taken) < count:
        name = f"{draw.choice(families[6:])} {draw.choice(_BRIDGES)}"
        if name not in taken:
            taken.add(name)
            yield Thing("bridge", name, draw.randint(1660, 1860))
