"""A reply has a deadline and a largest size as a whole, whatever its server does, and only that server is asked."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.effects import Decision, EffectError, Metered
from mage.llm import AsyncChatModel, ChatModel
from mage.llm.clients import Bounds, GaveUp, Meter, async_http_client, http_client
from tests.llm.hostile import Hostile, Pace, head, trickled
from tests.llm.requests import DECIDE
from tests.llm.server import ScriptedServer, Status, Streamed, calls
from tests.llm.twins import KEY, decided, tried

_REAL: Final = 20.0
"""Seconds for which no socket of a test is silent."""
_JSON: Final = "Content-Type: application/json"
_EVENTS: Final = "Content-Type: text/event-stream"
Twin: TypeAlias = Callable[..., "Metered[Decision] | EffectError"]


def _called(
    url: str, bounds: Bounds, *, retries: int = 0, **settings: Any
) -> Metered[Decision] | EffectError:
    http = http_client(url, bounds)
    with openai.OpenAI(
        api_key=KEY, base_url=url, http_client=http, max_retries=retries, timeout=_REAL
    ) as ours:
        return tried(lambda: ChatModel(ours, "m", **settings)(DECIDE))


def _awaited(
    url: str, bounds: Bounds, *, retries: int = 0, **settings: Any
) -> Metered[Decision] | EffectError:
    async def ask() -> Metered[Decision]:
        http = async_http_client(url, bounds)
        async with openai.AsyncOpenAI(
            api_key=KEY, base_url=url, http_client=http, max_retries=retries, timeout=_REAL
        ) as ours:
            return await AsyncChatModel(ours, "m", **settings)(DECIDE)

    return tried(lambda: asyncio.run(ask()))


@pytest.fixture(params=[_called, _awaited], ids=["called", "awaited"])
def ask(request: pytest.FixtureRequest) -> Twin:
    """How a model is asked: by each of the twins."""
    twin: Twin = request.param
    return twin


def _check(got: Metered[Decision] | EffectError, fault: str, words: str) -> None:
    assert isinstance(got, EffectError)
    assert got.fault == fault
    assert words in got.detail


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("before", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (head(_JSON, "Content-Length: 100000"), b" "),
        (head(_JSON, "Content-Length: 100000", status="400 Bad Request"), b" "),
        (head(_EVENTS), b": still there\n\n"),
        (head(_EVENTS, "Transfer-Encoding: chunked"), b"1\r\na\r\n"),
    ],
    ids=["a header", "hints", "a body", "an error", "comments", "chunks"],
)
def test_what_trickles_in_for_ever_is_given_up(ask: Twin, before: bytes, piece: bytes, stream: bool) -> None:
    """Each piece comes in time, the whole never: after the deadline it is a timeout, and nobody asks again."""
    pace = Pace()
    with Hostile(lambda wire: trickled(wire, pace, before, piece)) as server:
        got = ask(server.url, Bounds(60, 10**6, pace), stream=stream, retries=2)
        pace.stop()
    _check(got, "timeout", "not whole within 60 s")
    assert server.connections == 1


def test_the_deadline_is_that_of_all_repetitions(ask: Twin) -> None:
    """A server that breaks every connection is asked again while there is time, and then no more."""
    pace = Pace()
    with Hostile(lambda wire: None) as server:
        got = ask(server.url, Bounds(12, 10**6, pace), retries=3)
    _check(got, "timeout", "not whole within 12 s")
    assert 1 <= server.connections <= 2


def test_a_wait_that_goes_past_the_deadline_is_not_begun(ask: Twin) -> None:
    """A provider that wants to be left alone for longer than the call may take is not asked again: what it said is told."""
    busy = Status(429, {"error": {"message": "slow down"}}, {"Retry-After": "90"})
    with ScriptedServer(busy, calls("act", action="x")) as server:
        got = ask(server.url, Bounds(60, 10**6), retries=2)
        assert server.left == 1
    _check(got, "rate_limit", "90 s")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "500 Oops"])
@pytest.mark.parametrize("kind", [_JSON, _EVENTS])
def test_an_endless_reply_ends_at_the_largest(ask: Twin, kind: str, status: str, stream: bool) -> None:
    """No more is read than may be, of a reply or of an error, and it is not asked for again."""

    def endless(wire: socket.socket) -> None:
        wire.sendall(head(kind, status=status))
        while True:
            wire.sendall(b"data: {}\n\n" * 100)

    retries = 0 if status == "500 Oops" else 2  # a failure of the server is repeated before it is read
    with Hostile(endless) as server:
        got = ask(server.url, Bounds(600, 50_000), stream=stream, retries=retries)
    assert server.connections == 1
    _check(got, "server", "larger than 50,000 bytes")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_a_body_that_unpacks_to_more_is_given_up(ask: Twin, packing: str, status: str, stream: bool) -> None:
    """A thousand times what was sent is not unpacked, where nobody asked for anything packed."""
    text = b" " * 5_000_000
    body = gzip.compress(text) if packing == "gzip" else zlib.compress(text)

    def packed(wire: socket.socket) -> None:
        wire.sendall(head(_JSON, f"Content-Encoding: {packing}", status=status) + body)

    with Hostile(packed) as server:
        got = ask(server.url, Bounds(600, 1_000_000), stream=stream)
    _check(got, "server", "larger than 1,000,000 bytes")
    assert b"accept-encoding: identity" in server.heads[0].lower()


@given(data=st.binary(max_size=300), times=st.integers(1, 5000), largest=st.integers(0, 200_000))
def test_no_more_is_unpacked_than_is_taken(data: bytes, times: int, largest: int) -> None:
    """Whatever is packed comes out piece by piece, each of them small, up to the largest and not a byte more."""
    text = data * times
    meter = Meter(httpx2.Headers({"content-encoding": "gzip"}), Bounds(1, largest))
    packed, got = gzip.compress(text), b""
    try:
        for start in range(0, len(packed), 50):
            for piece in meter.take(packed[start : start + 50]):
                assert len(piece) <= 65_536
                got += piece
    except GaveUp:
        assert len(text) > largest or len(packed) > largest
    else:
        assert got == text
    assert len(got) <= largest
    assert text.startswith(got)


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "bzip2"])
def test_what_is_packed_in_another_way_is_refused(ask: Twin, packing: str) -> None:
    """Some unpack to any size at once, and in layers all do: nobody asked for them."""
    with Hostile(lambda wire: wire.sendall(head(_JSON, f"Content-Encoding: {packing}") + b"x")) as server:
        got = ask(server.url, Bounds(600, 10**6))
    _check(got, "server", "not asked for")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
def test_no_charset_unpacks_a_body(ask: Twin, status: str, stream: bool) -> None:
    """Python knows zlib as a charset, too: a body is UTF-8, whatever its server calls it."""
    body = zlib.compress(b'{"error": {"message": "unpacked", "code": "unpacked"}}')
    kind = "Content-Type: application/json; charset=zlib"
    with Hostile(lambda wire: wire.sendall(head(kind, status=status) + body)) as server:
        got = ask(server.url, Bounds(600, 10**6), stream=stream)
    assert isinstance(got, EffectError)
    assert "unpacked" not in got.detail


def test_a_packed_reply_is_read_all_the_same() -> None:
    """A proxy that packs what was not asked to be packed does no harm, and no length that it gives is relied on."""
    reply = calls("act", action="look")
    body = gzip.compress(reply.body)
    with Hostile(lambda wire: wire.sendall(head(_JSON, "Content-Encoding: gzip") + body)) as server:
        got = _called(server.url, Bounds(600, 10**6))
    assert isinstance(got, Metered)
    with Hostile(lambda wire: wire.sendall(head(_JSON, "Content-Encoding: gzip") + b"no gzip")) as server:
        _check(_called(server.url, Bounds(600, 10**6)), "dropped", "broke")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("elsewhere", ["another port", "another host", "another scheme", "no address"])
def test_a_redirect_to_another_server_is_not_followed(ask: Twin, status: int, elsewhere: str) -> None:
    """Neither the key nor a text is sent where the user has not sent it, and the error says what happened."""
    with ScriptedServer(calls("act", action="x")) as other:
        port = other.url.rpartition(":")[2]
        place = {
            "another port": f"{other.url}/chat/completions",
            "another host": f"http://localhost:{port}/chat/completions",
            "another scheme": f"https://127.0.0.1:{port}",
            "no address": "http://[",
        }[elsewhere]
        with ScriptedServer(Status(status, "", {"Location": place})) as server:
            got = ask(server.url, Bounds(600, 10**6), retries=2)
        assert len(server.requests) == 1
        assert other.requests == []
    _check(got, "rejected", "redirects to another address")


def test_a_redirect_within_the_server_is_followed(ask: Twin) -> None:
    """A server may say that its path is another one; in circles it sends nobody for long."""
    there = Status(307, "", {"Location": "/v1/chat/completions/"})
    with ScriptedServer(there, calls("act", action="x")) as server:
        got = ask(server.url, Bounds(600, 10**6))
    assert isinstance(got, Metered)
    assert [request.path for request in server.requests] == ["/v1/chat/completions", "/v1/chat/completions/"]
    with ScriptedServer(answering=lambda request: there) as server:
        got = ask(server.url, Bounds(600, 10**6))
    assert len(server.requests) == 6
    _check(got, "rejected", "redirects in circles")


def test_many_calls_in_a_stream_do_not_look_for_each_other() -> None:
    """Pieces of thousands of calls, in any order, come to their own call: each is found by its index."""
    first = [{"index": n, "id": f"c{n}", "function": {"name": "act"}} for n in range(3000)]
    rest = [{"index": n, "function": {"arguments": '{"action": "look"}'}} for n in reversed(range(3000))]
    deltas = [{"choices": [{"delta": {"tool_calls": pieces}}]} for pieces in (first, rest)]
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    outcome = decided(Streamed([*deltas, end]), stream=True)
    assert [action.call for action in outcome.value.actions] == [f"c{n}" for n in range(3000)]
