"""Where `mage run` keeps a run: the session that was named, a new file, or nowhere."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

import attrs

from mage.cli.files import exists
from mage.cli.naming import (
    STORE_VARIABLE,
    InFile,
    InStore,
    Reference,
    StoreName,
    default_store,
    parse_reference,
)
from mage.cli.output import Refused
from mage.cli.sessions import is_made, only_session, opened, sessions_in
from mage.stores import UnknownJournal

_NAME: Final = "run"
_NEEDED: Final = {"openai": "openai", "postgres": "psycopg"}
"""The package that each extra brings."""


@final
@attrs.frozen
class Kept:
    """Where a run is kept.

    Attributes:
        place: its session; None where it is gone when the command ends.
        name: its name in its store.
        is_there: whether the session was there before.
    """

    place: InStore | None
    name: str
    is_there: bool

    def __str__(self) -> str:
        return self.name if self.place is None else str(self.place)


def where_kept(session: str | None, *, is_offline: bool, asks_model: bool) -> Kept:
    """Return where a run is to be kept: in the session that is named, else in a new file here, or nowhere.

    Args:
        session: what `--session` says.
        is_offline: whether a run that nobody names a session for is kept nowhere.
        asks_model: whether the options name a model.

    Raises:
        Refused: it cannot be kept there, or something is not installed.
    """
    if session is not None:
        place: InStore | None = _session_named(session)
    elif os.environ.get(STORE_VARIABLE):
        place = InStore(default_store(), _stem())
    else:
        place = None if is_offline else InStore(_new_store(), _NAME)
    _require_extras(None if place is None else place.store, asks_model=asks_model)
    if place is None:
        return Kept(place, _NAME, is_there=False)
    return Kept(place, place.name, is_there=_is_there(place))


def _require_extras(store: StoreName | None, *, asks_model: bool) -> None:
    """Do nothing if all that a run needs is installed; what is missing is told at once, before anything is made.

    Raises:
        Refused: something is missing; says how to install all of it.
    """
    wanted = ["openai"] * asks_model
    wanted += ["postgres"] * (store is not None and store.url.startswith("postgresql:"))
    missing = [extra for extra in wanted if find_spec(_NEEDED[extra]) is None]
    if missing:
        raise Refused(f"this run needs more: pip install 'mage-state[{','.join(missing)}]'")


def _session_named(given: str) -> InStore:
    """Return the session that `--session` names: of a store alone the only one in it, or a new one."""
    said = _in_a_store(given, "--session")
    store = said.place
    assert isinstance(store, StoreName)  # as `_in_a_store` says
    if said.name is not None:
        return InStore(store, said.name)
    if not is_made(store):
        return InStore(store, _NAME)
    with opened(store) as found:
        is_empty = not sessions_in(found)
    return InStore(store, _NAME) if is_empty else only_session(store)


def in_store(given: str, option: str) -> InStore:
    """Return the new session in a store that an option names.

    Raises:
        Refused: it names a file, a version, or no session.
    """
    said = _in_a_store(given, option)
    assert isinstance(said.place, StoreName)  # as `_in_a_store` says
    if said.name is None:
        raise Refused(f"{given}: name the new session too: {option} {said.place}#NAME")
    return InStore(said.place, said.name)


def _in_a_store(given: str, option: str) -> Reference:
    """Return what an option says, which is no file and no version.

    Raises:
        Refused: it is one of these.
    """
    said = parse_reference(given)
    if isinstance(said.place, InFile):
        raise Refused(f"{given}: a run is kept in a store, not in a session file: {option} work.db#NAME")
    if said.version is not None:
        raise Refused(
            f"{given}: a run goes on at the end of a session: leave out @{said.version}, or mage fork the version first"
        )
    return said


def _stem() -> str:
    """Return what says the time, to name a file or a session."""
    return f"mage-run-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _new_store() -> StoreName:
    """Return a store whose file is not there, in the working directory."""
    stem = _stem()
    name, number = f"{stem}.db", 1
    while exists(Path(name)):
        name, number = f"{stem}-{number}.db", number + 1
    return StoreName(f"sqlite:///{name}", name)


def _is_there(place: InStore) -> bool:
    if place.store.url == "memory:" or not is_made(place.store):
        return False
    with opened(place) as store:
        try:
            store.head(place.name)
        except UnknownJournal:
            return False
        return True
