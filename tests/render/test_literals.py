"""The literal values of a text, and what stands beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.render.extract import keyed_words, literals


@given(st.text(st.characters(exclude_categories=())))
def test_a_value_stands_in_the_text_as_it_is(text: str) -> None:
    """Values and labels are copied, never made; a value is one word of 3 to 100 characters."""
    for value, label in (*literals(text), *keyed_words(text)):
        assert value in text
        assert label in text
        assert 3 <= len(value) <= 100
        assert value.split() == [value]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Order ORD-7512 of cust_004 is late.", ["ORD-7512", "cust_004"]),
        ("write to mia.li@example.com.", ["mia.li@example.com"]),
        ("from SEA to New York (JFK), not Us", ["SEA", "JFK"]),
        ("in 2 days, at 10:30 on 2024-05-20", ["10:30", "2024-05-20"]),
        ("1,299.00 in all; 12 left", ["1,299.00"]),
        ("[120,300,4500]", ["120", "300", "4500"]),
        ("tests/missing_colon.py:17", []),
        ("tests/test_7.py:170", ["tests/test_7.py", "170"]),
        ('"said \\u201cSQ-1\\u201d\\nSQ-2"', ["SQ-1", "SQ-2"]),
        ("a" * 101 + "1", []),
        ("nothing to copy here", []),
    ],
)
def test_what_can_only_be_copied_is_a_value(text: str, values: list[str]) -> None:
    """Ids, numbers of three characters, addresses, codes, dates and times are; words and counts are not."""
    assert [value for value, _ in literals(text)] == values


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('{"flight_number": "HAT069", "price": 151}', ["flight_number", "price"]),
        ("flight HAT069 for 151", ["flight", ""]),
        ("Seattle (SEA)", ["Seattle"]),
        ('"dates": ["2024-05-20", "2024-05-21"], "end": null', ["dates", "dates"]),
        ("HAT069 is full, HAT070 is not", ["", ""]),
        ("id=A17", ["id"]),
    ],
)
def test_a_value_has_the_label_it_stands_beside(text: str, labels: list[str]) -> None:
    """A key before it, or a word that is long enough to say something; in a list that of the first."""
    assert [label for _, label in literals(text)] == labels


def test_a_word_behind_a_key_is_no_literal_but_is_told() -> None:
    """A reader can use it; a text of several words, or a single word elsewhere, is neither."""
    text = '{"status": "in_transit", "by": "AB", "note": "on time", "list": ["late"], "id": "A-1"} lost'
    assert list(keyed_words(text)) == [("in_transit", "status"), ("A-1", "id")]
    assert [value for value, _ in literals(text)] == ["A-1"]
