"""A session as commands use it: its records, its commands, its states, wherever it lives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, final

import attrs
from returns.pipeline import is_successful

from mage.bundle import decode_bundle, is_bundle, unpack
from mage.cli.files import read_bytes
from mage.cli.naming import InFile, InStore, Session, SessionName
from mage.cli.output import Refused
from mage.cli.stores import opened
from mage.codec import decode_journal
from mage.effects.program import drive
from mage.engine import Command, MageError, State, apply, replay
from mage.session.drivers import answer
from mage.session.loading import Slot, load, require_end
from mage.stores import (
    NOTHING,
    Head,
    JournalStore,
    MemoryStore,
    Record,
    StoreError,
    command_of,
    draft,
    fold,
    random_salt,
    seal,
    verify,
)
from mage.trajectories import detect

__all__ = [
    "Opened",
    "Session",
    "load_commands",
    "opened_session",
    "recorded",
    "records_of",
    "slot_at",
    "state_at",
]

_LARGEST_TO_LOOK_AT: Final = 20_000_000  # bytes
_IN_A_FILE: Final = "session"


@final
@attrs.frozen
class Opened:
    """A session that was opened.

    Attributes:
        store: where it lives; that of a file is in memory, so that what is written there is lost.
        name: its name there.
    """

    store: JournalStore
    name: str


@contextmanager
def opened_session(session: SessionName) -> Iterator[Opened]:
    """Open a session for a command: one in a store, a bundle, or a journal whose records have no meta.

    Raises:
        Refused: it cannot be opened or read, and why, in one line.
    """
    if isinstance(session, InStore):
        with opened(session.store) as store:
            store.head(session.name)  # says so where there is none
            yield Opened(store, session.name)
        return
    store = MemoryStore()
    data = _bytes(session)
    try:
        if is_bundle(data):
            _unpacked(session, data, store)
        else:
            store.create(_IN_A_FILE, recorded(session, _decoded(session, data)))
        yield Opened(store, _IN_A_FILE)
    except StoreError as error:
        raise Refused(f"{session}: {error}") from None


def _unpacked(session: InFile, data: bytes, store: JournalStore) -> None:
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        raise Refused(f"{session}: {decoded.failure()}")
    unpack(decoded.unwrap().flat, store, _IN_A_FILE)


def recorded(session: SessionName, commands: tuple[Command, ...]) -> list[Record]:
    """Return commands as records, without meta; equal texts have one salt, so that redacted they are still equal.

    Raises:
        Refused: the engine refuses one of them.
    """
    records: list[Record] = []
    state: State | None = None
    head = NOTHING
    salts: defaultdict[str, str] = defaultdict(random_salt)
    for version, command in enumerate(commands, start=1):
        drafted = draft(state, command, {})
        records.append(seal(head, drafted, iter([salts[text] for text in drafted.texts]).__next__))
        head = records[-1].head
        try:
            result = apply(state, command)
        except MageError as reason:
            raise Refused(f"{session}: command {version}, {type(command).__name__}: {reason}") from None
        if not is_successful(result):
            raise Refused(f"{session}: command {version}, {type(command).__name__}: {result.failure()}")
        state = result.unwrap()
    return records


def records_of(found: Opened) -> Iterator[Record]:
    """Yield the records of a session, each after it was verified.

    Raises:
        DamagedRecord: at the first that is not sound.
    """
    head = found.store.head(found.name)
    return verify(NOTHING, found.store.read(found.name, upto=head.version), head)


def load_commands(session: SessionName) -> tuple[Command, ...]:
    """Return the commands of a session.

    Raises:
        Refused: it cannot be read, or is not sound; says where.
    """
    if isinstance(session, InFile):
        data = _bytes(session)
        if not is_bundle(data):
            return _decoded(session, data)
    with opened_session(session) as found:
        return tuple(_commands(found))


def _commands(found: Opened) -> Iterator[Command]:
    state: State | None = None
    for record in records_of(found):
        yield command_of(state, record)
        state = fold([record], state)


def _decoded(session: InFile, data: bytes) -> tuple[Command, ...]:
    decoded = decode_journal(data)
    if not is_successful(decoded):
        raise Refused(f"{session}: {decoded.failure()}{_hint(session, data)}")
    return decoded.unwrap()


def _bytes(session: InFile) -> bytes:
    try:
        return read_bytes(session.path)
    except Refused as refused:
        path, mark, name = str(session).rpartition("#")
        hint = f"; is this a session in a store? sqlite:///{path}#{name}" if mark and path and name else ""
        raise Refused(f"{refused}{hint}") from None


def _hint(session: InFile, data: bytes) -> str:
    """Return what to do where a trace or a store was given as a session."""
    if data.startswith(b"SQLite format 3\0"):
        return f"; is this a store? sqlite:///{session}#NAME names a session in it"
    if len(data) > _LARGEST_TO_LOOK_AT or detect(data) in (None, "journal", "bundle"):
        return ""
    return "; is this a trace? mage replay FILE --out SESSION.jsonl makes a session of it"


def state_at(session: SessionName, version: int | None = None) -> State:
    """Return the state that a session leads to, at its end or at an earlier version.

    In a store it is read as a session reads it: a snapshot that fits, and the records behind that. Looking at
    every record is what `check` and `doctor` are for.

    Raises:
        Refused: what was read is unsound, refuses one of its commands, or has no such version.
    """
    if isinstance(session, InStore):
        with opened(session.store) as store:
            head = store.head(session.name)
            _require_version(session, version, head.version)
            return slot_at(store, session.name, head, head.version if version is None else version).state
    commands = load_commands(session)
    _require_version(session, version, len(commands))
    replayed = replay(commands[:version])
    if not is_successful(replayed):
        raise Refused(f"{session}: {replayed.failure()}")
    return replayed.unwrap()


def slot_at(store: JournalStore, name: str, head: Head, version: int) -> Slot:
    """Return where a journal with this head stands at a version, from 1: a snapshot that fits, and the records behind.

    Raises:
        DamagedRecord: a record that was read is not sound, or the records do not lead to the head.
    """
    slot = drive(load(name, version, snapshots=True), partial(answer, store)).slot
    if version == head.version:
        require_end(slot, head)
    return slot


def _require_version(session: SessionName, version: int | None, last: int) -> None:
    if version is not None and not 1 <= version <= last:
        raise Refused(f"{session}: there is no version {version}; it has versions 1 to {last}")
