"""The JSON objects in a text, from left to right, in time that grows as the text does, whatever stands in it.

To try each brace anew costs the square of a text of braces. So a text is read on from a brace as JSON, and what
that finds out of the braces within is kept: those that were closed are objects, those still open where it stops
being JSON are none. Only a brace within a string is tried again, and what is read from there is what stood
outside of strings before: so no character is read more than twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast, final

from mage.effects import JsonValue

__all__ = ["objects_in"]

_DEEPEST: Final = 200
"""What is nested more deeply is not read as one object: the decoder goes as deep as the stack of the program."""
_TOKEN: Final = re.compile(
    r"""[ \t\n\r]*+(?:
      (?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
    | (?P<mark>[{}\[\],:])
    | (?P<plain>-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)
    )""",
    re.VERBOSE,
)
_Known: TypeAlias = dict[int, int]
"""Where the object ends that begins at a place; 0 where none does."""


def objects_in(text: str) -> Iterator[dict[str, JsonValue]]:
    """Yield the objects in a text, none inside another. Cost: O(length) for all of them."""
    known: _Known = {}
    start = text.find("{")
    while start >= 0:
        end = known.pop(start, None)
        if end is None:
            end = _Reading(text, start).end(known)
        document = _decoded(text[start:end]) if end else None
        if document is not None:
            yield document
        start = text.find("{", end or start + 1)


def _decoded(text: str) -> dict[str, JsonValue] | None:
    """Return an object, None where it has a number that is too long to be one."""
    try:
        return cast("dict[str, JsonValue]", json.loads(text))
    except (ValueError, RecursionError):
        return None


@final
class _Reading:
    """A text, read as JSON from a brace on. What may come next is a set of marks; `v` stands for a value, `k` for a key."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._place = start
        self._open: list[int] = []  # where what is open begins; of a list, below 0
        self._closed: list[tuple[int, int]] = []  # the objects that have ended, none inside another
        self._next = "{"

    def end(self, known: _Known) -> int:
        """Return where the object ends, 0 where it is none; then note what is known of the braces within."""
        match: Any = _TOKEN.match  # Any: bound once, as it is called for every token
        while (token := match(self._text, self._place)) is not None and self._takes(token):
            self._place = token.end()
            if not self._open:
                return self._place
        known.update({start: 0 for start in self._open if start >= 0})
        known.update(self._closed)
        return 0

    def _takes(self, token: re.Match[str]) -> bool:
        """Take the next token; tell whether it may stand there."""
        mark = token["mark"]
        if mark is None:
            return self._takes_scalar(is_string=token["string"] is not None)
        if mark in "{[":
            if ("v" not in self._next and mark not in self._next) or len(self._open) >= _DEEPEST:
                return False
            self._open.append(token.end() - 1 if mark == "{" else -1)
            self._next = "k}" if mark == "{" else "v]"
            return True
        if mark not in self._next:
            return False
        if mark in "}]":
            self._close(token.end())
        elif mark == ":":
            self._next = "v"
        else:
            self._next = "k" if self._open[-1] >= 0 else "v"
        return True

    def _takes_scalar(self, *, is_string: bool) -> bool:
        if "v" in self._next:
            self._after_value()
            return True
        if is_string and "k" in self._next:
            self._next = ":"
            return True
        return False

    def _close(self, end: int) -> None:
        start = self._open.pop()
        if start >= 0:
            while self._closed and self._closed[-1][0] > start:
                self._closed.pop()
            self._closed.append((start, end))
        if self._open:
            self._after_value()

    def _after_value(self) -> None:
        self._next = ",}" if self._open[-1] >= 0 else ",]"
