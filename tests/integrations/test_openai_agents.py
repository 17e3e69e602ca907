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
    Session,
    Tool,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from mage.effects import SummaryRequest
from mage.engine import FoldRequest, Grow, Instruct, JudgeRequest, Start, Verdict
from mage.integrations.openai_agents import MageSession
from mage.memory import AsyncMemory
from mage.stores import MemoryStore
from tests.integrations.story import (
    AFTER,
    BEFORE,
    LONG,
    PART,
    READ,
    SYSTEM,
    UNDER,
    Shop,
    Slow,
    Watched,
    asked_of_model,
    async_judge_of,
    buy,
    journal,
    judge,
    look,
    looker,
    read,
    reader,
    require_the_story,
    require_their_look,
    require_under_the_mark,
    share,
    shop,
    short,
    thrifty,
    turner,
)
from tests.memory.test_surviving import Crash, Dying
from tests.providers.server import ProviderServer
from tests.providers.story import END, TASK

set_tracing_disabled(True)
MODELS: Final[dict[str, Any]] = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


def client_at(server: ProviderServer) -> AsyncOpenAI:
    """Return OpenAI's client, at a server."""
    return AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0)


def agent_at(
    server: ProviderServer,
    mage: MageSession | None,
    acting: Any,
    interface: str = "responses",
    instructions: str = SYSTEM,
    client: AsyncOpenAI | None = None,
) -> Agent[None]:
    """Return an agent whose model is at a server."""
    client = client or client_at(server)
    tools: list[Tool] = [function_tool(acting, failure_error_function=None), *(mage.tools if mage else ())]
    return Agent(name="shopper", instructions=instructions, model=MODELS[interface]("m", client), tools=tools)


async def awaited(request: JudgeRequest | FoldRequest) -> Verdict:
    """Judge without a model."""
    return judge(request)


async def run(agent: Agent[None], mage: MageSession, said: str = TASK) -> str:
    """Run an agent with a session that filters what is sent."""
    config = RunConfig(call_model_input_filter=mage.show)
    result = await Runner.run(agent, said, session=mage, run_config=config, max_turns=200)
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


def test_a_look_of_the_host_s_goes_before_ours() -> None:
    """Only the host's is offered; it is carried out, and is a step."""
    store = MemoryStore()

    async def played(server: ProviderServer) -> str:
        mage = MageSession(await AsyncMemory.open(store, "monday", task=TASK, judge=awaited))
        return await run(agent_at(server, mage, look), mage)

    with ProviderServer(looker) as server:
        assert asyncio.run(played(server)) == END
    require_their_look(server, journal(store, "monday"))


def test_killed_at_any_write_and_resumed_it_is_the_same_story() -> None:
    """A new process with the same words goes on where the other was: nothing is bought or recorded twice."""

    async def played(server: ProviderServer, client: AsyncOpenAI, at: int) -> None:
        store, bought, ended = MemoryStore(), Shop(), ""
        for each in (Dying(store, at, after=at % 2 == 0), store):
            with contextlib.suppress(Crash):
                kept: Any = each
                memory = await AsyncMemory.open(kept, "monday", or_task=TASK, judge=awaited)
                mage = MageSession(memory)
                ended = await run(agent_at(server, mage, bought.buy, client=client), mage)
        assert ended == END
        require_the_story(journal(store, "monday"))

    async def each_played(server: ProviderServer) -> None:
        async with client_at(server) as client:
            for at in range(1, 15):
                await played(server, client, at)

    with ProviderServer(shop, most=1_000) as server:
        asyncio.run(each_played(server))
    assert server.refused == []


def test_over_sixty_steps_a_small_part_is_sent() -> None:
    """Beside what the SDK alone sends, which is everything each time. README says the part."""

    async def played(alone: ProviderServer, kept: ProviderServer) -> None:
        plain = agent_at(alone, None, read)
        await Runner.run(plain, READ, max_turns=200)
        mage = MageSession(await AsyncMemory.open(MemoryStore(), "m", task=READ, judge=awaited))
        await run(agent_at(kept, mage, read), mage, READ)

    with ProviderServer(reader, most=200) as alone, ProviderServer(reader, most=200) as kept:
        asyncio.run(played(alone, kept))
    assert 0.1 < share(alone, kept) < PART


def test_the_frame_counts_against_the_mark() -> None:
    """Instructions and tools are part of what a request takes, and what is left for S is kept short for them."""

    async def summarizer(request: SummaryRequest) -> str:
        return short(request)

    async def played(server: ProviderServer) -> None:
        more: dict[str, Any] = {"policy": UNDER, "summarizer": summarizer, "judge": awaited}
        mage = MageSession(await AsyncMemory.open(MemoryStore(), "m", task=READ, **more))
        await run(agent_at(server, mage, read, instructions=LONG), mage, READ)

    with ProviderServer(turner, most=200) as server:
        asyncio.run(played(server))
    require_under_the_mark(server)
    assert server.refused == []


@pytest.mark.parametrize("filters", [True, False])
def test_runs_one_after_the_other_go_on(filters: bool) -> None:
    """Each in a process of its own; without the filter, too, what a run before has done is shown as S."""
    store = MemoryStore()

    async def played(server: ProviderServer, words: str) -> str:
        memory = await AsyncMemory.open(store, "monday", or_task=words, judge=awaited)
        mage = MageSession(memory)
        assert isinstance(mage, Session)
        config = RunConfig(call_model_input_filter=mage.show if filters else None)
        result = await Runner.run(agent_at(server, mage, buy), words, session=mage, run_config=config)
        return str(result.final_output)

    with ProviderServer(thrifty) as server:
        for words in (BEFORE, AFTER):
            assert asyncio.run(played(server, words)) == "Bought."
    kinds = [type(each) for each in journal(store, "monday") if isinstance(each, Start | Grow | Instruct)]
    assert kinds == [Start, Grow, Instruct, Grow]
    last = asked_of_model(server)[-1]["input"]
    assert "Task: Buy a desk." in last[0]["content"]
    assert (len(last) == 1) is filters
    assert server.refused == []


def test_nothing_is_taken_back_and_nothing_cleared() -> None:
    """What was done stays; a limit does not part S; a call that has no result yet is not taken."""

    async def played() -> None:
        memory = await AsyncMemory.open(MemoryStore(), "m", task=TASK)
        mage = MageSession(memory)
        called: Any = {"type": "function_call", "call_id": "c", "name": "buy", "arguments": "{}"}
        back: Any = {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_text", "text": "ok"}],
        }
        await mage.add_items([called])
        assert memory.session.version == 1
        await mage.add_items([back])
        assert memory.session.state().raw[0].observation == "ok"
        assert await mage.pop_item() is None
        assert len(await mage.get_items(limit=5)) == 1
        with pytest.raises(NotImplementedError, match="under another name"):
            await mage.clear_session()

    asyncio.run(played())
