"""The summarizer without a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Step, StepId
from mage.render.extract import extract

anything = st.text(st.characters(exclude_categories=()))


def steps(contents: list[tuple[str, str]]) -> list[Step]:
    """Return steps with these contents."""
    return [Step(StepId(place + 1), StepId(place), *content) for place, content in enumerate(contents)]


@given(st.lists(st.tuples(anything, anything), min_size=1))
def test_an_extract_says_what_it_is_and_is_short(contents: list[tuple[str, str]]) -> None:
    """It names itself, is never blank, and holds nothing but lines of its steps."""
    title, *lines = extract(steps(contents)).split("\n")
    assert title == f"Extract of {len(contents)} step{'s' * (len(contents) > 1)} (no LLM):"
    assert len(lines) <= 3
    assert sum(len(line) - 2 for line in lines) * 8 <= sum(
        len(text) for content in contents for text in content
    )
    assert all(any(line[2:] in text for content in contents for text in content) for line in lines)


def test_the_most_telling_line_is_kept() -> None:
    """A line whose words run through the whole segment says what it is about."""
    noise = [(f"scroll {place}", "x " * 40) for place in range(6)]
    about = ("search for oak desk", "found: oak desk, solid oak, 120 cm")
    assert "oak desk" in extract(steps([about, *noise, ("open the oak desk", "oak desk, in stock")]))


def test_the_same_steps_give_the_same_extract() -> None:
    """Nothing but the contents decides."""
    contents = [(f"a{place % 3}", f"b{place % 2} and more") for place in range(20)]
    assert extract(steps(contents)) == extract(steps(list(contents)))
