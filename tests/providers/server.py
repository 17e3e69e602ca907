"""A server on loopback that speaks three providers' interfaces and refuses what the real ones refuse.

    with ProviderServer(desk_shop) as server:
        openai.OpenAI(api_key="k", base_url=server.openai_url)
        anthropic.Anthropic(api_key="k", base_url=server.anthropic_url)
        ...
    assert server.refused == []

A script is a function from a `Prompt` to a `Reply`: it sees what a model would see, by whichever interface it came,
so one script plays over all of them. Streams are not served.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias, final

import attrs

from tests.llm.server import Raw, Request, ScriptedServer, Status
from tests.providers.chat import Chat
from tests.providers.forms import Json, Prompt, Refusal, Reply
from tests.providers.messages import Messages
from tests.providers.responses import Responses

Script: TypeAlias = Callable[[Prompt], Reply]


@final
@attrs.frozen
class Exchange:
    """A request that was taken, and its reply."""

    body: Json
    prompt: Prompt
    reply: Reply


@final
class ProviderServer:
    """A server to use in a `with` statement; see the module.

    Args:
        script: the model.
        mistral: whether chat completions are checked as Mistral does.
        reasoning: whether Responses gives reasoning items.
        bound: whether Messages binds thinking to its prefix.
        prefill: whether Messages lets the last message be the assistant's.
        most: requests; a loop that asks for more does not end.

    Attributes:
        taken: every request that was answered, in the order in which they came.
        refused: why every other one was not.
    """

    def __init__(
        self,
        script: Script,
        *,
        mistral: bool = False,
        reasoning: bool = False,
        bound: bool = True,
        prefill: bool = False,
        most: int = 100,
    ) -> None:
        self._most = most
        self.taken: list[Exchange] = []
        self.refused: list[str] = []
        self._script = script
        self._interfaces: dict[str, Chat | Responses | Messages] = {
            "/v1/chat/completions": Chat(mistral=mistral),
            "/v1/responses": Responses(reasoning=reasoning),
            "/v1/messages": Messages(bound=bound, prefill=prefill),
        }
        self._http = ScriptedServer(answering=self._answer)  # it asks for one answer at a time

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's client."""
        return self._http.url

    @property
    def anthropic_url(self) -> str:
        """The base URL for Anthropic's client."""
        return self._http.url.removesuffix("/v1")

    def _answer(self, request: Request) -> Raw | Status:
        interface = self._interfaces.get(request.path.partition("?")[0])
        if interface is None or len(self.taken) + len(self.refused) >= self._most:
            self.refused.append(f"{request.path}, after {len(self.taken)} requests")
            return Status(404)
        try:
            if request.body.get("stream"):
                raise Refusal("Streams are not served here.", "stream")
            _check(interface, request)
            prompt = interface.prompt(request.body, sum(bool(past.prompt.tools) for past in self.taken))
            reply = self._script(prompt)
        except Refusal as refusal:
            self.refused.append(refusal.message)
            return Status(refusal.status, interface.error(refusal))
        self.taken.append(Exchange(request.body, prompt, reply))
        return Raw(json.dumps(interface.answer(request.body, reply, len(self.taken))).encode())

    def __enter__(self) -> ProviderServer:
        self._http.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.__exit__(kind, error, trace)


def _check(interface: Chat | Responses | Messages, request: Request) -> None:
    """Refuse what the interface refuses, and what it cannot read."""
    try:
        interface.check(request)
    except (AttributeError, KeyError, TypeError) as error:
        raise Refusal(f"The request cannot be read: {error!r}") from None
