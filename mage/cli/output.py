"""The input and output of commands: text, tables and JSON on standard output, complaints on standard error, files.

Text from a trace, a journal or a file name passes through `printable` before it is put into a message. `print_text`,
`print_lines`, `print_json` and a `console` send a terminal no character that the terminal would obey or not show; a file
or a pipe gets every character as it is.

A file is read whole. A new one is written whole or not at all, never over another, and for its owner alone, whatever
the umask allows: it holds what agents saw.
"""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import IO, Annotated, Final, TextIO, final

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from mage.render.blocks import is_seen, printable

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
_LISTED: Final = 8
"""How many names a message lists."""
_MOST: Final = 1 << 30
"""Bytes of the longest file that is read: it is held in memory several times over."""
_AT_ONCE: Final = 1 << 20
_PRIVATE: Final = 0o600
_OF_PATHS: Final = (OSError, ValueError)
"""The errors of the system for a path: `ValueError` for a path that no file can have."""


class Refused(Exception):
    """Bad input. The command ends with this line on standard error and status 1."""


@contextmanager
def refusing(place: object, kinds: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Turn an error of the system for a path into a refusal."""
    try:
        yield
    except kinds as problem:
        said = problem.strerror if isinstance(problem, OSError) else problem
        raise Refused(f"{place}: {said}") from None


# -- standard output and standard error ----------------------------------------------------------------


def _escaped(text: str) -> str:
    """Escape characters as JSON does, except tabs and line breaks: as JSON the text means the same."""
    if all(map(is_seen, text.split("\n"))):
        return text
    return "".join(char if char in "\n\t" or is_seen(char) else _code(char) for char in text)


def _code(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


@final
class _Console(Console):
    """A console that styles texts, and escapes characters in them that a terminal would obey or not show."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            is_text = not segment.control and not is_seen(segment.text)
            yield Segment(_escaped(segment.text), segment.style) if is_text else segment


def console(*, stderr: bool = False) -> Console:
    """Return a console; without a terminal it is 100 columns wide and has no colour.

    Where `NO_COLOR` is set, a terminal gets plain text too: no colour, no bold, no italic.
    """
    is_plain = bool(os.environ.get("NO_COLOR"))
    terminal = _Console(stderr=stderr, highlight=False, color_system=None if is_plain else "auto")
    return terminal if terminal.is_terminal else _Console(stderr=stderr, highlight=False, width=100)


def speak_safely() -> None:
    """Let no character stop the output: a character that the terminal's encoding does not have is escaped."""
    if sys.stdout is None:  # a shell may have closed it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon_output() -> None:
    """Drop output that cannot be written any more, so that the interpreter does not try again when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, io.UnsupportedOperation):
        sys.stdout = io.StringIO()


def complain(problem: str) -> None:
    """Print one line on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"mage: {printable(' '.join(problem.split()))}\n")


def say(text: str, style: str = "") -> None:
    """Print one paragraph; a terminal breaks its lines, a pipe gets it whole."""
    console().print(Text(text, style=style), soft_wrap=True)


def print_json(value: object) -> None:
    """Print one JSON object, in ASCII so that any string survives any terminal."""
    sys.stdout.write(json.dumps(value, indent=2).replace("\x7f", "\\u007f") + "\n")


def print_answer(as_json: bool, document: object, lines: Iterable[str]) -> None:
    """Print the answer of a command: one JSON object, or else lines, each with its end."""
    if as_json:
        print_json(document)
    else:
        print_text("".join(lines))


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Print text on a stream, else on standard output: nothing is wrapped, coloured or left out."""
    out = sys.stdout if stream is None else stream
    out.write(_escaped(text) if out.isatty() else text)


def print_lines(lines: Iterable[bytes]) -> None:
    """Print lines of UTF-8, byte for byte, whatever encoding standard output has; a terminal gets them as text."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None or sys.stdout.isatty():
        for line in lines:
            print_text(line.decode())
        return
    sys.stdout.flush()
    stream.writelines(lines)
    stream.flush()


def some_of(words: Sequence[str], most: int = _LISTED) -> str:
    """Return the first few of many words, and how many there are."""
    return ", ".join(words[:most]) + f", ... ({len(words):,} in all)" * (len(words) > most)


def numbered(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural where it is not 1."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


# -- files ---------------------------------------------------------------------------------------------


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, a pipe or a terminal, up to the end.

    Raises:
        Refused: the file cannot be read, is a device, or holds more than a GiB.
    """
    with refusing(path, _OF_PATHS), path.open("rb") as file:
        mode = os.fstat(file.fileno())
        is_typed = stat.S_ISCHR(mode.st_mode) and os.isatty(file.fileno())
        if not (stat.S_ISREG(mode.st_mode) or stat.S_ISFIFO(mode.st_mode) or is_typed):
            raise Refused(f"{path}: this is a device or a socket, which may have no end; name a file")
        data = None if mode.st_size > _MOST else _read_to_the_end(file)
    if data is None:
        raise Refused(
            f"{path}: it holds more than {_MOST >> 30} GiB, or has no end; no command reads so much"
        )
    return data


def _read_to_the_end(file: IO[bytes]) -> bytes | None:
    """Return the bytes of a file; None where there are too many."""
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_AT_ONCE):
        size += len(chunk)
        if size > _MOST:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def exists(path: Path) -> bool:
    """Tell whether a file is there; of a link, whether the file that it leads to is.

    Raises:
        Refused: the system does not say, because the path is too long or a folder on it may not be read.
    """
    with refusing(path):
        return path.exists()


def require_absent(path: Path) -> None:
    """Refuse a path where something stands, a dangling link too, or where SQLite would keep a file of a store."""
    for ending in ("-wal", "-shm", "-journal"):
        store = path.name.removesuffix(ending)
        if store not in ("", path.name) and exists(beside := path.with_name(store)):
            raise Refused(
                f"{path}: SQLite keeps a file of this name beside {beside}, and drops it; name another"
            )
    with refusing(path, _OF_PATHS):
        try:
            path.lstat()
        except FileNotFoundError:
            return
    raise Refused(f"{path}: there is something already; name another file")


def write_new(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file, which appears when it is complete.

    Raises:
        Refused: something stands there, or it cannot be written.
    """
    require_absent(path)
    part = path.with_name(f".mage-{os.getpid()}.part")
    try:
        with refusing(path):
            with _private(part) as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            _put_in_place(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _private(path: Path) -> BufferedWriter:
    """Open a new file that no other user may read, from its first byte on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return BufferedWriter(FileIO(os.open(path, flags, _PRIVATE), "w"))


def _put_in_place(part: Path, path: Path) -> None:
    """Give a complete file its name; unlike a rename, a link fails where another program was faster."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        _private(path).close()
        part.replace(path)


def move_new(part: Path, path: Path) -> None:
    """Give a complete file, which no process has open, its name: durably, and in one step.

    The link that `write_new` makes would for a moment be a second name, and a SQLite store must not be used by two.
    A lock on the folder keeps apart two commands that give the same name. A refusal leaves `part` as it is.

    Raises:
        Refused: something stands there, or the file cannot be moved.
    """
    with refusing(path):
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        with _folder_alone(path.absolute().parent) as folder:
            require_absent(path)
            part.rename(path)
            if folder is not None:
                os.fsync(folder)


@contextmanager
def _folder_alone(folder: Path) -> Iterator[int | None]:
    """Lock a folder against every other `mage` that would put a file there; Windows has no such lock."""
    if sys.platform == "win32":
        yield None
        return
    import fcntl  # noqa: PLC0415  # where there is one

    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)
