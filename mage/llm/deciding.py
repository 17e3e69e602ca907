"""A model of the agent, over chat completions."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Unpack, final

import attrs
import openai

from mage.chat import MODES, Mode, Prompt, canonical, decide_messages, move_schema, offered, system_prompt
from mage.effects import Decide, Decision, EffectError, Metered, Tool
from mage.effects.program import drive, drive_awaited
from mage.engine import UnknownName
from mage.llm.asking import Call, NotEnforced, charged
from mage.llm.replies import decide_by_calls, decide_by_json, decide_by_text
from mage.llm.sending import AsyncLine, Line, Sampling
from mage.render import DEFAULT_CAPS, Caps

__all__ = ["AsyncChatModel", "ChatModel"]

_READERS: Final = {"tools": decide_by_calls, "text": decide_by_text, "json": decide_by_json}


@final
@attrs.frozen
class _Fixed:
    """What goes with every call in one environment: it is the same in each, so a provider can cache it."""

    system: Prompt
    tools: tuple[Tool, ...]
    text: str
    hash: str


@lru_cache(maxsize=32)
def _fixed(mode: Mode, tools: tuple[Tool, ...], manual: str, longest: int | None) -> _Fixed:
    system, all_of_them = system_prompt(mode, tools=tools, manual=manual), offered(tools)
    schemas: object = ""
    if mode == "tools":
        schemas = [attrs.asdict(tool, recurse=False) for tool in all_of_them]
    elif mode == "json":
        schemas = move_schema(all_of_them, longest=longest)
    text = f"{system.text}{canonical(schemas) if schemas else ''}\n"
    return _Fixed(system, all_of_them, text, Prompt(system.name, system.version, text).hash)


@final
@attrs.frozen
class _Deciding:
    """What both twins do."""

    model: str
    mode: Mode
    caps: Caps
    longest: int | None

    @classmethod
    def of(cls, model: str, mode: str, caps: Caps, longest: int | None) -> _Deciding:
        for known in MODES:
            if mode == known:
                return cls(model, known, caps, longest)
        raise UnknownName("mode", mode, MODES)

    def fixed(self, tools: tuple[Tool, ...], manual: str) -> _Fixed:
        """Return what goes with every call."""
        return _fixed(self.mode, tools, manual, self.longest)

    async def program(self, request: Decide) -> Metered[Decision]:
        """Ask once. What is wrong with the reply is for the agent to tell."""
        fixed = self.fixed(request.tools, request.manual)
        messages = decide_messages(
            request, system=fixed.system, mode=self.mode, tools=request.tools, caps=self.caps
        )
        call = Call(messages)
        if self.mode == "tools":
            call = Call(messages, fixed.tools)
        elif self.mode == "json":
            schema = move_schema(fixed.tools, longest=self.longest, request=request)
            call = Call(messages, (), schema, "move")
        try:
            reply = await call
        except NotEnforced as rejected:
            raise rejected.error from None
        try:
            decision = _READERS[self.mode](reply, fixed.tools)
        except EffectError as error:
            raise charged(error, reply.usage) from None
        return Metered(decision, reply.usage, reply.model or self.model, fixed.hash)


@final
class ChatModel:
    """Decides what an agent does next, by a chat model behind any server that speaks OpenAI's chat completions.

    It asks once for each decision; a reply that cannot be used is an `EffectError` with what it took, and the
    agent tells the model so. The tools and the manual of the environment come with each question (`Decide`). Cost of
    a decision: one call.

    Args:
        client: the client; its `max_retries`, `timeout` and address are used.
        model: the model's name.
        mode: `"tools"` for a model that calls tools, `"text"` for one that writes `Action[...]`, `"json"` for
            a server that enforces schemas.
        caps: how much of the hints is shown.
        longest: the most characters of a text in the JSON mode, see `mage.chat`.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.

    Raises:
        UnknownName: there is no such mode, or no such setting.
    """

    def __init__(
        self,
        client: openai.OpenAI,
        model: str,
        *,
        mode: Mode = "tools",
        caps: Caps = DEFAULT_CAPS,
        longest: int | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._deciding = _Deciding.of(model, mode, caps, longest)
        self._line = Line(client, model, sampling)

    def __repr__(self) -> str:
        return f"ChatModel({self._deciding.model!r}, mode={self._deciding.mode!r})"

    def prompt_text(self, tools: tuple[Tool, ...] = (), manual: str = "") -> str:
        """Return the fixed text that goes with every call: system prompt, and tools or schema as JSON.

        Raises:
            BadTool: two tools have one name, or one has a name of ours.
        """
        return self._deciding.fixed(tools, manual).text

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return what the model has decided.

        Raises:
            EffectError: it has not, or its reply cannot be used.
        """
        return drive(self._deciding.program(request), self._line.send)


@final
class AsyncChatModel:
    """A `ChatModel` that is awaited."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        model: str,
        *,
        mode: Mode = "tools",
        caps: Caps = DEFAULT_CAPS,
        longest: int | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._deciding = _Deciding.of(model, mode, caps, longest)
        self._line = AsyncLine(client, model, sampling)

    def __repr__(self) -> str:
        return f"AsyncChatModel({self._deciding.model!r}, mode={self._deciding.mode!r})"

    def prompt_text(self, tools: tuple[Tool, ...] = (), manual: str = "") -> str:
        """See `ChatModel.prompt_text`."""
        return self._deciding.fixed(tools, manual).text

    async def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return what the model has decided; see `ChatModel`."""
        return await drive_awaited(self._deciding.program(request), self._line.send)
