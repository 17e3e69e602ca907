"""What `mage doctor` writes: the copy of what is sound, and the rest that no session can hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mage.bundle import encode_bundle, pack
from mage.cli.files import move_new, require_absent, write_new
from mage.cli.naming import InFile, InStore, StoreName, parse_target
from mage.cli.output import Refused
from mage.cli.stores import file_of, opened, said_of
from mage.stores import MemoryStore, StoreError, open_store
from mage.stores.doctor import UNFINISHED, Examined, Kept, LeftOut, private_folder, repair, rest_of

__all__ = ["place_of", "write_repaired", "write_rest"]

_PREFIX: Final = ".mage-repair-"


def place_of(given: str, *, stores: bool, files: bool) -> StoreName | InFile:
    """Return where a repaired copy is to be written, where nothing stands.

    Raises:
        Refused: it cannot be written there.
    """
    place = parse_target(given)
    if isinstance(place, InStore):
        raise Refused(f"{given}: this names a session; name a new store: {place.store}")
    if isinstance(place, InFile):
        if not files:
            hint = f"sqlite:///{given}"
            raise Refused(f"{given}: sessions of a store are repaired into a store: {hint}")
        require_absent(place.path)
        return place
    if not stores:
        raise Refused(f"{given}: a journal is repaired into a file; mage import makes a session of that")
    if (path := file_of(place)) is not None:
        require_absent(path)
    return place


def write_repaired(kept: Kept, examined: Examined, into: StoreName | InFile) -> tuple[LeftOut, ...]:
    """Write what is sound to a new file, which appears when it is complete, or into an empty database.

    Raises:
        Refused: something stands there, or it cannot be written; of a new file nothing is left then.
    """
    if isinstance(into, InFile):
        return _into_bundle(kept, examined, into.path)
    path = file_of(into)
    if path is None:
        return _into_database(kept, examined, into)
    with _beside(path) as part:
        try:
            with open_store(f"sqlite:///{part}") as store:
                left = repair(kept, examined, store)
        except StoreError as error:
            raise Refused(said_of(into, error).replace(str(part), str(path))) from None
        move_new(part, path)
    return left


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give an empty file of the same name in a private folder beside its place."""
    try:
        with private_folder(_PREFIX, path.absolute().parent) as folder:
            part = folder / path.name
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            yield part
    except OSError as problem:
        raise Refused(f"{path}: {problem.strerror}") from None


def _into_database(kept: Kept, examined: Examined, into: StoreName) -> tuple[LeftOut, ...]:
    with opened(into, make=True) as store:
        names = {journal.name for journal in store.journals()}
        if UNFINISHED in names:
            raise Refused(f"{into}: a repair into it was cut short; drop its sessions, and try again")
        if names:
            raise Refused(f"{into}: there are sessions in it already; name an empty store")
        return repair(kept, examined, store)


def _into_bundle(kept: Kept, examined: Examined, path: Path) -> tuple[LeftOut, ...]:
    """Write the last session of a bundle of which anything is sound, with what it reads through."""
    sound = [each for each in examined.sound if each.upto]
    if not sound:
        raise Refused(f"{path}: nothing is sound that could be written there")
    with MemoryStore() as store:
        left = repair(kept, examined, store)
        write_new(path, encode_bundle(pack(store, sound[-1].name, lineage=True)))
    return left


def write_rest(kept: Kept, examined: Examined, path: Path) -> None:
    """Write to a new file what no session can hold.

    Raises:
        Refused: something stands there, or it cannot be written.
    """
    write_new(path, rest_of(kept, examined))
