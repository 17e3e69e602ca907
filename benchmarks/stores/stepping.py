"""What a durable step costs, beside a bare row, beside a plain list, beside LangGraph, and in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.lines import Line
from benchmarks.stores.content import steps
from benchmarks.stores.keepers import Awaited, Bare, BarePostgres, Mage, Maker
from benchmarks.stores.peers import LANGGRAPH, LANGGRAPH_DELTA, LANGGRAPH_TUPLES, PEERS, PLAIN_LIST
from benchmarks.stores.turns import Seen, kept_in_turn
from tests.stores.postgres import cluster

STEPS: Final = 1_000
LAST: Final = 100
"""Steps at the end of the run that stand for step 1,000."""
READINGS: Final = 11
_OURS: Final = "mage"
_AWAITED: Final = "awaited"
_BARE: Final = "bare row"


def _run(makers: Mapping[str, Maker], directory: Path, count: int = STEPS) -> dict[str, Seen]:
    return asyncio.run(kept_in_turn(makers, steps(count), directory, readings=READINGS))


def beside_bare(directory: Path) -> Iterator[Line]:
    """Compare a step with a bare INSERT and COMMIT of its texts, where there are no peers."""
    seen = _run({_OURS: Mage, _BARE: Bare}, directory)
    yield from _steps("a durable step", seen[_OURS], seen[_BARE], _BARE)
    yield _read("opened and read", seen[_OURS], seen[_BARE], _BARE)


def beside_list(directory: Path) -> Iterator[Line]:
    """Compare a step with one of a plain list, and both with a bare INSERT and COMMIT."""
    makers = {_OURS: Mage, PLAIN_LIST: PEERS[PLAIN_LIST], _AWAITED: Awaited, _BARE: Bare}
    seen = _run(makers, directory)
    ours, beside = seen[_OURS], seen[PLAIN_LIST]
    by_clock, by_processor = _steps("a durable step", ours, beside, PLAIN_LIST)
    held = ours.step() <= 1.5 * beside.step()
    yield Line(by_clock.name, ours.step(), beside.step(), "us", PLAIN_LIST, "at most 1.5x", held)
    yield by_processor
    yield from _steps("a durable step, awaited", seen[_AWAITED], beside, PLAIN_LIST)
    yield from _steps("a durable step", ours, seen[_BARE], _BARE)
    yield Line(f"{STEPS:,} steps on disk", ours.size, beside.size, "B", PLAIN_LIST)
    yield _read(f"{STEPS:,} steps opened and read", ours, beside, PLAIN_LIST)


def beside_langgraph(directory: Path) -> Iterator[Line]:
    """Compare step 1,000, the room on disk and the reading with LangGraph's.

    The limits are on the state that its documents show.
    """
    peers = (LANGGRAPH, LANGGRAPH_TUPLES, LANGGRAPH_DELTA)
    seen = _run({_OURS: Mage, **{peer: PEERS[peer] for peer in peers}}, directory)
    ours = seen[_OURS]
    for peer in peers:
        beside, limited = seen[peer], peer == LANGGRAPH
        faster, smaller = beside.step(LAST) / ours.step(LAST), beside.size / ours.size
        yield Line(
            f"a durable step at step {STEPS:,}",
            ours.step(LAST),
            beside.step(LAST),
            "us",
            peer,
            f"{faster:.1f}x faster, at least 5x" if limited else "",
            not limited or faster >= 5,
        )
        yield Line("  the same, processor time", ours.work(LAST), beside.work(LAST), "us", peer)
        yield Line(
            f"{STEPS:,} steps on disk",
            ours.size,
            beside.size,
            "B",
            peer,
            f"{smaller:.0f}x smaller, at least 100x" if limited else "",
            not limited or smaller >= 100,
        )
        yield _read(f"{STEPS:,} steps opened and read", ours, beside, peer)


def in_postgres(directory: Path) -> Iterator[Line]:
    """Compare a step in PostgreSQL with a bare INSERT and COMMIT there."""
    with cluster() as server:
        makers: dict[str, Maker] = {
            _OURS: partial(Mage, url=server.room("ours")),
            _BARE: partial(BarePostgres, url=server.room("bare")),
        }
        seen = _run(makers, directory)
    yield from _steps("a durable step, PostgreSQL", seen[_OURS], seen[_BARE], _BARE)
    yield _read(f"{STEPS:,} steps opened and read, PostgreSQL", seen[_OURS], seen[_BARE], _BARE)


def _steps(name: str, ours: Seen, beside: Seen, against: str) -> tuple[Line, Line]:
    return (
        Line(name, ours.step(), beside.step(), "us", against),
        Line("  the same, processor time", ours.work(), beside.work(), "us", against),
    )


def _read(name: str, ours: Seen, beside: Seen, against: str) -> Line:
    return Line(name, ours.read(), beside.read(), "ms", against)
