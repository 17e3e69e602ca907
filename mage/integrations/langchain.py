"""LangChain's agents, and with them LangGraph: one middleware, over `Memory` for `invoke`, over `AsyncMemory` for `ainvoke`.

    opens = partial(Memory.open, "work.db", judge=judge)
    agent = create_agent("openai:gpt-5", tools=[...], middleware=[MageMiddleware(opens)], checkpointer=...)
    agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "monday"}})

The session has the name of the thread. Each checkpoint has its version at the call of the model: `state["mage"]` is
`{"session": "monday", "version": 12}`. A run from an earlier checkpoint goes on in a fork at that version.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NotRequired, TypeAlias, TypedDict, cast, final
from uuid import uuid4

try:
    from langchain.agents import middleware
    from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
    from langgraph.types import Command
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError(
        "mage.integrations.langchain needs its extra: pip install 'mage-state[langchain]'", name=_missing.name
    ) from None

from mage.chat import AssistantReply, ToolCall, ToolResult, canonical, content_of, is_cut
from mage.effects import Tool
from mage.memory import AsyncMemory, Memory
from mage.memory.exchange import OWN

Parts: TypeAlias = Sequence[str | AssistantReply | ToolResult]
Request: TypeAlias = middleware.ModelRequest[Any]  # of the context of a run, which is the host's; so below
Response: TypeAlias = middleware.ModelResponse[Any]
Called: TypeAlias = middleware.ToolCallRequest
Came: TypeAlias = ToolMessage | Command[Any]  # a host's tool may go to any node
_OWN: Final = {"mage": "own"}
_BARRED: Final = "mage: not done"
_TRIES: Final = 3  # calls of a model that ends although it may not


class Stands(TypedDict):
    """The name of a session, and the version of its journal."""

    session: str
    version: int


class MageState(AgentState[Any]):
    """The state of the graph, with the version of the session that belongs to it."""

    mage: NotRequired[Stands]


@final
class MageMiddleware(AgentMiddleware[MageState, Any, Any]):
    """Follows the graph's transcript before each call of the model, and sends S in its place.

    It brings `compress`, `revise`, `look` and `note`; the last two give way to your tools of these names. Until a failed
    summary is settled, no other tool runs, and a model that ends is asked again. Memories are open until `close` or `aclose`.

    Args:
        opens: `partial(Memory.open, store, ...)`; for `ainvoke` and `astream` `partial(AsyncMemory.open, store, ...)`.
    """

    state_schema = MageState

    def __init__(self, opens: Callable[..., Memory] | Callable[..., Awaitable[AsyncMemory]]) -> None:
        super().__init__()
        self._opens = opens
        self._kept: dict[str, Memory] = {}
        self._awaited: dict[str, AsyncMemory] = {}
        self.tools = list(map(_tool, OWN))

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], Response]
    ) -> ExtendedModelResponse[Any]:
        """Follow the transcript, and send S; call the model again where it ends although it may not."""
        state = cast("MageState", request.state)
        parts, stands = list(_parts(state["messages"])), state.get("mage")
        memory = self._memory(name := _name(stands), parts)
        if stands and memory.departs(parts, stands["version"]):
            with memory.session.fork(f"{name}~{uuid4().hex[:8]}", at=stands["version"]) as fork:
                memory = self._memory(fork.name)
        memory.give_way([getattr(tool, "name", "") for tool in _theirs(request)])
        memory.follow(parts)
        for left in reversed(range(_TRIES)):
            shown = memory.messages("chat", beside=_beside(request))
            stands = Stands(session=memory.session.name, version=memory.session.version)
            response = handler(_sending(request, shown, memory))
            if not left or not (answer := _answer(response)) or memory.take(answer).finished:
                return ExtendedModelResponse(response, Command(update={"mage": stands}))
        raise AssertionError("the last try returns")

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[Response]]
    ) -> ExtendedModelResponse[Any]:
        """See `wrap_model_call`."""
        state = cast("MageState", request.state)
        parts, stands = list(_parts(state["messages"])), state.get("mage")
        memory = await self._amemory(name := _name(stands), parts)
        if stands and await memory.departs(parts, stands["version"]):
            async with await memory.session.fork(f"{name}~{uuid4().hex[:8]}", at=stands["version"]) as fork:
                memory = await self._amemory(fork.name)
        memory.give_way([getattr(tool, "name", "") for tool in _theirs(request)])
        await memory.follow(parts)
        for left in reversed(range(_TRIES)):
            shown = await memory.messages("chat", beside=_beside(request))
            stands = Stands(session=memory.session.name, version=memory.session.version)
            response = await handler(_sending(request, shown, memory))
            if not left or not (answer := _answer(response)) or (await memory.take(answer)).finished:
                return ExtendedModelResponse(response, Command(update={"mage": stands}))
        raise AssertionError("the last try returns")

    def wrap_tool_call(self, request: Called, handler: Callable[[Called], Came]) -> Came:
        """Carry out a call, unless a failed summary bars it."""
        return _barred(request, self._memory(_name(request.state["mage"]))) or handler(request)

    async def awrap_tool_call(self, request: Called, handler: Callable[[Called], Awaitable[Came]]) -> Came:
        """See `wrap_tool_call`."""
        return _barred(request, await self._amemory(_name(request.state["mage"]))) or await handler(request)

    def close(self) -> None:
        """Close the memories of `invoke`."""
        while self._kept:
            self._kept.popitem()[1].close()

    async def aclose(self) -> None:
        """Close the memories of `ainvoke`."""
        while self._awaited:
            await self._awaited.popitem()[1].close()

    def _memory(self, name: str, parts: Parts = ()) -> Memory:
        if name not in self._kept:
            task = next((part for part in parts if isinstance(part, str) and part.strip()), None)
            self._kept[name] = cast("Memory", self._opens(name, or_task=task))
        return self._kept[name]

    async def _amemory(self, name: str, parts: Parts = ()) -> AsyncMemory:
        if name not in self._awaited:
            task = next((part for part in parts if isinstance(part, str) and part.strip()), None)
            self._awaited[name] = await cast("Awaitable[AsyncMemory]", self._opens(name, or_task=task))
        return self._awaited[name]


def _tool(own: Tool) -> StructuredTool:
    """Return a tool that does nothing: the memory carries out its call before the next call of the model."""
    described: dict[str, Any] = {"name": own.name, "description": own.description, "metadata": _OWN}
    return StructuredTool(func=lambda **_: "noted", args_schema=dict(own.parameters), **described)


def _name(stands: Stands | None) -> str:
    name = stands["session"] if stands else get_config().get("configurable", {}).get("thread_id")
    if name is None:
        raise ValueError('a session has the name of the thread: {"configurable": {"thread_id": ...}}')
    return str(name)


def _parts(messages: Iterable[AnyMessage]) -> Iterator[str | AssistantReply | ToolResult]:
    for message in messages:
        if isinstance(message, HumanMessage):
            yield content_of(message.content).text
        elif isinstance(message, AIMessage):
            yield _reply(message)
        elif isinstance(message, ToolMessage) and message.artifact != _BARRED:
            yield ToolResult(message.tool_call_id, content_of(message.content).text)


def _reply(message: AIMessage) -> AssistantReply:
    made = [ToolCall(call["id"] or "", call["name"], canonical(call["args"])) for call in message.tool_calls]
    bad = [ToolCall(no["id"] or "", no["name"] or "", no["args"] or "") for no in message.invalid_tool_calls]
    why = message.response_metadata.get("finish_reason") or message.response_metadata.get("stop_reason")
    return AssistantReply(str(message.text), (*made, *bad), is_cut(why))


def _answer(response: Response) -> AssistantReply | None:
    """Return the reply with which the model ends; None where it goes on, or gave the host's structured response."""
    last, other = response.result[-1], response.structured_response
    reply = _reply(last) if isinstance(last, AIMessage) and other is None else None
    return None if reply is None or reply.calls else reply


def _theirs(request: Request) -> list[BaseTool | dict[str, Any]]:
    return [tool for tool in request.tools if getattr(tool, "metadata", None) != _OWN]


def _beside(request: Request) -> list[object]:
    return [request.system_prompt or "", *map(convert_to_openai_tool, _theirs(request))]


def _sending(request: Request, shown: Iterable[Mapping[str, Any]], memory: Memory | AsyncMemory) -> Request:
    messages: list[AnyMessage] = [HumanMessage(message["content"]) for message in shown]
    return request.override(messages=messages, tools=[*_theirs(request), *memory.tools("chat")])


def _barred(request: Called, memory: Memory | AsyncMemory) -> ToolMessage | None:
    name, key = request.tool_call["name"], request.tool_call["id"]
    why = "" if getattr(request.tool, "metadata", None) == _OWN else memory.may_act()
    return ToolMessage(why, tool_call_id=key, name=name, status="error", artifact=_BARRED) if why else None
