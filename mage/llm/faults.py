"""Why a call has no reply: a provider's error in any form, and its fault in `mage.effects`.

    words that a prompt is too long         overflow
    413, and 429 of a request that is
    too large by itself                     overflow
    other 4xx, 429 of an account
    without credit                          rejected
    408                                     timeout
    429                                     rate_limit, with Retry-After
    409 (a lock), 5xx                       server, with Retry-After

`OVERFLOW` is the one table of the words for a prompt that is too long. A server may have other words: a request that
is rejected with 400 or 422 for no known reason is marked `shorter_may_help`, so that an agent tries once with a
shorter prompt.

The provider's own words help people, but may quote the prompt. They are kept, in one short line, only where they quote
nothing of the call. `mage.llm.transport` has removed a key that a proxy echoes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast, final

import attrs
import httpx2
import openai

from mage.chat import Assistant, ChatMessage
from mage.effects import EffectError, EffectFault
from mage.llm.clients import GaveUp, retry_after

_SENT: Final = r"(?:prompt|input|request|message|conversation|context)s?"
_NOT_LENGTH: Final = r"tool|function|name|image|file|audio|video|metadata|rate|array"
"""What else may be too much in a request, and is not cured by a shorter prompt."""
OVERFLOW: Final[tuple[str, ...]] = (
    # codes, and names of exceptions and settings
    r"context_?(?:length|window|size|limit)_?exceeded|exceed_context_size|out_?of_?context|string_above_max_length",
    r"tokens_limit_reached|(?:prompt|input|request)_too_(?:long|large)|expected maxLength|\bn_ctx\b|max_position_emb",
    r"max_(?:seq(?:uence)?|model|input|prompt|context)_?(?:len|length|tokens|size)",
    # the size of a model's context
    r"context (?:length|window|size|limit|overflow)|exceeds? the context|context (?:the )?overflows",
    r"(?:maximum|available|max|configured|model's) context",
    r"max(?:imum)?(?: allowed| number of| size of)? (?:the )?(?:prompts?\b|inputs?\b|(?:message|model) (?:length|token))",
    r"(?:range|limit) of (?:the )?(?:input|prompt)|at most [\d,]+ (?:input|prompt) tokens",
    # something is too much
    rf"{_SENT}`? (?:(?!{_NOT_LENGTH})[\w.]+ ){{0,4}}?too (?:long|large|big)",
    rf"{_SENT}\b(?:(?!{_NOT_LENGTH})[^.;]){{0,60}}?"
    r"\b(?:exceed(?:s|ed|ing)?|(?:greater|longer|larger|more) than|over the limit)\b",
    r"tokens? in (?:the |your )?(?:prompt|request|input|message)[^.;]{0,40}(?:more than|exceed|greater|over|above)",
    r"(?:exceed\w*|over|above|more than|reached) (?:the |this |your |model |model's |max |maximum )*token limit",
    r"too many (?:input |prompt |context )?tokens|token (?:count|limit) exceed|exceeds the maximum number of tokens",
    r"too large for model|longer than the (?:model|maximum|context)|inputs`? (?:tokens \+|must have less than)",
    r"reduce (?:the|your) (?:\w+ )?(?:length|size|prompt|input)|shorten (?:the|your) (?:prompt|input|message)",
    r"(?:输入|上下文|提示词?|prompt|token ?s?).{0,12}(?:过长|超长|超出|超过)",
)
"""How servers say that a prompt is too long, whatever the case."""
_OVERFLOW: Final = re.compile("|".join(OVERFLOW), re.IGNORECASE)
_TOO_OFTEN: Final = re.compile(
    r"rate[ _]limit|per (?:second|minute|hour|day)|quota|throttl|please wait|too many requests|concurren|time ?(?:out|limit)",
    re.IGNORECASE,
)
"""Many requests together are too much, or one takes too long: no prompt is too long."""
_OUTPUT: Final = re.compile(
    r"max_?(?:completion_?|output_?|new_?)?tokens|(?:completion|output) tokens", re.IGNORECASE
)
_PROMPT: Final = re.compile(rf"\b(?:(?!context){_SENT})\b", re.IGNORECASE)
"""An error about the tokens to be written, and not about the request, is no overflow: the setting is wrong."""
_TOO_LARGE: Final = re.compile(r"request too large", re.IGNORECASE)
"""More than the provider allows in a minute: a wait does not help."""
_MAY_OVERFLOW: Final = frozenset({200, 400, 404, 413, 422, 500, 502, 503})
"""The statuses for which the words count: 200 is an error in the body, 5xx one of a router that knows no better."""
_MAY_BE_UNEXPLAINED: Final = frozenset({400, 422})
_EXPLAINED: Final = re.compile(
    r"parameter|unsupported|not support|unknown field|schema|\bkey\b|credential|permission|billing|balance|filter|polic"
    r"|invalid (?:message|role|type|value|tool|function|model)|does not exist|not found",
    re.IGNORECASE,
)
"""Reasons of a rejection that a shorter prompt does not cure."""
_NO_CREDIT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_BROKEN: Final = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError, httpx2.DecodingError)
_LONGEST: Final = 200
_WINDOW: Final = 16
"""So many characters in common with the prompt are a quotation."""
_DEEPEST: Final = 8
"""Levels of an error within an error: a router quotes its provider, which quotes its own."""
_MOST_WORDS: Final = 2_000
"""Characters of an error's words that are searched."""
_WITHIN: Final = ("error", "errors", "detail", "metadata", "raw", "base_resp")
"""Where an error stands within another."""
_WORDS: Final = ("message", "msg", "error_msg", "status_msg")


@final
@attrs.frozen
class ProviderError:
    """A provider's error, in place of a reply.

    Attributes:
        status: the HTTP status; the one inside the body where that is 200.
        code: the provider's code or type, empty where there is none; of nested errors that of the innermost.
        message: the words; of nested errors those of each, the outermost first.
        retry_after: the seconds to wait, where the provider named a time.
    """

    status: int
    code: str = ""
    message: str = ""
    retry_after: float | None = None


def provider_error(status: int, body: object, headers: Mapping[str, str]) -> ProviderError:
    """Return the error in a body of any form, such as `{"error": {...}}`, its inside, a list, a text. Any value.

    FastAPI has the error in `detail`, OpenRouter the provider's error as JSON text in `metadata.raw`.
    """
    words: list[str] = []
    codes: list[str] = []
    for found in _errors(body, _DEEPEST):
        if isinstance(found, str):
            said = [found]
        else:
            code = found.get("code")
            if isinstance(code, int) and 400 <= code < 600 and status < 400:  # HTTP said 200
                status = code
            codes += [name for name in (found.get("type"), code) if isinstance(name, str) and name]
            said = [text for text in map(found.get, _WORDS) if isinstance(text, str)]
        words += [text for text in said if text and text not in words]
    return ProviderError(status, codes[-1] if codes else "", ": ".join(words), retry_after(headers))


def _errors(value: object, deeper: int) -> Iterator[Mapping[str, object] | str]:
    """Yield the objects and texts of an error, the outermost first; of a list only the first item."""
    if not deeper:
        return
    if isinstance(value, list):
        yield from _errors(value[0] if value else None, deeper - 1)
    elif isinstance(value, str):
        inner = _object_in(value)
        yield from [value] if inner is None else _errors(inner, deeper - 1)
    elif isinstance(value, Mapping):
        error = cast("Mapping[str, object]", value)
        yield error
        for name in _WITHIN:
            yield from _errors(error.get(name), deeper - 1)


def _object_in(text: str) -> object:
    """Return the JSON object or list in a text; None where the text is none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def transport_error(error: openai.OpenAIError | httpx2.HTTPError) -> ProviderError | EffectError:
    """Return the provider's error behind an exception of the client, or the `EffectError` where there is none."""
    if isinstance(error, GaveUp):
        return error.error
    if isinstance(error, openai.APIStatusError):
        # The text, as the client drops all but the `error` of a body; the body is read already.
        return provider_error(error.status_code, error.response.text, error.response.headers)
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


def effect_error(said: ProviderError, sent: Sequence[ChatMessage], *, model: str) -> EffectError:
    """Return the `EffectError` of a provider's error to a call with these messages. Cost: O(their size)."""
    fault = fault_of(said)
    words = "" if said.status in (401, 403) else _discreet(said.message, sent)
    code = said.code if re.fullmatch(r"[\w.-]{1,60}", said.code) else ""
    about = ", ".join(filter(None, [f"HTTP {said.status}", code]))
    detail = f"{_MEANING[fault]} ({about})"
    if said.status in (401, 403):
        detail = f"the provider does not accept the key for this model ({about})"
    elif said.status == 404 and fault == "rejected":
        detail = f"the provider knows no model {model!r}, or no chat completions at this address ({about})"
    elif fault == "rate_limit" and said.retry_after is not None and said.retry_after >= 1:
        detail += f" and wants to be left alone for {said.retry_after:,.0f} s"
    return EffectError(
        fault,
        f"{detail}: {words}" if words else detail,
        retry_after=said.retry_after,
        shorter_may_help=fault == "rejected" and _is_unexplained(said),
    )


_MEANING: Final[Mapping[EffectFault, str]] = {
    "overflow": "the prompt does not fit into the model's context",
    "rate_limit": "the provider is asked too often",
    "timeout": "the provider gave up waiting",
    "server": "the provider has failed",
    "rejected": "the provider takes no such request",
}


def fault_of(said: ProviderError) -> EffectFault:
    """Return the fault of a provider's error."""
    status = said.status
    if status in _MAY_OVERFLOW and _is_overflow(f"{said.code} {said.message[:_MOST_WORDS]}"):
        return "overflow"
    if status == 413 or (status == 429 and _TOO_LARGE.search(said.message)):
        return "overflow"
    if status == 429:
        return "rejected" if said.code in _NO_CREDIT else "rate_limit"
    if status == 408:
        return "timeout"
    return "server" if status == 409 or status >= 500 or status < 400 else "rejected"


def _is_overflow(words: str) -> bool:
    if _OVERFLOW.search(words) is None or _TOO_OFTEN.search(words) is not None:
        return False
    return _OUTPUT.search(words) is None or _PROMPT.search(words) is not None


def _is_unexplained(said: ProviderError) -> bool:
    words = f"{said.code.replace('_', ' ')} {said.message[:_MOST_WORDS]}"
    if said.status not in _MAY_BE_UNEXPLAINED or _EXPLAINED.search(words) is not None:
        return False
    return _OUTPUT.search(words) is None and _TOO_OFTEN.search(words) is None


def _discreet(words: str, sent: Sequence[ChatMessage]) -> str:
    """Return a provider's words as one line; empty where they quote a text that was sent."""
    line = " ".join(words.split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
    flat = " ".join("\n".join(_texts(sent)).split())
    windows = range(max(1, len(line) - _WINDOW + 1))
    quotes = any(line[start : start + _WINDOW] in flat for start in windows)
    return "" if quotes or not line.isprintable() else line


def _texts(sent: Sequence[ChatMessage]) -> Iterator[str]:
    for message in sent:
        yield message.text
        if isinstance(message, Assistant):
            yield from [call.arguments for call in message.calls]
