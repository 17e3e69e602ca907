"""A file of rows, one JSON object a line: appended to while a series runs, in order when it is over.

A row is known by its settings and its number. Rows of other settings stay where they are, so one file may hold many
series. A line that was cut off by a kill is left out, and its task is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from mage.chat import canonical

Row: TypeAlias = Mapping[str, object]
Key: TypeAlias = tuple[str, int]


@final
@attrs.frozen
class BadResults(Exception):
    """A file of results cannot be read; the message says where and why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def key_of(row: Row) -> Key:
    """Return what a row is known by."""
    number = row.get("number")
    return canonical(row.get("settings")), number if isinstance(number, int) else -1


def read_results(path: Path) -> list[Row]:
    """Return the rows of a file, in its order; none where it is missing. A last line that was cut off is left out.

    Raises:
        BadResults: it cannot be read, or another line is no row.
    """
    return [_row(found, where) for where, found in read_lines(path)]


def read_lines(path: Path) -> list[tuple[str, dict[str, object]]]:
    """Return the JSON objects of a file with where each stands, none where it is missing; a last line that was cut off is left out.

    Raises:
        BadResults: it cannot be read, or another line is no JSON object.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise BadResults(f"{path} cannot be read: {error}") from None
    whole, _, last = text.rpartition("\n")
    lines = [(f"{path}, line {number}", line) for number, line in enumerate(whole.split("\n"), 1) if line]
    found = [(where, _object(line, where)) for where, line in lines]
    try:  # a whole object without its line's end: an editor of the user's has taken it away, and no kill can end so else
        return [*found, (f"{path}, the last line", _object(last, ""))] if last else found
    except BadResults:
        return found


def _object(line: str, where: str) -> dict[str, object]:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        raise BadResults(f"{where}: this is no JSON; move the file away, or mend the line") from None
    if not isinstance(found, dict):
        raise BadResults(f"{where}: this is no row of the arena's; name another file")
    return found


def _row(row: dict[str, object], where: str) -> Row:
    if not is_of_a_task(row):
        raise BadResults(f"{where}: this is no row of the arena's; name another file")
    return row


def is_of_a_task(row: Row) -> bool:
    """Tell whether an object is the row of a task, whatever else it lacks."""
    return isinstance(row.get("settings"), dict) and "number" in row


def written(row: Row) -> str:
    """Return a row as its line. What no UTF-8 can hold is escaped."""
    return json.dumps(row, sort_keys=True, ensure_ascii=True) + "\n"


@final
class Appending:
    """A file that is appended to, a whole line at a time.

    Raises:
        BadResults: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        write_results(
            path, read_results(path)
        )  # without a line that was cut off, behind which nothing could be read
        self._file = path.open("a", encoding="utf-8")

    def add(self, row: Row) -> None:
        """Append a row; it is on its way to the disk when this returns."""
        self._file.write(written(row))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_results(path: Path, rows: Iterable[Row]) -> None:
    """Put rows into a file, whole or not at all.

    Raises:
        BadResults: it cannot be written.
    """
    write_whole(path, "".join(written(row) for row in rows))


def write_whole(path: Path, text: str) -> None:
    """Put a text into a file, whole or not at all.

    Raises:
        BadResults: it cannot be written.
    """
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise BadResults(f"{path} cannot be written: {error}") from None


def refuse_new(path: Path) -> str:
    """Say why no new file can be made here, before hours are spent on what it is to hold; empty where it can.

    Args:
        path: of the file.
    """
    if path.exists():
        return f"{path}: there is something already; name a new file"
    return "" if path.parent.is_dir() else f"{path}: there is no folder {path.parent}"


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in an order that depends on nothing but what they are of: the last one of each key."""
    return [row for _, row in sorted({key_of(row): row for row in rows}.items(), key=lambda each: each[0])]


DONE: Final = ("finished", "stopped")
"""Outcomes that are final. A run that failed may be tried again."""
