"""Tasks of progressive search: an oracle's plan, and how a run is marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, final

import attrs

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.scoring import chain
from benchmarks.arena.domains.search.asking import Question, asked
from benchmarks.arena.domains.search.corpus import Corpus
from benchmarks.arena.domains.search.rules import SearchRules
from benchmarks.arena.domains.search.settling import FULL, Size, settled
from benchmarks.arena.domains.search.writing import written
from benchmarks.arena.domains.task import Marked, Part, Task
from benchmarks.arena.domains.world import Closed

_BLANKS: Final = re.compile(r"\s+")
_AROUND: Final = " .,;:!?\"'“”„‚‘’()[]"


@final
@attrs.frozen
class Searching:
    """Chains of questions.

    Attributes:
        size: how large they are.
        cap: actions of a question.
    """

    size: Size = FULL
    cap: int = 30
    name: str = "search"

    def task(self, seed: int, number: int, /) -> Task:
        """Return a task. Where the walk ends early, or an answer is not found by its words, another is drawn."""
        attempt = 0
        while True:
            rules = self._drawn(seed, number, attempt)
            plan = rules and _plan(rules)
            if rules and plan:
                return Task(
                    f"{self.name}-{seed}-{number}", rules.text, rules, _Marking(rules.questions), plan
                )
            attempt += 1

    def _drawn(self, seed: int, number: int, attempt: int) -> SearchRules | None:
        draw = draws("search", seed, number, attempt)
        found = asked(draw, settled(draw, self.size), self.size)
        if found is None:
            return None
        country, questions = found
        corpus = Corpus(written(draw, country, self.size.filler))
        return SearchRules(questions, corpus, self.size.results, self.cap)


def _plan(rules: SearchRules) -> tuple[Part, ...] | None:
    """Return how an oracle finds every answer; None where a source is not among the results of its words."""
    parts: list[Part] = []
    for place, question in enumerate(rules.questions, 1):
        actions = _actions(rules, question)
        if actions is None:
            return None
        claim = f"Question {place} answered: {question.answer.name}."
        parts.append(Part((*actions, action("answer", text=question.answer.name)), claim))
    return tuple(parts)


def _actions(rules: SearchRules, question: Question) -> list[str] | None:
    """Search for each source, and read what is listed, but for the last: titles resemble each other."""
    actions: list[str] = []
    for source, words in zip(question.sources, question.words, strict=True):
        found = rules.corpus.found(words, rules.results)
        place = next((at for at, document in enumerate(found) if document.title == source.name), None)
        if place is None:
            return None
        actions.append(action("search", words=words))
        actions += [
            action("read", document=document.id) for document in found[: max(place + 1, rules.results - 1)]
        ]
    return actions


@final
@attrs.frozen
class _Marking:
    questions: tuple[Question, ...]

    def __call__(self, closed: Sequence[Closed]) -> Marked:
        """Mark answers: each is right where it is the full name, whatever its case, blanks and quotation marks."""
        given = [dict(each.answer).get("text") for each in closed]
        given += [None] * (len(self.questions) - len(given))
        right = tuple(
            None if text is None else normal(text) == normal(question.answer.name)
            for text, question in zip(given, self.questions, strict=True)
        )
        return Marked(right, chain(right))


def normal(text: str) -> str:
    """Return a name as it is compared: without case, without marks around it, without a leading article."""
    return _BLANKS.sub(" ", text).strip(_AROUND).casefold().removeprefix("the ").strip(_AROUND)
