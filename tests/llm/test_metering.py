"""What a call took is what its server says, where that can be true; else we count, and say so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.agent import Agent, Policy, RunStopped
from mage.chat import ACT, Assistant, System, ToolCall, User
from mage.chat.replies import Reply
from mage.effects import Usage
from mage.llm import ChatModel, client
from mage.llm.completions import Call
from mage.llm.transport import counted
from mage.stores import MemoryStore
from mage.tokens import EstimateCounter
from tests.agent.toys import Dial, judge
from tests.llm.server import Completion, ScriptedServer, Streamed, call_of
from tests.llm.twins import KEY, decided

_MESSAGE = {"content": None, "tool_calls": [call_of("act", '{"action": "look"}')]}
ODD: list[dict[str, Any] | None] = [
    None,
    {},
    {"prompt_tokens": None, "completion_tokens": "7"},
    {"prompt_tokens": -1, "completion_tokens": -(10**9)},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": 1, "completion_tokens": 10**12},
    {"prompt_tokens": 10**12, "completion_tokens": 0},
    {"prompt_tokens": 100.0, "completion_tokens": True},
    {"input_tokens": 100, "output_tokens": 10},
    {"prompt_tokens": -100, "completion_tokens": -5, "prompt_tokens_details": {"cached_tokens": 10**9}},
]


@pytest.mark.parametrize("usage", ODD, ids=repr)
def test_usage_that_cannot_be_true_is_counted_here(usage: dict[str, Any] | None) -> None:
    """Missing, negative, foreign or absurd: prompt and reply are counted, and the call is marked as counted by us."""
    found = decided(Completion(_MESSAGE, usage=usage))
    assert found.fault is None
    assert found.usage.estimated == found.usage.calls == 1
    assert 300 < found.usage.prompt < 3_000
    assert 3 < found.usage.completion < 30
    assert found.usage.cached <= found.usage.prompt


def test_what_can_be_true_is_taken_as_it_is() -> None:
    """A server that counts as no counter of ours does is believed, also where it has thought unseen; and so is a stream."""
    for prompt, completion in ((300, 3), (3_000, 200_000), (9_000, 30)):
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        assert decided(Completion(_MESSAGE, usage=usage)).usage == Usage(prompt, completion)
        chunks: list[dict[str, Any] | str] = [
            {"choices": [{"delta": _MESSAGE, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": usage},
        ]
        assert decided(Streamed(chunks), stream=True).usage == Usage(prompt, completion)


def test_a_half_that_can_be_true_is_kept() -> None:
    """Of the two numbers only the one is counted here that cannot be; the cache is never more than the prompt."""
    half = {"prompt_tokens": 700, "prompt_tokens_details": {"cached_tokens": 9_999}}
    usage = decided(Completion(_MESSAGE, usage=half)).usage
    assert (usage.prompt, usage.cached, usage.estimated) == (700, 700, 1)
    assert usage.completion > 0


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_what_a_model_thinks_aside_counts_too(name: str, stream: bool) -> None:
    """Where a server tells the thought but not the price, the thought is counted, though nobody reads it."""
    message = {**_MESSAGE, name: "well " * 1_000}
    if stream:
        chunks = [{"choices": [{"delta": message, "finish_reason": "tool_calls"}]}]
        assert decided(Streamed(chunks), stream=True).usage.completion >= 1_000
    else:
        assert decided(Completion(message, usage=None)).usage.completion >= 1_000


@given(reported=st.integers(), texts=st.lists(st.text(max_size=300), min_size=4, max_size=4))
def test_a_limit_is_never_void_and_never_absurd(reported: int, texts: list[str]) -> None:
    """Whatever is reported, what is counted is no less than a token for 128 bytes, and no more than a server could add."""
    call = Call(
        (System(texts[0]), User("x" + texts[1]), Assistant(call=ToolCall("a", "act", texts[2]))), (ACT,)
    )
    reply = Reply(texts[3], finish="stop", usage=Usage(max(0, reported), max(0, reported)))
    usage = counted(reply, call, EstimateCounter()).usage
    sent = sum(len(text.encode(errors="surrogatepass")) for text in texts[:3])
    assert usage.prompt * 128 >= sent
    assert 0 < usage.prompt <= 2 * sent + 20_000
    assert usage.completion * 128 >= len(texts[3].encode(errors="surrogatepass"))
    assert usage.completion <= 1_000_000
    assert usage.estimated in (0, 1)


@pytest.mark.parametrize(
    "usage", [None, {"prompt_tokens": -(10**6), "completion_tokens": 0}, {"total": 5}], ids=repr
)
def test_a_run_stops_at_its_limit_whatever_is_reported(usage: dict[str, Any] | None) -> None:
    """A server that says nothing of what it took does not keep a run going past `max_total_tokens`, and the end says who counted."""
    turn = {"content": None, "tool_calls": [call_of("act", '{"action": "look"}')]}
    with (
        ScriptedServer(answering=lambda request: Completion(turn, usage=usage)) as server,
        client(base_url=server.url, environment={"OPENAI_API_KEY": KEY}) as ours,
    ):
        agent = Agent(
            model=ChatModel(ours, "m"),
            environment=Dial(),
            judge=judge,
            policy=Policy(max_total_tokens=5_000, max_steps=50),
        )
        ended = agent.run(MemoryStore(), "s", task="Turn the dial.")
    assert isinstance(ended, RunStopped)
    assert ended.reason == "max_total_tokens"
    assert "counted here" in ended.detail
    assert ended.totals.usage.total >= 5_000
    assert ended.totals.usage.estimated == len(server.requests) < 20


@pytest.mark.parametrize("field", ["prompt", "completion", "cached", "calls", "estimated"])
def test_no_usage_is_below_nothing(field: str) -> None:
    """Whoever answers cannot take tokens back: a count below 0 or of another type is refused where it is made."""
    with pytest.raises(ValueError, match=field):
        Usage(**{field: -1})
    with pytest.raises(TypeError, match=field):
        Usage(**{field: "1"})  # type: ignore[arg-type]  # what a program without types does


def test_an_estimate_says_so_in_json() -> None:
    """The mark stands beside the counts where there is one, is added up like them, and is left out where there is none."""
    both = Usage(5, 2) + Usage(7, 1, estimated=1)
    assert both.document == {"prompt": 12, "completion": 3, "cached": 0, "calls": 2, "estimated": 1}
    assert Usage(5, 2).document == {"prompt": 5, "completion": 2, "cached": 0, "calls": 1}
