"""Forks: a process that forks has no connections, so that its child has none to share or to believe in.

SQLite in the child would take the parent's locks for its own; a lock inside the library that another thread
held would be held for ever; two processes would speak on one socket. So before a fork, transactions are
waited for and idle connections closed. Both processes open new ones when they need them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, get_ident
from typing import Final, final
from weakref import WeakSet

from sqlalchemy import Engine

__all__ = ["closes_before_fork", "in_transaction"]

_LONGEST: Final = 2.0
"""Seconds that a fork waits for transactions; some wait for others who hold the database."""


@final
class _Gate:
    """Counts the transactions that are under way, and holds new ones up while the process forks."""

    def __init__(self) -> None:
        self.engines: WeakSet[Engine] = WeakSet()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._free = Condition()
        self._inside = 0
        self._waiting = 0
        self._holder: int | None = None

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Carry out a transaction inside: this process does not fork meanwhile, unless that takes too long."""
        with self._free:
            self._free.wait_for(lambda: not self._waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._free:
                self._inside -= 1
                self._free.notify_all()

    def before(self) -> None:
        """Wait for the transactions, and close what is idle. The lock is held until the process has forked."""
        if not self._free.acquire(timeout=_LONGEST):
            return
        self._waiting += 1
        is_free = self._free.wait_for(lambda: self._inside <= 0, _LONGEST)
        self._holder = get_ident()
        if is_free:
            for engine in list(self.engines):
                engine.dispose()

    def after(self) -> None:
        """Let transactions begin again."""
        if self._holder != get_ident():
            return
        self._holder = None
        self._waiting -= 1
        self._free.notify_all()
        self._free.release()

    def in_child(self) -> None:
        """Begin anew: those inside, and whoever held the lock, are threads of the parent."""
        self._begin_anew()


_GATE: Final = _Gate()
in_transaction: Final = _GATE.inside


def closes_before_fork(engine: Engine) -> None:
    """Let the idle connections of an engine be closed before this process forks; the next use opens others."""
    _GATE.engines.add(engine)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_GATE.before, after_in_parent=_GATE.after, after_in_child=_GATE.in_child)
