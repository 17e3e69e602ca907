"""The formats of traces: how `is_...` knows each, and what `load_...` makes a step.

Foreign formats: OpenAI chats, SWE-agent, tau-bench, Tree-of-Thought crosswords, Who&When. Our own: journals, and the
bundles that `mage export` writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Final, final

import attrs
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from mage.bundle import BUNDLE_FORMAT, Bundled, decode_bundle
from mage.chat import Content, canonical
from mage.codec import DecodeError, decode_journal
from mage.codec.commands import JOURNAL_FORMAT
from mage.engine import (
    Accept,
    Command,
    Compress,
    EmptyJournal,
    Grow,
    Revise,
    Start,
    State,
    StepId,
    apply,
    replay,
)
from mage.engine.ids import ROOT_STEP
from mage.stores.errors import DamagedRecord
from mage.stores.records import Note, Record, command_of, fold
from mage.stores.records import meta_of as meta_of_record
from mage.trajectories.messages import (
    Conversation,
    Said,
    calls_of,
    content_at,
    conversation,
    entries_of,
    joined,
    left_out,
    said_at,
    started,
    steps_of,
    thoughts_of,
)
from mage.trajectories.trajectory import (
    Entry,
    Json,
    Made,
    Malformed,
    Mistake,
    Oddities,
    Remark,
    Spot,
    Steps,
    TraceError,
    Trajectory,
    entry_at,
    made_of,
    meta_of,
    shortened,
)

# -- OpenAI chat messages ------------------------------------------------------------------------------


def is_chat(document: Spot) -> bool:
    """Tell whether a file looks like chat messages: some record of it has a role or messages."""
    return any(
        record.has("role") or record.has("messages") or any(inner.has("role") for inner in record.records)
        for record in (document, *document.records)
    )


def load_chat(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory named `stem`, or one for each conversation, named by its place from 0.

    A file holds one conversation (a list of messages, an object with `messages`, or one message a line) or
    several (a list or lines of such objects or lists). The messages before the first assistant message are
    the task, as a rule the system prompt and the first user message; system and user messages after it are
    observations. With `steps="messages"` each assistant message is a step, and all messages until the next
    one are its observation. With `steps="tools"` each tool call with its results is a step; all other messages,
    and the words of an assistant message beside its calls, are left out.
    """
    found = _conversations(document)
    return tuple(
        [
            _chat(messages, stem if len(found) == 1 else str(place), steps)
            for place, messages in enumerate(found)
        ]
    )


def _conversations(document: Spot) -> list[Spot]:
    """Return the lists of messages, or the objects that hold one."""
    if document.has("messages"):
        return [document]
    if document.has("role"):
        return [Spot([document.value], lines=(1,))]
    records = document.items("messages: a list, or an object with messages")
    if any(record.has("messages") or isinstance(record.value, list) for record in records):
        return records
    return [document]


def _chat(spot: Spot, name: str, steps: Steps) -> Trajectory:
    if spot.has("messages"):
        messages = spot.field("messages").items("a list of messages")
    else:
        messages = spot.items("messages")
    if not messages:
        raise spot.expected("at least one message")
    odd = Oddities()
    talk = conversation(messages, odd)
    begin = started(talk.head)
    made = [begin, *steps_of(talk.turns, steps, odd)]
    return made_of(name, made, remarks=odd.remarks)


# -- SWE-agent -----------------------------------------------------------------------------------------


def is_swe_agent(document: Spot) -> bool:
    """Tell whether a file looks like a SWE-agent trajectory (`.traj`), in either shape."""
    return document.has("trajectory") or (document.has("history") and not document.has("question"))


def load_swe_agent(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory, named `stem`.

    With a `trajectory` that is not empty, each of its entries is a step; else each assistant message of the
    `history` is a step, and all messages until the next one are its observation. The action is all that the agent
    wrote: its thought and its action, and its reply where that says more. The task is the part of the
    `history` before the agent first acts, demonstrations included; it is blank where there is no history.
    The state of the environment, times, and the queries are left out (D15).

    With `steps="tools"` each tool call of the `history` with its result is a step, as in a chat; a run without
    tool calls, whose actions stand in its replies, is refused.
    """
    entries = document.field("trajectory").items("a list of steps") if document.has("trajectory") else []
    history: list[Spot] = []
    if document.has("history") or not entries:
        history = document.field("history").items("a list of messages")
    odd = Oddities()
    head = list(takewhile(lambda spot: not _acts(spot), history))
    said, acts = _all_said(head, odd), history[len(head) :]
    if steps == "tools":
        made = _called(acts, odd)
    else:
        made = [_entry(entry, odd) for entry in entries] or [_turn(turn, odd) for turn in _by_turn(acts)]
    begin = started(said)
    return (made_of(stem, [begin, *made], remarks=odd.remarks),)


def _acts(message: Spot) -> bool:
    """Tell whether the agent acts here, and not in a demonstration."""
    role, demo = message.get("role"), message.get("is_demo")
    return role is not None and role.value == "assistant" and (demo is None or demo.value is not True)


def _all_said(messages: Sequence[Spot], odd: Oddities) -> list[Said]:
    return [
        Said(message.field("role").text(), content.text, "host", entry_at(message.path), content.parts)
        for message, content in [(message, said_at(message, odd)) for message in messages]
    ]


def _called(messages: Sequence[Spot], odd: Oddities) -> list[Made]:
    """Read the tool calls of messages, of which the agent wrote the first."""
    talk = conversation(messages, odd)
    if not any(turn.calls for turn in talk.turns):
        raise Malformed(("history",), "no message of it calls a tool, so it has no steps for --steps tools")
    return list(steps_of(talk.turns, "tools", odd))


def _entry(entry: Spot, odd: Oddities) -> Made:
    for name in ("observation", "action"):
        entry.field(name)
    written, observed = _written(entry, "response", odd), said_at(entry, odd, name="observation")
    meta = meta_of("", written.parts, observed.parts)
    return Made(Grow(written.text, observed.text), (entry_at(entry.path),), meta)


def _turn(turn: Sequence[Spot], odd: Oddities) -> Made:
    written, observed = _written(turn[0], "content", odd), _all_said(turn[1:], odd)
    meta = meta_of("\n".join(written.thoughts), written.parts, *[said.parts for said in observed])
    entries = tuple([entry_at(message.path) for message in turn])
    return Made(Grow(written.text, joined(observed)), entries, meta)


def _by_turn(messages: Sequence[Spot]) -> Iterator[Sequence[Spot]]:
    starts = [place for place, message in enumerate(messages) if _acts(message)]
    for start, end in pairwise([*starts, len(messages)]):
        yield messages[start:end]


def _written(spot: Spot, reply_name: str, odd: Oddities) -> Content:
    """Return all that the agent wrote; where its action is blank, its calls stand for it."""
    found = map(spot.get, (reply_name, "thought", "action"))
    reply, thought, action = [Content() if field is None else content_at(field, odd) for field in found]
    acted = action.text if action.text.strip() else "\n".join([call.action for call in calls_of(spot, odd)])
    thoughts = (thoughts_of(spot), *reply.thoughts)
    return Content((_once(reply.text, thought.text, acted),), thoughts, reply.parts)


def _once(reply: str, thought: str, action: str) -> str:
    """Return all three, each once: a reply is as a rule the thought, or the thought and the fenced action."""
    usual = [_squeezed(text) for text in ("", thought, action, f"{thought}```{action}```")]
    parts = [thought, action]
    if _squeezed(reply) not in usual:
        parts = [reply, action] if thought in reply else [reply, thought, action]
    return "\n".join([part for part in parts if part.strip()])


def _squeezed(text: str) -> str:
    return "".join(text.split())


# -- tau-bench -----------------------------------------------------------------------------------------


@final
@attrs.frozen
class _Run:
    trial: int
    reward: float
    talk: Conversation


def is_tau_bench(document: Spot) -> bool:
    """Tell whether a file looks like a list of runs: some record of it has a `traj`."""
    return any(record.has("traj") for record in document.records)


def load_tau_bench(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory for each task, named by its id, in the order in which tasks first appear.

    All runs of one task become one tree, in order of trial. Between two trials the tree is revised to the root,
    with the reward of the trial that ended as the lesson; so trials merge as far as they begin alike, and the
    rest branches. The last trial stays the active path, and its reward, which led to no revise, is left out.

    The task of the tree is the part before the agent first spoke that all trials share: the system prompt,
    and the first user message where it is the same in all. As a rule it is not, since a simulated user words it
    anew; then each trial opens with a step without an action, which has that message as its observation (but for
    `steps="tools"`, which leaves out all user messages, and notes them). The agent never saw the instructions of
    the simulated user (`info`), so they are left out.
    """
    tasks: defaultdict[str, list[_Run]] = defaultdict(list)
    odd: defaultdict[str, Oddities] = defaultdict(Oddities)
    for record in document.items("a list of runs"):
        task = _task_id(record.field("task_id"))
        trial, reward = record.field("trial").whole(), record.field("reward").number()
        messages = record.field("traj").items("a list of messages")
        tasks[task].append(_Run(trial, reward, conversation(messages, odd[task])))
    return tuple([_trials(task, runs, steps, odd[task]) for task, runs in tasks.items()])


def _task_id(found: Spot) -> str:
    if isinstance(found.value, str | int) and not isinstance(found.value, bool):
        return str(found.value)
    raise found.expected("a task id: a string or a whole number")


def _trials(task: str, runs: Sequence[_Run], steps: Steps, odd: Oddities) -> Trajectory:
    trials = sorted(runs, key=lambda run: run.trial)
    heads = [run.talk.head for run in trials if run.talk.head or run.talk.turns]
    same = takewhile(lambda said: len(set(said)) == 1, zip(*heads, strict=False))
    told = tuple([said[0] for said in same])
    entries = entries_of([said for run in trials for said in run.talk.head[: len(told)]])
    made = [attrs.evolve(started(told), entries=entries)]
    for run, ended in zip(trials, [None, *trials], strict=False):
        if ended is not None:
            lesson = f"trial {ended.trial} ended with reward {ended.reward}"
            made.append(Made(Revise(ROOT_STEP, lesson)))
        made.extend(_trial(run.talk, len(told), steps, odd))
    return made_of(task, made, trials=True, remarks=odd.remarks)


def _trial(talk: Conversation, told: int, steps: Steps, odd: Oddities) -> Iterator[Made]:
    opening = talk.head[told:]
    if opening and steps == "messages":
        yield Made(Grow("", joined(opening)), entries_of(opening))
    elif opening:
        left_out(opening, odd)
    yield from steps_of(talk.turns, steps, odd)


# -- Tree-of-Thought crosswords ------------------------------------------------------------------------


def is_tot_crosswords(document: Spot) -> bool:
    """Tell whether a file looks like such a log: some record of some puzzle of it has actions."""
    return any(record.has("actions") for puzzle in document.records for record in puzzle.records)


def load_tot_crosswords(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory for each puzzle, named by its place from 0.

    The file is a list of puzzles, each a list of records of a depth-first search. A record's `actions` are the path
    from the root to the place of the search. Each new move on the path is grown, summarized by itself and
    accepted; where the path goes back, the tree is first revised to the boundary that both paths share. The lesson
    is blank, since the log does not say why the search went back. The observation of a record's last move is the
    canonical JSON of its `info` and `count`; moves before it without a record have none. A record that
    adds no move leaves its observation as a lesson at its place.

    The logs carry no clues, so the task only names the puzzle. Running numbers are left out (D15).
    """
    puzzles = enumerate(document.items("a list of puzzles"))
    return tuple([made_of(str(place), _search(place, puzzle), summarized=True) for place, puzzle in puzzles])


def _search(place: int, puzzle: Spot) -> list[Made]:
    """Return the commands of one search; the engine numbers the step of each move of the path."""
    begin = Start(f"Fill in mini crossword {place}. (The log does not carry its clues.)")
    made = [Made(begin)]
    state = apply(None, begin).unwrap()
    path: list[tuple[str, StepId]] = []
    for record in puzzle.items("a list of records"):
        moves = [_move(spot) for spot in record.field("actions").items("a list of moves")]
        observation = canonical({name: record.field(name).value for name in ("info", "count")})
        for command in _moved(moves, observation, path):
            state = apply(state, command).unwrap()
            made.append(Made(command, (entry_at(record.path),)))
            if isinstance(command, Compress):
                path.append((command.text, state.tree.step_head))
    return made


def _move(spot: Spot) -> str:
    move = spot.text()
    if not move.strip():
        raise spot.expected("a move that is not blank")
    return move


def _moved(moves: Sequence[str], observation: str, path: list[tuple[str, StepId]]) -> Iterator[Command]:
    """Yield a record's commands, and cut `path` back to the part that stays."""
    shared = 0
    while shared < min(len(path), len(moves)) and path[shared][0] == moves[shared]:
        shared += 1
    new = moves[shared:]
    back = shared < len(path)
    del path[shared:]
    boundary = path[-1][1] if path else ROOT_STEP
    if back or not new:
        yield Revise(boundary, "" if new else observation)
    for place, move in enumerate(new, start=1):
        yield Grow(move, observation if place == len(new) else "")
        yield Compress(move)
        yield Accept()


# -- Who&When ------------------------------------------------------------------------------------------

_PEOPLE: Final = ("human", "user")
_LONGEST_PLACE: Final = 10  # digits


def is_who_and_when(document: Spot) -> bool:
    """Tell whether a file looks like a Who&When run: an object with a history and a question."""
    return document.has("history") and document.has("question")


def load_who_and_when(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory, named `stem`: a failed run of several agents, with a human label of the mistake.

    Each entry of the history is a step: its action is the speaker, its observation the words. The question is
    the task. `mistake_step` is the place of an entry in the history, counted from 0, in every file. The id of its
    step is that place only where the first entry, by a person, repeats the question and so is the task and no step,
    as in most of the hand-crafted files; in all others the first entry is a step with the id 1, and each id is the
    place plus one. `Trajectory.sources` has the entry of each step.

    The labels (`mistake_agent`, `mistake_step`, `mistake_reason`) and the true answer were not there during the
    run: they do not go into the tree, and the labels stand in `Trajectory.mistakes`.
    """
    question = document.field("question").text()
    history = document.field("history").items("a list of entries")
    odd = Oddities()
    made = [_spoken(entry, odd) for entry in history]
    told: tuple[Entry, ...] = ()
    first = made[0].command if made else None
    if isinstance(first, Grow) and first.action in _PEOPLE and first.observation.strip() == question.strip():
        told = made.pop(0).entries
    mistakes = _mistakes(document, history, odd)
    found = made_of(stem, [Made(Start(question), told), *made], mistakes=mistakes, remarks=odd.remarks)
    return (attrs.evolve(found, spoken=True),)


def _spoken(entry: Spot, odd: Oddities) -> Made:
    role, name = entry.field("role").text(), entry.get("name")
    content = said_at(entry, odd)
    by = "" if name is None else content_at(name, odd).text
    grow = Grow(f"{by} ({role})" if by else role, content.text)
    return Made(grow, (entry_at(entry.path),), meta_of("\n".join(content.thoughts), content.parts))


def _mistakes(document: Spot, history: list[Spot], odd: Oddities) -> tuple[Mistake, ...]:
    """Return the label, where the file has one; a label that names no entry is kept, and noted."""
    said = document.get("mistake_step")
    if said is None or said.value is None:
        return ()
    place = _label(said)
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < _LONGEST_PLACE else None
    entry = history[number] if number is not None and number < len(history) else None
    if entry is None:
        odd.note(f"a mistake_step that is no place in the history: {shortened(place)!r}", said.path)
    agent, reason = map(_label, map(document.get, ("mistake_agent", "mistake_reason")))
    if entry is not None and agent and not _is_by(entry, agent):
        odd.note(f"a mistake that is said to be of {shortened(agent)!r}, in an entry by another", entry.path)
    return (Mistake(place, None if entry is None else entry_at(entry.path), agent, reason),)


def _label(found: Spot | None) -> str:
    if found is None:
        return ""
    return found.value if isinstance(found.value, str) else canonical(found.value)


def _is_by(entry: Spot, agent: str) -> bool:
    """Tell whether an entry is by an agent: its name, or its role, such as `Orchestrator (thought)`, begins so."""
    named = [found.value for found in (entry.get("name"), entry.get("role")) if found is not None]
    return any(isinstance(by, str) and by.startswith(agent) for by in named)


# -- our own files -------------------------------------------------------------------------------------

_HEADER: Final = 1  # lines before the first command


def is_journal(first: Json) -> bool:
    """Tell whether a file's first line is that of a journal: its header, or a command whose header is lost."""
    return isinstance(first, dict) and (first.get("format") == JOURNAL_FORMAT or "op" in first)


def is_bundle(first: Json) -> bool:
    """Tell whether a file's first line is the header of a bundle."""
    return isinstance(first, dict) and first.get("format") == BUNDLE_FORMAT


def _undecoded(file: str, error: DecodeError) -> TraceError:
    """Return the error of a journal or bundle that cannot be read."""
    place = error.path.removeprefix("$").removeprefix(".")
    line = f"line {error.line}" if error.line is not None else "$"
    return TraceError(file, f"{line}, {place}" if place else line, error.problem, error.good)


def load_journal(data: bytes, file: str, stem: str) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return one trajectory, named `stem`. Cost: that of decoding and of a replay."""
    decoded = decode_journal(data)
    if not is_successful(decoded):
        return Failure(_undecoded(file, decoded.failure()))
    commands = decoded.unwrap()
    replayed = replay(commands)
    if not is_successful(replayed):
        refused = replayed.failure()
        if isinstance(refused, EmptyJournal):
            return Failure(TraceError(file, "$", str(refused), 0))
        line = f"line {refused.version + _HEADER}"
        return Failure(TraceError(file, line, str(refused.reason), refused.version - 1))
    made = [
        Made(command, (Entry(f"line {place + 1 + _HEADER}", place),))
        for place, command in enumerate(commands)
    ]
    return Success((_kept(stem, made),))


def load_bundle(data: bytes, file: str) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return the sessions of a bundle by their names, the exported one last.

    The others are there because it reads through them, and are marked so. Each record is carried out
    once, however many sessions read through it. Cost: that of decoding, of replaying every record once, and
    the sum of the sessions' lengths.
    """
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        return Failure(_undecoded(file, decoded.failure()))
    sessions: dict[str, _Session] = {}
    for journal in decoded.unwrap().journals:
        try:
            sessions[journal.name] = _session(journal, sessions)
        except DamagedRecord as damaged:
            where = f"record {damaged.version} of {journal.name}"
            return Failure(TraceError(file, where, damaged.reason, damaged.version - 1))
    *before, exported = [
        _kept(name, [each for each in session.made if each is not None]) for name, session in sessions.items()
    ]
    # A user who sees one session must not believe that the file holds no other.
    remarks = tuple(
        [
            Remark(
                f"session {shortened(each.name)!r}, which this one was forked from; --task shows it", 1, "$"
            )
            for each in before
        ]
    )
    lineage = [attrs.evolve(each, lineage=True) for each in before]
    return Success((*lineage, attrs.evolve(exported, remarks=remarks)))


@final
@attrs.frozen
class _Session:
    """A session of the bundle with the sessions that it reads through: its commands, None for a note, and each state."""

    made: list[Made | None]
    states: list[State]


def _session(journal: Bundled, known: Mapping[str, _Session]) -> _Session:
    """Carry out the journal's own records; its parent's, before them, are carried out already."""
    parent = _Session([], []) if journal.parent is None else known[journal.parent]
    made, states = parent.made[: journal.forked_at], parent.states[: journal.forked_at]
    state = states[-1] if states else None
    for record in journal.records:
        command = command_of(state, record)
        state = fold([record], state)
        entry = Entry(f"record {record.version} of {journal.name}", record.version - 1)
        made.append(None if isinstance(command, Note) else Made(command, (entry,), _beside(record)))
        states.append(state)
    return _Session(made, states)


def _beside(record: Record) -> dict[str, object]:
    """Return the meta of a record; empty where it cannot be read, as its command can."""
    try:
        return meta_of_record(record)
    except (DamagedRecord, RecursionError):
        return {}


def _kept(name: str, made: Sequence[Made]) -> Trajectory:
    return made_of(name, made, summarized=any(isinstance(each.command, Compress) for each in made))
