"""What is wrong with a file, in words: where, what was found, what was expected, on one line."""

from __future__ import annotations

import json
from typing import Final, TypeAlias, final

import attrs

_LIMIT: Final = 60
"""Characters of a file's own words that an error repeats: enough to recognize, never a 50 MB echo."""

MOST_DIGITS: Final = 15
"""Digits of the longest integer: every JSON reader has all of them exactly, also one that has doubles only."""


@final
@attrs.frozen
class DecodeError:
    """Why a file, a line or a record is refused.

    Attributes:
        path: the place inside the JSON, such as `$.steps[41].parent`; `$` is the whole of it.
        problem: what was found and what was expected, in one line.
        line: the line of a journal, from 1 (its header); None where there are no lines.
        good: how many commands before that line are sound.
    """

    path: str
    problem: str
    line: int | None = None
    good: int = 0

    def __str__(self) -> str:
        place = self.path if self.line is None else f"line {self.line}: {self.path}"
        return f"{place}: {self.problem}{self._sound()}"

    def _sound(self) -> str:
        if not self.good:
            return ""
        if self.good == 1:
            return "; the 1 command before it is sound"
        return f"; the {self.good} commands before it are sound"


@final
@attrs.frozen
class OddNumber:
    """A number as written that no field takes: a fraction, NaN, an infinity, too many digits."""

    written: str


@final
@attrs.frozen
class Repeated:
    """An object in which `key` stands twice, so that nobody can say which value counts."""

    key: str


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | OddNumber | Repeated | None"
"""What a JSON text says; `True` and `False` are among the integers, as Python has it."""


@final
@attrs.frozen
class Problem:
    """What is wrong with a value, and where inside that value.

    Attributes:
        path: from the value downwards, such as `.steps[41].parent`; empty for the value itself.
        text: what was found and what was expected.
    """

    path: str
    text: str

    def below(self, step: str) -> Problem:
        """Return the same problem as seen from one level up; `step` is `.key` or `[index]`."""
        return Problem(step + self.path, self.text)

    def as_error(self) -> DecodeError:
        """Return the error of a file that has no lines."""
        return DecodeError("$" + self.path, self.text)

    def at_line(self, line: int, good: int) -> DecodeError:
        """Return the error of a journal: its line, and the number of sound commands before."""
        return DecodeError("$" + self.path, self.text, line, good)


def mismatch(expected: str, found: Json) -> Problem:
    """Return the problem of a value that is not what was expected."""
    if isinstance(found, Repeated):
        return Problem("", f"the key {_quoted(found.key)} stands twice")
    return Problem("", f"expected {expected}, found {_in_words(found)}")


def _in_words(found: Json) -> str:
    if isinstance(found, dict):
        return "an object"
    if isinstance(found, list):
        return "an array"
    if isinstance(found, str):
        return _quoted(found)
    if isinstance(found, OddNumber):
        return _number_in_words(found.written)
    return json.dumps(found)


def _number_in_words(written: str) -> str:
    digits = written.removeprefix("-")
    if digits.isdecimal():
        return f"an integer of {len(digits)} digits, more than the {MOST_DIGITS} that are read"
    return short(written)


def short(text: str, limit: int = _LIMIT) -> str:
    """Return `text`, or its first `limit` characters and how many there are."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def _quoted(text: str) -> str:
    """Spell `text` in quotes on one line; what a terminal could not show is escaped."""
    start = text[:_LIMIT]
    spelled = json.dumps(start, ensure_ascii=not start.isprintable())
    return spelled if len(text) <= _LIMIT else f"{spelled}... ({len(text)} characters)"
