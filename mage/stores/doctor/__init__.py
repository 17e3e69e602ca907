"""The doctor: read everything in a store, name each fault, and change nothing.

    from mage.stores.doctor import examine, kept_at

    with kept_at("sqlite:///work.db") as kept:
        for finding in examine(kept).findings:
            print(finding)

Of a SQLite file it reads a copy; a PostgreSQL database it reads in a transaction that cannot write.
"""

from mage.stores.doctor.examining import UNFINISHED, Examined, LeftOut, Sound, examine, repair, rest_of
from mage.stores.doctor.reading import (
    Finding,
    Kept,
    KeptJournal,
    KeptSnapshot,
    Row,
    Stray,
    kept_at,
    private_folder,
)

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
