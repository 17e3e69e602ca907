"""How commands speak: text and tables on standard output, one line of complaint on standard error."""

from __future__ import annotations

import io
import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

__all__ = ["AsJson", "Refused", "complain", "console", "print_json", "print_text", "say", "speak_safely"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


class Refused(Exception):
    """Bad input: said in one line, with exit status 1."""


def console() -> Console:
    """Return a console for standard output; without a terminal it is 100 columns wide and has no colour."""
    terminal = Console(highlight=False, soft_wrap=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=100)


def speak_safely() -> None:
    """Let no character, in content or from us, stop the output: what the terminal cannot say is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def complain(problem: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"mage: {' '.join(problem.split())}\n")


def say(text: str, style: str = "") -> None:
    """Print one paragraph; the terminal breaks its lines, a pipe gets it whole."""
    console().print(Text(text, style=style), soft_wrap=True)


def print_json(value: object) -> None:
    """Print one JSON object a machine can read, in ASCII so that any string survives any terminal."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_text(text: str) -> None:
    """Print text as it is: nothing is wrapped, coloured or left out."""
    sys.stdout.write(text)
