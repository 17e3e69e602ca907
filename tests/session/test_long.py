"""A journal of 100,000 commands: what is read of it when it is opened, with and without a snapshot (issue 4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mage import Passed, Session
from mage.engine import ApplyVerdict, Command, Compress, Grow, Start, State, Unverified, apply
from mage.session import Event, events
from mage.stores import NOTHING, JournalStore, Record, draft, open_store, random_salt, seal

COMMANDS = 100_000
AT_ONCE = 5_000


def records() -> Iterator[Record]:
    """Yield a start, steps, and after each twenty of them a summary that passes."""
    state: State | None = None
    head = NOTHING
    for version in range(1, COMMANDS + 1):
        command = _next(state, version)
        record = seal(head, draft(state, command, {"at": version}), random_salt)
        state, head = apply(state, command).unwrap(), record.head
        yield record


def _next(state: State | None, version: int) -> Command:
    if state is None:
        return Start("a long one")
    if isinstance(state, Unverified):
        return ApplyVerdict(Passed(), state.digest)
    if version % 22 == 0:
        return Compress(f"what the steps before {version} achieved")
    return Grow(f"search[item {version}]", f"item {version} is in aisle {version % 97}, at ${version % 1009}")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JournalStore]:
    """A SQLite file that holds the journal."""
    with open_store(f"sqlite:///{_file(tmp_path_factory)}") as opened:
        run: list[Record] = []
        head = None
        for record in records():
            run.append(record)
            if len(run) == AT_ONCE:
                head = opened.create("s", run) if head is None else opened.append("s", head, run)
                run = []
        with Session.open(opened, "s") as session:
            session.grow("one more", "which is when the snapshot is kept")
        yield opened


def _file(places: pytest.TempPathFactory) -> Path:
    return places.mktemp("long") / "work.db"


def opened_as(store: JournalStore, name: str, snapshot_every: int | None) -> tuple[State, Event]:
    """Open a session up to S, and return its state and what was told of the opening."""
    seen: list[Event] = []
    with Session.open(store, name, snapshot_every=snapshot_every, on_event=seen.append) as session:
        assert len(session.state().compressed) > 4_000
        return session.phase, seen[0]


@pytest.mark.slow
def test_a_long_journal_is_read_once_or_not_at_all(store: JournalStore) -> None:
    """Without snapshots every record is verified, from a snapshot none is read; it is the same S.

    How long that takes is measured by `make bench-stores`.
    """
    replayed, told = opened_as(store, "s", None)
    assert told == events.Opened("s", COMMANDS + 1, COMMANDS + 1)
    packed, told = opened_as(store, "s", 4096)
    assert told == events.Opened("s", COMMANDS + 1, 0)
    assert packed == replayed


@pytest.mark.slow
def test_the_longest_tail_is_a_sixteenth(store: JournalStore) -> None:
    """There are never more records behind the snapshot than a sixteenth of all, and only these are read."""
    with Session.open(store, "s") as session, session.fork("tail") as fork:
        behind = session.version // 16
        for number in range(behind):
            fork.grow(f"step {number}", "short")
        last = fork.version
    _, told = opened_as(store, "tail", 4096)
    assert told == events.Opened("tail", last, behind)
