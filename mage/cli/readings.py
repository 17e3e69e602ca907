"""Where a pattern matches in a text, however its readers unescape it.

What goes with a record, an entry of a tape, the arguments of a call and many an observation hold JSON: a whole
document, lines of it, or a piece amid prose or cut in two. In it a secret may be spelled with escapes, and JSON in
a string of JSON has escapes of these. So no document is parsed: escapes are undone wherever they stand, again and
again until none is left, and each stage is searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, final

import attrs

from mage.engine.text import as_text, is_blank
from mage.stores import Plain, Record, redacted, text_names

__all__ = ["Place", "matches", "places_in", "redacted_records"]

_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4}))')
_QUOTED: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""A run up to a quote that no backslash stands before: each string of JSON is one, and what is between two is too."""
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST: Final = 64
"""Stages of unescaping that are looked at one by one. What doubles its backslashes has fewer, whatever its length."""


@final
@attrs.frozen
class Place:
    """Where a text is that matches.

    Attributes:
        journal: the session whose own record it is in.
        version: the record.
        text: which of its texts, by name.
    """

    journal: str
    version: int
    text: str


def redacted_records(
    name: str, records: Iterable[Record], pattern: re.Pattern[str]
) -> tuple[dict[int, Record], list[Place]]:
    """Return the records that match, redacted, by version; and where they do."""
    changed: dict[int, Record] = {}
    places: list[Place] = []
    for record in records:
        if matching := places_in(record, pattern):
            changed[record.version] = redacted(record, matching)
            names = text_names(record)
            places.extend(Place(name, record.version, names[place]) for place in matching)
    return changed, places


def places_in(record: Record, pattern: re.Pattern[str]) -> list[int]:
    """Return which parts of a record match, as `matches` says.

    A blank text never matches: that nothing was said is no secret, and it cannot be redacted.
    """
    return [
        place
        for place, part in enumerate(record.parts)
        if isinstance(part, Plain) and not is_blank(part.text) and matches(pattern, part.text)
    ]


def matches(pattern: re.Pattern[str], text: str) -> bool:
    """Tell whether a pattern matches a text as it stands, or with the escapes of JSON in it undone, at any depth.

    Whatever stands between two quotes is looked at alone too, so that `^` and `$` fit a string of JSON.
    Cost: that of searching the text, times the depth of its escapes, at most 66.
    """
    return any(pattern.search(reading) for reading in _readings(text))


def _readings(text: str) -> Iterator[str]:
    """Yield a text and what it says to its readers: all of it at each stage, and its strings at each stage."""
    yield text
    strings = _strings([text])
    yield from strings
    for _ in range(_DEEPEST):
        after = _unescaped(text)
        if after == text:
            return
        text = after
        yield text
        strings = _strings(strings)
        yield from strings
    yield _unescaped_at_once(text)


def _strings(texts: list[str]) -> list[str]:
    """Return what stands between quotes in texts that have some or escapes, unescaped. Not longer than they are."""
    return [
        _unescaped(found)
        for text in texts
        if '"' in text or "\\" in text
        for found in _QUOTED.findall(text)
        if found
    ]


def _unescaped(text: str) -> str:
    """Return a text with every escape of JSON in it undone once, from left to right. Cost: O(length)."""
    return as_text(_ESCAPE.sub(_meant, text)) if "\\" in text else text


def _meant(found: re.Match[str]) -> str:
    short, code = found.groups()
    return chr(int(code, 16)) if short is None else _SHORT.get(short, short)


def _unescaped_at_once(text: str) -> str:
    """Return a text in which no escape is left, each undone as soon as its last character is there.

    Cost: O(length): what an escape stands for may end another one, and each is shorter than before.
    """
    done: list[str] = []
    for char in text:
        done.append(char)
        while (length := _length_of_last_escape(done)) and (found := _ESCAPE.match("".join(done[-length:]))):
            done[-length:] = _meant(found)
    return as_text("".join(done))


def _length_of_last_escape(chars: list[str]) -> int:
    """Return how many characters at the end may be one escape, 0 where none is."""
    if len(chars) > 1 and chars[-2] == "\\" and chars[-1] in '"\\/bfnrt':
        return 2
    return 6 if chars[-6:-4] == ["\\", "u"] else 0
