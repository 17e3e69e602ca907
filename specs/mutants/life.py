"""The life of one mutant, in a fork of the process that has collected the tests.

A mutant in a function replaces the function's code object, so whoever holds the function holds the mutant:
nothing is imported again. A mutant that takes effect on import gets fresh modules and a pytest of its own.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
from types import CodeType, FrameType, FunctionType
from typing import Final, Literal, TypeAlias, final

import pytest

from specs.mutants.generate import ROOT, Mutant
from specs.mutants.imports import purge, put_in_place_of
from specs.mutants.observed import Known, failure_of, selected, silence

Outcome: TypeAlias = Literal["killed", "survived", "timeout"]
_CODES: Final[dict[int, Outcome]] = {10: "survived", 11: "killed", 12: "timeout"}
_SURVIVED, _KILLED, _TIMEOUT = _CODES
_FLOOR: Final = 3.0
_TIMES: Final = 20.0
_MEMORY: Final = 3 << 30

OPTIONS: Final = (
    *("-qq", "--no-header", "--tb=native", "-s", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # what is imported already stays as it is
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark", "-p", "no:cov"),
)
"""How pytest runs, in the parent and in a fork that begins anew."""


def live(mutant: Mutant, known: list[Known], tests: tuple[str, ...], writer: int) -> None:
    """Be the mutant until a test notices; write which, or how many did not; never return.

    A test has 20 times the time that it took, and 3 seconds more, of processor time, so that a busy machine
    changes nothing; and 3 GB.
    """
    code = 1
    try:
        silence()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        signal.signal(signal.SIGVTALRM, _out_of_time)
        code, by = _in_place(mutant, known) if mutant.in_function else _anew(mutant, known, tests)
        with os.fdopen(writer, "w", encoding="utf-8") as told:
            told.write(by)
    finally:
        os._exit(code)


def outcome_of(status: int) -> Outcome:
    """Return how a fork that was a mutant has ended; one that crashed the interpreter was noticed, too.

    Raises:
        RuntimeError: the fork itself went wrong.
    """
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU) else "killed"
    code = os.waitstatus_to_exitcode(status)
    if code not in _CODES:
        raise RuntimeError(f"a fork of the kill suite ended with {code}")
    return _CODES[code]


def _out_of_time(number: int, frame: FrameType | None) -> None:
    os._exit(_TIMEOUT)


def _set_clock(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, _FLOOR + _TIMES * seconds)


def _in_place(mutant: Mutant, known: list[Known]) -> tuple[int, str]:
    _swap_code(mutant)
    reaching = [test for test in known if test.reaches(mutant)]
    for test in reaching:
        _set_clock(test.seconds)
        failed = failure_of(test.item)
        if failed:
            return (_TIMEOUT if _is_about_memory(failed) else _KILLED), test.item.nodeid
    return _SURVIVED, f"{len(reaching)} tests"


def _is_about_memory(failed: str) -> bool:
    return "MemoryError" in failed


def _swap_code(mutant: Mutant) -> None:
    """Give the function in which the mutant is the mutant's code."""
    module = importlib.import_module(mutant.name.file.removesuffix(".py").replace("/", "."))
    changed: CodeType = compile(mutant.source, module.__file__ or "", "exec", dont_inherit=True)
    place: object = module
    for part in mutant.name.where.split("."):
        place = vars(place)[part]
        codes = [
            const for const in changed.co_consts if isinstance(const, CodeType) and const.co_name == part
        ]
        changed = codes[-1]  # an overloaded function is defined last
    function = place.fget if isinstance(place, property) else place
    assert isinstance(function, FunctionType)
    function.__code__ = changed


def _anew(mutant: Mutant, known: list[Known], tests: tuple[str, ...]) -> tuple[int, str]:
    fresh = _Fresh({test.item.nodeid: test.seconds for test in known})
    purge("mage", "specs", "tests", keep=("specs.mutants",))
    with put_in_place_of(mutant.name.file, mutant.source):
        code = pytest.main([*OPTIONS, "-x", *tests], plugins=[fresh])
    if code == pytest.ExitCode.OK:
        return _SURVIVED, f"{len(known)} tests"
    return (_TIMEOUT if _is_about_memory(fresh.failed) else _KILLED), fresh.last


@final
class _Fresh:
    """A pytest plugin for a pytest that begins anew: the same tests, the cheapest first, each in its time."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = "the import"
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the cheapest first; a test that only the mutant has is cheap."""
        items[:] = sorted(selected(items), key=self._seconds_of)

    def _seconds_of(self, item: pytest.Item) -> float:
        return self.seconds.get(item.nodeid, 0.0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Set the clock for the test that comes."""
        _set_clock(self._seconds_of(item))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep which file of tests could not be imported."""
        if report.failed:
            self.last, self.failed = f"{report.nodeid}, on import", report.longreprtext

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep which test failed."""
        if report.failed:
            self.last, self.failed = report.nodeid, report.longreprtext
