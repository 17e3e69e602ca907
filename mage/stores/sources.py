"""What a store takes from outside: the time and chance. Both are injected, so that a test can repeat them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Clock", "Salts", "now", "random_salt"]

Clock: TypeAlias = Callable[[], int]
"""Gives the time: microseconds since 1970 in UTC. Nothing is ordered by it (D15)."""

Salts: TypeAlias = Callable[[], str]
"""Gives a new salt: 16 characters that nobody can guess."""


def now() -> int:
    """Return the time of this machine's clock, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def random_salt() -> str:
    """Return 16 url-safe characters from the system's source of randomness (96 bits)."""
    return secrets.token_urlsafe(12)
