"""The OpenAI Agents SDK: a `Session` of theirs over `AsyncMemory`, which also filters what a run sends.

    memory = await AsyncMemory.open("work.db", "monday", or_task=words, judge=judge)
    mage = MageSession(memory)
    agent = Agent(name="shopper", tools=[..., *mage.tools])
    await Runner.run(agent, words, session=mage, run_config=RunConfig(call_model_input_filter=mage.show))

The SDK calls the session once a run, and the filter before each call of the model. So the filter keeps a run short, and
the session carries it over from one run to the next.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast, final

try:
    from agents import AgentBase, FunctionTool, TResponseInputItem
    from agents.memory import SessionSettings
    from agents.run import CallModelData, ModelInputData
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError(
        "mage.integrations.openai_agents needs its extra: pip install 'mage-state[openai-agents]'",
        name=_missing.name,
    ) from None

from mage.chat import AssistantReply, ToolResult, content_of, read_reply
from mage.chat.words import S_BEGINS
from mage.effects import Tool
from mage.memory import AsyncMemory
from mage.memory.exchange import OWN, own_beside

Item: TypeAlias = Mapping[str, Any]


@final
class MageSession:
    """A session of the SDK: a memory takes the items that the SDK saves, and a run sends S.

    The memory is yours to open and to close; agents of one run may share it. It needs the SDK's own local history:
    with `previous_response_id` or a conversation on the server, the server keeps everything.

    Args:
        memory: the memory of one session.
    """

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._pending: list[Item] = []  # calls that the SDK has saved before their results
        self.session_id = memory.session.name
        self.session_settings: SessionSettings | None = None

    @property
    def tools(self) -> list[FunctionTool]:
        """The tools of the memory under its policy, for the agent's list of tools."""
        names = {tool["name"] for tool in self._memory.tools("responses")}
        return [_tool(own) for own in OWN if own.name in names]

    async def show(self, data: CallModelData[Any]) -> ModelInputData:
        """Take the new items in the input of a run, and return S in its place: `RunConfig(call_model_input_filter=...)`."""
        given = data.model_data
        tools = _theirs(data.agent)
        self._memory.give_way([tool.name for tool in tools])
        await self._memory.follow(_parts(cast("list[Item]", given.input)))
        schemas = [[tool.name, tool.description, tool.params_json_schema] for tool in tools]
        shown = await self._memory.messages("responses", beside=[given.instructions or "", *schemas])
        return ModelInputData(input=cast("list[TResponseInputItem]", shown), instructions=given.instructions)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return S in one item, whatever `limit` is."""
        return cast("list[TResponseInputItem]", await self._memory.messages("responses"))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Take the items that a run adds: the words of the user, and each reply once all its results are there."""
        self._pending.extend(cast("list[Item]", items))
        made = {item["call_id"] for item in self._pending if _is_call(item)}
        back = {item["call_id"] for item in self._pending if _is_output(item)}
        if made <= back:
            pending, self._pending = self._pending, []
            await self._memory.follow(_parts(pending))

    async def pop_item(self) -> TResponseInputItem | None:
        """Return None: no item can be taken back; the model revises."""
        return None

    async def clear_session(self) -> None:
        """Refuse, as a session keeps its steps.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "a session of mage keeps what was done: begin another one, under another name"
        )


def _tool(own: Tool) -> FunctionTool:
    """Return a tool that does nothing: the memory carries out its call before the next call of the model."""

    def is_enabled(_: object, agent: AgentBase) -> bool:
        return own in own_beside([tool.name for tool in _theirs(agent)])

    return FunctionTool(own.name, own.description, dict(own.parameters), _noted, is_enabled=is_enabled)


async def _noted(context: object, arguments: str) -> str:
    return "noted"


def _theirs(agent: AgentBase) -> list[FunctionTool]:
    return [
        tool for tool in agent.tools if isinstance(tool, FunctionTool) and tool.on_invoke_tool is not _noted
    ]


def _is_call(item: Item) -> bool:
    return "call_id" in item and str(item.get("type")).endswith("_call")


def _is_output(item: Item) -> bool:
    return "call_id" in item and str(item.get("type")).endswith("_output")


def _parts(items: Iterable[Item]) -> Iterator[str | AssistantReply | ToolResult]:
    """Yield a transcript: the items between the user's words and the results of calls are one reply."""
    said: list[Item] = []
    for item in items:
        ours = item.get("role") == "user"
        if not ours and not _is_output(item):
            said.append(item if "type" in item else {"type": "message", **item})
            continue
        if any(part.get("type") != "reasoning" for part in said):
            yield read_reply({"output": said})
        said = []
        text = content_of(item.get("content") if ours else item.get("output")).text
        if not ours:
            yield ToolResult(item["call_id"], text)
        elif not text.startswith(S_BEGINS):  # S, which this session gave at the beginning of the run
            yield text
    if any(part.get("type") != "reasoning" for part in said):
        yield read_reply({"output": said})
