"""A loop over the providers' own clients, against a server that refuses what providers refuse; killed and resumed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import openai
import pytest

from mage.chat import Steps, declared
from mage.effects import Tool
from mage.engine import ApplyVerdict, Compress, Failed, Revise
from mage.llm import AsyncChatJudge, ChatJudge
from mage.memory import AsyncMemory, Memory
from tests.providers.server import ProviderServer
from tests.providers.story import DESK, END, LINEN, TASK, buy, desk_shop
from tests.providers.test_story import WAYS, Way

BUY: Final = Tool.of("buy", "Buy an item.", item={"type": "string"})
KINDS: Final[list[tuple[Way, Steps]]] = [
    *[(way, "text") for way in WAYS],
    *[(way, "calls") for way in WAYS if not way.more and not way.rules],
]
each_kind = pytest.mark.parametrize(
    ("way", "steps"), KINDS, ids=[f"{way.name}-{steps}" for way, steps in KINDS]
)


def ask(way: Way, client: Any, shown: list[dict[str, Any]], own: list[dict[str, Any]]) -> Any:
    """Ask the model as each client takes it; what is returned is awaited where the client is."""
    if way.interface == "chat":
        tools = [*declared([BUY], "chat"), *own]
        return client.chat.completions.create(model="m", messages=shown, tools=tools, **way.more)
    if way.interface == "responses":
        tools = [*declared([BUY], "responses"), *own]
        return client.responses.create(model="m", input=shown, tools=tools, **way.more)
    tools = [*declared([BUY], "anthropic"), *own]
    return client.messages.create(model="m", max_tokens=4096, messages=shown, tools=tools, **way.more)


def require_the_story(commands: list[Any]) -> None:
    """The desk passed, the chrome chair failed and was left, the linen chair passed."""
    texts = [command.text for command in commands if isinstance(command, Compress)]
    assert (texts[0], texts[-1]) == (DESK, LINEN)
    verdicts = [command.verdict for command in commands if isinstance(command, ApplyVerdict)]
    assert [isinstance(verdict, Failed) for verdict in verdicts] == [False, True, False]
    assert any(isinstance(command, Revise) for command in commands)


def turn(kept: Memory, way: Way, steps: Steps, client: Any, own: Any) -> tuple[bool, str]:
    """Take one turn of the loop."""
    reply = ask(way, client, kept.messages(own, steps=steps), kept.tools(own))
    taken = kept.take(reply, perform=lambda call: buy(str(call.arguments["item"])))
    return taken.finished, taken.text


@each_kind
@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_a_loop_plays_the_story_over_every_client(
    way: Way, steps: Steps, tmp_path: Path, *, killed: bool
) -> None:
    """Grow, compress, failed verdict, gone back, finished; also where each turn is another process's. Nothing is refused."""
    with (
        ProviderServer(desk_shop, **way.rules) as server,
        way.client(server) as client,
        openai.OpenAI(api_key="k", base_url=server.openai_url) as judging,
    ):

        def opened() -> Memory:
            url = f"sqlite:///{tmp_path}/study.db"
            return Memory.open(url, "m", task=TASK, judge=ChatJudge(judging, "m"))

        kept = opened()
        finished, text = False, ""
        while not finished:
            finished, text = turn(kept, way, steps, client, way.interface)
            if killed:
                kept.close()
                kept = opened()
        commands = [entry.command for entry in kept.session.history()]
        kept.close()
    assert server.refused == []
    assert text == END
    require_the_story(commands)


@each_kind
def test_the_awaited_loop_plays_it_too(way: Way, steps: Steps) -> None:
    """The same over the clients that are awaited."""

    async def played(server: ProviderServer) -> tuple[str, list[Any]]:
        client = way.client(server, awaited=True)
        judging = openai.AsyncOpenAI(api_key="k", base_url=server.openai_url)
        async with await AsyncMemory.open(
            "memory:", "m", task=TASK, judge=AsyncChatJudge(judging, "m")
        ) as kept:
            form: Any = way.interface
            while True:
                reply = await ask(way, client, await kept.messages(form, steps=steps), kept.tools(form))
                taken = await kept.take(reply, perform=lambda call: buy(str(call.arguments["item"])))
                if taken.finished:
                    await client.close()
                    await judging.close()
                    return taken.text, [entry.command for entry in await kept.session.history()]

    with ProviderServer(desk_shop, **way.rules) as server:
        text, commands = asyncio.run(played(server))
    assert server.refused == []
    assert text == END
    require_the_story(commands)
