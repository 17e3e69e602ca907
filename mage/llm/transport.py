"""Calls through the `openai` client: a `Call` goes out as its parameters, a `Reply` or an `EffectError` comes back.

No exception of the client leaves this module: each becomes an `EffectError`, without a chain that would carry the
request. Cancellation and interrupts pass untouched. The client repeats a call that may be repeated, at most
`max_retries` times and no sooner than Retry-After allows.

A reply is cleaned here, once, before journals and people get it: a careless proxy echoes a header in an error, a
model repeats its prompt, a hostile server sends the key wherever it can. Its usage is checked here too: a run's
limit of tokens adds up the servers' reports, and a server that reports nothing, a negative number, a text, or more
than any tokenizer could find would make the limit void, or end a run that has used little.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Generic, TypeAlias, TypedDict, TypeVar, assert_never, cast, final

import attrs
import httpx2
import openai
from openai import Omit, omit
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from openai.types.shared_params import ResponseFormatJSONSchema

from mage.chat import Assistant, ToolCall, canonical, declared, is_strict, written
from mage.chat.replies import Reply
from mage.effects import EffectError, Usage
from mage.engine import UnknownName
from mage.llm.clients import one_call
from mage.llm.completions import (
    Call,
    NotEnforced,
    ProviderError,
    effect_error,
    has_ended,
    read_json_completion,
    read_streamed_completion,
    transport_error,
)
from mage.tokens import TokenCounter, default_counter

Client = TypeVar("Client", bound=openai.OpenAI | openai.AsyncOpenAI)
_Came: TypeAlias = Reply | ProviderError | EffectError
_Body: TypeAlias = bytes | bytearray
_Said = TypeVar("_Said", Reply, ProviderError)

_WITH_USAGE: Final[Any] = {"include_usage": True}  # Any: the SDK moves the type between its versions
_SCHEMA_REJECTED: Final = frozenset({400, 404, 415, 422, 500, 501})
"""The statuses of servers that do not know `response_format`, or cannot enforce this schema."""
_LONGEST_TOKEN: Final = 128
"""Bytes: the longest entry of the vocabularies that `mage.tokens` knows is a run of so many spaces."""
_TEMPLATE: Final = 10_000
"""Tokens that a server may add to a prompt: the frame of a chat, an account of its tools."""
_MOST_WRITTEN: Final = 1_000_000
"""Tokens that no model writes in one reply, its hidden thoughts included."""
_SHORTEST_KEY: Final = 8
"""A shorter key is a word such as `none` or `EMPTY`, for a server that wants no key."""
_SHORTEST_PASSWORD: Final = 6
"""A shorter password is a word too: hiding it would change the meaning of every reply with that word."""
_HIDDEN: Final = "***"
_SECRET_HEADER: Final = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


class Sampling(TypedDict, total=False):
    """The settings of a call; the provider's default stands for every setting that is left out.

    Attributes:
        max_tokens: the most tokens that the model may write in one reply.
        temperature: 0 for the likeliest reply.
        seed: for providers that can repeat a reply.
        stream: take the reply in pieces, so that the client's timeout counts from piece to piece and
            only its deadline counts the whole: many gateways cut a connection that is silent for a minute or two.
        extra: further parameters of the provider, such as `{"max_completion_tokens": 4000}` for OpenAI's
            reasoning models, which take no `max_tokens`, or `{"parallel_tool_calls": False}`.
    """

    max_tokens: int
    temperature: float
    seed: int
    stream: bool
    extra: Mapping[str, object]


def _require_known(_line: object, _field: attrs.Attribute[Any], sampling: Sampling) -> None:
    """Refuse an unknown setting, such as `max_token`, which would be left out in silence."""
    known = tuple(Sampling.__annotations__)
    for name in sampling:
        if name not in known:
            raise UnknownName("setting of a call", name, known)


class _Parameters(TypedDict):
    messages: list[ChatCompletionMessageParam]
    model: str
    tools: list[ChatCompletionFunctionToolParam] | Omit
    response_format: ResponseFormatJSONSchema | Omit
    max_tokens: int | Omit
    temperature: float | Omit
    seed: int | Omit
    extra_body: Mapping[str, object] | None


@final
@attrs.frozen(eq=False)
class Line(Generic[Client]):
    """A model behind a client, with its address and key; `counter` counts the tokens that the server does not."""

    client: Client = attrs.field(repr=False)
    model: str
    sampling: Sampling = attrs.field(validator=_require_known)
    counter: TokenCounter = attrs.field(factory=default_counter, repr=False)

    def parameters(self, call: Call) -> _Parameters:
        """Return a call as parameters of the client."""
        sampling = self.sampling
        return {
            "messages": cast("list[ChatCompletionMessageParam]", written(call.messages, "chat")),
            "model": self.model,
            "tools": cast("list[ChatCompletionFunctionToolParam]", declared(call.tools, "chat")) or omit,
            "response_format": omit if call.schema is None else _format(call.named, call.schema),
            "max_tokens": sampling.get("max_tokens", omit),
            "temperature": sampling.get("temperature", omit),
            "seed": sampling.get("seed", omit),
            "extra_body": sampling.get("extra"),
        }

    def taken(self, came: _Came, call: Call) -> Reply:
        """Return the reply, without secrets and with a usage that can be true, or raise the error in its place.

        The error is raised here, outside of the client's `except`, so that no exception of the client is its context.
        """
        secrets = secrets_of(self.client)
        match came:
            case Reply():
                return counted(secrets.out_of(came), call, self.counter)
            case EffectError():
                raise came
            case ProviderError():
                error = effect_error(secrets.out_of(came), call.messages, model=self.model)
                if call.schema is not None and came.status in _SCHEMA_REJECTED and error.fault != "overflow":
                    raise NotEnforced(error)
                raise error
            case _:
                assert_never(came)


def _format(named: str, schema: Mapping[str, object]) -> ResponseFormatJSONSchema:
    return {
        "type": "json_schema",
        "json_schema": {"name": named, "schema": dict(schema), "strict": is_strict(schema)},
    }


def send(line: Line[openai.OpenAI], call: Call) -> Reply:
    """Make a call.

    Raises:
        EffectError: there is no reply.
        NotEnforced: the server rejects a call with a schema.
    """
    came: _Came
    try:
        with one_call():
            came = _streamed(line, call) if line.sampling.get("stream") else _whole(line, call)
    except (openai.OpenAIError, httpx2.HTTPError) as error:
        came = transport_error(error)
    return line.taken(came, call)


async def send_awaited(line: Line[openai.AsyncOpenAI], call: Call) -> Reply:
    """Make a call; see `send`."""
    came: _Came
    try:
        with one_call():
            came = await (
                _streamed_async(line, call) if line.sampling.get("stream") else _whole_async(line, call)
            )
    except (openai.OpenAIError, httpx2.HTTPError) as error:
        came = transport_error(error)
    return line.taken(came, call)


def _whole(line: Line[openai.OpenAI], call: Call) -> _Came:
    response = line.client.chat.completions.with_raw_response.create(**line.parameters(call))
    return read_json_completion(_text(response.content))


async def _whole_async(line: Line[openai.AsyncOpenAI], call: Call) -> _Came:
    response = await line.client.chat.completions.with_raw_response.create(**line.parameters(call))
    return read_json_completion(_text(response.content))


def _streamed(line: Line[openai.OpenAI], call: Call) -> _Came:
    completions, body = line.client.chat.completions.with_streaming_response, bytearray()
    with completions.create(stream=True, stream_options=_WITH_USAGE, **line.parameters(call)) as response:
        for piece in response.iter_bytes():
            body += piece
            if has_ended(body, len(piece)):
                break
    return _read(body, response.headers)


async def _streamed_async(line: Line[openai.AsyncOpenAI], call: Call) -> _Came:
    completions, body = line.client.chat.completions.with_streaming_response, bytearray()
    async with completions.create(
        stream=True, stream_options=_WITH_USAGE, **line.parameters(call)
    ) as response:
        async for piece in response.iter_bytes():
            body += piece
            if has_ended(body, len(piece)):
                break
    return _read(body, response.headers)


def _read(body: _Body, headers: Mapping[str, str]) -> Reply | ProviderError:
    """Return the answer to a call for a stream; some servers do not know `stream`."""
    is_stream = headers.get("content-type", "").startswith("text/event-stream")
    return (read_streamed_completion if is_stream else read_json_completion)(_text(body))


def _text(body: _Body) -> str:
    """Return a body as text: JSON is UTF-8, whatever the headers say."""
    return body.decode(errors="replace")


# -- usage ---------------------------------------------------------------------------------------------


def counted(reply: Reply, call: Call, counter: TokenCounter) -> Reply:
    """Return a reply with a usage that can be true: `counter` counts in place of a number that cannot. Cost: O(size)."""
    sent, said = list(_sent(call)), [*_said(reply)]
    usage, size = reply.usage, _bytes(sent)
    prompt, completion, cached = usage.prompt, usage.completion, usage.cached
    if not _can_be(prompt, size, 2 * size + _TEMPLATE):
        prompt, cached = _counted(sent, counter), 0
    if not _can_be(completion, _bytes(said), _MOST_WRITTEN):
        completion = _counted(said, counter)
    believed = (prompt, completion) == (usage.prompt, usage.completion)
    estimated = usage.estimated if believed else usage.calls
    return attrs.evolve(
        reply, usage=Usage(prompt, completion, min(cached, prompt), usage.calls, estimated=estimated)
    )


def _can_be(reported: int, size: int, most: int) -> bool:
    """Tell whether `reported` tokens can be a text of `size` bytes."""
    return bool(size) <= reported <= most and reported * _LONGEST_TOKEN >= size


def _sent(call: Call) -> Iterator[str]:
    for message in call.messages:
        yield message.text
        if isinstance(message, Assistant):
            for each in message.calls:
                yield from (each.name, each.arguments, each.beside)
    for tool in call.tools:
        yield canonical(attrs.asdict(tool, recurse=False))
    if call.schema is not None:
        yield canonical(call.schema)


def _said(reply: Reply) -> Iterator[str]:
    yield from (reply.text, reply.refusal, reply.aside)
    for call in reply.calls:
        yield from (call.name, call.arguments)


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def _counted(texts: Iterable[str], counter: TokenCounter) -> int:
    return sum(counter.count(text) for text in texts)


# -- secrets -------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Secrets:
    """Texts that must not come back from a server."""

    texts: frozenset[str] = attrs.field(repr=False)

    def out_of(self, came: _Said) -> _Said:
        """Return a server's answer with `***` for each secret in any of its texts. Cost: O(length)."""
        if isinstance(came, ProviderError):
            return attrs.evolve(came, code=self.hidden(came.code), message=self.hidden(came.message))
        calls = [ToolCall(*map(self.hidden, attrs.astuple(call))) for call in came.calls]
        return attrs.evolve(
            came,
            text=self.hidden(came.text),
            calls=tuple(calls),
            refusal=self.hidden(came.refusal),
            finish=None if came.finish is None else self.hidden(came.finish),
            aside=self.hidden(came.aside),
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
    """Return the secrets of a client: keys, secret headers, and a password in its address."""
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
    """Yield the secrets of a header: its value without the scheme, and the name and password behind `Basic`."""
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
    """Return a pattern of secrets, plain and in the spellings of JSON within JSON and of a URL."""
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join(map(_spelling, longest_first)))


def _spelling(secret: str) -> str:
    """Return a pattern of one secret that takes time in proportion to the text.

    A backslash before a character may belong to the spelling or to the secret: the pattern matches up to eight at
    once, and gives none back.
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
