"""Clients from the environment, and how long a whole call of theirs may take and how large its reply may be.

`OPENAI_API_KEY` is the key, `OPENAI_BASE_URL` the address of a server that is not OpenAI's.

A timeout of a single read does not bound a reply: a server that sends a byte now and then keeps a reader for ever.
So a call has a deadline, which counts all of it: every connection, header, body and repetition. The streams below
TLS and HTTP look at the deadline before each operation on a socket, and give no operation more time than is left.
A redirect to another server is refused: that server would get the key and the texts.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import re
import socket
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import Any, Final, TypedDict, cast, final
from urllib.request import getproxies, proxy_bypass

import attrs
import httpcore2
import httpx2
import openai

from mage.effects import EffectError
from mage.engine.errors import MageError

_OPENAI: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "none"
"""The key for a server that wants none; the client insists on one."""
_LARGEST: Final = 16 * 1024 * 1024
_TIMEOUTS: Final = 5
"""The default deadline of a call, in timeouts: enough for a repetition or two."""


@final
class MissingKey(MageError):
    """The server is OpenAI's, and the environment holds no key for it."""

    def __str__(self) -> str:
        return (
            "no key for OpenAI: set OPENAI_API_KEY, or OPENAI_BASE_URL to the address of another server "
            "(which gets OPENAI_API_KEY where it is set)"
        )


@final
class BadKey(MageError, ValueError):
    """No HTTP header can carry the text in `OPENAI_API_KEY`. The message does not quote it: it may be most of a key."""

    def __str__(self) -> str:
        return "OPENAI_API_KEY is no key: it holds a character that is not ASCII, a space or a line break; set it again"


@final
class BadAddress(MageError, ValueError):
    """The address of the server is none. The message does not quote it: it may hold a password."""

    def __str__(self) -> str:
        return "base_url, or OPENAI_BASE_URL, is no address of a server: it is one such as http://localhost:8080/v1"


@final
@attrs.define
class BadProxy(MageError, ValueError):
    """The environment names a proxy that cannot be used. The message does not quote it: it may hold a password.

    Attributes:
        lacks: the package that this kind of proxy needs; empty where the address is wrong.
    """

    lacks: str = attrs.field(default="", kw_only=True)

    def __str__(self) -> str:
        where = "the proxy of ALL_PROXY, HTTPS_PROXY, HTTP_PROXY or NO_PROXY cannot be used"
        if self.lacks:
            return f"{where}: a SOCKS proxy needs one package more: pip install {self.lacks}"
        return f"{where}: an address begins with http://, https:// or socks5://"


def client(
    *,
    base_url: str | None = None,
    timeout: float = 120.0,
    deadline: float | None = None,
    largest: int = _LARGEST,
    max_retries: int = 2,
    environment: Mapping[str, str] | None = None,
) -> openai.OpenAI:
    """Return a client; close it when done. Nothing is sent.

    A call by a model of this room keeps the deadline and the largest reply below; with a client of another making it
    has the bounds of that client. The client does not follow a redirect to another server.

    Args:
        base_url: the server's address, in place of `OPENAI_BASE_URL`; OpenAI's where neither is set. A name and a
            password in it go out as `Authorization`, and stand nowhere else.
        timeout: seconds to wait for a connection, for a reply, and between any two pieces of one.
        deadline: seconds for a whole call, from the first connection to the last byte, every repetition and the
            waits between them included, streamed or not; None for five times `timeout`. A call exceeds the deadline
            by no more than the SDK's own pause before a repetition, 8 s at most, and in the twin that is not
            awaited by the time in which the system looks for a host. The fault is `timeout`.
        largest: the most bytes of a reply, unpacked; 16 MiB by default. The fault is `server`.
        max_retries: how often the client repeats a call without an answer, or one that the provider refused as too
            often. Before each repetition it waits as long as the provider says (`Retry-After`), up to two minutes.
            It gives up before a longer wait, or one past the deadline: `EffectError` (`rate_limit`) has the wait in
            `retry_after`. With 0 the caller waits.
        environment: the variables; None for those of the process.

    Raises:
        MissingKey: there is no key, and the server is OpenAI's.
        BadKey: the key cannot be one.
        BadAddress: the address cannot be one.
        BadProxy: the process' environment names a proxy that cannot be used.
    """
    place, bounds = _place(base_url, environment, timeout, max_retries), _bounds(timeout, deadline, largest)
    return openai.OpenAI(**place, http_client=http_client(place["base_url"], bounds))


def async_client(
    *,
    base_url: str | None = None,
    timeout: float = 120.0,
    deadline: float | None = None,
    largest: int = _LARGEST,
    max_retries: int = 2,
    environment: Mapping[str, str] | None = None,
) -> openai.AsyncOpenAI:
    """Return an async client; see `client`."""
    place, bounds = _place(base_url, environment, timeout, max_retries), _bounds(timeout, deadline, largest)
    return openai.AsyncOpenAI(**place, http_client=async_http_client(place["base_url"], bounds))


def _bounds(timeout: float, deadline: float | None, largest: int) -> Bounds:
    return Bounds(_TIMEOUTS * timeout if deadline is None else deadline, largest)


class _Place(TypedDict):
    """The arguments of both SDK clients."""

    base_url: str
    api_key: str
    default_headers: dict[str, str]
    timeout: float
    max_retries: int


def _place(
    base_url: str | None, environment: Mapping[str, str] | None, timeout: float, max_retries: int
) -> _Place:
    # looked up here: `help` would show the key in a default of an argument
    variables = os.environ if environment is None else environment
    address = base_url or variables.get("OPENAI_BASE_URL")
    url = _address(address) if address else httpx2.URL(_OPENAI)
    key = variables.get("OPENAI_API_KEY") or (_NO_KEY if address else "")
    if not key:
        raise MissingKey
    if not all("!" <= char <= "~" for char in key):
        raise BadKey
    # the SDK by itself would look into the process' environment, and take an empty variable for an address
    return {
        "base_url": str(url.copy_with(userinfo=b"")),
        "api_key": key,
        "default_headers": _authorization(url),
        "timeout": timeout,
        "max_retries": max_retries,
    }


def _address(address: str) -> httpx2.URL:
    """Return an address that the HTTP client accepts; the first call shows whether a server is there."""
    try:
        url = httpx2.URL(address)
        url.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):  # a label of a host that is empty or too long
        raise BadAddress from None
    if url.query or url.fragment:  # the client would add the path of a request to it
        raise BadAddress
    return url


def _authorization(url: httpx2.URL) -> dict[str, str]:
    """Return the header for a name and a password in an address; in the address they would stand in every log."""
    if not url.userinfo:
        return {}
    token = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}


# -- bounds that a server cannot break -----------------------------------------------------------------


_PIECE: Final = 65_536
"""Bytes that one operation writes or unpacks."""
_WINDOWS: Final = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
_KEPT: Final = ("content-type", "date", "location", "retry-after", "retry-after-ms", "x-should-retry")


@final
@attrs.define
class GaveUp(openai.OpenAIError):
    """The call has ended with `error`, whatever the SDK would still try: it passes its own errors on unchanged."""

    error: EffectError

    def __str__(self) -> str:
        return str(self.error)


# -- the deadline of a call ----------------------------------------------------------------------------


@final
@attrs.frozen
class Bounds:
    """The bounds of a call, `deadline` in seconds of `clock`, and of its reply, `largest` in bytes, unpacked."""

    deadline: float
    largest: int
    clock: Callable[[], float] = time.monotonic


@final
@attrs.define
class _Running:
    """One call, of which the client may make several requests; the first sets the bounds, and the time of the `end`."""

    bounds: Bounds | None = None
    end: float = 0.0


_RUNNING: Final[ContextVar[_Running | None]] = ContextVar("mage_llm_running", default=None)


@contextlib.contextmanager
def one_call() -> Iterator[None]:
    """Count all requests in this context as one call with one deadline."""
    token = _RUNNING.set(_Running())
    try:
        yield
    finally:
        _RUNNING.reset(token)


def _begin(bounds: Bounds) -> None:
    """Start the clock of the running call at its first request; raise `GaveUp` where the deadline is over."""
    call = _RUNNING.get()
    if call is not None and call.bounds is None:
        call.bounds = bounds
        call.end = bounds.clock() + bounds.deadline
    _left()


def _left() -> float | None:
    """Return the seconds before the deadline, None outside of a call; raise `GaveUp` where it is over."""
    call = _RUNNING.get()
    if call is None or call.bounds is None:
        return None
    seconds = call.end - call.bounds.clock()
    if seconds <= 0:
        allowed = f"{call.bounds.deadline:g} s"
        raise GaveUp(EffectError("timeout", f"the reply was not whole within {allowed}, and was given up"))
    return seconds


@contextlib.contextmanager
def _within(timeout: float | None) -> Iterator[float | None]:
    """Yield the timeout of one operation, at most the time before the deadline; raise `GaveUp` where that is over."""
    rest = _left()
    try:
        yield timeout if rest is None else rest if timeout is None else min(timeout, rest)
    except httpcore2.TimeoutException:
        _left()
        raise


# -- connections that keep the deadline ----------------------------------------------------------------

_Options = Iterable[Any]  # Any: socket options, in the client's own type


def _pieces(buffer: bytes) -> Iterator[bytes]:
    """Yield a buffer in pieces: the deadline is checked before each."""
    for start in range(0, len(buffer), _PIECE):
        yield buffer[start : start + _PIECE]


@final
class _Backend(httpcore2.NetworkBackend):
    """Opens connections that keep the deadline of the running call."""

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
                with _within(timeout) as rest:
                    opened = self._backend.connect_tcp(
                        address, port, rest, local_address, socket_options or ()
                    )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                return _Stream(opened)
        raise failed or httpcore2.ConnectError(f"{host} has no address")


def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host, each once. The system bounds the time of the look-up, not the deadline."""
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
        with _within(timeout) as rest:
            return self._stream.read(max_bytes, rest)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for piece in _pieces(buffer):
            with _within(timeout) as rest:
                self._stream.write(piece, rest)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        with _within(timeout) as rest:
            return _Stream(self._stream.start_tls(ssl_context, server_hostname, rest))

    def get_extra_info(self, info: str) -> Any:  # Any: as in the client
        return self._stream.get_extra_info(info)


@final
class _AsyncBackend(httpcore2.AsyncNetworkBackend):
    """The awaitable twin of `_Backend`."""

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
        """Connect to a host; the look-up of its addresses counts too."""
        with _within(timeout) as rest:
            return _AsyncStream(
                await self._backend.connect_tcp(host, port, rest, local_address, socket_options)
            )


@final
class _AsyncStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _within(timeout) as rest:
            return await self._stream.read(max_bytes, rest)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for piece in _pieces(buffer):
            with _within(timeout) as rest:
                await self._stream.write(piece, rest)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        with _within(timeout) as rest:
            return _AsyncStream(await self._stream.start_tls(ssl_context, server_hostname, rest))

    def get_extra_info(self, info: str) -> Any:  # Any: as in the client
        return self._stream.get_extra_info(info)


# -- a response as it comes in -------------------------------------------------------------------------


@final
class Meter:
    """Unpacks a body and counts its bytes, as a small body may unpack to a large text; `GaveUp` for an unknown packing."""

    def __init__(self, headers: httpx2.Headers, bounds: Bounds) -> None:
        self._largest = bounds.largest
        self._packed = self._unpacked = 0
        packing = headers.get("content-encoding", "").strip().lower()
        if packing not in ("", "identity", *_WINDOWS):
            raise GaveUp(EffectError("server", "the reply is compressed in a way that was not asked for"))
        window = _WINDOWS.get(packing)
        self._unpacking = None if window is None else zlib.decompressobj(window)

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield the next bytes, unpacked, in pieces, in constant memory; raise `GaveUp` where the body grows too large."""
        self._packed = self._counted(self._packed, piece)
        for part in self._parts(piece):
            self._unpacked = self._counted(self._unpacked, part)
            yield part

    def _counted(self, before: int, piece: bytes) -> int:
        if before + len(piece) > self._largest:
            detail = f"the reply is larger than {self._largest:,} bytes, the most that is read"
            raise GaveUp(EffectError("server", detail))
        return before + len(piece)

    def _parts(self, piece: bytes) -> Iterator[bytes]:
        if self._unpacking is None:
            yield piece
            return
        try:
            while piece and not self._unpacking.eof:
                yield self._unpacking.decompress(piece, _PIECE)
                piece = self._unpacking.unconsumed_tail
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks its client to wait; a date counts from the server's own clock."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        written = headers.get(name, "")
        if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", written):
            return float(written) / scale
    try:
        until, now = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, or one with a zone beside one without
        return None


def _headers(status: int, headers: httpx2.Headers) -> dict[str, str]:
    """Return the headers of a response that mean something here; none of them decides how the body is decoded.

    The client does not repeat a call whose server asks for a wait beyond the deadline: that answer says more than a timeout.
    """
    kept = {name: headers[name] for name in _KEPT if name in headers}
    if "content-type" in kept:  # Python would obey a charset, and some charsets unpack
        kept["content-type"] = kept["content-type"].partition(";")[0].strip()
    rest = _left()
    if rest is not None and status >= 400 and (retry_after(kept) or 0.0) > rest:
        kept["x-should-retry"] = "false"
    return kept


def _refuse_elsewhere(response: httpx2.Response) -> None:
    """Raise `GaveUp` for a redirect to another scheme, host or port, or to an address that cannot be read."""
    request = response.request
    if not response.has_redirect_location:
        return
    try:
        target = request.url.join(response.headers["location"])
    except httpx2.InvalidURL:
        target = httpx2.URL()
    if _origin(target) != _origin(request.url):
        raise GaveUp(
            EffectError(
                "rejected",
                f"the server redirects to another address (HTTP {response.status_code}), which is not followed: "
                "it would get the key and the texts; give that address as base_url if you trust it",
            )
        )


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    port = {"http": 80, "https": 443}.get(url.scheme) if url.port is None else url.port
    return url.scheme, url.host, port


# -- the clients ---------------------------------------------------------------------------------------


def http_client(address: str, bounds: Bounds) -> httpx2.Client:
    """Return a client for one server; nothing is sent.

    Raises:
        BadProxy: the process' environment names a proxy that cannot be used.
    """
    pool = httpcore2.ConnectionPool(network_backend=_Backend(), **_pooling(httpx2.URL(address)))
    return httpx2.Client(transport=_Transport(pool, bounds), **_SETTINGS)


def async_http_client(address: str, bounds: Bounds) -> httpx2.AsyncClient:
    """Return an awaitable client; see `http_client`."""
    pool = httpcore2.AsyncConnectionPool(network_backend=_AsyncBackend(), **_pooling(httpx2.URL(address)))
    return httpx2.AsyncClient(transport=_AsyncTransport(pool, bounds), **_SETTINGS)


_SETTINGS: Final[Any] = {  # Any: keywords of both clients
    "headers": {"Accept-Encoding": "identity"},
    "follow_redirects": True,  # within the server
    "max_redirects": 5,
}


class _Pooling(TypedDict):
    ssl_context: ssl.SSLContext | None
    proxy: httpcore2.Proxy | None
    max_connections: int | None
    max_keepalive_connections: int | None
    keepalive_expiry: float | None


def _pooling(server: httpx2.URL) -> _Pooling:
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
    named = getproxies()
    address = named.get(server.scheme) or named.get("all")
    if not address or _is_excepted(server.host, named.get("no", "")):
        return None
    try:
        proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
    except (ValueError, httpx2.InvalidURL):
        raise BadProxy from None
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise BadProxy(lacks="socksio")
    return httpcore2.Proxy(_core_url(proxy.url), auth=proxy.raw_auth, headers=proxy.headers.raw)


def _is_excepted(host: str, exceptions: str) -> bool:
    """Tell whether `NO_PROXY` names a host, or its network."""
    if proxy_bypass(host):
        return True
    for named in exceptions.split(","):
        with contextlib.suppress(ValueError):  # one of both is a name
            if ipaddress.ip_address(host) in ipaddress.ip_network(named.strip().strip("[]"), strict=False):
                return True
    return False


def _core_url(url: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


_ERRORS: Final = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)


@contextlib.contextmanager
def _as_the_client_says_it() -> Iterator[None]:
    """Raise the client's error of the same name for an error of the connections."""
    try:
        yield
    except _ERRORS as error:
        known: type[httpx2.TransportError] = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise known(str(error)) from error


def _core_request(request: httpx2.Request, bounds: Bounds) -> httpcore2.Request:
    """Return a request in the form of the connections. The first request of a call starts the call's clock."""
    _begin(bounds)
    timeouts = dict(request.extensions.get("timeout") or {})
    with _within(timeouts.get("pool")) as rest:  # the wait for a connection in use counts too
        timeouts["pool"] = rest
    return httpcore2.Request(
        method=request.method,
        url=_core_url(request.url),
        headers=request.headers.raw,
        content=request.stream,
        extensions={**request.extensions, "timeout": timeouts},
    )


def _response(request: httpx2.Request, came: httpcore2.Response, body: _Body | _AsyncBody) -> httpx2.Response:
    headers = _headers(came.status, httpx2.Headers(came.headers))
    response = httpx2.Response(
        came.status, headers=headers, stream=body, extensions=came.extensions, request=request
    )
    _refuse_elsewhere(response)
    return response


@final
class _Transport(httpx2.BaseTransport):
    def __init__(self, pool: httpcore2.ConnectionPool, bounds: Bounds) -> None:
        self._pool = pool
        self._bounds = bounds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        with _as_the_client_says_it():
            came = self._pool.handle_request(_core_request(request, self._bounds))
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
            came = await self._pool.handle_async_request(_core_request(request, self._bounds))
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
