"""One run, one table, and an exit status: do the numbers that the stores and sessions promise hold here?

    python -m benchmarks.stores [--peers] [--at DIRECTORY]

../README.md says what each line means. Exit status 0 where every line with a limit holds, else 1. A machine can be
busy, which only makes it slower: what does not hold is measured again, up to twice, all of its lines are printed again,
and a limit holds that has held in one of the measurements. Peers that
are not installed are passed over with a line; with `--peers` that is exit status 1 too.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.lines import Line
from benchmarks.report import row
from benchmarks.stores.opening import opening
from benchmarks.stores.peers import missing
from benchmarks.stores.room import room
from benchmarks.stores.stepping import beside_bare, beside_langgraph, beside_list, in_postgres
from tests.stores.postgres import absent

Measurement: TypeAlias = Callable[[Path], Iterator[Line]]


_MORE: Final = 2
"""How often what does not hold is measured once more."""


def main(arguments: list[str] | None = None) -> int:
    """Measure all, print each line as it is known, and return the exit status."""
    parser = argparse.ArgumentParser(description="What stores and sessions cost, with the limits that hold.")
    parser.add_argument("--peers", action="store_true", help="fail where a peer is not installed")
    parser.add_argument("--at", type=Path, help="where the files are made; the disk that is measured")
    asked = parser.parse_args(arguments)
    _say(_heading())
    absent_peers = missing()
    broken = int(asked.peers and bool(absent_peers))
    for measure in _measurements(absent_peers):
        failed = _measured(measure, asked.at)
        for _ in range(_MORE):
            if failed:
                _say("once more, for a busy machine only makes it slower:")
                failed &= _measured(measure, asked.at)
        broken += len(failed)
    if absent_peers:
        _say(f"passed over, not installed: {', '.join(absent_peers)} (pip install --group peers)")
    _say(f"{broken} limits do not hold" if broken else "every limit holds")
    return int(broken > 0)


def _measured(measure: Measurement, place: Path | None) -> set[tuple[int, str]]:
    """Print what is measured, and return the lines whose limit does not hold: their places and names."""
    broken: set[tuple[int, str]] = set()
    with tempfile.TemporaryDirectory(prefix="mage-bench-", dir=place) as directory:
        for place_of_line, line in enumerate(measure(Path(directory))):
            _say(row(line))
            if not line.holds:
                broken.add((place_of_line, line.name))
    return broken


def _measurements(absent_peers: list[str]) -> Iterator[Measurement]:
    yield room
    yield opening  # before the peers are imported: Python's garbage collector would look at all that they hold
    yield beside_bare if "agents" in absent_peers else beside_list
    if not any(package.startswith("langgraph") for package in absent_peers):
        yield beside_langgraph
    reason = absent()
    if reason is None:
        yield in_postgres
    else:
        _say(f"passed over: {reason}")


def _heading() -> str:
    when = datetime.now(tz=UTC).date().isoformat()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    with closing(sqlite3.connect(":memory:")) as connection:
        synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
    return (
        f"{when}, {python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores\n"
        f"SQLite {sqlite3.sqlite_version}, write-ahead log; mage asks for synchronous 2 (FULL), and the peers for"
        f" none: the default is {synchronous} here"
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
