"""Where journals live: in memory, in a SQLite file, in PostgreSQL.

    from mage.engine import Grow, Start, apply
    from mage.stores import NOTHING, draft, fold, open_store, random_salt, seal, verify

    with open_store("sqlite:///work.db") as store:
        record = seal(NOTHING, draft(None, Start("Buy a desk"), {"at": 0}), random_salt)
        head = store.create("monday", [record])
        state = fold(verify(NOTHING, store.read("monday"), head))

`mage.session` does this for you. `import mage.stores` loads no database: `open_store` does.
"""

from mage.stores.errors import (
    BadAddress,
    BadMeta,
    BadName,
    BadNote,
    BadSource,
    Conflict,
    DamagedJournals,
    DamagedRecord,
    DamagedStore,
    HasForks,
    MissingExtra,
    NameTaken,
    OtherRecord,
    OutdatedTexts,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UnknownJournal,
    UnknownSchema,
    UnknownVersion,
    WrongProcess,
)
from mage.stores.folding import NOTE, Note, command_of, draft, fold, meta_of, operation_of, text_names
from mage.stores.memory import MemoryStore
from mage.stores.opening import InThread, in_thread, open_store
from mage.stores.protocol import (
    AsyncJournalStore,
    Clock,
    JournalInfo,
    JournalStore,
    Snapshot,
    now,
    snapshot_digest,
)
from mage.stores.records import (
    NOTHING,
    Draft,
    Head,
    Part,
    Plain,
    Record,
    Redacted,
    Salts,
    random_salt,
    read_parts,
    redacted,
    seal,
    verify,
    write_parts,
)

__all__ = [
    "NOTE",
    "NOTHING",
    "AsyncJournalStore",
    "BadAddress",
    "BadMeta",
    "BadName",
    "BadNote",
    "BadSource",
    "Clock",
    "Conflict",
    "DamagedJournals",
    "DamagedRecord",
    "DamagedStore",
    "Draft",
    "HasForks",
    "Head",
    "InThread",
    "JournalInfo",
    "JournalStore",
    "MemoryStore",
    "MissingExtra",
    "NameTaken",
    "Note",
    "OtherRecord",
    "OutdatedTexts",
    "Part",
    "Plain",
    "Record",
    "Redacted",
    "Salts",
    "Snapshot",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "UnknownJournal",
    "UnknownSchema",
    "UnknownVersion",
    "WrongProcess",
    "command_of",
    "draft",
    "fold",
    "in_thread",
    "meta_of",
    "now",
    "open_store",
    "operation_of",
    "random_salt",
    "read_parts",
    "redacted",
    "seal",
    "snapshot_digest",
    "text_names",
    "verify",
    "write_parts",
]
