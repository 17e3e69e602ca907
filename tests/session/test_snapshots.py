"""Snapshots are caches: they make opening fast, and never anything else."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Passed, Session
from mage.engine import State, start
from mage.session import events
from mage.session.loading import pack, unpack
from mage.stores import JournalStore, MemoryStore, Snapshot, StoreUnavailable, redacted, snapshot_digest
from mage.testing import states
from mage.testing.machine import canonical_json
from tests.session.twins import Twin, both


@given(state=states())
def test_what_was_packed_comes_back(state: State) -> None:
    """Any state comes back equal, in the same phase, the same to whoever looks, down to the derived parts."""
    back = unpack(pack(state))
    assert back == state
    assert isinstance(back, State)
    assert canonical_json(back) == canonical_json(state)
    notes, before = back.tree._settled.notes, state.tree._settled.notes
    assert (list(notes.once), list(notes.standing)) == (list(before.once), list(before.standing))
    assert pack(back) == pack(state)


EMPTY = b'["mage-snapshot-1",["t",0,0],[],[],[],[],[],[]]'
OTHER = (
    b"[]",
    b"{}",
    b"null",
    b"[" * 9999,
    b'["mage-snapshot-1"]',
    EMPTY.replace(b"-1", b"-2"),
    EMPTY.replace(b"[],[]", b'[],["a"]', 1),
    EMPTY.replace(b"[],[],[],", b'[0],["a","o"],[[0,0,0,[1],"s","subgoal",{"type":"dunno"}]],', 1),
    EMPTY.replace(b"[],[],[],", b'[0],["a","o"],[[0,0,0,[1],"s","dunno",{"type":"passed"}]],', 1),
)


def test_an_empty_state_is_spelled_so() -> None:
    """The spelling that the next test bends is that of a state."""
    assert unpack(EMPTY) == start("t")


@pytest.mark.parametrize("data", OTHER)
def test_another_form_is_no_state(data: bytes) -> None:
    """What is nearly a snapshot is passed over."""
    assert not isinstance(unpack(data), State)


@given(data=st.binary())
def test_other_bytes_are_no_state(data: bytes) -> None:
    """Bytes are passed over, whatever they are."""
    assert not isinstance(unpack(data), State)


def grown(session: Session, steps: int) -> None:
    """Grow steps that differ."""
    for _ in range(steps):
        session.grow(f"a{session.version}", "o")


@both
def test_opening_reads_only_what_is_new(twin: Twin, store: JournalStore) -> None:
    """A session opens from the newest snapshot and the records behind it, and shows the same as without."""
    with twin.open(store, "s", task="t", snapshot_every=10) as session:
        grown(session, 24)
        phase = session.phase
    seen: list[object] = []
    with twin.open(store, "s", snapshot_every=10, on_event=seen.append) as session:
        assert session.phase == phase
    assert seen == [events.Opened("s", 25, 5)]
    with twin.open(store, "s", snapshot_every=None, on_event=seen.append) as session:
        assert session.phase == phase
    assert seen[1:] == [events.Opened("s", 25, 25)]


@both
def test_only_the_newest_is_kept(twin: Twin, store: JournalStore) -> None:
    """Snapshots do not pile up: each takes the place of the one before."""
    kept: list[object] = []
    with twin.open(store, "s", task="t", snapshot_every=5, on_event=kept.append) as session:
        grown(session, 30)
    versions = [event.version for event in kept if isinstance(event, events.SnapshotKept)]
    assert versions == [5, 10, 15, 20, 25, 30]
    assert store.snapshot("s", 29) is None
    newest = store.snapshot("s")
    assert newest is not None
    assert newest.version == 30


def test_they_are_kept_ever_less_often() -> None:
    """On a long journal a snapshot waits for a sixteenth of it to be new: their cost does not add up."""
    kept: list[int] = []

    def hook(event: object) -> None:
        if isinstance(event, events.SnapshotKept):
            kept.append(event.version)

    with Session.open(MemoryStore(), "s", task="t", snapshot_every=1, on_event=hook) as session:
        grown(session, 300)
    gaps = [later - earlier for earlier, later in itertools.pairwise(kept)]
    assert all(gap >= max(1, version // 16) for gap, version in zip(gaps, kept, strict=False))
    assert max(gaps) >= 17


DAMAGES = {
    "digest of another head": lambda store: _keep(store, lambda old: old.data, lambda head: "0" * 64),
    "another state": lambda store: _keep(store, lambda old: _pack_other(), None),
    "a byte more": lambda store: _keep(store, lambda old: old.data + b" ", None),
    "no state, well signed": lambda store: _keep(
        store, lambda old: b"[]", lambda head: snapshot_digest(head, b"[]")
    ),
}


def _pack_other() -> bytes:
    with Session.open(MemoryStore(), "other", task="t") as other:
        grown(other, 3)
        return pack(other.phase)


def _keep(store: JournalStore, data: object, digest: object) -> None:
    old = store.snapshot("s")
    assert old is not None
    new = data(old)  # type: ignore[operator]
    head = next(store.read("s", old.version - 1, old.version)).head
    signed = old.digest if digest is None else digest(head)  # type: ignore[operator]
    store.keep_snapshot("s", old.version, new, signed)


@both
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_one_that_does_not_fit_is_passed_over_and_replaced(
    twin: Twin, store: JournalStore, damage: object
) -> None:
    """Damaged or forged, a snapshot is never believed: the records are read, and the next write replaces it."""
    with twin.open(store, "s", task="t", snapshot_every=10) as session:
        grown(session, 12)
        phase = session.phase
    damage(store)  # type: ignore[operator]
    seen: list[object] = []
    with twin.open(store, "s", snapshot_every=10, on_event=seen.append) as session:
        assert session.phase == phase
        assert seen == [events.Opened("s", 13, 13)]
        grown(session, 1)
        phase = session.phase
    with twin.open(store, "s", snapshot_every=10, on_event=seen.append) as session:
        assert session.phase == phase
        assert seen[-1] == events.Opened("s", 14, 0)


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_byte_is_passed_over(place: int, bit: int) -> None:
    """Wherever a snapshot has a bit flipped, what opens is the state that the records say."""
    store = MemoryStore()
    with Session.open(store, "s", task="t", snapshot_every=3) as session:
        grown(session, 4)
        phase = session.phase
    old = store.snapshot("s")
    assert old is not None
    data = bytearray(old.data)
    data[place % len(data)] ^= 1 << bit
    store.keep_snapshot("s", old.version, bytes(data), old.digest)
    seen: list[object] = []
    with Session.open(store, "s", on_event=seen.append) as session:
        assert session.phase == phase
    assert seen == [events.Opened("s", 5, 5)]


@both
def test_where_none_fits_the_records_are_read(twin: Twin, store: JournalStore) -> None:
    """Several bad ones, down to the first version, are passed over one after the other."""
    with twin.open(store, "s", task="t", snapshot_every=None) as session:
        grown(session, 3)
        phase = session.phase
    for version in (1, 2, 4):
        store.keep_snapshot("s", version, b"[]", "0" * 64)
    seen: list[object] = []
    with twin.open(store, "s", on_event=seen.append) as session:
        assert session.phase == phase
    assert seen == [events.Opened("s", 4, 4)]


@both
def test_an_older_one_that_fits_is_used(twin: Twin, store: JournalStore) -> None:
    """Behind a bad snapshot an older good one still saves its part of the records."""
    with twin.open(store, "s", task="t", snapshot_every=5) as session:
        grown(session, 6)
    store.keep_snapshot("s", 7, b"[]", "0" * 64)
    seen: list[object] = []
    with twin.open(store, "s", on_event=seen.append) as session:
        assert session.version == 7
    assert seen == [events.Opened("s", 7, 2)]


@both
def test_a_redaction_drops_them(twin: Twin, store: JournalStore) -> None:
    """What was taken out of a record does not come back out of a snapshot."""
    with twin.open(store, "s", task="t", snapshot_every=3) as session:
        session.grow("a", "secret")
        grown(session, 3)
    record = next(store.read("s", 1, 2))
    store.replace_parts("s", [redacted(record, [1])])
    with twin.open(store, "s") as session:
        assert "secret" not in repr(session.state())
        assert "[redacted " in session.state().raw[0].observation


def take_out(store: JournalStore, name: str, version: int) -> None:
    """Take the observation out of a step, as `mage redact` does."""
    record = next(store.read(name, version - 1, version))
    store.replace_parts(name, [redacted(record, [1])])


@both
def test_a_live_session_does_not_write_down_what_was_taken_out(twin: Twin, store: JournalStore) -> None:
    """A session that still has a text in memory keeps no snapshot of it, and forgets it when it finds out."""
    seen: list[object] = []
    with twin.open(store, "s", task="t", snapshot_every=4, on_event=seen.append) as session:
        session.grow("a", "secret")
        with session.fork("f") as fork:
            take_out(store, "s", 2)
            grown(session, 2)
            grown(fork, 4)
            for one in (session, fork):
                assert store.snapshot(one.name) is None
                assert "secret" not in repr(one.state())
                head, phase = one.head, one.phase
                with twin.open(store, one.name) as reopened:
                    assert (reopened.head, reopened.phase) == (head, phase)
                grown(one, 1)
                kept = store.snapshot(one.name)
                assert kept is not None
                assert b"secret" not in kept.data
    assert events.SnapshotFailed("s", 4, "OutdatedTexts") in seen


@both
def test_a_refresh_forgets_what_was_taken_out(twin: Twin, store: JournalStore) -> None:
    """Texts that were taken out are gone after a refresh, where nothing was written and where something was."""
    with twin.open(store, "s", task="t") as session, Session.open(store, "s") as other:
        session.grow("a", "secret")
        take_out(store, "s", 2)
        other.refresh()
        assert session.refresh() == other.head
        assert "secret" not in repr(session.state())
        session.grow("b", "another")
        take_out(store, "s", 3)
        other.refresh()
        other.grow("c", "o")
        assert session.refresh() == other.head
        assert "another" not in repr(session.state())
        assert session.phase == other.phase


@both
def test_a_fork_after_a_redaction_keeps_snapshots(twin: Twin, store: JournalStore) -> None:
    """What was taken out before the fork, and is known, keeps no snapshot from being kept."""
    seen: list[object] = []
    with twin.open(store, "s", task="t", snapshot_every=2, on_event=seen.append) as session:
        session.grow("a", "secret")
        take_out(store, "s", 2)
        session.refresh()
        with session.fork("f") as fork:
            grown(fork, 2)
    assert isinstance(seen[-1], events.SnapshotKept)
    assert not [event for event in seen if isinstance(event, events.SnapshotFailed)]


@both
def test_what_cannot_be_forgotten_yet_harms_nothing(twin: Twin) -> None:
    """Where the journal cannot be read anew just then, the command stands, and a refresh forgets later."""

    class Unreadable:
        def __init__(self) -> None:
            self.inner = MemoryStore()
            self.gone = False

        def read(self, *given: object) -> object:
            if self.gone:
                raise StoreUnavailable("gone")
            return self.inner.read(*given)  # type: ignore[arg-type]

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    store = Unreadable()
    with twin.open(store, "s", task="t", snapshot_every=3) as session:
        session.grow("a", "secret")
        take_out(store.inner, "s", 2)
        store.gone = True
        grown(session, 1)
        assert session.version == 3
        store.gone = False
        session.refresh()
        assert "secret" not in repr(session.state())


@both
def test_forks_use_their_ancestors(twin: Twin, store: JournalStore) -> None:
    """A fork opens from a snapshot of what it was forked from, and does not keep one more at once."""
    with twin.open(store, "s", task="t", snapshot_every=10) as session:
        grown(session, 12)
        with session.fork("f") as fork:
            grown(fork, 1)
            phase = fork.phase
    seen: list[object] = []
    with twin.open(store, "f", snapshot_every=10, on_event=seen.append) as fork:
        assert fork.phase == phase
    assert seen == [events.Opened("f", 14, 4)]


@both
def test_one_that_cannot_be_kept_harms_nothing(twin: Twin) -> None:
    """Where there is no room for a snapshot, the command stands and the session goes on."""

    class Full:
        def __init__(self) -> None:
            self.inner = MemoryStore()

        def keep_snapshot(self, *given: object, **named: object) -> None:
            raise StoreUnavailable("no room")

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    seen: list[object] = []
    with twin.open(Full(), "s", task="t", snapshot_every=2, on_event=seen.append) as session:
        grown(session, 3)
        assert session.version == 4
    assert events.SnapshotFailed("s", 2, "StoreUnavailable") in seen


@both
def test_a_snapshot_of_a_version_to_come_is_not_used_for_an_earlier_one(
    twin: Twin, store: JournalStore
) -> None:
    """`at(v)` starts from a snapshot at or before v."""
    with twin.open(store, "s", task="t", snapshot_every=4) as session:
        session.grow("a", "o")
        session.compress("s")
        session.judge(Passed())
        grown(session, 3)
        for version in range(1, session.version + 1):
            assert session.at(version).version == version
        assert session.at(3).phase.tree.head_summary.text == "s"


def test_snapshots_of_others_are_seen_as_such() -> None:
    """A snapshot with a version beyond what was asked for is not used, whatever a store answers."""

    class Wrong:
        def __init__(self) -> None:
            self.inner = MemoryStore()

        def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
            return Snapshot(99, b"", "")

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    store = Wrong()
    with Session.open(store, "s", task="t") as session:  # type: ignore[arg-type]
        grown(session, 2)
    with Session.open(store, "s") as session:  # type: ignore[arg-type]
        assert session.version == 3
