"""One question put to both twins, each with a server of its own that follows the same script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, final

import attrs
import openai

from mage.effects import Decision, EffectError, EffectFault, Metered, Tool, Usage, Verdict
from mage.llm import (
    AsyncChatJudge,
    AsyncChatModel,
    AsyncChatSummarizer,
    ChatJudge,
    ChatModel,
    ChatSummarizer,
    async_client,
    client,
)
from tests.llm.requests import DECIDE, JUDGE, SUMMARY
from tests.llm.server import Answer, Request, ScriptedServer, Silent

KEY = "sk-very-secret-0123456789"
Value = TypeVar("Value")


def tried(call: Callable[[], Value]) -> Value | EffectError:
    """Return what a call returns, or the effect error that it raises."""
    try:
        return call()
    except EffectError as error:
        return error


@final
@attrs.frozen
class Outcome:
    """What came of a question.

    Attributes:
        value: the answer; None where there was none.
        fault: why there was none.
        detail: in words.
        retry_after: as the error has it.
        usage: what it took.
        bodies: what the server was sent.
        left: how many answers of the script nobody asked for.
        shorter_may_help: as the error has it.
    """

    value: Any
    fault: EffectFault | None
    detail: str
    retry_after: float | None
    usage: Usage
    bodies: list[dict[str, Any]]
    left: int
    shorter_may_help: bool = False


def decided(
    *script: Answer,
    request: Any = DECIDE,
    tools: Sequence[Tool] = (),
    retries: int = 0,
    **settings: Any,
) -> Outcome:
    """Ask a model for a decision, both ways, and return what both have come to."""
    request = attrs.evolve(request, tools=tuple(tools))

    def ask(client: openai.OpenAI) -> Metered[Decision]:
        return ChatModel(client, "m", **settings)(request)

    async def ask_awaited(client: openai.AsyncOpenAI) -> Metered[Decision]:
        return await AsyncChatModel(client, "m", **settings)(request)

    return _both(script, retries, ask, ask_awaited)


def judged(*script: Answer, requests: Sequence[Any] = (JUDGE,), retries: int = 0, **settings: Any) -> Outcome:
    """Ask one judge for verdicts, the last of which counts; see `decided`."""

    def ask(client: openai.OpenAI) -> Metered[Verdict]:
        judge = ChatJudge(client, "m", **settings)
        return [judge(request) for request in requests][-1]

    async def ask_awaited(client: openai.AsyncOpenAI) -> Metered[Verdict]:
        judge = AsyncChatJudge(client, "m", **settings)
        return [await judge(request) for request in requests][-1]

    return _both(script, retries, ask, ask_awaited)


def summarized(*script: Answer, request: Any = SUMMARY, retries: int = 0, **settings: Any) -> Outcome:
    """Ask for a text; see `decided`."""

    def ask(client: openai.OpenAI) -> Metered[str]:
        return ChatSummarizer(client, "m", **settings)(request)

    async def ask_awaited(client: openai.AsyncOpenAI) -> Metered[str]:
        return await AsyncChatSummarizer(client, "m", **settings)(request)

    return _both(script, retries, ask, ask_awaited)


def _both(
    script: Sequence[Answer],
    retries: int,
    ask: Callable[[openai.OpenAI], Metered[Value]],
    ask_awaited: Callable[[openai.AsyncOpenAI], Awaitable[Metered[Value]]],
) -> Outcome:
    timeout = 0.6 if any(isinstance(answer, Silent) for answer in script) else 20.0
    settings: dict[str, Any] = {"max_retries": retries, "timeout": timeout}
    settings["environment"] = {"OPENAI_API_KEY": KEY}

    def once(url: str) -> Metered[Value]:
        with client(base_url=url, **settings) as ours:
            return ask(ours)

    async def awaited(url: str) -> Metered[Value]:
        async with async_client(base_url=url, **settings) as ours:
            return await ask_awaited(ours)

    outcome = _outcome(script, once)
    assert outcome == _outcome(script, lambda url: asyncio.run(_of(awaited(url))))
    return outcome


async def _of(awaitable: Awaitable[Value]) -> Value:
    return await awaitable


def _outcome(script: Sequence[Answer], ask: Callable[[str], Metered[Value]]) -> Outcome:
    with ScriptedServer(*script) as server:
        got = tried(lambda: ask(server.url))
    bodies = _bodies(server.requests)
    if isinstance(got, Metered):
        return Outcome(got.value, None, "", None, got.usage, bodies, server.left)
    # Nothing of the client's may hang on it: it holds the request, and with it the key.
    assert not isinstance(got.__cause__ or got.__context__, openai.OpenAIError)
    why = (got.fault, got.detail, got.retry_after)
    return Outcome(None, *why, got.usage, bodies, server.left, got.shorter_may_help)


def _bodies(requests: Sequence[Request]) -> list[dict[str, Any]]:
    assert all(request.authorization == f"Bearer {KEY}" for request in requests)
    assert all(request.path == "/v1/chat/completions" for request in requests)
    return [request.body for request in requests]
