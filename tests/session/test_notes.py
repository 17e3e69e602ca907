"""Notes: records between the commands that change nothing. On both twins, on each store."""

from __future__ import annotations

import pytest

from mage.session import Conflict, Entry, Noted, Session
from mage.stores import BadNote, JournalStore, Note
from mage.testing import canonical
from tests.session.twins import Twin, both


def log_of(session: Session) -> list[object]:
    """Return what a log says, in order: notes, and the names of commands."""
    return [each.note if isinstance(each, Noted) else type(each.command).__name__ for each in session.log()]


@both
def test_a_note_changes_nothing_and_stays(twin: Twin, store: JournalStore) -> None:
    """A note moves the head and not the state; it is in the log, in its place, with its meta, and in no history."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        before = session.phase
        head = session.note("decided", '{"a":1}', meta={"cost": 3})
        assert (head, session.phase) == (session.head, before)
        session.compress("s")
        assert log_of(session) == ["Start", "Grow", Note("decided", '{"a":1}'), "Compress"]
        noted = session.log(after=2, upto=3)[0]
        assert isinstance(noted, Noted)
        assert (noted.version, noted.meta) == (3, {"cost": 3})
        assert session.history() == tuple(each for each in session.log() if isinstance(each, Entry))
        kept = (session.head, canonical(session.phase), session.log())
    with twin.open(store, "s") as session:
        assert (session.head, canonical(session.phase), session.log()) == kept


@both
def test_a_note_lands_behind_the_commands_of_others(twin: Twin, store: JournalStore) -> None:
    """Where others have given commands, a note is appended behind them, and its session has taken them."""
    with twin.open(store, "s", task="t") as session, twin.open(store, "s") as other:
        other.grow("a", "theirs")
        other.compress("theirs")
        session.note("decided", "mine")
        assert log_of(session) == ["Start", "Grow", "Compress", Note("decided", "mine")]
        assert canonical(session.phase) == canonical(other.phase)


@both
def test_two_do_not_tell_one_story(twin: Twin, store: JournalStore) -> None:
    """A note behind somebody else's note is a conflict: nothing is appended, whatever else was written meanwhile."""
    with twin.open(store, "s", task="t") as session, twin.open(store, "s") as other:
        other.grow("a", "theirs")
        other.note("decided", "theirs")
        other.grow("b", "theirs")
        with pytest.raises(Conflict):
            session.note("decided", "mine")
        assert session.version == 1
        assert log_of(other) == ["Start", "Grow", Note("decided", "theirs"), "Grow"]
        session.refresh()
        session.note("decided", "mine")
        assert log_of(session)[-1] == Note("decided", "mine")


@both
def test_a_command_behind_a_note_needs_a_look(twin: Twin, store: JournalStore) -> None:
    """Commands are recorded behind exactly the head that they were made for, also where only a note has come."""
    with twin.open(store, "s", task="t") as session, twin.open(store, "s") as other:
        other.note("decided", "theirs")
        with pytest.raises(Conflict):
            session.grow("a", "o")
        session.refresh()
        session.grow("a", "o")


@both
def test_a_fork_takes_the_notes_along(twin: Twin, store: JournalStore) -> None:
    """The notes up to the fork point are the fork's too; those behind it are not."""
    with twin.open(store, "s", task="t") as session:
        session.note("decided", "before")
        session.grow("a", "o")
        session.note("decided", "after")
        with session.fork("f", at=3) as fork:
            fork.note("decided", "there")
            assert log_of(fork) == ["Start", Note("decided", "before"), "Grow", Note("decided", "there")]


@both
@pytest.mark.parametrize("kind", ["", "Decided", "1st", "a" * 41, "a b", "a\n", "é", 'x"'])
def test_the_kind_of_a_note_is_a_plain_name(twin: Twin, store: JournalStore, kind: str) -> None:
    """Another kind is refused, in words that say what one is, and nothing is written."""
    with twin.open(store, "s", task="t") as session:
        with pytest.raises(BadNote, match="lower-case"):
            session.note(kind, "text")
        assert session.version == 1
        session.note("a" * 40, "")


@both
def test_snapshots_come_as_often_for_notes(twin: Twin, store: JournalStore) -> None:
    """A journal of many notes is opened from a snapshot too, at the state that they changed nothing of."""
    with twin.open(store, "s", task="t", snapshot_every=8) as session:
        session.grow("a", "o")
        for number in range(40):
            session.note("decided", str(number))
        kept = (session.head, canonical(session.phase))
    snapshot = store.snapshot("s")
    assert snapshot is not None
    assert snapshot.version > 8
    with twin.open(store, "s") as session:
        assert (session.head, canonical(session.phase)) == kept
