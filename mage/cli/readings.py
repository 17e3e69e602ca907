"""Where a pattern matches in a record, however its texts are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from mage.engine.text import is_blank
from mage.stores import Plain, Record

__all__ = ["places_in"]

_JSON: Final = re.compile(r'\s*["\[{]')
"""How JSON begins that has strings in it."""


def places_in(record: Record, pattern: re.Pattern[str]) -> list[int]:
    """Return which parts of a record match: as they are kept, or as who reads them as JSON reads them.

    A blank text never matches: that nothing was said is no secret, and it cannot be redacted.
    """
    return [
        place
        for place, part in enumerate(record.parts)
        if isinstance(part, Plain)
        and not is_blank(part.text)
        and any(pattern.search(text) for text in _readings(part.text))
    ]


def _readings(text: str) -> Iterator[str]:
    """Yield a text and, where it is JSON, every string in it, keys too; and of each of these its own readings.

    What goes with a record, an entry of a tape, the arguments of a call and many an observation are JSON, in which
    a secret may be spelled with escapes, and JSON in a string of JSON with escapes of these.
    """
    texts = [text]
    while texts:  # a string is shorter than the JSON that spells it, so this ends
        text = texts.pop()
        yield text
        todo = [_value_of(text)]
        while todo:
            value = todo.pop()
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, dict):
                todo.extend((*value.keys(), *value.values()))
            elif isinstance(value, list):
                todo.extend(value)


def _value_of(text: str) -> object:
    """Return what a text says as JSON, None where it is none, or nests deeper than can be read."""
    if not _JSON.match(text):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
