"""The search engine as an agent finds it: searching, reading, answering."""

from __future__ import annotations

from functools import cached_property
from typing import Final, final

import attrs

from benchmarks.arena.domains.calls import TEXT, Call
from benchmarks.arena.domains.search.asking import Question
from benchmarks.arena.domains.search.corpus import Corpus
from benchmarks.arena.domains.world import Answer, Told
from mage.effects import Tool

TOOLS: Final = (
    Tool.of("search", "List the documents that fit some words best: id, title, beginning.", words=TEXT),
    Tool.of("read", "Show a document, by its id.", document=TEXT),
    Tool.of("answer", "Hand in the answer to the present question. This ends it.", text=TEXT),
)

MANUAL: Final = """\
You answer questions about a country that you know nothing of, one after the other, out of a corpus of documents.
Later questions name earlier answers by the number of their question, and do not repeat them: keep each answer.
- Search with three to six words that matter, names above all. Where nothing fits, try other words or another side of
  the question; the same words in another order find the same.
- Titles resemble each other, and documents mention much in passing: read before you believe, and more than one.
- Answer only what stands in a document that you have read; what you know from elsewhere is of no use here.
- Give a name in full, as the document has it: nothing left out, nothing added.
- At least one document is read before each answer. Each question is answered once, and answers are final.
Keep short notes of what you read and of what you searched for in vain. Nothing here says whether an answer is right."""


@final
@attrs.frozen
class Reading:
    """The documents that were read for the present question."""

    read: tuple[str, ...] = ()


@final
@attrs.define(slots=False)  # what is worked out once is kept beside its fields
class SearchRules:
    """The rules of one chain of questions.

    Attributes:
        questions: the chain.
        corpus: where the answers stand.
        results: of a search.
        cap: actions of a question.
    """

    questions: tuple[Question, ...]
    corpus: Corpus
    results: int
    cap: int
    manual: str = MANUAL
    tools: tuple[Tool, ...] = TOOLS
    looks: frozenset[str] = frozenset({"search", "read"})

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """What each subtask asks."""
        return tuple(f"Question {place}. {question.text}" for place, question in enumerate(self.questions, 1))

    @property
    def text(self) -> str:
        """What is asked for, at the beginning."""
        return (
            f"Answer {len(self.questions)} questions, the last of which is what all of this is for. You are told of each"
            " when its turn comes."
        )

    def begin(self) -> Reading:
        """Begin with nothing read."""
        return Reading()

    def turn(self, _state: Reading, _subtask: int, /) -> tuple[Answer, Reading]:
        """Nothing was answered."""
        return (), Reading()

    def call(self, state: Reading, call: Call, subtask: int, /) -> Told[Reading]:
        """Search, read or answer."""
        match call.name:
            case "search":
                found = self.corpus.found(call.text("words"), self.results)
                return Told("\n".join(document.listed for document in found) or "Nothing was found.", state)
            case "read":
                document = self.corpus.documents.get(call.text("document"))
                if document is None:
                    return Told("There is no document of that id.", state)
                return Told(f"{document.title}\n{document.text}", Reading((*state.read, document.id)))
            case _:
                return self._answered(state, call.text("text"), subtask)

    def _answered(self, state: Reading, text: str, subtask: int) -> Told[Reading]:
        if not state.read:
            return Told("Not taken: read a document before you answer.", state)
        if not text:
            return Told("Not taken: the answer is empty.", state)
        return Told(f"Question {subtask + 1} is answered.", Reading(), (("text", text),))
