"""The errors of stores, all `MageError`s. Each message says what to do; a `url` in it has no password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import attrs

from mage.codec.strict_json import short
from mage.engine.errors import MageError

if TYPE_CHECKING:
    from mage.stores.protocol import JournalInfo
    from mage.stores.records import Head


def _shown(name: str) -> str:
    """Return a name in quotes on one line; of a long name only the beginning."""
    return ascii(short(name, 80)) if not name.isprintable() else repr(short(name, 80))


class StoreError(MageError):
    """The base of the errors of stores."""


@final
@attrs.define
class BadName(StoreError, ValueError):
    """A journal cannot have this name."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{_shown(self.name)} cannot be a journal's name: {self.reason}"


@final
@attrs.define
class NameTaken(StoreError):
    """A journal of this name is there already; open it, or choose another name."""

    name: str

    def __str__(self) -> str:
        return f"a journal {_shown(self.name)} is there already: open it, or choose another name"


@final
@attrs.define
class UnknownJournal(StoreError, LookupError):
    """No journal has this name: it was never created, or it was deleted; `remedy` says what to do."""

    name: str
    remedy: str = attrs.field(default="`journals()` lists those that are", eq=False)

    def __str__(self) -> str:
        return f"there is no journal {_shown(self.name)}: {self.remedy}"


@final
@attrs.define
class UnknownVersion(StoreError, LookupError):
    """A journal, whose versions are 1 to `head`, does not have this `version`."""

    name: str
    version: int
    head: int

    def __str__(self) -> str:
        return f"journal {_shown(self.name)} has no version {self.version}: its versions are 1 to {self.head}"


@final
@attrs.define
class Conflict(StoreError):
    """The head is `found`, not `expected`: another writer has moved it. Nothing was written."""

    expected: Head
    found: Head

    def __str__(self) -> str:
        return (
            f"the head is {self.found}, not {self.expected}: somebody else has written;"
            " nothing of this was, so read what is new and decide again"
        )


@final
@attrs.define
class HasForks(StoreError):
    """A journal cannot be deleted or renamed while these `forks` read through it."""

    name: str
    forks: tuple[str, ...]

    def __str__(self) -> str:
        forks = ", ".join(_shown(fork) for fork in self.forks[:8]) + ", ..." * (len(self.forks) > 8)
        return f"journal {_shown(self.name)} has forks that read through it, so it keeps its name and its records: delete these first: {forks}"


@final
@attrs.define
class DamagedRecord(StoreError):
    """The record of this `version` was changed, is not in its place, or is missing."""

    version: int
    reason: str

    def __str__(self) -> str:
        before = "none" if self.version <= 1 else f"1 to {self.version - 1}"
        return f"record {self.version} is damaged: {self.reason} (sound before it: {before})"


@final
@attrs.define
class OtherRecord(StoreError, ValueError):
    """The record that should replace the record of this `version` is not that record with texts redacted. Nothing was replaced."""

    version: int

    def __str__(self) -> str:
        return (
            f"this is not record {self.version} with texts redacted: take the record as it was read,"
            " and replace texts by `redacted` only"
        )


@final
@attrs.define
class OutdatedTexts(StoreError):
    """Texts of a journal were redacted since the state of a snapshot was read. The snapshot is not kept."""

    name: str

    def __str__(self) -> str:
        return (
            f"texts were taken out of journal {_shown(self.name)} since this was read, so the snapshot may"
            " still hold them and is not kept: read the journal again"
        )


@final
@attrs.define
class BadMeta(StoreError, ValueError):
    """The meta of a record is no JSON object."""

    reason: str

    def __str__(self) -> str:
        return f"what goes with a record is a JSON object: {self.reason}"


@final
@attrs.define
class BadNote(StoreError, ValueError):
    """A note cannot have this kind."""

    kind: str

    def __str__(self) -> str:
        return (
            f"{_shown(self.kind)} cannot be the kind of a note: a lower-case letter, then up to 39 lower-case"
            " letters, digits and underscores"
        )


@final
@attrs.define
class BadSource(StoreError, ValueError):
    """A `source`, which is `"clock"`, `"salts"` or `"patience"`, gave a wrong value. Nothing was written."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"the {self.source} cannot be used: {self.reason}; nothing was written"


@final
@attrs.define
class BadAddress(StoreError, ValueError):
    """A URL names no store."""

    url: str
    reason: str

    def __str__(self) -> str:
        return f"{_shown(self.url)} is no store: {self.reason}"


@final
@attrs.define
class MissingExtra(StoreError, ImportError):
    """A store, of the kind `what`, needs a package that is not installed; the extra `extra` installs it."""

    what: str
    extra: str

    def __str__(self) -> str:
        return f"{self.what} needs its extra: pip install 'mage-state[{self.extra}]'"


@final
@attrs.define
class UnknownSchema(StoreError):
    """A file or a database is no store of mage, or one of a newer mage. It was left as it is."""

    url: str
    reason: str

    def __str__(self) -> str:
        return f"{_shown(self.url)} was left as it is: {self.reason}"


@attrs.define
class DamagedStore(StoreError):
    """The database itself cannot be read: its file was torn or overwritten."""

    reason: str

    def __str__(self) -> str:
        return f"the database is damaged: {self.reason}; work on a copy, and see what can be read of it"


@final
class DamagedJournals(DamagedStore):
    """The rows of some journals make no sense; the others are sound, and can be read.

    Nothing may be deleted then: it is not known through which journals the damaged ones read.

    Attributes:
        sound: the sound journals, in order of names.
        damaged: of each damaged journal the name and the fault.
    """

    def __init__(self, sound: tuple[JournalInfo, ...], damaged: tuple[str, ...]) -> None:
        self.sound = sound
        self.damaged = damaged
        more = f", and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
        super().__init__("; ".join(damaged[:_NAMED]) + more)
        self.args = (sound, damaged)  # copying and unpickling pass these


_NAMED: Final = 5
"""Damaged journals that a message names."""


@final
@attrs.define
class StoreFull(StoreError):
    """There is no room to write. Nothing of the operation was written; make room and try again."""

    reason: str

    def __str__(self) -> str:
        return f"there is no room to write: {self.reason}; nothing was written, make room and try again"


@final
@attrs.define
class StoreUnavailable(StoreError):
    """The store cannot be reached or written now. Nothing was written; where `in_doubt`, it may be: compare the head."""

    reason: str
    in_doubt: bool = False

    def __str__(self) -> str:
        if self.in_doubt:
            return f"the store went away: {self.reason}; it may be written or not: compare the head first"
        return f"the store cannot be used now: {self.reason}; nothing was written, try again"


@final
@attrs.define
class WrongProcess(StoreError):
    """A forked child uses `what` its parent opened, without the parent's locks. Nothing was done."""

    what: str
    opened_in: int
    used_in: int
    advice: str = "open it here, after the fork"

    def __str__(self) -> str:
        return (
            f"{self.what} was opened in process {self.opened_in}, and this is process {self.used_in}, a fork"
            f" of it: {self.advice}"
        )
