"""Recall that falls with the length of a prompt, along a curve that has a name.

A fact that stands in a prompt is noticed with a probability that depends on the prompt's length alone, wherever in it
the fact stands. That is an assumption, put in to see what would follow. What follows from it is evidence of nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log2
from typing import Final, final

import attrs

SOURCE: Final = "NoLiMa, README of adobe-research/NoLiMa: scores over the base score (arXiv 2502.05167)"
_LENGTHS: Final = (1000, 2000, 4000, 8000, 16000, 32000)
_BASE: Final = 500
"""The base score is taken over 250, 500 and 1,000 tokens. Up to the middle one of them everything is noticed."""


@final
@attrs.frozen
class Curve:
    """A share of facts by the length of a prompt.

    Attributes:
        points: tokens and the share that is noticed there, shorter ones first. Between two of them the share is linear
            in the logarithm of the length; before the first and after the last it stays.
        source: who says so.
    """

    points: Sequence[tuple[int, float]]
    source: str

    def share(self, tokens: int) -> float:
        """Return the share of facts that is noticed in a prompt of so many tokens. Total. Cost: O(points)."""
        if tokens <= self.points[0][0]:
            return self.points[0][1]
        for (shorter, more), (longer, less) in pairwise(self.points):
            if tokens <= longer:
                return more + (less - more) * log2(tokens / shorter) / log2(longer / shorter)
        return self.points[-1][1]

    def weakened(self, strength: float) -> Curve:
        """Return a curve that falls below 1 by a part of what this one does: 0 is flat at 1, and 1 is this one."""
        return Curve(
            tuple((tokens, 1 - strength * (1 - share)) for tokens, share in self.points), self.source
        )


def _published(base: float, *scores: float) -> Curve:
    points = zip((_BASE, *_LENGTHS), (base, *scores), strict=True)
    return Curve(tuple((tokens, score / base) for tokens, score in points), SOURCE)


CURVES: Final = {
    "flat 1.0": Curve(((1, 1.0),), "assumed"),
    "flat 0.9": Curve(((1, 0.9),), "assumed"),
    "NoLiMa GPT-4o": _published(99.3, 98.1, 98.0, 95.7, 89.2, 81.6, 69.7),
    "NoLiMa Llama 3.3 70B": _published(97.3, 94.2, 87.4, 81.5, 72.1, 59.5, 42.7),
    "NoLiMa GPT-4o mini": _published(84.9, 67.7, 58.2, 44.1, 32.6, 20.6, 13.7),
}
"""By name. A flat one says the same of every length, so it cannot favour a memory for what it leaves out."""
