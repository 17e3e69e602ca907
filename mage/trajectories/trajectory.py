"""What an importer returns: a history as commands and where each stood, or why a trace could not be read.

Inside this room a function that can meet a malformed value returns `X | Malformed`; `load` turns the first
`Malformed` into the public `TraceError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, final

import attrs

from mage.engine import Command, Grow, MageError, RefusedCommand, Start, State, StepId, apply

Steps: TypeAlias = Literal["messages", "tools"]
"""What one step of a chat is: an assistant message, or a tool call with its result."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", re.ASCII)
_LONGEST_PATH: Final = 12  # parts that are shown
_LONGEST_KEY: Final = 40  # characters that are shown


@final
@attrs.frozen
class Entry:
    """A record of a trace's file: a message, an entry of a history, a line.

    Attributes:
        record: its place, spelled as in a `TraceError`: `history[17]`, `[3].traj[12]`, `line 5`.
        index: its place from 0 in the list, or among the lines, that hold it.
    """

    record: str
    index: int


@final
@attrs.frozen
class Made:
    """A command, and the records of the file that it was made of, in their order."""

    command: Command
    entries: tuple[Entry, ...] = ()


@final
@attrs.frozen
class Mistake:
    """What people said, after a run had failed, was its decisive mistake. The agent never saw it.

    Attributes:
        said: where it is, as the file says it.
        entry: the record that this means; None where it means none.
        agent: whose mistake it was said to be.
        reason: why.
    """

    said: str
    entry: Entry | None
    agent: str
    reason: str


@final
@attrs.frozen
class Remark:
    """Something unusual that a trace holds, or that was left out, and was read all the same.

    Attributes:
        what: what it is.
        count: how many times.
        record: where it was first, spelled as in a `TraceError`.
    """

    what: str
    count: int
    record: str

    def __str__(self) -> str:
        more = f", {self.count} times, first" if self.count > 1 else ""
        return f"{self.what}{more} at {self.record}"


@final
@attrs.frozen
class Trajectory:
    """One agent's history, as commands that replay without a refusal.

    Attributes:
        name: what it is called in its file: the task id, the place in the file, the session's name, or the
            file's stem.
        commands: begins with a `Start`; what it holds is a step's content, never an id or a time (D15).
        summarized: whether the trace brought its own compress commands.
        trials: whether it is several trials of one task, each begun at the root without the others.
        sources: for each command the records of the file that it was made of; `placed` says at which steps
            these stand. Empty where nobody says.
        mistakes: what people found wrong, where the file says it.
        remarks: what was unusual, in the order in which it was met first.
        lineage: whether it is there only because another one of its file was forked from it.
    """

    name: str
    commands: tuple[Command, ...] = attrs.field(repr=lambda commands: f"<{len(commands)} commands>")
    summarized: bool
    trials: bool = False
    sources: tuple[tuple[Entry, ...], ...] = attrs.field(default=(), repr=False)
    mistakes: tuple[Mistake, ...] = attrs.field(default=(), repr=False)
    remarks: tuple[Remark, ...] = attrs.field(default=(), repr=False)
    lineage: bool = attrs.field(default=False, repr=False)


def made_of(
    name: str,
    made: Iterable[Made],
    *,
    summarized: bool = False,
    trials: bool = False,
    mistakes: tuple[Mistake, ...] = (),
    remarks: tuple[Remark, ...] = (),
) -> Trajectory:
    """Return the trajectory of commands and what they were made of."""
    listed = tuple(made)
    return Trajectory(
        name,
        tuple([each.command for each in listed]),
        summarized,
        trials,
        tuple([each.entries for each in listed]),
        mistakes,
        remarks,
    )


@final
@attrs.frozen
class TraceError:
    """A trace that cannot be read, and where.

    Attributes:
        file: what the caller calls the file.
        record: the place, as a JSON path (`[3].traj[12].role`) or a line (`line 5, role`); `$` is the whole.
        problem: what was expected and what was found, shortened.
        good: how many records before it were sound, counted in the outermost list: lines, messages, runs.
            Where a text stops being JSON, these are the whole records of JSON before.
    """

    file: str
    record: str
    problem: str
    good: int

    def __str__(self) -> str:
        told = f"{self.file}: {self.record}: {self.problem} (good records before it: {self.good})"
        if told.isprintable():
            return told
        return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in told)


@final
@attrs.frozen
class Line:
    """A record's place in a JSON Lines file.

    Attributes:
        number: counted from 1, blank lines included.
        before: records before it.
    """

    number: int
    before: int


Path: TypeAlias = tuple[str | int | Line, ...]
"""Where a value stands: field names, places in lists from 0, and for JSON Lines the line first."""


@final
@attrs.frozen
class Malformed:
    """A value that is not what its format says.

    Attributes:
        path: where it stands.
        problem: what was expected and what was found.
    """

    path: Path
    problem: str


def trace_error(file: str, malformed: Malformed) -> TraceError:
    """Return the error that the caller sees. Cost: O(length of the path)."""
    return TraceError(file, spelled(malformed.path), malformed.problem, _good(malformed.path))


def entry_at(path: Path) -> Entry:
    """Return the record at a path whose last part is its place in a list, or a line. Cost: O(length of the path)."""
    last = path[-1] if path else 0
    index = last.before if isinstance(last, Line) else last
    return Entry(spelled(path), index if isinstance(index, int) else 0)


def _good(path: Path) -> int:
    for part in path:
        if isinstance(part, Line):
            return part.before
        if isinstance(part, int):
            return part
    return 0


def spelled(path: Path) -> str:
    """Return a path as people write it, shortened where it is long. Cost: O(length of the path)."""
    shown = path if len(path) <= _LONGEST_PATH else (*path[:6], None, *path[-3:])
    line = _part(shown[0]) if shown and isinstance(shown[0], Line) else ""
    below = "".join([_part(part) for part in shown[bool(line) :]]).removeprefix(".")
    return ", ".join([part for part in (line, below) if part]) or "$"


def _part(part: str | int | Line | None) -> str:
    match part:
        case None:
            return "..."
        case int():
            return f"[{part}]"
        case Line():
            return f"line {part.number}"
        case str():
            plain = _PLAIN_KEY.fullmatch(part) is not None
            return f".{part}" if plain else f"[{json.dumps(part[:_LONGEST_KEY])}]"


def placed(trajectory: Trajectory) -> dict[Entry, tuple[StepId, ...]]:
    """Return for each record of the file the ids of the steps that hold it, in order.

    What is part of the task is at the root, 0. A record can be at several steps, as a message with several
    tool calls is, and a step can hold several records; what made no step, such as a summary, is left out.
    Cost: that of a replay.

    Raises:
        MageError: a command is refused; what `load` returns has none.
    """
    found: dict[Entry, dict[StepId, None]] = {}
    state: State | None = None
    for version, (command, entries) in enumerate(
        zip(trajectory.commands, trajectory.sources, strict=False), start=1
    ):
        result = apply(state, command)
        state = result.value_or(None)
        if state is None:
            raise MageError(str(RefusedCommand(version, command, result.failure())))
        if isinstance(command, Start | Grow):
            for entry in entries:
                found.setdefault(entry, {})[state.tree.step_head] = None
    return {entry: tuple(steps) for entry, steps in found.items()}
