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

__all__ = ["closes_before_fork", "enter", "in_transaction", "leave"]

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
        """Carry out what is no transaction of `Transactions` inside, as a transaction is."""
        entered = self.enter()
        try:
            yield
        finally:
            self.leave(entered)

    def enter(self) -> object:
        """Begin a transaction, which is to `leave`: this process does not fork meanwhile, unless that takes too long.

        It is noted before the forks are looked for, and a fork is noted before the transactions are: of two that
        meet at least one sees the other. So no lock is taken where nothing forks.
        """
        if self._process != os.getpid():
            self._begin_anew()
        transaction, thread = object(), get_ident()
        self._inside[transaction] = thread
        if self._forking and thread not in self._forking:
            with self._free:
                del self._inside[transaction]
                self._free.notify_all()
                self._free.wait_for(lambda: not self._forking)
                self._inside[transaction] = thread
        return transaction

    def leave(self, transaction: object) -> None:
        """End a transaction."""
        self._inside.pop(transaction, None)
        if self._forking:
            with self._free:
                self._free.notify_all()

    def before(self) -> None:
        """Wait for the transactions of other threads, and close what is idle. The lock is held until `after`."""
        if not self._free.acquire(timeout=_LONGEST):
            return
        thread = get_ident()
        self._forking.add(thread)
        self._free.wait_for(lambda: all(other == thread for other in list(self._inside.values())), _LONGEST)
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
enter: Final = _GATE.enter
leave: Final = _GATE.leave


def closes_before_fork(engine: Engine) -> None:
    """Let the idle connections of an engine be closed before this process forks; the next use opens others."""
    _GATE.in_child()
    _GATE.engines.add(engine)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_GATE.before, after_in_parent=_GATE.after, after_in_child=_GATE.in_child)
