"""`python -m specs.mutants --all`, or `--changed [BASE]`: exit status 1 if the list of survivors is not true."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from specs import mutants as package
from specs.mutants.changed import changed_lines, default_base, touched, unmeasured
from specs.mutants.generate import Name, engine_mutants
from specs.mutants.report import LAST, most_timeouts, result_of, summary
from specs.mutants.suite import Fate, fates_of
from specs.mutants.survivors import SURVIVORS, as_toml, judged, listed


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m specs.mutants", description=(package.__doc__ or "").split("\n", maxsplit=1)[0]
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="every mutant of the engine; writes last.json")
    which.add_argument(
        "--changed", nargs="?", const="", metavar="BASE", help="the functions that differ from a commit"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run as the command line says, and report."""
    options = _arguments(arguments)
    try:
        changed = {} if options.all else unmeasured() | changed_lines(options.changed or default_base())
    except subprocess.CalledProcessError as failed:
        print(f"git does not know the commit to compare with: {failed.stderr.strip()}", file=sys.stderr)
        return 2
    every = list(engine_mutants()) if options.all or changed else []
    chosen = every if options.all else touched(every, changed)
    began = time.perf_counter()
    progress = _Progress(len(chosen))
    fates = fates_of(chosen, jobs=options.jobs, tell=progress.tell) if chosen else []
    result = result_of(fates, seconds=time.perf_counter() - began, jobs=options.jobs)
    text = json.dumps(result, indent=1) + "\n"
    for path in [LAST] * options.all + [options.json] * (options.json is not None):
        path.write_text(text, encoding="utf-8")
    return _report(fates, [mutant.name for mutant in every])


class _Progress:
    """Says now and then how far it is, and at once what survived."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.counts: Counter[str] = Counter()

    def tell(self, fate: Fate) -> None:
        """Count one more."""
        self.counts[fate.outcome] += 1
        done = self.counts.total()
        if fate.outcome != "killed":
            print(f"{done}/{self.total} {fate.outcome}, {fate.by}, {fate.seconds:.1f} s: {fate.mutant.name}")
        elif done % 100 == 0:
            print(f"{done}/{self.total} {dict(self.counts)}")
        sys.stdout.flush()


def _report(fates: list[Fate], every: list[Name]) -> int:
    """Print how the run and the list agree; return the exit status."""
    known = listed(SURVIVORS.read_text(encoding="utf-8"))
    outcomes = {fate.mutant.name: fate.outcome for fate in fates}
    verdict = judged(known, outcomes, every or known)
    if verdict.new:
        print("survived, and are not listed: find a test, or the reason why nobody can tell them apart")
        print(as_toml(verdict.new))
    for name in verdict.killed:
        print(f"listed as a survivor, but it did not survive: {name}")
    for name in verdict.gone:
        print(f"listed as a survivor, but there is no such mutant: {name}")
    too_many = most_timeouts(len(fates)) < sum(fate.outcome == "timeout" for fate in fates)
    if too_many:
        print("too many timeouts: a test should end with a failure instead")
    print(summary(fates, new=len(verdict.new)))
    return 0 if verdict.holds and not too_many else 1


if __name__ == "__main__":
    sys.exit(main())
