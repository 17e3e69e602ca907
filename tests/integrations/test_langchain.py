"""LangChain and LangGraph with their real packages and clients, over HTTP, against a server that refuses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

pytest.importorskip("langchain")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from mage.engine import Grow, JudgeRequest, Verdict
from mage.integrations.langchain import MageMiddleware
from mage.memory import AsyncMemory, Memory
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
    buy,
    hasty,
    journal,
    judge,
    judge_of,
    of_prices,
    require_the_story,
    shop,
)
from tests.memory.test_surviving import Crash, Dying
from tests.providers.server import ProviderServer
from tests.providers.story import END, TASK

MONDAY: Final = {"configurable": {"thread_id": "monday"}}
SAID: Final = {"messages": [{"role": "user", "content": TASK}]}
TWINS: Final = ["invoke", "ainvoke"]


def model_at(server: ProviderServer, **more: Any) -> ChatOpenAI:
    """Return LangChain's client of OpenAI, at a server."""
    given: dict[str, Any] = {"base_url": server.openai_url, "api_key": "k", "max_retries": 0, **more}
    return ChatOpenAI(model="m", **given)


def opens(
    server: ProviderServer, store: Any, twin: str, watched: list[Watched] | None = None, **more: Any
) -> Callable[..., Any]:
    """Return how a middleware opens its memories; they are kept in `watched`."""
    kept = [] if watched is None else watched

    def plain(name: str, **given: Any) -> Any:
        kept.append(Watched(Memory.open(store, name, judge=judge_of(server), **more, **given)))
        return kept[-1]

    async def awaited(name: str, **given: Any) -> Any:
        kept.append(
            Watched(await AsyncMemory.open(store, name, judge=async_judge_of(server), **more, **given))
        )
        return kept[-1]

    return plain if twin == "invoke" else awaited


def with_judge(store: MemoryStore, twin: str, judge: Callable[[JudgeRequest], Verdict]) -> Callable[..., Any]:
    """Return how a middleware opens memories with a judge that needs no server."""

    async def awaited(request: JudgeRequest) -> Verdict:
        return judge(request)

    if twin == "invoke":
        return partial(Memory.open, store, judge=judge)
    return partial(AsyncMemory.open, store, judge=awaited)


def run(agent: Any, twin: str, given: Any, config: Any) -> Any:
    """Run an agent by either twin."""
    if twin == "invoke":
        return agent.invoke(given, config)
    return asyncio.run(agent.ainvoke(given, config))


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("interface", ["chat", "responses"])
def test_the_full_story(twin: str, interface: str) -> None:
    """Parallel calls stand in call order; what is sent is S in the framework's frame; nothing is refused."""
    store, watched = MemoryStore(), list[Watched]()
    with ProviderServer(shop, reasoning=interface == "responses") as server:
        mage = MageMiddleware(opens(server, store, twin, watched))
        model = model_at(server, use_responses_api=interface == "responses")
        agent = create_agent(model, tools=[Slow().buy], middleware=[mage], system_prompt=SYSTEM)
        state = run(agent, twin, SAID, MONDAY)
    assert state["messages"][-1].text == END
    assert server.refused == []
    require_the_story(journal(store, "monday"))
    bodies = asked_of_model(server)
    assert len(bodies) == len(watched[0].shown)
    for body, shown in zip(bodies, watched[0].shown, strict=True):
        sent = body["messages"] if interface == "chat" else body["input"]
        assert [(each["role"], each["content"]) for each in sent] == [("system", SYSTEM), ("user", shown)]
        assert body["tools"][1:] == watched[0].tools(interface)


@pytest.mark.parametrize("twin", TWINS)
def test_killed_at_any_write_and_resumed_it_is_the_same_story(twin: str) -> None:
    """A new process with the same store and checkpointer goes on: nothing is bought or recorded twice."""
    with ProviderServer(shop, most=1_000) as server:
        model = model_at(server)
        for at in range(1, 15):
            store, checkpointer, bought = MemoryStore(), InMemorySaver(), Shop()
            for each in (Dying(store, at, after=at % 2 == 0), store):
                mage = MageMiddleware(with_judge(each, twin, judge))
                agent = create_agent(model, [bought.buy], middleware=[mage], checkpointer=checkpointer)
                begun = agent.get_state(MONDAY).next
                with contextlib.suppress(Crash):
                    run(agent, twin, None if begun else SAID, MONDAY)
            assert agent.get_state(MONDAY).values["messages"][-1].text == END
            require_the_story(journal(store, "monday"))
            assert sorted(bought.items) == ["chrome chair", "lamp", "linen chair", "oak desk"]
    assert server.refused == []


@pytest.mark.parametrize("twin", TWINS)
def test_a_failed_summary_bars_a_tool_before_it_is_carried_out(twin: str) -> None:
    """The model is told why, the tool is not called, and no step says that it was."""
    bought, store = Shop(), MemoryStore()
    with ProviderServer(hasty) as server:
        mage = MageMiddleware(with_judge(store, twin, of_prices))
        agent = create_agent(model_at(server), [bought.buy], middleware=[mage])
        state = run(agent, twin, SAID, MONDAY)
    barred = [message for message in state["messages"] if isinstance(message, ToolMessage)][2]
    assert barred.status == "error"
    assert barred.text.startswith(NOT_DONE)
    assert bought.items == ["oak desk"]
    assert [each.action for each in journal(store, "monday") if isinstance(each, Grow)] == [DESK_BOUGHT]
    assert server.refused == []


@pytest.mark.parametrize("twin", TWINS)
def test_going_back_in_the_graph_goes_back_in_the_session(twin: str) -> None:
    """From a checkpoint of the run, LangGraph's fork of the thread has its fork of the session, at its version."""
    store = MemoryStore()
    with ProviderServer(shop) as server:
        mage = MageMiddleware(with_judge(store, twin, judge))
        agent = create_agent(model_at(server), [buy], middleware=[mage], checkpointer=InMemorySaver())
        run(agent, twin, SAID, MONDAY)
        whole = journal(store, "monday")
        checkpoints = [each for each in agent.get_state_history(MONDAY) if each.values.get("mage")]
        versions = [each.values["mage"]["version"] for each in checkpoints]
        assert versions == sorted(versions, reverse=True)
        assert (versions[0], versions[-1]) == (len(whole), 1)
        for place in (0, 2, 3, 4, 9, 14, len(checkpoints) - 1):
            checkpoint, version = checkpoints[place], versions[place]
            state = run(agent, twin, None, checkpoint.config)
            session = state["mage"]["session"]
            assert state["messages"][-1].text == END
            assert (session == "monday") is (
                place < 3
            )  # from there on nothing was recorded that is not gone on from
            assert journal(store, session)[:version] == whole[:version]
            require_the_story(journal(store, session))
            assert journal(store, "monday") == whole
    assert server.refused == []
