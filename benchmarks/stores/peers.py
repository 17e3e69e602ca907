"""Others who keep the steps of an agent, as their own documents say they are used. They need not be installed.

LangGraph: a graph with one node that adds a step to a list, run as one loop with a `SqliteSaver` and durability
"sync": one checkpoint per step, and no reading in between. Nothing is cheaper for it. The list is
the `MessagesState` of its documents, two messages a step; or bare tuples, which are no messages to any model; or these in a
`DeltaChannel`, which is in beta there, and writes the whole list at every hundredth step only.
OpenAI Agents: `SQLiteSession.add_items` with the two messages of a step.

They are imported by name when they are measured, so a type checker knows nothing of them: hence `Any`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict, final

from benchmarks.stores.keepers import Maker
from benchmarks.work import Contents

LANGGRAPH: Final = "LangGraph"
LANGGRAPH_TUPLES: Final = "LG, tuples"
LANGGRAPH_DELTA: Final = "LG, delta"
PLAIN_LIST: Final = "plain list"
_PACKAGES: Final = ("langgraph", "langgraph.checkpoint.sqlite", "agents")


def missing() -> list[str]:
    """Return the packages of the peers that are not installed."""
    return [package for package in _PACKAGES if not _is_there(package)]


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


class LangGraph:
    """A loop of LangGraph with a checkpoint after each step, which holds all messages."""

    key = "messages"

    def __init__(self, directory: Path, steps: int) -> None:
        self._path = str(directory / "work.db")
        self._steps = steps
        self._kept = 0
        self._given = ("", "")
        self._opened = ExitStack()
        self._running: Iterator[object] = self._graph(self._opened).stream(
            {self.key: []}, self._config, stream_mode="updates", durability="sync"
        )

    @property
    def _config(self) -> dict[str, object]:
        return {"configurable": {"thread_id": "1"}, "recursion_limit": self._steps + 2}

    def _graph(self, opened: ExitStack) -> Any:
        graphs = import_module("langgraph.graph")
        saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver.from_conn_string(self._path)
        graph = graphs.StateGraph(self.schema())
        graph.add_node("act", self._act)
        graph.add_edge(graphs.START, "act")
        graph.add_conditional_edges("act", lambda _: graphs.END if self._kept == self._steps else "act")
        return graph.compile(checkpointer=opened.enter_context(saver))

    def _act(self, _: object) -> dict[str, list[object]]:
        self._kept += 1
        return {self.key: self.written(*self._given)}

    async def step(self, action: str, observation: str) -> None:
        """Go round the loop once: the checkpoint of the step before is awaited, then this step is made."""
        self._given = (action, observation)
        next(self._running)

    async def end(self) -> None:
        for _ in self._running:  # the checkpoint of the last step
            raise RuntimeError(f"LangGraph goes on after {self._kept} steps")
        self._opened.close()

    async def read(self) -> Contents:
        with ExitStack() as opened:
            return self.found(self._graph(opened).get_state(self._config).values[self.key])

    def schema(self) -> Any:
        """Return the state of the graph."""
        return import_module("langgraph.graph").MessagesState

    def written(self, action: str, observation: str) -> list[object]:
        """Return what a step adds to the list."""
        messages = import_module("langchain_core.messages")
        return [messages.AIMessage(content=action), messages.HumanMessage(content=observation)]

    def found(self, kept: list[Any]) -> Contents:
        """Return the steps in the list."""
        texts = [message.content for message in kept]
        return list(zip(texts[::2], texts[1::2], strict=True))


class LangGraphTuples(LangGraph):
    """The same with bare tuples."""

    key = "steps"

    def schema(self) -> Any:
        return _with_list(operator.add)

    def written(self, action: str, observation: str) -> list[object]:
        return [(action, observation)]

    def found(self, kept: list[Any]) -> Contents:
        return [(action, observation) for action, observation in kept]


@final
class LangGraphDelta(LangGraphTuples):
    """The same, each checkpoint with what is new."""

    def schema(self) -> Any:
        return _with_list(import_module("langgraph.channels.delta").DeltaChannel(_added))


def _with_list(adding: object) -> type[object]:
    class Kept(TypedDict):
        steps: Contents

    Kept.__annotations__ = {"steps": Annotated[Contents, adding]}
    return Kept


def _added(before: Contents, writes: Sequence[Contents]) -> Contents:
    return [*before, *(step for written in writes for step in written)]


@final
class PlainList:
    """OpenAI Agents' SQLiteSession: a row for each message, in a table with an index."""

    def __init__(self, directory: Path, steps: int) -> None:
        self._path = directory / "work.db"
        self._session = self._opened()

    def _opened(self) -> Any:
        return import_module("agents").SQLiteSession("1", self._path)

    async def step(self, action: str, observation: str) -> None:
        await self._session.add_items(
            [{"role": "assistant", "content": action}, {"role": "user", "content": observation}]
        )

    async def end(self) -> None:
        self._session.close()

    async def read(self) -> Contents:
        session = self._opened()
        try:
            texts = [item["content"] for item in await session.get_items()]
        finally:
            session.close()
        return list(zip(texts[::2], texts[1::2], strict=True))


PEERS: Final[dict[str, Maker]] = {
    PLAIN_LIST: PlainList,
    LANGGRAPH: LangGraph,
    LANGGRAPH_TUPLES: LangGraphTuples,
    LANGGRAPH_DELTA: LangGraphDelta,
}
