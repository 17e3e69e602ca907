"""`mage export`: a session's tree in other notations, on standard output."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mage.cli.diagrams import as_dot, as_mermaid
from mage.cli.draw import draw
from mage.cli.output import AsJson, print_json, print_text
from mage.cli.sessions import Session, state_at
from mage.codec import encode_tree
from mage.engine import State

__all__ = ["register"]


class Notation(StrEnum):
    """What a tree can be written as."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("export")(export)


def export(
    session: Session,
    to: Annotated[Notation, typer.Option("--to", help="The notation.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Write a session's tree as text, Mermaid, Graphviz dot or mage's own JSON."""
    written = _write(state_at(session), to)
    if as_json:
        print_json({"to": to.value, "content": written})
    else:
        print_text(written)


def _write(state: State, to: Notation) -> str:
    match to:
        case Notation.TEXT:
            lines = draw(state.tree, limit=None)
            return "".join(f"{line}\n" for line in lines)
        case Notation.MERMAID:
            return as_mermaid(state.tree)
        case Notation.DOT:
            return as_dot(state.tree)
        case Notation.JSON:
            return encode_tree(state).decode().rstrip("\n") + "\n"
