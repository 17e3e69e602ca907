"""Where a lead is gone: between measured rates, and over draws of tasks."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arena.domains.breakeven import Lead, break_even, break_even_table, crossing, leads
from benchmarks.arena.domains.sweeps import Conditions, sweep

RATES = (0.0, 0.1, 0.4)
DIFFERENCES = st.lists(st.floats(-1, 1), min_size=3, max_size=3)


@given(DIFFERENCES)
def test_it_is_a_measured_rate_or_one_between_or_beyond(differences: list[float]) -> None:
    """It is never extrapolated: within the rates, or infinite where the lead is there at all of them."""
    at = crossing(RATES, differences)
    assert (at == inf) == all(each > 0 for each in differences)
    assert at == inf or RATES[0] <= at <= RATES[-1]


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_it_lies_on_a_straight_line_between_two_rates(above: float, below: float) -> None:
    """Where a line through two differences is 0, the lead is gone."""
    at = crossing((0.0, 0.2), (above, -below))
    assert above + (-below - above) * at / 0.2 == pytest.approx(0, abs=1e-9)


def test_no_lead_is_gone_at_once() -> None:
    """Where there is none at the lowest rate, that rate is the answer."""
    assert crossing(RATES, (0.0, 1.0, 1.0)) == 0.0


def lead() -> Lead:
    """Return a question over two rates."""
    leader, other = Conditions("mage"), Conditions("full-history")
    return Lead("loss", "MAGE", "full", ((0.0, leader, other), (0.4, Conditions("mage", loss=0.4), other)))


def test_tasks_that_agree_have_one_answer() -> None:
    """Where all tasks are alike the interval is a point; where they are not, it spans what draws of tasks give."""
    leader, other, lossy = Conditions("mage"), Conditions("full-history"), Conditions("mage", loss=0.4)
    alike = {leader: [1.0] * 4, other: [0.5] * 4, lossy: [0.0] * 4}
    found = break_even(lead(), alike)
    assert found is not None
    assert found.at == pytest.approx(0.2)
    assert (found.low, found.high) == (found.at, found.at)
    apart = {leader: [1.0] * 4, other: [0.0, 0.0, 1.0, 1.0], lossy: [0.0, 0.0, 0.0, 1.0]}
    found = break_even(lead(), apart)
    assert found is not None
    assert found.low < found.at < found.high
    assert f"{found.at:.2f}" in break_even_table([found])


def test_what_was_not_run_is_not_answered() -> None:
    """A question of which a series is missing has no answer, and a rate beyond all is None in JSON."""
    assert break_even(lead(), {}) is None
    leader, other, lossy = Conditions("mage"), Conditions("full-history"), Conditions("mage", loss=0.4)
    found = break_even(lead(), {leader: [1.0], other: [0.0], lossy: [1.0]})
    assert found is not None
    assert found.document()["at"] is None
    assert "more than 0.4" in break_even_table([found])


def test_every_question_is_answered_by_the_sweep() -> None:
    """Each series that a question needs is among those that are run."""
    run = set(sweep(1))
    for each in leads(1, "full"):
        rates = [rate for rate, _, _ in each.points]
        assert rates == sorted(set(rates))
        assert {conditions for _, *both in each.points for conditions in both} <= run
