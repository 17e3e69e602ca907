"""What a store of journals promises, and the checks that every store makes before it writes.

Anyone's store that keeps the promises can stand in (`mage.testing.stores` tests them); with these checks its answers
are those of the other stores.

A *journal* has a name, and records 1 to n; its *head* is n and the digest of record n. A *fork* is a journal
that starts at a version of another: it copies nothing and reads through its parent, forks of forks through
the chain. Records are never changed or reordered, but for texts taken out by `replace_parts`.

- **Durable**: what an operation has returned from survives the end of the process and of the machine.
- **Whole**: an operation is done as a whole or not at all, also when it raises, is cancelled or is killed.
- **One line**: `append` writes only behind exactly the head that the writer names; else `Conflict`. Nothing
  is merged, reordered or overwritten. Records are verified against that head before they are written.
- **Shared**: threads, and where the store has a URL processes too, may use a store at once, and open it as
  often as they like. In a fork of the process that opened it, it is refused (`WrongProcess`).

Costs name `n` for the records that are written or read, and leave out their length.
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
    """What is known of a journal without reading it.

    Attributes:
        name: its name.
        head: where it ends.
        parent: the journal that it reads through, None for one that is no fork. Where a fork was made at a
            version that its source had from its own parent, that parent.
        forked_at: the last version that it has from its parent; 0 for one that is no fork.
        created: when it was made, in microseconds since 1970.
        changed: when records were last appended to it.
        payload: bytes of the texts of its own records, as they are kept.
        grows: how many of its own records add a step.
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
        """How many records are its own; the others are read from its parent."""
        return self.head.version - self.forked_at


@final
@attrs.frozen
class Snapshot:
    """A cache of what the records up to a version lead to, tied to them by `snapshot_digest`: losing one loses nothing."""

    version: int
    data: bytes
    digest: str


def snapshot_digest(head: Head, data: bytes) -> str:
    """Return the digest of a snapshot: it ties `data` to the very records that it was made from."""
    digest = hashlib.sha256(f"{head.version}\n{head.digest}\n".encode())
    digest.update(data)  # which can have tens of megabytes, and is not copied
    return digest.hexdigest()


class JournalStore(Protocol):
    """Where journals live. Every method may also raise `StoreUnavailable`, `StoreFull` or `DamagedStore`.

    A name is any text of 1 to 255 characters without NUL and lone surrogates, compared exactly; other names
    are refused with `BadName`. Where there is no journal of the name that a method reads or changes, it raises
    `UnknownJournal`.
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
            Conflict: the head is another one, by version or digest. None at all is written.
            DamagedRecord: the records do not follow `expected`.
        """
        ...

    def head(self, name: str) -> Head:
        """Return where a journal ends. Cost: O(1)."""
        ...

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """Yield the records after version `after`, up to `upto` (None: the head as it is now), in order.

        They come through the lineage, lazily; what is appended meanwhile is not seen. They are as they are
        kept: `verify` says whether they are sound. Cost: O(n + depth of forks).

        Raises:
            UnknownJournal: it is not there, or was deleted meanwhile.
            UnknownVersion: it has no version `upto`, or `after` is negative or beyond its end.
            DamagedRecord: one cannot be read, or is not there.
        """
        ...

    def journals(self) -> tuple[JournalInfo, ...]:
        """Return what is known of each journal, in order of names. Cost: O(number of journals).

        Raises:
            DamagedJournals: the rows of some make no sense; the error has what is known of the others.
        """
        ...

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        """Delete a journal with its own records and snapshots. Cost: O(its own records).

        `expected` is where it ended when the caller decided that it is not needed; None: wherever it ends.

        Raises:
            Conflict: its head is not `expected`: another writer has moved it. Nothing is deleted.
            HasForks: forks read through it, and which.
        """

    def rename(self, name: str, new: str) -> None:
        """Give a journal, with its records and snapshots, another name. Cost: O(1).

        Raises:
            NameTaken: there is a journal `new` already, `name` itself too.
            HasForks: forks read through it, and which.
        """

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        """Put records in the place of themselves with texts redacted, in whichever journal each lies.

        So every fork that reads them is redacted too; all snapshots that saw one of them are dropped. What
        was taken out is overwritten where the medium allows; `reclaim` does the rest. Cost: O(n + journals).

        Raises:
            UnknownVersion: it has no record of that version.
            OtherRecord: one is not that record with texts redacted. None at all is replaced.
        """

    def redactions(self, name: str) -> int:
        """Return how often texts were taken out of what this journal reads. Cost: O(1).

        Ask before you read a journal to make snapshots of it, and give the number with each snapshot.
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
            redactions: what `redactions` said before the journal was read. A process that still has texts in
                memory would otherwise write down again what was taken out meanwhile; None: it cannot have.

        Raises:
            UnknownVersion: it has no version `version`.
            OutdatedTexts: texts were taken out since. Nothing is kept.
        """

    def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot at or before `upto` (None: the head), also one of an ancestor's, or None.

        Cost: O(its length + depth of forks).
        """

    def drop_snapshots(self, name: str) -> None:
        """Forget the snapshots of a journal's own versions."""

    def reclaim(self) -> None:
        """Give back the room of what was deleted, and overwrite what was redacted. Cost: O(size)."""

    def close(self) -> None:
        """Let go of everything; using the store again is an error. Closing twice is none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class AsyncJournalStore(Protocol):
    """A `JournalStore` whose methods are awaited: the same names, promises and errors.

    An operation whose await is cancelled is over, done or not done, when the cancellation arrives.
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
    """Return the first of `NAME.parent`, `NAME.parent2`, ... that is not taken; a name that is too long for that is cut."""
    numbers = chain([""], map(str, count(2)))
    return next(
        free
        for ending in (f".parent{number}" for number in numbers)
        if (free := name[: LONGEST_NAME - len(ending)] + ending) not in taken
    )


def beginning(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records of a new journal, verified; raise `DamagedRecord` where one is not sound, or there is none."""
    checked = following(NOTHING, records)
    if not checked:
        raise DamagedRecord(1, "a journal has at least its start")
    return checked


def following(expected: Head, records: Iterable[Record]) -> tuple[Record, ...]:
    """Return records that are to follow `expected`, verified; raise `DamagedRecord` where one is not sound, or not chained.

    The digest of a record that `seal` made behind the one before it is known; the others are computed.
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
    """Return the record; raise `DamagedRecord` where it could not be read back as it is."""
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
    """Return the last version to be read of a journal with this head; raise `UnknownVersion` for another range."""
    last = head if upto is None else upto
    for version in (last, after):
        if not 0 <= version <= head:
            raise UnknownVersion(name, version, head)
    return last


def require_same(old: Record, new: Record) -> None:
    """Raise `OtherRecord` unless `new` is `old` with none or some of its texts redacted. Cost: O(length of its texts)."""
    is_same = (old.version, old.body, old.digest) == (new.version, new.body, new.digest)
    if not is_same or len(old.parts) != len(new.parts):
        raise OtherRecord(new.version)
    for before, after in zip(old.parts, new.parts, strict=True):
        if after != before and (isinstance(after, Plain) or after.digest != before.digest):
            raise OtherRecord(new.version)


# -- the time, patience and the process --------------------------------------------------------------------

Clock: TypeAlias = Callable[[], int]
"""Returns the time: microseconds since 1970 in UTC. Nothing is ordered by it (D15)."""

_END: Final = 253_402_300_800_000_000
"""The end of the year 9999 in microseconds: a later number cannot be shown as a date, and is no time."""
_LONGEST_WAIT: Final = 24 * 86_400.0
"""Seconds that a store waits at most: both databases count milliseconds, in 31 bits."""


def now() -> int:
    """Return the time of this machine's clock, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def is_time(value: object) -> bool:
    """Tell whether a value is a time: whole microseconds from 1970 to the end of the year 9999."""
    return type(value) is int and 0 <= value < _END


def checked_clock(clock: Clock) -> Clock:
    """Return a clock that raises `BadSource` instead of a wrong time. It asks `clock` once, here."""
    return clock if isinstance(clock, Checked) else Checked("clock", clock, _time_problem)


def _time_problem(given: object) -> str | None:
    if is_time(given):
        return None
    return f"it gives whole microseconds since 1970, up to the year 9999, and gave {_in_words(given)}"


def checked_patience(patience: float) -> float:
    """Return seconds that both databases can wait, at most 24 days; raise `BadSource` where they are no number."""
    given: object = patience
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise BadSource("patience", f"it is a number of seconds from 0 on, and this is {_in_words(given)}")
    return float(min(given, _LONGEST_WAIT))


def _in_words(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 128:  # Python spells no number of any length
        return f"a number of {value.bit_length()} bits"
    return repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"


_FORKS: Final = [0]
"""How many forks lead from the process that loaded this module to this one."""


def _count() -> None:
    _FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)


@final
class Home:
    """The process in which something was opened: a forked child has its locks and connections only in name."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()
        self._forks = _FORKS[0]

    @property
    def is_here(self) -> bool:
        """Whether this is that process, and no later one that got its number. Cost: one system call."""
        return os.getpid() == self._process and _FORKS[0] == self._forks

    def require(self) -> None:
        """Raise `WrongProcess` in another process, before a lock is taken that a thread of this one may hold for ever."""
        if not self.is_here:
            raise WrongProcess(self._what, self._process, os.getpid())


# -- recording without folding ------------------------------------------------------------------------------

_LOOKED_AT: Final = 32
"""Records at the end of a journal that are read."""
_STAYING: Final = frozenset({"compress", "retext", "pass", "accept", "fold"})
"""Operations behind which a step may be recorded, and that leave the step head where it is."""
_CHANGING_NOTHING: Final = frozenset({"note", "instruct"})


def record_behind(
    store: JournalStore,
    name: str,
    command: Grow | Instruct,
    meta: Mapping[str, object],
    *,
    salts: Salts = random_salt,
) -> Head | None:
    """Record what was done, or what was asked for, behind whatever is there; where others are faster, behind theirs.

    Args:
        store: the store.
        name: of the journal.
        command: what was done; a blank instruction is none, and is not recorded.
        meta: what goes with it, the time (`at`) too.
        salts: gives the salt of each text.

    Returns:
        The new head; None where the last records do not tell whether it may be recorded as it is: nothing is written
        then, and a session on the journal will say. Cost: O(1), and O(length of its texts).

    Raises:
        UnknownJournal: there is none of this name.
        BadMeta: `meta` is no JSON object.
    """
    while True:
        head = store.head(name)
        if isinstance(command, Instruct) and is_blank(command.text):
            return head
        last = list(store.read(name, max(0, head.version - _LOOKED_AT), head.version))
        if not last or last[-1].head != head or not _is_told(last):
            return None
        record = seal(head, draft(None, command, meta), salts)
        try:
            return store.append(name, head, [record])
        except Conflict:
            continue


def _is_told(last: Sequence[Record]) -> bool:
    """Tell whether the last records of a journal say that a step may follow, and that it is a new one."""
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
