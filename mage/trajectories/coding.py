"""What the logs of coding agents have in common: replies in several records, paths that branch, compactions.

Of compactions it says which names the client's text does not have, and which of them were needed again. A client that lets its user go back leaves what was done there in its log. The tree of mage goes back to boundaries
only, and where the user went back there is none as a rule. So the way leads from the last boundary before it, over the
same steps once more, into which the tree merges (D10): nothing is made up, and S is after it what the model was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias, final

import attrs

from mage.chat import Content
from mage.engine import Accept, Compress, Grow, Revise, State, Step, StepId, apply
from mage.engine.ids import ROOT_STEP
from mage.engine.text import is_blank
from mage.engine.tree import trace
from mage.render import one_line
from mage.render.extract import extract
from mage.trajectories.messages import Call, Said, Turn, steps_of
from mage.trajectories.trajectory import Entry, Made, Oddities, Steps, Trajectory

# -- a reply in several records -----------------------------------------------------------------------------


@final
@attrs.define(eq=False)
class Reply:
    """A reply that is being put together.

    Attributes:
        at: when it began, in microseconds.
        entries: its records.
        said, thoughts: what it says beside its calls, in order.
        calls: its calls, in order.
        results: what came back, by the ids of the calls.
        after: what came back, in the order in which it came.
        parts: its images and files.
        log: what goes into the meta of its first step.
    """

    at: int | None
    entries: list[Entry] = attrs.field(factory=list)
    said: list[str] = attrs.field(factory=list)
    thoughts: list[str] = attrs.field(factory=list)
    calls: list[Call] = attrs.field(factory=list)
    results: dict[str, list[Said]] = attrs.field(factory=dict)
    after: list[Said] = attrs.field(factory=list)
    parts: dict[str, object] = attrs.field(factory=dict)
    log: dict[str, object] = attrs.field(factory=dict)

    def say(self, content: Content) -> None:
        """Take in a part of what it says."""
        self.said.append(content.text)
        self.thoughts += content.thoughts
        self.parts.update(content.parts)

    def answer(self, key: str, content: Content, entry: Entry, odd: Oddities) -> None:
        """Take in what came back from the call with an id."""
        name = next((call.name for call in self.calls if call.key == key), None)
        if name is None:
            odd.note("a result of no call before it, kept as an observation", entry)
        by = "tool (result of no call)" if name is None else f"tool {name}"
        said = Said(by, content.text, "loose" if name is None else "result", entry, content.parts)
        self.results.setdefault(key, []).append(said)
        self.after.append(said)

    def made(self, steps: Steps, odd: Oddities) -> tuple[Made, ...]:
        """Return its steps; one that only thought is none."""
        said = "\n".join(filter(None, self.said))
        action = "\n".join(filter(None, [said, *[call.action for call in self.calls]]))
        if not action and not self.after:
            odd.note("a thought without a reply, left out", self.entries[0])
            return ()
        results = tuple([tuple(self.results.get(call.key, ())) for call in self.calls])
        for result in results:
            if not result:
                odd.note("a tool call without a result", self.entries[0])
        thought = "\n".join(filter(None, self.thoughts))
        turn = Turn(
            *(action, tuple(self.calls), results, tuple(self.after)),
            self.entries[0],
            said,
            thought,
            self.parts,
        )
        kind: Steps = steps if self.calls else "messages"  # with nothing but words, it is a step either way
        return tuple(self._beside(steps_of([turn], kind, odd), kind))

    def _beside(self, steps: Iterable[Made], kind: Steps) -> Iterator[Made]:
        """Put beside its steps the ids of their calls, and beside the first what the log says of the reply."""
        ids = [call.key for call in self.calls]
        log = self.log
        for place, made in enumerate(steps):
            own: dict[str, object] = {}
            entries = made.entries
            if kind == "messages":
                entries = tuple(dict.fromkeys([*self.entries, *entries]))
                own = {"calls": ids} if ids else {}
            elif place < len(ids):
                own = {"call": ids[place]}
            yield Made(made.command, entries, {**beside(self.at, **log), **made.meta, **own})
            log = {}


# -- paths that branch --------------------------------------------------------------------------------------


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


# -- what compactions threw away ----------------------------------------------------------------------------


_NAME: Final = re.compile(r"[\w~.$@#/+-]*[\w~]")
_KEY: Final = re.compile(r'"\w+":')
"""How the arguments of a call are named: every call of a tool has the same."""
_AROUND: Final = ".-+#/"
_TELLING: Final = re.compile(r"\d|[/@_]|[a-z][A-Z]|\w\.\w")
_SHORTEST: Final = 3
_LONGEST: Final = 120
"""Characters of a name: a longer one is content, which nobody would copy."""


@final
@attrs.frozen
class Compaction:
    """A compaction that stands in a log.

    Attributes:
        version: that of the summary, in the history.
        label: of the line that the summary is, as in `[Step 0]`.
        boundary: the last step that it covers.
        steps: how many it covers.
        text: what stands in their place.
        names: how many names stood in the steps: paths, identifiers, numbers, addresses.
        lost: those that are not in the text, the newest first.
        missed: those of the lost that later actions had to use again.
    """

    version: int
    label: StepId
    boundary: StepId
    steps: int
    text: str = attrs.field(repr=False)
    names: int
    lost: tuple[str, ...]
    missed: tuple[str, ...]


def compactions(trajectory: Trajectory) -> tuple[Compaction, ...]:
    """Return the compactions of a log, in order. Cost: that of a replay and O(contents)."""
    state: State | None = None
    found: list[tuple[int, State]] = []
    for version, command in enumerate(trajectory.commands, start=1):
        state = apply(state, command).unwrap()
        if isinstance(command, Compress) and command.kind == "fallback":
            found.append((version, state))
    used = set[str]()
    last = len(trajectory.commands)
    made: list[Compaction] = []
    for version, after in reversed(found):
        for command in trajectory.commands[version:last]:
            if isinstance(command, Grow):
                used.update(names_in(command.action))
        last = version
        made.append(_compaction(version, after, used))
    return tuple(made[::-1])


def _compaction(version: int, state: State, used: set[str]) -> Compaction:
    summary = state.tree.head_summary
    steps = trace(state.tree, summary.label, summary.boundary)
    names = names_of(steps)
    lost = missing(names, summary.text)
    missed = tuple([name for name in lost if name in used])
    return Compaction(
        version, summary.label, summary.boundary, len(steps), summary.text, len(names), lost, missed
    )


def names_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the names in steps, each once, the one that stood last first. Cost: O(contents)."""
    every = [name for step in steps for text in step.content for name in names_in(text)]
    return tuple(dict.fromkeys(reversed(every)))


def missing(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the names that a text does not have, in order. Cost: O(length)."""
    there = set(names_in(text))
    return tuple([name for name in names if name not in there])


def in_short(names: Iterable[str], room: int) -> str:
    """Return the first names, as a list in one line, as many as so many characters have room for."""
    kept: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        kept.append(name)
    return ", ".join(kept)


def names_in(text: str) -> list[str]:
    """Return what in a text can only be copied: words with a digit, a slash, an underscore, an inner dot or capital."""
    words = [found.strip(_AROUND) for found in _NAME.findall(_KEY.sub(" ", text))]
    return [word for word in words if _SHORTEST <= len(word) <= _LONGEST and _TELLING.search(word)]
