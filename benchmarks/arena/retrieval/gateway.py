"""What another's memory system is given in place of a provider: a server on loopback that counts.

Chat completions are passed on to the user's server as they are, and their tokens are counted, whatever the system
itself makes of them; calls that come to nothing are counted too, as some systems hide them. Embeddings are answered
here, by MiniLM.
"""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, final

import openai

from benchmarks.arena.retrieval.attached import Spent
from benchmarks.arena.retrieval.minilm import NAME, minilm
from mage.effects import Usage
from mage.tokens import TokenCounter

_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a request. A trace is cut long before."""


@final
class Gateway:
    """A server of the interface of OpenAI, to use in a `with` statement.

    Attributes:
        models: the names by which whoever answered has called itself.
    """

    def __init__(self, client: openai.OpenAI | None, counter: TokenCounter) -> None:
        """Make a server.

        Args:
            client: reaches the models; None where there is none, and whoever asks for one is refused.
            counter: counts what a server has not.
        """
        self.models: set[str] = set()
        self._client = client
        self._counter = counter
        self._spent = Spent()
        self._lock = threading.Lock()
        self._http = _Http(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def spent(self) -> Spent:
        """Return what was taken so far; embeddings are counted where they are made."""
        with self._lock:
            return self._spent

    def __enter__(self) -> Gateway:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the body for a request. Never raises what a client or a server has done wrong."""
        if path.endswith("/embeddings"):
            return _embeddings(body)
        if not path.endswith("/chat/completions"):
            return _refused(404, "chat completions and embeddings are served here, and nothing else")
        if body.get("stream"):
            return _refused(400, "no streams are served here")
        status, answer = self._asked(body)
        self._count(status, body, answer)
        return status, answer

    def _asked(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self._client is None:
            return _refused(400, "no model was named for the memory system: --memory-model NAME")
        try:
            answer = self._client.post("/chat/completions", cast_to=object, body=body)
        except openai.APIStatusError as error:
            return _refused(error.status_code, str(error))
        except openai.OpenAIError as error:
            return _refused(502, f"{type(error).__name__}: {error}")
        return (
            (200, dict(answer))
            if isinstance(answer, Mapping)
            else _refused(502, "the server answered no object")
        )

    def _count(self, status: int, body: dict[str, Any], answer: dict[str, Any]) -> None:
        with self._lock:
            before = self._spent
            if status != 200:
                self._spent = Spent(before.usage, before.failed + 1, before.embedded)
                return
            self.models.add(str(answer.get("model") or body.get("model")))
            self._spent = Spent(before.usage + self._usage(body, answer), before.failed, before.embedded)

    def _usage(self, body: dict[str, Any], answer: dict[str, Any]) -> Usage:
        said = answer.get("usage") or {}
        prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int) and prompt > 0 <= completion:
            return Usage(prompt, completion)
        asked = self._counter.count(json.dumps(body.get("messages"), ensure_ascii=False))
        replied = self._counter.count(json.dumps(answer.get("choices"), ensure_ascii=False))
        return Usage(asked, replied, estimated=1)


def _refused(status: int, why: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": why, "type": "memory_gateway", "code": None}}


def _embeddings(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return _refused(400, "`input` is no text and no list of texts")
    model = minilm()
    before = model.read
    vectors: list[Any] = model(texts)
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{len(each)}f", *each)).decode() for each in vectors]
    data = [{"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(vectors)]
    taken = {"prompt_tokens": model.read - before, "total_tokens": model.read - before}
    return 200, {"object": "list", "model": NAME, "data": data, "usage": taken}


@final
class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.gateway = gateway


@final
class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # the name that http.server looks for
        assert isinstance(self.server, _Http)
        status, body = read_json(self)
        if status == 200:
            status, body = self.server.gateway.answer(self.path.partition("?")[0], body)
        send_json(self, status, body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
        """Say nothing."""


def read_json(handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, Any]]:
    """Return 200 and the JSON object of a request, or a status and why there is none."""
    length = handler.headers.get("Content-Length", "")
    if not length.isdecimal() or int(length) > _LARGEST:
        handler.close_connection = True
        return _refused(413, f"a request has a length, of at most {_LARGEST} bytes")
    try:
        body = json.loads(handler.rfile.read(int(length)))
    except ValueError:
        return _refused(400, "the body is no JSON")
    return (200, body) if isinstance(body, dict) else _refused(400, "the body is no JSON object")


def send_json(handler: BaseHTTPRequestHandler, status: int, body: Mapping[str, object]) -> None:
    """Send an answer. A client that has gone is let go."""
    data = json.dumps(body).encode()
    try:
        handler.send_response_only(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
    except (BrokenPipeError, ConnectionResetError):
        handler.close_connection = True
