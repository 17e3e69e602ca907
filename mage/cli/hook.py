"""`mage hook`: what a coding agent does is recorded by the hooks of its own client.

The command is carried out without this module, which loads more than a call may cost: `mage.__main__` sees to that.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mage.cli.naming import STORE_VARIABLE
from mage.cli.sessions import complete_store
from mage.integrations.claude_code import main


class Client(StrEnum):
    """A client whose hooks are understood."""

    CLAUDE_CODE = "claude-code"


def hook(
    client: Annotated[Client, typer.Argument(help="Whose hook it is.", show_default=False)],
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE",
            envvar=STORE_VARIABLE,
            autocompletion=complete_store,
            help="The path of a SQLite file, made where there is none, or a URL.",
            show_default=False,
        ),
    ],
) -> None:
    """Record an event of a coding agent's client, given on standard input, and hand its state back after a compaction.

    The client calls it; README has the settings. Whatever goes wrong is said in one line on standard error, with status 0: the client goes on.
    """
    raise typer.Exit(main([client.value, store]))
