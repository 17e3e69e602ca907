"""pydantic-ai: one capability, over `AsyncMemory`.

    opens = partial(AsyncMemory.open, "work.db", judge=judge)
    agent = Agent("openai:gpt-5", capabilities=[MageCapability(opens)])
    await agent.run("Buy a desk.", conversation_id="monday")

The session has the name of the conversation. The message history stays as without mage: `result.all_messages()` has
everything, and the next run may have it or not; the model gets S.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, final

try:
    from pydantic_ai import ModelRetry, RunContext, Tool, ToolReturn
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import SkipToolExecution
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError(
        "mage.integrations.pydantic_ai needs its extra: pip install 'mage-state[pydantic-ai]'",
        name=_missing.name,
    ) from None

from mage.chat import AssistantReply, ToolCall, ToolResult, is_cut
from mage.effects import Tool as Declared
from mage.memory import AsyncMemory
from mage.memory.exchange import own_beside

_OWN: Final = {"mage": "own"}
_BARRED: Final = {"mage": "not done"}


@final
class MageCapability(AbstractCapability[Any]):
    """Follows the message history before each request to the model, and sends S in its place.

    It brings `compress`, `revise`, `look` and `note`. Until a failed summary is settled, no other tool runs, and a model
    that ends is asked again, as often as the agent's retries of its output allow. Memories stay open until `close`.

    Args:
        opens: `partial(AsyncMemory.open, store, ...)`.
    """

    def __init__(self, opens: Callable[..., Awaitable[AsyncMemory]]) -> None:
        self._opens = opens
        self._kept: dict[str, AsyncMemory] = {}

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Return the agent's tools, and beside them `compress`, `revise`, `look` and `note`."""
        return _Beside(toolset)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Follow the history, and put S in its place for this request."""
        history, asked = request_context.messages, request_context.model_request_parameters
        answers = [
            tool.name for tool in asked.output_tools
        ]  # the tools by which the agent gives its answer: no actions
        parts = list(_parts(history, answers))
        memory = await self._memory(ctx, parts)
        memory.give_way([tool.name for tool in _theirs(asked)])
        offered = [tool["function"]["name"] for tool in memory.tools("chat")]  # by the policy
        kept = [tool for tool in asked.function_tools if tool.metadata != _OWN or tool.name in offered]
        request_context.model_request_parameters = replace(asked, function_tools=kept)
        await memory.follow(parts)
        shown = await memory.messages("chat", beside=_beside(history, asked))
        request_context.messages = _sent(history, "".join(message["content"] for message in shown))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Let the model end, unless a judge has failed its last summary.

        Raises:
            ModelRetry: it may not end yet.
        """
        if any(isinstance(part, ToolCallPart) for part in response.parts):
            return response
        taken = await (await self._memory(ctx)).take(_reply(response, ()))
        if not taken.finished:
            raise ModelRetry("Not yet: look at where you stand.")
        return response

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Let a call be carried out, unless a failed summary bars it.

        Raises:
            SkipToolExecution: a failed summary bars the call.
        """
        why = "" if tool_def.metadata == _OWN else (await self._memory(ctx)).may_act()
        if why:
            raise SkipToolExecution(ToolReturn(why, metadata=_BARRED))
        return args

    async def close(self) -> None:
        """Close the memories."""
        while self._kept:
            await self._kept.popitem()[1].close()

    async def _memory(
        self, ctx: RunContext[Any], parts: Sequence[str | AssistantReply | ToolResult] = ()
    ) -> AsyncMemory:
        name = str(ctx.conversation_id)
        if name not in self._kept:
            task = next((part for part in parts if isinstance(part, str) and part.strip()), None)
            self._kept[name] = await self._opens(name, or_task=task)
        return self._kept[name]


def _tool(own: Declared) -> Tool[Any]:
    """Return a tool that does nothing: the memory carries out its call before the next request."""

    async def noted(**_: object) -> str:
        return "noted"

    tool: Tool[Any] = Tool.from_schema(noted, own.name, own.description, dict(own.parameters))
    tool.strict, tool.metadata = True, _OWN
    return tool


@final
class _Beside(WrapperToolset[Any]):
    """The tools of an agent, and ours: `look` and `note` give way to a tool of the agent's of this name."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        theirs = await self.wrapped.get_tools(ctx)
        ours = FunctionToolset[Any](list(map(_tool, own_beside(theirs))))
        return {**theirs, **await ours.get_tools(ctx)}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        is_ours = tool.tool_def.metadata == _OWN
        return "noted" if is_ours else await self.wrapped.call_tool(name, tool_args, ctx, tool)


def _parts(
    history: Iterable[ModelMessage], outputs: Sequence[str]
) -> Iterator[str | AssistantReply | ToolResult]:
    for message in history:
        if isinstance(message, ModelResponse):
            reply = _reply(message, outputs)
            yield from [reply] if reply.calls or reply.text.strip() else []
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                content = [part.content] if isinstance(part.content, str) else part.content
                yield "\n".join(each for each in content if isinstance(each, str))
            elif isinstance(part, ToolReturnPart) and part.metadata != _BARRED:
                yield ToolResult(part.tool_call_id, part.model_response_str())


def _reply(response: ModelResponse, outputs: Sequence[str]) -> AssistantReply:
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls = [
        ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
        for part in response.parts
        if isinstance(part, ToolCallPart) and part.tool_name not in outputs
    ]
    return AssistantReply("\n".join(filter(None, texts)), tuple(calls), is_cut(response.finish_reason))


def _beside(history: Sequence[ModelMessage], asked: ModelRequestParameters) -> list[object]:
    """Return what the host sends beside S: its words, and the tools that are not ours."""
    words = [part.content for part in history[0].parts if part.part_kind == "system-prompt"]
    schemas = [[tool.name, tool.description or "", tool.parameters_json_schema] for tool in _theirs(asked)]
    return [_instructions(history) or "", *words, *schemas]


def _theirs(asked: ModelRequestParameters) -> list[ToolDefinition]:
    return [tool for tool in (*asked.function_tools, *asked.output_tools) if tool.metadata != _OWN]


def _instructions(history: Sequence[ModelMessage]) -> str | None:
    return history[-1].instructions if isinstance(history[-1], ModelRequest) else None


def _sent(history: Sequence[ModelMessage], shown: str) -> list[ModelMessage]:
    """Return S as messages of the framework: the host's words before it, requests to retry behind it."""
    before = [part for part in history[0].parts if part.part_kind == "system-prompt"]
    behind = [part for part in history[-1].parts if part.part_kind.startswith("retry-")]
    parts: list[Any] = [*before, UserPromptPart(shown), *behind]
    return [ModelRequest(parts, instructions=_instructions(history))]
