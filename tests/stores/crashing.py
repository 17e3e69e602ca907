"""Writers that are killed: `python -m tests.stores.crashing URL KILLS SEED`, or `... URL each`.

One process forks a child that writes and reports each thing that was acknowledged, through a pipe; kills it
with SIGKILL, at a moment of chance or at its next statement but one (but two, ...); opens the store and looks:
what was acknowledged is there, what was not is there as a whole or not at all, nothing else has changed.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final

from mage.engine import State
from mage.stores import (
    NOTHING,
    Conflict,
    Head,
    JournalStore,
    StoreError,
    UnknownJournal,
    fold,
    redacted,
    verify,
)
from mage.stores import open_store as open_hastily
from mage.stores.opening import database_at
from mage.testing.stores import chain, expect, expect_equal, following, state_of
from tests.stores.moments import MOMENTS, Moments, opened

MAIN: Final = "main"


def open_store(url: str) -> JournalStore:
    """Open a store with much patience: here only who is killed may fail."""
    return open_hastily(url, patience=60)


def write_until_killed(url: str, turn: int, tell: Callable[[str], None]) -> None:
    """Append batches, fork and delete forks until the end, telling each that was acknowledged."""
    chance = random.Random(turn)
    with open_store(url) as store:
        head = store.head(MAIN)
        for batch in count():
            size = chance.randrange(1, 4)
            head = append_batch(store, head, [f"{turn} {batch} {number} {size}" for number in range(size)])
            tell(f"batch {turn} {batch} {head.version}")
            if batch % 3 == 2:
                store.fork(MAIN, f"fork {turn} {batch}", head.version)
                tell(f"fork {turn} {batch} {head.version}")
            if batch % 6 == 5:
                store.delete(f"fork {turn} {batch - 3}")
                tell(f"deleted {turn} {batch - 3} 0")


def append_batch(store: JournalStore, head: Head, texts: list[str]) -> Head:
    """Append steps, behind what a writer that was killed may have left on its way to the server."""
    while True:
        try:
            return store.append(MAIN, head, following(head, *texts))
        except Conflict as conflict:
            head = conflict.found


def in_child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Fork a child that does the work; return its process and where to read what it tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    try:
        work(lambda line: void(os.write(writing, f"{line}\n".encode())))
    except StoreError:
        traceback.print_exc()
        os._exit(1)
    finally:
        os._exit(0 if sys.exc_info()[0] is None else 2)


def void(_: object) -> None:
    """Return nothing."""


def told_before_kill(child: int, reading: int, chance: random.Random) -> list[str]:
    """Kill the child at a moment of chance, and return all that it told."""
    data = b""
    lines = chance.randrange(12)
    while data.count(b"\n") < lines:
        more = os.read(reading, 4096)
        expect(bool(more), "the writer has ended by itself: see what it said")
        data += more
    select.select([], [], [], chance.random() * 0.004)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return (data + rest_of(reading)).decode().split("\n")[:-1]


def rest_of(reading: int) -> bytes:
    """Return what is left in a pipe, and close it."""
    data = b""
    while more := os.read(reading, 4096):
        data += more
    os.close(reading)
    return data


def check_batches(store: JournalStore, state: State, before: Head, told: list[str]) -> tuple[State, Head]:
    """Check what is new behind a head; return where it leads."""
    head = store.head(MAIN)
    records = tuple(verify(before, store.read(MAIN, before.version, head.version), head))
    batches: dict[tuple[str, str], list[str]] = {}
    last: dict[tuple[str, str], int] = {}
    for record in records:
        turn, batch, number, size = record.parts[0].text.split()
        expect_equal(number, str(len(batches.setdefault((turn, batch), []))), "the order in a batch")
        batches[turn, batch].append(size)
        last[turn, batch] = record.version
    for key, sizes in batches.items():
        expect_equal(len(sizes), int(sizes[0]), f"the records of batch {key}")
    acknowledged = [line.split()[1:] for line in told if line.startswith("batch")]
    for turn, batch, version in acknowledged:
        expect_equal(last.get((turn, batch)), int(version), f"where batch {turn} {batch} is")
    expect(len(batches) <= len(acknowledged) + 2, "more is there than was being written")
    return fold(records, state), head


def check_forks(store: JournalStore, told: list[str], there: dict[str, int]) -> None:
    """Check that forks that were acknowledged are there, and those whose deletion was are not."""
    for line in told:
        what, turn, batch, version = line.split()
        name = f"fork {turn} {batch}"
        if what == "fork":
            there[name] = int(version)
        elif what == "deleted":
            del there[name]
            expect(not is_there(store, name), f"{name} was deleted, and is there")
    for name, at in list(there.items())[-4:]:
        if is_there(store, name):
            expect_equal(store.head(name).version, at, f"the head of {name}")
        else:  # its deletion was on its way
            turn, batch = name.split()[1:]
            expect_equal(told[-1].split()[:3], ["fork", turn, str(int(batch) + 3)], f"{name} is gone after")
            del there[name]


def is_there(store: JournalStore, name: str) -> bool:
    """Tell whether there is a journal of this name."""
    try:
        store.head(name)
    except UnknownJournal:
        return False
    return True


def kill_at_random(url: str, kills: int, seed: int) -> None:
    """Kill so many writers, one after the other, each at a moment of chance."""
    chance = random.Random(seed)
    with open_store(url) as store:
        head = store.create(MAIN, chain(1))
        state = state_of(store, MAIN)
    forks: dict[str, int] = {}
    acknowledged = 0
    for turn in range(kills):
        child, reading = in_child(partial(write_until_killed, url, turn))
        told = told_before_kill(child, reading, chance)
        acknowledged += len(told)
        with open_store(url) as store:
            state, head = check_batches(store, state, head, told)
            check_forks(store, told, forks)
    with open_store(url) as store:
        expect_equal(fold(verify(NOTHING, store.read(MAIN))), state, "the state, folded anew")
    print(f"{kills} kills, {acknowledged} operations acknowledged, {head.version} records")


def write_once(url: str, turn: int, tell: Callable[[str], None]) -> None:
    """Do everything once that a store does, telling each that was acknowledged; die at moment `turn`."""
    moments = Moments(database_at(url, patience=60))
    die_at(turn, moments)
    name = f"journal {turn}"
    with opened(moments) as store:
        records = chain(3)
        head = store.create(name, records)
        tell("created 3")
        head = store.append(name, head, following(head, "x", "y"))
        tell("appended 5")
        store.fork(name, f"{name} fork", 4)
        tell("forked 4")
        store.keep_snapshot(name, 2, b"x", "d")
        tell("kept 2")
        store.replace_parts(name, [redacted(records[1], [0])])
        tell("redacted 0")
        store.delete(f"{name} fork")
        tell("deleted 0")


def die_at(number: int, moments: Moments) -> None:
    """Let this process kill itself at its so-many-th moment around a statement, a begin or a commit."""
    numbers = count(1)

    def moment(*_: object) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    moments.hear(moment, *MOMENTS)


def kill_at_each(url: str) -> None:
    """Kill a writer at each moment around a statement, until one gets through."""
    for turn in count(1):
        child, reading = in_child(partial(write_once, url, turn))
        told = rest_of(reading).decode().split()[::2]
        _, status = os.waitpid(child, 0)
        check_once(url, f"journal {turn}", told)
        if not os.WIFSIGNALED(status):
            expect_equal((os.waitstatus_to_exitcode(status), len(told)), (0, 6), "the end of the last writer")
            break
    print(f"killed at each of {turn - 1} moments")


def check_once(url: str, name: str, told: list[str]) -> None:
    """Check what one writer has left: what was acknowledged, and the next as a whole or not at all."""
    with open_store(url) as store:
        done = len(told)
        if not is_there(store, name):
            expect_equal(told, [], "acknowledged of a journal that is not there")
            return
        version = len(tuple(verify(NOTHING, store.read(name), store.head(name))))
        state_of(store, name)
        expect(version in {0: (3,), 1: (3, 5)}.get(done, (5,)), f"{version} records after {told}")
        fork = is_there(store, f"{name} fork")
        expect(
            fork in {2: (True, False), 3: (True,), 4: (True,), 5: (True, False)}.get(done, (False,)),
            "the fork",
        )
        first = next(store.read(name, 1, 2)).parts[0].text
        expect(first.startswith("[redacted") or done < 5, "what was taken out is there")
        kept = store.snapshot(name)
        expect(kept is None or not first.startswith("[redacted"), "a snapshot of what was taken out")
        if done == 4 and not first.startswith("[redacted"):
            expect(kept is not None, "the snapshot is gone")


if __name__ == "__main__":
    if sys.argv[2] == "each":
        kill_at_each(sys.argv[1])
    else:
        kill_at_random(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
