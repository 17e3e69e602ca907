"""The fallback Compress before a step that would not fit."""

from __future__ import annotations

from mage.engine import Accept, Active, Compress, compress, grow, start
from mage.trajectories.measure import fallback


def opened(count: int) -> Active:
    """Return a state with this many open steps."""
    state = start("task")
    for number in range(count):
        state = grow(state, f"a{number}", "o")
    return state


def test_what_fits_is_left_open() -> None:
    """Up to the budget, and not one token less, nothing is compressed."""
    assert fallback(opened(2), 70, 30, 100) == ()


def test_what_would_not_fit_is_compressed_and_accepted_before() -> None:
    """The open segment becomes a fallback summary, an extract that says so."""
    first, second = fallback(opened(2), 70, 31, 100)
    assert isinstance(first, Compress)
    assert first.kind == "fallback"
    assert "(no LLM)" in first.text
    assert second == Accept()


def test_a_step_larger_than_the_budget_is_not_compressed_before_it_is_shown() -> None:
    """With nothing open there is nothing to make room with: no loop, nothing cut."""
    assert fallback(start("task"), 0, 10_000, 100) == ()


def test_nothing_is_compressed_while_a_summary_is_pending() -> None:
    """A second compress waits for the verdict (D6)."""
    assert fallback(compress(opened(1), "text").unwrap(), 99, 99, 100) == ()
