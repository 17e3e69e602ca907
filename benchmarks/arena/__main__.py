"""The arena, from the command line.

    python -m benchmarks.arena all --out FOLDER [--traces FOLDER] [--state-bench CHECKOUT] [--small]
    python -m benchmarks.arena coverage [--traces FOLDER] [--only NAME] [--out ROWS.jsonl]
    python -m benchmarks.arena follow --state-bench CHECKOUT --cooking 50 [--before 5] [--out ROWS.jsonl]
    python -m benchmarks.arena run --domain shopping --agent plan --tasks 150 --out ROWS.jsonl
    python -m benchmarks.arena report ROWS.jsonl [ROWS.jsonl...] [--json] [--html FILE] [--figures DIR]
    python -m benchmarks.arena lab --tasks 20 --seed 1

Coverage: of the values that the actions of recorded runs need, how many would each memory system still show, and at
how many tokens? RESULTS.md says what was found, and what this measure cannot say. Following: the
recorded actions in environments of others, where a value may be used only if it is shown. The other commands are about the
paper's four domains (`domains/README.md`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Final

from benchmarks.arena.coverage import cover_all
from benchmarks.arena.domains.commands import INTERRUPTED, add_commands
from benchmarks.arena.domains.results import BadResults, refuse_new, write_whole
from benchmarks.arena.everything import add_all
from benchmarks.arena.following.command import add_command
from benchmarks.arena.reports.commands import add_report
from benchmarks.arena.systems import has_bm25
from benchmarks.arena.tables import Row, Setting, as_text, rows
from benchmarks.arena.traces import TRACES, NoTraces, read_runs
from mage import Policy
from mage.tokens import default_counter

FOLDER: Final = Path("../shared/data")
"""Where the real traces are at hand for developers."""
ROOM: Final = 700


def main(arguments: list[str] | None = None) -> int:
    """Carry out a command and return the exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        status: int = chosen.command(chosen)
    except KeyboardInterrupt:  # of the commands that cannot go on where they were
        sys.stderr.write("\ninterrupted: nothing of what was under way is kept\n")
        return INTERRUPTED
    except BadResults as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    return status


def _coverage(chosen: argparse.Namespace) -> int:
    if chosen.out is not None and (why := refuse_new(chosen.out)):
        sys.stderr.write(f"{why}\n")
        return 1
    if not has_bm25():
        sys.stderr.write(
            "BM25 is left out: bm25s is not installed (the dependency group `arena` brings it)\n"
        )
    setting = Setting(chosen.room, chosen.summary_limit, chosen.seed, default_counter().name)
    found: list[Row] = []
    for name in chosen.only or TRACES:
        try:
            runs = read_runs(name, chosen.traces)[: chosen.limit]
        except NoTraces as reason:
            sys.stderr.write(f"skipped: {reason}; --traces names the folder\n")
            continue
        results = cover_all(
            runs, room=chosen.room, seed=chosen.seed, workers=chosen.workers, limit=chosen.summary_limit
        )
        these = list(rows(name, runs, results, setting))
        found.extend(these)
        sys.stdout.write("\n".join(as_text(these)) + "\n\n")
        sys.stdout.flush()
    if chosen.out is not None:
        write_whole(chosen.out, "".join(json.dumps(row) + "\n" for row in found))
    return 0 if found else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.arena", description="Memory systems beside each other."
    )
    commands = parser.add_subparsers(required=True)
    coverage = commands.add_parser("coverage", help="are the values that actions need still shown?")
    coverage.add_argument(
        "--traces", type=Path, default=FOLDER, help="the folder of the recorded runs (default: %(default)s)"
    )
    coverage.add_argument("--only", action="append", choices=list(TRACES), help="these traces alone")
    coverage.add_argument("--limit", type=_positive, help="the first runs of each alone")
    coverage.add_argument(
        "--room",
        type=_positive,
        default=ROOM,
        help="tokens of open steps for which the product's mark leaves room (default: %(default)s)",
    )
    coverage.add_argument(
        "--summary-limit",
        type=_positive,
        default=Policy().summary_limit,
        help="tokens that a text of the product's may have (default: the policy's, an eighth of the mark, at least 400)",
    )
    coverage.add_argument("--seed", type=int, default=1, help="of what is drawn (default: %(default)s)")
    coverage.add_argument(
        "--workers",
        type=_positive,
        default=min(2, os.cpu_count() or 1),
        help="processes; they change no number",
    )
    coverage.add_argument("--out", type=Path, help="write every row here, as JSON Lines")
    coverage.set_defaults(command=_coverage)
    add_command(commands)
    add_commands(commands)
    add_report(commands)
    add_all(commands, main)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _to_whoever_reads() -> int:
    """Carry out a command; one whose reader has seen enough, such as `head`, ends quietly."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # else the interpreter says it at its end
        return 1
    return status


if __name__ == "__main__":
    sys.exit(_to_whoever_reads())
