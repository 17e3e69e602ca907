"""What one run takes in memory beyond its texts, measured in a process of its own.

    python -m benchmarks.memory {last,every,floor} STEPS [--traced]

It prints how many bytes the run left behind: by default what the process has grown by (resident pages),
which sees the memory of Rust too; with `--traced` what tracemalloc saw, which does not. The texts were there
before either began to count.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.work import Contents, contents, floor_run, run, versions

RUNS: Final[dict[str, Callable[[Contents], object]]] = {
    "last": run,
    "every": lambda given: list(versions(given)),
    "floor": floor_run,
}
"""What is kept: the last version alone, every version of the run, or the floor's one tree."""
_STATM: Final = Path("/proc/self/statm")


def bytes_per_step(kept: str, steps: int, *, traced: bool) -> float:
    """Return the bytes per step that a run in a new process leaves behind."""
    command = [sys.executable, "-m", "benchmarks.memory", kept, str(steps)]
    found = subprocess.run(
        command + ["--traced"] * traced,
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    return int(found.stdout) / steps


def _resident() -> int:
    """Return the bytes of memory that this process holds; where no /proc tells, the most it ever held."""
    if _STATM.exists():
        return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _traced() -> int:
    return tracemalloc.get_traced_memory()[0]


def main() -> None:
    """Make one run and print the bytes it left behind."""
    parser = argparse.ArgumentParser(description="The memory that one run takes beyond its texts, in bytes.")
    parser.add_argument("kept", choices=RUNS)
    parser.add_argument("steps", type=int)
    parser.add_argument("--traced", action="store_true", help="ask tracemalloc, which does not see Rust")
    asked = parser.parse_args()
    RUNS[asked.kept](contents(100))  # what is made once, such as caches, is no cost of a step
    given = contents(asked.steps)
    if asked.traced:
        tracemalloc.start()
    held = _traced if asked.traced else _resident
    before = held()
    result = RUNS[asked.kept](given)
    sys.stdout.write(f"{held() - before}\n")
    del result


if __name__ == "__main__":
    main()
