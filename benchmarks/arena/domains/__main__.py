"""The paper's four domains from the command line.

python -m benchmarks.arena.domains run --domain shopping --agent plan --tasks 150 --out results.jsonl
python -m benchmarks.arena.domains report results.jsonl --json
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.arena.domains.commands import add_commands


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.arena.domains", description="Tasks of four domains."
    )
    add_commands(parser.add_subparsers(required=True))
    chosen = parser.parse_args(arguments)
    status: int = chosen.command(chosen)
    return status


if __name__ == "__main__":
    sys.exit(main())
