"""A journal of 100,000 commands: opened and verified in seconds, from a snapshot at once (issue 4)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mage import ApplyVerdict, Command, Compress, Grow, Passed, Session, Start, State, Unverified, apply
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


def least_time(store: JournalStore, name: str, snapshot_every: int | None) -> tuple[float, State, Event]:
    """Return the least processor time of three openings up to S, the state, and what was told of it."""
    times: list[float] = []
    seen: list[Event] = []
    phases: list[State] = []
    for _ in range(3):
        began = time.process_time()
        with Session.open(store, name, snapshot_every=snapshot_every, on_event=seen.append) as session:
            shown = session.state()
            times.append(time.process_time() - began)
            assert len(shown.compressed) > 4_000
            phases[:] = [session.phase]
    assert set(seen) == {seen[0]}
    return min(times), phases[0], seen[0]


@pytest.mark.slow
def test_a_long_journal_opens_fast(store: JournalStore) -> None:
    """Every record verified in under 3 s; S is there from a snapshot in under 0.5 s, and it is the same S."""
    verified, replayed, told = least_time(store, "s", None)
    assert told == events.Opened("s", COMMANDS + 1, COMMANDS + 1)
    at_once, packed, told = least_time(store, "s", 4096)
    assert told == events.Opened("s", COMMANDS + 1, 0)
    assert packed == replayed
    assert verified < 3
    assert at_once < 0.5


@pytest.mark.slow
def test_the_longest_tail_still_opens_fast(store: JournalStore) -> None:
    """With as many records behind the snapshot as there ever are, a sixteenth of all, it is under 0.5 s too."""
    with Session.open(store, "s") as session, session.fork("tail") as fork:
        behind = session.version // 16
        for number in range(behind):
            fork.grow(f"step {number}", "short")
        last = fork.version
    at_once, _, told = least_time(store, "tail", 4096)
    assert told == events.Opened("tail", last, behind)
    assert at_once < 0.5
