"""Clients from the environment: `OPENAI_API_KEY`, and `OPENAI_BASE_URL` for a server that is not OpenAI's."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypedDict, final

import attrs
import httpx2
import openai

from mage.engine.errors import MageError
from mage.llm.wire import Bounds, LacksSocks, async_http_client, http_client

_OPENAI: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "none"
"""Sent to a server that wants no key; the client insists on one."""
_LARGEST: Final = 16 * 1024 * 1024
_TIMEOUTS: Final = 5
"""The deadline of a call in timeouts, where no other is given: enough for a repetition or two."""


@final
class MissingKey(MageError):
    """OpenAI is to be asked, and the environment holds no key for it."""

    def __str__(self) -> str:
        return (
            "no key for OpenAI: set OPENAI_API_KEY, or OPENAI_BASE_URL to the address of another server "
            "(which gets OPENAI_API_KEY where it is set)"
        )


@final
class BadKey(MageError, ValueError):
    """No HTTP header can carry the text in `OPENAI_API_KEY`. The text is not quoted: it may be most of a key."""

    def __str__(self) -> str:
        return "OPENAI_API_KEY is no key: it holds a character that is not ASCII, a space or a line break; set it again"


@final
class BadAddress(MageError, ValueError):
    """The address of a server cannot be one. It is not quoted: it may hold a password."""

    def __str__(self) -> str:
        return "base_url, or OPENAI_BASE_URL, is no address of a server: it is one such as http://localhost:8080/v1"


@final
@attrs.define
class BadProxy(MageError, ValueError):
    """The environment names a proxy that cannot be used. It is not quoted: it may hold a password.

    `lacks` is the package that this kind of proxy needs; empty where the address is wrong.
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

    A call of the models of this room has a deadline and a largest reply; with a client that you make yourself it
    has the bounds of that client. The client does not follow a redirect to another server.

    Args:
        base_url: the server's address, before `OPENAI_BASE_URL`; OpenAI's where neither is set. A name and a
            password in it go out as `Authorization`, and stand nowhere else.
        timeout: seconds to wait for a connection, for a reply, and between any two pieces of one.
        deadline: seconds for a whole call, from the first connection to the last byte, every repetition and the
            waits between them included, streamed or not; five times `timeout` where it is None. A call exceeds it
            by no more than the SDK's own pause before a repetition, 8 s at most, and in the twin that is not
            awaited by the time in which the system looks for a host. The fault is `timeout`.
        largest: the most bytes of a reply, unpacked; 16 MiB by default. The fault is `server`.
        max_retries: how often the client asks again where it got no answer, or where it had asked too often. Each
            time it waits as long as the provider says (`Retry-After`), up to two minutes; before a longer wait, or
            one past the deadline, it gives up, and the `EffectError` (`rate_limit`) says in `retry_after` how
            long. 0 to wait by yourself.
        environment: the variables; None for those of the process.

    Raises:
        MissingKey: there is no key, and no other server to ask.
        BadKey: the key cannot be one.
        BadAddress: the address cannot be one.
        BadProxy: the process' environment names a proxy that cannot be used.
    """
    place, bounds = _place(base_url, environment, timeout, max_retries), _bounds(timeout, deadline, largest)
    with _proxied():
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
    with _proxied():
        return openai.AsyncOpenAI(**place, http_client=async_http_client(place["base_url"], bounds))


@contextmanager
def _proxied() -> Iterator[None]:
    """Raise `BadProxy` for the exceptions of the HTTP client where it reads the proxies of the process' environment."""
    try:
        yield
    except LacksSocks:
        raise BadProxy(lacks="socksio") from None
    except (ValueError, httpx2.InvalidURL):
        raise BadProxy from None


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
    # looked up here: as a default of an argument it would be shown, with the key, by `help`
    variables = os.environ if environment is None else environment
    address = base_url or variables.get("OPENAI_BASE_URL")
    url = _address(address) if address else httpx2.URL(_OPENAI)
    key = variables.get("OPENAI_API_KEY") or (_NO_KEY if address else "")
    if not key:
        raise MissingKey
    if not all("!" <= char <= "~" for char in key):
        raise BadKey
    # never left to the SDK, which would look into the process' environment, and take an empty variable for an address
    return {
        "base_url": str(url.copy_with(userinfo=b"")),
        "api_key": key,
        "default_headers": _authorization(url),
        "timeout": timeout,
        "max_retries": max_retries,
    }


def _address(address: str) -> httpx2.URL:
    """Return an address that the HTTP client takes; the first call shows whether a server is there."""
    try:
        url = httpx2.URL(address)
        url.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):  # a label of a host that is empty or too long
        raise BadAddress from None
    if url.query or url.fragment:  # the path of a request would be added to it
        raise BadAddress
    return url


def _authorization(url: httpx2.URL) -> dict[str, str]:
    """Return the header for a name and a password in an address; in the address they would stand in every log."""
    if not url.userinfo:
        return {}
    token = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}
