"""Our own files as traces: journals, and the bundles that `mage export` writes.

The codec reads a journal, and the engine says whether it replays. A bundle holds the session that was exported, and
those that the session reads through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

import attrs
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from mage.bundle import BUNDLE_FORMAT, Bundled, decode_bundle
from mage.codec import DecodeError, decode_journal
from mage.codec.journals import JOURNAL_FORMAT
from mage.engine import Compress, EmptyJournal, State, replay
from mage.stores.errors import DamagedRecord
from mage.stores.folding import Note, command_of, fold
from mage.trajectories.fields import Json
from mage.trajectories.oddities import shortened
from mage.trajectories.trajectory import Entry, Made, Remark, TraceError, Trajectory, made_of

_HEADER: Final = 1  # lines before the first command


def is_journal(first: Json) -> bool:
    """Tell whether a file's first line is that of a journal: its header, or a command whose header is lost."""
    return isinstance(first, dict) and (first.get("format") == JOURNAL_FORMAT or "op" in first)


def _undecoded(file: str, error: DecodeError) -> TraceError:
    """Return what a file of ours that cannot be read is refused with."""
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
    summarized = any(isinstance(command, Compress) for command in commands)
    made = [
        Made(command, (Entry(f"line {place + 1 + _HEADER}", place),))
        for place, command in enumerate(commands)
    ]
    return Success((made_of(stem, made, summarized=summarized),))


def is_bundle(first: Json) -> bool:
    """Tell whether a file's first line is the header of a bundle."""
    return isinstance(first, dict) and first.get("format") == BUNDLE_FORMAT


def load_bundle(data: bytes, file: str) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return the sessions of a bundle by their names, the one that was exported last.

    Those before it are there because it reads through them, and are marked so. Each record is carried out
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
    *before, exported = [_trajectory(name, session) for name, session in sessions.items()]
    return Success((*[attrs.evolve(each, lineage=True) for each in before], _with_lineage(exported, before)))


@final
@attrs.frozen
class _Session:
    """A session of the bundle, with what it reads through: what was made of its records, None of a note, and each state."""

    made: list[Made | None]
    states: list[State]


def _session(journal: Bundled, known: Mapping[str, _Session]) -> _Session:
    """Carry out the journal's own records; those before are its parent's, carried out already."""
    parent = _Session([], []) if journal.parent is None else known[journal.parent]
    made, states = parent.made[: journal.forked_at], parent.states[: journal.forked_at]
    state = states[-1] if states else None
    for record in journal.records:
        command = command_of(state, record)
        state = fold([record], state)
        entry = Entry(f"record {record.version} of {journal.name}", record.version - 1)
        made.append(None if isinstance(command, Note) else Made(command, (entry,)))
        states.append(state)
    return _Session(made, states)


def _trajectory(name: str, session: _Session) -> Trajectory:
    made = [each for each in session.made if each is not None]
    return made_of(name, made, summarized=any(isinstance(each.command, Compress) for each in made))


def _with_lineage(exported: Trajectory, before: Sequence[Trajectory]) -> Trajectory:
    """Say which other sessions the file holds: nobody should think that it shows all."""
    remarks = [
        Remark(f"session {shortened(each.name)!r}, which this one was forked from; --task shows it", 1, "$")
        for each in before
    ]
    return attrs.evolve(exported, remarks=tuple(remarks))
