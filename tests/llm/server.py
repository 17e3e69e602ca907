"""A scripted server of OpenAI's chat completions, on loopback: real HTTP, no model.

    with ScriptedServer(says("hello"), Status(429, headers={"Retry-After": "7"})) as server:
        with openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
            ...
    assert [request.body["model"] for request in server.requests] == [...]

Each request gets the next answer of the script; one that finds the script at its end is answered 500 with
the code `script_ended`. In place of a script, a function may look at the request and answer it, which is a
model that knows what it is doing: `ScriptedServer(answering=lambda request: calls("act", action="look"))`.

Answers: `says`, `calls`, `Completion` (200 with a completion), `Raw` (200 with any body), `Status` (an
error), `Dropped` (the connection breaks), `Silent` (no answer until the server closes), `Streamed` (events).
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias, final

import attrs

Json: TypeAlias = dict[str, Any]  # JSON as tests write it
USAGE: Json = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}


@final
@attrs.frozen
class Raw:
    """A 200 with this body, whatever it is."""

    body: bytes
    content_type: str = "application/json"


@final
@attrs.frozen
class Status:
    """An error, with a JSON body or a text."""

    status: int
    body: Json | str = attrs.field(factory=lambda: {"error": {"message": "no", "type": "x", "code": None}})
    headers: Mapping[str, str] = attrs.field(factory=dict)


@final
@attrs.frozen
class Dropped:
    """The connection breaks: before any answer, or within the body after `sent` bytes of it."""

    body: bytes = b""
    content_type: str = "application/json"


@final
@attrs.frozen
class Silent:
    """No answer comes until the server closes."""


@final
@attrs.frozen
class Streamed:
    """An event stream of these chunks; `ends` False leaves out what ends it, `breaks` breaks the connection."""

    chunks: Sequence[Json | str]
    ends: bool = True
    breaks: bool = False


Answer: TypeAlias = Raw | Status | Dropped | Silent | Streamed


def Completion(  # noqa: N802  # reads as the values beside it
    message: Json, *, finish: str | None = "stop", usage: Json | None = USAGE, model: str = "scripted-1"
) -> Raw:
    """Return a 200 with one choice; `usage` None leaves it out."""
    body: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = usage
    return Raw(json.dumps(body).encode())


def says(text: str | None, *, finish: str | None = "stop", **message: Any) -> Raw:
    """Return a completion with this content; `refusal=` and the like stand beside it."""
    return Completion({"content": text, **message}, finish=finish)


def call_of(name: str, arguments: str, place: int = 0) -> Json:
    """Return a call as it stands in a message; `arguments` as written, JSON or not."""
    return {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(name: str, /, **arguments: Any) -> Raw:
    """Return a completion that calls one tool."""
    call = call_of(name, json.dumps(arguments))
    return Completion({"content": None, "tool_calls": [call]}, finish="tool_calls")


@final
@attrs.frozen
class Request:
    """What a client has sent.

    Attributes:
        path: such as `/v1/chat/completions`.
        body: its JSON.
        authorization: that header.
    """

    path: str
    body: Json
    authorization: str = attrs.field(repr=False)


@final
class ScriptedServer:
    """A server to use in a `with` statement; see the module.

    Attributes:
        requests: every request so far, in the order in which they came.
    """

    def __init__(self, *script: Answer, answering: Callable[[Request], Answer] | None = None) -> None:
        self.requests: list[Request] = []
        self._script = list(script)
        self._answering = answering
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def left(self) -> int:
        """How many answers of the script were not asked for."""
        return len(self._script)

    def wait_closing(self) -> None:
        """Wait until the server closes."""
        self._closing.wait()

    def answer(self, request: Request) -> Answer:
        """Note a request and return what it gets."""
        with self._lock:
            self.requests.append(request)
            if self._answering is not None:
                return self._answering(request)
            if self._script:
                return self._script.pop(0)
        return Status(500, {"error": {"message": "the script is at its end", "code": "script_ended"}})

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@final
class _Http(ThreadingHTTPServer):
    """The HTTP under a scripted server."""

    # A client that waits for a silent server is let go by the event, not by the end of its thread.
    daemon_threads = True
    block_on_close = False

    def __init__(self, scripted: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripted = scripted


@final
class _Handler(BaseHTTPRequestHandler):
    """Takes one request and sends its answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # the name http.server looks for
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        self.close_connection = True
        assert isinstance(self.server, _Http)
        scripted = self.server.scripted
        answer = scripted.answer(Request(self.path, body, self.headers.get("Authorization", "")))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client may have gone
            if isinstance(answer, Silent):
                scripted.wait_closing()
            else:
                self._send(answer)

    def _send(self, answer: Raw | Status | Dropped | Streamed) -> None:
        match answer:
            case Raw(body, content_type):
                self._whole(200, body, content_type, {})
            case Status(status, body, headers):
                written = body if isinstance(body, str) else json.dumps(body)
                kind = "text/plain" if isinstance(body, str) else "application/json"
                self._whole(status, written.encode(), kind, headers)
            case Dropped(body, content_type) if body:
                self._head(200, content_type, {"Content-Length": str(len(body) + 1000)})
                self.wfile.write(body)
            case Dropped():
                pass
            case Streamed():
                self._stream(answer)

    def _whole(self, status: int, body: bytes, content_type: str, headers: Mapping[str, str]) -> None:
        self._head(status, content_type, {"Content-Length": str(len(body)), **headers})
        self.wfile.write(body)

    def _stream(self, answer: Streamed) -> None:
        self._head(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for chunk in answer.chunks:
            self._piece(chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}\n\n")
        if answer.ends:
            self._piece("data: [DONE]\n\n")
        if not answer.breaks:
            self.wfile.write(b"0\r\n\r\n")

    def _piece(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _head(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response_only(status)  # without a Date and a Server that nobody asked for
        for name, value in {"Content-Type": content_type, "Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
        """Say nothing."""
