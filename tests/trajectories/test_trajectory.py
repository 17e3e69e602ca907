"""The values that an import returns, and how a place is spelled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Grow, Start
from mage.trajectories.trajectory import Line, Malformed, Path, TraceError, Trajectory

PARTS = st.lists(st.text() | st.integers(0, 9), max_size=15)


@pytest.mark.parametrize(
    ("path", "record", "good"),
    [
        ((), "$", 0),
        ((3, "traj", 12), "[3].traj[12]", 3),
        (("history", 4, "role"), "history[4].role", 4),
        ((Line(5, 3),), "line 5", 3),
        ((Line(5, 3), "messages", 2, "role"), "line 5, messages[2].role", 3),
        (("a b", 'c"d', "é"), '["a b"]["c\\"d"]["\\u00e9"]', 0),
        (("x" * 50,), f'["{"x" * 40}"]', 0),
        (tuple(range(20)), "[0][1][2][3][4][5]...[17][18][19]", 0),
    ],
)
def test_place_is_spelled(path: Path, record: str, good: int) -> None:
    """A path is spelled as people write it, cut where it is long; good counts in its outermost list."""
    error = Malformed(path, "no").in_file("t.json")
    assert (error.record, error.good) == (record, good)


@given(st.text(), PARTS, st.text())
def test_error_is_one_line(file: str, parts: list[str | int], problem: str) -> None:
    """Whatever stands in a name, a path or a problem, the error is one printable line."""
    assert str(Malformed(tuple(parts), problem).in_file(file)).isprintable()


def test_error_says_all_it_knows() -> None:
    """File, record, problem and the number of good records stand in the line."""
    told = str(TraceError("a.json", "[3].role", "expected a string, found 7", 3))
    assert told == "a.json: [3].role: expected a string, found 7 (good records before it: 3)"


def test_repr_is_short() -> None:
    """A trajectory of many commands does not spell them all."""
    trajectory = Trajectory("7", (Start("t"), *[Grow("a", "o")] * 1_000), summarized=False)
    assert (
        repr(trajectory) == "Trajectory(name='7', commands=<1001 commands>, summarized=False, trials=False)"
    )
