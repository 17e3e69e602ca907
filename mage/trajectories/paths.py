"""A log that is a tree of its own, as a history: each path in order of time, and between two of them a revise.

A client that lets its user go back leaves what was done there in its log. The tree of mage goes back to boundaries
only, and where the user went back there is none as a rule. So the way leads from the last boundary before it, over the
same steps once more, into which the tree merges (D10): nothing is made up, and S is after it what the model was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias, final

import attrs

from mage.engine import Accept, Compress, Grow, Revise, State, StepId, apply
from mage.engine.ids import ROOT_STEP
from mage.engine.text import is_blank
from mage.engine.tree import trace
from mage.render import one_line
from mage.render.extract import extract
from mage.trajectories.trajectory import Entry, Made, Oddities

LOG: Final = "log"
"""The key in a command's meta under which stands what its log says beside it: ids, model, usage."""
UNTOLD: Final = "(The client's own summary is not in its log, or is encrypted there. In its place:)"
"""How the text begins that stands for a compaction whose own cannot be read."""
_WORDS: Final = 200
"""Characters of what was left that the lesson quotes."""
_BEGAN: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EMPTY: Final = "a compaction with nothing new before it, left out"
_SEALED: Final = "a compaction whose text is not in the log, so an extract of ours stands for it"


@final
@attrs.frozen
class Cut:
    """A compaction: the client's model reads its text in place of all before it.

    Attributes:
        text: the text; blank where the log does not have it.
        entry: its record.
        meta: what goes beside it.
    """

    text: str
    entry: Entry
    meta: dict[str, object] = attrs.field(factory=dict)


@final
@attrs.frozen
class Place:
    """A place on a path.

    Attributes:
        key: the same on every path that leads through it.
        made: its steps; or the compaction that stands there.
    """

    key: str
    made: tuple[Made, ...] | Cut

    @property
    def steps(self) -> tuple[Made, ...]:
        """Its steps; a compaction has none."""
        return () if isinstance(self.made, Cut) else self.made


Walk: TypeAlias = Sequence[Place]
"""A path from the beginning."""


def told(text: str, entry: Entry, meta: dict[str, object]) -> Made:
    """Return the step that the words of a user are: nothing was done for it."""
    return Made(Grow("", f"user:\n{text}"), (entry,), meta)


def left_behind(made: Sequence[Made]) -> str:
    """Return the lesson at the boundary from which steps were left: a log does not say why the user went back."""
    first = next((each.command for each in made if isinstance(each.command, Grow)), None)
    if first is None:
        return ""
    return f"The user went back to before this, and on another way: {one_line(first.action or first.observation, _WORDS)}"


def micros(written: object) -> int | None:
    """Return an ISO 8601 time in microseconds since 1970; None for anything else. Without a zone it is UTC."""
    if not isinstance(written, str):
        return None
    try:
        read = datetime.fromisoformat(written)
        zoned = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
        return max(0, (zoned - _BEGAN) // _MICROSECOND)
    except (ValueError, OverflowError):
        return None


def beside(at: int | None, **said: object) -> dict[str, object]:
    """Return the meta of a command: when it was given, and what its log says that is not empty."""
    kept = {name: value for name, value in said.items() if value not in (None, "", [], {})}
    return {**({} if at is None else {"at": at}), **({LOG: kept} if kept else {})}


def history(begin: Made, paths: Sequence[Walk], odd: Oddities) -> list[Made]:
    """Return the commands that walk every path, the last one last. Cost: the sum of the paths.

    Args:
        begin: the start.
        paths: in order of time.
        odd: hears what is unusual.
    """
    walking = _Walking(begin, odd)
    for path in paths:
        walking.walk(path)
    return walking.made


@final
class _Walking:
    """The way so far: what was made, and the places and boundaries on the path where it stands."""

    def __init__(self, begin: Made, odd: Oddities) -> None:
        self.made = [begin]
        self._odd = odd
        self._state: State = apply(None, begin.command).unwrap()
        self._path: list[Place] = []
        self._ends: list[tuple[int, StepId]] = [
            (0, ROOT_STEP)
        ]  # each boundary, and how many places lead to it

    def _do(self, made: Made) -> None:
        self._state = apply(self._state, made.command).unwrap()
        self.made.append(made)

    def walk(self, path: Walk) -> None:
        """Go on along a path from where it parts from the present one."""
        shared = 0
        while shared < min(len(path), len(self._path)) and path[shared].key == self._path[shared].key:
            shared += 1
        if shared < len(self._path):
            self._go_back(shared)
        for place in path[len(self._path) :]:
            self._path.append(place)
            if isinstance(place.made, Cut):
                self._compact(place.made)
            else:
                for made in place.made:
                    self._do(made)

    def _go_back(self, shared: int) -> None:
        self._ends = [end for end in self._ends if end[0] <= shared]
        places, boundary = self._ends[-1]
        lesson = left_behind([made for place in self._path[shared:] for made in place.steps])
        del self._path[places:]
        self._do(Made(Revise(boundary, lesson)))

    def _compact(self, cut: Cut) -> None:
        tree = self._state.tree
        steps = trace(tree, tree.boundary, tree.step_head)
        if not steps:
            self._odd.note(_EMPTY, cut.entry)
            return
        text = cut.text
        if is_blank(text):
            self._odd.note(_SEALED, cut.entry)
            text = f"{UNTOLD}\n{extract(steps)}"
        self._do(Made(Compress(text, "fallback"), (cut.entry,), cut.meta))
        self._do(Made(Accept()))
        self._ends.append((len(self._path), self._state.tree.boundary))
