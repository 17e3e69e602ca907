"""Clients of the MCP server, by the SDK's own client: in this process, over stdio and over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs
from mcp import Client, StdioServerParameters, stdio_client

from mage.effects import AsyncJudge
from mage.integrations.mcp import state_server
from mage.stores import JournalStore

ROOT: Final = Path(__file__).resolve().parents[2]
MODES: Final = ("auto", "legacy")
"""The protocol's newest revision, which has no handshake, and the one with it."""
Values: TypeAlias = dict[str, Any]  # the structured result of a call


@final
@attrs.frozen
class Said:
    """What a call returned: its words for the model, its values, and whether it was refused."""

    words: str
    values: Values
    is_refused: bool

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@final
@attrs.frozen
class Hand:
    """A client that works in one session."""

    client: Client
    session: str = "shop"

    async def __call__(self, tool: str, /, **given: object) -> Said:
        """Call a tool."""
        result = await self.client.call_tool(tool, {"session": self.session, **given})
        [block] = result.content
        return Said(getattr(block, "text", ""), result.structured_content or {}, bool(result.is_error))

    async def grow(self, action: str, observation: str = "done") -> Said:
        """Record a step."""
        return await self("grow", action=action, observation=observation)

    async def summarize(self, text: str) -> Said:
        """Compress what is open, as it stands now."""
        return await self("compress", text=text, version=(await self("state", page=0))["version"])

    async def judge(self, digest: str, feedback: str = "", fault: str = "execution") -> Said:
        """Answer what waits for a verdict: it has failed where there is feedback."""
        passed, why = not feedback, fault if feedback else "none"
        given = {
            "reasoning": "",
            "passed": passed,
            "fault": why,
            "boundary": None,
            "feedback": feedback,
        }
        return await self("verdict", digest=digest, **given)

    async def go_back(self, step: int, lesson: str = "") -> Said:
        """Revise, as it stands now."""
        version = (await self("state", page=0))["version"]
        return await self("revise", step=step, lesson=lesson, version=version)


@asynccontextmanager
async def here(
    store: JournalStore, judge: AsyncJudge | None = None, *, mode: str = "auto", task: str = "Count."
) -> AsyncIterator[Hand]:
    """Give a client of a server in this process, with a session begun."""
    async with Client(state_server(store, judge), mode=mode) as client:
        hand = Hand(client)
        await hand("start", task=task)
        yield hand


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT), **more}


@asynccontextmanager
async def over_stdio(store: str, *options: str, mode: str = "auto", **more: str) -> AsyncIterator[Client]:
    """Give a client of `mage mcp` in a process of its own, which it starts and ends."""
    arguments = ["-m", "mage", "mcp", store, *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=_environment(more))
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


@contextmanager
def serving(store: str, **more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Give the address and the process of `mage mcp --http`."""
    command = [sys.executable, "-m", "mage", "mcp", store, "--http", "0"]
    environment = {**os.environ, **_environment(more)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1], process
        finally:
            process.kill()


@asynccontextmanager
async def over_http(store: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """Give a client of a server in a process of its own, over HTTP."""
    with serving(store) as (url, _):
        async with Client(url, mode=mode) as client:
            yield client
