"""Progressive search: answers stand in documents, questions name none of them, and each has one answer."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.search.corpus import Corpus, Document
from benchmarks.arena.domains.search.tasks import normal
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import World, played
from tests.arena.domains.cases import FULL, SMALL, actions_of, rules_of

TASKS = st.integers(0, 10_000).map(lambda seed: SMALL["search"].task(seed, 0))
FEW = settings(deadline=None, max_examples=25)


@given(TASKS)
@FEW
def test_an_answer_stands_in_a_document_that_the_plan_reads(task: Task) -> None:
    """Every answer stands, word for word, in a document that was read for its question; no question repeats one."""
    documents = rules_of(task).corpus.documents
    for part, question in zip(task.plan, rules_of(task).questions, strict=True):
        read = re.findall(r'read \{"document":"(doc\d+)"\}', "\n".join(part.actions))
        assert any(question.answer.name in f"{documents[each].title} {documents[each].text}" for each in read)
        assert len(read) > 1  # the oracle looks at another one, too
        assert all(other.answer.name not in question.text for other in rules_of(task).questions)


@given(TASKS)
@FEW
def test_each_question_needs_the_one_before(task: Task) -> None:
    """Each question but the first names the answer before it, and the last one an older answer besides."""
    named: list[int] = []
    for place, question in enumerate(rules_of(task).questions[1:], 1):
        named = [int(number) for number in re.findall(r"the answer to question (\d+)", question.text)]
        assert place in named
        assert max(named) == place
    assert len(named) == 2


@given(TASKS)
@FEW
def test_the_last_question_has_one_answer(task: Task) -> None:
    """One book alone is by the one and from the other; others are by that author, or from that town."""
    *_, last = rules_of(task).questions
    answers = [question.answer for question in rules_of(task).questions]
    named = [answers[int(number) - 1] for number in re.findall(r"question (\d+)", last.text)]
    assert {each.kind for each in named} == {"person", "town"}
    author, town = sorted(named, key=lambda each: each.kind)
    texts = {each.title: each.text for each in rules_of(task).corpus.documents.values()}
    by = {title for title, text in texts.items() if f"The author is {author.name}," in text}
    at = {title for title, text in texts.items() if f"It was printed in {town.name}," in text}
    assert by & at == {last.answer.name}
    assert by - at
    assert at - by


def test_a_name_counts_in_full() -> None:
    """Case, blanks, an article and marks around do not matter; a part of a name does not count."""
    assert normal(' The "Old  Museum of Selo". ') == normal("old museum of selo")
    task = SMALL["search"].task(4, 0)
    name = rules_of(task).questions[0].answer.name
    for given_name, counts in ((f'"{name.upper()}"', True), (name.rsplit(" ", 1)[0], False), ("?", False)):
        actions = [*task.plan[0].actions[:-1], action("answer", text=given_name)]
        assert task.mark(played(task.rules, actions).closed).right[0] is counts


def test_an_answer_takes_a_document_that_was_read() -> None:
    """Nothing is taken before a document was read for this question, nor an empty answer; unknown ids are said."""
    task = SMALL["search"].task(4, 0)
    world = World(task.rules)
    world.reset()
    assert world.act(action("answer", text="x")).text == "Not taken: read a document before you answer."
    assert world.act(action("read", document="doc0")).text == "There is no document of that id."
    assert world.act(action("search", words="qqq the of")).text == "Nothing was found."
    world.act(action("read", document="doc1"))
    assert world.act(action("answer", text=" ")).text == "Not taken: the answer is empty."
    assert world.act(action("answer", text="x")).instructions == task.rules.instructions[1:2]
    assert world.act(action("answer", text="x")).text == "Not taken: read a document before you answer."


def test_rare_words_and_titles_are_found_first() -> None:
    """A word that few documents have counts more than one that many have, and most where it stands in the title."""
    corpus = Corpus(
        [
            Document("a", "Selo", "A town with a mill."),
            Document("b", "Baren", "A town that speaks of Selo."),
            Document("c", "Witow", "A town with a mill and a mill."),
        ]
    )
    assert [each.id for each in corpus.found("Selo mill", 3)] == ["a", "b", "c"]
    assert [each.id for each in corpus.found("town", 2)] == ["a", "b"]
    assert corpus.found("the of", 3) == ()


def test_full_tasks_are_longer() -> None:
    """In full size there are twelve questions over some ninety documents."""
    task = FULL["search"].task(2, 1)
    assert len(task.plan) == 12
    assert len(rules_of(task).corpus.documents) > 90
    assert len(actions_of(task)) > 70
