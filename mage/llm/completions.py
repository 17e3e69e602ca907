"""A call of a chat model, and the answer of its server, whole or as a stream: a `Reply`, or why there is none.

The SDK builds its models without a check: with a server that is not OpenAI's, a field may be missing or of another
type. So this module reads the JSON itself, and a value of a wrong type counts as absent.

A stream of events becomes the completion of which it has the pieces. Servers disagree on how they stream tool calls.
Some number the pieces of every call 0, or not at all; some give no ids, the same id to all calls, or another one to each
piece; some repeat the name in each piece, or cut it into pieces; some send all calls, or all of a call so far, again.
The arguments show which pieces belong together: they are a JSON object, so a piece that comes when the object is closed
is another call, or the same words again.

An error of a provider, in any form, is a fault of `mage.effects`:

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast, final

import attrs
import httpx2
import openai

from mage.chat import Assistant, ChatMessage, ToolCall
from mage.chat.messages import (
    ASIDE,
    chat_beside,
    content_of,
    list_of,
    mapping_of,
    string_of,
    thoughts_beside,
    transcript_of,
)
from mage.chat.replies import Reply
from mage.effects import EffectError, EffectFault, Schema, Tool, Usage
from mage.effects.questions import Ask
from mage.engine import MageError
from mage.llm.clients import GaveUp, retry_after


@final
@attrs.frozen
class Call(Ask[Reply]):
    """A question to a model, which a program awaits; `schema`, with the name `named`, is for servers that enforce one."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    schema: Schema | None = None
    named: str = ""


@final
@attrs.define
class NotEnforced(MageError):
    """A server has rejected a call with a schema, perhaps because it cannot enforce the schema; if not, `error` is why."""

    error: EffectError


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
    whole = mapping_of(document)
    error = error_in(whole)
    if error is not None:
        return error
    choices = whole.get("choices")
    if not isinstance(choices, list):
        said = provider_error(200, whole, {})
        return said if said.message else _NO_COMPLETION
    choice = first_choice(whole)
    message = mapping_of(choice.get("message"))
    finish = choice.get("finish_reason")
    content = content_of(message.get("content"), others=lambda part: string_of(mapping_of(part).get("text")))
    return Reply(
        text="".join(content.texts) or transcript_of(message.get("audio")),
        calls=_calls(message),
        refusal=string_of(message.get("refusal")) or content.refusal,
        # a reply without any choice is empty: it has not broken off
        finish=(string_of(finish) or None) if choices else "stop",
        usage=_usage(whole.get("usage")),
        model=string_of(whole.get("model")),
        aside=thoughts_beside(message) or "\n".join(content.thoughts),
    )


def error_in(whole: Mapping[str, object]) -> ProviderError | None:
    """Return the error in place of a completion, or in its choice, where some routers put it."""
    for place in (whole, first_choice(whole)):
        if place.get("error"):
            return provider_error(200, place, {})
    return None


def first_choice(whole: Mapping[str, object]) -> Mapping[str, object]:
    """Return the first choice of a completion or of a chunk; an empty one where there is none."""
    return mapping_of(next(iter(list_of(whole.get("choices"))), None))


def _calls(message: Mapping[str, object]) -> tuple[ToolCall, ...]:
    """Return the calls of a message, each with the provider's data beside it."""
    listed = [mapping_of(item) for item in list_of(message.get("tool_calls"))]
    calls = []
    for place, (call, kept) in enumerate(zip(listed, chat_beside(message, listed), strict=True)):
        function = mapping_of(call.get("function"))
        key, name = string_of(call.get("id")) or f"call_{place}", string_of(function.get("name"))
        calls.append(ToolCall(key, name, arguments_of(function.get("arguments") or {}), kept))
    return tuple(calls)


def arguments_of(value: object) -> str:
    """Return the arguments of a call as their text; some servers send an object."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except RecursionError:  # the decoder goes a little deeper than the encoder
        return ""


def _usage(value: object) -> Usage:
    counts = mapping_of(value)
    details = mapping_of(counts.get("prompt_tokens_details"))
    return Usage(
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        _count(details.get("cached_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


# -- streams ---------------------------------------------------------------------------------------------

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
"""The end of a line of an event stream. `str.splitlines` also splits at U+2028 and the like, which JSON may hold."""
_FIELD: Final = "data:"
_DONE: Final = "[DONE]"
_LAST: Final = re.compile(
    rb"(?:\A|[\r\n])data:[ \t]{0,8}"
    rb'(?:\[DONE\][ \t]{0,8}[\r\n]|\{[ \t]{0,8}"error"[^\r\n]{0,4000}(?:\n\n|\r\r|\r\n\r\n))'
)
"""The last event of a stream: its end, or an error."""
_LAST_LENGTH: Final = 4_096
_BRACES: Final = re.compile(r'[{}"]|\\.?', re.DOTALL)
_GROWING: Final = ("text", "summary", "thinking", "data", "content", "signature")
"""The fields of an item of `reasoning_details` that come in pieces."""


def has_ended(stream: bytes | bytearray, new: int) -> bool:
    """Tell whether the last `new` bytes bring a stream's last event: a connection may stay open behind it. Cost: O(`new`)."""
    return _LAST.search(stream, max(0, len(stream) - new - _LAST_LENGTH)) is not None


def read_streamed_completion(stream: str) -> Reply | ProviderError:
    """Return the reply or the error in the events of a stream. Any text. Cost: O(length)."""
    whole: dict[str, object] = {}
    deltas: list[Mapping[str, object]] = []
    finish: object = None
    for data in _events(stream):
        try:
            chunk = mapping_of(json.loads(data))
        except (ValueError, RecursionError):
            return ProviderError(200, "", "a piece of the stream is not JSON")
        error = error_in(chunk)
        if error is not None:
            return error
        whole.update({key: chunk[key] for key in ("usage", "model") if chunk.get(key)})
        choice = first_choice(chunk)
        finish = choice.get("finish_reason") or finish
        deltas.append(mapping_of(choice.get("delta")))
    return read_completion({**whole, "choices": [{"message": _message(deltas), "finish_reason": finish}]})


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


def _message(deltas: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the message of which a stream has the pieces."""
    message: dict[str, object] = {
        name: _together([delta[name] for delta in deltas if delta.get(name)])
        for name in ("content", "refusal")
    }
    names = dict.fromkeys(name for delta in deltas for name in delta if ASIDE.match(name))
    for name in names:
        pieces = [delta[name] for delta in deltas if delta.get(name)]
        if all(isinstance(piece, str) for piece in pieces):
            message[name] = "".join(map(string_of, pieces))
        elif all(isinstance(piece, list) for piece in pieces):
            message[name] = _items([mapping_of(item) for piece in pieces for item in list_of(piece)])
        else:
            message[name] = pieces[-1]
    calls = _Calls()
    for delta in deltas:
        calls.take([mapping_of(item) for item in list_of(delta.get("tool_calls"))])
    return {**message, "tool_calls": calls.documents}


def _together(pieces: Sequence[object]) -> object:
    """Return content as one text; as parts where a piece is a list of parts."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(string_of, pieces))
    return [part for piece in pieces for part in (piece if isinstance(piece, list) else [piece])]


def _items(pieces: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the items of `reasoning_details` and the like: pieces of one type with one index are one item."""
    items: dict[tuple[object, object], dict[str, object]] = {}
    for piece in pieces:
        key = (string_of(piece.get("type")), str(piece.get("index", len(items))))
        item = items.setdefault(key, {})
        for name, value in piece.items():
            before = item.get(name)
            grows = name in _GROWING and isinstance(value, str) and isinstance(before, str)
            if value is not None or name not in item:
                item[name] = f"{before}{value}" if grows else value
    return list(items.values())


# -- tool calls ----------------------------------------------------------------------------------------


@final
@attrs.define
class _Call:
    """A tool call, as far as its pieces have come.

    Attributes:
        index: its place among the calls, by the server.
        next_name: a name that came when the arguments were whole: of the next call, or this call's once more.
        length: characters of the pieces.
        more: its other fields, such as a signature.
        has_begun: whether the arguments have an open brace.
        is_escaped: whether the pieces end with a backslash that escapes the next character.
    """

    index: int
    id: str
    name: str = ""
    next_name: str = ""
    pieces: list[str] = attrs.field(factory=list)
    length: int = 0
    more: dict[str, object] = attrs.field(factory=dict)
    has_begun: bool = False
    depth: int = 0
    is_quoted: bool = False
    is_escaped: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether the arguments are a whole object: the next piece is of another call, or the same once more."""
        return self.has_begun and self.depth <= 0 and not self.is_quoted

    @property
    def is_placeholder(self) -> bool:
        """Whether the arguments are an empty object, which some servers send before the first piece."""
        return self.pieces == ["{}"]

    @property
    def document(self) -> dict[str, object]:
        """The call in the form of a completion. Cost: O(length)."""
        beside = mapping_of(self.more.get("function"))
        function = {**beside, "name": self.name, "arguments": "".join(self.pieces)}
        return {**self.more, "id": self.id, "function": function}

    def is_all(self, key: str, name: str, arguments: str) -> bool:
        """Tell whether these are all of this call, once more. Cost: O(1) where their length differs."""
        if not self.is_closed or len(arguments) != self.length or self.next_name not in ("", self.name):
            return False
        return key in ("", self.id) and name in ("", self.name) and arguments == "".join(self.pieces)

    def is_followed_by(self, key: str, name: str, arguments: str) -> bool:
        """Tell whether a piece at the place of this call begins another one."""
        is_renamed = bool(name and self.id) and key not in ("", self.id)
        if not self.is_closed:
            return is_renamed and (not self.pieces or arguments.lstrip().startswith("{"))
        if not arguments.strip():
            return is_renamed
        return bool(name or self.next_name) or not self.is_placeholder

    def add(self, name: str, arguments: str) -> None:
        """Add a name and arguments: the next piece, or all so far once more. Cost: O(length of both)."""
        if self.is_closed and name:
            self.next_name = _named(self.next_name, name)
        elif not self.pieces or name.startswith(self.name):
            self.name = _named(self.name, name)
        if not arguments:
            return
        if self.is_placeholder or self._is_beginning_of(arguments):
            self.pieces, self.length, self.has_begun = [], 0, False
            self.depth, self.is_quoted, self.is_escaped = 0, False, False
        self.pieces.append(arguments)
        self.length += len(arguments)
        self._scan(arguments)

    def _is_beginning_of(self, piece: str) -> bool:
        """Tell whether a piece brings all so far once more: no JSON object goes on with its own beginning."""
        place = 0
        for known in self.pieces:
            if not piece.startswith(known, place):
                return False
            place += len(known)
        return self.has_begun and len(piece) > 1

    def _scan(self, piece: str) -> None:
        for found in _BRACES.finditer(piece, int(self.is_escaped)):
            if found[0] == '"':
                self.is_quoted = not self.is_quoted
            elif not self.is_quoted and found[0] in "{}":
                self.has_begun = True
                self.depth += 1 if found[0] == "{" else -1
        backslashes = len(piece) - len(piece.rstrip("\\"))
        if backslashes < len(piece):
            self.is_escaped = False
        self.is_escaped ^= backslashes % 2 == 1


@final
@attrs.define
class _Calls:
    """The tool calls of a stream, and the last call at each index and with each id."""

    found: list[_Call] = attrs.field(factory=list)
    by_index: dict[int, _Call] = attrs.field(factory=dict)
    by_id: dict[str, _Call] = attrs.field(factory=dict)

    def take(self, chunk: Sequence[Mapping[str, object]]) -> None:
        """Take the pieces of a chunk, without those that only bring all calls so far once more. Cost: O(their size)."""
        known = len(self.found)
        repeats = 0 < known <= len(chunk) and all(
            call.is_all(*_fields(piece)) for piece, call in zip(chunk, self.found, strict=False)
        )
        for piece in chunk[known if repeats else 0 :]:
            self._take(piece)

    def _take(self, piece: Mapping[str, object]) -> None:
        key, name, arguments = _fields(piece)
        index = _index(piece.get("index"))
        call = self._at(index, key, name)
        if call is not None and call.is_all(key, name, arguments):
            name, arguments, call.next_name = "", "", ""
        elif call is None or call.is_followed_by(key, name, arguments):
            begun = _Call(len(self.found) if index is None else index, key)
            if call is not None:
                begun.name, call.next_name = call.next_name or ("" if name else call.name), ""
            call = begun
            self.found.append(call)
        call.id = call.id or key
        call.add(name, arguments)
        self.by_index[call.index] = self.by_id[call.id] = call
        call.more |= {name: value for name, value in piece.items() if name not in _OWN and value}
        beside = {
            name: value for name, value in mapping_of(piece.get("function")).items() if name not in _OWN
        }
        call.more |= {"function": beside} if beside else {}

    def _at(self, index: int | None, key: str, name: str) -> _Call | None:
        """Return the call that a piece may belong to: by its index, by its id, or because it came last."""
        named = self.by_id.get(key) if key else None
        if named is not None and named.index == index and not named.is_closed:
            return named  # where the server gives every call the same index
        if index in self.by_index:
            return self.by_index[index]
        if index is not None and name:
            return None if named is None or named.is_closed else named
        return named or (self.found[-1] if self.found else None)

    @property
    def documents(self) -> list[dict[str, object]]:
        """The calls in the order of their indices. Cost: O(size)."""
        last = self.found[-1] if self.found else None
        if last is not None and last.next_name not in ("", last.name):  # it has no arguments
            self.found.append(_Call(last.index, "", last.next_name))
        return [call.document for call in sorted(self.found, key=lambda call: call.index)]


def _named(name: str, piece: str) -> str:
    """Return a name with its next piece, which may bring all of it so far once more."""
    return piece if piece.startswith(name) else name + piece


_OWN: Final = frozenset({"id", "index", "type", "function", "name", "arguments"})


def _fields(piece: Mapping[str, object]) -> tuple[str, str, str]:
    function = mapping_of(piece.get("function"))
    arguments = arguments_of(function.get("arguments") or "")
    return string_of(piece.get("id")), string_of(function.get("name")), arguments


def _index(value: object) -> int | None:
    """Return an index, also one that is written as a text; None where there is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# -- why there is no reply -----------------------------------------------------------------------------------

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


_NO_COMPLETION: Final = ProviderError(200, "", "what came back is no chat completion")


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
