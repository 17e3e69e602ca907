"""The OpenAI Agents SDK with its real package and client, over HTTP, against a server that refuses."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

import pytest

pytest.importorskip("agents")

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from mage.engine import JudgeRequest, Verdict
from mage.integrations.openai_agents import MageSession
from mage.memory import AsyncMemory
from mage.stores import MemoryStore
from tests.integrations.story import (
    SYSTEM,
    Shop,
    Slow,
    Watched,
    asked_of_model,
    async_judge_of,
    journal,
    judge,
    require_the_story,
    shop,
)
from tests.memory.test_surviving import Crash, Dying
from tests.providers.server import ProviderServer
from tests.providers.story import END, TASK

set_tracing_disabled(True)
MODELS: Final[dict[str, Any]] = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


def agent_at(
    server: ProviderServer, mage: MageSession, buying: Any, interface: str = "responses"
) -> Agent[None]:
    """Return an agent whose model is at a server."""
    client = AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0)
    tools = [function_tool(buying, failure_error_function=None), *mage.tools]
    return Agent(name="shopper", instructions=SYSTEM, model=MODELS[interface]("m", client), tools=list(tools))


async def awaited(request: JudgeRequest) -> Verdict:
    """Judge without a model."""
    return judge(request)


async def run(agent: Agent[None], mage: MageSession, said: str = TASK) -> str:
    """Run an agent with a session that filters what is sent."""
    config = RunConfig(call_model_input_filter=mage.show)
    result = await Runner.run(agent, said, session=mage, run_config=config, max_turns=30)
    return str(result.final_output)


@pytest.mark.parametrize("interface", MODELS)
def test_the_full_story(interface: str) -> None:
    """Parallel calls stand in call order; what is sent is S in the framework's frame; nothing is refused."""
    store = MemoryStore()

    async def played(server: ProviderServer) -> Watched:
        memory = Watched(await AsyncMemory.open(store, "monday", task=TASK, judge=async_judge_of(server)))
        mage = MageSession(memory)  # type: ignore[arg-type]  # it notes what it shows
        assert await run(agent_at(server, mage, Slow().buy, interface), mage) == END
        return memory

    with ProviderServer(shop, reasoning=interface == "responses") as server:
        memory = asyncio.run(played(server))
    assert server.refused == []
    require_the_story(journal(store, "monday"))
    bodies = asked_of_model(server)
    for body, shown in zip(bodies, memory.shown[-len(bodies) :], strict=True):
        if interface == "chat":
            sent = body["messages"]
            assert [(each["role"], each["content"]) for each in sent] == [("system", SYSTEM), ("user", shown)]
        else:
            assert body["instructions"] == SYSTEM
            assert [(each["role"], each["content"]) for each in body["input"]] == [("user", shown)]
        assert body["tools"][1:] == memory.tools(interface)


def test_killed_at_any_write_and_resumed_it_is_the_same_story() -> None:
    """A new process with the same words goes on where the other was: nothing is bought or recorded twice."""

    async def played(server: ProviderServer, at: int) -> None:
        store, bought = MemoryStore(), Shop()
        for each in (Dying(store, at, after=at % 2 == 0), store):
            with contextlib.suppress(Crash):
                kept: Any = each
                memory = await AsyncMemory.open(kept, "monday", or_task=TASK, judge=awaited)
                mage = MageSession(memory)
                ended = await run(agent_at(server, mage, bought.buy), mage)
        assert ended == END
        require_the_story(journal(store, "monday"))

    with ProviderServer(shop, most=1_000) as server:
        for at in range(1, 15):
            asyncio.run(played(server, at))
    assert server.refused == []
