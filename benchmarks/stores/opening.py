"""How long a journal of 100,000 commands takes to open: every record verified, and from a snapshot.

Beside each stands the least that could be done by hand with the same rows: the chain of digests computed over
what SELECT and `json.loads` give, without a tree; and the bytes of the snapshot read and parsed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

from benchmarks.clock import runs_in_turn
from benchmarks.lines import Line
from benchmarks.stores.content import SIZE, create_long
from mage import ExecutionState, Session
from mage.session import Event, events
from mage.stores import NOTHING, JournalStore, open_store

COMMANDS: Final = 100_000
REPETITIONS: Final = 5


def opening(directory: Path) -> Iterator[Line]:
    """Time the opening of such a journal up to S; first with short steps, then with long ones."""
    for size in (48, SIZE):
        path = directory / f"steps of {size}.db"
        with open_store(f"sqlite:///{path}") as store:
            create_long(store, "s", COMMANDS - 1, size)
            with Session.open(store, "s") as session:
                session.grow("one more", "and the snapshot is kept")
            yield from _lines(store, path, size)
        path.unlink()


def _lines(store: JournalStore, path: Path, size: int) -> Iterator[Line]:
    sides: list[Callable[[JournalStore], object]] = [
        lambda given: _opened(given, None),
        lambda _: _chained(path),
        lambda given: _opened(given, 4096),
        lambda _: _parsed(path),
    ]
    times = runs_in_turn(sides, lambda: store, REPETITIONS, collect=True)
    verified, chained, at_once, parsed = (time / 1e6 for time in times)
    same = _opened(store, None) == _opened(store, 4096)
    name = f"{COMMANDS:,} commands, steps of {size} B, verified"
    yield Line(name, verified, chained, "ms", "chain alone", "under 3 s", same and verified < 3000)
    yield Line(
        "  the same, from a snapshot",
        at_once,
        parsed,
        "ms",
        "parsed alone",
        "under 0.5 s",
        same and at_once < 500,
    )


def _opened(store: JournalStore, snapshot_every: int | None) -> ExecutionState:
    told: list[Event] = []
    with Session.open(store, "s", snapshot_every=snapshot_every, on_event=told.append) as session:
        replayed = COMMANDS if snapshot_every is None else 0
        if told != [events.Opened("s", COMMANDS, replayed)]:
            raise RuntimeError(f"{told} is not how it should be opened")
        return session.state()


def _chained(path: Path) -> str:
    digest = NOTHING.digest
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT version, body, parts, digest FROM mage_records ORDER BY version")
        for version, body, parts, found in rows:
            texts = iter(json.loads(parts))
            digests = [
                sha256((salt + text).encode()).hexdigest() for salt, text in zip(texts, texts, strict=True)
            ]
            digest = sha256("\n".join([digest, str(version), body, *digests]).encode()).hexdigest()
            if digest != found.hex():
                raise RuntimeError(f"record {version} is not sound")
    return digest


def _parsed(path: Path) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return json.loads(connection.execute("SELECT data FROM mage_snapshots").fetchone()[0])
