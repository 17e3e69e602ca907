"""Clients from the environment: `OPENAI_API_KEY`, and `OPENAI_BASE_URL` for a server that is not OpenAI's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, final

import openai

from mage.engine.errors import MageError

__all__ = ["BadKey", "MissingKey", "async_client", "client"]

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
    """
    key, address = _settings(base_url, environment)
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
    return openai.AsyncOpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=max_retries)


def _settings(base_url: str | None, environment: Mapping[str, str] | None) -> tuple[str, str | None]:
    # looked up here: as a default of an argument it would be shown, with the key, by `help`
    variables = os.environ if environment is None else environment
    address = base_url or variables.get("OPENAI_BASE_URL") or None
    key = variables.get("OPENAI_API_KEY") or (_NO_KEY if address else "")
    if not key:
        raise MissingKey
    if not all("!" <= char <= "~" for char in key):
        raise BadKey
    return key, address
