"""Connections that keep a call's deadline: what speaks HTTP reads and writes through these, and through nothing else.

They stand below TLS and HTTP, where a header that trickles in is a read like any other.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast, final

import httpcore2

from mage.llm.bounds import within

__all__ = ["AsyncWire", "Wire"]

_PIECE: Final = 65_536
"""So many bytes are written at once: the deadline is looked at in between."""
_Options = Iterable[Any]  # Any: socket options, in the client's own type


def _pieces(buffer: bytes) -> Iterator[bytes]:
    for start in range(0, len(buffer), _PIECE):
        yield buffer[start : start + _PIECE]


@final
class Wire(httpcore2.NetworkBackend):
    """Opens connections that keep the deadline of the call that uses them."""

    def __init__(self) -> None:
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _Options | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to one address of a host after the other; all of them share the deadline."""
        failed: httpcore2.NetworkError | httpcore2.TimeoutException | None = None
        for address in _addresses(host, port):
            try:
                with within(timeout) as rest:
                    opened = self._backend.connect_tcp(
                        address, port, rest, local_address, socket_options or ()
                    )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                return _Stream(opened)
        raise failed or httpcore2.ConnectError(f"{host} has no address")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: _Options | None = None
    ) -> httpcore2.NetworkStream:
        """Refuse: no address of a server names one."""
        raise httpcore2.UnsupportedProtocol(path)


def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host, each once. The system bounds how long it looks for them, not the deadline."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


@final
class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with within(timeout) as rest:
            return self._stream.read(max_bytes, rest)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for piece in _pieces(buffer):
            with within(timeout) as rest:
                self._stream.write(piece, rest)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        with within(timeout) as rest:
            return _Stream(self._stream.start_tls(ssl_context, server_hostname, rest))

    def get_extra_info(self, info: str) -> Any:  # Any: as the client's own
        return self._stream.get_extra_info(info)


@final
class AsyncWire(httpcore2.AsyncNetworkBackend):
    """A `Wire` that is awaited."""

    def __init__(self) -> None:
        self._backend = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _Options | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host; to look for its addresses counts too."""
        with within(timeout) as rest:
            return _AsyncStream(
                await self._backend.connect_tcp(host, port, rest, local_address, socket_options)
            )

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: _Options | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: no address of a server names one."""
        raise httpcore2.UnsupportedProtocol(path)


@final
class _AsyncStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with within(timeout) as rest:
            return await self._stream.read(max_bytes, rest)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for piece in _pieces(buffer):
            with within(timeout) as rest:
                await self._stream.write(piece, rest)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        with within(timeout) as rest:
            return _AsyncStream(await self._stream.start_tls(ssl_context, server_hostname, rest))

    def get_extra_info(self, info: str) -> Any:  # Any: as the client's own
        return self._stream.get_extra_info(info)
