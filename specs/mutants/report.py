"""What a run has found, in numbers."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeAlias

from specs.mutants.generate import ENGINE, ROOT
from specs.mutants.suite import Fate

LAST: Final = Path(__file__).with_name("last.json")
_TOOLS: Final = ("mutmut", "libcst", "pytest", "hypothesis", "attrs", "rpds-py", "returns")

Json: TypeAlias = dict[str, "Json"] | int | float | str


def most_timeouts(mutants: int) -> int:
    """Return how many timeouts are allowed among so many mutants: 2 %, and one where that is less."""
    return max(1, mutants // 50)


def result_of(fates: Sequence[Fate], *, seconds: float, jobs: int) -> dict[str, Json]:
    """Return the counts, file by file, and with what they were made; nothing in it names a commit."""
    files = sorted({fate.mutant.name.file for fate in fates})
    by_file: dict[str, Json] = {
        file: _counts([fate for fate in fates if fate.mutant.name.file == file]) for file in files
    }
    return {
        "tools": {"python": platform.python_version(), **{tool: version(tool) for tool in _TOOLS}},
        "jobs": jobs,
        "seconds": round(seconds),
        "sources": {
            f"{ENGINE}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((ROOT / ENGINE).glob("*.py"))
        },
        "total": _counts(fates),
        "files": by_file,
    }


def _counts(fates: Sequence[Fate]) -> dict[str, Json]:
    return {
        "mutants": len(fates),
        "on_import": sum(not fate.mutant.in_function for fate in fates),
        "killed": _how_many(fates, "killed"),
        "survived": _how_many(fates, "survived"),
        "timeouts": _how_many(fates, "timeout"),
        "seconds": round(sum(fate.seconds for fate in fates), 1),
    }


def _how_many(fates: Sequence[Fate], outcome: str) -> int:
    return sum(fate.outcome == outcome for fate in fates)


def summary(fates: Sequence[Fate], *, new: int) -> str:
    """Return the one line that a run ends with."""
    killed, survived, timeouts = (_how_many(fates, each) for each in ("killed", "survived", "timeout"))
    listed = "all listed" if not new else f"{new} not listed"
    return f"mutants: {killed} killed, {survived} survived ({listed}), {timeouts} timeouts"
