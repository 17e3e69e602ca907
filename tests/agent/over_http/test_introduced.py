"""An agent's model is told what its environment offers, and is told it the same in every question."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from mage.agent import Agent, AsyncAgent, RunFinished
from mage.chat import MODES, OWN_TOOLS, Mode
from mage.effects import Tool
from mage.llm import AsyncChatModel, ChatModel, async_client, client
from mage.stores import MemoryStore
from mage.testing import ScriptedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.twins import notes_of
from tests.llm.server import Request, ScriptedServer, calls, says
from tests.llm.twins import KEY

TOOLS: Final = (
    Tool.of("look", "Look around.", at={"type": "string"}),
    Tool.of("take", "Take something.", what={"type": "string"}),
)
MANUAL: Final = "The shop closes at 8."
SCRIPTS: Final[dict[Mode, tuple[Any, ...]]] = {
    "tools": (calls("look", at="shelf"), calls("take", what="lamp"), calls("finish", answer="done")),
    "text": (says('Action[look {"at":"shelf"}]'), says('Action[take {"what":"lamp"}]'), says("Finish[done]")),
    "json": tuple(
        says(f'{{"thought":"","move":{{"name":"{name}","arguments":{{"{given}":"{value}"}}}}}}')
        for name, given, value in (
            ("look", "at", "shelf"),
            ("take", "what", "lamp"),
            ("finish", "answer", "d"),
        )
    ),
}


def environment() -> ScriptedEnvironment:
    """Return an environment with tools and a manual."""
    return ScriptedEnvironment("a lamp", "taken", opening="a shop", tools=TOOLS, manual=MANUAL)


def check_it_was_told(requests: list[Request], mode: Mode) -> None:
    """Fail unless every question begins with the same words and tools, which are the environment's."""
    (system,) = {str(request.body["messages"][0]["content"]) for request in requests}
    assert MANUAL in system
    told = str(requests[0].body) if mode == "tools" else system
    assert all(tool.name in told and tool.description in told for tool in TOOLS)
    if mode == "tools":
        (names,) = {tuple(tool["function"]["name"] for tool in request.body["tools"]) for request in requests}
        own = [
            tool.name for tool in OWN_TOOLS if tool.name != "look"
        ]  # the environment's own goes before ours
        assert names == (*[tool.name for tool in TOOLS], *own)


@pytest.mark.parametrize("mode", MODES)
def test_the_model_is_told_tools_and_manual(mode: Mode) -> None:
    """They are given once, by the environment: the model acts by its tools, and the mark counts them."""
    store, acted = MemoryStore(), environment()
    with (
        ScriptedServer(*SCRIPTS[mode]) as server,
        client(base_url=server.url, environment={"OPENAI_API_KEY": KEY}) as ours,
    ):
        model = ChatModel(ours, "m", mode=mode)
        agent = Agent(model=model, environment=acted, counter=EstimateCounter())
        assert isinstance(agent.run(store, "s", task="Buy a lamp."), RunFinished)
    assert acted.actions == ['look {"at":"shelf"}', 'take {"what":"lamp"}']
    check_it_was_told(server.requests, mode)
    fixed = EstimateCounter().count(model.prompt_text(TOOLS, MANUAL))
    assert notes_of(store)[0].data["overhead"] == fixed


@pytest.mark.parametrize("mode", MODES)
def test_an_awaited_model_is_told_the_same(mode: Mode) -> None:
    """The twin asks by the same prompts."""
    acted = environment()

    async def run(url: str) -> object:
        async with async_client(base_url=url, environment={"OPENAI_API_KEY": KEY}) as ours:
            agent = AsyncAgent(model=AsyncChatModel(ours, "m", mode=mode), environment=acted.awaited)
            return await agent.run(MemoryStore(), "s", task="Buy a lamp.")

    with ScriptedServer(*SCRIPTS[mode]) as server:
        assert isinstance(asyncio.run(run(server.url)), RunFinished)
    assert acted.actions == ['look {"at":"shelf"}', 'take {"what":"lamp"}']
    check_it_was_told(server.requests, mode)
