"""What is wrong, in words: one line, short, with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.codec import DecodeError
from mage.codec.strict_json import Json, OddNumber, Problem, Repeated, mismatch, short
from tests.codec.strategies import texts


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DecodeError("$.phase", "missing"), "$.phase: missing"),
        (DecodeError("$", "cut", 1), "line 1: $: cut"),
        (DecodeError("$", "cut", 3, 1), "line 3: $: cut; the 1 command before it is sound"),
        (DecodeError("$.op", "cut", 42, 40), "line 42: $.op: cut; the 40 commands before it are sound"),
    ],
)
def test_an_error_says_the_line_the_path_the_problem_and_what_is_sound(error: DecodeError, said: str) -> None:
    """The four parts stand in this order, and those that do not apply are left out."""
    assert said == str(error)


def test_a_path_grows_from_the_inside_out() -> None:
    """Each level puts its own step before the path; the error begins it with `$`."""
    problem = Problem("", "too wide").below(".parent").below("[41]").below(".steps")
    assert problem.as_error() == DecodeError("$.steps[41].parent", "too wide")
    assert problem.as_error(3, 1) == DecodeError("$.steps[41].parent", "too wide", 3, 1)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"a": None}, "an object"),
        ([1], "an array"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (-3, "-3"),
        ("", '""'),
        ("3", '"3"'),
        ('say "desk"\n', '"say \\"desk\\"\\n"'),
        ("书桌", '"书桌"'),
        ("\u2028", '"\\u2028"'),
        ("\ud800", '"\\ud800"'),
        (OddNumber("1.50"), "1.50"),
        (OddNumber("-Infinity"), "-Infinity"),
        (OddNumber("-" + "7" * 16), "an integer of 16 digits, more than the 15 that are read"),
        (OddNumber("0." + "3" * 100), f"0.{'3' * 58}... (102 characters)"),
        ("x" * 60, f'"{"x" * 60}"'),
        ("x" * 61, f'"{"x" * 60}"... (61 characters)'),
    ],
)
def test_what_was_found_is_named_as_json_spells_it(found: Json, words: str) -> None:
    """Containers are named, scalars are spelled, long ones are cut."""
    assert mismatch("a desk", found) == Problem("", f"expected a desk, found {words}")


def test_a_repeated_key_is_the_problem_whatever_was_expected() -> None:
    """It is not said that an object was found where one was expected."""
    assert mismatch("an object", Repeated("task")) == Problem("", 'the key "task" stands twice')


@given(texts | st.text(min_size=61, max_size=200))
def test_any_string_makes_one_short_line(text: str) -> None:
    """Whatever a file holds, the error about it can be printed on one line, and is no echo of it."""
    said = mismatch("an integer", text).text
    assert said.isprintable()
    assert len(said) < 60 * 12 + 60


def test_short_keeps_what_fits() -> None:
    """Nothing is cut at the limit itself."""
    assert short("x" * 60) == "x" * 60
    assert short("x" * 61) == "x" * 60 + "... (61 characters)"
    assert short("abcd", limit=3) == "abc... (4 characters)"
