"""JSON as mage's formats have it: read strictly, compared with shapes, written in one spelling; and a call as an action.

The text is UTF-8 without repeated keys, and its numbers are integers. What the standard library lets pass (NaN, a repeated
key) is read as an `OddNumber` or a `Repeated`, so that the shape that meets such a value can say where the value stands.
A format is a table of shapes. A value that fits its shape can be read without further checks; of another value the first
`Problem` is found: one line that says where something is wrong, what was found and what was expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast, final

import attrs

from mage.engine.errors import UnknownName, require_id
from mage.engine.ids import StepId
from mage.engine.nodes import KINDS
from mage.engine.text import is_blank

_LIMIT: Final = 60
"""Characters of a file's text that an error repeats: enough to recognize the text, however long it is."""

MOST_DIGITS: Final = 15
"""Digits of the longest integer: every JSON reader reads it exactly, also one that has doubles only."""


@final
@attrs.frozen
class DecodeError:
    """Why a file, a line or a record is refused.

    Attributes:
        path: the place inside the JSON, such as `$.steps[41].parent`; `$` is the whole.
        problem: what was found and what was expected, in one line.
        line: the line of a journal, from 1 (the header); None for a file of one object.
        good: the number of sound commands before that line.
    """

    path: str
    problem: str
    line: int | None = None
    good: int = 0

    def __str__(self) -> str:
        place = self.path if self.line is None else f"line {self.line}: {self.path}"
        if not self.good:
            return f"{place}: {self.problem}"
        which = "1 command before it is" if self.good == 1 else f"{self.good} commands before it are"
        return f"{place}: {self.problem}; the {which} sound"


@final
@attrs.frozen
class OddNumber:
    """A number, as it was written, that no field takes: a fraction, NaN, an infinity, one with too many digits."""

    written: str


@final
@attrs.frozen
class Repeated:
    """An object in which `key` stands twice, so that it is not known which value counts."""

    key: str


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | OddNumber | Repeated | None"
"""A JSON text as it was read; `True` and `False` are integers, as in Python."""


@final
@attrs.frozen
class Problem:
    """The fault of a value, and the path downwards to its place, such as `.steps[41].parent`; "" for the value itself."""

    path: str
    text: str

    def below(self, step: str) -> Problem:
        """Return the same problem with its path from one level up; `step` is `.key` or `[index]`."""
        return Problem(step + self.path, self.text)

    def as_error(self, line: int | None = None, good: int = 0) -> DecodeError:
        """Return the error of a file; of a journal also the line, and the number of sound commands before that line."""
        return DecodeError("$" + self.path, self.text, line, good)


def mismatch(expected: str, found: Json) -> Problem:
    """Return the problem of a value that does not fit what was expected."""
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
        digits = found.written.removeprefix("-")
        if digits.isdecimal():
            return f"an integer of {len(digits)} digits, more than the {MOST_DIGITS} that are read"
        return short(found.written)
    return json.dumps(found)


def short(text: str, limit: int = _LIMIT) -> str:
    """Return `text`; of a longer one the first `limit` characters and the number of all characters."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def _quoted(text: str) -> str:
    """Return `text` in quotes on one line, with escapes for characters that a terminal cannot show."""
    start = text[:_LIMIT]
    spelled = json.dumps(start, ensure_ascii=not start.isprintable())
    return spelled if len(text) <= _LIMIT else f"{spelled}... ({len(text)} characters)"


# -- reading and writing ---------------------------------------------------------------------------------

_BOM: Final = b"\xef\xbb\xbf"
_DEEPEST: Final = 1000
"""Levels of nesting that the parser, which recurses, is given: mage writes five, and the stack holds far more."""
_STRING_OR_BRACKET: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|(?P<opens>[\[{])|(?P<closes>[\]}])', re.DOTALL
)
_TOO_DEEP: Final = Problem("", "arrays or objects are nested deeper than any that mage writes")


def read_json(data: bytes) -> Json | Problem:
    """Return the value in `data`, or why there is none. Takes any bytes. Cost: O(length)."""
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
    except RecursionError:  # the host's recursion limit, or the depth of the caller, allows less
        return _TOO_DEEP


def _is_too_deep(data: bytes) -> bool:
    """Tell whether the parser would recurse deeper than any stack allows. Cost: O(length), in constant memory."""
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

    Escapes stand only where they must: for quotes, backslashes, controls below U+0020, and lone surrogates, which UTF-8
    cannot spell.
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


# -- one spelling of JSON, and of a call as an action -------------------------------------------------------


if TYPE_CHECKING:
    from mage.effects import JsonValue


def canonical(value: object) -> str:
    """Return JSON with sorted keys, without spaces and without escapes that JSON does not need. Cost: O(size).

    Raises:
        ValueError: a number is not finite.
        TypeError: a value is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def action_text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return a call as the text of an action; equal arguments give equal texts. Cost: O(size)."""
    return f"{name} {canonical(arguments)}"


# -- shapes: they recurse no deeper than their table ---------------------------------------------------------

FORMAT_VERSION: Final = 1
"""The version of both formats, journal and tree, that this mage writes, and the only one it reads."""


class Shape(Protocol):
    """The form that a JSON value must have."""

    @property
    def words(self) -> str:
        """The shape in words, to follow "expected"."""
        ...

    def problem(self, value: Json) -> Problem | None:
        """Return the first problem of `value`, None if it fits. Cost: O(size of `value`)."""
        ...


@final
@attrs.frozen
class Leaf:
    """A value whose parts have no shape of their own: it fits, or it does not."""

    words: str
    fits: Callable[[Json], bool]

    def problem(self, value: Json) -> Problem | None:
        """Return the problem of `value`, None if it fits."""
        return None if self.fits(value) else mismatch(self.words, value)


@final
@attrs.frozen
class Nullable:
    """A shape, or null."""

    shape: Shape

    @property
    def words(self) -> str:
        """The shape in words."""
        return f"{self.shape.words} or null"

    def problem(self, value: Json) -> Problem | None:
        """Return the first problem of `value`, None if it fits."""
        if value is None:
            return None
        found = self.shape.problem(value)
        if found is None or isinstance(value, dict | list):
            return found
        return mismatch(self.words, value)


@final
@attrs.frozen
class Array:
    """An array whose elements have one shape; where `filled`, there is at least one."""

    element: Shape
    filled: bool = False

    @property
    def words(self) -> str:
        """The shape in words."""
        return "an array that is not empty" if self.filled else "an array"

    def problem(self, value: Json) -> Problem | None:
        """Return the first problem of `value`, None if it fits."""
        if not isinstance(value, list):
            return mismatch(self.words, value)
        if self.filled and not value:
            return Problem("", f"expected {self.words}")
        for index, element in enumerate(value):
            found = self.element.problem(element)
            if found is not None:
                return found.below(f"[{index}]")
        return None


@final
@attrs.frozen
class Object:
    """An object with exactly these keys, in any order."""

    fields: Mapping[str, Shape]
    words: str = "an object"

    def problem(self, value: Json) -> Problem | None:
        """Return the first problem of `value`, None if it fits."""
        if not isinstance(value, dict):
            return mismatch(self.words, value)
        if value.keys() != self.fields.keys():
            return self._wrong_keys(value)
        for key, shape in self.fields.items():
            found = shape.problem(value[key])
            if found is not None:
                return found.below(f".{key}")
        return None

    def _wrong_keys(self, value: Mapping[str, Json]) -> Problem:
        for key in value:
            if key not in self.fields:
                return mismatch(f"no key but {', '.join(self.fields)}", key)
        absent = next(key for key in self.fields if key not in value)
        return _missing(absent, self.fields[absent])


@final
@attrs.frozen
class Tagged:
    """An object of one of several shapes; its key `tag` names which."""

    tag: str
    cases: Mapping[str, Object]
    words: str = "an object"

    def problem(self, value: Json) -> Problem | None:
        """Return the first problem of `value`, None if it fits."""
        if not isinstance(value, dict):
            return mismatch(self.words, value)
        names = name(*self.cases)
        if self.tag not in value:
            return _missing(self.tag, names)
        case = value[self.tag]
        if isinstance(case, str) and case in self.cases:
            return self.cases[case].problem(value)
        return mismatch(names.words, case).below(f".{self.tag}")


def name(*known: str) -> Leaf:
    """Return the shape of a string that is one of `known`."""
    words = " or ".join(f'"{each}"' for each in known)
    return Leaf(words, lambda value: isinstance(value, str) and value in known)


def tagged(tag: str, **cases: Mapping[str, Shape]) -> Tagged:
    """Return the shape of an object whose `tag` names the case, from the other fields of each case."""
    return Tagged(tag, {case: Object({tag: name(case), **fields}) for case, fields in cases.items()})


def header(format_name: str) -> dict[str, Shape]:
    """Return the first fields of a file of this format."""
    return {"format": name(format_name), "version": _VERSION}


def header_problem(document: Json, format_name: str) -> Problem | None:
    """Return why a document is not of this format and version, None if it is. Does not check the other fields."""
    if not isinstance(document, dict):
        return mismatch("an object", document)
    for key, shape in header(format_name).items():
        if key not in document:
            return _missing(key, shape)
        found = shape.problem(document[key])
        if found is not None:
            return found.below(f".{key}")
    return None


def _missing(key: str, shape: Shape) -> Problem:
    return Problem(f".{key}", f"missing, expected {shape.words}")


TEXT: Final = Leaf("a string", lambda value: isinstance(value, str))
WORDS: Final = Leaf(
    "a string that is not blank", lambda value: isinstance(value, str) and not is_blank(value)
)
FLAG: Final = Leaf("true or false", lambda value: isinstance(value, bool))
WHOLE: Final = Leaf("an integer from 0 on", lambda value: type(value) is int and 0 <= value < 10**MOST_DIGITS)
DIGEST: Final = Leaf(
    "64 hexadecimal digits in lower case",
    lambda value: isinstance(value, str) and len(value) == 64 and not value.strip("0123456789abcdef"),
)
KIND: Final = name(*KINDS)
_VERSION: Final = Leaf(
    f"{FORMAT_VERSION}, the version that this mage reads",
    lambda value: type(value) is int and value == FORMAT_VERSION,
)


def require_fit(what: str, value: str | int, shape: Leaf) -> None:
    """Raise `UnknownName` for a value that could be written and not read back."""
    if shape.fits(value):
        return
    spelled = isinstance(value, str) or abs(value) < 10**MOST_DIGITS
    found = str(value) if spelled else f"an integer of more than {MOST_DIGITS} digits"
    raise UnknownName(what, short(found), (shape.words,))


def written_step(step: StepId | int) -> StepId:
    """Return the id of a step as journals have it; raises as `encode_command` does."""
    found = require_id(step)
    require_fit("boundary", found, WHOLE)
    return found
