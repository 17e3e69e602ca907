"""Every sequence of commands to a depth, on the engine and on the oracle that was extracted from the proofs.

`python -m specs.exhaustive --depth 7`: two contents, two texts, every phase and every refusal, as
`specs.explore` has them. Breadth first; a state that was met before is not gone on from again, yet each
command that leads to it is compared. Exit status 1, and the shortest commands that show it, where the two
differ; 2 where there is no oracle. `--oracle ./mine` compares with a program of yours (conformance/PROTOCOL.md).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from mage.engine import Start, State, start
from mage.engine.journal import Operation
from specs.conformance import (
    Answer,
    BadAnswer,
    Disagreement,
    Implementation,
    JsonLines,
    NoAnswer,
    Request,
    disagreement,
    outcome_of,
)
from specs.explore import ALPHABETS, HEADING, SMALL, TASK, Alphabet, Level, Way
from specs.proofs import ORACLE, sources_digest

_AT_ONCE: Final = 40
"""States whose commands are sent before the first answer is read."""

_Met: TypeAlias = tuple[State, int, Way]
"""A state, the number that the oracle gave it, and how it was reached."""


def oracle_or_none(path: Path) -> JsonLines | None:
    """Start the oracle or another program, or say on standard error what is wrong with it.

    The oracle must be made of today's sources; `python -m specs.proofs` builds it.
    """
    made_of = path.with_suffix(".sources")
    if path == ORACLE and not path.exists():
        print("there is no oracle: python -m specs.proofs builds it", file=sys.stderr)
        return None
    if path == ORACLE and (not made_of.exists() or made_of.read_text(encoding="utf-8") != sources_digest()):
        print("the oracle is made of other sources: python -m specs.proofs builds it anew", file=sys.stderr)
        return None
    try:
        return JsonLines([str(path.resolve())], timeout=120)
    except (OSError, NoAnswer, BadAnswer) as error:
        print(f"{path} cannot be compared with: {error}", file=sys.stderr)
        return None


def exhaust(oracle: Implementation, alphabet: Alphabet, depth: int) -> Iterator[Level]:
    """Try every sequence up to this length on both sides, and yield what was seen, level by level.

    Raises:
        Disagreement: an answer or a state differs.
    """
    began = time.perf_counter()
    first = start(TASK)
    oracle.apply(Request(0, Start(TASK)))
    seen: set[State] = {first}
    frontier: list[_Met] = [(first, 1, None)]
    number, edges, refused = 1, 0, 0
    for level in range(1, depth + 1):
        following: list[_Met] = []
        left = iter(frontier)
        while batch := list(islice(left, _AT_ONCE)):
            for before, command, answer in _answers(oracle, alphabet, batch):
                state, _, way = before
                outcome = outcome_of(state, command)
                number += outcome.refusal is None
                if wrong := disagreement(oracle, answer, number, outcome):
                    raise Disagreement(_commands((way, command)), wrong)
                if outcome.refusal is not None or outcome.after is None:
                    refused += 1
                    continue
                edges += 1
                known = len(seen)
                seen.add(outcome.after)
                if len(seen) > known and level < depth:
                    following.append((outcome.after, number, (way, command)))
        frontier = following
        yield Level(level, len(seen), edges, refused, time.perf_counter() - began)


def _answers(
    oracle: Implementation, alphabet: Alphabet, batch: list[_Met]
) -> Iterator[tuple[_Met, Operation, Answer]]:
    """Send every command of every state of a batch, and yield the answers as they come."""
    tried = [(met, command) for met in batch for command in alphabet.commands(met[0])]
    answers = oracle.apply_many(Request(met[1], command) for met, command in tried)
    for (met, command), answer in zip(tried, answers, strict=True):
        yield met, command, answer


def _commands(way: Way) -> list[Start | Operation]:
    commands: list[Start | Operation] = []
    while way is not None:
        way, command = way
        commands.append(command)
    return [Start(TASK), *commands[::-1]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every sequence as the command line says, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.exhaustive", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--depth", type=int, default=7, help="length of the sequences (default: 7)")
    parser.add_argument("--alphabet", choices=sorted(ALPHABETS), default=SMALL.name, help="default: small")
    parser.add_argument("--oracle", type=Path, default=ORACLE, help="the program to compare with")
    parser.add_argument("--json", type=Path, help="where to write what was seen")
    options = parser.parse_args(arguments)
    oracle = oracle_or_none(options.oracle)
    if oracle is None:
        return 2
    levels: list[Level] = []
    print(HEADING)
    try:
        with oracle:
            for level in exhaust(oracle, ALPHABETS[options.alphabet], options.depth):
                levels.append(level)
                print(level, flush=True)
    except (Disagreement, NoAnswer, BadAnswer) as found:
        print(found, file=sys.stderr)
        return 1
    if options.json is not None:
        seen = {"alphabet": options.alphabet, "levels": [attrs.asdict(level) for level in levels]}
        options.json.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
