"""What a client shows its server and nobody else may see: it is taken out of whatever the server sends back.

A careless proxy echoes a header in an error, a model what stands in its prompt, a hostile server wherever it
can: in a text, in the arguments of a call, in a name. What a model said is kept in journals and shown
to people, so it is cleaned once, at the one place where it enters (`mage.llm.sending`).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeVar, final

import attrs
import openai

from mage.chat import ToolCall
from mage.llm.asking import Reply
from mage.llm.faults import ProviderError

__all__ = ["Secrets", "secrets_of"]

_SHORTEST_KEY: Final = 8
"""What is shorter is no secret but a word such as `none` or `EMPTY`, for a server that wants no key."""
_SHORTEST_PASSWORD: Final = 6
"""What is shorter is a word, too: taken out of every reply it would change what a model means."""
_HIDDEN: Final = "***"
_SECRET_HEADER: Final = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_Came = TypeVar("_Came", Reply, ProviderError)


@final
@attrs.frozen
class Secrets:
    """What must not come back.

    Attributes:
        texts: each of them.
    """

    texts: frozenset[str] = attrs.field(repr=False)

    def out_of(self, came: _Came) -> _Came:
        """Return what a server has sent, with `***` for each secret in any of its texts. Cost: O(length)."""
        if isinstance(came, ProviderError):
            return attrs.evolve(came, code=self.hidden(came.code), message=self.hidden(came.message))
        calls = [ToolCall(*map(self.hidden, (call.id, call.name, call.arguments))) for call in came.calls]
        return attrs.evolve(
            came,
            text=self.hidden(came.text),
            calls=tuple(calls),
            refusal=self.hidden(came.refusal),
            finish=None if came.finish is None else self.hidden(came.finish),
            model=self.hidden(came.model),
        )

    def hidden(self, text: str) -> str:
        """Return a text with `***` for each secret, however JSON or a URL spells it. Cost: O(length)."""
        if not self.texts:
            return text
        for secret in sorted(self.texts, key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return _spellings(self.texts).sub(_HIDDEN, text) if "\\" in text or "%" in text else text


def secrets_of(client: openai.OpenAI | openai.AsyncOpenAI) -> Secrets:
    """Return what a client shows its server: keys, what its headers say, and a password in its address."""
    return Secrets(frozenset(_secrets(client)))


def _secrets(client: openai.OpenAI | openai.AsyncOpenAI) -> Iterator[str]:
    yield from _long(client.api_key, client.admin_api_key)
    for name, value in client.default_headers.items():
        if isinstance(value, str) and _SECRET_HEADER.search(name):
            yield from _shown(value)
    address = client.base_url
    yield from _long(address.userinfo.decode("ascii", "replace"))
    yield from _long(address.password, shortest=_SHORTEST_PASSWORD)


def _long(*secrets: str | None, shortest: int = _SHORTEST_KEY) -> Iterator[str]:
    yield from [secret for secret in secrets if secret and len(secret) >= shortest]


def _shown(value: str) -> Iterator[str]:
    """Yield what a header shows: its value, without the scheme, and what `Basic` stands for."""
    scheme, _, token = value.rpartition(" ")
    yield from _long(token)
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(token).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield from _long(pair)
        yield from _long(pair.partition(":")[2], shortest=_SHORTEST_PASSWORD)


_BACKSLASHES: Final = r"(?:\\(?:u005[cC])?+|%5[cC]){0,8}+"


@lru_cache(maxsize=16)
def _spellings(secrets: frozenset[str]) -> re.Pattern[str]:
    """Return what finds secrets as they are, as JSON within JSON spells them, and as a URL does."""
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join(map(_spelling, longest_first)))


def _spelling(secret: str) -> str:
    """Return what finds one secret, in time that grows as the text does.

    A backslash before any of its characters may be the spelling's or its own: so many are taken at once, and
    none is given back.
    """
    solid = secret.replace("\\", "")
    if len(solid) < _SHORTEST_PASSWORD:
        return re.escape(secret)
    return "".join(map(_spelled_char, solid)) + _BACKSLASHES * secret.endswith("\\")


def _spelled_char(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = r"\\{0,8}+".join(f"u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
    quoted = "".join(f"%{byte:02x}" for byte in char.encode(errors="surrogatepass"))
    return rf"{_BACKSLASHES}(?:{re.escape(char)}|(?i:{escaped}|{quoted}))"
