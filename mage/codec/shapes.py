"""Shapes: what a JSON value must look like, as data, and the one way to compare a value with a shape.

A format is a table of shapes. A value that fits its shape can be read without further questions; for one
that does not, the first problem and its path are found. Nothing here recurses deeper than the table does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, final

import attrs

from mage.codec.strict_json import MOST_DIGITS, Json, Problem, mismatch, short
from mage.engine.errors import UnknownName, require_id
from mage.engine.ids import StepId
from mage.engine.nodes import KINDS
from mage.engine.text import is_blank

FORMAT_VERSION: Final = 1
"""The version of both formats, journal and tree, that this mage writes, and the only one it reads."""


class Shape(Protocol):
    """What a JSON value must look like."""

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
    """A value without parts that matter: it fits or it does not."""

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
    """An object of one of several shapes, each with the key `tag`, which names the case."""

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
    """Return the shape of a string that is one of the `known`."""
    words = " or ".join(f'"{each}"' for each in known)
    return Leaf(words, lambda value: isinstance(value, str) and value in known)


def tagged(tag: str, **cases: Mapping[str, Shape]) -> Tagged:
    """Return the shape of an object whose `tag` names the case, given what else stands in each case."""
    return Tagged(tag, {case: Object({tag: name(case), **fields}) for case, fields in cases.items()})


def header(format_name: str) -> dict[str, Shape]:
    """Return the fields that begin a file of this format."""
    return {"format": name(format_name), "version": _VERSION}


def header_problem(document: Json, format_name: str) -> Problem | None:
    """Return why a document is not of this format and version, None if it is. What a later version added is not looked at."""
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
    """Raise `UnknownName` where a value would be written that no one reads back."""
    if shape.fits(value):
        return
    spelled = isinstance(value, str) or abs(value) < 10**MOST_DIGITS
    found = str(value) if spelled else f"an integer of more than {MOST_DIGITS} digits"
    raise UnknownName(what, short(found), (shape.words,))


def written_step(step: StepId | int) -> StepId:
    """Return the id of a step as it is written; raises as `encode_command` does."""
    found = require_id(step)
    require_fit("boundary", found, WHOLE)
    return found
