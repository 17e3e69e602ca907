"""JSON over HTTP, both ends, on the standard library alone: a memory system may live where no client of ours does."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, TypeAlias, final
from urllib.parse import urlsplit, urlunsplit

import attrs

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a request or a reply. A trace is cut long before."""
_LONGEST: Final = 200
"""Characters of a server's words that are passed on."""
_WAIT: Final = 600.0
"""Seconds for a reply: a system may ask models for it."""


@final
@attrs.frozen
class NoAnswer(Exception):
    """A server cannot be reached, or has not answered as it should; the message says so, without its address.

    Attributes:
        reason: in words.
        status: of HTTP; 0 where there was none.
    """

    reason: str
    status: int = 0

    def __str__(self) -> str:
        return self.reason


@final
@attrs.frozen
class Address:
    """Where a server is, and what goes along with each request to it.

    Attributes:
        url: without a name and a password.
        headers: they are in here.
    """

    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)

    @classmethod
    def of(cls, url: str, key: str = "") -> Address:
        """Return the address that a URL is; a name and a password in it go before a key."""
        parts = urlsplit(url)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        if parts.username or parts.password:
            pair = f"{parts.username or ''}:{parts.password or ''}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        host = parts.netloc.rpartition("@")[2]
        return cls(urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")), headers)


def post(address: Address, path: str, body: Mapping[str, object]) -> dict[str, Any]:  # Any: JSON
    """Return the JSON object that a server answers.

    Raises:
        NoAnswer: there is none.
    """
    try:
        data = json.dumps(body).encode()
        request = urllib.request.Request(address.url + path, data, dict(address.headers), method="POST")
        with urllib.request.urlopen(request, timeout=_WAIT) as reply:
            said = reply.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        with error:
            words = error.read(LARGEST).decode(errors="replace")[:_LONGEST]
        raise NoAnswer(f"the server answers {error.code} to {path}: {words}", error.code) from None
    except (OSError, ValueError) as error:  # no connection, no HTTP, or an address that is none
        raise NoAnswer(f"the server cannot be reached: {getattr(error, 'reason', error)}") from None
    if len(said) > LARGEST:
        raise NoAnswer(f"the server's reply to {path} is longer than {LARGEST} bytes")
    try:
        found = json.loads(said or b"{}")
    except ValueError:
        raise NoAnswer(f"the server's reply to {path} is no JSON") from None
    if not isinstance(found, dict):
        raise NoAnswer(f"the server's reply to {path} is no JSON object")
    return found


# -- the other end ------------------------------------------------------------------------------------------


def received(handler: BaseHTTPRequestHandler) -> dict[str, Any] | NoAnswer:
    """Return the JSON object of a request, or why there is none."""
    length = handler.headers.get("Content-Length", "")
    if not length.isdecimal() or int(length) > LARGEST:
        handler.close_connection = True
        return NoAnswer(f"a request has a length, of at most {LARGEST} bytes", 413)
    try:
        body = json.loads(handler.rfile.read(int(length)))
    except ValueError:
        return NoAnswer("the body is no JSON", 400)
    return body if isinstance(body, dict) else NoAnswer("the body is no JSON object", 400)


def send(handler: BaseHTTPRequestHandler, status: int, body: Mapping[str, object]) -> None:
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


Answer: TypeAlias = Callable[[str, dict[str, Any]], tuple[int, Mapping[str, object]]]
"""Answers a path and a JSON object by a status and a JSON object."""


@final
class JsonServer(ThreadingHTTPServer):
    """A server of JSON objects over POST, a thread for each request; `server_address` is where it listens."""

    daemon_threads = True
    block_on_close = False

    def __init__(
        self, address: tuple[str, int], answer: Answer, refusal: Callable[[str], Mapping[str, object]]
    ) -> None:
        """Listen at an address, port 0 for any.

        Args:
            address: the host and the port.
            answer: answers each request; the query of its path is left out.
            refusal: returns a reason in words as the body that says why a request cannot be read.
        """
        super().__init__(address, _Handler)
        self.answer = answer
        self.refusal = refusal


@final
class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # the name that http.server looks for
        assert isinstance(self.server, JsonServer)
        body = received(self)
        if isinstance(body, NoAnswer):
            send(self, body.status, self.server.refusal(body.reason))
        else:
            send(self, *self.server.answer(self.path.partition("?")[0], body))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
        """Say nothing."""
