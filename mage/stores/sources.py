"""What a store takes from outside: the time, chance, patience. The first two are injected, so that a test can repeat them.

These two are other people's code, and what they give is written down: so it is looked at before it is, each time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Final, TypeAlias, cast, final

from mage.stores.errors import BadSource

Clock: TypeAlias = Callable[[], int]
"""Gives the time: microseconds since 1970 in UTC. Nothing is ordered by it (D15)."""

Salts: TypeAlias = Callable[[], str]
"""Gives a new salt: 16 characters of ASCII that nobody can guess."""

SALT: Final = 16
"""Characters of a salt: always as many, so that salt and text cannot be told apart in two ways."""
_END: Final = 253_402_300_800_000_000
"""The end of the year 9999 in microseconds: what is later cannot be shown as a date, and is no time."""
_LONGEST: Final = 24 * 86_400.0
"""Seconds that a store waits at most: both databases count milliseconds, in 31 bits."""
_LONG: Final = 128
"""Bits of a number that a message spells."""


def now() -> int:
    """Return the time of this machine's clock, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def random_salt() -> str:
    """Return 16 url-safe characters from the system's source of randomness (96 bits)."""
    return secrets.token_urlsafe(12)


def is_time(value: object) -> bool:
    """Tell whether a value is a time: whole microseconds from 1970 to the end of the year 9999."""
    return type(value) is int and 0 <= value < _END


def is_salt(value: object) -> bool:
    """Tell whether a value is a salt: a plain string of 16 characters of ASCII."""
    return type(value) is str and len(value) == SALT and value.isascii()


def salt_of(salts: Salts) -> str:
    """Return a new salt.

    Raises:
        BadSource: what was given is no salt. It is not repeated: it may be a secret that stands in its place.
    """
    given: object = salts()  # other people's code
    if isinstance(salts, _Salts):  # which has looked at it
        return cast("str", given)
    if not is_salt(given):
        what = f"{len(given)} characters" if isinstance(given, str) else f"a {type(given).__name__}"
        raise BadSource("salts", f"a salt is {SALT} characters of ASCII, and it gave {what}")
    return cast("str", given)


def checked_clock(clock: Clock) -> Clock:
    """Return a clock that gives times only. It is asked once here, and what it says then is not used.

    Raises:
        BadSource: what it gives is no time; its result raises the same, each time that it is called.
    """
    return clock if isinstance(clock, _Clock) else _Clock(clock)


def checked_salts(salts: Salts) -> Salts:
    """Return a source of salts that gives salts only. It is asked once here, and that salt is not used.

    Raises:
        BadSource: what it gives is no salt; its result raises the same, each time that it is called.
    """
    return salts if isinstance(salts, _Salts) else _Salts(salts)


def checked_patience(patience: float) -> float:
    """Return seconds as both databases can wait: at most 24 days, also where more was given.

    Raises:
        BadSource: it is no number of seconds.
    """
    given: object = patience
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise BadSource("patience", f"it is a number of seconds from 0 on, and this is {_shown(given)}")
    return float(min(given, _LONGEST))


@final
class _Clock:
    """A clock whose every answer is looked at."""

    def __init__(self, clock: Clock) -> None:
        if not callable(clock):
            raise BadSource("clock", f"it is a {type(clock).__name__}, which cannot be called")
        self._clock = clock
        self()

    def __call__(self) -> int:
        """Give the time."""
        given = self._clock()
        if not is_time(given):
            raise BadSource(
                "clock",
                f"it gives whole microseconds since 1970, up to the year 9999, and gave {_shown(given)}",
            )
        return given


@final
class _Salts:
    """A source of salts whose every answer is looked at."""

    def __init__(self, salts: Salts) -> None:
        if not callable(salts):
            raise BadSource("salts", f"it is a {type(salts).__name__}, which cannot be called")
        self._salts = salts
        self()

    def __call__(self) -> str:
        """Give a salt."""
        return salt_of(self._salts)


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > _LONG:  # Python spells no number of any length
        return f"a number of {value.bit_length()} bits"
    return repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"
