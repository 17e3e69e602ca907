"""A small chart of context sizes: two rows of bars over the decisions of a run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["bars"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"


def bars(values: Sequence[int], *, top: int, width: int = 72, encoding: str = "utf-8") -> str:
    """Return one row of bars, each the largest of its share of the values, `top` being a full one.

    Where the terminal's encoding has no blocks, the row is of ASCII characters. Cost: O(values).
    """
    levels = _BLOCKS if encoding.lower().startswith("utf") else _ASCII
    if not values or top <= 0:
        return ""
    columns = min(width, len(values))
    edges = [len(values) * column // columns for column in range(columns + 1)]
    highest = [max(values[start:end]) for start, end in pairwise(edges)]
    return "".join(levels[_level(value, top)] for value in highest)


def _level(value: int, top: int) -> int:
    """Round up, so that what is not nothing never looks like nothing."""
    return min(len(_BLOCKS) - 1, -(-value * (len(_BLOCKS) - 1) // top))
