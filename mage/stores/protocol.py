"""The promises of a store of journals, the checks that every store makes before it writes, and recording without folding.

A store of yours that keeps the promises can be used everywhere (`mage.testing.stores` tests them); with these checks its
answers and errors are those of the other stores.

A *journal* has a name, and records 1 to n; its *head* is n and the digest of record n. A *fork* is a journal that starts at
a version of another: it copies nothing and reads through its parent, forks of forks through all their ancestors. Records are
never changed or reordered, except that `replace_parts` takes texts out.

- **Durable**: once an operation has returned, its effect survives the end of the process and of the machine.
- **Whole**: an operation is done as a whole or not at all, also when it raises, is cancelled or is killed.
- **One line**: `append` writes only behind exactly the head that the writer names; else `Conflict`. Nothing
  is merged, reordered or overwritten. Records are verified against that head before they are written.
- **Shared**: threads, and where the store has a URL processes too, may use a store at once, and open it as
  often as they like. A fork of the process that opened the store may not use it (`WrongProcess`).

Costs name `n` for the records that are written or read, and leave out the length of the records.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias, final

import attrs

from mage.codec.strict_json import DIGEST
from mage.engine.journal import Grow, Instruct
from mage.engine.text import as_text, is_blank
from mage.stores.errors import (
    BadName,
    BadSource,
    Conflict,
    DamagedRecord,
    OtherRecord,
    UnknownVersion,
    WrongProcess,
)
from mage.stores.records import (
    NOTHING,
    Checked,
    Head,
    Plain,
    Record,
    Salts,
    draft,
    is_salt,
    operation_of,
    random_salt,
    seal,
    verify,
)


@final
@attrs.frozen
class JournalInfo:
    """A journal without its records.

    Attributes:
        name: the name.
        head: the last version, and its digest.
        parent: the journal that it reads through, None for no fork. Of a fork made at a version that the source had from its
            own parent, that parent.
        forked_at: the last version that it has from its parent; 0 for no fork.
        created: the time when it was made, in microseconds since 1970.
        changed: the time of the last append.
        payload: bytes of the texts of its own records, as they are kept.
        grows: the number of its own records that add a step.
    """

    name: str
    head: Head
    parent: str | None
    forked_at: int
    created: int
    changed: int
    payload: int
    grows: int

    @property
    def records(self) -> int:
        """The number of its own records; the others are read from its parent."""
        return self.head.version - self.forked_at


@final
@attrs.frozen
class Snapshot:
    """A cache of the state at a version, tied to the records up to there by `snapshot_digest`: losing one loses nothing."""

    version: int
    data: bytes
    digest: str


def snapshot_digest(head: Head, data: bytes) -> str:
    """Return the digest of a snapshot, which ties `data` to the records that it was made from. Cost: O(length of data)."""
    digest = hashlib.sha256(f"{head.version}\n{head.digest}\n".encode())
    digest.update(data)  # which can have tens of megabytes, and is not copied
    return digest.hexdigest()


class JournalStore(Protocol):
    """A store of journals. Every method may also raise `StoreUnavailable`, `StoreFull` or `DamagedStore`.

    A name is any text of 1 to 255 characters without NUL and lone surrogates, compared exactly; other names are refused with
    `BadName`. A method that reads or changes a journal raises `UnknownJournal` where none has the name.
    """

    def create(self, name: str, records: Iterable[Record]) -> Head:
        """Make a journal of these records, at least one, and return its head. Cost: O(n).

        Raises:
            NameTaken: there is one of this name.
            DamagedRecord: the records are not sound from record 1 on, or there are none.
        """
        ...

    def fork(self, source: str, name: str, at: int) -> Head:
        """Make a journal that starts at version `at` of `source`, and return its head. Cost: O(depth of forks).

        Raises:
            UnknownVersion: it has no version `at`.
            NameTaken: there is a journal `name` already.
        """
        ...

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        """Write records behind the head `expected`, all or none, and return the new head. Cost: O(n).

        Raises:
            Conflict: the journal has another head, by version or digest. Nothing is written.
            DamagedRecord: the records do not follow `expected`.
        """
        ...

    def head(self, name: str) -> Head:
        """Return the head of a journal. Cost: O(1)."""
        ...

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """Yield the records after version `after`, up to `upto` (None: the head as it is now), in order.

        They are read lazily, through the lineage; records that are appended meanwhile are not read. `verify` tells whether
        they are sound. Cost: O(n + depth of forks).

        Raises:
            UnknownJournal: the journal is not there, or was deleted meanwhile.
            UnknownVersion: the journal has no version `upto`, or `after` is negative or beyond its end.
            DamagedRecord: a record cannot be read, or is missing.
        """
        ...

    def journals(self) -> tuple[JournalInfo, ...]:
        """Return an info of each journal, in order of names. Cost: O(number of journals).

        Raises:
            DamagedJournals: the rows of some make no sense; the error has the infos of the others.
        """
        ...

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        """Delete a journal with its own records and snapshots. Cost: O(its own records).

        `expected` is the head at which the caller decided to delete the journal; None for any head.

        Raises:
            Conflict: the head is not `expected`, because another writer has moved it. Nothing is deleted.
            HasForks: forks read through the journal; the error names them.
        """

    def rename(self, name: str, new: str) -> None:
        """Give a journal, with its records and snapshots, another name. Cost: O(1).

        Raises:
            NameTaken: there is a journal `new` already; also where `new` is `name`.
            HasForks: forks read through the journal; the error names them.
        """

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        """Replace records by the same records with texts redacted, in whichever journal of the lineage each lies.

        So every fork that reads them is redacted too, and all snapshots at or behind one of them are dropped. The old texts
        are overwritten where the medium allows; `reclaim` does the rest. Cost: O(n + journals).

        Raises:
            UnknownVersion: the journal has no record of that version.
            OtherRecord: one is not the same record with texts redacted. Nothing is replaced.
        """

    def redactions(self, name: str) -> int:
        """Return the number of redactions of the records that this journal reads. Cost: O(1).

        Ask before you read a journal to make snapshots of it, and pass the number with each snapshot.
        """
        ...

    def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        """Keep a snapshot of a version, in place of an earlier one of it. Cost: O(length of data).

        Args:
            name: the journal.
            version: the version.
            data: the snapshot.
            digest: `snapshot_digest` of the head at that version and of `data`.
            redactions: the answer of `redactions` before the journal was read. Without it, a process that still has texts in
                memory could write texts again that were redacted meanwhile. None: the data has no such texts.

        Raises:
            UnknownVersion: the journal has no version `version`.
            OutdatedTexts: texts were redacted since. Nothing is kept.
        """

    def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot at or before `upto` (None: the head), also an ancestor's, or None.

        Cost: O(length of the snapshot + depth of forks).
        """

    def drop_snapshots(self, name: str) -> None:
        """Drop the snapshots of a journal's own versions."""

    def reclaim(self) -> None:
        """Free the room of deleted records, and overwrite redacted texts. Cost: O(size)."""

    def close(self) -> None:
        """Free everything that the store holds; using it again is an error. Closing twice is no error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class AsyncJournalStore(Protocol):
    """A `JournalStore` whose methods are awaited: the same names, promises and errors.

    When the await of an operation is cancelled, the cancellation takes effect once the operation is done, or not done.
    """

    async def create(self, name: str, records: Iterable[Record]) -> Head: ...
    async def fork(self, source: str, name: str, at: int) -> Head: ...
    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head: ...
    async def head(self, name: str) -> Head: ...
    def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]: ...
    async def journals(self) -> tuple[JournalInfo, ...]: ...
    async def delete(self, name: str, *, expected: Head | None = None) -> None: ...
    async def rename(self, name: str, new: str) -> None: ...
    async def replace_parts(self, name: str, records: Iterable[Record]) -> None: ...
    async def redactions(self, name: str) -> int: ...
    async def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None: ...
    async def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None: ...
    async def drop_snapshots(self, name: str) -> None: ...
    async def reclaim(self) -> None: ...
    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()


# -- checks ----------------------------------------------------------------------------------------------

LONGEST_NAME: Final = 255
"""Characters of the longest name."""


def as_name(name: str) -> str:
    """Return `name` as a plain string; raise `BadName` where it cannot name a journal."""
    if not isinstance(name, str):
        raise BadName(str(name), "a name is text")
    if not name:
        raise BadName(name, "it is empty")
    if len(name) > LONGEST_NAME:
        raise BadName(name, f"it has {len(name)} characters, more than {LONGEST_NAME}")
    if "\0" in name:
        raise BadName(name, "it holds a NUL, which databases cannot keep")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise BadName(name, "it holds half of a surrogate pair, which UTF-8 cannot spell") from error
    return str.__str__(name)


def name_beside(name: str, taken: Container[str]) -> str:
    """Return the first of `NAME.parent`, `NAME.parent2`, ... that is not taken; cut a name that is too long."""
    numbers = chain([""], map(str, count(2)))
    return next(
        free
        for ending in (f".parent{number}" for number in numbers)
        if (free := name[: LONGEST_NAME - len(ending)] + ending) not in taken
    )


def beginning(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records of a new journal, verified; raise `DamagedRecord` for one that is not sound, and for none."""
    checked = following(NOTHING, records)
    if not checked:
        raise DamagedRecord(1, "a journal has at least its start")
    return checked


def following(expected: Head, records: Iterable[Record]) -> tuple[Record, ...]:
    """Return records that follow `expected`, verified; raise `DamagedRecord` for one that is not sound, or not chained.

    The digest of a record that `seal` has made behind the record before is not computed again.
    """
    checked: list[Record] = []
    before = expected
    for record in records:
        if record.sealed_behind != before.digest or record.version != before.version + 1:
            checked += map(_readable, verify(before, [record]))
        else:
            checked.append(record)
        before = record.head
    return tuple(checked)


def _readable(record: Record) -> Record:
    """Return the record; raise `DamagedRecord` if it could not be read back as it is."""
    for part in record.parts:
        if isinstance(part, Plain):
            if not is_salt(part.salt):
                raise DamagedRecord(record.version, "a salt of it is not 16 characters of ASCII")
            if type(part.text) is not str or as_text(part.text) != part.text:
                raise DamagedRecord(
                    record.version, "a text of it is no plain string with joined surrogate pairs"
                )
        elif not DIGEST.fits(part.digest):
            raise DamagedRecord(record.version, "the digest of a text taken out is none")
    return record


def require_range(name: str, after: int, upto: int | None, head: int) -> int:
    """Return the last version to read of a journal that ends at `head`; raise `UnknownVersion` for a wrong range."""
    last = head if upto is None else upto
    for version in (last, after):
        if not 0 <= version <= head:
            raise UnknownVersion(name, version, head)
    return last


def require_same(old: Record, new: Record) -> None:
    """Raise `OtherRecord` unless `new` is `old` with none or some of the texts redacted. Cost: O(length of the texts)."""
    is_same = (old.version, old.body, old.digest) == (new.version, new.body, new.digest)
    if not is_same or len(old.parts) != len(new.parts):
        raise OtherRecord(new.version)
    for before, after in zip(old.parts, new.parts, strict=True):
        if after != before and (isinstance(after, Plain) or after.digest != before.digest):
            raise OtherRecord(new.version)


# -- the time, patience and the process --------------------------------------------------------------------

Clock: TypeAlias = Callable[[], int]
"""Returns the time: microseconds since 1970 in UTC. Nothing is ordered by times (D15)."""

_END: Final = 253_402_300_800_000_000
"""The end of the year 9999 in microseconds: a larger number cannot be shown as a date, and is no time."""
_LONGEST_WAIT: Final = 24 * 86_400.0
"""The most seconds that a store waits: both databases count milliseconds in 31 bits."""


def now() -> int:
    """Return the time of this machine's clock, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def is_time(value: object) -> bool:
    """Tell whether a value is a time: whole microseconds from 1970 to the end of the year 9999."""
    return type(value) is int and 0 <= value < _END


def checked_clock(clock: Clock) -> Clock:
    """Return a clock that raises `BadSource` instead of returning a wrong time. Calls `clock` once."""
    return clock if isinstance(clock, Checked) else Checked("clock", clock, _time_problem)


def _time_problem(given: object) -> str | None:
    if is_time(given):
        return None
    return f"it gives whole microseconds since 1970, up to the year 9999, and gave {_in_words(given)}"


def checked_patience(patience: float) -> float:
    """Return seconds that both databases can wait, at most 24 days; raise `BadSource` for what is no number from 0 on."""
    given: object = patience
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise BadSource("patience", f"it is a number of seconds from 0 on, and this is {_in_words(given)}")
    return float(min(given, _LONGEST_WAIT))


def _in_words(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 128:  # Python spells no number of any length
        return f"a number of {value.bit_length()} bits"
    return repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"


_FORKS: Final = [0]
"""The number of forks from the process that loaded this module to this process."""


def _count() -> None:
    _FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)


@final
class Home:
    """The process in which something was opened: in a forked child its locks and connections do not work."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()
        self._forks = _FORKS[0]

    @property
    def is_here(self) -> bool:
        """Whether this is that process, and no later one with the same number. Cost: one system call."""
        return os.getpid() == self._process and _FORKS[0] == self._forks

    def require(self) -> None:
        """Raise `WrongProcess` in another process. Call it before taking a lock, which a thread of the parent may hold for ever."""
        if not self.is_here:
            raise WrongProcess(self._what, self._process, os.getpid())


# -- recording without folding ------------------------------------------------------------------------------
#
# For a process that lives as long as one step. In nearly every case the last records tell whether a step may be recorded,
# and that it is a new one: behind a step that was added there is none yet, and an operation says to which phase it leads.
# So no journal is folded and no snapshot is read, and the cost does not grow with the session.

_LOOKED_AT: Final = 32
"""The number of records that are read, at the end of a journal."""
_STAYING: Final = frozenset({"compress", "retext", "pass", "accept", "fold"})
"""Operations behind which a step may be recorded, and that do not move the step head."""
_CHANGING_NOTHING: Final = frozenset({"note", "instruct"})


def record_behind(
    store: JournalStore,
    name: str,
    command: Grow | Instruct,
    meta: Mapping[str, object],
    *,
    salts: Salts = random_salt,
) -> Head | None:
    """Record a step or an instruction at the end of a journal; after a conflict, again behind the new head.

    Args:
        store: the store.
        name: the name of the journal.
        command: the command; a blank instruction is not recorded.
        meta: the meta of the record, with the time (`at`).
        salts: gives the salt of each text.

    Returns:
        The new head. None where the last records do not tell whether the command may be recorded: then nothing is written,
        and a session on the journal must be used. Cost: O(length of the texts).

    Raises:
        UnknownJournal: no journal has this name.
        BadMeta: `meta` is no JSON object.
    """
    while True:
        head = store.head(name)
        if isinstance(command, Instruct) and is_blank(command.text):
            return head
        last = list(store.read(name, max(0, head.version - _LOOKED_AT), head.version))
        if not last or last[-1].head != head or not _admit_a_step(last):
            return None
        record = seal(head, draft(None, command, meta), salts)
        try:
            return store.append(name, head, [record])
        except Conflict:
            continue


def _admit_a_step(last: Sequence[Record]) -> bool:
    """Tell whether the last records of a journal show that a step may follow, and that it is a new one."""
    may_follow = False
    for record in reversed(last):
        operation, _ = operation_of(record)
        if operation in ("grow", "start"):
            return True
        if operation in _STAYING:
            may_follow = True
        elif operation not in _CHANGING_NOTHING and not (operation == "fail" and may_follow):
            return False
    return False
