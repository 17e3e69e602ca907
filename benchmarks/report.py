"""One run, one table, and an exit status: do the numbers that the project promises hold here?

    python -m benchmarks.report

README.md says what each line means. Exit status 0 where every line with a limit holds, else 1.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from typing import Final

from benchmarks.lines import MEASUREMENTS, Line

_WIDTHS: Final = "{:<46} {:>12} {:>26} {:>8}  {}"


def row(line: Line) -> str:
    """Return a line as one row of the table."""
    beside, ratio = "", ""
    if line.beside is not None:
        beside = f"{_number(line.beside, line.unit)} {line.against}"
        ratio = f"{line.ours / line.beside:.2f}x"
    verdict = f"{line.limit}: {'holds' if line.holds else 'DOES NOT HOLD'}" if line.limit else ""
    return _WIDTHS.format(line.name, _number(line.ours, line.unit), beside, ratio, verdict).rstrip()


def _number(number: float, unit: str) -> str:
    return f"{number:,.2f} {unit}" if unit in ("us", "ms") else f"{number:,.0f} {unit}".strip()


def main() -> int:
    """Measure all, print each line as it is known, and return the exit status."""
    when = datetime.now(tz=UTC).date().isoformat()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    sys.stdout.write(f"{when}, {python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores\n")
    sys.stdout.write(_WIDTHS.format("", "mage", "beside", "ratio", "limit") + "\n")
    broken = 0
    for measure in MEASUREMENTS:
        for line in measure():
            sys.stdout.write(row(line) + "\n")
            sys.stdout.flush()
            broken += not line.holds
    sys.stdout.write(f"{broken} limits do not hold\n" if broken else "every limit holds\n")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
