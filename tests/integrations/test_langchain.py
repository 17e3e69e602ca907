"""LangChain and LangGraph with their real packages and clients, over HTTP, against a server that refuses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("langchain")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from mage.engine import Grow, Instruct, JudgeRequest, Verdict
from mage.integrations.langchain import MageMiddleware
from mage.memory import AsyncMemory, Memory, Policy
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
    judge_of,
    of_prices,
    read,
    reader,
    require_the_story,
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

MONDAY: Final[Any] = {"configurable": {"thread_id": "monday"}}
SAID: Final[dict[str, Any]] = {"messages": [{"role": "user", "content": TASK}]}
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


def with_judge(store: Any, twin: str, judge: Any, **more: Any) -> Callable[..., Any]:
    """Return how a middleware opens memories with a judge that needs no server."""

    async def awaited(request: JudgeRequest) -> Verdict:
        found: Verdict = judge(request)
        return found

    if twin == "invoke":
        return partial(Memory.open, store, judge=judge, **more)
    return partial(AsyncMemory.open, store, judge=awaited, **more)


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
        for at in range(1, 15, 1 if twin == "invoke" else 3):
            store, checkpointer, bought, ended = MemoryStore(), InMemorySaver(), Shop(), ""
            for each in (Dying(store, at, after=at % 2 == 0), store):
                mage = MageMiddleware(with_judge(each, twin, judge))
                agent = create_agent(model, [bought.buy], middleware=[mage], checkpointer=checkpointer)
                begun = agent.get_state(MONDAY).next
                with contextlib.suppress(Crash):
                    run(agent, twin, None if begun else SAID, MONDAY)
                ended = agent.get_state(MONDAY).values["messages"][-1].text
            assert ended == END
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


def test_over_sixty_steps_a_small_part_is_sent() -> None:
    """Beside what LangChain alone sends, which is everything each time. README says the part."""
    said = {"messages": [{"role": "user", "content": READ}]}
    config = {**MONDAY, "recursion_limit": 200}
    with ProviderServer(reader, most=200) as alone, ProviderServer(reader, most=200) as kept:
        run(create_agent(model_at(alone), [read], system_prompt=SYSTEM), "invoke", said, config)
        mage = MageMiddleware(with_judge(MemoryStore(), "invoke", judge))
        agent = create_agent(model_at(kept), [read], middleware=[mage], system_prompt=SYSTEM)
        run(agent, "invoke", said, config)
    assert 0.1 < share(alone, kept) < PART


def test_the_frame_counts_against_the_mark() -> None:
    """System prompt and tools are part of what a request takes, and what is left for S is kept short for them."""
    said, config = {"messages": [{"role": "user", "content": READ}]}, {**MONDAY, "recursion_limit": 200}
    with ProviderServer(turner, most=200) as server:
        opens = with_judge(MemoryStore(), "invoke", judge, policy=UNDER, summarizer=short)
        agent = create_agent(model_at(server), [read], middleware=[MageMiddleware(opens)], system_prompt=LONG)
        run(agent, "invoke", said, config)
    require_under_the_mark(server)
    assert server.refused == []


@pytest.mark.parametrize("twin", TWINS)
def test_a_model_may_not_end_on_what_has_failed(twin: str) -> None:
    """The judge thinks while the model goes on: its last words are not taken before the verdict, nor after a failed one."""
    store = MemoryStore()
    with ProviderServer(hasty_end) as server:
        opens = with_judge(store, twin, judge, policy=Policy(wait=False))
        agent = create_agent(model_at(server), [buy], middleware=[MageMiddleware(opens)])
        state = run(agent, twin, SAID, MONDAY)
    assert [each.text for each in state["messages"] if each.text in ("Too early.", END)] == [END]
    assert server.refused == []


@pytest.mark.parametrize("twin", TWINS)
def test_words_that_follow_are_instructions(twin: str) -> None:
    """On the same thread, in another process, with a checkpointer or without: the session goes on."""
    for checkpointer in (InMemorySaver(), None):
        store = MemoryStore()
        with ProviderServer(shop) as server:
            for words in (TASK, "And now the lamp."):
                mage = MageMiddleware(with_judge(store, twin, judge))
                agent = create_agent(model_at(server), [buy], middleware=[mage], checkpointer=checkpointer)
                run(agent, twin, {"messages": [{"role": "user", "content": words}]}, MONDAY)
        assert [each.text for each in journal(store, "monday") if isinstance(each, Instruct)] == [
            "And now the lamp."
        ]
        assert "Instruction: And now the lamp." in str(asked_of_model(server)[-1]["messages"])
        assert server.refused == []


def test_a_thread_needs_an_id() -> None:
    """It is the name of the session; without one nothing is sent."""
    with ProviderServer(shop) as server:
        mage = MageMiddleware(with_judge(MemoryStore(), "invoke", judge))
        with pytest.raises(ValueError, match="a session has the name of the thread"):
            run(create_agent(model_at(server), [buy], middleware=[mage]), "invoke", SAID, {})
    assert server.taken == []


@pytest.mark.parametrize("twin", TWINS)
def test_a_call_that_cannot_be_read_is_told(twin: str) -> None:
    """LangChain does not carry it out, and its half-read arguments do not reach a provider again."""
    story = {0: Reply(calls=(("buy", {"item": 1}),)), 1: Reply(END)}
    store = MemoryStore()
    with ProviderServer(lambda prompt: story[prompt.turn]) as server:
        agent = create_agent(
            model_at(server), [buy], middleware=[MageMiddleware(with_judge(store, twin, judge))]
        )
        run(agent, twin, SAID, MONDAY)
    assert server.refused == []


@pytest.mark.parametrize("twin", TWINS)
def test_closed_memories_are_opened_again(twin: str, tmp_path: Path) -> None:
    """`close` lets go of the store; the next run opens it."""
    with ProviderServer(shop) as server:
        mage = MageMiddleware(with_judge(str(tmp_path / "work.db"), twin, judge))
        agent = create_agent(model_at(server), [buy], middleware=[mage])
        for _ in range(2):
            assert run(agent, twin, SAID, MONDAY)["messages"][-1].text == END
            mage.close()
            asyncio.run(mage.aclose())
    assert len(asked_of_model(server)) == len(SHOP) + 1
