"""A call of a chat model, and the answer of its server: a `Reply`, or a `ProviderError` and its fault.

The SDK builds its models without a check: with a server that is not OpenAI's, a field may be missing or of another
type. So this module reads the JSON itself, and a value of a wrong type counts as absent.

An error comes to one of the faults of `mage.effects`:

    400, 413, 422, 500 that speak of the context    overflow
    429 of a request that is too large by itself    overflow
    other 4xx, 429 of an account without credit     rejected
    408                                             timeout
    429                                             rate_limit, with Retry-After
    409 (a lock), 5xx                               server, with Retry-After

The provider's own words help people, but may quote the prompt. They are kept only where they quote nothing of
the call, in one short line. `mage.llm.transport` has taken out a key that a proxy echoes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast, final

import attrs
import httpx2
import openai

from mage.chat import Assistant, ChatMessage, ToolCall
from mage.chat.messages import thought_beside
from mage.effects import EffectError, EffectFault, Schema, Tool, Usage
from mage.effects.program import Ask
from mage.engine import MageError
from mage.llm.wire import GaveUp, retry_after

_ONE: Final = Usage()
_ASIDE: Final = ("reasoning", "reasoning_content")  # of a stream; some servers give both, with the same text
_OVERFLOW: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|string_above_max_length"
    r"|(?:maximum|available|exceeds? the|max) context|context (?:length|window|size)"
    r"|(?:prompt|input|request) (?:is|are) too (?:long|large)|too many (?:input )?tokens|reduce the length"
    r"|maximum (?:prompt|input|model) length|exceeds the maximum number of tokens|context_?window_?exceeded"
    r"|inputs`? (?:tokens \+|must have less than)",
    re.IGNORECASE,
)
_TOO_LARGE: Final = re.compile(r"request too large", re.IGNORECASE)
"""More than the provider allows in a minute: a wait does not help."""
_MAY_OVERFLOW: Final = frozenset({200, 400, 413, 422, 500})  # 200: an error in the body
_NO_CREDIT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_BROKEN: Final = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError, httpx2.DecodingError)
_LONGEST: Final = 200
_WINDOW: Final = 16
"""So many characters in common with the prompt are a quotation."""
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
"""What ends a line of an event stream. `str.splitlines` also splits at U+2028 and the like, which JSON may hold."""
_FIELD: Final = "data:"
_DONE: Final = "[DONE]"
_LAST: Final = re.compile(
    rb"(?:\A|[\r\n])data:[ \t]{0,8}"
    rb'(?:\[DONE\][ \t]{0,8}[\r\n]|\{[ \t]{0,8}"error"[^\r\n]{0,4000}(?:\n\n|\r\r|\r\n\r\n))'
)
"""The last event of a stream: its end, or an error."""
_LAST_LENGTH: Final = 4_096


@final
@attrs.frozen
class Reply:
    """A model's reply, whole or not.

    Attributes:
        text: its content.
        calls: the tools it called; an argument is JSON only if the model got it right.
        refusal: in its words, why it will not answer; empty where it does.
        finish: why it stopped, in the provider's word; None where the reply broke off.
        usage: the tokens of the call.
        model: the name under which the provider says it answered.
        aside: its thoughts, where a server splits them off; they stand for those that its content does not have.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish: str | None = None
    usage: Usage = _ONE
    model: str = ""
    aside: str = attrs.field(default="", repr=False)


@final
@attrs.frozen
class Call(Ask[Reply]):
    """A question to a model, which a program awaits.

    Attributes:
        messages: the chat.
        tools: the tools that the model may call.
        schema: the schema of the reply, for servers that enforce it; None for any text.
        named: the name of that schema.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    schema: Schema | None = None
    named: str = ""


@final
@attrs.define
class NotEnforced(MageError):
    """A server has rejected a call with a schema, perhaps because it cannot enforce schemas.

    Attributes:
        error: the error, if that was not the reason.
    """

    error: EffectError


@final
@attrs.frozen
class ProviderError:
    """A provider's error, in place of a reply.

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


_NO_COMPLETION: Final = ProviderError(200, "", "what came back is no chat completion")


# -- replies -------------------------------------------------------------------------------------------


def read_json_completion(body: str) -> Reply | ProviderError:
    """Return the reply or the error in the body of a response. Cost: O(length)."""
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return _NO_COMPLETION
    return read_completion(document)


def read_completion(document: object) -> Reply | ProviderError:
    """Return the first choice of a completion, or the error that came in its place under a 200. Any JSON."""
    whole = _mapping(document)
    error = _error(whole)
    if error is not None:
        return error
    choices = whole.get("choices")
    if not isinstance(choices, list):
        return _NO_COMPLETION
    choice = _first_choice(whole)
    message = _mapping(choice.get("message"))
    finish = choice.get("finish_reason")
    return Reply(
        text=_content(message.get("content")),
        calls=tuple(_calls(message.get("tool_calls"))),
        refusal=_text(message.get("refusal")),
        # No choice at all is no reply that broke off: it is an empty one.
        finish=(_text(finish) or None) if choices else "stop",
        usage=_usage(whole.get("usage")),
        model=_text(whole.get("model")),
        aside=thought_beside(message),
    )


def _error(whole: Mapping[str, object]) -> ProviderError | None:
    """Return the error that stands in place of a completion, or in its choice, where some routers put it."""
    for place in (whole, _first_choice(whole)):
        if place.get("error"):
            return provider_error(200, place, {})
    return None


def _first_choice(whole: Mapping[str, object]) -> Mapping[str, object]:
    return _mapping(next(iter(_items(whole.get("choices"))), None))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _content(value: object) -> str:
    """Return a message's content; some servers give it in parts."""
    if isinstance(value, str):
        return value
    return "".join([_text(_mapping(part).get("text")) for part in _items(value)])


def _calls(value: object) -> Iterable[ToolCall]:
    for place, item in enumerate(_items(value)):
        call = _mapping(item)
        function = _mapping(call.get("function"))
        arguments = _arguments(function.get("arguments") or {})
        yield ToolCall(_text(call.get("id")) or f"call_{place}", _text(function.get("name")), arguments)


def _arguments(value: object) -> str:
    """Return the arguments of a call as their text; some servers give an object."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except RecursionError:  # the decoder goes a little deeper than the encoder
        return ""


def _usage(value: object) -> Usage:
    counts = _mapping(value)
    details = _mapping(counts.get("prompt_tokens_details"))
    return Usage(
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        _count(details.get("cached_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


# -- replies that come as a stream ---------------------------------------------------------------------


def has_ended(stream: bytes | bytearray, new: int) -> bool:
    """Tell whether the last `new` bytes of a stream bring its last event: a connection may stay open behind it.

    Cost: O(`new`).
    """
    return _LAST.search(stream, max(0, len(stream) - new - _LAST_LENGTH)) is not None


def read_streamed_completion(stream: str) -> Reply | ProviderError:
    """Return the reply or the error that the events of a stream make together. Any text. Cost: O(length)."""
    whole: dict[str, object] = {}
    texts: dict[str, list[str]] = {name: [] for name in ("content", "refusal", *_ASIDE)}
    calls: list[Mapping[str, object]] = []
    finish: object = None
    for data in _events(stream):
        try:
            chunk = _mapping(json.loads(data))
        except (ValueError, RecursionError):
            return ProviderError(200, "", "a piece of the stream is not JSON")
        error = _error(chunk)
        if error is not None:
            return error
        whole.update({key: chunk[key] for key in ("usage", "model") if chunk.get(key)})
        choice = _first_choice(chunk)
        finish = choice.get("finish_reason") or finish
        delta = _mapping(choice.get("delta"))
        for name, pieces in texts.items():
            pieces.append(_content(delta.get(name)))
        calls += map(_mapping, _items(delta.get("tool_calls")))
    message = {**{name: "".join(pieces) for name, pieces in texts.items()}, "tool_calls": _joined(calls)}
    return read_completion({**whole, "choices": [{"message": message, "finish_reason": finish}]})


def _events(stream: str) -> Iterator[str]:
    """Yield the data of each event. An event that broke off is dropped, as SSE demands."""
    data: list[str] = []
    for line in _LINE_END.split(stream)[:-1]:
        if line.startswith(_FIELD):
            data.append(line.removeprefix(_FIELD).removeprefix(" "))
            if data[-1].strip() == _DONE:
                return
        elif not line and data:
            yield "\n".join(data)
            data = []


@attrs.define
class _Joining:
    """A call, of which some pieces have come."""

    index: int
    id: str
    name: str
    arguments: list[str] = attrs.field(factory=list)


def _joined(pieces: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the calls of a stream as a completion has them, in the order of their indices. Cost: O(size).

    Some servers leave the index out, and some give 0 to every call: a name with another id begins a call.
    """
    calls: list[_Joining] = []
    last_at: dict[int, _Joining] = {}
    for piece in pieces:
        function = _mapping(piece.get("function"))
        key, name, index = _text(piece.get("id")), _text(function.get("name")), piece.get("index")
        call = last_at.get(index) if isinstance(index, int) else calls[-1] if calls else None
        if call is None or (name and call.name and key != call.id):
            call = _Joining(index if isinstance(index, int) else len(calls), key, name)
            calls.append(call)
            last_at[call.index] = call
        call.id, call.name = key or call.id, name or call.name
        call.arguments.append(_arguments(function.get("arguments") or ""))
    return [
        {"id": call.id, "function": {"name": call.name, "arguments": "".join(call.arguments)}}
        for call in sorted(calls, key=lambda call: call.index)
    ]


# -- errors --------------------------------------------------------------------------------------------


def provider_error(status: int, body: object, headers: Mapping[str, str]) -> ProviderError:
    """Return the error in a body, in any of its forms: `{"error": {...}}`, its inside, or text. Any value.

    Gemini puts it into a list; `detail` is FastAPI's word, with a text or a list of objects.
    """
    whole: object = body[0] if isinstance(body, list) and body else body
    inside: object = whole.get("error", whole) if isinstance(whole, Mapping) else whole
    wait = retry_after(headers)
    if not isinstance(inside, Mapping):
        return ProviderError(status, "", _text(inside), wait)
    code, message = inside.get("code"), inside.get("message") or _detail(inside.get("detail"))
    if isinstance(code, int) and 400 <= code < 600 and status < 400:  # HTTP said 200
        status = code
    named = code if isinstance(code, str) else inside.get("type")
    return ProviderError(status, _text(named), _text(message), wait)


def _detail(detail: object) -> object:
    first: object = detail[0] if isinstance(detail, list) and detail else detail
    return first.get("msg") if isinstance(first, Mapping) else first


def transport_error(error: openai.OpenAIError | httpx2.HTTPError) -> ProviderError | EffectError:
    """Return the provider's error behind an exception of the client, or the `EffectError` where there is none."""
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


def effect_error(said: ProviderError, call: Call, *, model: str) -> EffectError:
    """Return the `EffectError` of a provider's error to a call. Cost: O(size of the call)."""
    fault = _fault(said)
    words = "" if said.status in (401, 403) else _discreet(said.message, call)
    code = said.code if re.fullmatch(r"[\w.-]{1,60}", said.code) else ""
    about = ", ".join(filter(None, [f"HTTP {said.status}", code]))
    detail = f"{_MEANING[fault]} ({about})"
    if said.status in (401, 403):
        detail = f"the provider does not accept the key for this model ({about})"
    elif said.status == 404:
        detail = f"the provider knows no model {model!r}, or no chat completions at this address ({about})"
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
    if status == 413 or (status == 429 and _TOO_LARGE.search(said.message)):
        return "overflow"
    if status == 429:
        return "rejected" if said.code in _NO_CREDIT else "rate_limit"
    if status == 408:
        return "timeout"
    return "server" if status == 409 or status >= 500 or status < 400 else "rejected"


def _discreet(message: str, call: Call) -> str:
    """Return a provider's words as one line; empty where they quote a text of the call."""
    line = " ".join(message.split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
    texts = [
        message.call.arguments if isinstance(message, Assistant) and message.call else message.text
        for message in call.messages
    ]
    flat = " ".join("\n".join(texts).split())
    windows = range(max(1, len(line) - _WINDOW + 1))
    quotes = any(line[start : start + _WINDOW] in flat for start in windows)
    return "" if quotes or not line.isprintable() else line
