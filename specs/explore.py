"""Every sequence of operations over a small alphabet, to a depth, on the real code.

Breadth first, states told apart by value, so a state is met on its shortest way and a counterexample is as
short as can be. In each state every command is tried, in every phase, legal or not, and on each edge

- the engine and the reference give the same answer and end in the same canonical form;
- `check_change` finds nothing, and neither does `check`, on every new state;
- every law of `specs.laws` holds; L2 and L7 are looked at once all commands of a state have run.

`python -m specs.explore --depth 7` prints how many states and edges that were. Exit status 1 and the
commands that led there, if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from mage.engine import (
    Accept,
    Active,
    ApplyVerdict,
    Compress,
    Digest,
    Failed,
    Fault,
    Fold,
    Grow,
    Instruct,
    InvariantError,
    Kind,
    Passed,
    Retext,
    Revise,
    State,
    StepId,
    Summary,
    Unverified,
    check,
    check_change,
    fold_request,
    judge_request,
    start,
    view,
)
from mage.engine.invariants import INVARIANTS
from mage.engine.journal import Operation
from mage.testing import Edge, canonical, carry_out, differences
from specs.canonical import canonical_of_reference, copy_of_reference
from specs.driver import disagreement, overtaken_chapters, perform
from specs.laws import EDGE_LAWS, Snapshot, laws_of, old_versions_stand, refusal_changes_nothing
from specs.reference import Mage

TASK: Final = "t"
NO_DIGEST: Final = Digest("f" * 64)
OLD_DIGEST: Final = Digest("0" * 64)

HEADING: Final = "depth     states      edges    refused  seconds"

Way: TypeAlias = tuple["Way", Operation] | None
"""How a state was reached: the way to the state before, and the last command."""


@final
@attrs.frozen
class Alphabet:
    """What the commands are made of.

    Attributes:
        name: how the command line calls it.
        contents: actions with their observations.
        texts: the texts of summaries.
        kinds: the kinds that compress names.
        retexts: the texts of a retext.
        faults: the faults of a failed verdict.
        origins: whether a failed verdict names where the mistake began: each boundary that it may name.
        wrong_origins: whether it also names what it may not: the summary's own boundary, or any for a wrong text.
        accepts: whether summaries are accepted.
        standing: whether instructions stand.
        lessons: the lessons of a revise; a blank one leaves none.
        folds: the texts of chapters, each in place of every run of lines; and one run that there never is.
    """

    name: str
    contents: tuple[tuple[str, str], ...]
    texts: tuple[str, ...] = ("m", "n")
    kinds: tuple[Kind, ...] = ("subgoal", "fallback")
    retexts: tuple[str, ...] = ("m", "n")
    faults: tuple[Fault, ...] = ("execution",)
    origins: bool = False
    wrong_origins: bool = False
    accepts: bool = True
    standing: tuple[bool, ...] = (False,)
    lessons: tuple[str, ...] = ("l", "")
    folds: tuple[str, ...] = ()

    def commands(self, state: State) -> Iterator[Operation]:
        """Yield every command, legal in this state or not; each step as a boundary, and one that is not."""
        yield from (Grow(*content) for content in self.contents)
        yield from (Instruct("i", standing) for standing in self.standing)
        yield from (Compress(text, kind) for text in self.texts for kind in self.kinds)
        yield from (Retext(text) for text in self.retexts)
        yield from self._answers(state)
        if self.accepts:
            yield Accept()
        way = {summary.boundary for summary in state.tree.way_upwards()} | {0}
        for boundary in map(StepId, range(state.tree.next_step + 1)):
            lessons = self.lessons if boundary in way else self.lessons[:1]
            yield from (Revise(boundary, lesson) for lesson in lessons)
        yield from (fold for text in self.folds for fold in _foldings(state, text))
        yield from (Instruct(" "), Compress("\n"), Retext("\t"))
        digest = _digest(state)
        yield from (ApplyVerdict(Failed(" "), digest), ApplyVerdict(Passed(), OLD_DIGEST))

    def _answers(self, state: State) -> Iterator[Operation]:
        digest = _digest(state)
        yield ApplyVerdict(Passed(), digest)
        yield from (ApplyVerdict(Failed("f", fault), digest) for fault in self.faults)
        if self.origins and isinstance(state, Unverified):
            for boundary in judge_request(state).boundaries:
                yield ApplyVerdict(Failed("f", "execution", boundary), digest)
        if self.wrong_origins:
            yield ApplyVerdict(Failed("f", "execution", state.tree.boundary), digest)
            yield ApplyVerdict(Failed("f", "summary", StepId(0)), digest)


def _digest(state: State) -> Digest:
    return state.digest if isinstance(state, Unverified) else NO_DIGEST


def _foldings(state: State, text: str) -> Iterator[Operation]:
    """Yield a fold of every run of lines that there is, with its digest, and of one that there is not."""
    lines = view(state).compressed if isinstance(state, Active) else ()
    for place, first in enumerate(lines):
        for last in lines[place + 1 :]:
            if isinstance(state, Active) and not (isinstance(last, Summary) and last.kind == "fallback"):
                request = fold_request(state, first.label, last.boundary, text).unwrap()
                yield Fold(first.label, last.boundary, text, request.digest)
    yield Fold(0, 0, text, NO_DIGEST)


SMALL: Final = Alphabet("small", (("a", "o"), ("b", "o")))
WIDE: Final = Alphabet(
    "wide",
    (("a", "o"), ("\U0001f600", "o"), ("\ud83d\ude00", "o")),  # the last two are one content (D15)
    faults=("execution", "summary"),
    origins=True,
    standing=(False, True),
)
WAYS: Final = Alphabet(
    "ways",
    (("a", "o"),),
    texts=("m",),
    retexts=("n",),
    origins=True,
    wrong_origins=True,
    accepts=False,
    standing=(),
    lessons=("",),
)
CHAPTERS: Final = Alphabet(
    "chapters",
    (("a", "o"),),
    texts=("m",),
    retexts=("n",),
    faults=(),
    accepts=False,
    standing=(),
    lessons=("",),
    folds=("c",),
)
ALPHABETS: Final = {alphabet.name: alphabet for alphabet in (SMALL, WIDE, WAYS, CHAPTERS)}


@final
class Counterexample(Exception):
    """Something does not hold.

    Attributes:
        commands: the shortest sequence of commands that shows it, after `start`.
        detail: what does not hold.
    """

    def __init__(self, commands: tuple[Operation, ...], detail: str) -> None:
        self.commands = commands
        self.detail = detail
        super().__init__(commands, detail)

    def __str__(self) -> str:
        lines = [f"    start({TASK!r})", *(f"    {command!r}" for command in self.commands)]
        return "\n".join([self.detail, "after", *lines])


@final
@attrs.frozen
class Level:
    """What was seen up to one depth.

    Attributes:
        depth: the length of the sequences.
        states: how many different states, the start included.
        edges: how many commands were carried out.
        refused: how many were refused or illegal.
        seconds: how long it took from the start.
    """

    depth: int
    states: int
    edges: int
    refused: int
    seconds: float

    def __str__(self) -> str:
        """Return it as a row below `HEADING`."""
        counts = f"{self.states:10,} {self.edges:10,} {self.refused:10,}"
        return f"{self.depth:5} {counts} {self.seconds:8.1f}"


def explore(alphabet: Alphabet, depth: int) -> Iterator[Level]:
    """Try every sequence of commands up to this length, and yield what was seen, level by level.

    Raises:
        Counterexample: something does not hold.
    """
    began = time.perf_counter()
    first = start(TASK)
    seen: set[State] = {first}
    frontier: list[tuple[State, Mage, Way]] = [(first, Mage(TASK), None)]
    edges = refused = 0
    for level in range(1, depth + 1):
        following: list[tuple[State, Mage, Way]] = []
        for state, mage, way in frontier:
            for edge, beside in _edges(alphabet, state, mage, way):
                if edge.refusal is not None:
                    refused += 1
                    continue
                edges += 1
                known = len(seen)
                seen.add(edge.after)
                if len(seen) > known:
                    _check(edge, way)
                    if level < depth:
                        following.append((edge.after, beside, (way, edge.command)))
        frontier = following
        yield Level(level, len(seen), edges, refused, time.perf_counter() - began)


def _edges(alphabet: Alphabet, state: State, mage: Mage, way: Way) -> Iterator[tuple[Edge, Mage]]:
    """Yield every edge out of a state, looked at from all sides, with the reference after it."""
    before = Snapshot.of(state)
    beside = copy_of_reference(mage)
    for command in alphabet.commands(state):
        edge = carry_out(state, command)
        answer = perform(beside, command)
        if wrong := disagreement(edge, beside, answer):
            raise _counterexample(way, command, wrong)
        if edge.refusal is None:
            _compare(edge, beside, way)
            yield edge, beside
            beside = copy_of_reference(mage)
        else:
            yield edge, beside
    for wrong in old_versions_stand(before):
        raise _counterexample(way, None, f"L2, L7: {wrong}")
    if before.plain != canonical_of_reference(beside):
        raise _counterexample(way, None, "a refused command changed the reference")


def _compare(edge: Edge, beside: Mage, way: Way) -> None:
    """Compare the two sides after an edge, and see that every law and the change's invariants hold."""
    ours, theirs = canonical(edge.after), canonical_of_reference(beside)
    if ours != theirs:
        raise _counterexample(way, edge.command, differences(ours, theirs, "the reference"))
    if overtaken := overtaken_chapters(beside):
        raise _counterexample(way, edge.command, overtaken)
    for number, law in laws_of(edge.command):
        for wrong in law(edge):
            raise _counterexample(way, edge.command, f"{number} {law.__name__}: {wrong}")
    try:
        check_change(edge.before, edge.after)
    except InvariantError as wrong:
        raise _counterexample(way, edge.command, f"check_change: {wrong}") from wrong


def _check(edge: Edge, way: Way) -> None:
    try:
        check(edge.after)
    except InvariantError as wrong:
        raise _counterexample(way, edge.command, f"check: {wrong}") from wrong


def _counterexample(way: Way, last: Operation | None, detail: str) -> Counterexample:
    commands = [] if last is None else [last]
    while way is not None:
        way, command = way
        commands.append(command)
    return Counterexample(tuple(commands[::-1]), detail)


def report(levels: Iterator[Level]) -> int:
    """Print a row a level; return 1, and say why, where something does not hold."""
    print(HEADING)
    try:
        for level in levels:
            print(level, flush=True)
    except Counterexample as found:
        print(found, file=sys.stderr)
        return 1
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Explore as the command line says, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.explore", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--depth", type=int, default=7, help="length of the sequences (default: 7)")
    parser.add_argument("--alphabet", choices=sorted(ALPHABETS), default=SMALL.name, help="default: small")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was seen there too")
    options = parser.parse_args(arguments)
    levels: list[Level] = []
    status = report(_noted(explore(ALPHABETS[options.alphabet], options.depth), levels))
    if options.json is not None and status == 0:
        options.json.write_text(json.dumps(_as_json(options.alphabet, levels), indent=1), encoding="utf-8")
    return status


def _noted(levels: Iterator[Level], noted: list[Level]) -> Iterator[Level]:
    for level in levels:
        noted.append(level)
        yield level


def _as_json(alphabet: str, levels: list[Level]) -> dict[str, object]:
    """Return what was seen, and everything that held on every state, every edge, and every state left."""
    folds = bool(ALPHABETS[alphabet].folds)  # else L14 has nothing to look at
    laws = [law.__name__ for number, law in EDGE_LAWS.items() if folds or number != "L14"]
    always = [old_versions_stand.__name__, refusal_changes_nothing.__name__, "reference"]
    return {
        "alphabet": alphabet,
        "levels": [attrs.asdict(level) for level in levels],
        "invariants": [invariant.__name__ for invariant in INVARIANTS],
        "laws": [*laws, *always],
    }


if __name__ == "__main__":
    sys.exit(main())
