"""`report`: what files of results say, as text, JSON, a page or figures; and where a task lost its thread."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any  # argparse keeps the type of its parsers to itself

from benchmarks.arena.domains.results import BadResults
from benchmarks.arena.reports.blocks import averages, blocks
from benchmarks.arena.reports.curves import Figure, as_plot, figures
from benchmarks.arena.reports.files import Results, read_files
from benchmarks.arena.reports.page import page
from benchmarks.arena.reports.series import report
from benchmarks.arena.reports.table import as_text
from benchmarks.arena.reports.tables import tables
from benchmarks.arena.reports.threads import NoThread, as_lines, threads
from mage import MageError


# Any: argparse keeps the type of its own parsers to itself
def add_report(commands: Any) -> None:
    """Add the command to the subparsers of a parser; `chosen.command(chosen)` runs it."""
    reporting = commands.add_parser("report", help="say what files of rows come to, those of any command")
    reporting.add_argument("results", type=Path, nargs="+", help="files of rows, JSON Lines")
    reporting.add_argument("--json", action="store_true", dest="as_json", help="one object with `rows`")
    reporting.add_argument("--html", type=Path, metavar="FILE", help="write a page that needs nothing else")
    reporting.add_argument(
        "--figures", type=Path, metavar="DIR", help="write the figures, PNG and SVG (needs matplotlib)"
    )
    reporting.add_argument(
        "--task", metavar="ID", help="say where this task lost its thread, such as shopping-0-0"
    )
    reporting.add_argument("--memory", help="of this memory alone, with --task")
    reporting.add_argument(
        "--sessions", type=Path, metavar="DIR", help="where `run --sessions` kept the runs, with --task"
    )
    reporting.set_defaults(command=say)


def say(chosen: argparse.Namespace) -> int:
    """Say what files of rows come to, and return the exit status."""
    try:
        results = read_files(chosen.results)
        if chosen.task is not None:
            return _say_threads(chosen, results)
        if chosen.memory is not None or chosen.sessions is not None:
            return _refuse("--memory and --sessions go with --task ID")
        drawn = [each for block in blocks(results.tasks) for each in figures(block)]
        if chosen.html is not None:
            text = page(tables(results), drawn, [path.name for path in chosen.results])
            chosen.html.write_text(text, encoding="utf-8")
        if chosen.figures is not None:
            _draw(drawn, chosen.figures)
    except (BadResults, NoThread, MageError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"this cannot be read or written: {error}")
    except ModuleNotFoundError as missing:
        return _refuse(f"--figures needs {missing.name}: `make .venv/figures` brings it")
    print(
        json.dumps(document(results), indent=2, sort_keys=True) if chosen.as_json else _text(results, drawn)
    )
    return 0


def document(results: Results) -> dict[str, object]:
    """Return a report as JSON: `rows` of tasks, their `averages`, and the rows of other measures by their table's name."""
    found = [said for block in blocks(results.tasks) for said in averages(block)]
    others = {name: list(rows) for name, rows in results.tables.items()}
    return {**others, "rows": report(results.tasks), "averages": found}


def _text(results: Results, drawn: list[Figure]) -> str:
    return "\n\n".join([*map(as_text, tables(results)), *map(as_plot, drawn)])


def _draw(drawn: list[Figure], folder: Path) -> None:
    from benchmarks.arena.reports.figures import draw  # noqa: PLC0415  # matplotlib is for those who ask for it

    for path in draw(drawn, folder):
        print(f"wrote {path}", file=sys.stderr)


def _say_threads(chosen: argparse.Namespace, results: Results) -> int:
    found = threads(results.tasks, chosen.task, chosen.memory, chosen.sessions)
    if chosen.as_json:
        print(json.dumps({"threads": [each.document() for each in found]}, indent=2, sort_keys=True))
    else:
        print("\n\n".join("\n".join(as_lines(each)) for each in found))
    return 0


def _refuse(why: str) -> int:
    print(f"Error: {why}", file=sys.stderr)
    return 2
