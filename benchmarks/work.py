"""The work that is timed: one run of an agent, on the engine and on the floor.

One run: grow, and every 20 steps a compress and a verdict that passes. What the agent says and sees is made
anew for each run, so that nobody has hashed the strings before; `lazily` makes them while the clock runs, as
a loop of an agent does, `contents` before it starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from benchmarks.floor import PASSED, Floor
from mage.engine import (
    Active,
    ApplyVerdict,
    Chapter,
    Command,
    Compress,
    ExecutionState,
    Grow,
    Passed,
    Start,
    State,
    Unverified,
    apply_verdict,
    compress,
    grow,
    revise,
    start,
)

SEGMENT: Final = 20
"""Steps between two compresses."""
TASK: Final = "plan the trip"
TEXT: Final = "the subgoal is done"

Contents: TypeAlias = list[tuple[str, str]]


def lazily(steps: int) -> Iterator[tuple[str, str]]:
    """Yield such contents one by one, so that making them falls into the time of a run."""
    return ((f"action {number}", f"observation {number}") for number in range(steps))


def contents(steps: int, name: str = "") -> Contents:
    """Return new contents for so many steps, no two alike."""
    return [(f"action {name}{number}", f"observation {name}{number}") for number in range(steps)]


def judged(state: Active) -> Active:
    """Compress, and let the judge pass it."""
    unverified = subgoal(state)
    return _active(apply_verdict(unverified, Passed(), unverified.digest).unwrap())


def subgoal(state: Active) -> Unverified:
    """Compress what is open."""
    return compress(state, TEXT).unwrap()


def _active(state: object) -> Active:
    if not isinstance(state, Active):
        raise TypeError(f"expected Active, found {type(state).__name__}")
    return state


def run(given: Iterable[tuple[str, str]]) -> Active:
    """Run the engine from a start. What is open at the end is what the last compress left."""
    passed = Passed()
    state = start(TASK)
    for number, (action, observation) in enumerate(given, start=1):
        state = grow(state, action, observation)
        if number % SEGMENT == 0:
            unverified = compress(state, TEXT).unwrap()
            state = _active(apply_verdict(unverified, passed, unverified.digest).unwrap())
    return state


def floor_run(given: Iterable[tuple[str, str]]) -> Floor:
    """Run the floor from a start, in the same way."""
    floor = Floor(TASK)
    grow_floor = floor.grow
    for number, (action, observation) in enumerate(given, start=1):
        grow_floor(action, observation)
        if number % SEGMENT == 0:
            floor.compress(TEXT)
            floor.apply_verdict(PASSED)
    return floor


def versions(given: Iterable[tuple[str, str]]) -> Iterator[State]:
    """Yield every version of a run: after each grow, each compress and each verdict."""
    state = start(TASK)
    yield state
    for number, (action, observation) in enumerate(given, start=1):
        state = grow(state, action, observation)
        yield state
        if number % SEGMENT == 0:
            unverified = subgoal(state)
            yield unverified
            state = _active(apply_verdict(unverified, Passed(), unverified.digest).unwrap())
            yield state


def opened(state: Active, steps: int = SEGMENT) -> Active:
    """Return the state after so many more steps, which stay open."""
    for action, observation in contents(steps, "open "):
        state = grow(state, action, observation)
    return state


def floor_opened(floor: Floor, steps: int = SEGMENT) -> Floor:
    """Grow so many more steps, which stay open."""
    for action, observation in contents(steps, "open "):
        floor.grow(action, observation)
    return floor


def detour(steps: int) -> Active:
    """Return the state after so many steps that were all left behind, and then a little work.

    What is shown is the same for every number of steps but for the ids: three subgoals of 20 steps, 10
    open steps.
    """
    gone = revise(run(contents(steps)), 0, "").unwrap().state
    state = _active(gone)
    for _ in range(3):
        state = judged(opened(state))
    return opened(state, 10)


def without_ids(shown: ExecutionState) -> object:
    """Return what is shown with no id in it, to tell whether two trees show the same."""
    summaries = [
        (line.text,) if isinstance(line, Chapter) else (line.text, line.kind, line.verdict, len(line.covers))
        for line in (*shown.compressed, *shown.hints.subgoals)
    ]
    lessons = [lesson.text for lesson in shown.hints.lessons]
    steps = [step.content for step in (*shown.raw, *shown.hints.continuations)]
    return (shown.task, shown.instructions, summaries, steps, lessons)


def journal(given: Iterable[tuple[str, str]]) -> list[Command]:
    """Return the commands of `run`."""
    commands: list[Command] = [Start(TASK)]
    state = start(TASK)
    for number, (action, observation) in enumerate(given, start=1):
        commands.append(Grow(action, observation))
        state = grow(state, action, observation)
        if number % SEGMENT == 0:
            unverified = subgoal(state)
            verdict = ApplyVerdict(Passed(), unverified.digest)
            commands += [Compress(TEXT), verdict]
            state = _active(apply_verdict(unverified, verdict.verdict, verdict.digest).unwrap())
    return commands
