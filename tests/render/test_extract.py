"""The summarizer without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Step, StepId
from mage.render.extract import extract, is_extract
from mage.tokens import EstimateCounter

anything = st.text(st.characters(exclude_categories=()))
WORDS = st.sampled_from(
    [
        '"id": "',
        "ORD-17",
        "A-",
        "9",
        "12",
        "400",
        "price ",
        ", ",
        "\n",
        "day",
        "SEA",
        " ",
        '": "',
        '"state": "open"',
    ]
)
records = st.lists(WORDS, max_size=60).map("".join)
runs = st.lists(st.tuples(anything | records, anything | records), min_size=1, max_size=8)


def steps(contents: list[tuple[str, str]]) -> list[Step]:
    """Return steps with these contents."""
    return [Step(StepId(place + 1), StepId(place), *content) for place, content in enumerate(contents)]


def parts(text: str) -> tuple[str, list[str], str]:
    """Return title, lines and values of an extract."""
    title, *lines = text.split("\n")
    values = lines.pop() if lines and lines[-1].startswith("Values: ") else ""
    return title, lines, values


def labelled(values: str) -> list[tuple[str, str]]:
    """Return the values that an extract lists, in order, each with its label."""
    groups = [group.partition(": ") for group in values.removeprefix("Values: ").split("; ")]
    return [(label, value) for label, _, group in groups for value in group.split()]


def listed(values: str) -> list[str]:
    """Return the values that an extract lists, in order."""
    return [value for _, value in labelled(values)]


@given(runs)
def test_an_extract_says_what_it_is_and_is_short(contents: list[tuple[str, str]]) -> None:
    """It names itself, is never blank, and holds nothing but lines and values of its steps, within its parts."""
    title, lines, values = parts(extract(steps(contents)))
    texts = [text for content in contents for text in content]
    size = sum(map(len, texts))
    assert title == f"Extract of {len(contents)} step{'s' * (len(contents) > 1)} (no LLM):"
    assert is_extract(title)
    assert len(lines) <= 3
    assert sum(len(line) - 2 for line in lines) * 16 <= size
    assert len(values) * 4 <= size
    assert all(any(line[2:] in text for text in texts) for line in lines)
    assert all(any(value in text for text in texts) for value in listed(values))


@given(runs)
def test_no_value_is_listed_twice(contents: list[tuple[str, str]]) -> None:
    """Each stands there once, however often it stood in the steps; a word once behind each of its keys."""
    values = labelled(parts(extract(steps(contents)))[2])
    assert len(values) == len(set(values))
    literal = [value for _, value in values if not value.isalpha()]
    assert len(literal) == len(set(literal))


@given(runs, st.integers(0, 60))
def test_an_extract_stays_within_its_limit(contents: list[tuple[str, str]], limit: int) -> None:
    """Only its first line, which says what it is, may pass a limit."""
    text = extract(steps(contents), limit)
    title = text.split("\n", 1)[0]
    assert EstimateCounter().count(text) <= max(limit, EstimateCounter().count(title))


def test_the_most_telling_line_is_kept() -> None:
    """A line whose words run through the whole segment says what it is about."""
    noise = [(f"scroll {place}", "x " * 40) for place in range(6)]
    about = ("search for oak desk", "found: oak desk, solid oak, 120 cm")
    assert "oak desk" in extract(steps([about, *noise, ("open the oak desk", "oak desk, in stock")]))


def test_values_stand_below_the_word_beside_them() -> None:
    """A reader can tell a flight from a seat: names before plain numbers, of either the newest first."""
    seen = [
        '{"flight": "HAT001", "price": 151, "seat": "A-1"} and so on, as it is told to everybody who asks for it',
        '{"flight": "HAT002", "price": 151, "seat": "B-2"} and so on, as it is told to everybody who asks for it',
    ]
    *_, values = extract(steps([("look", text) for text in seen])).split("\n")
    assert values == "Values: flight: HAT002 HAT001; seat: B-2 A-1"
    more = extract(steps([("look", text * 3) for text in seen]))
    assert more.endswith("Values: flight: HAT002 HAT001; seat: B-2 A-1; price: 151")


def test_words_behind_keys_stand_last() -> None:
    """A status or a class tells something, and can more often be thought up again than an id."""
    seen = '{"status": "delivered", "class": "economy", "order": "ORD-17", "cost": 4711, "note": "two words"}'
    *_, values = extract(steps([("look", f"{seen} {seen} {seen} {seen}")])).split("\n")
    assert values == "Values: order: ORD-17; cost: 4711; status: delivered; class: economy"


@pytest.mark.parametrize("length", [5, 40])
def test_where_not_all_fit_the_newest_names_are_kept(length: int) -> None:
    """The oldest are left out first, and plain numbers before any name."""
    contents = [("next", f"item IT-{100 + place} for {2000 + place}") for place in range(length)]
    values = listed(extract(steps(contents)).split("\n")[-1])
    names = [value for value in values if value.startswith("IT-")]
    assert values == names
    assert names == [f"IT-{100 + place}" for place in reversed(range(length))][: len(names)]
    assert 0 < len(names) < length


@given(runs)
def test_the_same_steps_give_the_same_extract(contents: list[tuple[str, str]]) -> None:
    """Nothing but the contents decides."""
    assert extract(steps(contents)) == extract(steps(list(contents)))
