"""An MCP server over a store: an agent's execution state for any client that speaks the Model Context Protocol.

    pip install 'mage-state[mcp]'

    from mage.integrations.mcp import serve_stdio, state_server
    asyncio.run(serve_stdio(state_server(open_store("sqlite:///work.db"))))    # this is `mage mcp work.db`

The protocol has no sessions, so each tool takes the name of ours. Each tool is one operation on a session, answered in
words. `grow` records what was done, and lands on the head as it is; `compress` and `revise` are decisions, and name the
version that they were made on: where another process has written since, or another call of the same reply came first,
they are refused (D11). A refusal changes nothing, and says what to do. Processes may serve one store, and clients one
process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, cast, final
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

import attrs
from returns.result import Success

try:
    import mcp_types as types
    from mcp.server import Server, ServerRequestContext
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError(
        "mage.integrations.mcp needs its extra: pip install 'mage-state[mcp]'", name=_missing.name
    ) from None

import mage
from mage.chat import COMPRESS, REVISE, judge_messages, judge_prompt, misfit, sendable, verdict_schema_of
from mage.effects import AsyncJudge, EffectError, Schema, Tool
from mage.engine import (
    Active,
    Failed,
    JudgeRequest,
    MageError,
    Passed,
    Rejected,
    State,
    StepId,
    Unverified,
    inside,
    revise,
)
from mage.memory.state import few, quoted
from mage.render import draw, one_line, render
from mage.render.blocks import INDENT, Block, inside_of
from mage.session import AsyncSession, Conflict, OtherTask, Refused
from mage.stores import DamagedJournals, JournalStore, UnknownJournal, in_thread

# -- the tools ----------------------------------------------------------------------------------------------


CYCLE: Final = """\
This server keeps where you stand in a long task, in the session that you name, so that you need not.
1. start, with the task. After a break, or when you are unsure: state. What it shows is so, whatever you remember.
2. Do one thing in the world, then grow: what you did and what came back, word for word, before you do the next.
3. When a subgoal is complete: compress, alone in your reply. Your text stands for its steps from now on, so write down \
what was done, found and decided, with exact names and numbers.
4. A summary is judged before it is trusted. Where you are asked to judge, compare text and steps as strictly as if \
somebody else had written them, and answer by verdict.
5. What has failed is put right before you go on: revise to where it went wrong, with a lesson, and undo in the world \
what you are told you left there. Where only the text is wrong, compress once more, with a true one.
6. look shows what a line [Step N] stands for; history and fork are for looking back, and for another way.
Each answer ends with where you stand. compress and revise take the version that it names."""

_NAME: Final[Schema] = {"type": "string", "description": "the name of the session"}
_TEXT: Final[Schema] = {"type": "string"}
_PAGE: Final[Schema] = {"type": "integer", "description": "0, or what the answer before names for more"}
_DECIDED_ON: Final[Schema] = {"type": "integer", "description": "the version that the last answer named"}
_END: Final[Schema] = {
    "type": ["integer", "null"],
    "description": "the M of a line [Step N..M]; null where N alone names it",
}
_LABEL: Final[Schema] = {"type": "integer", "description": "the N of a line [Step N]"}
_DIGEST: Final[Schema] = {"type": "string", "description": "of the summary that was judged"}
_NEW: Final[Schema] = {"type": "string", "description": "the name of the new session"}
_BEGINS: Final[Schema] = {"type": "integer", "description": "the version at which it begins"}


def _properties(schema: Schema) -> Mapping[str, Schema]:
    return cast("Mapping[str, Schema]", schema["properties"])


def _tool(name: str, description: str, **properties: Schema) -> Tool:
    return Tool.of(name, description, session=_NAME, **properties)


TOOLS: Final = (
    _tool("start", "Begin a session for a task, or go on with the one of this name.", task=_TEXT),
    _tool("grow", "Record an action that was carried out, and its result.", action=_TEXT, observation=_TEXT),
    _tool(COMPRESS.name, COMPRESS.description, **_properties(COMPRESS.parameters), version=_DECIDED_ON),
    _tool(
        "verdict",
        "Judge the summary that waits for a verdict: compare it with its steps.",
        digest=_DIGEST,
        **_properties(verdict_schema_of(asks_steps=True)),
    ),
    _tool(REVISE.name, REVISE.description, **_properties(REVISE.parameters), version=_DECIDED_ON),
    _tool(
        "look",
        "See the steps that a line [Step N] stands for, or the lines of a chapter.",
        step=_LABEL,
        boundary=_END,
        page=_PAGE,
    ),
    _tool("state", "See where you stand: what is done, what is open, what was tried.", page=_PAGE),
    _tool("history", "See what was recorded, the newest first.", page=_PAGE),
    _tool("fork", "Make another session that begins at a version of this one.", new=_NEW, version=_BEGINS),
)
"""All tools, strict."""
_LOOKING: Final = frozenset({"look", "state", "history"})
"""The tools that change nothing."""
_DECISIONS: Final = frozenset({COMPRESS.name, REVISE.name})
"""The tools that name the version on which the model decided."""
ANSWER: Final = Tool.of(
    "answer",
    "What every tool returns.",
    told={"type": "string", "description": "what came of it, and what to do"},
    text={"type": "string", "description": "what was asked for, or this page of it"},
    more={"type": ["integer", "null"], "description": "the page behind it, null where there is none"},
    session=_NAME,
    version={"type": "integer"},
    phase={"type": "string", "enum": ["Active", "Unverified", "Rejected"]},
    digest={"type": ["string", "null"], "description": "of the summary that waits for a verdict"},
    boundaries={
        "type": "array",
        "items": {"type": "integer"},
        "description": "where revise may go back to, the newest of it",
    },
).parameters
"""The schema of the structured result of every tool."""

_Given: TypeAlias = Mapping[str, Any]  # JSON that fits the parameters of its tool


# -- answers: words that a model can act on, a page at a time -----------------------------------------------


PAGE_LENGTH: Final = 16_000
"""Characters of a page."""
_NAMED: Final = 20
"""Boundaries that an answer names at most."""


@final
@attrs.frozen
class _Answer:
    """The answer of a tool; `told`, `text` and `more` are those of `ANSWER`.

    Attributes:
        is_refused: whether nothing was done.
        is_asking: whether a summary is to be judged first.
    """

    told: str
    text: str = ""
    more: int | None = None
    is_refused: bool = False
    is_asking: bool = False


def _refused(why: str) -> _Answer:
    return _Answer(f"Not done: {why}", is_refused=True)


def _standing(session: AsyncSession) -> dict[str, Any]:
    """Return the fields of `ANSWER` that say where a session stands. Cost: O(summaries shown)."""
    state = session.phase
    return {
        "session": session.name,
        "version": session.version,
        "phase": type(state).__name__,
        "digest": state.digest if isinstance(state, Unverified) else None,
        "boundaries": [int(step) for step in _boundaries(state)],
    }


def _boundaries(state: State) -> tuple[StepId, ...]:
    """Return the newest steps that revise may go back to: the refusal of an impossible step lists them."""
    return revise(state, -1, "").failure().legal[-_NAMED:]


def _next_of(state: State) -> str:
    """Return the words on what the model is to do about the newest summary."""
    head = state.tree.head_summary
    match state:
        case Active():
            return f"[Step {head.label}] is judged, and stands for its steps."
        case Unverified():
            told = f"[Step {head.label}] waits for its verdict: judge it by verdict, with its digest."
            return f"{told} Until then you may go on with grow."
        case Rejected():
            verdict = head.verdict
            why = Block("Feedback: ", verdict.feedback if isinstance(verdict, Failed) else "").text
            where = ", ".join(map(str, _boundaries(state)))
            told = f"[Step {head.label}] has failed: revise to {where} with a lesson, or where only its text is wrong,"
            return f"{told} compress with a true one.\n{why}"


def _asked(request: JudgeRequest) -> str:
    """Return the question to a judge, in the words in which `ChatJudge` asks it (D5)."""
    how = judge_prompt(request).text.partition("\n\nReply with")[0]
    return f"{how}\n\n{judge_messages(request)[-1].text}"


def _paged(told: str, text: str, start: int) -> _Answer:
    """Return the page that begins at a character of a text. It ends with a line; content stays indented, so none passes for ours."""
    if start and not 0 < start < len(text):
        return _no_page(start)
    end = start + PAGE_LENGTH
    if end < len(text):
        end = text.rfind("\n", start, end) + 1 or end
    begun = INDENT if start and text[start - 1] != "\n" else ""
    return _Answer(told, begun + text[start:end], end if end < len(text) else None)


def _no_page(page: int) -> _Answer:
    return _refused(f"there is no page {page}: 0 is the first, and each answer names the one behind it.")


# -- operations ---------------------------------------------------------------------------------------------


_ENTRIES: Final = 20
"""Commands on a page of the history."""


async def _carry_out(tool: str, session: AsyncSession, given: _Given) -> _Answer:
    """Carry out a tool; `given` fits its parameters, and no other call in this process changes the session.

    Raises:
        Refused, Conflict, StoreError: as from the session.
    """
    if tool in _DECISIONS and session.version != given["version"]:
        return _refused(
            f"you decided on version {given['version']}, and the session is at {session.version}: somebody has written"
            " since, or another call of your reply came first. Look at what is there, and decide again."
        )
    match tool:
        case "start":
            return _shown(session, 0)
        case "grow":
            return await _grow(session, given["action"], given["observation"])
        case "compress":
            return await _compress(session, given["text"])
        case "verdict":
            return await _verdict(session, given)
        case "revise":
            return await _revise(session, given["step"], given["lesson"])
        case "look":
            return _look(session, given["step"], given["boundary"], given["page"])
        case "state":
            return _shown(session, given["page"])
        case "history":
            return await _history(session, given["page"])
        case _:
            made = await session.fork(given["new"], at=given["version"])
            return _Answer(f"Made {made.name!r}, which begins at version {made.version} of this session.")


async def _grow(session: AsyncSession, action: str, observation: str) -> _Answer:
    """Record an action on the head as it is: where another process was faster, behind its records."""
    known = session.tree.next_step
    while not isinstance(session.phase, Rejected):
        try:
            await session.grow(action, observation)
        except Conflict:
            await session.refresh()
            known = session.tree.next_step
            continue
        step = session.tree.step_head
        again = (
            ""
            if session.tree.next_step > known
            else ", on a way that was left before: see the hints in state"
        )
        return _Answer(f"This is step {step}{again}.")
    return _refused(f"what you did is to be recorded once this is settled. {_next_of(session.phase)}")


async def _compress(session: AsyncSession, text: str) -> _Answer:
    """Mark the subgoal complete; a summary that waits for its verdict, with no step behind it, or has failed gets the new text."""
    state = session.phase
    if isinstance(state, Active):
        await session.compress(text)
    elif isinstance(state, Rejected) or not state.tree.segment():
        await session.retext(text)
    else:
        return attrs.evolve(_refused(f"an earlier summary comes first. {_next_of(state)}"), is_asking=True)
    return attrs.evolve(_to_judge(session, 0), is_asking=True)


def _to_judge(session: AsyncSession, page: int) -> _Answer:
    """Return the summary that waits for its verdict, as a question to the client's own model."""
    request = session.judge_request()
    label = session.tree.head_summary.label
    answer = _paged(_next_of(session.phase), _asked(request), page)
    if answer.more is None:
        return answer
    return attrs.evolve(
        answer, told=f"{answer.told} The rest of its steps: look, step {label}, page {answer.more}."
    )


async def _ask(session: AsyncSession, judge: AsyncJudge, answer: _Answer) -> _Answer:
    """Have the judge judge the summary that waits for its verdict; where it gives none, `answer` asks the client's own model."""
    request = session.judge_request()
    try:
        await session.judge(await judge(request), request.digest)
    except (EffectError, Refused, Conflict) as error:
        await session.refresh()
        if isinstance(session.phase, Unverified):
            return attrs.evolve(answer, told=f"The judge gave no verdict ({error}). {answer.told}")
    told = _next_of(session.phase)
    return (
        _refused(f"an earlier summary came first. {told} Decide again.")
        if answer.is_refused
        else _Answer(told)
    )


async def _verdict(session: AsyncSession, given: _Given) -> _Answer:
    verdict: Passed | Failed
    if given["passed"]:
        verdict = Passed()
    elif given["fault"] == "none":
        return _refused(
            'it has not passed: say whose fault it is, "summary" (the text) or "execution" (the steps).'
        )
    elif given["fault"] == "summary" or session.tree.head_summary.kind == "fallback":
        verdict = Failed(given["feedback"], "summary")
    else:
        verdict = Failed(given["feedback"], "execution", given["boundary"])
    await session.judge(verdict, given["digest"], meta={"reasoning": given["reasoning"]})
    return _Answer(_next_of(session.phase))


async def _revise(session: AsyncSession, step: int, lesson: str) -> _Answer:
    left = await session.revise(step, lesson)
    told = [f"Back at [Step {step}].\n"]
    if left.abandoned:
        actions = few([quoted(each.action) for each in left.abandoned], "\n")
        told.append(
            Block("What you did stands in the world until you undo it, the last first: ", actions).text
        )
    told += [Block("Left behind, an instruction: ", quoted(each.text)).text for each in left.instructions]
    return _shown(session, 0, "".join(told))


def _look(session: AsyncSession, step: int, boundary: int | None, page: int) -> _Answer:
    state = session.phase
    if isinstance(state, Unverified) and state.tree.head_summary.label == step:
        return _to_judge(session, page)
    found = inside(state, step, boundary)
    if not isinstance(found, Success):
        return _refused(f"{found.failure()}.")
    line = found.unwrap().line
    text = "".join([block.text for block in inside_of(found.unwrap())])
    return _paged(f"What [Step {line.label}..{line.boundary}] stands for.", text, page)


def _shown(session: AsyncSession, page: int, told: str = "") -> _Answer:
    state = session.phase
    told += "" if isinstance(state, Active) else _next_of(state)
    return _paged(told or "Go on from here.", render(session.state()), page)


async def _history(session: AsyncSession, page: int) -> _Answer:
    """Return a page of commands. Its newest version names it, so that it stays the same while others write."""
    if not 0 <= page <= session.version:
        return _no_page(page)
    newest = page or session.version
    after = max(0, newest - _ENTRIES)
    entries = await session.history(after=after, upto=newest)
    lines = [f"{entry.version} {one_line(str(entry.command), 400)}\n" for entry in reversed(entries)]
    return _Answer(f"Versions {after + 1} to {newest}.", "".join(lines), after or None)


# -- open sessions ------------------------------------------------------------------------------------------


_MOST: Final = 64
"""Sessions that stay open; the one that was used longest ago is opened again when a call names it."""


@final
class _OpenSessions:
    """The sessions of a store, each opened once and for one call at a time; other processes may write to them, too."""

    def __init__(self, store: JournalStore) -> None:
        self.store = in_thread(store)
        self._open: dict[str, AsyncSession] = {}
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    def get(self, name: str) -> AsyncSession | None:
        """Return a session that is open, as the last call left it."""
        return self._open.get(name)

    @asynccontextmanager
    async def alone(self, name: str, task: str | None = None) -> AsyncIterator[AsyncSession]:
        """Yield a session as other processes have left it; no other call of this process changes it meanwhile."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            session = self._open.pop(name, None)
            if session is None or task is not None:  # opening checks that it is for that task
                session = await AsyncSession.open(self.store, name, task=task)
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
        store: the store of the sessions; clients can begin new ones.
        judge: judges each summary. None: the client's own model does, by the tool `verdict`.
        hidden: names of journals that are no sessions, so that they are not listed.
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
    """The handler of each request of the protocol."""

    def __init__(self, store: JournalStore, judge: AsyncJudge | None, hidden: Container[str]) -> None:
        self._sessions = _OpenSessions(store)
        self._judge = judge
        self._hidden = hidden

    async def list_tools(self, _: _Context, __: _Cursor) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_declared(tool) for tool in TOOLS])

    async def call_tool(self, _: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Carry out a tool, or return the reason of a refusal in words."""
        tool, given = _TOOLS.get(params.name), params.arguments or {}
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
        wrong = misfit(given, tool.parameters, tool.name)
        if wrong is not None:
            return _result(_refused(wrong), None)
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
        return _result(_refused(why), self._sessions.get(given["session"]))

    async def _done(self, tool: str, given: _Given) -> types.CallToolResult:
        async with self._sessions.alone(given["session"], given.get("task")) as session:
            answer = await _carry_out(tool, session, given)
            if self._judge is None or not answer.is_asking:
                return _result(answer, session)
        return _result(
            await _ask(session, self._judge, answer), session
        )  # other calls do not wait for the judge

    async def list_resources(self, _: _Context, params: _Cursor) -> types.ListResourcesResult:
        """List the resources of each session, `_LISTED` sessions a page, in the order of their names."""
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
        """Return a session's state as the agent reads it, or the drawing of its tree."""
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
    looks = tool.name in _LOOKING
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


def _result(answer: _Answer, session: AsyncSession | None) -> types.CallToolResult:
    """Return an answer, and where the session stands, in words and as the values of `ANSWER`."""
    told, text = sendable(answer.told), sendable(answer.text)
    said = [part.rstrip("\n") for part in (told, text) if part]
    values: dict[str, Any] | None = None
    if session is not None:
        values = {"told": told, "text": text, "more": answer.more, **_standing(session)}
        where = [
            f"version {values['version']}",
            values["phase"],
            values["digest"] and f"digest {values['digest']}",
        ]
        more = "" if answer.more is None else f" More: page {answer.more}."
        said.append(f"({session.name!r}: {', '.join(filter(None, where))}.{more})")
    content: list[types.ContentBlock] = [types.TextContent(text="\n".join(said))]
    return types.CallToolResult(content=content, structured_content=values, is_error=answer.is_refused)
