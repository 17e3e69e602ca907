"""The room that a journal and its forks take on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.lines import Line
from benchmarks.stores.content import payload, steps
from benchmarks.stores.keepers import bytes_in
from benchmarks.work import TASK
from mage import Session

STEPS: Final = 1_000
FORKS: Final = 100


def room(directory: Path) -> Iterator[Line]:
    """Measure the file of 1,000 steps, and what 100 forks of it add: at every tenth version."""
    url = f"sqlite:///{directory / 'work.db'}"
    kept = steps(STEPS)
    with Session.open(url, "s", task=TASK) as session:
        for action, observation in kept:
            session.grow(action, observation)
    alone, texts = bytes_in(directory), payload(kept)
    limit = "at most 1.5x and 200,000 B"
    yield Line(
        f"file of {STEPS:,} steps", alone, texts, "B", "payload", limit, alone <= 1.5 * texts + 200_000
    )
    with Session.open(url, "s") as session:
        for number in range(FORKS):
            session.fork(f"fork {number}", at=1 + STEPS // FORKS * (number + 1)).close()
    added = bytes_in(directory) - alone
    held = added < 100_000 and _forks_hold(url)
    yield Line(f"{FORKS} forks of it add", added, texts, "B", "payload", "under 100,000 B", held)


def _forks_hold(url: str) -> bool:
    """Tell whether each fork shows as many steps as it should."""
    for number in range(FORKS):
        with Session.open(url, f"fork {number}") as fork:
            if len(fork.state().raw) != STEPS // FORKS * (number + 1):
                return False
    return True
