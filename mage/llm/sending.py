"""The border to the `openai` client: a `Call` goes out as its parameters, a `Reply` or an error comes back.

Nothing of the client's is raised from here: what it raises comes to an `EffectError`, without a chain that
would carry the request. Cancellation and interrupts pass untouched. The client retries what may be retried,
as often as its `max_retries` says and no sooner than Retry-After does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypedDict, assert_never, cast, final

import attrs
import httpx2
import openai
from openai import Omit, omit
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from openai.types.shared_params import ResponseFormatJSONSchema

from mage.chat import declared, is_strict, written
from mage.effects import EffectError
from mage.engine import UnknownName
from mage.llm.asking import Call, NotEnforced, Reply
from mage.llm.bounds import calling
from mage.llm.completions import Gathering, read_json_completion
from mage.llm.faults import ProviderError, Sent, effect_error, transport_error
from mage.llm.metering import counted
from mage.llm.secrets import Secrets, secrets_of
from mage.tokens import TokenCounter, default_counter

__all__ = ["AsyncLine", "Line", "Sampling"]


class Sampling(TypedDict, total=False):
    """How a model is asked; what is left out is the provider's default.

    Attributes:
        max_tokens: the most it may write in one reply.
        temperature: 0 for the likeliest reply.
        seed: for providers that can repeat themselves.
        stream: take the reply in pieces, so that the client's timeout counts from piece to piece and
            only its deadline counts the whole.
        extra: further parameters of the provider, such as `{"max_completion_tokens": 4000}` for OpenAI's
            reasoning models, which take no `max_tokens`, or `{"parallel_tool_calls": False}`.
    """

    max_tokens: int
    temperature: float
    seed: int
    stream: bool
    extra: Mapping[str, object]


def _require_known(_line: object, _field: attrs.Attribute[Any], given: Sampling) -> None:
    """Refuse a setting that would be left out in silence: `max_token`, or the tools of an environment."""
    known = tuple(Sampling.__annotations__)
    for name in given:
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
class Line:
    """Sends calls by a client.

    Attributes:
        client: the client, whose address and key it uses.
        model: the model's name.
        sampling: how it is asked.
        counter: counts what the server does not.
    """

    client: openai.OpenAI = attrs.field(repr=False)
    model: str
    sampling: Sampling = attrs.field(validator=_require_known)
    counter: TokenCounter = attrs.field(factory=default_counter, repr=False)

    def send(self, call: Call) -> Reply:
        """Make a call.

        Raises:
            EffectError: there is no reply.
            NotEnforced: the server rejects the call, which has a schema.
        """
        came: Came
        try:
            with calling():
                came = self._streamed(call) if self.sampling.get("stream") else self._whole(call)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            came = transport_error(error)
        return counted(_taken(came, call, self.model, secrets_of(self.client)), call, self.counter)

    def _whole(self, call: Call) -> Came:
        completions = self.client.chat.completions.with_raw_response
        response = completions.create(**_parameters(self.model, self.sampling, call))
        return read_json_completion(_text(response.content))

    def _streamed(self, call: Call) -> Came:
        completions = self.client.chat.completions.with_streaming_response
        parameters = _parameters(self.model, self.sampling, call)
        with completions.create(stream=True, stream_options=_WITH_USAGE, **parameters) as response:
            if not _is_stream(response.headers):
                return read_json_completion(_text(response.read()))
            gathering = Gathering()
            for piece in response.iter_bytes():
                if gathering.take(piece):
                    break
            return gathering.came()


@final
@attrs.frozen(eq=False)
class AsyncLine:
    """Sends calls by an async client; see `Line`."""

    client: openai.AsyncOpenAI = attrs.field(repr=False)
    model: str
    sampling: Sampling = attrs.field(validator=_require_known)
    counter: TokenCounter = attrs.field(factory=default_counter, repr=False)

    async def send(self, call: Call) -> Reply:
        """Make a call; see `Line.send`."""
        came: Came
        try:
            with calling():
                came = await (self._streamed(call) if self.sampling.get("stream") else self._whole(call))
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            came = transport_error(error)
        return counted(_taken(came, call, self.model, secrets_of(self.client)), call, self.counter)

    async def _whole(self, call: Call) -> Came:
        completions = self.client.chat.completions.with_raw_response
        response = await completions.create(**_parameters(self.model, self.sampling, call))
        return read_json_completion(_text(response.content))

    async def _streamed(self, call: Call) -> Came:
        completions = self.client.chat.completions.with_streaming_response
        parameters = _parameters(self.model, self.sampling, call)
        async with completions.create(stream=True, stream_options=_WITH_USAGE, **parameters) as response:
            if not _is_stream(response.headers):
                return read_json_completion(_text(await response.read()))
            gathering = Gathering()
            async for piece in response.iter_bytes():
                if gathering.take(piece):
                    break
            return gathering.came()


Came: TypeAlias = Reply | ProviderError | EffectError
"""What came of a call."""

_WITH_USAGE: Final[Any] = {
    "include_usage": True
}  # Any: the SDK's own parameter type, by another path in each version
_SCHEMA_REJECTED: Final = frozenset({400, 404, 415, 422, 500, 501})
"""How servers say that they do not know `response_format`, or cannot enforce this schema."""


def _text(body: bytes) -> str:
    """Return a body as text: JSON is UTF-8, whatever its headers say."""
    return body.decode(errors="replace")


def _is_stream(headers: Mapping[str, str]) -> bool:
    """Tell whether a server has taken `stream`; some do not know it."""
    return headers.get("content-type", "").startswith("text/event-stream")


def _taken(came: Came, call: Call, model: str, secrets: Secrets) -> Reply:
    """Return the reply, or raise what came in its place; here, so that nothing of the client's is its context.

    Whatever a server has said enters here, and nowhere else: no secret passes.
    """
    match came:
        case Reply():
            return secrets.out_of(came)
        case EffectError():
            raise came
        case ProviderError():
            error = effect_error(secrets.out_of(came), Sent.of(call, model=model))
            if call.schema is not None and came.status in _SCHEMA_REJECTED and error.fault != "overflow":
                raise NotEnforced(error)
            raise error
        case _:
            assert_never(came)


def _parameters(model: str, sampling: Sampling, call: Call) -> _Parameters:
    return {
        "messages": cast("list[ChatCompletionMessageParam]", written(call.messages, "chat")),
        "model": model,
        "tools": cast("list[ChatCompletionFunctionToolParam]", declared(call.tools, "chat")) or omit,
        "response_format": omit if call.schema is None else _format(call.named, call.schema),
        "max_tokens": sampling.get("max_tokens", omit),
        "temperature": sampling.get("temperature", omit),
        "seed": sampling.get("seed", omit),
        "extra_body": sampling.get("extra"),
    }


def _format(named: str, schema: Mapping[str, object]) -> ResponseFormatJSONSchema:
    return {
        "type": "json_schema",
        "json_schema": {"name": named, "schema": dict(schema), "strict": is_strict(schema)},
    }
