"""Forks: a process that forks has no connections, so that its child has none to share or to believe in.

SQLite in the child would take the parent's locks for its own; a lock inside the library that another thread
held would be held for ever; two processes would speak on one socket. So before a fork, transactions are
waited for and idle connections closed. Both processes open new ones when they need them.

Hooks of the host, finalizers and signal handlers may use a store while its process forks, in the very thread
that forks: that one is never held up.
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
    """Knows the transactions that are under way, and holds new ones up while the process forks."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.engines: WeakSet[Engine] = WeakSet()
        self._process = os.getpid()
        self._free = Condition()
        self._inside: dict[object, int] = {}
        self._forking: set[int] = set()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Carry out a transaction inside: this process does not fork meanwhile, unless that takes too long."""
        self.in_child()
        transaction, thread = object(), get_ident()
        try:
            with self._free:
                if thread not in self._forking:
                    self._free.wait_for(lambda: not self._forking)
                self._inside[transaction] = thread
            yield
        finally:
            with self._free:
                self._inside.pop(transaction, None)
                self._free.notify_all()

    def before(self) -> None:
        """Wait for the transactions of other threads, and close what is idle. The lock is held until `after`."""
        if not self._free.acquire(timeout=_LONGEST):
            return
        thread = get_ident()
        self._forking.add(thread)
        self._free.wait_for(lambda: all(other == thread for other in self._inside.values()), _LONGEST)
        if not self._inside:
            for engine in list(self.engines):
                engine.dispose()

    def after(self) -> None:
        """Let transactions begin again."""
        thread = get_ident()
        if thread in self._forking:
            self._forking.discard(thread)
            self._free.notify_all()
            self._free.release()

    def in_child(self) -> None:
        """Begin anew in a child, once: those inside, whoever held the lock, and all engines are its parent's."""
        if self._process != os.getpid():
            self._begin_anew()


_GATE: Final = _Gate()
in_transaction: Final = _GATE.inside


def closes_before_fork(engine: Engine) -> None:
    """Let the idle connections of an engine be closed before this process forks; the next use opens others."""
    _GATE.in_child()
    _GATE.engines.add(engine)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_GATE.before, after_in_parent=_GATE.after, after_in_child=_GATE.in_child)
