"""Journals: JSON Lines, a header and then a command a line.

    {"format":"mage-journal","version":1}
    {"op":"start","task":"Furnish the study"}
    {"op":"grow","action":"search[desk]","observation":"three desks"}

A line ends at the byte LF and nowhere else: U+2028 and its like stand in strings as they are. The last line
has its LF too, so that a file whose writing was cut short differs from a whole one. A CR before the LF is
let pass: it is white space to JSON and cannot stand in a string unescaped, so a journal that some tool gave
CRLF ends says exactly what it said before. Blank lines are refused: mage writes none, so something was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from returns.result import Failure, Result, Success

from mage.codec.commands import command_document, read_command
from mage.codec.shapes import FORMAT_VERSION, Object, header, header_problem
from mage.codec.strict_json import DecodeError, Problem, read_json, write_json
from mage.engine.journal import Command

JOURNAL_FORMAT: Final = "mage-journal"
_HEADER: Final = Object(header(JOURNAL_FORMAT))


def encode_journal(commands: Iterable[Command]) -> Iterator[bytes]:
    """Yield the lines of a journal, header first, each with its newline. Cost: O(size), lazily.

    Raises:
        NotText, UnknownName: as `encode_command`, at the command that could not be read back.
    """
    yield write_json({"format": JOURNAL_FORMAT, "version": FORMAT_VERSION}) + b"\n"
    for command in commands:
        yield write_json(command_document(command)) + b"\n"


def decode_journal(data: bytes | Iterable[bytes]) -> Result[tuple[Command, ...], DecodeError]:
    """Return the commands of a journal, or the first line that is not one, and why. Any bytes.

    That the engine takes the commands in this order is not asked here; `replay` says so.

    Args:
        data: a whole file, or its lines with their newlines, as a file opened in binary mode yields them.

    Returns:
        The commands, or the error with its line and the number of sound commands before it.
        Cost: O(size).
    """
    lines = _lines(data)
    first = next(lines, None)
    if first is None:
        return Failure(Problem("", "the journal is empty, expected its header").at_line(1, 0))
    problem = _broken(first) or _header(first[:-1])
    if problem is not None:
        return Failure(problem.at_line(1, 0))
    commands: list[Command] = []
    for number, line in enumerate(lines, start=2):
        read = _broken(line) or read_command(line[:-1])
        if isinstance(read, Problem):
            return Failure(read.at_line(number, len(commands)))
        commands.append(read)
    return Success(tuple(commands))


def _lines(data: bytes | Iterable[bytes]) -> Iterator[bytes]:
    if not isinstance(data, bytes):
        yield from data
        return
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _broken(line: bytes) -> Problem | None:
    """Return why a line is no line, None if it is one."""
    end = line.find(b"\n")
    if end == -1:
        return Problem("", "the line is cut: no newline ends it")
    if end != len(line) - 1:
        return Problem("", f"found a newline inside the line, at byte {end + 1}")
    if line.isspace():
        return Problem("", "the line is blank")
    return None


def _header(line: bytes) -> Problem | None:
    document = read_json(line)
    if isinstance(document, Problem):
        return document
    return header_problem(document, JOURNAL_FORMAT) or _HEADER.problem(document)
