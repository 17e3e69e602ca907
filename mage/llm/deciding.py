"""A model of the agent, over chat completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Unpack, final

import attrs
import openai

from mage.chat import (
    MODES,
    Mode,
    Prompt,
    Tool,
    canonical,
    decide_messages,
    move_schema,
    offered,
    system_prompt,
)
from mage.effects import Decide, Decision, EffectError, Metered
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
class _Deciding:
    """What both twins do."""

    model: str
    mode: Mode
    tools: tuple[Tool, ...]
    system: Prompt
    caps: Caps
    longest: int | None

    @classmethod
    def of(
        cls, model: str, mode: str, tools: Sequence[Tool], manual: str, caps: Caps, longest: int | None
    ) -> _Deciding:
        for known in MODES:
            if mode == known:
                system = system_prompt(known, tools=tools, manual=manual)
                return cls(model, known, tuple(tools), system, caps, longest)
        raise UnknownName("mode", mode, MODES)

    @property
    def prompt_text(self) -> str:
        """The fixed text: the system prompt and, as JSON, the tools or the schema."""
        tools = offered(self.tools)
        fixed: object = ""
        if self.mode == "tools":
            fixed = [attrs.asdict(tool, recurse=False) for tool in tools]
        elif self.mode == "json":
            fixed = move_schema(tools, longest=self.longest)
        return f"{self.system.text}{canonical(fixed) if fixed else ''}\n"

    @property
    def hash(self) -> str:
        return Prompt(self.system.name, self.system.version, self.prompt_text).hash

    async def program(self, request: Decide) -> Metered[Decision]:
        """Ask once. What is wrong with the reply is for the agent to tell."""
        tools = offered(self.tools)
        messages = decide_messages(
            request, system=self.system, mode=self.mode, tools=self.tools, caps=self.caps
        )
        call = Call(messages)
        if self.mode == "tools":
            call = Call(messages, tools)
        elif self.mode == "json":
            call = Call(messages, (), move_schema(tools, longest=self.longest, request=request), "move")
        try:
            reply = await call
        except NotEnforced as rejected:
            raise rejected.error from None
        try:
            decision = _READERS[self.mode](reply, tools)
        except EffectError as error:
            raise charged(error, reply.usage) from None
        return Metered(decision, reply.usage, reply.model or self.model, self.hash)


@final
class ChatModel:
    """Decides what an agent does next, by a chat model behind any server that speaks OpenAI's chat completions.

    It asks once for each decision; a reply that cannot be used is an `EffectError` with what it took, and the
    agent tells the model so. Cost of a decision: one call.

    Args:
        client: the client; its `max_retries`, `timeout` and address are used.
        model: the model's name.
        mode: `"tools"` for a model that calls tools, `"text"` for one that writes `Action[...]`, `"json"` for
            a server that enforces schemas.
        tools: the world's own tools; none where any text is an action.
        manual: what the environment says of itself and its actions, for the system prompt.
        caps: how much of the hints is shown.
        longest: the most characters of a text in the JSON mode, see `mage.chat`.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.

    Raises:
        UnknownName: there is no such mode.
        BadTool: two tools have one name, or one has a name of ours.
    """

    def __init__(
        self,
        client: openai.OpenAI,
        model: str,
        *,
        mode: Mode = "tools",
        tools: Sequence[Tool] = (),
        manual: str = "",
        caps: Caps = DEFAULT_CAPS,
        longest: int | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._deciding = _Deciding.of(model, mode, tools, manual, caps, longest)
        self._line = Line(client, model, sampling)

    def __repr__(self) -> str:
        return f"ChatModel({self._deciding.model!r}, mode={self._deciding.mode!r})"

    @property
    def prompt_text(self) -> str:
        """The fixed text that goes with every call: system prompt, and tools or schema as JSON; to be counted into a mark."""
        return self._deciding.prompt_text

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
        tools: Sequence[Tool] = (),
        manual: str = "",
        caps: Caps = DEFAULT_CAPS,
        longest: int | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._deciding = _Deciding.of(model, mode, tools, manual, caps, longest)
        self._line = AsyncLine(client, model, sampling)

    def __repr__(self) -> str:
        return f"AsyncChatModel({self._deciding.model!r}, mode={self._deciding.mode!r})"

    @property
    def prompt_text(self) -> str:
        """See `ChatModel.prompt_text`."""
        return self._deciding.prompt_text

    async def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return what the model has decided; see `ChatModel`."""
        return await drive_awaited(self._deciding.program(request), self._line.send)
