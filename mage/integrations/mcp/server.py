"""The server: the sessions that it has open, and what each request of the protocol is answered by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, final
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

import mage
from mage.chat import misfit, sendable
from mage.effects import AsyncJudge, Tool
from mage.engine import MageError
from mage.integrations.mcp.operations import (
    ANSWER,
    CYCLE,
    LOOKING,
    TOOLS,
    Answer,
    Given,
    ask,
    carry_out,
    refused,
    standing,
)
from mage.render import draw, render
from mage.session import AsyncSession, Conflict, OtherTask
from mage.stores import DamagedJournals, InThread, JournalStore, UnknownJournal, in_thread

# -- the sessions that it has open --------------------------------------------------------------------------


_MOST: Final = 64
"""Sessions that are held open; another one is opened when it is called again."""


@final
class OpenSessions:
    """The sessions of a store, each opened once and for one call at a time; other processes may write to them, too."""

    def __init__(self, store: JournalStore) -> None:
        self._store = in_thread(store)
        self._open: dict[str, AsyncSession] = {}
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    @property
    def store(self) -> InThread:
        """The store."""
        return self._store

    def get(self, name: str) -> AsyncSession | None:
        """Return a session that is open, as it was last seen."""
        return self._open.get(name)

    @asynccontextmanager
    async def alone(self, name: str, task: str | None = None) -> AsyncIterator[AsyncSession]:
        """Give a session as others have left it; no other call here changes it meanwhile."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            session = self._open.pop(name, None)
            if session is None or task is not None:  # to open it is to ask whether it is for that task
                session = await AsyncSession.open(self._store, name, task=task)
            await session.refresh()
            self._open[name] = session
            if len(self._open) > _MOST:
                del self._open[next(iter(self._open))]
            yield session


# -- requests -----------------------------------------------------------------------------------------------


_LISTED: Final = 50
"""Sessions on a page of the resources."""
_URI: Final = "mage://session/"
_PARTS: Final = {
    "state": "Where the agent stands, as it is shown.",
    "tree": "All that it did, and what it left.",
}
_TOOLS: Final = {tool.name: tool for tool in TOOLS}
_Context: TypeAlias = ServerRequestContext[Any]  # the lifespan of the SDK's server holds nothing of ours
_Cursor: TypeAlias = types.PaginatedRequestParams | None


def state_server(
    store: JournalStore, judge: AsyncJudge | None = None, *, hidden: Container[str] = ()
) -> Server[Any]:
    """Return a server over a store, for any of the SDK's transports. The store stays open.

    Args:
        store: whose sessions it serves; clients can make new ones.
        judge: is asked about each summary. None: the client's own model is, and answers by the tool `verdict`.
        hidden: names of journals that are not listed, as they are no sessions.
    """
    handlers = _Handlers(store, judge, hidden)
    return Server(
        "mage",
        version=mage.__version__,
        instructions=CYCLE,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client that has started this process, until it closes standard input."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


@final
class _Handlers:
    """A handler for each request."""

    def __init__(self, store: JournalStore, judge: AsyncJudge | None, hidden: Container[str]) -> None:
        self._sessions = OpenSessions(store)
        self._judge = judge
        self._hidden = hidden

    async def list_tools(self, _: _Context, __: _Cursor) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_declared(tool) for tool in TOOLS])

    async def call_tool(self, _: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Do what a tool does, or say in words why not."""
        tool, given = _TOOLS.get(params.name), params.arguments or {}
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
        wrong = misfit(given, tool.parameters, tool.name)
        if wrong is not None:
            return _result(refused(wrong), None)
        try:
            return await self._done(tool.name, given)
        except Conflict:
            why = "somebody else has written meanwhile. Look at the state, and decide again."
        except UnknownJournal as error:
            why = f"there is no session {error.name!r} yet. Begin it by start, with its task."
        except OtherTask:
            why = "the session of this name is for another task. Go on with that by state, or choose another name."
        except MageError as error:
            why = f"{error}."
        return _result(refused(why), self._sessions.get(given["session"]))

    async def _done(self, tool: str, given: Given) -> types.CallToolResult:
        async with self._sessions.alone(given["session"], given.get("task")) as session:
            answer = await carry_out(tool, session, given)
            if self._judge is None or not answer.is_asking:
                return _result(answer, session)
        return _result(await ask(session, self._judge, answer), session)  # meanwhile nobody is kept waiting

    async def list_resources(self, _: _Context, params: _Cursor) -> types.ListResourcesResult:
        """List what can be read of each session, some sessions at a time, in order of names."""
        after = (params and params.cursor) or ""
        try:
            journals = await self._sessions.store.journals()
        except DamagedJournals as damage:
            journals = damage.sound
        names = sorted(each.name for each in journals if each.name > after and each.name not in self._hidden)
        found = [
            types.Resource(
                uri=f"{_URI}{quote(name, safe='')}/{part}", name=f"{name}: {part}", description=said
            )
            for name in names[:_LISTED]
            for part, said in _PARTS.items()
        ]
        more = names[_LISTED - 1] if len(names) > _LISTED else None
        return types.ListResourcesResult(resources=found, next_cursor=more)

    async def list_resource_templates(self, _: _Context, __: _Cursor) -> types.ListResourceTemplatesResult:
        found = [
            types.ResourceTemplate(uri_template=f"{_URI}{{session}}/{part}", name=part, description=said)
            for part, said in _PARTS.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        self, _: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Give a session's state as the agent is shown it, or its tree as it is drawn."""
        name, _slash, part = params.uri.removeprefix(_URI).partition("/")
        if not params.uri.startswith(_URI) or part not in _PARTS:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {params.uri}")
        try:
            async with self._sessions.alone(unquote(name)) as session:
                text = render(session.state()) if part == "state" else "\n".join(map(str, draw(session.tree)))
        except MageError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        found = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=sendable(text))
        return types.ReadResourceResult(contents=[found])

    async def list_prompts(self, _: _Context, __: _Cursor) -> types.ListPromptsResult:
        arguments = [
            types.PromptArgument(name="session", description="its name, such as monday", required=True),
            types.PromptArgument(name="task", description="what is to be done; of a new session"),
        ]
        told = "How to work with this server, in a session of your choice."
        return types.ListPromptsResult(
            prompts=[types.Prompt(name="cycle", description=told, arguments=arguments)]
        )

    async def get_prompt(self, _: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = params.arguments or {}
        if params.name != "cycle" or "session" not in given:
            raise MCPError(types.INVALID_PARAMS, "there is one prompt: cycle, with the name of a session")
        begin = (
            f"Begin with start, for this task: {given['task']}" if given.get("task") else "Begin with state."
        )
        said = types.TextContent(text=f"{CYCLE}\n\nYour session is {given['session']!r}. {begin}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])


def _declared(tool: Tool) -> types.Tool:
    looks = tool.name in LOOKING
    hints = types.ToolAnnotations(
        read_only_hint=looks,
        destructive_hint=False,
        idempotent_hint=looks or tool.name == "start",
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        output_schema=dict(ANSWER),
        annotations=hints,
    )


def _result(answer: Answer, session: AsyncSession | None) -> types.CallToolResult:
    """Return an answer and where the session stands, as words and as values."""
    told, text = sendable(answer.told), sendable(answer.text)
    said = [part.rstrip("\n") for part in (told, text) if part]
    values: dict[str, Any] | None = None
    if session is not None:
        values = {"told": told, "text": text, "more": answer.more, **standing(session)}
        where = [
            f"version {values['version']}",
            values["phase"],
            values["digest"] and f"digest {values['digest']}",
        ]
        more = "" if answer.more is None else f" More: page {answer.more}."
        said.append(f"({session.name!r}: {', '.join(filter(None, where))}.{more})")
    content: list[types.ContentBlock] = [types.TextContent(text="\n".join(said))]
    return types.CallToolResult(content=content, structured_content=values, is_error=answer.is_refused)
