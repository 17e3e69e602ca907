"""Clients from the environment: `OPENAI_API_KEY`, and `OPENAI_BASE_URL` for a server that is not OpenAI's."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, final

import attrs
import httpx2
import openai

from mage.engine.errors import MageError
from mage.llm.bounds import Bounds
from mage.llm.transport import LacksSocks, async_http_client, http_client

__all__ = ["BadAddress", "BadKey", "BadProxy", "MissingKey", "async_client", "client"]

_OPENAI: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "none"
"""Sent to a server of one's own that wants no key; the client insists on some."""
_LARGEST: Final = 16 * 1024 * 1024
_TIMEOUTS: Final = 5
"""A call may take so many timeouts in all, where nothing else is said: a repetition or two among them."""


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
    """`OPENAI_API_KEY` holds something that no HTTP header can carry. It is not quoted: it may be most of a key."""

    def __str__(self) -> str:
        return "OPENAI_API_KEY is no key: it holds a character that is not ASCII, a space or a line break; set it again"


@final
class BadAddress(MageError, ValueError):
    """What is given as the address of a server is none. It is not quoted: it may hold a password."""

    def __str__(self) -> str:
        return "base_url, or OPENAI_BASE_URL, is no address of a server: it is one such as http://localhost:8080/v1"


@final
class BadProxy(MageError, ValueError):
    """The environment names a proxy that cannot be used. It is not quoted: it may hold a password."""

    def __init__(self, *, lacks: str = "") -> None:
        self.lacks = lacks
        super().__init__(lacks)

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

    What it is asked by the models of this room is bounded as a whole; a client that you make yourself has the
    bounds that you give it. It does not follow a redirect to another server.

    Args:
        base_url: the server's address, before `OPENAI_BASE_URL`; OpenAI's where neither is given. A name and a
            password in it go out as `Authorization`, and stand nowhere else.
        timeout: seconds to wait for a connection, for a reply, and between any two pieces of one.
        deadline: seconds for a whole call, from the first connection to the last byte, every repetition and the
            waits between them included, streamed or not; five times `timeout` where it is None. It is exceeded
            by no more than the SDK's own pause before a repetition, 8 s at most, and in the twin that is not
            awaited by the time in which the system looks for a host. The fault is `timeout`.
        largest: the most bytes of a reply, unpacked; 16 MiB if nothing is said. The fault is `server`.
        max_retries: how often the client asks again where nobody answered or it was asked too often. Each time it
            waits as long as the provider says (`Retry-After`), up to two minutes; told to wait longer, or past
            the deadline, it does not ask again, and the `EffectError` (`rate_limit`) says in `retry_after` how
            long. 0 to wait by yourself.
        environment: where the variables stand; None for those of the process.

    Raises:
        MissingKey: there is no key, and no other server to ask.
        BadKey: there is something that cannot be one.
        BadAddress: the address cannot be one.
        BadProxy: the process' environment names a proxy that cannot be used.
    """
    place = _settings(base_url, environment)
    bounds = Bounds(_TIMEOUTS * timeout if deadline is None else deadline, largest)
    with _proxied():
        return openai.OpenAI(
            api_key=place.key,
            base_url=place.address,
            default_headers=place.headers,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client(place.address, bounds),
        )


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
    place = _settings(base_url, environment)
    bounds = Bounds(_TIMEOUTS * timeout if deadline is None else deadline, largest)
    with _proxied():
        return openai.AsyncOpenAI(
            api_key=place.key,
            base_url=place.address,
            default_headers=place.headers,
            timeout=timeout,
            max_retries=max_retries,
            http_client=async_http_client(place.address, bounds),
        )


@contextmanager
def _proxied() -> Iterator[None]:
    """Say in our words what the HTTP client raises where it reads the proxies of the process' environment."""
    try:
        yield
    except LacksSocks:
        raise BadProxy(lacks="socksio") from None
    except (ValueError, httpx2.InvalidURL):
        raise BadProxy from None


@final
@attrs.frozen
class _Place:
    """Where a client asks, and what it shows there."""

    address: str
    key: str = attrs.field(repr=False)
    headers: dict[str, str] = attrs.field(repr=False)


def _settings(base_url: str | None, environment: Mapping[str, str] | None) -> _Place:
    # looked up here: as a default of an argument it would be shown, with the key, by `help`
    variables = os.environ if environment is None else environment
    given = base_url or variables.get("OPENAI_BASE_URL")
    url = _address(given) if given else httpx2.URL(_OPENAI)
    key = variables.get("OPENAI_API_KEY") or (_NO_KEY if given else "")
    if not key:
        raise MissingKey
    if not all("!" <= char <= "~" for char in key):
        raise BadKey
    # never left to the SDK, which would look into the process' environment, and take an empty variable for an address
    return _Place(str(url.copy_with(userinfo=b"")), key, _authorization(url))


def _address(given: str) -> httpx2.URL:
    """Return an address that the HTTP client takes; whether anybody is there is seen when it is asked."""
    try:
        url = httpx2.URL(given)
        url.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):  # a label of a host that is empty or too long
        raise BadAddress from None
    if url.query or url.fragment:  # the path of a request would be added to it
        raise BadAddress
    return url


def _authorization(url: httpx2.URL) -> dict[str, str]:
    """Return what a name and a password in an address go out as; left in it they would stand in every log."""
    if not url.userinfo:
        return {}
    token = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}
