"""Logs of coding agents: what the readers of such logs share, compactions, and the log of Codex.

A reply stands in several records. A client that lets its user go back leaves the steps done there in its log. The tree
of mage goes back to boundaries only, and as a rule there is none where the user went back. So the way leads from the
last boundary before it, over the same steps once more, into which the tree merges (D10): nothing is made up, and S
after it is what the model was sent. Of a compaction, `compactions` returns the names that the client's text lacks, and
those of them that were needed again.

Codex writes `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`, lines of `{timestamp, type, payload}`. A
`response_item` is an item that the model read or wrote; an `event_msg` repeats one for the screen, except the one that
records that the user went back. A compaction of newer clients is encrypted: only the server can read its text, so an
extract of ours stands in its place, and says so. A subagent has a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias, final

import attrs

from mage.chat import Content, canonical, content_of
from mage.chat.messages import list_of, mapping_of, string_of
from mage.engine import Accept, Command, Compress, Grow, Revise, Start, State, Step, StepId, apply
from mage.engine.ids import ROOT_STEP
from mage.engine.text import is_blank
from mage.engine.tree import trace
from mage.render import one_line
from mage.render.extract import extract
from mage.trajectories.messages import Call, Said, Turn, steps_of
from mage.trajectories.trajectory import (
    Entry,
    Made,
    Oddities,
    Spot,
    Steps,
    Trajectory,
    entry_at,
    made_of,
    shortened,
)

# -- a reply in several records -----------------------------------------------------------------------------


@final
@attrs.define(eq=False)
class Reply:
    """A reply, as far as its records are read.

    Attributes:
        at: when it began, in microseconds.
        entries: its records.
        said, thoughts: its words beside its calls, and its thoughts, in order.
        calls: its calls, in order.
        results: the results, by the ids of the calls.
        after: the messages behind it, in order; results are among them.
        parts: its images and files.
        log: the part of the log that goes into the meta of its first step.
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
        """Take in a part of its words."""
        self.said.append(content.text)
        self.thoughts += content.thoughts
        self.parts.update(content.parts)

    def answer(self, key: str, content: Content, entry: Entry, odd: Oddities) -> None:
        """Take in the result of the call with the id `key`."""
        name = next((call.name for call in self.calls if call.key == key), None)
        if name is None:
            odd.note("a result of no call before it, kept as an observation", entry)
        by = "tool (result of no call)" if name is None else f"tool {name}"
        said = Said(by, content.text, "loose" if name is None else "result", entry, content.parts)
        self.results.setdefault(key, []).append(said)
        self.after.append(said)

    def made(self, steps: Steps, odd: Oddities) -> tuple[Made, ...]:
        """Return its steps; a thought alone is no step."""
        said, thought = ["\n".join(filter(None, texts)) for texts in (self.said, self.thoughts)]
        results = tuple([tuple(self.results.get(call.key, ())) for call in self.calls])
        turn = Turn(self.entries[0], said, tuple(self.calls), thought, self.parts, results, tuple(self.after))
        if not turn.action and not self.after:
            odd.note("a thought without a reply, left out", self.entries[0])
            return ()
        for _ in range(results.count(())):
            odd.note("a tool call without a result", self.entries[0])
        kind: Steps = steps if self.calls else "messages"  # a reply without calls is a step either way
        return tuple(self._beside(steps_of([turn], kind, odd), kind))

    def _beside(self, steps: Iterable[Made], kind: Steps) -> Iterator[Made]:
        """Put beside its steps the ids of their calls, and beside the first its part of the log."""
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
"""The key in a command's meta for its part of the log: ids, model, usage."""
UNTOLD: Final = "(The client's own summary is not in its log, or is encrypted there. In its place:)"
"""How the extract begins that stands for a compaction without a readable text."""
_WORDS: Final = 200
"""Characters of the first step left that the lesson quotes."""
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
        meta: the meta of its command.
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
        made: its steps, or its compaction.
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
    """Return the step with the words of a user: it has no action."""
    return Made(Grow("", f"user:\n{text}"), (entry,), meta)


def left_behind(commands: Iterable[Command]) -> str:
    """Return the lesson at the boundary from which steps were left: a log does not say why the user went back."""
    first = next((each for each in commands if isinstance(each, Grow)), None)
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
    """Return the meta of a command: its time, and the fields of its log that are not empty."""
    kept = {name: value for name, value in said.items() if value not in (None, "", [], {})}
    return {**({} if at is None else {"at": at}), **({LOG: kept} if kept else {})}


def history(begin: Made, paths: Sequence[Walk], odd: Oddities) -> list[Made]:
    """Return the commands that walk every path, the last one last. Cost: the sum of the paths.

    Args:
        begin: the start.
        paths: in order of time.
        odd: notes what is unusual.
    """
    walking = _Walking(begin, odd)
    for path in paths:
        walking.walk(path)
    return walking.made


@final
class _Walking:
    """The way so far: its commands, and the places and boundaries on the present path."""

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
        """Go on along a path from the place where it leaves the present one."""
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
        lesson = left_behind(made.command for place in self._path[shared:] for made in place.steps)
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


# -- names that compactions lost ----------------------------------------------------------------------------


_NAME: Final = re.compile(r"[\w~.$@#/+-]*[\w~]")
_KEY: Final = re.compile(r'"\w+":')
"""The name of an argument: the same in every call of a tool."""
_AROUND: Final = ".-+#/"
_TELLING: Final = re.compile(r"\d|[/@_]|[a-z][A-Z]|\w\.\w")
_SHORTEST: Final = 3
_LONGEST: Final = 120
"""Characters of a name: a longer word is content, which no action would copy."""


@final
@attrs.frozen
class Compaction:
    """A compaction in a log.

    Attributes:
        version: the version of its summary in the history.
        label: the label of its line, as in `[Step 0]`.
        boundary: the last step that it covers.
        steps: how many steps it covers.
        text: the text in place of the steps.
        names: how many names the steps have: paths, identifiers, numbers, addresses.
        lost: the names that are not in the text, the newest first.
        missed: the lost names that later actions used again.
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
    """Return the names in steps, each once, the newest first. Cost: O(contents)."""
    every = [name for step in steps for text in step.content for name in names_in(text)]
    return tuple(dict.fromkeys(reversed(every)))


def missing(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the names that are not in a text, in order. Cost: O(length)."""
    there = set(names_in(text))
    return tuple([name for name in names if name not in there])


def in_short(names: Iterable[str], room: int) -> str:
    """Return the first names as a list in one line, as many as fit into `room` characters."""
    kept: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        kept.append(name)
    return ", ".join(kept)


def names_in(text: str) -> list[str]:
    """Return the words of a text that an action can only copy: with a digit, a slash, an underscore, an inner dot or capital.

    They are more than the `literals` of `mage.render`: a client's summary also loses paths and identifiers.
    """
    words = [found.strip(_AROUND) for found in _NAME.findall(_KEY.sub(" ", text))]
    return [word for word in words if _SHORTEST <= len(word) <= _LONGEST and _TELLING.search(word)]


# -- Codex -------------------------------------------------------------------------------------------------


_TYPES: Final = frozenset({"session_meta", "response_item", "turn_context", "event_msg", "compacted"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_OF_THE_CLIENT: Final = (
    *("<environment_context>", "<permissions instructions>", "<user_instructions>", "<turn_aborted>"),
    *("<skill>", "# AGENTS.md"),
)
"""How messages begin that the client itself writes in the user's name."""


def is_codex(document: Spot) -> bool:
    """Tell whether a file looks like such a log: some record of it has a payload and a known type."""
    return any(
        record.has("payload") and string_of(mapping_of(record.value).get("type")) in _TYPES
        for record in (document, *document.records)
    )


def load_codex(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory, named `stem`.

    A step is a reply, with its results as the observation: all words and calls of the model until a result comes, or
    the user speaks; with `steps="tools"` each call with its result. The user's first words are the task, all others
    a step without an action; messages of the client in the user's name are left out. Where the user went back, the
    tree goes back. A compaction is a fallback summary, accepted without a verdict.
    """
    log = _Log(steps)
    for spot in document.records or [document]:
        log.read(spot)
    log.end()
    about = beside(log.begun, client="codex", **log.about)
    begin = Made(Start(log.task), log.asked, about)
    made = history(begin, [*log.left, log.path], log.odd)
    cut = any(isinstance(place.made, Cut) for path in (*log.left, log.path) for place in path)
    return (made_of(stem, made, summarized=cut, remarks=log.odd.remarks),)


@final
class _Log:
    """A log as far as it is read: the present path, and those that were left."""

    def __init__(self, steps: Steps) -> None:
        self.odd = Oddities()
        self.task = ""
        self.asked: tuple[Entry, ...] = ()
        self.begun: int | None = None
        self.about: dict[str, object] = {}
        self.path: list[Place] = []
        self.left: list[Walk] = []
        self._steps: Steps = steps
        self._heard: list[int] = []  # how many places stood before each message of the user
        self._reply: Reply | None = None
        self._model: object = None

    def read(self, spot: Spot) -> None:
        """Take in a record, whatever it holds; nothing is raised."""
        record = mapping_of(spot.value)
        payload = mapping_of(record.get("payload"))
        at, kind, inner = micros(record.get("timestamp")), record.get("type"), payload.get("type")
        if kind == "session_meta":
            self._begin(payload)
        elif kind == "turn_context":
            self._model = payload.get("model")
        elif kind == "compacted":
            self._compact(payload, at, spot)
        elif kind == "event_msg" and inner == "thread_rolled_back":
            self._go_back(payload.get("num_turns"), spot)
        elif kind == "event_msg":  # repeats another record
            if inner == "token_count" and self._reply is not None:
                self._reply.log["usage"] = mapping_of(payload.get("info")).get("last_token_usage")
        elif kind == "response_item":
            self._item(payload, at, spot)
        else:
            self._skip(string_of(kind) or "no type", spot)

    def _skip(self, kind: str, spot: Spot) -> None:
        self.odd.note(f"a record of the type {shortened(kind)!r}, left out", spot.path)

    def _begin(self, payload: Mapping[str, object]) -> None:
        named = {"session": "id", "folder": "cwd", "version": "cli_version", "forked": "forked_from_id"}
        if not self.about:  # a fork has that of its parent behind its own
            self.about = {name: payload[field] for name, field in named.items() if field in payload}

    def _item(self, item: Mapping[str, object], at: int | None, spot: Spot) -> None:
        kind, role = string_of(item.get("type")), string_of(item.get("role"))
        if kind == "message" and role == "user":
            self._hear(content_of(item.get("content")).text, at, spot)
        elif kind == "message" and role == "assistant":
            self._replying(at, spot).say(content_of(item.get("content")))
        elif kind == "reasoning":
            self._replying(at, spot).say(content_of([item]))
        elif kind in _CALLS:
            self._call(item, at, spot)
        elif kind in _RESULTS:
            self._return(item, spot)
        else:
            self._skip(f"response_item ({role or kind or 'no type'})", spot)

    def _replying(self, at: int | None, spot: Spot) -> Reply:
        """Return the reply that goes on: a new one where a result has come since."""
        if self._reply is None or self._reply.after:
            self.end()
            self._reply = Reply(at, log={"model": self._model})
        self._reply.entries.append(entry_at(spot.path))
        return self._reply

    def _call(self, item: Mapping[str, object], at: int | None, spot: Spot) -> None:
        reply = self._replying(at, spot)
        given = next((item[name] for name in ("arguments", "input", "action") if item.get(name)), {})
        written = given if isinstance(given, str) else canonical(given)
        name = string_of(item.get("name")) or string_of(item.get("type"))
        key = string_of(item.get("call_id")) or string_of(item.get("id"))
        reply.calls.append(Call(name, written, key))

    def _return(self, item: Mapping[str, object], spot: Spot) -> None:
        key, given = string_of(item.get("call_id")), item.get("output")
        inside = mapping_of(given)
        found = content_of(inside.get("content", given) if inside else given)
        reply = self._reply or self._replying(None, spot)
        reply.answer(key, found, entry_at(spot.path), self.odd)

    def _hear(self, text: str, at: int | None, spot: Spot) -> None:
        """Take in a message of the user."""
        if text.lstrip().startswith(_OF_THE_CLIENT):
            self._skip("response_item (of the client)", spot)
            return
        self.end()
        self._heard.append(len(self.path))
        entry = entry_at(spot.path)
        if not self.asked:
            self.task, self.asked, self.begun = text, (entry,), at
            return
        self.path.append(Place(entry.record, (told(text, entry, beside(at)),)))

    def end(self) -> None:
        """End the present reply."""
        reply, self._reply = self._reply, None
        if reply is not None:
            self.path.append(Place(reply.entries[0].record, reply.made(self._steps, self.odd)))

    def _go_back(self, turns: object, spot: Spot) -> None:
        """Leave the path before the message of the user that is the `turns`-th from the last."""
        self.end()
        if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1 or not self._heard:
            self._skip("event_msg (thread_rolled_back)", spot)
            return
        first = max(0, len(self._heard) - turns)
        self.left.append(list(self.path))
        del self.path[self._heard[first] :], self._heard[first:]

    def _compact(self, payload: Mapping[str, object], at: int | None, spot: Spot) -> None:
        self.end()
        kept = [mapping_of(item) for item in list_of(payload.get("replacement_history"))]
        texts = [content_of(item.get("content")).text for item in kept if item.get("type") == "message"]
        is_sealed = any(item.get("encrypted_content") for item in kept)
        text = string_of(payload.get("message")) or ("" if is_sealed or not texts else texts[-1])
        entry = entry_at(spot.path)
        self.path.append(Place(entry.record, Cut(text, entry, beside(at, sealed=is_sealed or None))))
