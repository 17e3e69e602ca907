"""Stores and sessions as commands use them: opened for as long as a command runs, never made by one that only looks."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, final

import attrs
import typer
from returns.pipeline import is_successful

from mage.bundle import decode_bundle, is_bundle, unpack
from mage.cli.files import exists, read_bytes
from mage.cli.naming import (
    STORE_VARIABLE,
    AtVersion,
    InFile,
    InStore,
    Reference,
    SessionName,
    StoreName,
    default_store,
    names_store,
    parse_reference,
    parse_store,
    spelled,
)
from mage.cli.output import Refused
from mage.codec import decode_journal
from mage.effects.program import drive
from mage.engine import Command, MageError, State, apply, replay
from mage.session.drivers import answer
from mage.session.loading import Slot, load, require_end
from mage.stores import (
    NOTHING,
    DamagedJournals,
    DamagedRecord,
    DamagedStore,
    HasForks,
    Head,
    JournalInfo,
    JournalStore,
    MemoryStore,
    NameTaken,
    Note,
    Record,
    StoreError,
    UnknownJournal,
    UnknownSchema,
    UnknownVersion,
    command_of,
    draft,
    fold,
    open_store,
    random_salt,
    seal,
    verify,
)
from mage.stores.opening import KNOWN_URLS
from mage.trajectories import detect

LOOKS: Final = "mage gc: looks"
"""The name of the journal in which `mage gc` keeps what it saw; it is no session."""

_LARGEST_TO_LOOK_AT: Final = 20_000_000
"""Bytes of the longest file that is looked at for what else it may be."""
_IN_A_FILE: Final = "session"
_NAMED: Final = 8
"""Sessions that a message names at most."""

# -- stores ----------------------------------------------------------------------------------------------


@contextmanager
def opened(place: StoreName | InStore, *, make: bool = False) -> Iterator[JournalStore]:
    """Open a store for a command.

    Args:
        place: the store; or a session in it, which is then named where a record is damaged.
        make: whether a store that is not there is made.

    Raises:
        Refused: whatever the store says is wrong, then and while it is used, in one line.
    """
    store = place.store if isinstance(place, InStore) else place
    if make and store.url == "memory:":
        raise Refused(f"{store} is gone when the command ends; name a store that stays, such as work.db")
    path = store.file
    if path is not None and not make:
        if not exists(path):
            raise Refused(f"{store}: there is no such file")
        if _is_empty(path):
            raise Refused(f"{store}: this file is empty: there is no store in it")
    try:
        with open_store(store.url) as found:
            yield found
    except StoreError as error:
        raise Refused(message_of(place, error)) from None


def is_made(store: StoreName) -> bool:
    """Tell whether a store is there, as far as its file tells.

    An empty file is none: the process that made it was killed, or the disk was full, before anything was in it.
    """
    path = store.file
    return path is None or (exists(path) and not _is_empty(path))


def _is_empty(path: Path) -> bool:
    """Tell whether a file holds nothing: opening it as a store would make it one."""
    try:
        return path.is_file() and path.stat().st_size == 0
    except OSError as problem:
        raise Refused(f"{path}: {problem.strerror}") from None


def message_of(place: StoreName | InStore, error: StoreError) -> str:
    """Return in one line what a store said, of which session, and what to do on the command line.

    A damaged record with a note is one of the session that the note names.
    """
    store = place.store if isinstance(place, InStore) else place
    match error:
        case UnknownJournal(name=name):
            return no_session(store, name)
        case UnknownVersion(name=name, version=version, head=head):
            return _no_version(InStore(store, name), version, head)
        case NameTaken(name=name):
            return f"{InStore(store, name)} is there already; choose another name"
        case HasForks(name=name, forks=forks):
            return f"{InStore(store, name)} is read by its forks, which need it: {listed_names(forks)}"
        case DamagedRecord():
            session = InStore(store, error.__notes__[0]) if hasattr(error, "__notes__") else place
            return f"{session}: {error}; mage doctor {store} looks at all of the store"
        case UnknownSchema(reason=reason):
            return f"{store}: {reason}; it was left as it is"
        case _:
            return _message_of_store(store, error)


def _message_of_store(store: StoreName, error: StoreError) -> str:
    said = str(error) if str(store) in str(error) else f"{store}: {error}"
    if isinstance(error, DamagedStore):
        return f"{said}; mage doctor {store} looks at all of it"
    return said


def no_session(store: StoreName, name: str) -> str:
    """Return what is said where there is no such session."""
    return f"{InStore(store, name)}: there is no such session; mage sessions {store} lists those that are"


def listed_names(names: tuple[str, ...] | list[str]) -> str:
    """Return names of sessions as commands take them, the first few of many."""
    return ", ".join(map(spelled, names[:_NAMED])) + f", ... ({len(names):,} in all)" * (len(names) > _NAMED)


# -- which session is meant ------------------------------------------------------------------------------


def sessions_in(found: JournalStore) -> tuple[JournalInfo, ...]:
    """Return the sessions of a store in order of names, without what `mage gc` saw.

    Raises:
        DamagedJournals: of some of its journals nothing can be told.
    """
    return tuple([each for each in found.journals() if each.name != LOOKS])


def only_session(store: StoreName) -> InStore:
    """Return the session of a store that has one.

    Raises:
        Refused: it has none, or several; it says which.
    """
    with opened(store) as found:
        names = [journal.name for journal in sessions_in(found)]
    if not names:
        raise Refused(f"{store} holds no session; mage run, mage import and mage replay make one")
    if len(names) > 1:
        raise Refused(
            f"{store} holds {len(names):,} sessions: name one behind a #, as in"
            f" {InStore(store, names[0])}; there are {listed_names(names)}"
        )
    return InStore(store, names[0])


def resolved(said: Reference) -> AtVersion:
    """Return the session that is meant, and its version.

    Raises:
        Refused: no session was named, and the store has not exactly one.
    """
    if isinstance(said.place, InFile):
        return AtVersion(said.place, said.version)
    session = only_session(said.place) if said.name is None else InStore(said.place, said.name)
    return AtVersion(session, said.version)


def parse_version(given: str) -> AtVersion:
    """Return the session that the user named, and its version.

    Raises:
        Refused: none is named.
    """
    return resolved(parse_reference(given))


def parse_session(given: str) -> SessionName:
    """Return the session that the user named, as it is now.

    Raises:
        Refused: none is named, or a version of one is.
    """
    found = resolved(parse_reference(given))
    if found.version is not None:
        raise Refused(
            f"{found}: this command takes the session as it is now: type {found.session}, or fork the version first"
        )
    return found.session


def parse_stored(given: str) -> InStore:
    """Return the session in a store that the user named, as it is now, to be changed.

    Raises:
        Refused: none is named, or a session file, which is never written.
    """
    return _in_store(parse_session(given))


@final
@attrs.frozen
class StoredVersion:
    """A version of a session in a store; None is its head."""

    session: InStore
    version: int | None


def parse_stored_version(given: str) -> StoredVersion:
    """Return the session in a store that the user named, and its version.

    Raises:
        Refused: as `parse_stored`.
    """
    found = parse_version(given)
    return StoredVersion(_in_store(found.session), found.version)


def parse_stored_target(given: str) -> InStore | StoreName:
    """Return the session in a store that the user named, or the whole store, to be changed.

    Raises:
        Refused: as `parse_stored`.
    """
    target = parse_target(given)
    return target if isinstance(target, StoreName) else _in_store(target)


def _in_store(session: SessionName) -> InStore:
    if isinstance(session, InFile):
        raise Refused(
            f"{session}: a session file is read, and never written: mage import {session} work.db makes a session"
            " in a store of it"
        )
    return session


def parse_target(given: str) -> InStore | InFile | StoreName:
    """Return the session that the user named, or the whole store.

    Raises:
        Refused: neither is named.
    """
    said = parse_reference(given)
    if isinstance(said.place, StoreName) and names_store(said):
        return said.place
    return parse_session(given)


# -- completion in the shell -----------------------------------------------------------------------------


def complete_session(incomplete: str) -> list[str]:
    """Return what a word that is being typed may become: stores, session files and the sessions in a store.

    Stores on a server are not asked: the answer may take longer than somebody waits who has pressed a key.
    """
    try:
        return [*_sessions_like(incomplete), *([] if "#" in incomplete else _paths_like(incomplete))]
    except Exception:  # whatever is wrong: a shell that completes a word shows no error
        return []


def complete_store(incomplete: str) -> list[str]:
    """Return the stores and folders that a word which is being typed may become."""
    try:
        return _paths_like(incomplete, stores_only=True)
    except Exception:  # as above
        return []


def _paths_like(incomplete: str, *, stores_only: bool = False) -> list[str]:
    folder, _, start = incomplete.rpartition(os.sep)
    before = incomplete[: len(incomplete) - len(start)]
    found: list[str] = []
    endings = (".db", ".sqlite", ".sqlite3") if stores_only else (".db", ".sqlite", ".sqlite3", ".jsonl")
    with os.scandir(folder or (os.sep if before else ".")) as entries:
        for entry in islice(entries, 10_000):
            if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                if entry.is_dir():
                    found.append(f"{before}{entry.name}{os.sep}")
                elif entry.name.endswith(endings):
                    found.append(before + entry.name)
    return sorted(found)


def _sessions_like(incomplete: str) -> list[str]:
    left, mark, start = incomplete.rpartition("#")
    if not mark and not os.environ.get(STORE_VARIABLE):
        start, left = "", incomplete  # a store whose name is complete: its sessions follow
        if not Path(left).is_file():
            return []
    store = parse_store(left) if left else default_store()
    if store.file is None or not is_made(store):
        return []
    before = f"{left}#" if mark or left else ""
    with open_store(store.url, patience=0.5) as found:
        try:
            journals = found.journals()
        except DamagedJournals as damage:
            journals = damage.sound
    shown = [spelled(each.name) for each in journals if each.name != LOOKS]
    return [f"{before}{name}" for name in shown if name.startswith(start)]


Store = Annotated[
    StoreName,
    typer.Argument(
        parser=parse_store,
        metavar="STORE",
        envvar=STORE_VARIABLE,
        autocompletion=complete_store,
        help=f"The path of a SQLite file, or a URL: {KNOWN_URLS}.",
        show_default=False,
    ),
]
Session = Annotated[
    SessionName,
    typer.Argument(
        parser=parse_session,
        metavar="SESSION",
        envvar=STORE_VARIABLE,
        autocompletion=complete_session,
        help="STORE#NAME; STORE alone where it holds one session; or a session file.",
        show_default=False,
    ),
]
Version = Annotated[
    AtVersion,
    typer.Argument(
        parser=parse_version,
        metavar="SESSION[@VERSION]",
        envvar=STORE_VARIABLE,
        autocompletion=complete_session,
        help="STORE#NAME; STORE alone where it holds one session; or a session file. @9 behind it is version 9.",
        show_default=False,
    ),
]
Stored = Annotated[
    InStore,
    typer.Argument(
        parser=parse_stored,
        metavar="SESSION",
        autocompletion=complete_session,
        help="STORE#NAME, or STORE alone where it holds one session.",
        show_default=False,
    ),
]
if TYPE_CHECKING:
    Target: TypeAlias = InStore | InFile | StoreName
else:
    Target = Annotated[
        object,
        typer.Argument(
            parser=parse_target,
            metavar="SESSION|STORE",
            envvar=STORE_VARIABLE,
            autocompletion=complete_session,
            help="A session; or a store, for every session in it.",
            show_default=False,
        ),
    ]

# -- reading a session -----------------------------------------------------------------------------------


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

    def require(self, version: int | None) -> int:
        """Return a version, the last one for None.

        Raises:
            UnknownVersion: the session has no such version.
        """
        last = self.store.head(self.name).version
        if version is not None and not 1 <= version <= last:
            raise UnknownVersion(self.name, version, last)
        return last if version is None else version


@contextmanager
def opened_session(session: SessionName) -> Iterator[Opened]:
    """Open a session for a command: one in a store, a bundle, or a journal whose records have no meta.

    Raises:
        Refused: it cannot be opened or read, and why, in one line.
    """
    if isinstance(session, InStore):
        with opened(session) as store:
            store.head(session.name)  # says so where there is none
            yield Opened(store, session.name)
        return
    store = MemoryStore()
    data = read_bytes(session.path)
    try:
        if is_bundle(data):
            _unpacked(session, data, store)
        else:
            store.create(_IN_A_FILE, recorded(session, _decoded(session, data)))
        yield Opened(store, _IN_A_FILE)
    except UnknownVersion as error:
        raise Refused(_no_version(session, error.version, error.head)) from None
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


def records_of(found: Opened, upto: int | None = None) -> Iterator[Record]:
    """Yield the records of a session up to a version, None for all, each after it was verified.

    Raises:
        UnknownVersion: it has no such version.
        DamagedRecord: at the first that is not sound.
    """
    last = found.require(upto)
    head = found.store.head(found.name)
    end = head if last == head.version else None
    return verify(NOTHING, found.store.read(found.name, upto=last), end)


def load_commands(session: SessionName, upto: int | None = None) -> tuple[Command, ...]:
    """Return the commands of a session up to a version, None for all.

    Raises:
        Refused: it cannot be read, or is not sound; says where.
    """
    if isinstance(session, InFile):
        data = read_bytes(session.path)
        if not is_bundle(data):
            commands = _decoded(session, data)
            _require_version(session, upto, len(commands))
            return commands[:upto]
    with opened_session(session) as found:
        return tuple(_commands(found, upto))


def _commands(found: Opened, upto: int | None) -> Iterator[Command]:
    state: State | None = None
    for record in records_of(found, upto):
        command = command_of(state, record)
        if not isinstance(command, Note):
            yield command
        state = fold([record], state)


def _decoded(session: InFile, data: bytes) -> tuple[Command, ...]:
    decoded = decode_journal(data)
    if not is_successful(decoded):
        raise Refused(f"{session}: {decoded.failure()}{_hint(session, data)}")
    return decoded.unwrap()


def _hint(session: InFile, data: bytes) -> str:
    """Return what else a file may be that was given as a session file."""
    form = "journal" if len(data) > _LARGEST_TO_LOOK_AT else detect(data)
    if form in ("journal", "bundle"):
        return ""
    if form is None:
        return "; a session file has JSON lines that mage export or mage replay --out wrote, a store is a SQLite file"
    return f"; is this an agent's trace? mage replay {session} --out SESSION.jsonl makes a session file of it"


def state_at(session: SessionName, version: int | None = None) -> State:
    """Return the state that a session leads to, at its end or at an earlier version.

    In a store it is read as a session reads it: a snapshot that fits, and the records behind that. Looking at
    every record is what `check` and `doctor` are for.

    Raises:
        Refused: what was read is unsound, refuses one of its commands, or has no such version.
    """
    if isinstance(session, InStore):
        with opened(session) as store:
            head = store.head(session.name)
            _require_version(session, version, head.version)
            return slot_at(store, session.name, head, head.version if version is None else version).state
    replayed = replay(load_commands(session, version))
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
        raise Refused(_no_version(session, version, last))


def _no_version(session: SessionName, version: int, last: int) -> str:
    return f"{session}: there is no version {version}; it has versions 1 to {last}"
