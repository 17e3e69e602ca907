"""The MCP server in processes of its own, by the SDK's client over stdio and HTTP: the story, kills, races, a judge."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from mcp import Client

from mage.engine import Grow, Revise
from mage.session import Session
from tests.integrations.mcp_clients import MODES, Hand, Said, over_http, over_stdio, serving
from tests.providers.server import ProviderServer
from tests.providers.story import CHROME, DESK, FEEDBACK, LESSON, LINEN, TASK, desk_shop


async def story(one: Hand, other: Hand) -> Said:
    """Buy a desk, a chair that fails, go back, buy one that fits: each call by the other client."""
    assert (await one("start", task=TASK))["phase"] == "Active"
    grown = await other.grow("buy[oak desk]", "Bought for $310.")
    pending = await one("compress", text=DESK, version=grown["version"])
    assert pending["phase"] == "Unverified"
    assert "buy[oak desk]" in pending["text"]
    await other.judge(pending["digest"])
    await one.grow("buy[chrome chair]", "Bought for $129.")
    pending = await other.summarize(CHROME)
    failed = await one.judge(pending["digest"], FEEDBACK)
    assert (failed["phase"], failed["boundaries"]) == ("Rejected", [0, 1])
    assert (await other.grow("buy[lamp]")).is_refused
    left = await other("revise", step=1, lesson=LESSON, version=failed["version"])
    assert "buy[chrome chair]" in left["told"]
    assert LESSON in left["text"]
    assert "Bought for $310." in (await one("look", step=0, boundary=None, page=0))["text"]
    await other.grow("buy[linen chair]", "Bought for $145.")
    await one.judge((await one.summarize(LINEN))["digest"])
    await other("fork", new="cheaper", version=4)
    forked = await one("state", session="cheaper", page=0)
    assert DESK in forked["text"]
    assert "linen" not in forked["text"]
    return await one("state", page=0)


@pytest.mark.parametrize("mode", MODES)
def test_the_story_over_stdio_and_http(tmp_path: Path, mode: str) -> None:
    """Two processes serve one store, one over stdio and one over HTTP, and each call goes to the other one."""
    store = str(tmp_path / "work.db")

    async def played() -> Said:
        async with over_stdio(store, mode=mode) as one, over_http(store, mode=mode) as other:
            return await story(Hand(one), Hand(other))

    shown = asyncio.run(played())
    with Session.open(f"sqlite:///{store}", "shop") as session:
        assert [each.text for each in session.state().compressed] == [DESK, LINEN]
        assert session.version == shown["version"]


def test_a_server_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """Killed while a summary waits for its verdict, and again after it has failed: the next process goes on from there."""
    store = str(tmp_path / "work.db")

    async def pending(hand: Hand) -> None:
        await hand("start", task=TASK)
        await hand.grow("buy[chrome chair]", "Bought for $129.")
        assert (await hand.summarize(CHROME))["phase"] == "Unverified"

    async def failed(hand: Hand) -> None:
        waiting = await hand("state", page=0)
        assert waiting["digest"] in waiting.words
        assert "buy[chrome chair]" in (await hand("look", step=0, boundary=None, page=0))["text"]
        await hand.judge(waiting["digest"], FEEDBACK)

    async def revised(hand: Hand) -> None:
        seen = await hand("start", task=TASK)
        assert seen["phase"] == "Rejected"
        assert FEEDBACK in seen["told"]
        assert LESSON in (await hand("revise", step=0, lesson=LESSON, version=seen["version"]))["text"]

    async def by(url: str, life: int) -> None:
        async with Client(url) as client:
            await (pending, failed, revised)[life](Hand(client))

    for life in range(3):
        with serving(store) as (url, process):
            asyncio.run(by(url, life))
            process.kill()
    with Session.open(f"sqlite:///{store}", "shop") as session:
        assert isinstance(session.history()[-1].command, Revise)


async def race(hands: Sequence[Hand], number: int) -> list[Said]:
    """Have every client grow so often at the same time, and compress between."""
    version = (await hands[0]("start", task="Count."))["version"]
    calls = [
        hand("compress", text="So far.", version=version)
        if place == number // 2
        else hand.grow(f"{who} {place}")
        for place in range(number)
        for who, hand in enumerate(hands)
    ]
    return await asyncio.gather(*calls)


@pytest.mark.parametrize("number", [20, pytest.param(250, marks=pytest.mark.slow)])
def test_two_clients_at_once_lose_and_double_nothing(tmp_path: Path, number: int) -> None:
    """What was acknowledged is there once; who decided on what had changed is told so; no action is lost to a race."""
    store = str(tmp_path / "work.db")

    async def raced() -> list[Said]:
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(over_stdio(store))
            other = await stack.enter_async_context(over_http(store))
            return await race([Hand(one), Hand(other)], number)

    answers = asyncio.run(raced())
    with Session.open(f"sqlite:///{store}", "shop") as session:
        recorded = [entry.command for entry in session.history()]
    grown = Counter(command.action for command in recorded if isinstance(command, Grow))
    assert grown == {f"{who} {place}": 1 for place in range(number) for who in (0, 1) if place != number // 2}
    refused = [answer for answer in answers if answer.is_refused]
    assert len(recorded) == 1 + len(answers) - len(refused)
    assert all("decide again" in answer.words or "Look at" in answer.words for answer in refused)
    assert len(refused) >= 1


def test_a_model_judges_where_one_is_named(tmp_path: Path) -> None:
    """With `--judge` compress returns with the verdict of a model behind OPENAI_BASE_URL."""
    with ProviderServer(desk_shop) as server:

        async def judged() -> list[Said]:
            asked = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "k"}
            async with over_stdio(str(tmp_path / "work.db"), "--judge", "m", **asked) as client:
                hand = Hand(client)
                await hand("start", task=TASK)
                await hand.grow("buy[oak desk]", "Bought for $310.")
                passed = await hand.summarize(DESK)
                await hand.grow("buy[chrome chair]", "Bought for $129.")
                return [passed, await hand.summarize(CHROME)]

        passed, failed = asyncio.run(judged())
    assert server.refused == []
    assert (passed["phase"], passed["digest"]) == ("Active", None)
    assert failed["phase"] == "Rejected"
    assert FEEDBACK in failed.words


def test_over_http_a_token_is_asked_for_where_one_is_set(tmp_path: Path) -> None:
    """A request that does not bear it is refused before the server sees it."""
    import httpx2

    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    with serving(str(tmp_path / "work.db"), MAGE_MCP_TOKEN="t0p") as (url, _), httpx2.Client() as client:
        answers = [
            client.post(url, json=body, headers={**accept, **more}).status_code
            for more in ({}, {"Authorization": "Bearer t0"}, {"Authorization": "Bearer t0p"})
        ]
        named = client.post(
            url, json=body, headers={**accept, "Authorization": "Bearer t0p", "Host": "evil.example"}
        )
    assert answers[:2] == [401, 401]
    assert answers[2] not in (401, 403)
    assert named.status_code == 421
