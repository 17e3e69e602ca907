"""What a client shows its server never comes back out of this room, however and wherever it is echoed."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import traceback
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import ToolCall
from mage.chat.replies import Reply
from mage.effects import EffectError
from mage.llm import AsyncChatModel, ChatJudge, ChatModel, ChatSummarizer, async_client, client
from mage.llm.completions import ProviderError
from mage.llm.transport import Secrets, secrets_of
from tests.llm.requests import DECIDE, JUDGE, SUMMARY
from tests.llm.server import Answer, Completion, Raw, Request, ScriptedServer, Status, Streamed, call_of, says
from tests.llm.twins import KEY, tried

PASSWORD: Final = "geheim42"
_keys: Final = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=40)


def _as_is(key: str) -> str:
    return key


def _escaped(key: str) -> str:
    return "".join(f"\\u{ord(char):04X}" for char in key)


def _twice(key: str) -> str:
    return json.dumps(json.dumps(f"<{key}>"))


def _slashes(key: str) -> str:
    return json.dumps(key)[1:-1].replace("/", "\\/")


def _in_a_url(key: str) -> str:
    return quote(key, safe="")


def _said_by(texts: str) -> str:
    """Return what a text says when JSON and URLs are read, as often as it takes."""
    for _ in range(3):
        texts = texts.replace("\\\\", "\\")
    return texts


@pytest.mark.parametrize("spelling", [_as_is, _escaped, _twice, _slashes, _in_a_url])
@given(key=_keys, before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_secret_is_found_however_it_is_spelled(
    spelling: Callable[[str], str], key: str, before: str, after: str
) -> None:
    """As it is, as JSON spells it, within JSON, and as a URL does: `***` stands in its place, and the rest stays."""
    hidden = Secrets(frozenset({key})).hidden(f"{before} {spelling(key)} {after}")
    assert spelling(key) not in hidden or spelling(key) in f"{before} *** {after}"
    assert hidden.startswith(f"{before} ") or before in key
    assert "***" in hidden
    assert hidden.endswith(f" {after}") or after in key


@pytest.mark.parametrize("key", ["sk-0123456789", "\\" * 20, "\\/" * 20, "%" * 12, "u0075" * 4])
@pytest.mark.parametrize("piece", ["\\", "\\/", "%5c", "%", "u", "\\u0075", "s", "\\\\s"])
def test_no_text_makes_the_search_long(key: str, piece: str) -> None:
    """A key that is spelled in many ways is looked for in a long text of its pieces, and that ends."""
    text = piece * 20_000
    hidden = Secrets(frozenset({key})).hidden(text)
    assert key not in hidden
    assert len(hidden) <= len(text)


@given(text=st.text())
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    """Nothing else is changed, whatever is escaped in it."""
    assert Secrets(frozenset({"sk-0123456789"})).hidden(text) == text


def test_every_text_of_a_reply_is_cleaned() -> None:
    """Also those that nobody thinks of: an id, a name, the model, and why it stopped."""
    reply = Reply(KEY, (ToolCall(KEY, KEY, KEY),), KEY, KEY, model=KEY)
    secrets = Secrets(frozenset({KEY}))
    assert secrets.out_of(reply) == Reply("***", (ToolCall("***", "***", "***"),), "***", "***", model="***")
    assert secrets.out_of(ProviderError(400, KEY, KEY)) == ProviderError(400, "***", "***")
    assert KEY not in repr(secrets)


def test_a_word_that_stands_for_a_key_is_no_secret() -> None:
    """Servers that want no key get `none` or `EMPTY`, which may stand in any sentence."""
    for word in ("none", "EMPTY"):
        with client(base_url="http://127.0.0.1:1", environment={"OPENAI_API_KEY": word}) as ours:
            assert secrets_of(ours).texts == frozenset()


def test_what_a_client_shows_is_known_wherever_it_stands() -> None:
    """A key, an address with a name and a password, and headers of one's own, whichever client it is."""
    token = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://ada:{PASSWORD}@127.0.0.1:1/v1"}
    with client(environment=environment) as ours:
        assert secrets_of(ours).texts == {KEY, PASSWORD, f"ada:{PASSWORD}", token}
        assert str(ours.base_url) == "http://127.0.0.1:1/v1/"
        assert PASSWORD not in repr(ours)
    theirs = openai.AsyncOpenAI(
        api_key=KEY,
        base_url=f"http://ada:{PASSWORD}@127.0.0.1:1/v1",
        default_headers={"api-key": "another-secret", "X-Trace": "no secret at all"},
    )
    assert secrets_of(theirs).texts == {KEY, PASSWORD, f"ada:{PASSWORD}", "another-secret"}
    asyncio.run(theirs.close())


def _echoes(request: Request) -> list[Answer]:
    """Return answers of all kinds that echo what the client shows, wherever they can."""
    shown = request.authorization.rpartition(" ")[2]
    verdict = {"reasoning": shown, "passed": False, "fault": "summary", "feedback": f"no: {shown}"}
    nested = json.dumps({"action": f"look {shown}"})
    escaped = nested.replace(shown, _escaped(shown))
    message: dict[str, Any] = {"content": shown, "reasoning": shown, "reasoning_content": shown}
    delta = {"content": shown[:5]}, {"content": shown[5:], "tool_calls": [call_of("act", nested)]}
    return [
        Completion({**message, "tool_calls": [{**call_of("act", nested), "id": shown}]}, model=shown),
        Completion({**message, "tool_calls": [call_of("act", escaped)]}, finish="tool_calls"),
        Completion({**message, "tool_calls": [call_of(shown, nested)]}),
        Completion({**message, "tool_calls": [call_of("act", shown)]}),
        Completion({**message, "refusal": shown}),
        Completion(message, finish=shown),
        says(json.dumps(verdict)),
        says(json.dumps(verdict).replace(shown, _escaped(shown))),
        Streamed([{"choices": [{"delta": each}]} for each in delta]),
        Streamed([{"choices": [{"delta": {"content": "x"}, "finish_reason": shown}]}]),
        Status(400, {"error": {"message": f"bad {shown}", "code": shown, "type": shown}}, {"X-Echo": shown}),
        Status(500, f"you sent {shown}"),
        Status(429, {"detail": [{"msg": shown}]}, {"Retry-After": shown}),
        Raw(json.dumps({"error": {"message": shown, "code": 400}}).encode()),
    ]


_KINDS: Final = len(_echoes(Request("", {}, "Bearer x")))


@pytest.mark.parametrize("kind", range(_KINDS))
@pytest.mark.parametrize("user", ["", f"ada:{PASSWORD}@"], ids=["key", "password"])
def test_what_is_echoed_is_nowhere(kind: int, user: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not in a decision, a verdict, a text or an error, nor in what this room or the client logs of a body."""
    caplog.set_level(logging.INFO)
    seen: list[object] = []
    with ScriptedServer(answering=lambda request: _echoes(request)[kind]) as server:
        address = server.url.replace("http://", f"http://{user}")
        settings: dict[str, Any] = {"base_url": address, "max_retries": 0}
        settings["environment"] = {"OPENAI_API_KEY": KEY}
        with client(**settings) as ours:
            for stream in (False, True):
                model = ChatModel(ours, "m", stream=stream)
                judge, summarizer = (
                    ChatJudge(ours, "m", stream=stream),
                    ChatSummarizer(ours, "m", stream=stream),
                )
                seen += [tried(lambda: model(DECIDE)), tried(lambda: judge(JUDGE))]  # noqa: B023  # called at once
                seen += [tried(lambda: summarizer(SUMMARY))]  # noqa: B023  # called at once

        async def ask() -> object:
            async with async_client(**settings) as theirs:
                return await AsyncChatModel(theirs, "m")(DECIDE)

        seen.append(tried(lambda: asyncio.run(ask())))
    shown = {request.authorization.rpartition(" ")[2] for request in server.requests}
    secrets = {*shown, PASSWORD, KEY}
    said = [
        "".join(traceback.format_exception(each)) if isinstance(each, EffectError) else repr(each)
        for each in seen
    ]
    for text in [*said, *(record.getMessage() for record in caplog.records)]:
        for secret in secrets:
            assert secret not in text
            assert _escaped(secret) not in _said_by(text)
