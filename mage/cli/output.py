"""How commands speak: text and tables on standard output, one line of complaint on standard error.

Whatever comes from a trace, a journal or a file name passes through `printable` on its way to a line of its own.
Behind that, nothing that is written here reaches a terminal with a character in it that it would obey or not show:
not by `print_text`, `print_lines`, `print_json`, nor by a `console`. Into a file or a pipe all of it goes as it is.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from typing import Annotated, final

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from mage.render.text import is_seen, printable

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


class Refused(Exception):
    """Bad input: said in one line, with exit status 1."""


def _escaped(text: str) -> str:
    """Escape the same as JSON does, in which it means the same, but for tabs and line breaks."""
    if all(map(is_seen, text.split("\n"))):
        return text
    return "".join(char if char in "\n\t" or is_seen(char) else _code(char) for char in text)


def _code(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


@final
class _Console(Console):
    """A console that styles texts, and escapes whatever of them a terminal would obey or not show."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            is_text = not segment.control and not is_seen(segment.text)
            yield Segment(_escaped(segment.text), segment.style) if is_text else segment


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output; without a terminal it is 100 columns wide and has no colour.

    Who asks for none by `NO_COLOR` gets plain text, without bold and italic too.
    """
    terminal = _Console(
        stderr=stderr,
        highlight=False,
        soft_wrap=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    return terminal if terminal.is_terminal else _Console(stderr=stderr, highlight=False, width=100)


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
    sys.stdout.write(json.dumps(value, indent=2).replace("\x7f", "\\u007f") + "\n")


def print_text(text: str) -> None:
    """Print text as it is: nothing is wrapped, coloured or left out."""
    sys.stdout.write(_escaped(text) if sys.stdout.isatty() else text)


def print_lines(lines: Iterable[bytes]) -> None:
    """Print lines of UTF-8, byte for byte, whatever encoding standard output has; a terminal gets them as text."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None or sys.stdout.isatty():
        for line in lines:
            print_text(line.decode())
        return
    sys.stdout.flush()
    for line in lines:
        stream.write(line)
    stream.flush()
