"""A crowd on one SQLite file: `python -m tests.stores.crowding PATH SECONDS KILLS SEED`.

Eight processes of four threads each open the store again and again, several times at once, beside others that
only look at it (sessions, the doctor) and close it. Each writes down what was acknowledged to it, in a file of
its own, as soon as it was. Processes are killed and replaced meanwhile. At the end everything that was
acknowledged must be there at its version, under its digest, and the file sound.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TextIO

from mage.session import Session
from mage.stores import Conflict, JournalStore, StoreUnavailable, open_store
from mage.stores.doctor import examine, kept_at
from mage.testing.stores import expect, expect_equal

PROCESSES: Final = 8
THREADS: Final = 4
SHARED: Final = "shared"


def crowd(path: Path, seconds: float, kills: int, seed: int) -> str:
    """Let the crowd loose in an empty folder, and check what is there afterwards; return what was seen."""
    expect_equal(os.listdir(path.parent), [], "what another crowd has left in the folder")
    chance = random.Random(seed)
    Session.open(_url(path), SHARED, task="everybody's").close()
    numbers = iter(range(10**6))
    running = [_started(path, seconds, next(numbers), seed) for _ in range(PROCESSES)]
    end = time.monotonic() + seconds
    killed = 0
    while (left := end - time.monotonic()) > 0:
        if killed >= kills:
            break
        _wait(running, left / (kills - killed + 1))
        victim = chance.randrange(PROCESSES)
        if running[victim].poll() is None:
            running[victim].send_signal(signal.SIGKILL)
            killed += 1
        running[victim].wait()
        running[victim] = _started(path, max(0.0, end - time.monotonic()), next(numbers), seed)
    for process in running:
        expect_equal(process.wait(), 0, "how a process ended that was not killed")
    return f"{killed} kills, {_checked(path)}"


def _wait(running: list[subprocess.Popen[bytes]], seconds: float) -> None:
    """Wait for a while, or until a process has ended."""
    try:
        running[0].wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _started(path: Path, seconds: float, number: int, seed: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.stores.crowding", "work", str(path), str(seconds), str(number)]
    return subprocess.Popen([*command, str(seed)])


def _url(path: Path) -> str:
    return f"sqlite:///{path}"


def work(path: Path, seconds: float, number: int, seed: int) -> None:
    """Be one process of the crowd."""
    end = time.monotonic() + seconds
    with ThreadPoolExecutor(THREADS) as pool:
        for each in [pool.submit(_be, path, end, f"{number}.{thread}", seed) for thread in range(THREADS)]:
            each.result()


def _be(path: Path, end: float, me: str, seed: int) -> None:
    chance = random.Random(f"{seed} {me}")
    with open(path.with_name(f"acknowledged.{me}"), "a", encoding="ascii") as told:
        while time.monotonic() < end:
            _visit(path, me, told, chance)


def _visit(path: Path, me: str, told: TextIO, chance: random.Random) -> None:
    """Open the store, up to three times at once; write, and look."""
    with ExitStack() as stack:
        for name in [f"own {me}"] * chance.randrange(1, 4) + [SHARED]:
            store = stack.enter_context(open_patiently(_url(path)))
            session = stack.enter_context(Session.open(store, name, task=None if name == SHARED else me))
            _write(session, told, chance)
        if chance.random() < 0.2:
            with open_patiently(_url(path)) as store:
                expect(bool(store.journals()), "no journal is there")
        if chance.random() < 0.02:
            _examine(path)


def open_patiently(url: str) -> JournalStore:
    """Open a store with much patience: SQLite's queue is not fair, and here only who is killed may fail."""
    return open_store(url, patience=120)


def _write(session: Session, told: TextIO, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 6)):
        try:
            session.refresh()
            session.grow(f"act {chance.random()}", "seen " * chance.randrange(1, 40))
        except Conflict:
            continue
        told.write(f"{session.name}\t{session.version}\t{session.head.digest}\n")
        told.flush()


def _examine(path: Path) -> None:
    """Look at it as the doctor does, in this very process, while others write."""
    try:
        with kept_at(_url(path)) as kept:
            expect_equal(examine(kept).findings, (), "what the doctor finds")
    except StoreUnavailable as busy:
        expect("written all the time" in str(busy), str(busy))


def _acknowledged(place: Path) -> Iterator[tuple[str, int, str]]:
    for file in sorted(place.glob("acknowledged.*")):
        for line in file.read_text(encoding="ascii").split("\n")[:-1]:
            name, version, digest = line.split("\t")
            yield name, int(version), digest


def _checked(path: Path) -> str:
    told = list(_acknowledged(path.parent))
    expect(len({(name, version) for name, version, _ in told}) == len(told), "a version was given twice")
    with open_store(_url(path)) as store:
        there: set[tuple[str, int, str]] = set()
        for name in {name for name, _, _ in told}:
            there.update((name, record.version, record.digest) for record in store.read(name))
    lost = set(told) - there
    expect_equal(len(lost), 0, f"of {len(told)} that were acknowledged, so many are lost")
    with kept_at(_url(path)) as kept:
        expect_equal(examine(kept).findings, (), "what the doctor finds")
    connection = sqlite3.connect(path)
    (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    expect_equal(sound, "ok", "what SQLite says of the file")
    expect_equal(sorted(os.listdir(path.parent), key=str)[-1], path.name, "what is left beside the file")
    return f"{len(told)} acknowledged, 0 lost, {len(there)} records, sound"


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    else:
        print(crowd(Path(sys.argv[1]).resolve(), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
