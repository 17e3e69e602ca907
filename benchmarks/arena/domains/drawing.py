"""Seeded randomness by name: the same names give the same draws, on every machine, in any order of asking."""

from __future__ import annotations

import hashlib
import random
from typing import TypeVar

Item = TypeVar("Item")


def draws(*names: object) -> random.Random:
    """Return a source of draws that depends on these names alone. Cost: one hash.

    Each part of a task has a source of its own, so that a change in one part leaves the others as they are.
    """
    text = "\x1f".join(str(name) for name in names)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def place_of(*names: object) -> int:
    """Return a large number that depends on these names alone: what breaks a tie without a preference."""
    return draws(*names).getrandbits(48)
