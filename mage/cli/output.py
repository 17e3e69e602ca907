"""How commands speak: text and tables on standard output, one line of complaint on standard error.

Whatever comes from a trace, a journal or a file name passes through `printable` on its way to a terminal.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

__all__ = [
    "AsJson",
    "Refused",
    "abandon_output",
    "complain",
    "console",
    "print_json",
    "print_text",
    "printable",
    "say",
    "speak_safely",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


class Refused(Exception):
    """Bad input: said in one line, with exit status 1."""


def printable(text: str) -> str:
    """Escape what a terminal would obey or could not show; a line break becomes one mark."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return "⏎" if char == "\n" else char.encode("unicode_escape").decode("ascii")


def console() -> Console:
    """Return a console for standard output; without a terminal it is 100 columns wide and has no colour.

    Who asks for none by `NO_COLOR` gets plain text, without bold and italic too.
    """
    terminal = Console(
        highlight=False, soft_wrap=False, color_system=None if os.environ.get("NO_COLOR") else "auto"
    )
    return terminal if terminal.is_terminal else Console(highlight=False, width=100)


def speak_safely() -> None:
    """Let no character stop the output: what the terminal's encoding cannot say is escaped."""
    if sys.stdout is None:  # a shell may have closed it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon_output() -> None:
    """Drop what cannot be written any more, so that the interpreter does not try again when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, io.UnsupportedOperation):
        sys.stdout = io.StringIO()


def complain(problem: str) -> None:
    """Print one line on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"mage: {printable(' '.join(problem.split()))}\n")


def say(text: str, style: str = "", *, screen: Console | None = None) -> None:
    """Print one paragraph; the terminal breaks its lines, a pipe gets it whole."""
    (screen or console()).print(Text(text, style=style), soft_wrap=True)


def print_json(value: object) -> None:
    """Print one JSON object a machine can read, in ASCII so that any string survives any terminal."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_text(text: str) -> None:
    """Print text as it is: nothing is wrapped, coloured or left out."""
    sys.stdout.write(text)
