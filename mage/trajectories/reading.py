"""From bytes to JSON values: JSON or JSON Lines, found by looking; every flaw has its place.

Stricter than `json.loads`, which would lose a field that stands twice, take NaN for a number and fail
without a place on what is nested too deep.
"""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias, final

import attrs

from mage.trajectories.fields import Json, Spot
from mage.trajectories.trajectory import Line, Malformed, Path

DEEPEST: Final = 100
"""Levels of nesting that are read; no trace needs as many."""
_LONGEST_NUMBER: Final = 400  # characters
_LONGEST_HEADER: Final = 10_000  # bytes
_WIDE: Final = "UTF-16 or UTF-32: save it as UTF-8"
_FOREIGN: Final = {
    BOM_UTF16_LE: _WIDE,  # UTF-32 of that order begins with it too
    BOM_UTF16_BE: _WIDE,
    b"\x1f\x8b": "a gzip archive: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
}
_BLANK: Final = " \t\r\n"
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{},]', re.DOTALL)
"""A bracket, a comma, or a string; an empty group 1 tells that the string does not end."""


@final
@attrs.frozen
class _Broken:
    """The text stops being what can be read, at a character of it."""

    at: int
    problem: str


@final
class _Twice(dict[str, "Json"]):
    """An object in which a field stands twice."""

    field: str = ""


_Parsed: TypeAlias = "Json | _Broken"


def read(data: bytes) -> Spot | Malformed:
    """Return what a file holds; JSON Lines as one list that knows its lines.

    Cost: O(length).
    """
    foreign = _foreign(data)
    if foreign:
        return Malformed((), f"expected UTF-8, found {foreign}")
    text, undecoded = _decoded(data)
    if not text.strip(_BLANK):
        return Malformed((), "expected a trace, found an empty file")
    value = _parse(text)
    if isinstance(value, _Broken):
        if _is_lines(text):
            return _read_lines(text, undecoded)
        first = value if undecoded is None or value.at < undecoded.at else undecoded
        return _located(text, first, ())
    if undecoded is not None:
        return _located(text, undecoded, ())
    return _flaw(value, ()) or Spot(value)


def first_record(data: bytes) -> Json:
    """Return what the first line holds, or None where it is no JSON by itself or longer than any header.

    Cost: O(1), and O(white space before it).
    """
    start = data.removeprefix(BOM_UTF8).lstrip()[:_LONGEST_HEADER]
    value = _parse(start.partition(b"\n")[0].decode(errors="replace"))
    return None if isinstance(value, _Broken) else value


def _foreign(data: bytes) -> str:
    """Return in words what begins like this and is no UTF-8, and what to do; empty where nothing is known.

    JSON begins with two characters of ASCII, so a zero beside others among the first bytes is half a character.
    """
    for mark, what in _FOREIGN.items():
        if data.startswith(mark):
            return what
    return _WIDE if 0 in data[:2] and any(data[:4]) else ""


def _decoded(data: bytes) -> tuple[str, _Broken | None]:
    """Return the text, and the first place that is not UTF-8; what follows it stands for its bytes."""
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode(), None
    except UnicodeDecodeError as problem:
        before = len(data[: problem.start].decode())
        told = f"not UTF-8: byte 0x{data[problem.start]:02x} at offset {problem.start}"
        return data.decode(errors="surrogateescape"), _Broken(before, told)


def _parse(text: str) -> _Parsed:
    try:
        value: Json = json.loads(text, object_pairs_hook=_object, parse_int=_number)
    except json.JSONDecodeError as problem:
        told = problem.msg.removesuffix(" at")
        rest = ", but the text ends" * (problem.pos >= len(text.rstrip(_BLANK)))
        return _Broken(problem.pos, f"not JSON: {told[:1].lower()}{told[1:]}{rest}")
    except RecursionError:
        return _Broken(_too_deep(text), f"nested deeper than {DEEPEST} levels")
    return value


def _number(digits: str) -> int | float:
    """Read a whole number; one longer than any float becomes infinite, because int() raises on thousands."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = _Twice(found)
    twice.field = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
    return twice


def _is_lines(text: str) -> bool:
    """Tell whether the first record is complete on its own line and more follows."""
    first, _, rest = text.lstrip(_BLANK).partition("\n")
    return bool(rest.strip(_BLANK)) and isinstance(_parse(first), list | dict)


def _read_lines(text: str, undecoded: _Broken | None) -> Spot | Malformed:
    values: list[Json] = []
    numbers: list[int] = []
    start = 0
    for number, line in enumerate(text.split("\n"), start=1):
        end = start + len(line)
        if line.strip(_BLANK):
            path: Path = (Line(number, len(values)),)
            if undecoded is not None and undecoded.at < end:
                return Malformed(path, undecoded.problem)
            value = _parse(line)
            if isinstance(value, _Broken):
                return _located(line, value, path)
            if flaw := _flaw(value, path):
                return flaw
            values.append(value)
            numbers.append(number)
        start = end + 1
    return Spot(values, (), tuple(numbers))


def _located(text: str, broken: _Broken, above: Path) -> Malformed:
    """Say where in the JSON the text breaks, and for a file that is no JSON Lines also the line."""
    at = broken.at
    row, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    where = f" at column {column}" if above else f" at line {row}, column {column}"
    return Malformed((*above, *_place(text, at)), broken.problem + where)


def _too_deep(text: str) -> int:
    """Return the character at which nesting gets too deep."""
    at = depth = 0
    for token in _TOKEN.finditer(text):
        at = token.start()
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > DEEPEST:
            break
    return at


def _place(text: str, end: int) -> Path:
    """Return the path that leads to character `end`. Cost: O(`end`)."""
    open_at: list[str | int] = []
    named = False
    for token in _TOKEN.finditer(text, 0, end):
        match token[0]:
            case "[":
                open_at.append(0)
            case "{":
                open_at.append("")
                named = False
            case "]" | "}":
                del open_at[-1:]
                named = True
            case ",":
                named = False
                if open_at:
                    open_at[-1] = open_at[-1] + 1 if isinstance(open_at[-1], int) else ""
            case string:
                if token[1] and open_at and isinstance(open_at[-1], str) and not named:
                    open_at[-1], named = _unquoted(string), True
    return tuple(part for part in open_at if part != "")


def _unquoted(string: str) -> str:
    name = _parse(string)
    return name if isinstance(name, str) else string[1:-1]


def _flaw(root: Json, path: Path) -> Malformed | None:
    """Return the first thing, in the order of the text, that JSON allows or Python reads and a trace has not.

    Cost: O(number of values).
    """
    walk = [iter([(path, root)])]
    top = len(path)
    while walk:
        found = next(walk[-1], None)
        if found is None:
            walk.pop()
            continue
        place, value = found
        if isinstance(value, float):
            if not math.isfinite(value):
                return Malformed(place, f"expected a finite number, found {value}")
        elif len(place) - top >= DEEPEST:
            return Malformed(place, f"nested deeper than {DEEPEST} levels")
        elif isinstance(value, _Twice):
            return Malformed((*place, value.field), "this field stands twice in one object")
        else:
            walk.append(_below(place, value))
    return None


def _below(path: Path, value: Json) -> Iterator[tuple[Path, Json]]:
    """Yield what can be flawed or hold a flaw."""
    if isinstance(value, dict):
        for name, child in value.items():
            if isinstance(child, float | list | dict):
                yield (*path, name), child
    elif isinstance(value, list):
        for place, child in enumerate(value):
            if isinstance(child, float | list | dict):
                yield (*path, place), child
