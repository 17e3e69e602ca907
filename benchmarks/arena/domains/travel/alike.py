"""Whether two names in a plan count as one: the published rule, which is lenient."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

RATIO: Final = 0.7
"""How alike two names must be, by difflib."""


def is_alike(given: str, right: str) -> bool:
    """Tell whether a given name counts as the right one. Cost: O(product of their lengths)."""
    return SequenceMatcher(None, given.casefold(), right.casefold()).ratio() >= RATIO


def is_like_any(name: str, others: Iterable[str]) -> bool:
    """Tell whether a name and another one count as one, taken either way: the ratio hangs on the order of the two."""
    return any(is_alike(name, other) or is_alike(other, name) for other in others)
