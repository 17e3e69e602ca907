"""A story told by versions, so that it can be resumed anywhere; and stores that break at a chosen ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from functools import partial
from types import coroutine
from typing import Any, Final, TypeVar, cast, final

from mage import Failed, FoldRequest, JudgeRequest, Passed, Session, Verdict
from mage.engine import State
from mage.stores import Head, JournalStore, MemoryStore, Record, Snapshot

Answer = TypeVar("Answer")


@final
class BrokenOff(Exception):
    """What no store raises on purpose: the thread was interrupted."""


def constant() -> int:
    """Return the time: always the same, so that a story told twice has one digest."""
    return 0


def verdict_on(request: JudgeRequest | FoldRequest) -> Verdict:
    """Judge by the text, so that who asks twice hears the same."""
    return Failed("wrong") if request.text.startswith("bad") else Passed()


def _again(session: Session) -> object:
    return session.judge(verdict_on(session.judge_request()))


story: Final[dict[int, Callable[[Session], object]]] = {
    1: lambda session: session.instruct("be brief", standing=True),
    2: lambda session: session.grow("a", "o"),
    3: lambda session: session.grow("b", "o"),
    4: lambda session: session.compress("ab"),
    5: _again,
    6: lambda session: session.grow("c", "o"),
    7: lambda session: session.compress("bad c"),
    8: _again,
    9: lambda session: session.revise(2, "not c"),
    10: lambda session: session.grow("c", "o"),
    11: lambda session: session.compress("bad c"),
    12: _again,
    13: lambda session: session.retext("c"),
    14: _again,
    15: lambda session: session.grow("d", "o"),
    16: lambda session: session.compress("d", kind="fallback", wait=False),
    17: lambda session: session.accept(),
}
"""What is to be done at each version: an operation, or the verdict that a broken one has left open."""

END: Final = 18
"""The version at which the story ends."""


def final_of(open_session: Callable[..., Session]) -> tuple[Head, State]:
    """Return where the story ends when nothing breaks."""
    with open_session(MemoryStore(), "s", task="t", judge=verdict_on) as session:
        while session.version < END:
            story[session.version](session)
        return session.head, session.phase


@final
class Breaking:
    """A store that breaks at its n-th ask: before it has done anything, or after it has done all."""

    def __init__(self, inner: JournalStore, at: int, error: Exception, *, after: bool) -> None:
        self.inner = inner
        self.asks = 0
        self._at = at
        self._error = error
        self._after = after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def asked(*arguments: Any, **named: Any) -> Any:
            number, self.asks = self.asks, self.asks + 1
            if number == self._at and not self._after:
                raise self._error
            answer = method(*arguments, **named)
            if isinstance(answer, Iterator):
                answer = iter(list(answer))
            if number == self._at:
                raise self._error
            return answer

        return asked

    @property
    def as_store(self) -> JournalStore:
        """The same, as sessions take it."""
        return cast("JournalStore", self)


@final
class Hops:
    """Counts the moments at which a task waits, and at one of them cancels it."""

    def __init__(self, at: int) -> None:
        self.seen = 0
        self.cancel: Callable[[], object] = lambda: None
        self._at = at

    async def hop(self) -> None:
        """Wait for one turn of the event loop."""
        if self.seen == self._at:
            self.cancel()
        self.seen += 1
        await _one_turn()


@coroutine
def _one_turn() -> Generator[None, None, None]:
    yield


@final
class Hopping:
    """An awaitable store in memory that waits before and after whatever it does."""

    def __init__(self, inner: MemoryStore, hops: Hops) -> None:
        self.inner = inner
        self._hops = hops

    async def _waiting(self, work: Callable[[], Answer]) -> Answer:
        await self._hops.hop()
        answer = work()
        await self._hops.hop()
        return answer

    def create(self, name: str, records: Iterable[Record]) -> Awaitable[Head]:
        return self._waiting(lambda: self.inner.create(name, records))

    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        return await self._waiting(lambda: self.inner.append(name, expected, records))

    def head(self, name: str) -> Coroutine[Any, Any, Head]:
        return self._waiting(lambda: self.inner.head(name))

    async def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]:
        for record in await self._waiting(lambda: list(self.inner.read(name, after, upto))):
            yield record

    def fork(self, source: str, name: str, at: int) -> Awaitable[Head]:
        return self._waiting(lambda: self.inner.fork(source, name, at))

    def snapshot(self, name: str, upto: int | None = None) -> Awaitable[Snapshot | None]:
        return self._waiting(lambda: self.inner.snapshot(name, upto))

    def drop_snapshots(self, name: str) -> Awaitable[None]:
        return self._waiting(lambda: self.inner.drop_snapshots(name))

    def redactions(self, name: str) -> Awaitable[int]:
        return self._waiting(lambda: self.inner.redactions(name))

    def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> Awaitable[None]:
        keep = partial(self.inner.keep_snapshot, redactions=redactions)
        return self._waiting(lambda: keep(name, version, data, digest))
