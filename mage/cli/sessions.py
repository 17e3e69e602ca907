"""Stores and sessions as commands use them: opened while a command runs, never made by a command that only reads."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, final

import attrs
import typer
from returns.pipeline import is_successful
from returns.result import Result

from mage.bundle import decode_bundle, is_bundle, unpack
from mage.cli.naming import (
    OF_STORES,
    STORE_VARIABLE,
    AtVersion,
    InFile,
    InStore,
    SessionName,
    StoreName,
    default_store,
    parse_reference,
    parse_store,
    spelled,
)
from mage.cli.output import Refused, exists, read_bytes, refusing, some_of
from mage.codec import decode_journal
from mage.effects.questions import drive
from mage.engine import Command, MageError, State, apply
from mage.session.drivers import answer
from mage.session.loading import load
from mage.stores import (
    NOTHING,
    DamagedJournals,
    DamagedRecord,
    DamagedStore,
    HasForks,
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

Value = TypeVar("Value")

LOOKS: Final = "mage gc: looks"
"""The name of the journal in which `mage gc` keeps its looks; it is no session."""
_LARGEST_TO_LOOK_AT: Final = 20_000_000
"""Bytes of the longest file whose format a refusal looks for."""
_IN_A_FILE: Final = "session"

# -- stores ----------------------------------------------------------------------------------------------


@contextmanager
def opened(place: StoreName | InStore, *, make: bool = False) -> Iterator[JournalStore]:
    """Open a store for a command.

    Args:
        place: the store; or a session in it, which is then named where a record is damaged.
        make: whether to make a store that is not there.

    Raises:
        Refused: the store cannot be opened or used, and why, in one line.
    """
    store = store_of(place)
    if make and store.url == "memory:":
        raise Refused(f"{store} is gone when the command ends; name a store that stays, such as work.db")
    if store.file is not None and not make:
        if not exists(store.file):
            raise Refused(f"{store}: there is no such file")
        if not is_made(store):
            raise Refused(f"{store}: this file is empty: there is no store in it")
    try:
        with open_store(store.url) as found:
            yield found
    except StoreError as error:
        raise Refused(message_of(place, error)) from None


def store_of(place: StoreName | InStore) -> StoreName:
    """Return a store, or that of a session."""
    return place.store if isinstance(place, InStore) else place


def is_made(store: StoreName) -> bool:
    """Tell whether a store is there; of a store without a file, True.

    An empty file is no store: the process that made it was killed, or the disk was full. Opened as a store it would
    become one.
    """
    path = store.file
    if path is None or not exists(path):
        return path is None
    with refusing(path):
        return not path.is_file() or path.stat().st_size > 0


def message_of(place: StoreName | InStore, error: StoreError) -> str:
    """Return an error of a store in one line, with the command that helps.

    The first note of a `DamagedRecord` is the name of its session.
    """
    store = store_of(place)
    match error:
        case UnknownJournal(name=name):
            return f"{InStore(store, name)}: there is no such session; mage sessions {store} lists those that are"
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
            said = str(error) if str(store) in str(error) else f"{store}: {error}"
            hint = f"; mage doctor {store} looks at all of it"
            return said + hint * isinstance(error, DamagedStore)


def _no_version(session: SessionName, version: int, last: int) -> str:
    return f"{session}: there is no version {version}; it has versions 1 to {last}"


def listed_names(names: Sequence[str]) -> str:
    """Return names of sessions as commands take them, the first few of many."""
    return some_of([*map(spelled, names)])


def has_session(found: JournalStore, name: str) -> bool:
    """Tell whether a store has a session of this name."""
    try:
        found.head(name)
    except UnknownJournal:
        return False
    return True


def sessions_in(found: JournalStore) -> tuple[JournalInfo, ...]:
    """Return the sessions of a store in order of names, without the looks of `mage gc`.

    Raises:
        DamagedJournals: the rows of some of its journals are damaged.
    """
    return tuple([each for each in found.journals() if each.name != LOOKS])


def sound_sessions(found: JournalStore) -> tuple[tuple[JournalInfo, ...], tuple[str, ...]]:
    """Return the sessions of a store whose rows are sound, and the faults of the others."""
    try:
        return sessions_in(found), ()
    except DamagedJournals as damage:
        return tuple([each for each in damage.sound if each.name != LOOKS]), damage.damaged


# -- which session is meant ------------------------------------------------------------------------------


def only_session(store: StoreName, *, new: str | None = None) -> InStore:
    """Return the only session of a store, a new one named `new` where it has none; refuse a store with several."""
    with opened(store) as found:
        names = [journal.name for journal in sessions_in(found)] or ([] if new is None else [new])
    if not names:
        raise Refused(f"{store} holds no session; mage run, mage import and mage replay make one")
    if len(names) > 1:
        raise Refused(
            f"{store} holds {len(names):,} sessions: name one behind a #, as in"
            f" {InStore(store, names[0])}; there are {listed_names(names)}"
        )
    return InStore(store, names[0])


def parse_version(given: str) -> AtVersion:
    """Return the session that the user named, and its version, or refuse where none is named."""
    said = parse_reference(given)
    if isinstance(said.place, InFile):
        return AtVersion(said.place, said.version)
    session = only_session(said.place) if said.name is None else InStore(said.place, said.name)
    return AtVersion(session, said.version)


def parse_session(given: str) -> SessionName:
    """Return the session that the user named, as it is now, or refuse a version of one."""
    found = parse_version(given)
    if found.version is not None:
        raise Refused(
            f"{found}: this command takes the session as it is now: type {found.session}, or fork the version first"
        )
    return found.session


def parse_target(given: str) -> InStore | InFile | StoreName:
    """Return the session that the user named, or the whole store."""
    said = parse_reference(given)
    if isinstance(said.place, StoreName) and said.name is None and said.version is None:
        return said.place
    return parse_session(given)


def parse_stored(given: str) -> InStore:
    """Return the session in a store that the user named, to be changed, or refuse a session file."""
    return in_store(parse_session(given))


def parse_stored_target(given: str) -> InStore | StoreName:
    """Return the session in a store that the user named, or the whole store, to be changed."""
    target = parse_target(given)
    return target if isinstance(target, StoreName) else in_store(target)


def in_store(session: SessionName) -> InStore:
    """Return a session to be changed, or refuse a session file."""
    if isinstance(session, InFile):
        raise Refused(
            f"{session}: a session file is read, and never written: mage import {session} work.db makes a session"
            " in a store of it"
        )
    return session


def named_in_store(given: str, option: str) -> tuple[StoreName, str | None]:
    """Return the store and the session that an option of a run names; refuse a file and a version."""
    said = parse_reference(given)
    if isinstance(said.place, InFile):
        raise Refused(f"{given}: a run is kept in a store, not in a session file: {option} work.db#NAME")
    if said.version is not None:
        raise Refused(
            f"{given}: a run goes on at the end of a session: leave out @{said.version}, or mage fork the version first"
        )
    return said.place, said.name


def new_session(given: str, option: str) -> InStore:
    """Return the session that an option names; refuse a store alone, and a session that is there."""
    store, name = named_in_store(given, option)
    if name is None:
        raise Refused(f"{given}: name the new session too: {option} {store}#NAME")
    session = InStore(store, name)
    if is_there(session):
        raise Refused(message_of(session, NameTaken(name)))
    return session


def is_there(place: InStore) -> bool:
    """Tell whether a session is there; no store is made."""
    if place.store.url == "memory:" or not is_made(place.store):
        return False
    with opened(place) as store:
        return has_session(store, place.name)


# -- completion in the shell -----------------------------------------------------------------------------


def complete_session(incomplete: str) -> list[str]:
    """Return the completions of a word in the shell: stores, session files and the sessions in a store.

    A store on a server is not asked: its answer may take longer than a user waits after a key.
    """
    try:
        return [*_sessions_like(incomplete), *([] if "#" in incomplete else _paths_like(incomplete))]
    except Exception:  # whatever is wrong: a shell that completes a word shows no error
        return []


def complete_store(incomplete: str) -> list[str]:
    """Return the stores and folders that complete a word in the shell."""
    try:
        return _paths_like(incomplete, OF_STORES)
    except Exception:  # as above
        return []


def _paths_like(incomplete: str, endings: tuple[str, ...] = (*OF_STORES, ".jsonl")) -> list[str]:
    folder, _, start = incomplete.rpartition(os.sep)
    before = incomplete[: len(incomplete) - len(start)]
    found: list[str] = []
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
        shown = [spelled(each.name) for each in sound_sessions(found)[0]]
    return [f"{before}{name}" for name in shown if name.startswith(start)]


# -- the arguments of commands ---------------------------------------------------------------------------


def named_by(
    parser: Callable[[str], object], metavar: str, words: str, *, envvar: str | None = STORE_VARIABLE
) -> Any:  # Any: as typer has it
    """Return the argument of a command that names a session or a store; `words` are its help."""
    return typer.Argument(
        parser=parser,
        metavar=metavar,
        envvar=envvar,
        autocompletion=complete_store if metavar == "STORE" else complete_session,
        help=words,
        show_default=False,
    )


_ANY: Final = "STORE#NAME; STORE alone where it holds one session; or a session file."
Store = Annotated[
    StoreName, named_by(parse_store, "STORE", f"The path of a SQLite file, or a URL: {KNOWN_URLS}.")
]
Session = Annotated[SessionName, named_by(parse_session, "SESSION", _ANY)]
Version = Annotated[
    AtVersion, named_by(parse_version, "SESSION[@VERSION]", f"{_ANY} @9 behind it is version 9.")
]
Stored = Annotated[
    InStore,
    named_by(parse_stored, "SESSION", "STORE#NAME, or STORE alone where it holds one session.", envvar=None),
]
if TYPE_CHECKING:
    Target: TypeAlias = InStore | InFile | StoreName
    StoredTarget: TypeAlias = InStore | StoreName
else:
    Target = Annotated[
        object, named_by(parse_target, "SESSION|STORE", "A session; or a store, for every session in it.")
    ]
    StoredTarget = Annotated[
        object,
        named_by(
            parse_stored_target,
            "SESSION|STORE",
            "A session in a store; or a store, for every session in it.",
            envvar=None,
        ),
    ]

# -- reading a session -----------------------------------------------------------------------------------


def unwrapped(result: Result[Value, object], place: object = None) -> Value:
    """Return the value of a result, or refuse its failure, in front of which `place` is named."""
    if is_successful(result):
        return result.unwrap()
    raise Refused(f"{result.failure()}" if place is None else f"{place}: {result.failure()}")


@final
@attrs.frozen
class Opened:
    """An opened session, by its name in its store. A session file is opened in memory, where a change would be lost."""

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
            store.head(session.name)  # raises where there is none
            yield Opened(store, session.name)
        return
    store = MemoryStore()
    data = read_bytes(session.path)
    try:
        if is_bundle(data):
            unpack(unwrapped(decode_bundle(data), session).flat, store, _IN_A_FILE)
        else:
            store.create(_IN_A_FILE, recorded(session, _decoded(session, data)))
        yield Opened(store, _IN_A_FILE)
    except UnknownVersion as error:
        raise Refused(_no_version(session, error.version, error.head)) from None
    except StoreError as error:
        raise Refused(f"{session}: {error}") from None


def recorded(
    session: SessionName, commands: tuple[Command, ...], metas: Sequence[Mapping[str, object]] = ()
) -> list[Record]:
    """Return commands as records, each with its meta, if any. Equal texts have one salt: redacted they are still equal.

    Raises:
        Refused: there is none, or the engine refuses one.
    """
    if not commands:
        raise Refused(f"{session}: the journal is empty: it should begin with a start")
    records: list[Record] = []
    state: State | None = None
    head = NOTHING
    salts: defaultdict[str, str] = defaultdict(random_salt)
    for version, (command, meta) in enumerate(zip(commands, chain(metas, repeat({})), strict=False), start=1):
        where = f"{session}: command {version}, {type(command).__name__}"
        drafted = draft(state, command, meta)
        records.append(seal(head, drafted, iter([salts[text] for text in drafted.texts]).__next__))
        head = records[-1].head
        try:
            result = apply(state, command)
        except MageError as reason:
            raise Refused(f"{where}: {reason}") from None
        state = unwrapped(result, where)
    return records


def _decoded(session: InFile, data: bytes) -> tuple[Command, ...]:
    decoded = decode_journal(data)
    if not is_successful(decoded):
        raise Refused(f"{session}: {decoded.failure()}{_hint(session, data)}")
    return decoded.unwrap()


def _hint(session: InFile, data: bytes) -> str:
    """Return a hint at the format of a file that is no session file."""
    form = "journal" if len(data) > _LARGEST_TO_LOOK_AT else detect(data)
    if form in ("journal", "bundle"):
        return ""
    if form is None:
        return "; a session file has JSON lines that mage export or mage replay --out wrote, a store is a SQLite file"
    return f"; is this an agent's trace? mage replay {session} --out SESSION.jsonl makes a session file of it"


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
    with opened_session(session) as found:
        return tuple(_commands(found, upto))


def _commands(found: Opened, upto: int | None) -> Iterator[Command]:
    state: State | None = None
    for record in records_of(found, upto):
        command = command_of(state, record)
        if not isinstance(command, Note):
            yield command
        state = fold([record], state)


def state_at(session: SessionName, version: int | None = None) -> State:
    """Return the state of a session, at its end or at an earlier version.

    It is read as `Session` reads it: a snapshot that fits, and the records behind that. `check` and `doctor` read every
    record.

    Raises:
        Refused: a record is unsound, a command is refused, or there is no such version.
    """
    with opened_session(session) as found:
        head = found.store.head(found.name)
        at = found.require(version)
        program = load(found.name, head if at == head.version else at, snapshots=True)
        return drive(program, partial(answer, found.store)).slot.state
