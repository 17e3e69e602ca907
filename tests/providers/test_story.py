"""The desk shop over every interface, with the providers' own clients: a loop that keeps all, and one that forgets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias, final

import anthropic
import attrs
import openai
import pytest

from tests.providers.forms import Json
from tests.providers.server import ProviderServer
from tests.providers.story import CHROME, DESK, END, FEEDBACK, LINEN, STORY, TASK, buy, desk_shop

Call: TypeAlias = tuple[str, str, Json]  # id, name, arguments


def closed(**properties: str) -> Json:
    """Return a strict schema of these properties and their types."""
    found = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": found, "required": list(found), "additionalProperties": False}


TOOLS: Final[list[Json]] = [
    {"name": "buy", "parameters": closed(item="string"), "strict": True},
    {"name": "compress", "parameters": closed(text="string"), "strict": True},
    {"name": "revise", "parameters": closed(step="integer", lesson="string"), "strict": True},
]
VERDICT: Final[Json] = {
    "name": "verdict",
    "strict": True,
    "schema": closed(passed="boolean", feedback="string"),
}


@final
@attrs.frozen
class Way:
    """How a loop talks to its model, by clients that wait or are awaited.

    Attributes:
        name: of it.
        interface: chat, responses or anthropic.
        orphan: how a result without its call is refused.
        more: what requests say beside.
        rules: of the server.
    """

    name: str
    interface: str
    orphan: str
    more: Json = attrs.field(factory=dict)
    rules: dict[str, bool] = attrs.field(factory=dict)

    def client(self, server: ProviderServer, *, awaited: bool = False) -> Any:
        """Return the client that speaks the interface."""
        if self.interface == "anthropic":
            made: Any = anthropic.AsyncAnthropic if awaited else anthropic.Anthropic
            return made(api_key="k", base_url=server.anthropic_url)
        return (openai.AsyncOpenAI if awaited else openai.OpenAI)(api_key="k", base_url=server.openai_url)

    def ask(self, client: Any, history: list[Json]) -> Any:
        """Send a history; what is returned is awaited where the client is."""
        if self.interface == "chat":
            tools: list[Json] = [{"type": "function", "function": tool} for tool in TOOLS]
            return client.chat.completions.create(model="m", messages=history, tools=tools, **self.more)
        if self.interface == "responses":
            tools = [{"type": "function", **tool} for tool in TOOLS]
            return client.responses.create(model="m", input=history, tools=tools, **self.more)
        tools = [{"name": tool["name"], "input_schema": tool["parameters"], "strict": True} for tool in TOOLS]
        return client.messages.create(model="m", max_tokens=4096, messages=history, tools=tools, **self.more)

    def read(self, reply: Any) -> tuple[list[Json], list[Call], str]:
        """Return a reply as it goes into the history, its calls, and its text."""
        if self.interface == "chat":
            message = reply.choices[0].message
            calls = [(call.id, call.function) for call in message.tool_calls or ()]
            found = [(call, function.name, json.loads(function.arguments)) for call, function in calls]
            return [message.to_dict()], found, message.content or ""
        if self.interface == "responses":
            items = [item for item in reply.output if item.type == "function_call"]
            found = [(item.call_id, item.name, json.loads(item.arguments)) for item in items]
            return [item.to_dict() for item in reply.output], found, reply.output_text
        blocks = [block.to_dict() for block in reply.content]
        found = [
            (block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"
        ]
        return [{"role": "assistant", "content": blocks}], found, blocks[-1].get("text", "")

    def result(self, call: str, text: str) -> Json:
        """Return what came of a call as it goes into the history."""
        if self.interface == "chat":
            return {"role": "tool", "tool_call_id": call, "content": text}
        if self.interface == "responses":
            return {"type": "function_call_output", "call_id": call, "output": text}
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}


CHAT: Final = Way("chat", "chat", "must be a response to a preceeding message")
RESPONSES: Final = Way("responses", "responses", "No tool call found for function call output")
MESSAGES: Final = Way("anthropic", "anthropic", "unexpected `tool_use_id` found in `tool_result` blocks")
UNSTORED: Final[Json] = {"store": False, "include": ["reasoning.encrypted_content"]}
ENABLED: Final[Json] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
WAYS: Final = [
    CHAT,
    Way("mistral", "chat", "Unexpected role 'tool' after role 'user'", rules={"mistral": True}),
    RESPONSES,
    attrs.evolve(RESPONSES, name="reasoning", rules={"reasoning": True}),
    attrs.evolve(RESPONSES, name="unstored", rules={"reasoning": True}, more=UNSTORED),
    MESSAGES,
    attrs.evolve(MESSAGES, name="adaptive", more={"thinking": {"type": "adaptive"}}),
    attrs.evolve(MESSAGES, name="enabled", more=ENABLED),
]
each_way = pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])


def act(judge: openai.OpenAI, name: str, arguments: Json) -> str:
    """Return what comes of a call: the shop's word, or the judge's."""
    if name != "compress":
        return buy(**arguments) if name == "buy" else "You are back at step 1."
    ask: Any = judge.chat.completions.create
    form = {"type": "json_schema", "json_schema": VERDICT}
    reply = ask(model="m", messages=[{"role": "user", "content": arguments["text"]}], response_format=form)
    verdict = json.loads(reply.choices[0].message.content)
    return "Passed." if verdict["passed"] else f"Failed: {verdict['feedback']}"


async def play(
    way: Way,
    server: ProviderServer,
    *,
    awaited: bool = False,
    kept: Callable[[list[Json]], list[Json]] = list,
) -> str:
    """Play the story with a history that keeps everything, of which `kept` is sent; return the model's last word."""
    history: list[Json] = [{"role": "user", "content": TASK}]
    client = way.client(server, awaited=awaited)
    with openai.OpenAI(api_key="k", base_url=server.openai_url) as judge:
        while True:
            reply = way.ask(client, kept(history))
            found, calls, text = way.read(await reply if awaited else reply)
            history += found
            if not calls:
                await client.close() if awaited else client.close()
                return text
            history += [way.result(call, act(judge, name, arguments)) for call, name, arguments in calls]


@each_way
@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_the_story_plays_over_every_interface(way: Way, *, awaited: bool) -> None:
    """A loop that keeps everything hears the whole story, by every client, plain and thinking; nothing is refused."""
    with ProviderServer(desk_shop, **way.rules) as server:
        assert asyncio.run(play(way, server, awaited=awaited)) == END
    assert server.refused == []
    moves = [taken for taken in server.taken if taken.prompt.tools]
    assert [taken.reply for taken in moves] == [reply for _, reply in STORY]
    assert [taken.prompt.turn for taken in moves] == list(range(len(STORY)))
    assert {taken.prompt.tools for taken in moves} == {("buy", "compress", "revise")}
    verdicts = [json.loads(taken.reply.text)["passed"] for taken in server.taken if not taken.prompt.tools]
    assert verdicts == [True, False, True]


@each_way
def test_a_loop_that_cuts_its_history_is_refused(way: Way) -> None:
    """A loop that sends its task and the newest message sends a result without its call: every provider says so."""
    with (
        ProviderServer(desk_shop, **way.rules) as server,
        pytest.raises(Exception, match=way.orphan) as caught,
    ):
        asyncio.run(play(way, server, kept=lambda history: [*history[:1], *history[1:][-1:]]))
    assert isinstance(caught.value, openai.BadRequestError | anthropic.BadRequestError)
    assert len(server.refused) == 1


@each_way
def test_the_model_goes_by_what_it_is_shown(way: Way) -> None:
    """Shown a state in one text the model does what comes next: it needs no history, so a killed loop can go on."""
    with ProviderServer(desk_shop, **way.rules) as server, way.client(server) as client:
        for shown, expected in [
            (DESK, {"item": "chrome chair"}),
            (f"{DESK} Bought for $129.", {"text": CHROME}),
            (f"{DESK} {CHROME} {FEEDBACK}", STORY[4][1].calls[0][1]),
            (f"{DESK} {CHROME} {FEEDBACK} Bought for $145.", {"text": LINEN}),
        ]:
            _, calls, _ = way.read(way.ask(client, [{"role": "user", "content": f"{TASK} {shown}"}]))
            assert [arguments for _, _, arguments in calls] == [expected]


def test_a_loop_without_an_end_is_stopped() -> None:
    """A model that is shown the same for ever is not answered for ever."""
    with ProviderServer(desk_shop) as server, pytest.raises(openai.NotFoundError):
        asyncio.run(play(CHAT, server, kept=lambda history: history[:1]))
    assert len(server.refused) == 1
