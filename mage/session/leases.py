"""Who closes a store that several sessions use: the last of them."""

from __future__ import annotations

from threading import Lock
from typing import Self, final


@final
class Lease:
    """Counts the sessions on a store that was opened for them; a store that was brought is never closed."""

    def __init__(self, *, owned: bool) -> None:
        self._owned = owned
        self._users = 1
        self._lock = Lock()

    def shared(self) -> Self:
        """Count one session more."""
        with self._lock:
            self._users += 1
        return self

    def ended(self) -> bool:
        """Count one session less, and tell whether the store is now to be closed."""
        with self._lock:
            self._users -= 1
            return self._owned and self._users == 0
