"""A chain of questions through a country: a walk from thing to thing, of which no question repeats a name.

The last question needs two answers: that of the question before it, and an older one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, final

import attrs

from benchmarks.arena.domains.search.country import Country, Fact, Kind, Relation, Thing
from benchmarks.arena.domains.search.settling import Size, title

_FORWARD: Final[dict[Relation, str]] = {
    "birthplace": "In which town was {} born?",
    "teacher": "Whose pupil was {}?",
    "founder": "Who founded {}?",
    "seat": "In which town does {} stand?",
    "author": "Who wrote {}?",
    "printed in": "In which town was {} printed?",
    "designer": "Who designed {}?",
    "stands in": "In which town does {} stand?",
}
_BACKWARD: Final[dict[Relation, str]] = {
    "founder": "Which institute did {} found in {}?",
    "seat": "Which institute, founded in {1}, stands in {0}?",
    "author": "Which book by {} was printed in {}?",
    "printed in": "Which book was printed in {} in {}?",
    "designer": "Which bridge, designed by {}, was finished in {}?",
    "stands in": "Which bridge, finished in {1}, stands in {0}?",
}


@final
@attrs.frozen
class Question:
    """One subtask.

    Attributes:
        text: what is asked; it names earlier answers by the number of their question.
        answer: what is right.
        sources: the things whose documents say so, in the order in which they are found.
        words: by source, what finds its document.
    """

    text: str
    answer: Thing
    sources: tuple[Thing, ...]
    words: tuple[str, ...]


def asked(draw: random.Random, country: Country, size: Size) -> tuple[Country, tuple[Question, ...]] | None:
    """Return the country with what the last question needs, and the chain; None where the walk came to no end."""
    questions = [_first(draw, country)]
    while len(questions) < size.questions - 1:
        seen = {question.answer for question in questions}
        hops = [hop for hop in _hops(country, questions[-1].answer, len(questions)) if hop.answer not in seen]
        if not hops:
            return None
        questions.append(draw.choice(hops))
    last = questions[-1].answer
    other: Kind = "person" if last.kind == "town" else "town"
    places = [at for at, question in enumerate(questions[:-1]) if question.answer.kind == other]
    if last.kind not in ("town", "person") or not places:
        return None
    at = draw.choice(places)
    return _final(draw, country, questions, at)


def _first(draw: random.Random, country: Country) -> Question:
    """Ask for an institute by its town's river: that takes two documents."""
    fact = draw.choice(
        [fact for fact in country.facts if fact.relation == "seat" and _is_alone(country, fact)]
    )
    institute, town = fact.subject, fact.object
    text = f"Which institute, founded in {institute.year}, stands in the town on the river {town.note}?"
    words = (f"town on the river {town.note}", f"institute {town.name} founded {institute.year}")
    return Question(text, institute, (town, institute), words)


def _hops(country: Country, thing: Thing, number: int) -> Iterator[Question]:
    """Yield what can be asked of a thing that is the answer to a question, counted from 1."""
    named = f"the answer to question {number}"
    for fact in country.facts_of(thing):
        words = f"{thing.name} {fact.relation}"
        yield Question(_FORWARD[fact.relation].format(named), fact.object, (thing,), (words,))
    for fact in country.facts_on(thing):
        if fact.relation in _BACKWARD and _is_alone(country, fact):
            text = _BACKWARD[fact.relation].format(named, fact.subject.year)
            words = f"{fact.subject.kind} {fact.relation} {thing.name} {fact.subject.year}"
            yield Question(text, fact.subject, (fact.subject,), (words,))


def _is_alone(country: Country, fact: Fact) -> bool:
    subject = fact.subject
    return len(country.having(fact.relation, fact.object, subject.kind, subject.year)) == 1


def _final(
    draw: random.Random, country: Country, questions: list[Question], at: int
) -> tuple[Country, tuple[Question, ...]]:
    """Plant the book that the last question asks for, and two that only half of it fits."""
    ends = {questions[-1].answer.kind: (questions[-1].answer, len(questions))}
    ends[questions[at].answer.kind] = (questions[at].answer, at + 1)
    (author, by), (town, where) = ends["person"], ends["town"]
    others = [thing for thing in country.of_kind("town") if thing != town]
    writers = [thing for thing in country.of_kind("person") if thing != author]
    taken = {thing.name for thing in country.of_kind("book")}
    years = {
        thing.year for thing in country.of_kind("book")
    }  # so that no earlier question gets a second answer
    year = draw.choice([each for each in range(1660, 1860) if not {each, each + 1} & years])
    country = _without(country, author, town)
    book = Thing("book", title(draw, taken), year)
    country = country.with_book(book, author, town)
    for writer, place in ((author, draw.choice(others)), (draw.choice(writers), town)):
        country = country.with_book(Thing("book", title(draw, taken), year + 1), writer, place)
    text = f"Which book by the answer to question {by} was printed in the town that is the answer to question {where}?"
    words = f"book by {author.name} printed in {town.name}"
    return country, (*questions, Question(text, book, (book,), (words,)))


def _without(country: Country, author: Thing, town: Thing) -> Country:
    """Return the country without what the last question could mean beside: books of this author from this town."""
    both = {fact.subject for fact in country.facts_on(author) if fact.relation == "author"}
    both &= {fact.subject for fact in country.facts_on(town) if fact.relation == "printed in"}
    things = tuple(thing for thing in country.things if thing not in both)
    return Country(things, tuple(fact for fact in country.facts if fact.subject not in both))
