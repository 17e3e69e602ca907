"""A session in a fork of its process, as it is told by the number of the process (`tests/stores/test_forks.py` forks)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from mage.session import AsyncSession, Session, SessionClosed
from mage.stores import MemoryStore, WrongProcess


@contextmanager
def another_process() -> Iterator[None]:
    """Let this process have another number."""
    with patch.object(os, "getpid", return_value=os.getpid() + 1):
        yield


def test_a_session_is_refused_there_and_closed_alone() -> None:
    """Each operation says which process it belongs to; closing it there leaves the store as it is."""
    store = MemoryStore()
    session, other = Session.open(store, "a", task="t"), Session.open(store, "b", task="t")
    with another_process():
        with pytest.raises(WrongProcess, match="session 'a' was opened in process") as caught:
            session.grow("x", "y")
        session.close()
    assert (caught.value.opened_in, caught.value.used_in) == (os.getpid(), os.getpid() + 1)
    with pytest.raises(SessionClosed):
        session.grow("x", "y")
    assert other.grow("x", "y") is other.phase


def test_a_twin_is_refused_there_and_closed_alone() -> None:
    """So it is with a session that is awaited."""

    async def use() -> None:
        session = await AsyncSession.open(MemoryStore(), "a", task="t")
        with another_process():
            with pytest.raises(WrongProcess, match="open it here, after the fork"):
                await session.grow("x", "y")
            await session.close()
        with pytest.raises(SessionClosed):
            await session.grow("x", "y")

    asyncio.run(use())
