"""Empty stores of one kind, as many as random histories need, and each opened again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeAlias, final

from mage.stores import JournalStore, MemoryStore, open_store

Reopening: TypeAlias = Callable[[JournalStore | None], JournalStore]
"""Closes a store and opens it again; None is before it was ever opened."""


@final
class Rooms:
    """Makes empty stores of one kind: `url_of` gives the URL of the n-th, None keeps them in memory."""

    def __init__(self, url_of: Callable[[int], str] | None) -> None:
        self._url_of = url_of
        self._numbers = count()

    @contextmanager
    def room(self) -> Iterator[Reopening]:
        """Give what opens and reopens a new store; it is closed at the end. Memory cannot be closed and reopened."""
        url = None if self._url_of is None else self._url_of(next(self._numbers))
        opened: list[JournalStore] = []

        def reopened(old: JournalStore | None) -> JournalStore:
            if url is None:
                return old or MemoryStore()
            if old is not None:
                old.close()
            opened.append(open_store(url))
            return opened[-1]

        try:
            yield reopened
        finally:
            for store in opened:
                store.close()
