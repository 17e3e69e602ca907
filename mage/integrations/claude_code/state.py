"""What needs the whole session: an account before a compaction, going back where the user has, and what is handed back.

The client takes some 10,000 characters of additional context; more it puts into a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from mage.engine import (
    Accept,
    Active,
    Command,
    Compress,
    Grow,
    Instruct,
    Rejected,
    Revise,
    State,
    Step,
    StepId,
    apply,
    boundaries,
    view,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.render import render
from mage.render.extract import extract
from mage.session import Session
from mage.stores import (
    Conflict,
    JournalStore,
    Record,
    UnknownJournal,
    draft,
    meta_of,
    now,
    random_salt,
    seal,
)
from mage.tokens import cut
from mage.trajectories.claude_code import Way, summary_text, way_of
from mage.trajectories.coding import in_short, left_behind, missing, names_of
from mage.trajectories.trajectory import Json, Made

# -- what is handed back ------------------------------------------------------------------------------------


_STATE: Final = 5_000
"""Characters of S."""
_STEPS: Final = 2_400
"""Characters of the last steps."""
_STEP: Final = 600
"""Characters of an action or an observation among them."""
_NAMES: Final = 1_600
"""Characters of the names."""


def handed_back(store: JournalStore, name: str, event: Mapping[str, object], url: str) -> str:
    """Return what the model is to read when its session begins, is resumed or was compacted; nothing where nothing is known."""
    transcript = event.get("transcript_path")
    path = transcript if isinstance(transcript, str) else ""
    source = event.get("source")
    if source == "compact":
        compact(store, name, event)
    elif source == "resume":
        follow(store, name, path)
    else:
        return _recording(name)
    try:
        with Session.open(store, name, wait=False) as session:
            state = session.phase
    except UnknownJournal:
        return _recording(name)
    summary = summary_text(transcript_of(path)) if source == "compact" else ""
    return context_of(state, name, summary)


def _recording(name: str) -> str:
    return (
        f"mage records this session as {name!r}. Where the tools of its MCP server are here, `compress` a finished"
        " subgoal, and `look` into what was compressed: each takes that name as `session`."
    )


def context_of(state: State, name: str, summary: str) -> str:
    """Return S and what a summary has lost, in at most 10,000 characters. Cost: O(size of S and of the last segment).

    Args:
        state: where the session stands.
        name: the session's name, for the tools that look into it.
        summary: the client's own summary, which the model has anyway.
    """
    shown = cut(render(view(state)), _STATE)
    last = state.tree.head_summary
    steps = trace(state.tree, last.label, state.tree.step_head)
    told = f"This is where the session stands, as mage has recorded it under the name {name!r}. What was tried and left"
    parts = [
        f"{told} is not to be tried again. The tools `state`, `look` and `revise` of the MCP server mage take that name.",
        shown,
    ]
    tail = _tail(steps, _STEPS)
    if tail:
        parts.append(f"The last steps, word for word:\n{tail}")
    names = in_short(missing(names_of(steps), f"{summary}\n{shown}\n{tail}"), _NAMES)
    if names:
        parts.append(f"Names in these steps that stand nowhere above, the newest first: {names}")
    return "\n\n".join(parts)


def _tail(steps: Sequence[Step], room: int) -> str:
    """Return the last of the steps, in order, as many as there is room for."""
    found: list[str] = []
    for step in reversed(steps):
        text = f"Action: {cut(step.action, _STEP)}\nObservation: {cut(step.observation, _STEP)}"
        room -= len(text)
        if room < 0:
            break
        found.append(text)
    return "\n".join(found[::-1])


# -- what needs the whole session ---------------------------------------------------------------------------


_ACCOUNT: Final = 1_100
"""Tokens of an account without names: what is handed back must stay short."""
_NAMES_OF_ACCOUNT: Final = 1_500
"""Characters of the names in an account."""
_TRIES: Final = 8
_RECENT: Final = 256
"""Records of which it is looked whether the user went back behind them, before the session is read."""
_LARGEST: Final = 200_000_000
"""Bytes of the longest transcript that is read."""


def settle(store: JournalStore, name: str, command: Grow | Instruct, meta: Mapping[str, object]) -> None:
    """Record a command where the last records do not tell whether it may be: what has failed is accepted openly first."""
    with Session.open(store, name, wait=False) as session:
        while True:
            accept = [Accept()] if isinstance(session.phase, Rejected) else []
            try:
                session.apply(*accept, command, meta=meta)
            except Conflict:
                session.refresh()
                continue
            return


def compact(store: JournalStore, name: str, event: Mapping[str, object]) -> None:
    """Give the open steps an account, an extract without a model, before the client forgets them.

    A summary that waits for its verdict, or has failed, is for the model to settle: nothing is done then.
    """
    transcript = event.get("transcript_path")
    if isinstance(transcript, str):
        follow(store, name, transcript)
    meta = {"log": {"trigger": event.get("trigger")}} if event.get("trigger") else None
    try:
        session = Session.open(store, name, wait=False)
    except UnknownJournal:
        return
    with session:
        for _ in range(_TRIES):  # beside a writer who never pauses it is left to the next compaction
            if not isinstance(session.phase, Active) or not view(session.phase).raw:
                return
            text = _account(view(session.phase).raw)
            try:
                session.apply(Compress(text, "fallback"), Accept(), meta=meta)
            except Conflict:
                session.refresh()


def _account(steps: Sequence[Step]) -> str:
    """Return an extract of steps, and the names in them that it does not have, the newest first, as many as fit."""
    text = extract(steps, _ACCOUNT)
    names = in_short(missing(names_of(steps), text), _NAMES_OF_ACCOUNT)
    return f"{text}\nNames: {names}" if names else text


# -- where the user went back --------------------------------------------------------------------------


def transcript_of(path: str) -> list[Json]:
    """Return the records of the client's own log, without lines that are none; nothing where it cannot be read."""
    try:
        file = Path(path)
        data = file.read_bytes() if file.stat().st_size <= _LARGEST else b""
    except (OSError, ValueError):
        return []
    rows: list[Json] = []
    for line in data.split(b"\n"):
        with suppress(ValueError, RecursionError):
            rows.append(json.loads(line, parse_constant=lambda _: None))
    return rows


def follow(store: JournalStore, name: str, transcript: str) -> None:
    """Go back where the user has gone back in the client: no hook tells of it, but the client's log does.

    Steps whose calls the log has on another way than the one where it stands are left; what was recorded behind them
    and is on that way is recorded once more there, in the same write.
    """
    rows = transcript_of(transcript)
    way = way_of(rows) if rows else None
    if way is None or not way.others & _recent(store, name):
        return
    with Session.open(store, name, wait=False) as session:
        while (records := _back(session, way)) and not _written(store, session, records):
            session.refresh()


def _written(store: JournalStore, session: Session, records: Sequence[Record]) -> bool:
    """Append records behind the session's head; False where others were faster."""
    try:
        store.append(session.name, session.head, records)
    except Conflict:
        return False
    return True


def _recent(store: JournalStore, name: str) -> set[str]:
    """Return the ids of the calls that were recorded last."""
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
    """Return what goes back to the way, as records behind the session's head; nothing where it stands on it."""
    metas, state = _metas_of(session), session.phase
    path = trace(state.tree, ROOT_STEP, state.tree.step_head)
    calls = [set(_calls_in(metas[step.id])) for step in path]
    gone = [bool(found) and found <= way.others for found in calls]
    if not any(gone):
        return []
    first = gone.index(True)
    places = {ROOT_STEP: 0, **{step.id: place for place, step in enumerate(path[:first], start=1)}}
    back = max((each for each in boundaries(state) if each in places), key=places.__getitem__)
    lesson = left_behind([Made(Grow(*path[first].content))])
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
    """Return what was recorded beside each step."""
    found: dict[StepId, Mapping[str, object]] = {}
    state: State | None = None
    for entry in session.history():
        state = apply(state, entry.command).unwrap()
        if isinstance(entry.command, Grow):
            found[state.tree.step_head] = {**entry.meta, **({} if entry.at is None else {"at": entry.at})}
    return found
