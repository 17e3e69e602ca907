"""Where `mage run` keeps a run: the session that was named, a new file, or nowhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final, final

import attrs

from mage.cli.extras import require_extras
from mage.cli.files import exists
from mage.cli.naming import InStore, StoreName, parse_session
from mage.cli.output import Refused
from mage.cli.stores import is_made, opened
from mage.cli.tapes import refuse_tape
from mage.stores import UnknownJournal

__all__ = ["Kept", "in_store", "where_kept"]

_NAME: Final = "run"


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


def where_kept(session: str | None, *, is_offline: bool) -> Kept:
    """Return where a run is to be kept: in the session that is named, else in a new file here, or nowhere.

    Raises:
        Refused: it cannot be kept there, it is a tape, or something is not installed.
    """
    if session is not None:
        place: InStore | None = in_store(session, "--session")
    else:
        place = None if is_offline else InStore(StoreName(f"sqlite:///{_new_file()}"), _NAME)
    require_extras(None if place is None else place.store, asks_model=not is_offline)
    if place is None or session is None:
        return Kept(place, _NAME, is_there=False)
    return Kept(place, place.name, is_there=_is_there(place))


def in_store(given: str, option: str) -> InStore:
    """Return the session in a store that an option names.

    Raises:
        Refused: it names a file, or nothing.
    """
    named = parse_session(given)
    if not isinstance(named, InStore):
        raise Refused(f"{given}: a run is kept in a store: {option} sqlite:///work.db#NAME")
    return named


def _new_file() -> str:
    """Return the name of a file that is not there, in the working directory, with the time in it."""
    stem = f"mage-run-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    name, number = f"{stem}.db", 1
    while exists(Path(name)):
        name, number = f"{stem}-{number}.db", number + 1
    return name


def _is_there(place: InStore) -> bool:
    if place.store.url == "memory:" or not is_made(place.store):
        return False
    with opened(place.store) as store:
        try:
            store.head(place.name)
        except UnknownJournal:
            return False
        refuse_tape(store, place)
        return True
