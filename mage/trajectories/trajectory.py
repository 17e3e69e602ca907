"""The results of importers: a history as commands with the place of each in its file, or why a trace cannot be read.

Inside this room a value that its format does not allow raises `Malformed`; `load` returns it as the public `TraceError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, final

import attrs

from mage.chat import PARTS, THOUGHT
from mage.engine import Command, Grow, MageError, RefusedCommand, Start, State, StepId, apply

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Steps: TypeAlias = Literal["messages", "tools"]
"""One step of a chat: an assistant message, or a tool call with its result."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", re.ASCII)
_LONGEST_PATH: Final = 12
"""Parts of a path that are shown."""
_SHOWN: Final = 40
"""Characters of a trace's own words that a message repeats."""


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
    """A command, the records of the file that it was made of, in their order, and its meta.

    Attributes:
        command: the command.
        entries: the records.
        meta: the agent's thought (`"thought"`), and the images, sounds and files by the digests in the marks that
            stand for them (`"parts"`), as in the meta of a live step.
    """

    command: Command
    entries: tuple[Entry, ...] = ()
    meta: Mapping[str, object] = attrs.field(factory=dict, repr=False, hash=False)


def meta_of(thought: str = "", *parts: Mapping[str, object]) -> dict[str, object]:
    """Return the meta of a command, without empty values."""
    together = {digest: part for some in parts for digest, part in some.items()}
    return {name: value for name, value in ((THOUGHT, thought), (PARTS, together)) if value}


@final
@attrs.frozen
class Mistake:
    """The decisive mistake of a failed run, as people labelled it later. The agent never saw the label.

    Attributes:
        said: the place of the mistake, in the file's words.
        entry: the record at this place; None where there is none.
        agent: the agent that made the mistake, in the file's words.
        reason: why it is a mistake.
    """

    said: str
    entry: Entry | None
    agent: str
    reason: str


@final
@attrs.frozen
class Remark:
    """Something unusual in a trace, or a part that was left out. The trace was read all the same.

    Attributes:
        what: one line that names it.
        count: how many times it occurs.
        record: the place of the first, spelled as in a `TraceError`.
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
        name: its name in the file: the task id, the place in the file, the session's name, or the file's stem.
        commands: begins with a `Start`; a step holds content, never an id or a time (D15).
        summarized: whether the trace brought its own compress commands.
        trials: whether it is several trials of one task, each begun at the root without the others.
        sources: for each command the records of the file that it was made of; `placed` returns the steps of
            these. Empty where the importer does not know.
        mistakes: the mistakes that people labelled, where the file has them.
        remarks: what was unusual, in the order of the first places.
        metas: for each command its meta (`Made.meta`).
        lineage: whether it is there only because another trajectory of its file was forked from it.
        spoken: whether its steps are the words of several agents: the action is the speaker, the observation the words.
    """

    name: str
    commands: tuple[Command, ...] = attrs.field(repr=lambda commands: f"<{len(commands)} commands>")
    summarized: bool
    trials: bool = False
    sources: tuple[tuple[Entry, ...], ...] = attrs.field(default=(), repr=False)
    mistakes: tuple[Mistake, ...] = attrs.field(default=(), repr=False)
    remarks: tuple[Remark, ...] = attrs.field(default=(), repr=False)
    lineage: bool = attrs.field(default=False, repr=False)
    metas: tuple[Mapping[str, object], ...] = attrs.field(default=(), repr=False, hash=False)
    spoken: bool = attrs.field(default=False, repr=False)


def made_of(
    name: str,
    made: Iterable[Made],
    *,
    summarized: bool = False,
    trials: bool = False,
    mistakes: tuple[Mistake, ...] = (),
    remarks: tuple[Remark, ...] = (),
) -> Trajectory:
    """Return the trajectory of commands."""
    listed = tuple(made)
    commands = tuple([each.command for each in listed])
    sources = tuple([each.entries for each in listed])
    metas = tuple([each.meta for each in listed])
    return Trajectory(name, commands, summarized, trials, sources, mistakes, remarks, metas=metas)


def placed(trajectory: Trajectory) -> dict[Entry, tuple[StepId, ...]]:
    """Return for each record of the file the ids of the steps that hold it, in order.

    A record of the task is at the root, 0. A message with several tool calls is at several steps, and a step can hold
    several records; a record without a step, such as a summary, is left out. Cost: that of a replay.

    Raises:
        MageError: a command is refused; a trajectory of `load` has no such command.
    """
    found: dict[Entry, dict[StepId, None]] = {}
    state: State | None = None
    for version, (command, entries) in enumerate(
        zip(trajectory.commands, trajectory.sources, strict=False), start=1
    ):
        state = carried_out(state, command, version)
        if isinstance(command, Start | Grow):
            for entry in entries:
                found.setdefault(entry, {})[state.tree.step_head] = None
    return {entry: tuple(steps) for entry, steps in found.items()}


def carried_out(state: State | None, command: Command, version: int) -> State:
    """Return the state after a command of a history.

    Raises:
        MageError: the command is refused.
    """
    result = apply(state, command)
    after = result.value_or(None)
    if after is None:
        raise MageError(str(RefusedCommand(version, command, result.failure())))
    return after


# -- places and errors ---------------------------------------------------------------------------------


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
class TraceError:
    """A trace that cannot be read, and where.

    Attributes:
        file: the file's name.
        record: the place, as a JSON path (`[3].traj[12].role`) or a line (`line 5, role`); `$` is the whole.
        problem: what was expected and what was found, shortened.
        good: how many records before it were sound, counted in the outermost list: lines, messages, runs.
            Where a text stops being JSON, these are the records before that are whole JSON.
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
@attrs.define
class Malformed(Exception):
    """A value is not what its format allows.

    Attributes:
        path: where it stands.
        problem: what was expected and what was found.
    """

    path: Path
    problem: str

    def in_file(self, file: str) -> TraceError:
        """Return the public error. Cost: O(length of the path)."""
        return TraceError(file, spelled(self.path), self.problem, _good(self.path))


def _good(path: Path) -> int:
    for part in path:
        if isinstance(part, Line):
            return part.before
        if isinstance(part, int):
            return part
    return 0


def entry_at(path: Path) -> Entry:
    """Return the record at a path whose last part is its place in a list, or a line. Cost: O(length of the path)."""
    last = path[-1] if path else 0
    index = last.before if isinstance(last, Line) else last
    return Entry(spelled(path), index if isinstance(index, int) else 0)


def spelled(path: Path) -> str:
    """Return a path as text, shortened where it is long. Cost: O(length of the path)."""
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
            return f".{part}" if plain else f"[{json.dumps(part[:_SHOWN])}]"


@final
@attrs.frozen
class Spot:
    """A JSON value that knows its place.

    Attributes:
        value: any JSON value, not too deep to recurse over (`mage.trajectories.loading` refuses deeper ones).
        path: its place.
        lines: for the whole of a JSON Lines file, the line of each record; else empty.
    """

    value: Json
    path: Path = ()
    lines: tuple[int, ...] = ()

    def expected(self, what: str) -> Malformed:
        """Return the error of a value that is not the expected one."""
        return Malformed(self.path, f"expected {what}, found {_shown(self.value)}")

    def get(self, name: str) -> Spot | None:
        """Return a field, or None where this is no object or has no such field."""
        if not isinstance(self.value, dict) or name not in self.value:
            return None
        return Spot(self.value[name], (*self.path, name))

    def has(self, name: str) -> bool:
        """Tell whether this is an object with such a field."""
        return isinstance(self.value, dict) and name in self.value

    # What follows raises `Malformed` where the value is another one.

    def field(self, name: str) -> Spot:
        """Return a field that must be there."""
        found = self.get(name)
        if found is not None:
            return found
        if not isinstance(self.value, dict):
            raise self.expected(f"an object with {name}")
        raise Malformed((*self.path, name), "expected this field, found none")

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.expected("a string")
        return self.value

    def whole(self) -> int:
        """Return a whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.expected("a whole number")
        return self.value

    def number(self) -> float:
        """Return a number."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.expected("a number")
        return self.value

    def items(self, what: str) -> list[Spot]:
        """Return the items of a list; `what` says which list is expected. Cost: O(its length)."""
        if not isinstance(self.value, list):
            raise self.expected(what)
        if self.lines:
            return [
                Spot(value, (Line(number, place),))
                for place, (value, number) in enumerate(zip(self.value, self.lines, strict=True))
            ]
        return [Spot(value, (*self.path, place)) for place, value in enumerate(self.value)]

    @property
    def records(self) -> list[Spot]:
        """The items of a list; none where this is no list."""
        return self.items("") if isinstance(self.value, list) else []


def _shown(value: Json) -> str:
    match value:
        case list():
            return "an empty list" if not value else f"a list of {len(value)}"
        case dict():
            names = ", ".join(json.dumps(name[:_SHOWN]) for name in list(value)[:3])
            more = ", ..." * (len(value) > 3)
            return f"an object with {names}{more}" if value else "an empty object"
        case str():
            return json.dumps(value) if len(value) <= _SHOWN else f"{json.dumps(value[:_SHOWN])}..."
        case _:
            return shortened(json.dumps(value))


def shortened(text: str) -> str:
    """Return the beginning of a text, for a message that quotes it."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@final
@attrs.define
class Oddities:
    """What is unusual in one trajectory: how often, and where first."""

    _found: dict[str, tuple[int, Path | Entry]] = attrs.field(factory=dict, init=False)

    def note(self, what: str, at: Path | Entry) -> None:
        """Note one thing that is unusual, and its place. Cost: O(1)."""
        count, first = self._found.get(what, (0, at))
        self._found[what] = (count + 1, first)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The notes, in the order of their first places. Cost: O(kinds)."""
        return tuple(
            [
                Remark(what, count, at.record if isinstance(at, Entry) else spelled(at))
                for what, (count, at) in self._found.items()
            ]
        )
