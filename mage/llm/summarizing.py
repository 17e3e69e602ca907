"""A summarizer over chat completions."""

from __future__ import annotations

from typing import Unpack, final

import attrs
import openai

from mage.chat import summary_messages, summary_prompt
from mage.effects import EffectError, Metered, SummaryRequest
from mage.effects.program import Program, drive, drive_awaited
from mage.llm.asking import Call, Reply
from mage.llm.insisting import insist
from mage.llm.replies import read_text
from mage.llm.sending import AsyncLine, Line, Sampling
from mage.tokens import TokenCounter, default_counter

__all__ = ["AsyncChatSummarizer", "ChatSummarizer"]


@final
@attrs.frozen
class _Summarizing:
    """What both twins do."""

    model: str
    counter: TokenCounter

    def program(self, request: SummaryRequest) -> Program[Metered[str]]:
        """Ask until there is a text that can stand for the steps."""

        def ask(told: str) -> Program[Reply]:
            return _ask(request, told)

        def read(reply: Reply) -> str:
            return self._fitting(read_text(reply), request.limit)

        return insist(ask, read, model=self.model, prompt=summary_prompt(request).hash)

    def _fitting(self, text: str, limit: int | None) -> str:
        """Return a text that is not longer than it may be: one that is would not make the context smaller."""
        tokens = 0 if limit is None else self.counter.count(text)
        if limit is not None and tokens > limit:
            raise EffectError("wrong_schema", f"the text has about {tokens} tokens; it may have {limit}")
        return text


async def _ask(request: SummaryRequest, told: str) -> Reply:
    return await Call(summary_messages(request, told=told))


@final
class ChatSummarizer:
    """Writes the texts of summaries by a chat model.

    A refusal, an empty reply, a truncated one, and a text with more tokens than the request allows are never
    returned: each is asked for again at most twice, with what was wrong. Cost: one call, up to three.

    Args:
        client: the client; its `max_retries`, `timeout` and address are used.
        model: the model's name.
        counter: counts a text against the limit of the request, and what a server does not count; an exact counter
            where there is one.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.
    """

    def __init__(
        self,
        client: openai.OpenAI,
        model: str,
        *,
        counter: TokenCounter | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._summarizing = _Summarizing(model, default_counter() if counter is None else counter)
        self._line = Line(client, model, sampling, self._summarizing.counter)

    def __repr__(self) -> str:
        return f"ChatSummarizer({self._summarizing.model!r})"

    def __call__(self, request: SummaryRequest, /) -> Metered[str]:
        """Return the model's text.

        Raises:
            EffectError: there is none.
        """
        return drive(self._summarizing.program(request), self._line.send)


@final
class AsyncChatSummarizer:
    """A `ChatSummarizer` that is awaited."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        model: str,
        *,
        counter: TokenCounter | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._summarizing = _Summarizing(model, default_counter() if counter is None else counter)
        self._line = AsyncLine(client, model, sampling, self._summarizing.counter)

    def __repr__(self) -> str:
        return f"AsyncChatSummarizer({self._summarizing.model!r})"

    async def __call__(self, request: SummaryRequest, /) -> Metered[str]:
        """Return the model's text; see `ChatSummarizer`."""
        return await drive_awaited(self._summarizing.program(request), self._line.send)
