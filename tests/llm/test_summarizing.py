"""A summarizer over HTTP: no refusal and no rubbish becomes a summary, the same in both twins."""

from __future__ import annotations

import attrs
import pytest

from mage.chat.words import SUMMARIZE_AGAIN, SUMMARIZE_FALLBACK, SUMMARIZE_SUBGOAL
from mage.effects import Usage
from tests.llm.requests import SUMMARY
from tests.llm.server import Answer, Status, says
from tests.llm.twins import summarized

GOOD = "Bought Carrot Cake Mix, $14.99."
LONG = "Bought a cake mix. " * 40


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (says("I can't help with that.", refusal="I can't help with that."), "refusal"),
        (says("Bought", finish="content_filter"), "refusal"),
        (says(" \n "), "empty"),
        (says("<think>hm</think>\n"), "empty"),
        (says("Bought Carrot", finish="length"), "truncated"),
        (says("Bought Carrot", finish=None), "truncated"),
        (says(LONG), "wrong_schema"),
    ],
    ids=["refusal", "filter", "blank", "only thought", "cut", "broken off", "too long"],
)
def test_rubbish_is_never_a_summary(answer: Answer, fault: str) -> None:
    """It is asked for again at most twice, with what was wrong, and then is an error; all of it is counted."""
    outcome = summarized(answer, says(f"\n{GOOD} "))
    assert (outcome.value, outcome.usage) == (GOOD, Usage(200, 20, 120, 2))
    assert "Your last reply could not be used: " in outcome.bodies[1]["messages"][1]["content"]
    outcome = summarized(*[answer] * 3, says(GOOD))
    assert (outcome.fault, outcome.value, outcome.usage.calls, outcome.left) == (fault, None, 3, 1)


def test_a_text_may_be_as_long_as_it_is_where_nobody_counts() -> None:
    """Without a limit no text is too long."""
    assert summarized(says(LONG), request=attrs.evolve(SUMMARY, limit=None)).value == LONG.strip()


def test_a_summarizer_that_is_down_is_not_asked_again() -> None:
    """Nobody answering is an error at once, and costs nothing."""
    outcome = summarized(Status(500), says(GOOD))
    assert (outcome.fault, outcome.usage.calls, outcome.left) == ("server", 0, 1)


def test_the_wording_follows_from_what_is_asked() -> None:
    """A subgoal, an interim account, and a new text after a rejection are asked for in their own words."""
    rejected = attrs.evolve(SUMMARY, rejected="Bought.", feedback="The price is missing.")
    for request, prompt in (
        (SUMMARY, SUMMARIZE_SUBGOAL),
        (attrs.evolve(SUMMARY, kind="fallback"), SUMMARIZE_FALLBACK),
        (rejected, SUMMARIZE_AGAIN),
    ):
        (body,) = summarized(says(GOOD), request=request).bodies
        assert body["messages"][0]["content"] == prompt.text
    (body,) = summarized(says(GOOD), request=rejected).bodies
    ending = "Rejected text: Bought.\nVerdict: The price is missing.\nAt most 50 tokens.\nWrite the text.\n"
    assert body["messages"][1]["content"].endswith(ending)
