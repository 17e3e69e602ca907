"""How commands speak: text and tables on standard output, one line of complaint on standard error."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

__all__ = ["AsJson", "Refused", "complain", "console", "print_json", "print_text"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


class Refused(Exception):
    """Bad input: said in one line, with exit status 1."""


def console() -> Console:
    """Return a console for standard output; without a terminal it is 100 columns wide and has no colour."""
    terminal = Console(highlight=False, soft_wrap=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=100)


def complain(problem: str) -> None:
    """Print one line on standard error, whatever characters the problem has."""
    line = " ".join(problem.split())
    typer.echo(f"mage: {line.encode(errors='backslashreplace').decode()}", err=True)


def print_json(value: object) -> None:
    """Print one JSON object a machine can read, in ASCII so that any string survives any terminal."""
    typer.echo(json.dumps(value, indent=2))


def print_text(text: str) -> None:
    """Print text as it is; what the terminal's encoding cannot say is escaped."""
    typer.echo(text.encode(errors="backslashreplace").decode(), nl=False)
