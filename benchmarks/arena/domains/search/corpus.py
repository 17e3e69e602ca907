"""Finding documents by words: rare words count more, words of a title most; equal ones in the order of the corpus."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, final

import attrs

_WORD: Final = re.compile(r"[^\W_]+")
_COMMON: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "by",
        "did",
        "does",
        "for",
        "in",
        "is",
        "it",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "which",
        "who",
        "whose",
        "with",
    ]
)
_TITLE: Final = 1.5


@final
@attrs.frozen
class Document:
    """A document.

    Attributes:
        id: what it is read by.
        title: the full name of what it is about.
        text: what it says.
    """

    id: str
    title: str
    text: str

    @property
    def listed(self) -> str:
        """Its line in a list of results: the id, the title, and how it begins."""
        return f"{self.id} | {self.title} | {self.text[:90]}..."


@final
class Corpus:
    """Documents, and an index of their words.

    Attributes:
        documents: by id.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = {document.id: document for document in documents}
        self._words = {document.id: frozenset(words_of(document.text)) for document in documents}
        self._titles = {document.id: frozenset(words_of(document.title)) for document in documents}
        counted = Counter(word for words in self._words.values() for word in words)
        self._worth = {word: math.log(1 + len(documents) / count) for word, count in counted.items()}

    def found(self, words: str, count: int) -> tuple[Document, ...]:
        """Return the documents that fit best, at most so many. Cost: O(documents, times words)."""
        asked = sorted(set(words_of(words)))
        scored = {each: self._score(each, asked) for each in self.documents}
        best = sorted((each for each in scored if scored[each] > 0), key=lambda each: -scored[each])
        return tuple(self.documents[each] for each in best[:count])

    def _score(self, document: str, asked: Sequence[str]) -> float:
        score = sum(self._worth[word] for word in asked if word in self._words[document])
        return score + _TITLE * sum(
            self._worth.get(word, 0) for word in asked if word in self._titles[document]
        )


def words_of(text: str) -> list[str]:
    """Return the words of a text that may tell documents apart."""
    return [word for word in _WORD.findall(text.casefold()) if word not in _COMMON]
