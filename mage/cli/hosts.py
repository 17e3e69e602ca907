"""Commands that other programs start: `mage mcp`, a server; `mage hook`, which records what a coding agent does.

`mage.__main__` carries out a hook without this module, which takes longer to load than a call of a hook may last.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import typer

from mage.cli.naming import StoreName
from mage.cli.output import Refused
from mage.cli.sessions import LOOKS, Store, named_by, opened
from mage.effects import AsyncJudge
from mage.integrations.claude_code import main

# -- mage mcp -----------------------------------------------------------------------------------------------


TOKEN_VARIABLE: Final = "MAGE_MCP_TOKEN"  # noqa: S105  # the name of a variable
"""The environment variable with the token that every request over HTTP must bear."""
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine can reach; there the SDK answers to no other name (DNS rebinding)."""

Message: TypeAlias = MutableMapping[str, Any]  # ASGI's, and so are these
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def mcp(
    store: Store,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Judges each summary. Without it the client's own model is asked."
        ),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Serve HTTP at this port instead of stdio; 0 takes any free port.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help=f"Where HTTP is served; elsewhere only with {TOKEN_VARIABLE}.")
    ] = "127.0.0.1",
) -> None:
    """Serve the sessions of a store to any MCP client, such as a coding agent.

    The client starts the command and talks over stdio, or with --http over HTTP. Where the environment variable
    MAGE_MCP_TOKEN is set, every request over HTTP must bear it.
    """
    with _ended_by_interrupts():
        _serve_store(store, judge, http, host)


@contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end the process at once: nothing is lost, and the thread that reads input would not stop otherwise."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve_store(store: StoreName, judge: str | None, port: int | None, host: str) -> None:
    try:
        from mage.integrations.mcp import serve_stdio, state_server  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as missing:
        raise Refused(str(missing)) from None
    token = os.environ.get(TOKEN_VARIABLE)
    if port is not None and host not in _LOOPBACK and not token:
        raise Refused(
            f"{host} can be reached from elsewhere: set {TOKEN_VARIABLE}, which every request must bear"
        )
    asked: AsyncJudge | None = None
    if judge is not None:
        from mage.cli.answerers import awaited_judge_at  # noqa: PLC0415  # loads the agent, which only a judge needs

        asked = awaited_judge_at(judge)
    with opened(store, make=True) as found:
        server = state_server(found, asked, hidden={LOOKS})
        if port is None:
            asyncio.run(serve_stdio(server))
            return
        app = server.streamable_http_app(stateless_http=True, json_response=True, host=host)
        _serve(guarded(app, token) if token else app, host, port)


def _serve(app: App, host: str, port: int) -> None:
    import uvicorn  # noqa: PLC0415  # the SDK brings it

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as problem:
        raise Refused(f"{host}:{port}: {problem.strerror or problem}") from None
    with listening:
        where = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"mage: serving at http://{where}:{listening.getsockname()[1]}/mcp\n")
        sys.stderr.flush()
        uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listening])


def guarded(app: App, token: str) -> App:
    """Return an application that answers only requests that bear the token (`Authorization: Bearer ...`)."""
    expected = f"Bearer {token}".encode()

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, expected):
            await app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"the token is missing, or is another one"})

    return answer


# -- mage hook ----------------------------------------------------------------------------------------------


class Client(StrEnum):
    """A client whose hooks are understood."""

    CLAUDE_CODE = "claude-code"


def hook(
    client: Annotated[Client, typer.Argument(help="Whose hook it is.", show_default=False)],
    store: Annotated[
        str, named_by(str, "STORE", "The path of a SQLite file, made where there is none, or a URL.")
    ],
) -> None:
    """Record an event of a coding agent's client, read from standard input; print its state after a compaction.

    The client calls this command; README has the settings. An error is one line on standard error, with status 0, so that
    the client goes on.
    """
    raise typer.Exit(main([client.value, store]))
