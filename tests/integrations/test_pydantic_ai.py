"""pydantic-ai with its real package and client, over HTTP, against a server that refuses."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

import pytest

pytest.importorskip("pydantic_ai")

from openai import AsyncOpenAI
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from mage.engine import Grow, JudgeRequest, Verdict
from mage.integrations.pydantic_ai import MageCapability
from mage.memory import AsyncMemory
from mage.stores import MemoryStore
from tests.integrations.story import (
    DESK_BOUGHT,
    NOT_DONE,
    SYSTEM,
    Shop,
    Slow,
    Watched,
    asked_of_model,
    async_judge_of,
    hasty,
    journal,
    judge,
    of_prices,
    require_the_story,
    shop,
)
from tests.memory.test_surviving import Crash, Dying
from tests.providers.server import ProviderServer
from tests.providers.story import END, TASK

MODELS: Final[dict[str, Any]] = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


def agent_at(
    server: ProviderServer, mage: MageCapability | None, interface: str = "chat"
) -> Agent[None, str]:
    """Return an agent whose model is at a server."""
    client = AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0)
    model = MODELS[interface]("m", provider=OpenAIProvider(openai_client=client))
    return Agent(model, instructions=SYSTEM, capabilities=[] if mage is None else [mage])


def opens(store: Any, judged: Any, watched: list[Watched] | None = None, **more: Any) -> Any:
    """Return how a capability opens its memories; they are kept in `watched`."""

    async def opened(name: str, **given: Any) -> Any:
        memory = Watched(await AsyncMemory.open(store, name, judge=judged, **more, **given))
        if watched is not None:
            watched.append(memory)
        return memory

    return opened


def awaited(judged: Any) -> Any:
    """Return a judge that is awaited."""

    async def judging(request: JudgeRequest) -> Verdict:
        found: Verdict = judged(request)
        return found

    return judging


def returns(history: list[ModelMessage]) -> list[ToolReturnPart]:
    """Return what came back from calls."""
    parts = [part for message in history if isinstance(message, ModelRequest) for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


@pytest.mark.parametrize("interface", MODELS)
def test_the_full_story(interface: str) -> None:
    """Parallel calls stand in call order; what is sent is S in the framework's frame; nothing is refused."""
    store, watched = MemoryStore(), list[Watched]()
    with ProviderServer(shop, reasoning=interface == "responses") as server:
        mage = MageCapability(opens(store, async_judge_of(server), watched))
        agent = agent_at(server, mage, interface)
        agent.tool_plain(Slow().buy)
        result = agent.run_sync(TASK, conversation_id="monday")
    assert result.output == END
    assert server.refused == []
    require_the_story(journal(store, "monday"))
    bodies = asked_of_model(server)
    assert len(bodies) == len(watched[0].shown)
    for body, shown in zip(bodies, watched[0].shown, strict=True):
        if interface == "chat":
            assert [(each["role"], each["content"]) for each in body["messages"]] == [
                ("system", SYSTEM),
                ("user", shown),
            ]
        else:
            assert body["instructions"] == SYSTEM
            assert [(each["role"], each["content"]) for each in body["input"]] == [("user", shown)]
        own = watched[0].tools(interface)
        assert [tool for tool in body["tools"] if tool in own] == own
        assert len(body["tools"]) == 3
    assert bodies[0]["tools"] == bodies[-1]["tools"]


def test_killed_at_any_write_and_resumed_it_is_the_same_story() -> None:
    """A new process with what the run had as its history goes on: nothing is bought or recorded twice."""

    async def played(server: ProviderServer, at: int) -> None:
        store, bought, history = MemoryStore(), Shop(), list[ModelMessage]()
        for each in (Dying(store, at, after=at % 2 == 0), store):
            agent = agent_at(server, MageCapability(opens(each, awaited(judge))))
            agent.tool_plain(bought.buy)
            with contextlib.suppress(Crash), capture_run_messages() as messages:
                said = None if history else TASK
                result = await agent.run(said, message_history=history, conversation_id="monday")
            history = messages
        assert result.output == END
        require_the_story(journal(store, "monday"))
        assert sorted(bought.items) == ["chrome chair", "lamp", "linen chair", "oak desk"]

    with ProviderServer(shop, most=1_000) as server:
        for at in range(1, 15):
            asyncio.run(played(server, at))
    assert server.refused == []


def test_a_failed_summary_bars_a_tool_before_it_is_carried_out() -> None:
    """The model is told why, the tool is not called, and no step says that it was."""
    bought, store = Shop(), MemoryStore()
    with ProviderServer(hasty) as server:
        agent = agent_at(server, MageCapability(opens(store, awaited(of_prices))))
        agent.tool_plain(bought.buy)
        result = agent.run_sync(TASK, conversation_id="monday")
    assert str(returns(result.all_messages())[2].content).startswith(NOT_DONE)
    assert bought.items == ["oak desk"]
    assert [each.action for each in journal(store, "monday") if isinstance(each, Grow)] == [DESK_BOUGHT]
    assert server.refused == []
