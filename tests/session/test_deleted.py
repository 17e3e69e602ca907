"""A journal that is deleted under a session, or deleted and made anew: noticed, never mixed up."""

from __future__ import annotations

import pytest

from mage import Conflict, Session
from mage.stores import DamagedRecord, JournalStore, MemoryStore, Part, Record, UnknownJournal
from tests.session.twins import Twin, both


def made_anew(store: JournalStore, steps: int) -> None:
    """Delete the journal and make another one of the same name."""
    store.delete("s")
    with Session.open(store, "s", task="another") as session:
        for number in range(steps):
            session.grow(f"new {number}", "o")


@both
def test_deleted(twin: Twin, store: JournalStore) -> None:
    """Every operation that needs the journal says that it is gone; what was read is still shown."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        store.delete("s")
        for operation in (lambda: session.grow("b", "o"), session.refresh, session.history):
            with pytest.raises(UnknownJournal):
                operation()
        assert [step.action for step in session.state().raw] == ["a"]


@both
@pytest.mark.parametrize("steps", [0, 2, 5])
def test_made_anew(twin: Twin, store: JournalStore, steps: int) -> None:
    """Another journal under the name, shorter, as long or longer: a conflict, and refresh takes it as a whole."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.grow("b", "o")
        made_anew(store, steps)
        with pytest.raises(Conflict):
            session.grow("c", "o")
        with pytest.raises(Conflict):
            session.fork("f") if steps >= 2 else session.grow("c", "o")
        assert "f" not in [info.name for info in store.journals()]
        session.refresh()
        assert session.tree.task == "another"
        assert len(session.state().raw) == steps
        session.grow("c", "o")
        assert session.head == store.head("s")


@both
@pytest.mark.parametrize("steps", [0, 2, 5])
def test_made_anew_is_not_read_as_the_old_one(twin: Twin, store: JournalStore, steps: int) -> None:
    """What lies below is read from the journal that the session is of, or it says that this is another."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.grow("b", "o")
        made_anew(store, steps)
        for operation in (
            lambda: session.at(2),
            session.history,
            lambda: session.history(after=1, upto=2),
            lambda: session.fork("f", at=2),
        ):
            with pytest.raises(Conflict) as raised:
                operation()
            assert (raised.value.expected, raised.value.found) == (session.head, store.head("s"))
        assert "f" not in [info.name for info in store.journals()]
        session.refresh()
        assert len(session.history()) == steps + 1


@both
def test_what_others_wrote_behind_does_not_keep_from_reading(twin: Twin, store: JournalStore) -> None:
    """A session that is behind reads its own versions; only another journal is a conflict."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        with Session.open(store, "s") as other:
            other.grow("b", "o")
        assert session.at(1).tree.next_step == 1
        assert [entry.version for entry in session.history()] == [1, 2]


@both
def test_made_anew_while_it_is_read(twin: Twin) -> None:
    """Another journal that takes the name between two reads is noticed too."""

    class Swapped:
        def __init__(self) -> None:
            self.inner = MemoryStore()
            self.armed = False

        def redactions(self, name: str) -> int:
            if self.armed:
                made_anew(self.inner, 5)
            return self.inner.redactions(name)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    store = Swapped()
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        store.armed = True
        with pytest.raises(Conflict):
            session.at(1)


@both
def test_damage_is_named_on_opening_and_refreshing(twin: Twin) -> None:
    """A record that was changed is named by its version, and the session stays where it was."""
    store = MemoryStore()
    with twin.open(store, "s", task="t") as one, twin.open(store, "s") as two:
        one.grow("a", "o")
        one.grow("b", "o")
        records = store._journals["s"].records
        changed: tuple[Part, ...] = (records[1].parts[1], *records[1].parts[1:])
        records[1] = Record(2, records[1].body, changed, records[1].digest)
        with pytest.raises(DamagedRecord) as raised:
            two.refresh()
        assert raised.value.version == 2
        assert two.version == 1
    with pytest.raises(DamagedRecord):
        twin.open(store, "s")


@both
def test_a_record_that_is_missing_is_named(twin: Twin) -> None:
    """Where a store gives fewer records than its head says, the first missing one is named."""

    class Short:
        def __init__(self) -> None:
            self.inner = MemoryStore()

        def read(self, name: str, after: int = 0, upto: int | None = None) -> object:
            return (record for record in self.inner.read(name, after, upto) if record.version < 3)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    store = Short()
    with twin.open(store, "s", task="t") as session:
        for action in "abc":
            session.grow(action, "o")
        for operation in (lambda: twin.open(store, "s"), session.history):
            with pytest.raises(DamagedRecord) as raised:
                operation()
            assert raised.value.version == 3
        with pytest.raises(DamagedRecord) as raised:
            session.at(3)
        assert raised.value.version == 3
        store.inner.read = lambda *_: iter(())  # type: ignore[method-assign]
        with pytest.raises(DamagedRecord) as raised:
            twin.open(store, "s")
        assert raised.value.version == 1


@both
def test_a_single_record_that_is_missing_is_named(twin: Twin) -> None:
    """Where the record that a session stands at is gone, refreshing names it and the session stays."""

    class Holed:
        def __init__(self) -> None:
            self.inner = MemoryStore()

        def read(self, name: str, after: int = 0, upto: int | None = None) -> object:
            return (record for record in self.inner.read(name, after, upto) if record.version != 1)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    store = Holed()
    with twin.open(store, "s", task="t") as session, Session.open(store.inner, "s") as other:
        other.grow("a", "o")
        with pytest.raises(DamagedRecord) as raised:
            session.refresh()
        assert raised.value.version == 1
        assert session.version == 1
