"""Everything that says the engine is right, in one run: `make specs`.

Two checks run at a time, each with its log in `build/specs`. A check that fails prints its log; the rest go
on. The run ends with one table of what was shown, and looks at the table of properties in `specs/README.md`:
every row must name a check that ran here. Exit status 1 where anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from shutil import which
from subprocess import STDOUT, run
from typing import Final, final

import attrs

from specs.proofs import BUILD, missing_tools
from specs.shown import (
    DEPTHS,
    counted_otherwise,
    explored_otherwise,
    fell_short,
    rows_without_a_check,
    summary,
)

ROOT: Final = Path(__file__).resolve().parent.parent


@final
@attrs.frozen
class Check:
    """One program to run.

    Attributes:
        name: how its log and its result are called.
        arguments: what Python is given.
        after: the checks that must have ended well before it.
        result: whether it takes `--json` and writes its result.
    """

    name: str
    arguments: tuple[str, ...]
    after: tuple[str, ...] = ()
    result: bool = True


_NOT_RUN: Final = 3
_PYTEST: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
_OF_LAWS: Final = ("tests/engine/test_laws.py", "tests/engine/test_stateful.py")

CHECKS: Final = (
    Check("proofs", ("-m", "specs.proofs")),
    Check("models", ("-m", "specs.tlc", "--fetch")),
    Check("differential", ("-m", "specs.differential", "--workers", "1"), after=("proofs",)),
    Check("mutants", ("-m", "specs.mutants", "--changed")),
    Check("faults", ("-m", "specs.faults", "--workers", "1"), after=("proofs",)),
    Check("formal", (*_PYTEST, "-m", "formal", "tests/specs"), after=("proofs", "models"), result=False),
    Check("explored", ("-m", "specs.explore", "--depth", "7")),
    Check("exhaustive", ("-m", "specs.exhaustive", "--depth", "7"), after=("proofs",)),
    Check("laws", (*_PYTEST, f"--junitxml={BUILD / 'laws.xml'}", *_OF_LAWS), result=False),
    *[
        Check(f"explored-{name}", ("-m", "specs.explore", "--depth", str(depth), "--alphabet", name))
        for name, depth in DEPTHS.items()
    ],
    *[
        Check(
            f"exhaustive-{name}",
            ("-m", "specs.exhaustive", "--depth", str(depth), "--alphabet", name),
            after=("proofs",),
        )
        for name, depth in DEPTHS.items()
    ],
    Check("tables", (*_PYTEST, "tests/specs/test_readme.py", "tests/specs/test_faults.py"), result=False),
)
"""In the order in which they are begun: what others wait for, and what takes longest, first, so that the last
do not keep one core waiting. None waits for one that is begun after it: two that wait would hold all the places.
"""


@final
@attrs.frozen
class Done:
    """How a check ended."""

    check: Check
    status: int
    seconds: float
    last: str


def _deep(check: Check, depth: int) -> Check:
    """Return a check; that of every sequence of the engine to this depth."""
    if check.name != "explored":
        return check
    return attrs.evolve(check, arguments=(*check.arguments[:-1], str(depth)))


def _perform(check: Check, waits_for: Sequence[Future[Done]]) -> Done:
    for before in waits_for:
        if before.result().status:
            return Done(check, _NOT_RUN, 0.0, f"not run: {before.result().check.name} failed")
    began = time.perf_counter()
    log = BUILD / f"{check.name}.log"
    result = ("--json", str(BUILD / f"{check.name}.json")) if check.result else ()
    with log.open("w", encoding="utf-8") as to:
        command = (sys.executable, "-u", *check.arguments, *result)
        status = run(command, cwd=ROOT, check=False, stdout=to, stderr=STDOUT).returncode
    lines = log.read_text(encoding="utf-8").strip().splitlines() or [""]
    return Done(check, status, time.perf_counter() - began, lines[-1])


def _tell(done: Done) -> None:
    if done.status not in (0, _NOT_RUN):
        log = BUILD / f"{done.check.name}.log"
        print("\n".join(log.read_text(encoding="utf-8").splitlines()[-80:]) if log.exists() else "")
    how = "ok    " if done.status == 0 else "FAILED"
    print(f"{how} {done.check.name:16} {done.seconds:5.0f} s  {done.last}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every check, two at a time, and print what was shown."""
    parser = argparse.ArgumentParser(prog="python -m specs.check", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--workers", type=int, default=2, help="checks at a time (default: 2)")
    parser.add_argument("--depth", type=int, default=7, help="of every sequence of the engine (default: 7)")
    options = parser.parse_args(arguments)
    packages = [*missing_tools(), *([] if which("java") else ["default-jre-headless"])]
    packages += [] if which("git") else ["git"]
    if packages:
        print(f"missing: apt-get install --no-install-recommends {' '.join(packages)}", file=sys.stderr)
        return 2
    BUILD.mkdir(parents=True, exist_ok=True)
    for old in [path for kind in ("*.json", "*.log", "*.xml") for path in BUILD.glob(kind)]:
        old.unlink()
    running: dict[str, Future[Done]] = {}
    began = time.perf_counter()
    with ThreadPoolExecutor(options.workers) as pool:
        for check in map(partial(_deep, depth=options.depth), CHECKS):
            waits_for = [running[name] for name in check.after]
            running[check.name] = pool.submit(_perform, check, waits_for)
            running[check.name].add_done_callback(lambda future: _tell(future.result()))
    ended = [future.result() for future in running.values()]
    if any(done.status for done in ended):
        return 1
    unchecked, short = rows_without_a_check(), fell_short()
    print(f"\n{summary(time.perf_counter() - began, len(unchecked))}")
    untrue = [*unchecked, *counted_otherwise(), *explored_otherwise()]
    for row in untrue:
        print(f"specs/README.md is not true: {row}", file=sys.stderr)
    for what in short:
        print(f"less than was promised: {what}", file=sys.stderr)
    return 1 if untrue or short else 0


if __name__ == "__main__":
    sys.exit(main())
