"""Scripted judges and summarizers say what they were given, in order, and remember what they were asked."""

from __future__ import annotations

import asyncio

import pytest

from mage import Failed, JudgeRequest, Passed, StepId, compress, grow, judge_request, start
from mage.effects import AsyncJudge, AsyncSummarizer, Judge, Summarizer, SummaryRequest
from mage.testing.effects import ScriptedJudge, ScriptedSummarizer, ScriptEnded


def request() -> JudgeRequest:
    """Return what a judge is asked about one step."""
    return judge_request(compress(grow(start("t"), "a", "o"), "s").unwrap())


def test_a_scripted_judge_answers_in_order_and_remembers() -> None:
    """Answers come in order, an exception is raised, and the end of the script is an error of the test."""
    error = TimeoutError()
    scripted = ScriptedJudge(Passed(), error, Failed("no"))
    judge: Judge = scripted
    asked = request()
    assert judge(asked) == Passed()
    with pytest.raises(TimeoutError) as raised:
        judge(asked)
    assert raised.value is error
    assert scripted.left == 1
    assert judge(asked) == Failed("no")
    with pytest.raises(ScriptEnded, match="asked 4 times"):
        judge(asked)
    assert scripted.asked == [asked] * 4
    assert scripted.left == 0


def test_its_awaited_half_is_the_same_script() -> None:
    """`awaited` is an `AsyncJudge` that answers from the same script."""
    scripted = ScriptedJudge(Passed(), Failed("no"))
    judge: AsyncJudge = scripted.awaited

    async def story() -> None:
        assert await judge(request()) == Passed()

    asyncio.run(story())
    assert scripted.left == 1


def test_a_scripted_summarizer() -> None:
    """A summarizer is asked with everything that it needs, and answers with a text."""
    scripted = ScriptedSummarizer("bought", "sold")
    summarizer: Summarizer = scripted
    awaited: AsyncSummarizer = scripted.awaited
    asked = SummaryRequest(
        "t", ("be brief",), "fallback", (), tuple(grow(start("t"), "a", "o").tree.steps()), limit=20
    )
    assert summarizer(asked) == "bought"

    async def story() -> None:
        assert await awaited(asked) == "sold"

    asyncio.run(story())
    assert scripted.asked == [asked, asked]
    assert asked.steps[0].id == StepId(1)
    assert SummaryRequest("t", (), "subgoal", (), ()).limit is None
