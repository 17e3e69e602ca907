"""One test-suite for both twins: an `AsyncSession` behind the face of a `Session`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction
from itertools import count
from typing import Any, Final, cast, final

import attrs
import pytest

from mage import AsyncSession, FoldRequest, JudgeRequest, Session, Verdict
from mage.effects import AsyncJudge, Judge, Metered
from mage.engine import (
    Accept,
    ApplyVerdict,
    Compress,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
)
from mage.engine.journal import Operation

_RUNNERS: Final[list[asyncio.Runner]] = []


def _run(coroutine: Any) -> Any:
    if not _RUNNERS:
        _RUNNERS.append(asyncio.Runner())
    return _RUNNERS[0].run(coroutine)


def close_runner() -> None:
    """Close the event loop that awaited sessions were driven by."""
    while _RUNNERS:
        _RUNNERS.pop().close()


@final
class _Awaited:
    """An `AsyncSession` whose every operation is awaited at once."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    def __repr__(self) -> str:
        return repr(self._session)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if not iscoroutinefunction(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            got = _run(found(*arguments, **named))
            return _Awaited(got) if isinstance(got, AsyncSession) else got

        return call

    def __enter__(self) -> _Awaited:
        return self

    def __exit__(self, *_: object) -> None:
        _run(self._session.close())


def _awaitable(judge: Judge) -> AsyncJudge:
    async def awaited(request: JudgeRequest | FoldRequest, /) -> Verdict | Metered[Verdict]:
        return judge(request)

    return awaited


def _open_awaited(store: object, name: str, *, judge: Judge | None = None, **named: Any) -> Session:
    answering = None if judge is None else _awaitable(judge)
    opened = _run(AsyncSession.open(cast("str", store), name, judge=answering, **named))
    return cast("Session", _Awaited(opened))


@final
@attrs.frozen
class Twin:
    """One of the two, with how it is opened."""

    name: str
    open: Callable[..., Session]


TWINS: Final = (Twin("Session", Session.open), Twin("AsyncSession", _open_awaited))
both: Final = pytest.mark.parametrize("twin", TWINS, ids=[twin.name for twin in TWINS])
"""Runs a test on both twins."""


def ticking() -> Callable[[], int]:
    """Return a clock that shows 1, 2, 3, ..."""
    return count(1).__next__


def plain() -> str:
    """Return a salt: always the same, so that equal records have equal digests."""
    return "salt" * 4


def perform(session: Session, command: Operation) -> object:
    """Carry out a command as the operation of a session, nobody judging."""
    match command:
        case Instruct(text, standing):
            return session.instruct(text, standing=standing)
        case Grow(action, observation):
            return session.grow(action, observation)
        case Compress(text, kind):
            return session.compress(text, kind=kind)
        case Retext(text):
            return session.retext(text)
        case Fold(first, last, text, digest):
            return session.fold(first, last, text, digest)
        case ApplyVerdict(verdict, digest):
            return session.judge(verdict, digest)
        case Accept():
            return session.accept()
        case Revise(boundary, lesson):
            return session.revise(boundary, lesson)
