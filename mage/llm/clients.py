"""Clients from the environment: `OPENAI_API_KEY`, and `OPENAI_BASE_URL` for a server that is not OpenAI's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, final

import httpx2
import openai

from mage.engine.errors import MageError

__all__ = ["BadAddress", "BadKey", "BadProxy", "MissingKey", "async_client", "client"]

_OPENAI: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "none"
"""Sent to a server of one's own that wants no key; the client insists on some."""


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
    max_retries: int = 2,
    environment: Mapping[str, str] | None = None,
) -> openai.OpenAI:
    """Return a client; close it when done. Nothing is sent.

    Args:
        base_url: the server's address, before `OPENAI_BASE_URL`; OpenAI's where neither is given.
        timeout: seconds to wait for a reply, and between the pieces of a streamed one.
        max_retries: how often the client asks again where nobody answered or it was asked too often. Each time it
            waits as long as the provider says (`Retry-After`), up to two minutes; told to wait longer it does not
            ask again, and the `EffectError` (`rate_limit`) says in `retry_after` how long. 0 to wait by yourself.
        environment: where the variables stand; None for those of the process.

    Raises:
        MissingKey: there is no key, and no other server to ask.
        BadKey: there is something that cannot be one.
        BadAddress: the address cannot be one.
        BadProxy: the process' environment names a proxy that cannot be used.
    """
    key, address = _settings(base_url, environment)
    with _proxied():
        return openai.OpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=max_retries)


def async_client(
    *,
    base_url: str | None = None,
    timeout: float = 120.0,
    max_retries: int = 2,
    environment: Mapping[str, str] | None = None,
) -> openai.AsyncOpenAI:
    """Return an async client; see `client`."""
    key, address = _settings(base_url, environment)
    with _proxied():
        return openai.AsyncOpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=max_retries)


@contextmanager
def _proxied() -> Iterator[None]:
    """Say in our words what the HTTP client raises where it reads the proxies of the process' environment."""
    try:
        yield
    except ImportError:
        raise BadProxy(lacks="socksio") from None
    except (ValueError, httpx2.InvalidURL):
        raise BadProxy from None


def _settings(base_url: str | None, environment: Mapping[str, str] | None) -> tuple[str, str]:
    # looked up here: as a default of an argument it would be shown, with the key, by `help`
    variables = os.environ if environment is None else environment
    address = base_url or variables.get("OPENAI_BASE_URL")
    if address and not _is_address(address):
        raise BadAddress
    key = variables.get("OPENAI_API_KEY") or (_NO_KEY if address else "")
    if not key:
        raise MissingKey
    if not all("!" <= char <= "~" for char in key):
        raise BadKey
    # never left to the SDK, which would look into the process' environment, and take an empty variable for an address
    return key, address or _OPENAI


def _is_address(given: str) -> bool:
    """Tell whether the HTTP client takes an address at all; whether anybody is there is seen when it is asked."""
    try:
        httpx2.URL(given).host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):  # a label of a host that is empty or too long
        return False
    return True
