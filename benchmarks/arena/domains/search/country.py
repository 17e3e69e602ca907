"""What there is in a made-up country, and what is true of it: pure values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, final

import attrs

Kind: TypeAlias = Literal["town", "person", "institute", "book", "bridge"]
Relation: TypeAlias = Literal[
    "birthplace", "teacher", "founder", "seat", "author", "printed in", "designer", "stands in"
]


@final
@attrs.frozen
class Thing:
    """A town, a person, an institute, a book or a bridge.

    Attributes:
        kind: which of them.
        name: its full name, which no other thing has.
        year: when it was founded, born, printed or finished.
        note: what else tells it apart: a town's river, a person's trade.
    """

    kind: Kind
    name: str
    year: int
    note: str = ""


@final
@attrs.frozen
class Fact:
    """A relation of a thing to another; a thing has each of its relations to one thing."""

    subject: Thing
    relation: Relation
    object: Thing


@final
@attrs.frozen
class Country:
    """All things and facts.

    Attributes:
        things: in the order in which they were made.
        facts: likewise.
    """

    things: tuple[Thing, ...]
    facts: tuple[Fact, ...]

    def of_kind(self, kind: Kind) -> tuple[Thing, ...]:
        """Return all things of a kind."""
        return tuple(thing for thing in self.things if thing.kind == kind)

    def facts_of(self, thing: Thing) -> Iterator[Fact]:
        """Yield what is told of a thing in the document about it."""
        return (fact for fact in self.facts if fact.subject == thing)

    def facts_on(self, thing: Thing) -> Iterator[Fact]:
        """Yield the facts in which a thing is the object: they are told in other documents."""
        return (fact for fact in self.facts if fact.object == thing)

    def having(self, relation: Relation, thing: Thing, kind: Kind, year: int) -> tuple[Thing, ...]:
        """Return the things of a kind and a year that have a relation to a thing."""
        return tuple(
            fact.subject
            for fact in self.facts_on(thing)
            if fact.relation == relation and (fact.subject.kind, fact.subject.year) == (kind, year)
        )

    def with_book(self, book: Thing, author: Thing, town: Thing) -> Country:
        """Return the same country with one more book."""
        facts = (Fact(book, "author", author), Fact(book, "printed in", town))
        return Country((*self.things, book), (*self.facts, *facts))
