"""Numbers and ids of a summary that stand nowhere."""

from __future__ import annotations

from decimal import Decimal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import judge_messages, unfounded
from tests.llm.requests import JUDGE


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Bought Carrot Cake Mix, $14.99.", ()),
        ("Bought 1 mix for 14.99 USD", ()),
        ("Bought it for $15.99; order A-17", ("15.99", "a-17")),
        ("Three of them, in 2 shops", ()),
        ("at 12:45, id x9-1, 12 of them", ("12:45", "x9-1")),
    ],
)
def test_what_stands_nowhere_is_named(text: str, missing: tuple[str, ...]) -> None:
    """A value with a digit that is in no step, task, part or hint; of one or two characters it is a count of the text's own."""
    assert unfounded(attrs.evolve(JUDGE, text=text)) == missing


@given(st.text(max_size=60))
def test_what_stands_in_the_steps_is_never_named(text: str) -> None:
    """Whatever a step says may be said by its summary."""
    step = attrs.evolve(JUDGE.steps[0], observation=f"so {text} it is")
    assert unfounded(attrs.evolve(JUDGE, text=text, steps=(step,))) == ()


@given(st.decimals(100, 999, places=2), st.decimals(1, 99, places=2), st.booleans())
def test_what_is_left_of_a_budget_is_not_named(budget: Decimal, price: Decimal, says_more: bool) -> None:
    """A number from before, less or plus one of the steps, was reckoned; so it is not pointed out, and others are."""
    step = attrs.evolve(JUDGE.steps[0], observation=f"Paid: ${price}.")
    left = budget + price if says_more else budget - price
    asked = attrs.evolve(
        JUDGE, task=f"Spend ${budget}.", steps=(step,), text=f"${left} is left, and $4,321.98."
    )
    assert unfounded(asked) == ("4321.98",)


def test_of_many_numbers_none_is_reckoned() -> None:
    """Some two of them make any number; so a made-up one is pointed out, and thousands take no pair of thousands each."""
    many = " ".join(f"{number}.37" for number in range(100, 9_000))
    step = attrs.evolve(JUDGE.steps[0], observation=f"Prices: {many}")
    said = " ".join(f"{number}.11" for number in range(10_000, 20_000))
    asked = attrs.evolve(JUDGE, task=f"Spend {many}.", steps=(step,), text=f"1,737.00 are left, then {said}.")
    assert unfounded(asked)[:2] == ("1737.00", "10000.11")


def test_what_the_manual_says_is_not_named() -> None:
    """The judge reads it too."""
    asked = attrs.evolve(
        JUDGE, manual="A basket holds 4321.98 at most.", text="It held 4321.98, and 4321.97."
    )
    assert unfounded(attrs.evolve(asked, manual="")) == ("4321.98", "4321.97")
    assert unfounded(asked) == ("4321.97",)


def test_the_judge_is_told() -> None:
    """Behind the summary, and only where there are any."""
    assert "Found in none of the above: 15.99\n" in _asked("Bought it for $15.99.")
    assert "none of the above:" not in _asked("Bought it for $14.99.").split("Summary to judge")[1]


def _asked(text: str) -> str:
    _, asked = judge_messages(attrs.evolve(JUDGE, text=text))
    return str(getattr(asked, "text", ""))
