"""How sessions begin and end: opened or created, closed, and with which store; on both twins, on each store."""

from __future__ import annotations

from pathlib import Path

import pytest

from mage import Session
from mage.session import OtherTask, SessionClosed
from mage.stores import (
    BadName,
    DamagedRecord,
    Head,
    JournalStore,
    MemoryStore,
    UnknownJournal,
    redacted,
)
from tests.session.twins import Twin, both


@both
def test_open_creates_or_opens(twin: Twin, store: JournalStore) -> None:
    """A task creates; without one it must be there; another task is refused, the same one is not."""
    with pytest.raises(UnknownJournal) as missing:
        twin.open(store, "s")
    assert "task=" in str(missing.value)
    twin.open(store, "s", task="one").close()
    twin.open(store, "s", task="one").close()
    twin.open(store, "s").close()
    with pytest.raises(OtherTask) as raised:
        twin.open(store, "s", task="two")
    assert "another task" in str(raised.value)
    assert "two" not in str(raised.value)
    assert store.head("s").version == 1


@both
def test_a_task_in_another_spelling_is_the_same(twin: Twin, store: JournalStore) -> None:
    """A surrogate pair and its character are one task (D15)."""
    twin.open(store, "s", task="\ud83d\ude00").close()
    with twin.open(store, "s", task="\U0001f600") as session:
        assert session.tree.task == "\U0001f600"


@both
def test_a_redacted_task_may_be_any(twin: Twin, store: JournalStore) -> None:
    """Where the task was taken out nobody can tell whether it is another: the session opens."""
    twin.open(store, "s", task="secret").close()
    store.replace_parts("s", [redacted(record, [0]) for record in store.read("s")])
    with twin.open(store, "s", task="secret") as session:
        assert "secret" not in session.tree.task
    twin.open(store, "s", task="anything").close()


@both
def test_bad_names_are_refused(twin: Twin, store: JournalStore) -> None:
    """A name that no journal can have is refused by open and by fork."""
    with pytest.raises(BadName):
        twin.open(store, "", task="t")
    with twin.open(store, "s", task="t") as session, pytest.raises(BadName):
        session.fork("a\0b")


@both
def test_a_closed_session_can_be_read_but_not_used(twin: Twin, store: JournalStore) -> None:
    """After close every operation raises SessionClosed; what was read is still there; twice is no error."""
    session = twin.open(store, "x", task="t")
    session.grow("a", "o")
    session.close()
    session.close()
    for operation in (
        lambda: session.grow("b", "o"),
        session.refresh,
        lambda: session.fork("y"),
        lambda: session.at(2),
        session.history,
    ):
        with pytest.raises(SessionClosed) as raised:
            operation()
        assert "'x' was closed" in str(raised.value)
    assert [step.action for step in session.state().raw] == ["a"]
    assert "closed" in repr(session)
    assert store.head("x").version == 2, "the store was brought, so it is still open"


@both
def test_the_last_session_closes_a_store_of_its_own(twin: Twin) -> None:
    """A store that was opened by its URL lives as long as a session or a fork of it is open."""
    session = twin.open("memory:", "x", task="t")
    fork = session.fork("y")
    session.close()
    fork.grow("a", "o")
    fork.close()
    with pytest.raises(SessionClosed):
        fork.grow("b", "o")


@both
def test_an_open_that_fails_closes_its_store(twin: Twin, tmp_path: Path) -> None:
    """A store that was opened by its URL is not left open when there is no such session."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    twin.open(url, "x", task="t").close()
    with pytest.raises(OtherTask):
        twin.open(url, "x", task="u")
    assert not list(tmp_path.glob("*-wal")), "the last to close a SQLite file leaves no log beside it"
    with twin.open(url, "x") as session:
        assert session.version == 1


def test_a_store_in_memory_outlives_its_sessions() -> None:
    """A store that was brought keeps its journals when a session on it closes."""
    store = MemoryStore()
    with Session.open(store, "kept", task="t") as session:
        session.grow("a", "o")
    with Session.open(store, "kept") as session:
        assert session.version == 2


@both
def test_who_is_slower_to_create_opens(twin: Twin) -> None:
    """Where another creates the journal between the look and the creation, it is opened, if the task is the same."""

    class Raced:
        def __init__(self, task: str) -> None:
            self.inner = MemoryStore()
            self.task = task

        def create(self, name: str, records: object) -> object:
            Session.open(self.inner, name, task=self.task).close()
            return self.inner.create(name, records)  # type: ignore[arg-type]

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    with twin.open(Raced("t"), "s", task="t") as session:
        assert session.version == 1
    with pytest.raises(OtherTask):
        twin.open(Raced("other"), "s", task="t")


@both
def test_a_head_that_its_records_do_not_lead_to_is_damage(twin: Twin) -> None:
    """A store whose head is not that of its last record is found out on opening and on refreshing."""

    class Lying:
        def __init__(self) -> None:
            self.inner = MemoryStore()
            self.lying = False

        def head(self, name: str) -> Head:
            head = self.inner.head(name)
            return Head(head.version, "0" * 64) if self.lying else head

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    store = Lying()
    with twin.open(store, "s", task="t") as session, Session.open(store.inner, "s") as other:
        other.grow("a", "o")
        store.lying = True
        with pytest.raises(DamagedRecord, match="the head says"):
            session.refresh()
        assert session.version == 1
        with pytest.raises(DamagedRecord, match="the head says"):
            twin.open(store, "s")
