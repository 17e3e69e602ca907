"""Questions to a JSON value that knows where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given

from mage.chat import canonical
from mage.trajectories.trajectory import Json, Line, Malformed, Path, Spot
from tests.trajectories.samples import JSON

READERS: list[Callable[[Spot], object]] = [
    Spot.text,
    Spot.whole,
    Spot.number,
    lambda spot: spot.items("a list"),
]


def _told(read: Callable[[], object]) -> tuple[Path, str]:
    """Return what is said of a value that is not as expected."""
    with pytest.raises(Malformed) as told:
        read()
    return told.value.path, told.value.problem


@given(JSON)
def test_canonical_json_says_the_same(value: Json) -> None:
    """Canonical JSON reads back equal and spells equal values alike."""
    assert json.loads(canonical(value)) == value
    assert canonical(value) == canonical(json.loads(canonical(value)))


def test_canonical_json_sorts_and_does_not_escape() -> None:
    """Keys are sorted, spaces left out, characters kept."""
    assert canonical({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'


def test_missing_field_is_told_by_its_path() -> None:
    """A field that is missing is told by the path that it should have."""
    assert _told(lambda: Spot({}, (3,)).field("x")) == ((3, "x"), "expected this field, found none")


def test_field_of_no_object_is_told() -> None:
    """A field is asked of an object only."""
    assert _told(lambda: Spot([1, 2], (3,)).field("x")) == (
        (3,),
        "expected an object with x, found a list of 2",
    )


@given(JSON)
def test_readers_take_their_own_type_only(value: Json) -> None:
    """Each reader returns the value where it has the type asked for, and an error at its place where it has not."""
    spot = Spot({"x": value}).field("x")
    whole = isinstance(value, int) and not isinstance(value, bool)
    fits = [isinstance(value, str), whole, whole or isinstance(value, float), isinstance(value, list)]
    for reader, fitting in zip(READERS, fits, strict=True):
        if fitting:
            found = reader(spot)
            assert (
                len(found) == len(value)
                if isinstance(found, list) and isinstance(value, list)
                else found == value
            )
        else:
            assert _told(partial(reader, spot))[0] == ("x",)


def test_items_know_their_place() -> None:
    """What a list holds is told by index; in JSON Lines by line, blank lines counted."""
    assert Spot([5], ("a",)).items("a list") == [Spot(5, ("a", 0))]
    assert Spot([5, 6], (), (1, 4)).items("a list") == [Spot(5, (Line(1, 0),)), Spot(6, (Line(4, 1),))]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (-7, "-7"),
        ([], "an empty list"),
        ([1, 2], "a list of 2"),
        ({}, "an empty object"),
        ({"a": 1, "b": 2}, 'an object with "a", "b"'),
        (dict.fromkeys("abcd", 1), 'an object with "a", "b", "c", ...'),
        ("a\nb", '"a\\nb"'),
        ("x" * 41, '"' + "x" * 40 + '"...'),
        (10**60, "1" + "0" * 39 + "..."),
    ],
)
def test_found_value_is_shown_short(value: Json, shown: str) -> None:
    """An error shows what it found, shortened and on one line."""
    assert Spot(value).expected("more").problem == f"expected more, found {shown}"
