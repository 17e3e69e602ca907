"""Curves of recall: the published numbers, and what lies between them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arena.domains.recall import CURVES

LENGTHS = st.integers(0, 200_000)
NAMES = st.sampled_from(sorted(CURVES))


@given(NAMES, st.lists(LENGTHS, min_size=2, max_size=6), st.floats(0, 1))
def test_a_longer_prompt_is_never_noticed_more_of(name: str, lengths: list[int], strength: float) -> None:
    """Shares lie between 0 and 1, and do not rise with the length, whatever part of a fall is applied."""
    curve = CURVES[name].weakened(strength)
    shares = [curve.share(length) for length in sorted(lengths)]
    assert all(0 <= share <= 1 for share in shares)
    assert all(shorter >= longer - 1e-12 for shorter, longer in pairwise(shares))


@given(NAMES, LENGTHS)
def test_strength_goes_from_flat_to_the_curve(name: str, length: int) -> None:
    """At 0 everything is noticed, at 1 as much as the curve says."""
    assert CURVES[name].weakened(0.0).share(length) == 1
    assert CURVES[name].weakened(1.0).share(length) == pytest.approx(CURVES[name].share(length))


@pytest.mark.parametrize(
    ("name", "tokens", "share"),
    [
        ("NoLiMa GPT-4o", 32_000, 69.7 / 99.3),
        ("NoLiMa GPT-4o", 8_000, 89.2 / 99.3),
        ("NoLiMa Llama 3.3 70B", 4_000, 81.5 / 97.3),
        ("NoLiMa GPT-4o mini", 1_000, 67.7 / 84.9),
        ("NoLiMa GPT-4o mini", 250, 1.0),
        ("flat 0.9", 32_000, 0.9),
    ],
)
def test_a_published_score_is_met_relative_to_its_base(name: str, tokens: int, share: float) -> None:
    """At the lengths of the published table the share is the score over the base score; below its base it is 1."""
    assert CURVES[name].share(tokens) == pytest.approx(share)


def test_between_two_lengths_it_is_linear_in_the_logarithm() -> None:
    """At their geometric mean the share is the mean of both."""
    curve = CURVES["NoLiMa GPT-4o"]
    middle = curve.share(round((4_000 * 16_000) ** 0.5 / 2**0.5))
    assert middle == pytest.approx((curve.share(4_000) + curve.share(8_000)) / 2, abs=1e-3)
