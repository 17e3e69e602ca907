"""The process that something was opened in: a child that was forked has its locks and connections only in name."""

from __future__ import annotations

import os
from typing import Final, final

from mage.stores.errors import WrongProcess

_FORKS: Final = [0]
"""How many forks lead from the process that loaded this module to this one."""


def _count() -> None:
    _FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)


@final
class Home:
    """Remembers the process in which it was made."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()
        self._forks = _FORKS[0]

    @property
    def is_here(self) -> bool:
        """Whether this is that process, and no later one that got its number. Cost: one system call."""
        return os.getpid() == self._process and _FORKS[0] == self._forks

    def require(self) -> None:
        """Refuse another process, before a lock is taken that a thread of that one may hold for ever.

        Raises:
            WrongProcess: this is another process.
        """
        if not self.is_here:
            raise WrongProcess(self._what, self._process, os.getpid())
