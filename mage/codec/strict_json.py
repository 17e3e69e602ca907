"""JSON as this format has it: UTF-8, no key twice, no number but integers; and how it is written.

What the standard library lets pass (NaN, a key that stands twice) is kept as a value of its own, an
`OddNumber` or a `Repeated`, so that the shape that meets it can say where it stands.
"""

from __future__ import annotations

import json
import re
from typing import Final, cast

from mage.codec.problems import MOST_DIGITS, Json, OddNumber, Problem, Repeated

_BOM: Final = b"\xef\xbb\xbf"
_DEEPEST: Final = 1000
"""Levels that are handed to the parser, which recurses: mage writes five, and the stack holds far more."""
_STRING_OR_BRACKET: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|(?P<opens>[\[{])|(?P<closes>[\]}])', re.DOTALL
)
_TOO_DEEP: Final = Problem("", "arrays or objects are nested deeper than any that mage writes")


def read_json(data: bytes) -> Json | Problem:
    """Return what `data` says, or the problem that keeps it from being JSON. Any bytes.

    Cost: O(length).
    """
    if not data or data.isspace():
        return Problem("", "nothing is here, expected a JSON object")
    if data.startswith(_BOM):
        return Problem("", "found a byte order mark, expected plain UTF-8 without one")
    if _is_too_deep(data):
        return _TOO_DEEP
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Problem("", f"not UTF-8: found byte 0x{data[error.start]:02x} at byte {error.start + 1}")
    try:
        return cast("Json", _DECODER.decode(text))
    except json.JSONDecodeError as error:
        what = error.msg.rstrip(": ").removesuffix(" at")
        return Problem("", f"not JSON: {what[0].lower()}{what[1:]} at character {error.pos + 1}")
    except RecursionError:  # this host's limit, or how deep it already is, allows less
        return _TOO_DEEP


def _is_too_deep(data: bytes) -> bool:
    """Tell whether the parser would recurse deeper than is safe, also where the host raised its limit.

    Up to where `data` stops being JSON the depth found is the true one. Cost: O(length), in constant memory.
    """
    if data.count(b"[") + data.count(b"{") <= _DEEPEST:
        return False
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(data):
        if found.lastgroup is not None:
            depth += 1 if found.lastgroup == "opens" else -1
        if depth > _DEEPEST:
            return True
    return False


def write_json(document: object) -> bytes:
    """Return `document` as one line of JSON in UTF-8, without a newline. Cost: O(size).

    Only what must be escaped is: quotes, backslashes, controls below U+0020, and lone surrogates, which
    UTF-8 cannot spell.
    """
    return _ENCODER.encode(document).encode(errors="backslashreplace")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json] | Repeated:
    whole = dict(pairs)
    if len(whole) == len(pairs):
        return whole
    last = {key: place for place, (key, _) in enumerate(pairs)}
    return Repeated(next(key for place, (key, _) in enumerate(pairs) if last[key] != place))


def _integer(written: str) -> int | OddNumber:
    return int(written) if len(written.removeprefix("-")) <= MOST_DIGITS else OddNumber(written)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=OddNumber,
    parse_int=_integer,
    parse_constant=OddNumber,
)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
