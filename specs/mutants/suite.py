"""The kill suite: pytest collects it once, and every mutant is a fork of that process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import final

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings

from specs.mutants.generate import ROOT, Mutant, Name
from specs.mutants.life import OPTIONS, Outcome, live, outcome_of
from specs.mutants.observed import KILL_SUITE, BrokenSuite, Known, observe, selected


@final
@attrs.frozen
class Fate:
    """What became of one mutant.

    Attributes:
        mutant: which.
        outcome: what happened.
        by: the test that failed, or how many tests it has survived; nothing for a timeout.
        seconds: how long it took.
    """

    mutant: Mutant
    outcome: Outcome
    by: str
    seconds: float


def fates_of(
    mutants: list[Mutant],
    *,
    jobs: int,
    tell: Callable[[Fate], None],
    tests: tuple[str, ...] = KILL_SUITE,
) -> list[Fate]:
    """Run the kill suite on every mutant.

    Args:
        mutants: which.
        jobs: how many at a time.
        tell: called with each fate as soon as it is known.
        tests: the paths of the tests.

    Returns:
        What became of them, in the order in which it was known.

    Raises:
        BrokenSuite: the suite fails on the engine as it is, or cannot be run.
    """
    # A failure is enough: no shrinking, no second look. What is drawn is the same every time, and less of it
    # than in the tests' own run, to be quick: a mutant that lives is looked at by a human anyway.
    settings.register_profile(
        "mutants",
        deadline=None,
        max_examples=40,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow],
    )
    os.environ["MAGE_TESTS"] = "mutants"
    os.chdir(ROOT)
    suite = _Suite(mutants, jobs, tell, tests)
    pytest.main([*OPTIONS, *tests], plugins=[suite])
    if suite.broken is not None:
        raise suite.broken
    return suite.fates


@final
class _Suite:
    """A pytest plugin that runs the collected tests once to know them, and then mutant by mutant."""

    def __init__(
        self, mutants: list[Mutant], jobs: int, tell: Callable[[Fate], None], tests: tuple[str, ...]
    ) -> None:
        self.mutants = mutants
        self.jobs = jobs
        self.tell = tell
        self.tests = tests
        self.fates: list[Fate] = []
        self.broken: Exception | None = BrokenSuite("the tests cannot be collected")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop the tests that are left out."""
        items[:] = selected(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every mutant in place of the tests."""
        if session.testsfailed or not session.items:
            return True
        try:
            self._run(observe(session.items, self.jobs))
            self.broken = None
        except RuntimeError as wrong:
            self.broken = wrong
        return True

    def _run(self, known: list[Known]) -> None:
        self._see_controls_survive(known)
        for fate in self._each(known, self.mutants):
            self.tell(fate)
            self.fates.append(fate)
        self._see_controls_survive(known)  # still: nobody has changed the files meanwhile

    def _see_controls_survive(self, known: list[Known]) -> None:
        for fate in self._each(known, self._controls()):
            if fate.outcome != "survived":
                raise BrokenSuite(f"the engine as it is, imported anew: {fate.outcome} by {fate.by}")

    def _controls(self) -> list[Mutant]:
        """Return the engine as it is, to be imported anew: it must survive, if mutants are to die that way."""
        for mutant in self.mutants:
            if not mutant.in_function:
                file = mutant.name.file
                source = (ROOT / file).read_text(encoding="utf-8")
                return [Mutant(Name(file, "", "", ""), False, (0, 0), range(0), source)]
        return []

    def _each(self, known: list[Known], mutants: list[Mutant]) -> Iterator[Fate]:
        waiting = iter(mutants)
        running: dict[int, tuple[Mutant, int, float]] = {}
        while True:
            while len(running) < self.jobs and (mutant := next(waiting, None)) is not None:
                reader, writer = os.pipe()
                began = time.perf_counter()
                pid = os.fork()
                if not pid:
                    live(mutant, known, self.tests, writer)
                os.close(writer)
                running[pid] = (mutant, reader, began)
            if not running:
                return
            pid, status = os.wait()
            mutant, reader, began = running.pop(pid)
            with os.fdopen(reader, encoding="utf-8") as told:
                by = told.read()
            yield Fate(mutant, outcome_of(status), by, time.perf_counter() - began)
