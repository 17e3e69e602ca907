"""`all`: coverage, the plan follower, the laboratory and plans of the four domains, one after the other, and their report.

A part whose file is there already is not measured again, so the same command goes on after an interruption. A part whose
data or package is missing is named and left out. What a part's own command says stands beside its rows, as text.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, Final, TypeAlias, final  # Any: argparse keeps the type of its parsers to itself

import attrs

from benchmarks.arena.domains.commands import INTERRUPTED
from benchmarks.arena.domains.results import BadResults, write_whole

Run: TypeAlias = Callable[[list[str]], int]
"""Carries out a command of the arena by its arguments, and returns its exit status."""
GAMES: Final = 50
MEMORIES: Final = ("mage", "full-history")


@final
@attrs.frozen
class Part:
    """One part of the whole.

    Attributes:
        name: of its file, without the ending.
        arguments: of its command, but for `--out`.
        lacks: in words, what is missing for it; empty where nothing is.
        resumes: whether its command goes on with the rows of a file that is there.
    """

    name: str
    arguments: tuple[str, ...]
    lacks: str = ""
    resumes: bool = False


def parts(chosen: argparse.Namespace) -> Iterator[Part]:
    """Yield the parts, in their order."""
    common = ("--seed", str(chosen.seed), "--workers", str(chosen.workers))
    few = ("--limit", "4") if chosen.small else ()
    lacks = "" if chosen.traces.is_dir() else f"there is no folder {chosen.traces}; --traces names one"
    yield Part("coverage", ("coverage", "--traces", str(chosen.traces), *few, *common), lacks)
    lacks = "" if chosen.state_bench else "--state-bench names no checkout"
    yield Part("state-bench", ("follow", "--state-bench", str(chosen.state_bench), *few, *common), lacks)
    missing = [] if find_spec("textworld_express") else ["the package textworld-express"]
    missing += [] if which("java") else ["java"]
    lacks = f"{' and '.join(missing)} is not installed" if missing else ""
    yield Part("cooking", ("follow", "--cooking", "2" if chosen.small else str(GAMES), *common), lacks)
    size = ("--size", "small", "--tasks", "3") if chosen.small else ("--tasks", "20")
    yield Part("lab", ("lab", *size, *common), resumes=True)
    lacks = "" if find_spec("sympy") else "the package SymPy is not installed (`make .venv/arena` brings it)"
    for memory in MEMORIES:
        asked = ("run", "--domain", "all", "--memory", memory, *size, *common)
        yield Part(f"plans-{memory}", asked, lacks, resumes=True)


def add_all(commands: Any, run: Run) -> None:
    """Add the command to the subparsers of a parser; `run` carries out the others."""
    every = commands.add_parser(
        "all", help="every measure, one after the other, into a folder, with a report"
    )
    every.add_argument("--out", type=Path, required=True, help="the folder of all rows and of report.html")
    every.add_argument(
        "--traces", type=Path, default=Path("../shared/data"), help="recorded runs; see coverage"
    )
    every.add_argument("--state-bench", type=Path, help="a checkout of STATE-Bench; see follow")
    every.add_argument("--small", action="store_true", help="a look at all of it, in some two minutes")
    every.add_argument("--seed", type=int, default=1, help="of all that is drawn (default: %(default)s)")
    every.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    every.set_defaults(command=lambda chosen: run_all(chosen, run))


def run_all(chosen: argparse.Namespace, run: Run) -> int:
    """Run every part that can be run, then the report; return the first exit status that is not 0."""
    try:
        chosen.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.stderr.write(f"Error: {chosen.out} cannot be made: {error}\n")
        return 2
    status, files = 0, list[Path]()
    for part in parts(chosen):
        file = chosen.out / f"{part.name}.jsonl"
        if part.lacks:
            sys.stderr.write(f"-- {part.name} is left out: {part.lacks}\n")
            continue
        ended = _ran(part, file, run)
        if ended == INTERRUPTED:  # and not the next part in place of this one
            return ended
        if ended:
            status = status or ended
        elif file.exists():
            files.append(file)
    return _reported(files, chosen.out, run) or status  # a part that failed takes nothing from the others


def _ran(part: Part, file: Path, run: Run) -> int:
    asked, kept = " ".join(_deciding(part.arguments)), file.with_suffix(".asked")
    if file.exists() and not part.resumes:
        if kept.exists() and kept.read_text(encoding="utf-8") != asked:
            sys.stderr.write(f"Error: {file} is of another command, which {kept} has: name another folder\n")
            return 2
        sys.stderr.write(f"-- {part.name}: {file} is there already\n")
        return 0
    sys.stderr.write(f"-- {part.name}: python -m benchmarks.arena {' '.join(part.arguments)}\n")
    began = time.monotonic()
    try:
        if not part.resumes:  # a file that goes on may hold rows of several commands, each with its settings
            write_whole(kept, asked)
        with file.with_suffix(".txt").open("w", encoding="utf-8") as told, redirect_stdout(told):
            status = run([*part.arguments, "--out", str(file)])
    except (OSError, BadResults) as error:
        sys.stderr.write(f"Error: {part.name} cannot be written: {error}\n")
        return 2
    sys.stderr.write(f"-- {part.name}: {time.monotonic() - began:.0f} s\n")
    return status


def _deciding(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that decide what comes of a part: all but the number of its processes."""
    place = arguments.index("--workers") if "--workers" in arguments else len(arguments)
    yield from (*arguments[:place], *arguments[place + 2 :])


def _reported(files: Sequence[Path], folder: Path, run: Run) -> int:
    if not files:
        sys.stderr.write("Error: nothing could be measured\n")
        return 1
    return run(["report", *map(str, files), "--html", str(folder / "report.html")])
