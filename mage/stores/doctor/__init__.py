"""The doctor: looks at everything that a store keeps, names what is wrong, and changes nothing.

    from mage.stores.doctor import examine, kept_at

    with kept_at("sqlite:///work.db") as kept:
        for finding in examine(kept).findings:
            print(finding)

A SQLite file is looked at in a copy, a PostgreSQL database in a transaction that cannot write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mage.stores.doctor.examining import UNFINISHED, Examined, Sound, examine
from mage.stores.doctor.kept import Finding, Kept, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.doctor.repairing import LeftOut, repair
from mage.stores.doctor.rest import rest_of
from mage.stores.doctor.scratch import private_folder
from mage.stores.doctor.sqlite import kept_in_file
from mage.stores.errors import BadAddress, MissingExtra
from mage.stores.opening import without_password

__all__ = [
    "UNFINISHED",
    "Examined",
    "Finding",
    "Kept",
    "KeptJournal",
    "KeptSnapshot",
    "LeftOut",
    "Row",
    "Sound",
    "Stray",
    "examine",
    "kept_at",
    "private_folder",
    "repair",
    "rest_of",
]

_SQLITE: Final = "sqlite:///"


@contextmanager
def kept_at(url: str, *, patience: float = 10.0) -> Iterator[Kept]:
    """Give what the store at `url` keeps, to be examined and repaired. Nothing of it is changed.

    A SQLite file is read without any extra.

    Raises:
        BadAddress: the URL says no store that is kept anywhere.
        MissingExtra: what PostgreSQL needs is not installed.
        StoreUnavailable: it cannot be reached or read.
    """
    if url.startswith(_SQLITE):
        name = url.removeprefix(_SQLITE)
        if not name or "\0" in name:
            raise BadAddress(url, "three slashes and a path name the file: sqlite:///work.db")
        path = Path(name)
        if path.exists() and not path.is_file():  # a device may have no end, and the doctor copies
            raise BadAddress(url, "this is a directory, a pipe or a device: name a file")
        with kept_in_file(path) as kept:
            yield kept
    elif url.startswith("postgresql:"):
        try:
            from mage.stores.doctor.postgres import kept_in_database  # noqa: PLC0415  # an extra
        except ModuleNotFoundError:
            raise MissingExtra("a PostgreSQL store", "postgres") from None
        with kept_in_database(url, patience=patience) as database:
            yield database
    else:
        raise BadAddress(without_password(url), "a doctor looks at sqlite:/// and postgresql:// stores")
