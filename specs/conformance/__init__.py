"""Another implementation of the engine, in any language, held against it answer by answer.

It joins in through the JSON lines of PROTOCOL.md. From a clone of the repository:

    python -m specs.differential --oracle ./mine     # random histories
    python -m specs.exhaustive --oracle ./mine       # every sequence of commands to depth 7

or from Python, over random histories and over commands of your own:

    from specs.conformance import JsonLines, compare, search

    with JsonLines(["./mine"]) as mine:
        search(mine, count=1000, seed=7)
        compare(mine, commands)

A difference comes down to the fewest commands that show it, printed as Python to paste.

`python -m specs.conformance.serve` is the engine itself behind the same protocol. `ConformanceMachine` also goes
on from old states, and looks at them again.
"""

from specs.conformance.comparison import Disagreement, compare, disagreement
from specs.conformance.implementation import (
    BEFORE_START,
    Answer,
    Detail,
    Engine,
    Implementation,
    Outcome,
    Reached,
    Refused,
    Request,
    UnknownState,
    answer_of,
    fingerprint,
    outcome_of,
    refused_with,
)
from specs.conformance.json_lines import BadAnswer, JsonLines, NoAnswer
from specs.conformance.machine import ConformanceMachine
from specs.conformance.search import LONG, Seen, search
from specs.conformance.sequences import LENGTHS, MOST, sequences

__all__ = [
    "BEFORE_START",
    "LENGTHS",
    "LONG",
    "MOST",
    "Answer",
    "BadAnswer",
    "ConformanceMachine",
    "Detail",
    "Disagreement",
    "Engine",
    "Implementation",
    "JsonLines",
    "NoAnswer",
    "Outcome",
    "Reached",
    "Refused",
    "Request",
    "Seen",
    "UnknownState",
    "answer_of",
    "compare",
    "disagreement",
    "fingerprint",
    "outcome_of",
    "refused_with",
    "search",
    "sequences",
]
