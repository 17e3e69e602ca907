"""pydantic-ai with its real package and client, over HTTP, against a server that refuses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("pydantic_ai")

from openai import AsyncOpenAI
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from mage.engine import Grow, Instruct, Start
from mage.integrations.pydantic_ai import MageCapability
from mage.memory import AsyncMemory, Policy
from mage.stores import MemoryStore
from tests.integrations.story import (
    DESK_BOUGHT,
    LONG,
    NOT_DONE,
    PART,
    READ,
    SHOP,
    SYSTEM,
    UNDER,
    Shop,
    Slow,
    Watched,
    asked_of_model,
    async_judge_of,
    buy,
    hasty,
    hasty_end,
    journal,
    judge,
    look,
    looker,
    of_prices,
    read,
    reader,
    require_the_story,
    require_their_look,
    require_under_the_mark,
    share,
    shop,
    short,
    turner,
)
from tests.memory.test_surviving import Crash, Dying
from tests.providers.forms import Reply
from tests.providers.server import ProviderServer
from tests.providers.story import END, TASK

MODELS: Final[dict[str, Any]] = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


def client_at(server: ProviderServer) -> AsyncOpenAI:
    """Return OpenAI's client, at a server."""
    return AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0)


def agent_at(
    server: ProviderServer,
    mage: MageCapability | None,
    interface: str = "chat",
    instructions: str = SYSTEM,
    client: AsyncOpenAI | None = None,
) -> Agent[None, str]:
    """Return an agent whose model is at a server."""
    model = MODELS[interface]("m", provider=OpenAIProvider(openai_client=client or client_at(server)))
    return Agent(model, instructions=instructions, capabilities=[] if mage is None else [mage])


def opens(
    store: Any, judged: Any = None, watched: list[Watched] | None = None, **more: Any
) -> Callable[..., Awaitable[Any]]:
    """Return how a capability opens its memories; they are kept in `watched`."""

    async def opened(name: str, **given: Any) -> Any:
        memory = Watched(await AsyncMemory.open(store, name, judge=judged, **more, **given))
        if watched is not None:
            watched.append(memory)
        return memory

    return opened


def awaited(answering: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
    """Return a judge or a summarizer that is awaited."""

    async def answer(request: Any) -> Any:
        return answering(request)

    return answer


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
        result = asyncio.run(agent.run(TASK, conversation_id="monday"))
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
        assert len(body["tools"]) == 1 + len(own)
    assert bodies[0]["tools"] == bodies[-1]["tools"]


def test_a_look_of_the_host_s_goes_before_ours() -> None:
    """Only the host's is offered; it is carried out, and is a step."""
    store = MemoryStore()
    with ProviderServer(looker) as server:
        agent = agent_at(server, MageCapability(opens(store, awaited(judge))))
        agent.tool_plain(look)
        assert asyncio.run(agent.run(TASK, conversation_id="monday")).output == END
    require_their_look(server, journal(store, "monday"))


def test_killed_at_any_write_and_resumed_it_is_the_same_story() -> None:
    """A new process with what the run had as its history goes on: nothing is bought or recorded twice."""

    async def played(server: ProviderServer, client: AsyncOpenAI, at: int) -> None:
        store, bought, history, ended = MemoryStore(), Shop(), list[ModelMessage](), ""
        for each in (Dying(store, at, after=at % 2 == 0), store):
            agent = agent_at(server, MageCapability(opens(each, awaited(judge))), client=client)
            agent.tool_plain(bought.buy)
            with contextlib.suppress(Crash), capture_run_messages() as messages:
                said = None if history else TASK
                result = await agent.run(said, message_history=history, conversation_id="monday")
                ended = result.output
            history = messages
        assert ended == END
        require_the_story(journal(store, "monday"))
        assert sorted(bought.items) == ["chrome chair", "lamp", "linen chair", "oak desk"]

    async def each_played(server: ProviderServer) -> None:
        async with client_at(server) as client:
            for at in range(1, 15):
                await played(server, client, at)

    with ProviderServer(shop, most=1_000) as server:
        asyncio.run(each_played(server))
    assert server.refused == []


def test_a_failed_summary_bars_a_tool_before_it_is_carried_out() -> None:
    """The model is told why, the tool is not called, and no step says that it was."""
    bought, store = Shop(), MemoryStore()
    with ProviderServer(hasty) as server:
        agent = agent_at(server, MageCapability(opens(store, awaited(of_prices))))
        agent.tool_plain(bought.buy)
        result = asyncio.run(agent.run(TASK, conversation_id="monday"))
    assert str(returns(result.all_messages())[2].content).startswith(NOT_DONE)
    assert bought.items == ["oak desk"]
    assert [each.action for each in journal(store, "monday") if isinstance(each, Grow)] == [DESK_BOUGHT]
    assert server.refused == []


def test_over_sixty_steps_a_small_part_is_sent() -> None:
    """Beside what pydantic-ai alone sends, which is everything each time. README says the part."""
    with ProviderServer(reader, most=200) as alone, ProviderServer(reader, most=200) as kept:
        for server, mage in ((alone, None), (kept, MageCapability(opens(MemoryStore(), awaited(judge))))):
            agent = agent_at(server, mage)
            agent.tool_plain(read)
            asyncio.run(agent.run(READ, usage_limits=UsageLimits(request_limit=None)))
    assert 0.1 < share(alone, kept) < PART


def test_the_frame_counts_against_the_mark() -> None:
    """Instructions and tools are part of what a request takes, and what is left for S is kept short for them."""
    more: dict[str, Any] = {"policy": UNDER, "summarizer": awaited(short)}
    with ProviderServer(turner, most=200) as server:
        agent = agent_at(
            server, MageCapability(opens(MemoryStore(), awaited(judge), **more)), instructions=LONG
        )
        agent.tool_plain(read)
        asyncio.run(agent.run(READ, usage_limits=UsageLimits(request_limit=None)))
    require_under_the_mark(server)
    assert server.refused == []


def test_what_the_policy_rules_out_is_offered_by_no_tool() -> None:
    """In the ablation without Revise the model has no `revise`; the host's tools and the others stay."""
    with ProviderServer(turner, most=3) as server:
        agent = agent_at(server, MageCapability(opens(MemoryStore(), policy=Policy(revise=False))))
        agent.tool_plain(read)
        with contextlib.suppress(UsageLimitExceeded):
            asyncio.run(agent.run(READ, usage_limits=UsageLimits(request_limit=2)))
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in asked_of_model(server)]
    assert offered
    assert all(sorted(names) == ["compress", "look", "note", "read"] for names in offered)


def test_a_model_may_not_end_on_what_has_failed() -> None:
    """The judge thinks while the model goes on: its last words are not taken before the verdict, nor after a failed one."""
    with ProviderServer(hasty_end) as server:
        mage = MageCapability(opens(MemoryStore(), awaited(judge), policy=Policy(wait=False)))
        agent = agent_at(server, mage)
        agent.tool_plain(buy)
        result = asyncio.run(agent.run(TASK, conversation_id="monday"))
    assert result.output == END
    assert server.refused == []


@pytest.mark.parametrize("keeps_history", [True, False])
def test_words_that_follow_are_instructions(keeps_history: bool) -> None:
    """In the same conversation, in another process, with the history or without: the session goes on."""
    store, history = MemoryStore(), list[ModelMessage]()
    with ProviderServer(shop) as server:
        for words in (TASK, "And now the lamp."):
            agent = agent_at(server, MageCapability(opens(store, awaited(judge))))
            agent.tool_plain(buy)
            result = asyncio.run(agent.run(words, message_history=history, conversation_id="monday"))
            history = result.all_messages() if keeps_history else []
    assert [each.text for each in journal(store, "monday") if isinstance(each, Instruct)] == [
        "And now the lamp."
    ]
    assert "Instruction: And now the lamp." in str(asked_of_model(server)[-1]["messages"])
    assert server.refused == []


def test_what_the_framework_says_stays_around_s() -> None:
    """A system prompt stands before S, what is wrong with an answer behind it; an answer by a tool is no step."""
    replies = {
        0: Reply("Seven."),
        1: Reply(calls=(("final_result", {"response": 7}),)),
        2: Reply(calls=(("final_result", {"response": 8}),)),
    }
    store, watched, history = MemoryStore(), list[Watched](), list[ModelMessage]()
    with ProviderServer(lambda prompt: replies[prompt.turn]) as server:
        mage = MageCapability(opens(store, awaited(judge), watched))
        model: Any = agent_at(server, None).model
        agent = Agent(model, output_type=int, system_prompt="Be brief.", capabilities=[mage])
        for words, number in (("How many?", 7), ("Sure?", 8)):
            result = asyncio.run(agent.run(words, message_history=history, conversation_id="monday"))
            assert result.output == number
            history = result.all_messages()
    first, second, third = [body["messages"] for body in asked_of_model(server)]
    assert [each["role"] for each in first] == ["system", "user"]
    assert (first[0]["content"], first[1]["content"]) == ("Be brief.", watched[0].shown[0])
    assert [each["content"] for each in second[:2]] == ["Be brief.", watched[0].shown[1]]
    assert "Invalid JSON" in second[-1]["content"]
    assert third[1]["content"] == watched[0].shown[2]
    assert [type(each) for each in journal(store, "monday")] == [Start, Instruct]
    assert server.refused == []


def test_closed_memories_are_opened_again(tmp_path: Path) -> None:
    """`close` lets go of the store; the next run opens it."""

    async def played(server: ProviderServer) -> None:
        mage = MageCapability(opens(str(tmp_path / "work.db"), awaited(judge)))
        agent = agent_at(server, mage)
        agent.tool_plain(buy)
        for _ in range(2):
            assert (await agent.run(TASK, conversation_id="monday")).output == END
            await mage.close()

    with ProviderServer(shop) as server:
        asyncio.run(played(server))
    assert len(asked_of_model(server)) == len(SHOP) + 1
