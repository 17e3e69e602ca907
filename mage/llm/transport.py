"""The HTTP clients under both twins: deadlines and sizes are bounded, and no other server is asked than the one that was named."""

from __future__ import annotations

import contextlib
import ipaddress
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final, TypedDict, final
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2
import openai

from mage.llm.bounds import Bounds, begun, within
from mage.llm.incoming import Meter, headers_of, refuse_elsewhere
from mage.llm.wire import AsyncWire, Wire

__all__ = ["LacksSocks", "async_http_client", "http_client"]

_MOST_REDIRECTS: Final = 5
_ERRORS: Final[Mapping[type[Exception], type[httpx2.HTTPError]]] = MappingProxyType(
    {
        httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
        httpcore2.ReadTimeout: httpx2.ReadTimeout,
        httpcore2.WriteTimeout: httpx2.WriteTimeout,
        httpcore2.PoolTimeout: httpx2.PoolTimeout,
        httpcore2.ConnectError: httpx2.ConnectError,
        httpcore2.ReadError: httpx2.ReadError,
        httpcore2.WriteError: httpx2.WriteError,
        httpcore2.ProxyError: httpx2.ProxyError,
        httpcore2.UnsupportedProtocol: httpx2.UnsupportedProtocol,
        httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
        httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
    }
)


class LacksSocks(ImportError):
    """The environment names a SOCKS proxy, and the package that speaks to one is not installed."""


class _Pooling(TypedDict):
    ssl_context: ssl.SSLContext | None
    proxy: httpcore2.Proxy | None
    max_connections: int | None
    max_keepalive_connections: int | None
    keepalive_expiry: float | None


def http_client(address: str, bounds: Bounds) -> httpx2.Client:
    """Return a client for one server; nothing is sent.

    Raises:
        LacksSocks: the environment names a SOCKS proxy, and nothing here speaks to one.
        ValueError: it names a proxy that is none.
        httpx2.InvalidURL: as `ValueError`.
    """
    pool = httpcore2.ConnectionPool(network_backend=Wire(), **_pooling(httpx2.URL(address)))
    return httpx2.Client(transport=_Transport(pool, bounds), **_SETTINGS)


def async_http_client(address: str, bounds: Bounds) -> httpx2.AsyncClient:
    """Return a client that is awaited; see `http_client`."""
    pool = httpcore2.AsyncConnectionPool(network_backend=AsyncWire(), **_pooling(httpx2.URL(address)))
    return httpx2.AsyncClient(transport=_AsyncTransport(pool, bounds), **_SETTINGS)


_SETTINGS: Final[Any] = {  # Any: keywords of both clients
    "headers": {"Accept-Encoding": "identity"},
    "follow_redirects": True,  # within the server
    "max_redirects": _MOST_REDIRECTS,
}


def _pooling(server: httpx2.URL) -> _Pooling:
    """Return how connections to a server are made."""
    limits = openai.DEFAULT_CONNECTION_LIMITS
    proxy = _proxy_to(server)
    secure = server.scheme == "https" or (proxy is not None and proxy.url.scheme == b"https")
    return {
        "ssl_context": httpx2.create_ssl_context() if secure else None,  # reading all authorities takes long
        "proxy": proxy,
        "max_connections": limits.max_connections,
        "max_keepalive_connections": limits.max_keepalive_connections,
        "keepalive_expiry": limits.keepalive_expiry,
    }


def _proxy_to(server: httpx2.URL) -> httpcore2.Proxy | None:
    """Return the proxy that the process' environment names for a server."""
    named = getproxies()
    given = named.get(server.scheme) or named.get("all")
    if not given or _is_excepted(server.host, named.get("no", "")):
        return None
    proxy = httpx2.Proxy(given if "://" in given else f"http://{given}")
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise LacksSocks
    url = httpcore2.URL(
        scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=proxy.url.raw_path
    )
    return httpcore2.Proxy(url, auth=proxy.raw_auth, headers=proxy.headers.raw)


def _is_excepted(host: str, exceptions: str) -> bool:
    """Tell whether `NO_PROXY` names a host, or a network that it is in."""
    if proxy_bypass(host):
        return True
    for named in exceptions.split(","):
        with contextlib.suppress(ValueError):  # one of both is a name
            if ipaddress.ip_address(host) in ipaddress.ip_network(named.strip().strip("[]"), strict=False):
                return True
    return False


@contextlib.contextmanager
def _as_the_client_says_it() -> Iterator[None]:
    """Turn errors of the connections into those that the client above knows."""
    try:
        yield
    except tuple(_ERRORS) as error:
        known = next(ours for theirs, ours in _ERRORS.items() if isinstance(error, theirs))
        raise known(str(error)) from error


def _request(request: httpx2.Request, bounds: Bounds) -> httpcore2.Request:
    """Return a request as the connections take it; from the first one on the time of its call runs."""
    begun(bounds)
    url, timeouts = request.url, dict(request.extensions.get("timeout") or {})
    with within(timeouts.get("pool")) as rest:  # to wait for a connection that others use counts too
        timeouts["pool"] = rest
    return httpcore2.Request(
        method=request.method,
        url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions={**request.extensions, "timeout": timeouts},
    )


def _response(request: httpx2.Request, came: httpcore2.Response, body: _Body | _AsyncBody) -> httpx2.Response:
    headers = headers_of(came.status, httpx2.Headers(came.headers))
    response = httpx2.Response(
        came.status, headers=headers, stream=body, extensions=came.extensions, request=request
    )
    refuse_elsewhere(response)
    return response


@final
class _Transport(httpx2.BaseTransport):
    def __init__(self, pool: httpcore2.ConnectionPool, bounds: Bounds) -> None:
        self._pool = pool
        self._bounds = bounds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        with _as_the_client_says_it():
            came = self._pool.handle_request(_request(request, self._bounds))
        with contextlib.ExitStack() as closing:
            closing.callback(came.close)
            response = _response(request, came, _Body(came, self._bounds))
            closing.pop_all()
        return response

    def close(self) -> None:
        self._pool.close()


@final
class _Body(httpx2.SyncByteStream):
    def __init__(self, came: httpcore2.Response, bounds: Bounds) -> None:
        self._came = came
        self._meter = Meter(httpx2.Headers(came.headers), bounds)

    def __iter__(self) -> Iterator[bytes]:
        with _as_the_client_says_it():
            for piece in self._came.iter_stream():
                yield from self._meter.take(piece)

    def close(self) -> None:
        self._came.close()


@final
class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, pool: httpcore2.AsyncConnectionPool, bounds: Bounds) -> None:
        self._pool = pool
        self._bounds = bounds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        with _as_the_client_says_it():
            came = await self._pool.handle_async_request(_request(request, self._bounds))
        async with contextlib.AsyncExitStack() as closing:
            closing.push_async_callback(came.aclose)
            response = _response(request, came, _AsyncBody(came, self._bounds))
            closing.pop_all()
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()


@final
class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, came: httpcore2.Response, bounds: Bounds) -> None:
        self._came = came
        self._meter = Meter(httpx2.Headers(came.headers), bounds)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_the_client_says_it():
            async for piece in self._came.aiter_stream():
                for part in self._meter.take(piece):
                    yield part

    async def aclose(self) -> None:
        await self._came.aclose()
