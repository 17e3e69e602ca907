"""Model, judge and summarizer over chat completions, each with its awaitable twin, which runs the same program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Final, Generic, TypeAlias, TypeVar, Unpack, final

import attrs
import openai

from mage.chat import (
    MODES,
    OURS,
    ChatMessage,
    Mode,
    Prompt,
    Prompts,
    canonical,
    decide_messages,
    judge_messages,
    judge_prompt,
    move_schema,
    offered,
    shorter,
    summary_messages,
    summary_prompt,
    system_prompt,
    verdict_schema,
    written,
)
from mage.chat.prompts import Asked
from mage.chat.replies import Reply, decide_by_calls, decide_by_json, decide_by_text, read_text, verdict_on
from mage.effects import (
    ChapterRequest,
    Decide,
    Decision,
    EffectError,
    FoldRequest,
    JudgeRequest,
    Metered,
    Rules,
    SummaryRequest,
    Tool,
    Usage,
    Verdict,
)
from mage.effects.questions import Program, drive, drive_awaited
from mage.engine import UnknownName
from mage.llm.completions import Call, NotEnforced
from mage.llm.transport import Client, Line, Sampling, send, send_awaited
from mage.render import DEFAULT_CAPS, Caps
from mage.tokens import TokenCounter, default_counter

Answer = TypeVar("Answer")
_READERS: Final = {"tools": decide_by_calls, "text": decide_by_text, "json": decide_by_json}
Messages: TypeAlias = tuple[ChatMessage, ...]

_TIMES: Final = 3
"""How often a judge or a summarizer gets one question at most."""


def _called(line: Line[openai.OpenAI], program: Program[Answer]) -> Answer:
    return drive(program, lambda call: send(line, call))


async def _awaited(line: Line[openai.AsyncOpenAI], program: Program[Answer]) -> Answer:
    return await drive_awaited(program, lambda call: send_awaited(line, call))


# -- the agent's model ---------------------------------------------------------------------------------


@final
@attrs.frozen
class _Fixed:
    """The part of every call in one environment that stays the same, so that a provider can cache it."""

    system: Prompt
    tools: tuple[Tool, ...]
    text: str
    hash: str


@lru_cache(maxsize=32)
def _fixed(
    mode: Mode,
    tools: tuple[Tool, ...],
    manual: str,
    longest: int | None,
    rules: Rules,
    prompts: Prompts,
) -> _Fixed:
    system = system_prompt(mode, tools=tools, manual=manual, rules=rules, prompts=prompts)
    all_of_them = offered(tools, rules)
    schemas: object = ""
    if mode == "tools":
        schemas = [attrs.asdict(tool, recurse=False) for tool in all_of_them]
    elif mode == "json":
        schemas = move_schema(all_of_them, longest=longest)
    text = f"{system.text}{canonical(schemas) if schemas else ''}\n"
    return _Fixed(system, all_of_them, text, Prompt(system.name, system.version, text).hash)


class _Model(Generic[Client]):
    def __init__(
        self,
        client: Client,
        model: str,
        *,
        mode: Mode = "tools",
        caps: Caps = DEFAULT_CAPS,
        longest: int | None = None,
        prompts: Prompts = OURS,
        **sampling: Unpack[Sampling],
    ) -> None:
        if mode not in MODES:
            raise UnknownName("mode", mode, MODES)
        self._prompts = prompts
        self._mode: Mode = mode
        self._caps = caps
        self._longest = longest
        self._line = Line(client, model, sampling)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._line.model!r}, mode={self._mode!r})"

    @property
    def mode(self) -> Mode:
        """How the model replies."""
        return self._mode

    def prompt_text(self, tools: tuple[Tool, ...] = (), manual: str = "") -> str:
        """Return the fixed text of every call under default rules: system prompt, and tools or schema as JSON.

        Raises:
            BadTool: two tools have one name, or a tool has a name of ours.
        """
        return _fixed(self._mode, tools, manual, self._longest, Rules(), self._prompts).text

    async def _decide(self, request: Decide) -> Metered[Decision]:
        """Ask once: the agent's next question tells the model what is wrong with a reply."""
        fixed = _fixed(self._mode, request.tools, request.manual, self._longest, request.rules, self._prompts)
        messages = decide_messages(
            request, system=fixed.system, mode=self._mode, tools=request.tools, caps=self._caps
        )
        call = Call(messages)
        if self._mode == "tools":
            call = Call(messages, fixed.tools)
        elif self._mode == "json":
            schema = move_schema(fixed.tools, longest=self._longest, request=request)
            call = Call(messages, (), schema, "move")
        try:
            reply = await call
        except NotEnforced as rejected:
            raise rejected.error from None
        try:
            decision = _READERS[self._mode](reply, fixed.tools)
        except EffectError as error:
            raise _charged(error, reply.usage, reply.model or self._line.model) from None
        return Metered(decision, reply.usage, reply.model or self._line.model, fixed.hash)


@final
class ChatModel(_Model[openai.OpenAI]):
    """Decides what an agent does next, by a chat model behind any server that speaks OpenAI's chat completions.

    It asks once for each decision; a reply that cannot be used is an `EffectError` with its usage, and the
    agent tells the model so. The tools and the manual of the environment come with each question (`Decide`). Cost of
    a decision: one call.

    Args:
        client: the client, with its `max_retries`, `timeout` and address.
        model: the model's name.
        mode: `"tools"` for a model that calls tools, `"text"` for one that writes `Action[...]`, `"json"` for
            a server that enforces schemas.
        caps: limits of the hints.
        longest: the most characters of a text in the JSON mode, see `mage.chat`.
        prompts: texts of your own in place of ours.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.

    Raises:
        UnknownName: there is no such mode, or no such setting.
    """

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return the model's decision.

        Raises:
            EffectError: the model has not decided, or its reply cannot be used.
        """
        return _called(self._line, self._decide(request))


@final
class AsyncChatModel(_Model[openai.AsyncOpenAI]):
    """The awaitable twin of `ChatModel`."""

    async def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return the model's decision; see `ChatModel`."""
        return await _awaited(self._line, self._decide(request))


# -- a question that is asked again --------------------------------------------------------------------


def _charged(error: EffectError, spent: Usage, model: str) -> EffectError:
    """Return the error of a model, with the usage of the calls before it added to its own."""
    error.usage, error.model = spent + error.usage, model
    return error


class _Asker(Generic[Client]):
    """Asks one question over a line until the reply can be used."""

    _line: Line[Client]
    _window: int | None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._line.model!r})"

    async def _insist(
        self,
        request: Asked,
        messages: Callable[..., Messages],
        ask: Callable[[Asked, Messages], Awaitable[Reply]],
        read: Callable[[Reply], Answer],
        prompt: Prompt,
    ) -> Metered[Answer]:
        """Ask until `read` accepts the reply, at most `_TIMES` times, and count all calls; the last error is raised.

        `messages` writes the question and, as `told`, the fault of the last reply. A question that does not fit into the window, or
        that the server refuses as too long, is made shorter, which counts as no time.
        """
        while not self._fits(messages(request)) and (less := shorter(request)) is not None:
            request = less
        spent = Usage(calls=0)
        wrong = ""
        left = _TIMES
        while True:
            left -= 1
            try:
                reply = await ask(request, messages(request, told=wrong))
            except EffectError as error:  # the client has already retried
                less = shorter(request) if error.fault == "overflow" else None
                if less is None:
                    raise _charged(error, spent, self._line.model) from None
                request, spent, left = less, spent + error.usage, left + 1
                continue
            spent += reply.usage
            try:
                return Metered(read(reply), spent, reply.model or self._line.model, prompt.hash)
            except EffectError as error:
                if not left or not error.unusable:  # a repetition does not help a context at its end
                    raise _charged(error, spent, reply.model or self._line.model) from None
                wrong = error.detail

    def _fits(self, messages: Messages) -> bool:
        if self._window is None:
            return True
        count = self._line.counter.count
        return sum(count(canonical(message)) for message in written(messages, "chat")) <= self._window


# -- the judge -----------------------------------------------------------------------------------------


class _Judge(_Asker[Client]):
    def __init__(
        self,
        client: Client,
        model: str,
        *,
        criteria: str = "",
        manual: str = "",
        window: int | None = None,
        longest: int | None = None,
        prompts: Prompts = OURS,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._prompts = prompts
        self._messages = partial(judge_messages, criteria=criteria, manual=manual, prompts=prompts)
        self._window = window
        self._longest = longest
        self._line = Line(client, model, sampling)
        self._enforces: bool | None = None  # None until the server has shown whether it takes a schema

    def _judge(self, request: JudgeRequest | FoldRequest) -> Program[Metered[Verdict]]:
        prompt = judge_prompt(request, self._prompts)
        return self._insist(
            request, self._messages, self._ask, lambda reply: verdict_on(request, reply), prompt
        )

    async def _ask(self, request: JudgeRequest | FoldRequest, messages: Messages) -> Reply:
        if self._enforces is not False:
            schema = verdict_schema(request, longest=self._longest)
            try:
                reply = await Call(messages, (), schema, "verdict")
            except NotEnforced as rejected:
                if self._enforces:  # it took a schema before, so that is not the reason
                    raise rejected.error from None
            else:
                self._enforces = True
                return reply
        reply = await Call(messages)
        self._enforces = False
        return reply


@final
class ChatJudge(_Judge[openai.OpenAI]):
    """Judges summaries and chapters by a chat model: its reasoning first, then the verdict, in structured output.

    A server that refuses `response_format` gets no schema from then on, and the JSON is found in the text. A
    question whose reply cannot be used is put again at most twice, with the fault of the reply. Cost: one call,
    rarely up to four.

    Args:
        client: the client, with its `max_retries`, `timeout` and address.
        model: the model's name.
        criteria: your further criteria, in your words, behind the fixed prompt.
        manual: the environment's manual, so that the judge reads the steps as the agent does.
        window: tokens of a prompt at most; a longer question is made shorter before it is sent. With None a question is
            made shorter when the server refuses it as too long.
        longest: the most characters of each text, for servers that know `maxLength`.
        prompts: texts of your own in place of ours; they ask for the same JSON object.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.
    """

    def __call__(self, request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        """Return the model's verdict.

        Raises:
            EffectError: there is none.
        """
        return _called(self._line, self._judge(request))


@final
class AsyncChatJudge(_Judge[openai.AsyncOpenAI]):
    """The awaitable twin of `ChatJudge`."""

    async def __call__(self, request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        """Return the model's verdict; see `ChatJudge`."""
        return await _awaited(self._line, self._judge(request))


# -- the summarizer ------------------------------------------------------------------------------------


class _Summarizer(_Asker[Client]):
    def __init__(
        self,
        client: Client,
        model: str,
        *,
        window: int | None = None,
        counter: TokenCounter | None = None,
        prompts: Prompts = OURS,
        **sampling: Unpack[Sampling],
    ) -> None:
        self._prompts = prompts
        self._window = window
        self._line = Line(client, model, sampling, default_counter() if counter is None else counter)

    def _summarize(self, request: SummaryRequest | ChapterRequest) -> Program[Metered[str]]:
        def read(reply: Reply) -> str:
            text, limit = read_text(reply), request.limit
            if limit is not None and (tokens := self._line.counter.count(text)) > limit:
                # a longer text would not make the context smaller
                raise EffectError("wrong_schema", f"the text has about {tokens} tokens; it may have {limit}")
            return text

        prompt = summary_prompt(request, self._prompts)
        messages = partial(summary_messages, prompts=self._prompts)
        return self._insist(request, messages, lambda _, messages: Call(messages), read, prompt)


@final
class ChatSummarizer(_Summarizer[openai.OpenAI]):
    """Writes the texts of summaries and chapters by a chat model.

    A refusal, an empty reply, a truncated one, and a text with more tokens than the request allows are never
    returned: the question is put again at most twice, with the fault of the reply. Cost: one call, up to three.

    Args:
        client: the client, with its `max_retries`, `timeout` and address.
        model: the model's name.
        window: tokens of a prompt at most; see `ChatJudge`.
        counter: counts a text against the limit of the request, and the tokens that a server does not count; None
            for an exact counter where one is installed.
        prompts: texts of your own in place of ours.
        sampling: `max_tokens`, `temperature`, `seed`, `stream`, `extra`; see `Sampling`.
    """

    def __call__(self, request: SummaryRequest | ChapterRequest, /) -> Metered[str]:
        """Return the model's text.

        Raises:
            EffectError: there is none.
        """
        return _called(self._line, self._summarize(request))


@final
class AsyncChatSummarizer(_Summarizer[openai.AsyncOpenAI]):
    """The awaitable twin of `ChatSummarizer`."""

    async def __call__(self, request: SummaryRequest | ChapterRequest, /) -> Metered[str]:
        """Return the model's text; see `ChatSummarizer`."""
        return await _awaited(self._line, self._summarize(request))
