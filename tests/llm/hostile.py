"""A server that does with a connection what it likes, and a clock that it keeps step with: no test waits.

A client whose bounds have `Pace()` for a clock is sent a piece for each of its looks at the time.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, final

_LENGTH: Final = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def head(*headers: str, status: str = "200 OK") -> bytes:
    """Return the beginning of a response, up to its body."""
    return "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *headers, "\r\n"]).encode()


@final
class Pace:
    """A clock on which a second passes with each look at it, and a gate that opens once for each of them."""

    def __init__(self) -> None:
        self._looks = threading.Semaphore(0)
        self._now = 0
        self._is_over = False

    def __call__(self) -> float:
        """Return the time."""
        self._now += 1
        self._looks.release()
        return float(self._now)

    def wait(self) -> bool:
        """Wait for the next look; tell whether there is one."""
        self._looks.acquire()
        return not self._is_over

    def stop(self) -> None:
        """Let go of whoever waits."""
        self._is_over = True
        self._looks.release()


def trickled(wire: socket.socket, pace: Pace, before: bytes, piece: bytes) -> None:
    """Send a beginning, and then a piece for each look at the clock, for ever."""
    wire.sendall(before)
    while pace.wait():
        wire.sendall(piece)


@final
class Hostile:
    """A server to use in a `with` statement; it hands each connection over once a request is read.

    Attributes:
        connections: how many requests there were.
        heads: what their headers were.
    """

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self.heads: list[bytes] = []
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def connections(self) -> int:
        """How many requests there were."""
        return len(self.heads)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def __enter__(self) -> Hostile:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                wire, _ = self._listening.accept()
                with wire, contextlib.suppress(OSError):  # the client may have gone
                    self._read(wire)
                    self._answer(wire)

    def _read(self, wire: socket.socket) -> None:
        came = b""
        while b"\r\n\r\n" not in came:
            came += wire.recv(65_536)
        headers, _, body = came.partition(b"\r\n\r\n")
        found = _LENGTH.search(headers)
        missing = (int(found[1]) if found else 0) - len(body)
        while missing > 0:
            missing -= len(wire.recv(65_536))
        self.heads.append(headers)
