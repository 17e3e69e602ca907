"""Questions to a JSON value that knows where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given

from mage.trajectories.fields import Json, Spot, canonical, field, items_at, number_at, text_at, whole_at
from mage.trajectories.trajectory import Line, Malformed
from tests.trajectories.samples import JSON

READERS: list[Callable[[Spot, str], object]] = [
    field,
    text_at,
    whole_at,
    number_at,
    lambda spot, name: items_at(spot, name, "a list"),
]


@given(JSON)
def test_canonical_json_says_the_same(value: Json) -> None:
    """Canonical JSON reads back equal and spells equal values alike."""
    assert json.loads(canonical(value)) == value
    assert canonical(value) == canonical(json.loads(canonical(value)))


def test_canonical_json_sorts_and_does_not_escape() -> None:
    """Keys are sorted, spaces left out, characters kept."""
    assert canonical({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'


@pytest.mark.parametrize("reader", READERS)
def test_missing_field_is_told_by_its_path(reader: Callable[[Spot, str], object]) -> None:
    """Whatever should stand in a field, a missing one is told by the path it should have."""
    assert reader(Spot({}, (3,)), "x") == Malformed((3, "x"), "expected this field, found none")


@pytest.mark.parametrize("reader", READERS)
def test_field_of_no_object_is_told(reader: Callable[[Spot, str], object]) -> None:
    """A field is asked of an object only."""
    assert reader(Spot([1, 2], (3,)), "x") == Malformed((3,), "expected an object with x, found a list of 2")


@given(JSON)
def test_readers_take_their_own_type_only(value: Json) -> None:
    """Each reader returns the value where it has the type asked for, and an error where it has not."""
    spot = Spot({"x": value})
    whole = isinstance(value, int) and not isinstance(value, bool)
    assert text_at(spot, "x") == value if isinstance(value, str) else _fails(text_at(spot, "x"))
    assert whole_at(spot, "x") == value if whole else _fails(whole_at(spot, "x"))
    assert (
        number_at(spot, "x") == value if whole or isinstance(value, float) else _fails(number_at(spot, "x"))
    )
    found = items_at(spot, "x", "a list")
    assert len(found) == len(value) if isinstance(value, list) and isinstance(found, list) else _fails(found)


def _fails(found: object) -> bool:
    return isinstance(found, Malformed) and found.path == ("x",)


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
    assert Spot(value).expected("more") == Malformed((), f"expected more, found {shown}")
