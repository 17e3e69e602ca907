"""`mage mcp`: the sessions of a store for any client that speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import Annotated, Final

import typer

from mage.cli.answerers import awaited_judge_at
from mage.cli.output import Refused
from mage.cli.sessions import LOOKS, Store, opened

__all__ = ["mcp"]

TOKEN_VARIABLE: Final = "MAGE_MCP_TOKEN"  # noqa: S105  # the name of a variable
"""The environment variable with what every request over HTTP must bear."""


def mcp(
    store: Store,
    judge: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Judges each summary. Without it the client's own model is asked."),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Serve HTTP at this port, any free one for 0, not stdio."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help=f"Where HTTP is served; elsewhere only with {TOKEN_VARIABLE}.")
    ] = "127.0.0.1",
) -> None:
    """Serve a store to MCP clients, such as coding agents and editors.

    Over stdio the client starts the command. What every request over HTTP must bear as its token is named by the environment variable MAGE_MCP_TOKEN.
    """
    try:
        from mage.integrations import mcp as serving  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as missing:
        raise Refused(str(missing)) from None
    token = os.environ.get(TOKEN_VARIABLE)
    if http is not None and host not in serving.LOOPBACK and not token:
        raise Refused(f"{host} can be reached from elsewhere: set {TOKEN_VARIABLE}, which every request must bear")
    asked = None if judge is None else awaited_judge_at(judge)
    with opened(store, make=True) as found:
        server = serving.state_server(found, asked, hidden={LOOKS})
        if http is None:
            asyncio.run(serving.serve_stdio(server))
            return
        with _listening(host, http) as listening:
            where = f"[{host}]" if ":" in host else host
            sys.stderr.write(f"mage: serving at http://{where}:{listening.getsockname()[1]}/mcp\n")
            serving.serve_http(server, listening, host=host, token=token)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise Refused(f"{host}:{port}: {problem.strerror or problem}") from None
