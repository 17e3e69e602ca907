"""The process that something was opened in: a child that was forked has its locks and connections only in name."""

from __future__ import annotations

import os
from typing import final

from mage.stores.errors import WrongProcess

__all__ = ["Home"]


@final
class Home:
    """Remembers the process in which it was made."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is that process. Cost: one system call."""
        return os.getpid() == self._process

    def require(self) -> None:
        """Refuse another process, before a lock is taken that a thread of that one may hold for ever.

        Raises:
            WrongProcess: this is another process.
        """
        if not self.is_here:
            raise WrongProcess(self._what, self._process, os.getpid())
