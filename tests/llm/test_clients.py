"""Clients from the environment, servers that are not there, and that no key and no text of the agent gets out."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import attrs
import httpx2
import openai
import pytest

from mage.chat import system_prompt
from mage.effects import EffectError
from mage.llm import (
    AsyncChatJudge,
    AsyncChatModel,
    AsyncChatSummarizer,
    BadAddress,
    BadKey,
    BadProxy,
    ChatJudge,
    ChatModel,
    ChatSummarizer,
    MissingKey,
    async_client,
    client,
)
from tests.llm.requests import DECIDE, JUDGE, SECRET, SUMMARY
from tests.llm.server import Answer, Request, ScriptedServer, Silent, Status, calls, says
from tests.llm.twins import KEY, tried

_ROOT = Path(__file__).resolve().parents[2]
_ECHO = Status(400, {"error": {"message": f"bad request by {KEY}: {SECRET}", "code": KEY}})


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address at which nobody listens, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=False
    )


def test_a_client_is_made_of_the_environment() -> None:
    """Key and address come from their variables; an argument goes before the address there."""
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    with client(environment=environment) as ours:
        assert (ours.api_key, str(ours.base_url)) == (KEY, "http://127.0.0.1:1/v1/")
    with client(environment=environment, base_url="http://127.0.0.1:2/v1") as ours:
        assert str(ours.base_url) == "http://127.0.0.1:2/v1/"
    assert asyncio.run(_address(environment)) == "http://127.0.0.1:1/v1/"


async def _address(environment: dict[str, str]) -> str:
    async with async_client(environment=environment) as ours:
        return str(ours.base_url)


@pytest.mark.parametrize("elsewhere", ["", "http://127.0.0.1:1/v1"], ids=["empty", "another"])
def test_the_environment_that_is_given_is_the_only_one(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is not sent where the process' variables point to; and a variable that is empty is no address."""
    monkeypatch.setenv("OPENAI_BASE_URL", elsewhere)  # the SDK reads the process' own
    with client(environment={"OPENAI_API_KEY": KEY}) as ours:
        assert str(ours.base_url) == "https://api.openai.com/v1/"
    if not elsewhere:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with client() as ours:
            assert str(ours.base_url) == "https://api.openai.com/v1/"


@pytest.mark.parametrize("proxy", ["socks4://u:geheim@127.0.0.1:1", "gopher://u:geheim@h"])
def test_a_proxy_that_cannot_be_used_is_told(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By both twins, in a line of ours that does not quote it."""
    monkeypatch.setenv("ALL_PROXY", proxy)  # the HTTP client reads the process' own
    for make in (client, async_client):
        with pytest.raises(BadProxy, match="ALL_PROXY") as refused:
            make(environment={"OPENAI_API_KEY": KEY})
        assert "geheim" not in f"{refused.value!r} {refused.value}"


@pytest.mark.parametrize(
    "address",
    [
        "http://.x/",
        f"http://{'a' * 70}.x",
        "http://\u00fc..x/",
        "http://a/\0",
        "http://h:port/",
        "http://h/v1?key=x",
        "http://h/v1#x",
    ],
)
def test_an_address_that_cannot_be_one_is_told(address: str) -> None:
    """Before anything is sent, by both twins, wherever it was given."""
    for make in (client, async_client):
        with pytest.raises(BadAddress, match="OPENAI_BASE_URL"):
            make(base_url=address, environment={})
        with pytest.raises(BadAddress, match="OPENAI_BASE_URL"):
            make(environment={"OPENAI_BASE_URL": address})


def test_a_socks_proxy_names_the_package_that_it_needs() -> None:
    """The HTTP client's own advice names a package that is not installed here."""
    assert "pip install socksio" in str(BadProxy(lacks="socksio"))


def test_openai_needs_a_key_and_another_server_does_not() -> None:
    """Without a key OpenAI cannot be asked, and the error says what to set; a server of one's own can."""
    for environment in ({}, {"OPENAI_API_KEY": ""}):
        with pytest.raises(MissingKey, match="set OPENAI_API_KEY, or OPENAI_BASE_URL"):
            client(environment=environment)
    with client(environment={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}) as ours:
        assert ours.api_key == "none"


@pytest.mark.parametrize("ending", ["\n", "\r", " ", "\0", "\x7f", "\u00e9", "\u2026", "\udcff"])
def test_a_key_that_no_header_can_carry_is_refused(ending: str) -> None:
    """By both twins, whatever the server, before anything is sent, and without a word of it."""
    environment = {"OPENAI_API_KEY": KEY + ending}
    for make in (client, async_client):
        with pytest.raises(BadKey, match="OPENAI_API_KEY is no key") as refused:
            make(base_url="http://127.0.0.1:1/v1", environment=environment)
        assert KEY not in f"{refused.value!r} {refused.value}"


def test_no_help_shows_the_key() -> None:
    """What `help` would show of every public module holds nothing of the environment."""
    code = """
import importlib, pkgutil, pydoc, mage
for each in pkgutil.walk_packages(mage.__path__, "mage."):
    if not each.name.endswith("__main__"):
        print(pydoc.render_doc(importlib.import_module(each.name), renderer=pydoc.plaintext))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=_ROOT,
        env={**os.environ, "OPENAI_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "async_client(" in ran.stdout
    assert KEY not in ran.stdout


def test_nobody_there_is_unreachable(nowhere: str) -> None:
    """A refused connection, and an address that is none, are said to be so, in both twins."""
    for url in (nowhere, "nonsense"):
        with (
            client(base_url=url, max_retries=0, environment={}) as ours,
            pytest.raises(EffectError) as caught,
        ):
            ChatModel(ours, "m")(DECIDE)
        assert caught.value.fault == "unreachable"
        assert asyncio.run(_fault(url)) == "unreachable"


async def _fault(url: str) -> str:
    async with async_client(base_url=url, max_retries=0, environment={}) as ours:
        with pytest.raises(EffectError) as caught:
            await AsyncChatModel(ours, "m")(DECIDE)
    return caught.value.fault


def test_what_the_client_itself_refuses_is_rejected() -> None:
    """A client that cannot make the call, as where a provider of keys has none, is an error of ours too."""

    def no_key() -> str:
        raise openai.OpenAIError("no key today")

    with (
        openai.OpenAI(api_key=no_key, base_url="http://127.0.0.1:1/v1") as ours,
        pytest.raises(EffectError, match="the client could not make the call") as caught,
    ):
        ChatModel(ours, "m")(DECIDE)
    assert caught.value.fault == "rejected"


def test_a_cancelled_call_is_cancelled() -> None:
    """A cancellation passes through untouched while the server is silent."""

    async def cancelled() -> bool:
        arrived = asyncio.Event()
        loop = asyncio.get_running_loop()

        def answering(request: Request) -> Answer:
            loop.call_soon_threadsafe(arrived.set)
            return Silent()

        with ScriptedServer(answering=answering) as server:
            async with async_client(base_url=server.url, environment={}) as ours:
                task = asyncio.create_task(AsyncChatModel(ours, "m")(DECIDE))
                await arrived.wait()
                task.cancel()
                await asyncio.wait([task])
                return task.cancelled()

    assert asyncio.run(cancelled())


def test_an_interrupt_passes_through() -> None:
    """Ctrl-C during a call is no fault of the model's."""

    def interrupted(request: httpx2.Request) -> httpx2.Response:
        raise KeyboardInterrupt

    with (
        httpx2.Client(transport=httpx2.MockTransport(interrupted)) as http,
        openai.OpenAI(api_key=KEY, http_client=http) as ours,
        pytest.raises(KeyboardInterrupt),
    ):
        ChatModel(ours, "m")(DECIDE)


def test_the_key_and_the_texts_stay_in(caplog: pytest.LogCaptureFixture) -> None:
    """Neither stands in a log record at any level, in a repr, or in the whole traceback of an error."""
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    with (
        ScriptedServer(calls("act", action="x"), *[_ECHO] * 4) as server,
        client(base_url=server.url, max_retries=0, environment={"OPENAI_API_KEY": KEY}) as ours,
    ):
        model, judge, summarizer = ChatModel(ours, "m"), ChatJudge(ours, "m"), ChatSummarizer(ours, "m")
        seen.append(repr(model(DECIDE).meta))
        for error in (
            tried(lambda: model(DECIDE)),
            tried(lambda: judge(JUDGE)),
            tried(lambda: summarizer(SUMMARY)),
        ):
            assert isinstance(error, EffectError)
            seen += [repr(error), *traceback.format_exception(error)]
        seen += [repr(each) for each in (ours, model, judge, summarizer, model._line)]
        assert server.left == 0
    assert caplog.records, "the client does log, at this level"
    seen += [f"{record.getMessage()} {record.args} {record.__dict__}" for record in caplog.records]
    for text in seen:
        assert KEY not in text
        assert "surprise party" not in text


def test_async_twins_say_what_they_are() -> None:
    """Each one's repr names its model, and the fixed text is there to be counted."""
    ours = async_client(base_url="http://127.0.0.1:1/v1", environment={})
    model = AsyncChatModel(ours, "m", mode="text")
    assert repr(model) == "AsyncChatModel('m', mode='text')"
    assert model.prompt_text(manual="A shop.") == system_prompt("text", manual="A shop.").text + "\n"
    assert repr(AsyncChatJudge(ours, "m")) == "AsyncChatJudge('m')"
    assert repr(AsyncChatSummarizer(ours, "m")) == "AsyncChatSummarizer('m')"
    asyncio.run(ours.close())


def test_the_answer_says_who_gave_it() -> None:
    """The model's name as the provider gives it and the hash of the wording are kept with each answer."""
    script = (calls("act", action="x"), says("Bought."), calls("act", action="x"))
    with ScriptedServer(*script) as server, client(base_url=server.url, environment={}) as ours:
        decided = ChatModel(ours, "m")(DECIDE)
        text = ChatSummarizer(ours, "m")(SUMMARY)
        other = ChatModel(ours, "m")(attrs.evolve(DECIDE, manual="Another world."))
    assert decided.model == text.model == "scripted-1"
    assert len(decided.prompt_hash) == len(text.prompt_hash) == 12
    assert decided.prompt_hash != text.prompt_hash
    assert other.prompt_hash != decided.prompt_hash


def test_without_the_client_the_error_names_the_extra() -> None:
    """Without openai, `mage.llm` says what to install; the prompts do not need it."""
    ran = _run("import sys; sys.modules['openai'] = None; import mage.chat; import mage.llm")
    assert "pip install 'mage-state[openai]'" in ran.stderr
    assert "mage/llm/__init__.py" in ran.stderr


def test_nothing_else_loads_the_client() -> None:
    """Importing mage and its prompts loads neither openai nor its transport."""
    ran = _run("import sys, mage, mage.chat; print({'openai', 'httpx2'} & set(sys.modules))")
    assert ran.stdout == "set()\n", ran.stderr
