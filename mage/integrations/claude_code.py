"""The hooks of Claude Code: a session that survives its client's compaction. The client runs `mage hook claude-code STORE`.

Each use of a tool is a step, each prompt of the user an instruction. Before a compaction the open steps get an account;
after it the client puts the execution state into the model's context. Where the user has gone back, the tree goes back.
A hook that fails says so in one line, and never stops the client.

A hook is a process for each use of a tool. So this module loads what recording needs; the few functions that need the
whole session, a text of S or the client's log import the rest themselves.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import mage
from mage.codec.strict_json import action_text, canonical
from mage.engine import (
    Accept,
    Active,
    Command,
    Compress,
    Grow,
    Instruct,
    Rejected,
    Revise,
    Start,
    State,
    Step,
    StepId,
    apply,
    boundaries,
    view,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.stores.errors import Conflict, NameTaken, UnknownJournal
from mage.stores.opening import open_store
from mage.stores.protocol import JournalStore, now, record_behind
from mage.stores.records import NOTHING, Record, draft, meta_of, random_salt, seal

if TYPE_CHECKING:
    from mage.session import Session
    from mage.trajectories.claude_code import Way

# -- the hook -----------------------------------------------------------------------------------------------


Event: TypeAlias = Mapping[str, Any]
"""An event as the client spells it. Other people's programs write it, so any field may hold anything."""

_PATIENCE: Final = 5.0
"""Seconds to wait for another hook that writes; the client waits as long."""
_VARIABLE: Final = "MAGE_STORE"
_OWN: Final = "mcp__mage__"
"""How the names of our own MCP tools begin in the client: what they do to the session is no step in it."""


def main(arguments: Sequence[str]) -> int:
    """Record the event on standard input, and print what the client is to read. Whatever goes wrong, the client goes on.

    Args:
        arguments: those behind `mage hook`: the client's name and the store.

    Returns:
        0, always: any other status stops the client or its current action.
    """
    try:
        store = _store_in(arguments)
        said = heard(_event(sys.stdin.buffer.read()), store)
        if said:
            sys.stdout.write(said)
            sys.stdout.flush()
    except Exception as error:  # whatever it is, in a store or in an event: the client's work is worth more
        why = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        line = f"mage hook: nothing was recorded: {why}"
        with suppress(OSError, ValueError, AttributeError):  # nobody listens
            sys.stderr.write("".join(char if char.isprintable() else " " for char in line) + "\n")
    return 0


def _event(said: bytes) -> Event:
    try:
        event: Event = json.loads(said, parse_constant=str, parse_float=_finite)
    except (ValueError, RecursionError):
        raise ValueError("standard input is no event: a JSON object is expected there") from None
    return event


def _finite(written: str) -> float | str:
    """Return a number; one that JSON cannot have, and a tool may well return, as its text."""
    number = float(written)
    return number if abs(number) < float("inf") else written


def _store_in(arguments: Sequence[str]) -> str:
    match arguments:
        case ["claude-code", store] if not store.startswith("-"):
            return store
        case ["claude-code"] if os.environ.get(_VARIABLE):
            return os.environ[_VARIABLE]
        case [client, *_] if client != "claude-code":
            raise ValueError(f"{client!r} is no client whose hooks are known: claude-code is")
        case _:
            raise ValueError("say where: mage hook claude-code STORE, such as ~/claude-code.db")


def heard(event: Event, url: str) -> str:
    """Record an event, and return what the client is to read: a line of JSON, or nothing. Cost: O(1) for most events.

    Raises:
        ValueError: it is no event, or of no session.
        StoreError: the store cannot be used.
    """
    if not isinstance(event, dict) or not _text_in(event, "session_id"):
        raise ValueError("it is no event of a session: a JSON object with session_id is expected")
    with open_store(url, patience=_PATIENCE) as store:
        match event.get("hook_event_name"):
            case "PostToolUse" | "PostToolUseFailure":
                _used(store, event)
            case "UserPromptSubmit":
                _asked(store, event)
            case "Stop" | "SubagentStop":
                _stopped(store, event)
            case "PreCompact":
                _compact(store, event)
            case "SessionStart":
                context = {"hookEventName": "SessionStart", "additionalContext": _context(store, event)}
                return json.dumps({"hookSpecificOutput": context}) + "\n"
            case _:  # an event that needs no record, or one of a newer client
                pass
    return ""


def _text_in(event: Event, field: str) -> str:
    """Return a text of an event; the empty one where it has none."""
    found = event.get(field)
    return found if isinstance(found, str) else ""


def _name_of(event: Event) -> str:
    """Return the name of an event's session; a subagent has a session of its own."""
    agent = _text_in(event, "agent_id")
    return _text_in(event, "session_id") + (f"/agent-{agent}" if agent else "")


# -- what is recorded ---------------------------------------------------------------------------------------


_MEDIA: Final = ("image", "pdf", "document", "audio")


def _used(store: JournalStore, event: Event) -> None:
    given = event.get("tool_input")
    name = _text_in(event, "tool_name") or "tool"
    if name.startswith(_OWN):
        return
    action = action_text(name, given) if isinstance(given, dict) else f"{name} {canonical(given)}"
    came = event.get("tool_response", event.get("error"))
    key = _text_in(event, "tool_use_id")
    _record(store, event, Grow(action, observation_of(came)), {"call": key} if key else {})


def observation_of(came: object) -> str:
    """Return a tool's result as text: a shell's output as it stands, parts as their texts, any other value as canonical JSON."""
    if isinstance(came, str):
        return came
    if came is None:
        return ""
    if isinstance(came, dict) and isinstance(came.get("stdout"), str):
        interrupted = "(interrupted)" if came.get("interrupted") is True else ""
        parts = [came["stdout"], came.get("stderr"), interrupted]
        return "\n".join([part for part in parts if isinstance(part, str) and part])
    found = _content_of(came)
    if not isinstance(found, list) or not any(isinstance(part, dict) and "type" in part for part in found):
        return canonical(came)
    from mage.chat import content_of  # noqa: PLC0415  # slow to load, and most tools return no parts

    return content_of(found).text


def _content_of(came: object) -> object:
    """Return the parts of an MCP tool's result, an image or a document as one part; any other value as it is."""
    if not isinstance(came, dict):
        return came
    inner = came.get("content")
    if isinstance(inner, list):
        return inner
    return [came] if came.get("type") in _MEDIA else None


def _asked(store: JournalStore, event: Event) -> None:
    """Begin the session with the user's first prompt; all others are instructions."""
    prompt = _text_in(event, "prompt")
    if prompt.strip() and not _begun(store, event, prompt):
        _record(store, event, Instruct(prompt), {})


def _stopped(store: JournalStore, event: Event) -> None:
    """Record the model's last words, and go back where the user had gone back before this turn."""
    words = _text_in(event, "last_assistant_message")
    is_nobody = event.get("hook_event_name") == "SubagentStop" and not _text_in(event, "agent_id")
    if words.strip() and not is_nobody:
        _record(store, event, Grow(words, ""), {})
    if not _text_in(event, "agent_id"):
        _follow(store, event)


def _record(store: JournalStore, event: Event, command: Grow | Instruct, meta: Mapping[str, object]) -> None:
    """Record a command on the session of an event, behind whatever is there; begin it where there is none."""
    name, given = _name_of(event), {**meta, "at": now()}
    try:
        head = record_behind(store, name, command, given)
    except UnknownJournal:
        task = (
            _text_in(event, "agent_type") or f"Work of Claude Code in {_text_in(event, 'cwd') or 'a folder'}"
        )
        _begun(store, event, task)
        head = record_behind(store, name, command, given)
    if head is None:
        _settle(store, name, command, meta)


def _begun(store: JournalStore, event: Event, task: str) -> bool:
    """Begin the session of an event, unless it is there; tell whether this has begun it."""
    name = _name_of(event)
    try:
        store.head(name)
    except UnknownJournal:
        about = {"client": "claude-code", "folder": _text_in(event, "cwd")}
        start = seal(NOTHING, draft(None, Start(task), {"at": now(), "log": about}), random_salt)
        with suppress(NameTaken):  # another hook was faster
            store.create(name, [start])
            return True
    return False


def _settle(store: JournalStore, name: str, command: Grow | Instruct, meta: Mapping[str, object]) -> None:
    """Record a command where the last records do not say whether it may stand there; a failed summary is accepted openly first."""
    with mage.Session.open(store, name, wait=False) as session:
        while True:
            accept = [Accept()] if isinstance(session.phase, Rejected) else []
            try:
                session.apply(*accept, command, meta=meta)
            except Conflict:
                session.refresh()
                continue
            return


# -- before a compaction ------------------------------------------------------------------------------------


_ACCOUNT: Final = 1_100
"""Tokens of an account without names: the context after the compaction must stay short."""
_NAMES_OF_ACCOUNT: Final = 1_500
"""Characters of the names in an account."""
_TRIES: Final = 8


def _compact(store: JournalStore, event: Event) -> None:
    """Give the open steps an account, an extract without a model, before the client forgets them.

    A summary that waits for its verdict, or has failed, is for the model to settle: then nothing is done.
    """
    _follow(store, event)
    meta = {"log": {"trigger": event.get("trigger")}} if event.get("trigger") else None
    try:
        session = mage.Session.open(store, _name_of(event), wait=False)
    except UnknownJournal:
        return
    with session:
        for _ in range(_TRIES):  # beside a writer who never pauses, the next compaction has to do it
            if not isinstance(session.phase, Active) or not view(session.phase).raw:
                return
            text = _account(view(session.phase).raw)
            try:
                session.apply(Compress(text, "fallback"), Accept(), meta=meta)
            except Conflict:
                session.refresh()


def _account(steps: Sequence[Step]) -> str:
    """Return an extract of steps, and those of their names that are not in it, the newest first, as many as fit."""
    from mage.render.extract import extract  # noqa: PLC0415  # see the module
    from mage.trajectories.coding import in_short, missing, names_of  # noqa: PLC0415  # see the module

    text = extract(steps, _ACCOUNT)
    names = in_short(missing(names_of(steps), text), _NAMES_OF_ACCOUNT)
    return f"{text}\nNames: {names}" if names else text


# -- what the model reads when its session begins -----------------------------------------------------------


_STATE: Final = 5_000
"""Characters of S. All of the context has at most 10,000: the client puts a longer one into a file."""
_STEPS: Final = 2_400
"""Characters of the last steps."""
_STEP: Final = 600
"""Characters of an action or an observation among them."""
_NAMES: Final = 1_600
"""Characters of the names."""


def _context(store: JournalStore, event: Event) -> str:
    """Return the model's context when its session begins, is resumed or was compacted."""
    name, source = _name_of(event), event.get("source")
    if source == "compact":
        _compact(store, event)
    elif source == "resume":
        _follow(store, event)
    else:
        return _recording(name)
    try:
        with mage.Session.open(store, name, wait=False) as session:
            state = session.phase
    except UnknownJournal:
        return _recording(name)
    summary = ""
    if source == "compact":
        from mage.trajectories.claude_code import summary_text  # noqa: PLC0415  # see the module

        summary = summary_text(_transcript_of(event))
    return _standing(state, name, summary)


def _recording(name: str) -> str:
    return (
        f"mage records this session as {name!r}. Where the tools of its MCP server are here, `compress` a finished"
        " subgoal, and `look` into what was compressed: each takes that name as `session`."
    )


def _standing(state: State, name: str, summary: str) -> str:
    """Return S, the last steps, and the names that neither these nor the client's own summary has.

    Cost: O(size of S and of the last segment).
    """
    from mage.render import render  # noqa: PLC0415  # see the module
    from mage.tokens import cut  # noqa: PLC0415  # see the module
    from mage.trajectories.coding import in_short, missing, names_of  # noqa: PLC0415  # see the module

    shown = cut(render(view(state)), _STATE)
    steps = trace(state.tree, state.tree.head_summary.label, state.tree.step_head)
    tail = _last(
        (
            f"Action: {cut(step.action, _STEP)}\nObservation: {cut(step.observation, _STEP)}"
            for step in reversed(steps)
        ),
        _STEPS,
    )
    parts = [
        f"This is where the session stands, as mage has recorded it under the name {name!r}. What was tried and left"
        " is not to be tried again. The tools `state`, `look` and `revise` of the MCP server mage take that name.",
        shown,
    ]
    if tail:
        parts.append(f"The last steps, word for word:\n{tail}")
    names = in_short(missing(names_of(steps), f"{summary}\n{shown}\n{tail}"), _NAMES)
    if names:
        parts.append(f"Names in these steps that stand nowhere above, the newest first: {names}")
    return "\n\n".join(parts)


def _last(newest_first: Iterable[str], room: int) -> str:
    """Return the newest texts, the oldest of them first, as many as fit into `room` characters."""
    found: list[str] = []
    for text in newest_first:
        room -= len(text)
        if room < 0:
            break
        found.append(text)
    return "\n".join(found[::-1])


# -- where the user went back -------------------------------------------------------------------------------


_RECENT: Final = 256
"""The newest records: only where the user went back behind one of them, the whole session is read."""
_LARGEST: Final = 200_000_000
"""Bytes of the longest transcript that is read."""


def _transcript_of(event: Event) -> list[Any]:
    """Return the records of the client's own log, without lines that are no JSON; none where it cannot be read."""
    path = _text_in(event, "transcript_path")
    try:
        file = Path(path)
        data = file.read_bytes() if path and file.stat().st_size <= _LARGEST else b""
    except (OSError, ValueError):
        return []
    rows: list[Any] = []
    for line in data.split(b"\n"):
        with suppress(ValueError, RecursionError):
            rows.append(json.loads(line, parse_constant=lambda _: None))
    return rows


def _follow(store: JournalStore, event: Event) -> None:
    """Go back where the user has gone back in the client: no hook reports it, but the client's log shows it.

    Steps whose calls stand in the log off its present path are left. Those recorded behind them that are on that path
    are recorded once more there, in the same write.
    """
    rows = _transcript_of(event)
    if not rows:
        return
    from mage.trajectories.claude_code import way_of  # noqa: PLC0415  # see the module

    way, name = way_of(rows), _name_of(event)
    if not way.others & _recent(store, name):
        return
    with mage.Session.open(store, name, wait=False) as session:
        while records := _back(session, way):
            try:
                store.append(session.name, session.head, records)
            except Conflict:  # another process was faster
                session.refresh()
            else:
                return


def _recent(store: JournalStore, name: str) -> set[str]:
    """Return the ids of the calls in the newest records."""
    try:
        version = store.head(name).version
    except UnknownJournal:
        return set()
    found = store.read(name, max(0, version - _RECENT), version)
    return {call for record in found for call in _calls_in(meta_of(record))}


def _calls_in(meta: Mapping[str, object]) -> Iterator[str]:
    for given in (meta.get("call"), meta.get("calls")):
        yield from [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]


def _back(session: Session, way: Way) -> list[Record]:
    """Return the records that lead from the session's head to the way; none where the head stands on it."""
    from mage.trajectories.coding import left_behind  # noqa: PLC0415  # see the module

    metas, state = _metas_of(session), session.phase
    path = trace(state.tree, ROOT_STEP, state.tree.step_head)
    calls = [set(_calls_in(metas[step.id])) for step in path]
    gone = [bool(found) and found <= way.others for found in calls]
    if not any(gone):
        return []
    first = gone.index(True)
    places = {ROOT_STEP: 0, **{step.id: place for place, step in enumerate(path[:first], start=1)}}
    back = max((each for each in boundaries(state) if each in places), key=places.__getitem__)
    lesson = left_behind([Grow(*path[first].content)])
    again: list[tuple[Command, Mapping[str, object]]] = [(Revise(back, lesson), {})]
    for place in range(places[back], len(path)):
        step = path[place]
        is_said = bool(calls[place]) or step.action in way.said
        if place < first or (is_said and not gone[place]):
            again.append((Grow(*step.content), metas[step.id]))
        placed = state.tree.instructions_at(step.id) if place >= first else ()
        again += [(Instruct(each.text, each.standing), {}) for each in placed if each.text in way.asked]
    return list(_sealed(session, again))


def _sealed(session: Session, commands: Iterable[tuple[Command, Mapping[str, object]]]) -> Iterator[Record]:
    head, state = session.head, session.phase
    for command, meta in commands:
        after = apply(state, command).unwrap()
        if after is state:
            continue
        record = seal(head, draft(state, command, {"at": now(), **meta}), random_salt)
        head, state = record.head, after
        yield record


def _metas_of(session: Session) -> dict[StepId, Mapping[str, object]]:
    """Return the meta of each step, with the time at which it was recorded."""
    found: dict[StepId, Mapping[str, object]] = {}
    state: State | None = None
    for entry in session.history():
        state = apply(state, entry.command).unwrap()
        if isinstance(entry.command, Grow):
            found[state.tree.step_head] = {**entry.meta, **({} if entry.at is None else {"at": entry.at})}
    return found
