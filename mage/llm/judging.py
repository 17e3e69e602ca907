"""A judge over chat completions."""

from __future__ import annotations

from typing import Unpack, final

import openai

from mage.chat import judge_messages, judge_prompt, verdict_schema
from mage.effects import JudgeRequest, Metered, Verdict
from mage.effects.program import Program, drive, drive_awaited
from mage.engine import Failed
from mage.llm.asking import Call, NotEnforced, Reply
from mage.llm.insisting import insist
from mage.llm.replies import read_verdict
from mage.llm.sending import AsyncLine, Line, Sampling

__all__ = ["AsyncChatJudge", "ChatJudge"]


@final
class _Judging:
    """What both twins do, and what they learn of their server: whether it takes a schema."""

    def __init__(self, model: str, longest: int | None) -> None:
        self.model = model
        self.longest = longest
        self._enforces: bool | None = None  # None until the server has said

    def program(self, request: JudgeRequest) -> Program[Metered[Verdict]]:
        """Ask until there is a verdict."""

        def ask(told: str) -> Program[Reply]:
            return self._ask(request, told)

        def read(reply: Reply) -> Verdict:
            verdict = read_verdict(reply)
            # Of a fallback only faithfulness is asked (D12), whatever a server without schemas lets through.
            if request.kind == "fallback" and isinstance(verdict, Failed):
                return Failed(verdict.feedback, "summary")
            return verdict

        return insist(ask, read, model=self.model, prompt=judge_prompt(request).hash)

    async def _ask(self, request: JudgeRequest, told: str) -> Reply:
        messages = judge_messages(request, told=told)
        if self._enforces is not False:
            schema = verdict_schema(request.kind, longest=self.longest)
            try:
                reply = await Call(messages, (), schema, "verdict")
            except NotEnforced as rejected:
                if self._enforces:  # it took one before, so that is not the reason
                    raise rejected.error from None
            else:
                self._enforces = True
                return reply
        reply = await Call(messages)
        self._enforces = False
        return reply


@final
class ChatJudge:
    """Judges summaries by a chat model: its reasoning first, then the verdict, in structured output.

    A server that takes no `response_format` is asked without, from then on, and the JSON is found in the
    text. A reply that cannot be used is asked for again at most twice, with what was wrong. Cost: one call,
    rarely up to four.

    Args:
        client: the client; its `max_retries`, `timeout` and address are used.
        model: the model's name.
        longest: the most characters of each text, for servers that know `maxLength`.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.
    """

    def __init__(
        self, client: openai.OpenAI, model: str, *, longest: int | None = None, **sampling: Unpack[Sampling]
    ) -> None:
        self._judging = _Judging(model, longest)
        self._line = Line(client, model, sampling)

    def __repr__(self) -> str:
        return f"ChatJudge({self._judging.model!r})"

    def __call__(self, request: JudgeRequest, /) -> Metered[Verdict]:
        """Return the model's verdict.

        Raises:
            EffectError: there is none.
        """
        return drive(self._judging.program(request), self._line.send)


@final
class AsyncChatJudge:
    """A `ChatJudge` that is awaited."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        model: str,
        *,
        longest: int | None = None,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._judging = _Judging(model, longest)
        self._line = AsyncLine(client, model, sampling)

    def __repr__(self) -> str:
        return f"AsyncChatJudge({self._judging.model!r})"

    async def __call__(self, request: JudgeRequest, /) -> Metered[Verdict]:
        """Return the model's verdict; see `ChatJudge`."""
        return await drive_awaited(self._judging.program(request), self._line.send)
