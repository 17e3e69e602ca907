"""What `import mage` costs and what it drags in, measured in processes of their own."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final

UNWANTED: Final = frozenset({"openai", "hypothesis", "typer", "rich", "jsonschema", "json", "pydantic"})
"""What the engine's users should not wait for."""


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )


def start_times(repetitions: int, *programs: str) -> tuple[float, ...]:
    """Return for each program the median processor seconds of a Python that runs it.

    They run in turn. Nothing is waited for but files that are cached, so on an idle machine this is the time
    that a user waits; on a busy one it does not count the moments that others had.
    """
    times: dict[str, list[float]] = {program: [] for program in programs}
    for _ in range(repetitions):
        for program, seen in times.items():
            began = _seconds_of_children()
            _python("-c", program)
            seen.append(_seconds_of_children() - began)
    return tuple(median(seen) for seen in times.values())


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def unwanted_imports() -> frozenset[str]:
    """Return those packages of `UNWANTED` that the engine imports, and a Python that does nothing does not."""
    return (_imported("import mage.engine") - _imported("pass")) & UNWANTED


def _imported(program: str) -> frozenset[str]:
    """Return the top-level names of all modules that a program imports, as `-X importtime` lists them."""
    listed = _python("-X", "importtime", "-c", program).stderr.splitlines()
    modules = [line.rsplit("|", 1)[1].strip() for line in listed if line.startswith("import time:")]
    return frozenset(module.split(".")[0] for module in modules)
