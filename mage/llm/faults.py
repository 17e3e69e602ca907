"""What a provider's error comes to: one of the faults of `mage.effects`, and a line that gives nothing away.

    400, 413, 422, 500 that speak of the context    overflow
    429 of a request that is too large by itself    overflow
    other 4xx, 429 of an account without credit     rejected
    408                                             timeout
    429                                             rate_limit, with Retry-After
    409 (a lock), 5xx                               server, with Retry-After

The provider's own words help people, but may quote the prompt. They are kept only where they quote nothing of
what was sent, in one short line. A key that a careless proxy echoes was taken out before (`mage.llm.secrets`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final, final

import attrs
import httpx2
import openai

from mage.chat import Assistant
from mage.effects import EffectError, EffectFault
from mage.llm.asking import Call
from mage.llm.bounds import GaveUp

__all__ = ["ProviderError", "Sent", "effect_error", "provider_error", "transport_error"]

_OVERFLOW: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|string_above_max_length"
    r"|(?:maximum|available|exceeds? the|max) context|context (?:length|window|size)"
    r"|(?:prompt|input|request) (?:is|are) too (?:long|large)|too many (?:input )?tokens|reduce the length"
    r"|maximum (?:prompt|input|model) length|exceeds the maximum number of tokens|context_?window_?exceeded"
    r"|inputs`? (?:tokens \+|must have less than)",
    re.IGNORECASE,
)
_TOO_LARGE: Final = re.compile(r"request too large", re.IGNORECASE)
"""More than may be asked in a minute: to wait does not help."""
_MAY_OVERFLOW: Final = frozenset({200, 400, 413, 422, 500})  # 200: an error in the body
_NO_CREDIT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_BROKEN: Final = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError, httpx2.DecodingError)
_LONGEST: Final = 200
_WINDOW: Final = 16
"""So many characters in common with the prompt are a quotation."""


@final
@attrs.frozen
class ProviderError:
    """What a provider has said instead of a reply.

    Attributes:
        status: of HTTP; that inside the body where HTTP said 200.
        code: the provider's code or type, empty where it gave none.
        message: its words.
        retry_after: seconds, where it named a time.
    """

    status: int
    code: str = ""
    message: str = ""
    retry_after: float | None = None


@final
@attrs.frozen
class Sent:
    """What must not come back in an error.

    Attributes:
        key: the client's.
        text: every text of the chat.
        model: the name of the model, which may.
    """

    text: str = attrs.field(repr=False)
    model: str

    @classmethod
    def of(cls, call: Call, *, model: str) -> Sent:
        """Return what a call has sent. Cost: O(size of the call)."""
        texts = [
            message.call.arguments if isinstance(message, Assistant) and message.call else message.text
            for message in call.messages
        ]
        return cls("\n".join(texts), model)

    def discreet(self, message: str) -> str:
        """Return a provider's words as one line; empty where they quote what was sent."""
        line = " ".join(message.split())
        line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
        flat = " ".join(self.text.split())
        windows = range(max(1, len(line) - _WINDOW + 1))
        quotes = any(line[start : start + _WINDOW] in flat for start in windows)
        return "" if quotes or not line.isprintable() else line


def effect_error(said: ProviderError, sent: Sent) -> EffectError:
    """Return what a provider's error comes to. Cost: O(size of what was sent)."""
    fault = _fault(said)
    words = "" if said.status in (401, 403) else sent.discreet(said.message)
    code = said.code if re.fullmatch(r"[\w.-]{1,60}", said.code) else ""
    about = ", ".join(filter(None, [f"HTTP {said.status}", code]))
    detail = f"{_MEANING[fault]} ({about})"
    if said.status in (401, 403):
        detail = f"the provider does not accept the key for this model ({about})"
    elif said.status == 404:
        detail = (
            f"the provider knows no model {sent.model!r}, or no chat completions at this address ({about})"
        )
    elif fault == "rate_limit" and said.retry_after is not None and said.retry_after >= 1:
        detail += f" and wants to be left alone for {said.retry_after:,.0f} s"
    return EffectError(fault, f"{detail}: {words}" if words else detail, retry_after=said.retry_after)


_MEANING: Final[Mapping[EffectFault, str]] = {
    "overflow": "the prompt does not fit into the model's context",
    "rate_limit": "the provider is asked too often",
    "timeout": "the provider gave up waiting",
    "server": "the provider has failed",
    "rejected": "the provider takes no such request",
}


def _fault(said: ProviderError) -> EffectFault:
    status = said.status
    if status in _MAY_OVERFLOW and _OVERFLOW.search(f"{said.code} {said.message}"):
        return "overflow"
    if status == 429 and _TOO_LARGE.search(said.message):
        return "overflow"
    if status == 429:
        return "rejected" if said.code in _NO_CREDIT else "rate_limit"
    if status == 408:
        return "timeout"
    if status == 413:
        return "overflow"
    if status == 409 or status >= 500 or status < 400:
        return "server"
    return "rejected"


def transport_error(error: openai.OpenAIError | httpx2.HTTPError) -> ProviderError | EffectError:
    """Return what an error of the client comes to: what the provider said, or that nobody has."""
    if isinstance(error, GaveUp):
        return error.error
    if isinstance(error, openai.APIStatusError):
        return provider_error(error.status_code, error.body, error.response.headers)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return EffectError("timeout", "no answer within the time that the client waits")
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, httpx2.TooManyRedirects):
        return EffectError("rejected", "the server redirects in circles")
    if isinstance(cause, _BROKEN):
        return EffectError("dropped", "the connection broke before the reply was whole")
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        return EffectError("unreachable", "no connection to the provider")
    return EffectError("rejected", f"the client could not make the call: {type(error).__name__}")


def provider_error(status: int, body: object, headers: Mapping[str, str]) -> ProviderError:
    """Return what an error's body says, however it is spelled: `{"error": {...}}`, its inside, or text. Any value.

    Gemini puts it into a list; `detail` is FastAPI's word, a text or a list of what is wrong.
    """
    whole: object = body[0] if isinstance(body, list) and body else body
    inside: object = whole.get("error", whole) if isinstance(whole, Mapping) else whole
    if not isinstance(inside, Mapping):
        return ProviderError(status, "", inside if isinstance(inside, str) else "", _retry_after(headers))
    code, message = inside.get("code"), inside.get("message") or _detail(inside.get("detail"))
    if isinstance(code, int) and 400 <= code < 600 and status < 400:  # HTTP said 200
        status = code
    named = code if isinstance(code, str) else inside.get("type")
    return ProviderError(
        status,
        named if isinstance(named, str) else "",
        message if isinstance(message, str) else "",
        _retry_after(headers),
    )


def _detail(detail: object) -> object:
    first: object = detail[0] if isinstance(detail, list) and detail else detail
    return first.get("msg") if isinstance(first, Mapping) else first


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which the provider would be asked again; a date is counted from its own clock."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        written = headers.get(name, "")
        if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", written):
            return float(written) / scale
    try:
        wait = parsedate_to_datetime(headers.get("retry-after", "")) - parsedate_to_datetime(
            headers.get("date", "")
        )
    except (TypeError, ValueError, OverflowError):  # no date, or one with a zone beside one without
        return None
    return max(0.0, wait.total_seconds())
