"""Model, judge and summarizer over a real language model on loopback: the plumbing holds."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import openai
import pytest

from mage.effects import Decide, Decision, EffectError, Metered, Summarizer, SummaryRequest, metered
from mage.engine import Failed, Grow, Passed, Start, StepId
from mage.llm import ChatJudge, ChatModel, ChatSummarizer, client
from tests.llm.requests import DECIDE, JUDGE, SUMMARY, shown_after
from tests.llm.small_model import CONTEXT, NAME, require, serving
from tests.llm.twins import tried

pytestmark = pytest.mark.worlds


@pytest.fixture(scope="module")
def small() -> Iterator[openai.OpenAI]:
    """A client of the model; where it is not installed, its tests are skipped, but never in CI."""
    require()
    with serving() as url, client(base_url=url, max_retries=0, environment={}) as ours:
        yield ours


def _decided(model: ChatModel) -> Metered[Decision] | EffectError:
    return tried(lambda: model(DECIDE))


def test_it_decides_in_json(small: openai.OpenAI) -> None:
    """A decision that may be made now comes of it, or it fills a field with nothing and is refused; all is counted."""
    decided = 0
    for seed in range(4):
        model = ChatModel(small, NAME, mode="json", longest=60, max_tokens=300, temperature=0.8, seed=seed)
        decision = _decided(model)
        if isinstance(decision, EffectError):
            assert decision.fault in ("wrong_schema", "empty")
        else:
            decided += 1
            assert len(decision.value.actions) == 1 or decision.value.then is not None
            assert decision.model == NAME
        assert decision.usage.prompt > 100
        assert decision.usage.completion > 0
        assert decision.usage.calls == 1
    assert decided > 0


def test_it_judges(small: openai.OpenAI) -> None:
    """A verdict comes of it, or three useless ones and then an error; all tokens are counted either way."""
    judge = ChatJudge(small, NAME, longest=120, max_tokens=300, temperature=0.0)
    verdict = tried(lambda: judge(JUDGE))
    spent = verdict.usage
    if isinstance(verdict, EffectError):
        assert (verdict.fault, spent.calls) == ("wrong_schema", 3)
    else:
        assert isinstance(verdict.value, Passed | Failed)
        assert 1 <= spent.calls <= 3
    assert spent.prompt > 100 * spent.calls
    assert spent.completion > 0


def _tried(summarizer: Summarizer, request: SummaryRequest) -> Metered[str] | EffectError:
    return tried(lambda: metered(summarizer(request)))


def test_it_summarizes(small: openai.OpenAI) -> None:
    """A text comes of it, however foolish, or it rambles three times and that is no text; all is counted."""
    request = attrs.evolve(SUMMARY, limit=400)
    for seed in (1, 2):
        summarizer = ChatSummarizer(small, NAME, max_tokens=200, temperature=0.7, seed=seed)
        text = _tried(summarizer, request)
        if isinstance(text, EffectError):
            assert (text.fault, text.usage.calls) == ("truncated", 3)
        else:
            assert text.value.strip()
        assert text.usage.prompt > 0
        assert text.usage.completion > 0


def test_its_overflow_is_known(small: openai.OpenAI) -> None:
    """A prompt that does not fit is an overflow, in this server's own words for it."""
    shown = shown_after(Start("Read."), Grow("read", "page " * 2 * CONTEXT))
    with pytest.raises(EffectError) as caught:
        ChatModel(small, NAME, mode="json", longest=60, max_tokens=10)(Decide(shown, (StepId(0),)))
    assert caught.value.fault == "overflow"
