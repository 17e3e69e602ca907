"""The tests of the kill suite, as they are on the engine without a mutant: how long, and which lines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, final

import attrs
import coverage
import pytest
from _pytest.runner import runtestprotocol

from specs.mutants.generate import ENGINE, ROOT, Mutant

KILL_SUITE: Final = ("tests/engine", "tests/codec/test_golden.py")
LEFT_OUT: Final = (
    "test_same_journal_same_state",  # its second process would run the engine without the mutant
    "test_long_chain.py",  # what it shows beyond the others is depth, and that is dear
)
"""What of those files is not in the suite, and why; nor is a test that is marked slow or shared."""


class BrokenSuite(RuntimeError):
    """The suite cannot tell mutants from the engine: it fails, or cannot be run, without any mutant."""


@final
@attrs.frozen
class Known:
    """A test that passes on the engine.

    Attributes:
        item: the test, for pytest.
        seconds: how long it takes, of processor time.
        lines: the lines of the engine that it runs, by file.
    """

    item: pytest.Item
    seconds: float
    lines: frozenset[tuple[str, int]] = attrs.field(repr=False)

    def reaches(self, mutant: Mutant) -> bool:
        """Tell whether it runs a line of the statement that was changed."""
        first, last = mutant.lines
        return any((mutant.name.file, line) in self.lines for line in range(first, last + 1))


def selected(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that are in the suite."""
    return [
        item
        for item in items
        if item.get_closest_marker("slow") is None
        and item.get_closest_marker("shared") is None
        and not {item.name.partition("[")[0], item.path.name}.intersection(LEFT_OUT)
    ]


def observe(items: list[pytest.Item], jobs: int) -> list[Known]:
    """Run every test once; return them, the cheapest first. Forks do it, so that it leaves nothing behind.

    Raises:
        BrokenSuite: one fails.
    """
    parts = [items[start::jobs] for start in range(jobs)]
    readers: list[int] = []
    for part in parts:
        reader, writer = os.pipe()
        if not os.fork():
            _tell(part, writer)
        os.close(writer)
        readers.append(reader)
    known: list[Known] = []
    for part, reader in zip(parts, readers, strict=True):
        with os.fdopen(reader, encoding="utf-8") as told:
            lines = told.read().splitlines()
        os.wait()
        if len(lines) != len(part) or (lines and lines[-1].startswith(_FAILED)):
            raise BrokenSuite("\n".join(["a test fails without any mutant", *lines[-1:]]))
        known += map(_read, part, lines)
    return sorted(known, key=lambda test: test.seconds)


_FAILED: Final = "!"


def _tell(items: list[pytest.Item], writer: int) -> None:
    """Be a fork that runs these tests and writes a line each; never return."""
    try:
        silence()
        with os.fdopen(writer, "w", encoding="utf-8") as told:
            told.writelines(f"{line}\n" for line in _observed(items))
    finally:
        os._exit(0)


def _observed(items: list[pytest.Item]) -> Iterator[str]:
    watch = coverage.Coverage(data_file=None, include=[f"{ROOT / ENGINE}/*"], config_file=False)
    watch.start()
    for item in items:
        watch.switch_context(item.nodeid)
        began = time.process_time()
        failed = failure_of(item)
        seconds = time.process_time() - began
        if failed:
            yield f"{_FAILED}{item.nodeid}: {failed!r}"
            return
        data = watch.get_data()
        data.set_query_context(item.nodeid)
        ran = [
            f"{Path(file).relative_to(ROOT)}:{line}"
            for file in data.measured_files()
            for line in data.lines(file) or ()
        ]
        yield "\t".join((f"{seconds:.6f}", *ran))
    watch.stop()


def _read(item: pytest.Item, line: str) -> Known:
    seconds, *places = line.split("\t")
    lines = (place.rpartition(":") for place in places)
    return Known(item, float(seconds), frozenset((file, int(number)) for file, _, number in lines))


def failure_of(item: pytest.Item) -> str:
    """Run one test; return how it failed, and nothing if it passed."""
    for report in runtestprotocol(item, log=False, nextitem=None):
        if report.failed:
            return report.longreprtext or "it failed"
    return ""


def silence() -> None:
    """Send what this process prints nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
