"""ATIF, the Agent Trajectory Interchange Format of Harbor (v1.8), in both directions.

A document is one sequence of steps. Ours follows the journal: a step for each command, and behind each command that
replaces steps by a text, or goes back, S as a `system` step with `context_management: compaction, boundary: replace`
(section VII): the observation there is all that the agent sees of the steps before. `extra.mage` has everything for which
ATIF has no place, so a session reads back as it was. A document of others is read as a log is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, cast

from returns.pipeline import is_successful

from mage.chat import THOUGHT, BadAction, action_text, canonical, content_of, parse_action, sendable
from mage.chat.messages import list_of, mapping_of, string_of
from mage.codec.commands import COMMAND, command_document, command_from
from mage.engine import (
    ApplyVerdict,
    Command,
    Compress,
    Failed,
    Fold,
    Grow,
    Instruct,
    Retext,
    Revise,
    Start,
    State,
    apply,
    replay,
    view,
)
from mage.render import render
from mage.session import Entry as Recorded
from mage.trajectories.coding import LOG, Cut, Place, Reply, beside, history, micros, told
from mage.trajectories.messages import Call
from mage.trajectories.trajectory import (
    Made,
    Malformed,
    Oddities,
    Spot,
    Steps,
    Trajectory,
    entry_at,
    made_of,
    shortened,
)

SCHEMA: Final = "ATIF-v1.8"
_OURS: Final = "mage"
_REPLACED: Final = {"context_management": {"type": "compaction", "boundary": "replace"}}
_USER: Final = "user:\n"
_BEGAN: Final = datetime(1970, 1, 1, tzinfo=UTC)
Row: TypeAlias = dict[str, Any]  # a step of a document

# -- from a session ------------------------------------------------------------------------------------


def atif_document(name: str, entries: Sequence[Recorded], version: str) -> dict[str, object]:
    """Return a session as a document of ATIF: JSON that its validators accept.

    Args:
        name: the session's name.
        entries: its history, at least the start.
        version: the version of mage.

    Cost: that of a replay, and O(size of S) for each compress, verdict, fold and revise.
    """
    rows: list[Row] = []
    state: State | None = None
    for entry in entries:
        state = apply(state, entry.command).unwrap()
        rows += _rows(entry, state)
    steps = [{"step_id": number, **row} for number, row in enumerate(rows, start=1)]
    log = mapping_of(entries[0].meta.get(LOG))
    agent = {
        "name": string_of(log.get("client")) or _OURS,
        "version": string_of(log.get("version")) or version,
    }
    return {
        "schema_version": SCHEMA,
        "session_id": sendable(name),
        "trajectory_id": sendable(f"{name}@{entries[-1].version}"),
        "agent": agent,
        "steps": steps,
        "final_metrics": {"total_steps": len(steps)},
        "extra": {_OURS: {"commands": len(entries)}},
    }


def _rows(entry: Recorded, after: State) -> list[Row]:
    """Return the steps of a command: itself, and S behind a command that changes how earlier steps are shown."""
    command = entry.command
    row = _row(command, entry, after)
    own: Row = {"version": entry.version}
    if _grown(row) != command:
        own["command"] = _kept(command_document(command))
    meta = {name: value for name, value in entry.meta.items() if name != "at"}
    if meta:
        own["meta"] = _kept(meta)
    when = _time(entry.at)
    stamp = {} if when is None else {"timestamp": when}
    if entry.at is not None and micros(when) != entry.at:
        own["at"] = entry.at
    rows: list[Row] = [{**stamp, **row, "extra": {**row.get("extra", {}), _OURS: own}}]
    if not isinstance(command, Start | Grow | Instruct):
        seen = {"results": [{"content": sendable(render(view(after)))}]}
        extra = {**_REPLACED, _OURS: {"shown": True}}
        rows.append(
            {**stamp, "source": "system", "message": _said(command), "observation": seen, "extra": extra}
        )
    return rows


def _row(command: Command, entry: Recorded, after: State) -> Row:
    match command:
        case Start(task=text) | Instruct(text=text):
            return {"source": "user", "message": sendable(text)}
        case Grow(action="", observation=text) if text.startswith(_USER):
            return {"source": "user", "message": sendable(text.removeprefix(_USER))}
        case Grow():
            return _acted(command, entry)
        case Compress(text=text) | Retext(text=text):
            covers = list(after.tree.head_summary.covers)
            called = _called("compress", {"text": sendable(text)}, entry, None)
            return {**called, "extra": {"covers": covers}}
        case Revise(boundary=boundary, lesson=lesson):
            return _called("revise", {"step": int(boundary), "lesson": sendable(lesson)}, entry, None)
        case Fold(first=first, last=last, text=text):
            return _called(
                "fold", {"first": int(first), "last": int(last), "text": sendable(text)}, entry, None
            )
        case _:
            return {"source": "system", "message": _said(command)}


def _acted(command: Grow, entry: Recorded) -> Row:
    """Return a step of the agent: a call where its action is one, else its words."""
    log = mapping_of(entry.meta.get(LOG))
    more: Row = {"model_name": string_of(log.get("model")), "metrics": _metrics(log.get("usage"))}
    thought = string_of(entry.meta.get(THOUGHT))
    more["reasoning_content"] = sendable(thought)
    kept = {name: value for name, value in more.items() if value}
    try:
        name, arguments = parse_action(sendable(command.action))
    except BadAction:
        seen = {"results": [{"content": sendable(command.observation)}]}
        return {"source": "agent", "message": sendable(command.action), "observation": seen, **kept}
    return {**_called(name, arguments, entry, command.observation), **kept}


def _called(name: str, arguments: Mapping[str, object], entry: Recorded, came: str | None) -> Row:
    key = string_of(entry.meta.get("call")) or f"v{entry.version}"
    call = {"tool_call_id": sendable(key), "function_name": sendable(name), "arguments": dict(arguments)}
    row: Row = {"source": "agent", "message": "", "tool_calls": [call]}
    if came is not None:
        row["observation"] = {"results": [{"source_call_id": sendable(key), "content": sendable(came)}]}
    return row


def _said(command: Command) -> str:
    match command:
        case ApplyVerdict(verdict=Failed() as failed):
            return sendable(f"The summary has failed, the {failed.fault} is at fault: {failed.feedback}")
        case ApplyVerdict():
            return "The summary has passed."
        case Compress() | Retext():
            return "The summary stands for its steps from here on, and waits for a verdict."
        case Revise(boundary=boundary):
            return f"Back at [Step {boundary}]."
        case Fold():
            return "The chapter stands for its lines from here on."
        case _:
            return "The summary was accepted without a pass."


def _metrics(usage: object) -> dict[str, int]:
    """Return a client's token counts in the terms of ATIF; Anthropic's leave the cache out of the input."""
    found = {name: value for name, value in mapping_of(usage).items() if type(value) is int and value >= 0}
    cached = [found.get(name, 0) for name in ("cache_read_input_tokens", "cache_creation_input_tokens")]
    counts = {
        "prompt_tokens": found.get("prompt_tokens", found.get("input_tokens", 0) + sum(cached)),
        "completion_tokens": found.get("completion_tokens", found.get("output_tokens", 0)),
        "cached_tokens": found.get("cached_tokens", found.get("cached_input_tokens", cached[0])),
    }
    return {name: count for name, count in counts.items() if count}


def _time(at: int | None) -> str | None:
    try:
        return None if at is None else (_BEGAN + timedelta(microseconds=at)).isoformat()
    except OverflowError:
        return None


def _kept(value: Mapping[str, object]) -> object:
    """Return JSON; as its text where it holds half of a surrogate pair, which strict parsers refuse."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return value


def _again(kept: object) -> object:
    """Return the JSON that `_kept` was called with; a text of another writer may be no JSON."""
    try:
        return json.loads(kept) if isinstance(kept, str) else kept
    except (ValueError, RecursionError):
        return kept


def _grown(row: Mapping[str, object]) -> Grow | None:
    """Return the step that a row spells exactly; None where it spells none."""
    results = [mapping_of(result) for result in list_of(mapping_of(row.get("observation")).get("results"))]
    if row.get("source") == "user":
        return Grow("", f"{_USER}{row.get('message')}")
    if row.get("source") != "agent" or len(results) != 1:
        return None
    calls = [mapping_of(call) for call in list_of(row.get("tool_calls"))]
    action = string_of(row.get("message"))
    if calls:
        action = action_text(string_of(calls[0].get("function_name")), cast("Any", calls[0].get("arguments")))
    return Grow(action, string_of(results[0].get("content")))


# -- to a trajectory -----------------------------------------------------------------------------------


def is_atif(document: Spot) -> bool:
    """Tell whether a file looks like a document of ATIF: its `schema_version` says so."""
    version = document.get("schema_version")
    return version is not None and string_of(version.value).startswith("ATIF")


def load_atif(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return the session, named `stem`, and behind it those of embedded subagents, `stem/<trajectory_id>`.

    A document of mage's is read back command by command. In any other, the messages before the agent first acts are
    the task, each agent step is a step (with `steps="tools"` each of its calls), each message of others a step without
    an action, and a compaction that replaces the context a fallback summary. Context that was copied from another
    document is left out.
    """
    inner = document.get("subagent_trajectories")
    listed = [] if inner is None or inner.value is None else inner.items("a list of trajectories")
    found = [_session(document, stem, steps)]
    for place, each in enumerate(listed):
        name = string_of(mapping_of(each.value).get("trajectory_id")) or str(place)
        found.append(_session(each, f"{stem}/{name}", steps))
    return tuple(found)


def _session(document: Spot, name: str, steps: Steps) -> Trajectory:
    rows = document.field("steps").items("a list of steps")
    for row in rows:
        row.field("source").text()
    ours = mapping_of(mapping_of(document.value).get("extra")).get(_OURS)
    if rows and isinstance(ours, dict):
        return _ours(rows, name)
    return _others(document, rows, name, steps)


def _ours(rows: Sequence[Spot], name: str) -> Trajectory:
    made: list[Made] = []
    commands: list[Command] = []
    for row in rows:
        own = mapping_of(mapping_of(mapping_of(row.value).get("extra")).get(_OURS))
        if own.get("shown") is True:
            continue
        command = _command(row, own)
        at = own.get("at", micros(mapping_of(row.value).get("timestamp")))
        meta = {**({"at": at} if isinstance(at, int) else {}), **mapping_of(_again(own.get("meta")))}
        commands.append(command)
        made.append(Made(command, (entry_at(row.path),), meta))
    replayed = replay(commands)
    if not is_successful(replayed):
        raise Malformed(rows[0].path[:-1], str(replayed.failure()))
    return made_of(name, made, summarized=any(isinstance(each, Compress) for each in commands))


def _command(row: Spot, own: Mapping[str, object]) -> Command:
    said = _again(own.get("command"))
    if said is None:
        grown = _grown(mapping_of(row.value))
        if grown is None:
            raise row.expected("a step that mage has written")
        return grown
    problem = COMMAND.problem(cast("Any", said))
    if problem is not None:
        raise Malformed((*row.path, "extra", _OURS, "command"), str(problem.as_error()))
    return command_from(cast("Any", said))


def _others(document: Spot, rows: Sequence[Spot], name: str, steps: Steps) -> Trajectory:
    odd = Oddities()
    acts = next((place for place, row in enumerate(rows) if _source(row) == "agent"), len(rows))
    head = [row for row in rows[:acts] if not _is_cut(row)]
    texts = [content_of(mapping_of(row.value).get("message")).text for row in head]
    agent = mapping_of(mapping_of(document.value).get("agent"))
    about = {"client": agent.get("name"), "version": agent.get("version"), "model": agent.get("model_name")}
    at = micros(mapping_of(head[0].value).get("timestamp")) if head else None
    begin = Made(
        Start("\n\n".join(filter(None, texts))),
        tuple([entry_at(row.path) for row in head]),
        beside(at, **about),
    )
    others = [row for place, row in enumerate(rows) if place >= acts or _is_cut(row)]
    places = [_place(row, steps, odd) for row in others]
    path = [place for place in places if place is not None]
    cut = any(isinstance(place.made, Cut) for place in path)
    return made_of(name, history(begin, [path], odd), summarized=cut, remarks=odd.remarks)


def _source(row: Spot) -> str:
    return string_of(mapping_of(row.value).get("source"))


def _is_cut(row: Spot) -> bool:
    managed = mapping_of(mapping_of(mapping_of(row.value).get("extra")).get("context_management"))
    return managed.get("type") == "compaction" and managed.get("boundary") == "replace"


def _place(row: Spot, steps: Steps, odd: Oddities) -> Place | None:
    found, entry = mapping_of(row.value), entry_at(row.path)
    if found.get("is_copied_context") is True:
        odd.note("a step copied from another trajectory, left out", row.path)
        return None
    at = micros(found.get("timestamp"))
    results = [mapping_of(each) for each in list_of(mapping_of(found.get("observation")).get("results"))]
    message = content_of(found.get("message"))
    seen = [content_of(result.get("content")).text for result in results]
    if _is_cut(row):
        text = "\n".join(filter(None, seen)) or message.text
        return Place(entry.record, Cut(text, entry, beside(at)))
    if _source(row) == "user":
        return Place(entry.record, (told(message.text, entry, beside(at)),))
    if _source(row) != "agent":
        if _source(row) != "system":
            odd.note(f"a step of the source {shortened(_source(row))!r}, kept as an observation", row.path)
        text = "\n".join(filter(None, [message.text, *seen]))
        return Place(entry.record, (Made(Grow("", f"{_source(row)}:\n{text}"), (entry,), beside(at)),))
    reply = Reply(at, [entry], log={"model": found.get("model_name"), "usage": found.get("metrics")})
    reply.say(message)
    reply.thoughts.append(string_of(found.get("reasoning_content")))
    for call in map(mapping_of, list_of(found.get("tool_calls"))):
        written = canonical(call.get("arguments", {}))
        reply.calls.append(
            Call(string_of(call.get("function_name")) or "tool", written, string_of(call.get("tool_call_id")))
        )
    for result in results:
        key = string_of(result.get("source_call_id"))
        reply.answer(key, content_of(result.get("content")), entry, odd)
    return Place(entry.record, reply.made(steps, odd))
