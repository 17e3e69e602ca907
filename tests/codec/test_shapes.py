"""Shapes: which JSON values fit, and where the first problem is found in those that do not."""

from __future__ import annotations

import pytest

from mage.codec.strict_json import (
    DIGEST,
    FLAG,
    TEXT,
    WHOLE,
    WORDS,
    Array,
    Json,
    Nullable,
    Object,
    OddNumber,
    Problem,
    Repeated,
    Shape,
    header_problem,
    name,
    tagged,
)

_SCALARS: tuple[Json, ...] = ("", "desk", "a" * 64, 0, 7, -1, True, False, None, OddNumber("1.0"))
_CONTAINERS: tuple[Json, ...] = ([], ["desk"], {}, {"desk": 1}, Repeated("desk"))
_DESK = Object({"wide": WHOLE, "name": TEXT})
_ROOM = tagged("type", study={"desks": Array(_DESK)}, hall={})


@pytest.mark.parametrize(
    ("shape", "fitting"),
    [
        (TEXT, ["", "desk", "a" * 64]),
        (WORDS, ["desk", "a" * 64]),
        (WHOLE, [0, 7]),
        (FLAG, [True, False]),
        (DIGEST, ["a" * 64]),
        (name("desk", "chair"), ["desk"]),
        (Nullable(WHOLE), [0, 7, None]),
        (Array(TEXT), [[], ["desk"]]),
        (Array(TEXT, filled=True), [["desk"]]),
        (Object({}), [{}]),
        (Object({"desk": WHOLE}), [{"desk": 1}]),
        (_ROOM, []),
    ],
)
def test_a_shape_takes_what_fits_and_nothing_else(shape: Shape, fitting: list[Json]) -> None:
    """A boolean is no integer, an integer no boolean, an odd number and a repeated key are nothing."""
    for value in (*_SCALARS, *_CONTAINERS):
        fits = any(type(value) is type(each) and value == each for each in fitting)
        assert (shape.problem(value) is None) == fits, value


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ({"type": "study", "desks": [{"wide": 140, "name": "oak"}, {"wide": 120}]},
         ".desks[1].name", "missing, expected a string"),
        ({"type": "study", "desks": [{"wide": 140, "name": "oak", "high": 70, "old": True}]},
         ".desks[0]", 'expected no key but wide, name, found "high"'),
        ({"type": "study", "desks": [{"wide": None, "name": None}]},
         ".desks[0].wide", "expected an integer from 0 on, found null"),
        ({"type": "study"}, ".desks", "missing, expected an array"),
        ({"type": "hall", "desks": []}, "", 'expected no key but type, found "desks"'),
        ({"type": "attic"}, ".type", 'expected "study" or "hall", found "attic"'),
        ({"type": ["hall"]}, ".type", 'expected "study" or "hall", found an array'),
        ({}, ".type", 'missing, expected "study" or "hall"'),
        (Repeated("type"), "", 'the key "type" stands twice'),
        ("hall", "", 'expected an object, found "hall"'),
    ],
)  # fmt: skip
def test_the_first_problem_has_its_path(value: Json, path: str, text: str) -> None:
    """Keys and indexes lead to the value that does not fit; unknown keys are named before missing ones."""
    assert _ROOM.problem(value) == Problem(path, text)


def test_keys_may_stand_in_any_order() -> None:
    """JSON objects have no order."""
    assert _ROOM.problem({"desks": [{"name": "oak", "wide": 140}], "type": "study"}) is None


@pytest.mark.parametrize(
    ("shape", "value", "text"),
    [
        (Nullable(FLAG), 1, "expected true or false or null, found 1"),
        (Nullable(_DESK), 1, "expected an object or null, found 1"),
        (Nullable(_DESK), {}, "missing, expected an integer from 0 on"),
        (Array(FLAG, filled=True), [], "expected an array that is not empty"),
        (Array(FLAG, filled=True), None, "expected an array that is not empty, found null"),
    ],
)
def test_what_was_expected_is_said_in_full(shape: Shape, value: Json, text: str) -> None:
    """Null is offered where it would do, but a problem inside an object is told as that."""
    problem = shape.problem(value)
    assert problem is not None
    assert problem.text == text


@pytest.mark.parametrize("digest", ["a" * 63, "a" * 65, "A" * 64, "g" * 64, " " + "a" * 63, "é" * 64])
def test_a_digest_is_64_lower_case_hexadecimal_digits(digest: str) -> None:
    """Any other string is refused."""
    assert DIGEST.problem(digest) is not None


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"format": "desks", "version": 1}, None),
        ({"format": "desks", "version": 1, "more": 0}, None),
        ({"format": "desks", "version": 2, "more": 0},
         Problem(".version", "expected 1, the version that this mage reads, found 2")),
        ({"format": "desks", "version": True},
         Problem(".version", "expected 1, the version that this mage reads, found true")),
        ({"format": "desks"}, Problem(".version", "missing, expected 1, the version that this mage reads")),
        ({"version": 2}, Problem(".format", 'missing, expected "desks"')),
        ({"format": "chairs", "version": 2}, Problem(".format", 'expected "desks", found "chairs"')),
        (None, Problem("", "expected an object, found null")),
        (Repeated("format"), Problem("", 'the key "format" stands twice')),
    ],
)  # fmt: skip
def test_a_header_is_asked_for_its_format_first_then_for_its_version(
    document: Json, problem: Problem | None
) -> None:
    """What a later version added does not hide that it is a later version."""
    assert header_problem(document, "desks") == problem
