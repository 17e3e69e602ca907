"""An exception at every single ask: the session stays where it was, and goes on to the same end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, final

import pytest

from mage import Conflict, MageError, Session
from mage.stores import Head, MemoryStore, Record, StoreFull, StoreUnavailable
from tests.session.broken import END, Breaking, BrokenOff, constant, final_of, story, verdict_on
from tests.session.twins import Twin, both, plain

ERRORS = [
    pytest.param(StoreUnavailable("planned"), False, id="unavailable"),
    pytest.param(StoreFull("planned"), False, id="full"),
    pytest.param(StoreUnavailable("planned", in_doubt=True), False, id="in-doubt-not-written"),
    pytest.param(StoreUnavailable("planned", in_doubt=True), True, id="in-doubt-written"),
    pytest.param(BrokenOff(), False, id="interrupted-before"),
    pytest.param(BrokenOff(), True, id="interrupted-after"),
]


@final
class InDoubt:
    """A store whose first appends are in doubt: each was written, or not, and `meddle` came after it."""

    def __init__(self, inner: MemoryStore, *, written: bool, times: int = 1) -> None:
        self.inner = inner
        self.written = written
        self.times = times
        self.meddle: Callable[[], object] = lambda: None

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        if self.times == 0:
            return self.inner.append(name, expected, records)
        self.times -= 1
        if self.written:
            self.inner.append(name, expected, records)
            self.written = False
        self.meddle()
        raise StoreUnavailable("planned", in_doubt=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def raised_by(action: Callable[[], object]) -> MageError | BrokenOff | None:
    """Return what an action raises of that which is expected here."""
    try:
        action()
    except (MageError, BrokenOff) as raised:
        return raised
    return None


def told_through(twin: Twin, at: int, error: Exception, *, after: bool) -> tuple[Session, Breaking]:
    """Tell the story on a store that breaks once, checking what a break leaves; return the finished session."""
    store = Breaking(MemoryStore(), at, error, after=after)
    opening = partial(
        twin.open,
        store.as_store,
        "s",
        task="t",
        judge=verdict_on,
        clock=constant,
        salts=plain,
        snapshot_every=3,
    )
    opened: list[Session] = []
    while not opened:
        raised = raised_by(lambda: opened.append(opening()))
        assert raised in (None, error)
    session = opened[0]
    while session.version < END:
        before, phase = session.version, session.phase
        raised = raised_by(partial(story[before], session))
        if raised is not None:
            assert error in (raised, raised.__cause__)
            assert (session.phase is phase) is (session.version == before)
            assert session.version <= store.inner.head("s").version
            if not isinstance(raised, BrokenOff):
                assert session.head == store.inner.head("s"), "what is durable is what the slot says"
            session.refresh()
            assert session.head == store.inner.head("s")
    return session, store


@both
@pytest.mark.parametrize(("error", "after"), ERRORS)
def test_an_exception_at_every_ask(twin: Twin, error: Exception, *, after: bool) -> None:
    """Wherever the store breaks, before or after it has written, the story ends in the same head and state."""
    head, phase = final_of(partial(twin.open, clock=constant, salts=plain))
    at, asks = 0, 1
    while at < asks:
        session, store = told_through(twin, at, error, after=after)
        assert (session.head, session.phase) == (head, phase), f"broken at ask {at}"
        session.close()
        at, asks = at + 1, store.asks
    assert asks >= 28


@both
@pytest.mark.parametrize("written", [True, False])
def test_in_doubt_and_overtaken(twin: Twin, *, written: bool) -> None:
    """Where another has written meanwhile, a doubtful append lies below the other's, or is a conflict."""
    inner = MemoryStore()
    store = InDoubt(inner, written=written)
    with Session.open(inner, "s", task="t") as other, twin.open(store, "s") as session:

        def meddle() -> None:
            other.refresh()
            other.grow("other", "o")

        store.meddle = meddle
        if written:
            session.grow("mine", "o")
        else:
            with pytest.raises(Conflict):
                session.grow("mine", "o")
        assert session.version == 1 + written
        session.refresh()
        assert [step.action for step in session.state().raw] == ["mine"] * written + ["other"]


@both
@pytest.mark.parametrize("written", [True, False])
def test_in_doubt(twin: Twin, *, written: bool) -> None:
    """A doubtful append is done when the operation returns, once, whether it was written at first or not."""
    store = InDoubt(MemoryStore(), written=written)
    with twin.open(store, "s", task="t") as session:
        session.grow("mine", "o")
        assert session.head == store.inner.head("s")
        assert [step.action for step in session.state().raw] == ["mine"]
        assert session.version == 2


@both
@pytest.mark.parametrize("written", [True, False])
def test_in_doubt_for_good(twin: Twin, *, written: bool) -> None:
    """Where the doubt stays, the error says that it may be written or not; a refresh tells."""
    store = InDoubt(MemoryStore(), written=written, times=2)
    with twin.open(store, "s", task="t") as session:
        with pytest.raises(StoreUnavailable) as raised:
            session.grow("mine", "o")
        assert raised.value.in_doubt
        assert session.version == 1
        assert session.refresh().version == 1 + written
        session.grow("mine again", "o")


@both
def test_in_doubt_and_made_anew(twin: Twin) -> None:
    """Where the journal was deleted and made anew meanwhile, the doubtful append is a conflict, and in none."""
    inner = MemoryStore()
    store = InDoubt(inner, written=True)

    def meddle() -> None:
        inner.delete("s")
        Session.open(inner, "s", task="another").close()

    store.meddle = meddle
    with twin.open(store, "s", task="t") as session:
        with pytest.raises(Conflict):
            session.grow("mine", "o")
        assert session.version == 1
        session.refresh()
        assert session.tree.task == "another"
