"""Random histories, on the engine and on the oracle that was extracted from the proofs.

`python -m specs.differential --sequences 20000`: Hypothesis draws whole sequences of commands, refused ones
and every phase among them, three in ten with more than a hundred accepted commands. Every answer is
compared, and every state by its fingerprint; what differs is shrunk, and printed as Python that can be
pasted. The seed is printed; the same one draws the same sequences. Exit status 1 where the two differ, 2
where there is no oracle. `--oracle ./mine` compares with a program of yours (conformance/PROTOCOL.md).
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import attrs

from specs.conformance import BadAnswer, Disagreement, NoAnswer, Seen, search
from specs.exhaustive import oracle_or_none
from specs.proofs import ORACLE


def _work(oracle: Path, count: int, number: int, shrink: bool) -> Seen | str | None:
    """Search in a process of its own; return what was seen, or how the two differ."""
    implementation = oracle_or_none(oracle)
    if implementation is None:
        return None
    with implementation:
        try:
            return search(implementation, count, number, shrink=shrink)
        except (Disagreement, NoAnswer, BadAnswer) as found:
            return str(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare as the command line says, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.differential", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--sequences", type=int, default=20_000, help="how many (default: 20,000)")
    parser.add_argument("--workers", type=int, default=2, help="processes to share them (default: 2)")
    parser.add_argument("--seed", type=int, help="draw the same sequences again (default: a new one)")
    parser.add_argument("--unshrunk", action="store_true", help="show the first difference as it was met")
    parser.add_argument("--oracle", type=Path, default=ORACLE, help="the program to compare with")
    parser.add_argument("--json", type=Path, help="where to write what was seen")
    options = parser.parse_args(arguments)
    number = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    print(f"seed {number}", flush=True)
    began = time.perf_counter()
    total = Seen()
    shares = [
        options.sequences // options.workers + (worker < options.sequences % options.workers)
        for worker in range(options.workers)
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        seeds = range(number, number + options.workers)
        same = [options.workers * [each] for each in (options.oracle, not options.unshrunk)]
        for found in pool.map(_work, same[0], shares, seeds, same[1]):
            if not isinstance(found, Seen):
                print(found or "", file=sys.stderr)
                return 2 if found is None else 1
            total.add(found)
    seconds = time.perf_counter() - began
    print(f"oracle and engine agree: {total}; {seconds:.0f} s")
    if options.json is not None:
        seen = {**attrs.asdict(total), "seed": number, "seconds": round(seconds, 1)}
        options.json.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
