"""What a store of journals promises. Anyone's store that keeps it can stand in (`mage.testing.stores` asks).

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
from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self, final

import attrs

from mage.stores.records import Head, Record


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
        changed: when something was last appended to it.
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
    """A cache of what the records up to a version lead to. Losing one loses nothing.

    Attributes:
        version: the version.
        data: whatever its maker needs.
        digest: `snapshot_digest` of the head at that version and of `data`: a reader checks it.
    """

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
    are refused with `BadName`.
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
            UnknownJournal: there is no `source`.
            UnknownVersion: it has no version `at`.
            NameTaken: there is a journal `name` already.
        """
        ...

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        """Write records behind the head `expected`, all or none, and return the new head. Cost: O(n).

        Raises:
            Conflict: the head is another one, by version or digest. None at all is written.
            UnknownJournal: there is no such journal.
            DamagedRecord: the records do not follow `expected`.
        """
        ...

    def head(self, name: str) -> Head:
        """Return where a journal ends. Cost: O(1).

        Raises:
            UnknownJournal: there is no such journal.
        """
        ...

    def read(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """Yield the records after version `after`, up to `upto` (None: the head as it is now), in order.

        They come through the lineage, lazily; what is appended meanwhile is not seen. They are as they are
        kept: `verify` says whether they are sound. Cost: O(n + depth of forks).

        Raises:
            UnknownJournal: there is no such journal, or it was deleted meanwhile.
            UnknownVersion: it has no version `upto`, or `after` is negative or beyond its end.
            DamagedRecord: one cannot be read, or is not there.
        """
        ...

    def journals(self) -> tuple[JournalInfo, ...]:
        """Return what is known of each journal, in order of names. Cost: O(number of journals).

        Raises:
            DamagedJournals: of some it cannot be told; it has what is known of the others.
        """
        ...

    def delete(self, name: str, *, expected: Head | None = None) -> None:
        """Delete a journal with its own records and snapshots. Cost: O(its own records).

        Args:
            name: the journal.
            expected: where it ended when it was decided that nobody needs it; None: wherever it ends.

        Raises:
            UnknownJournal: there is no such journal.
            Conflict: its head is not `expected`: somebody has written meanwhile. Nothing is deleted.
            HasForks: forks read through it, and which.
        """
        ...

    def rename(self, name: str, new: str) -> None:
        """Give a journal, with its records and snapshots, another name. Cost: O(1).

        Raises:
            UnknownJournal: there is no such journal.
            NameTaken: there is a journal `new` already, `name` itself too.
            HasForks: forks read through it, and which.
        """
        ...

    def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        """Put records in the place of themselves with texts redacted, in whichever journal each lies.

        So every fork that reads them is redacted too; all snapshots that saw one of them are dropped. What
        was taken out is overwritten where the medium allows; `reclaim` does the rest. Cost: O(n + journals).

        Raises:
            UnknownJournal: there is no such journal.
            UnknownVersion: it has no record of that version.
            OtherRecord: one is not that record with texts redacted. None at all is replaced.
        """
        ...

    def redactions(self, name: str) -> int:
        """Return how often texts were taken out of what this journal reads. Cost: O(1).

        Whoever reads a journal to make snapshots of it asks first, and gives the number with each snapshot.

        Raises:
            UnknownJournal: there is no such journal.
        """
        ...

    def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        """Keep a snapshot of a version, in place of an earlier one of it. Cost: O(length of data).

        Args:
            name: the journal.
            version: what it is a snapshot of.
            data: the snapshot.
            digest: `snapshot_digest` of the head at that version and of `data`.
            redactions: what `redactions` said before the journal was read. A process that still has texts in
                memory would otherwise write down again what was taken out meanwhile; None: it cannot have.

        Raises:
            UnknownJournal, UnknownVersion: there is no such journal or version.
            OutdatedTexts: texts were taken out since. Nothing is kept.
        """
        ...

    def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot at or before `upto` (None: the head), also one of an ancestor's.

        None where there is none. Cost: O(its length + depth of forks).

        Raises:
            UnknownJournal: there is no such journal.
        """
        ...

    def drop_snapshots(self, name: str) -> None:
        """Forget the snapshots of a journal's own versions.

        Raises:
            UnknownJournal: there is no such journal.
        """
        ...

    def reclaim(self) -> None:
        """Give back the room of what was deleted, and overwrite what was redacted. Cost: O(size)."""
        ...

    def close(self) -> None:
        """Let go of everything; using the store again is an error. Closing twice is none."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None: ...


class AsyncJournalStore(Protocol):
    """A `JournalStore` whose methods are awaited: the same names, promises and errors.

    An operation whose await is cancelled is over, done or not done, when the cancellation arrives.
    """

    async def create(self, name: str, records: Iterable[Record]) -> Head:
        """See `JournalStore.create`."""
        ...

    async def fork(self, source: str, name: str, at: int) -> Head:
        """See `JournalStore.fork`."""
        ...

    async def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        """See `JournalStore.append`."""
        ...

    async def head(self, name: str) -> Head:
        """See `JournalStore.head`."""
        ...

    def read(self, name: str, after: int = 0, upto: int | None = None) -> AsyncIterator[Record]:
        """See `JournalStore.read`."""
        ...

    async def journals(self) -> tuple[JournalInfo, ...]:
        """See `JournalStore.journals`."""
        ...

    async def delete(self, name: str, *, expected: Head | None = None) -> None:
        """See `JournalStore.delete`."""
        ...

    async def rename(self, name: str, new: str) -> None:
        """See `JournalStore.rename`."""
        ...

    async def replace_parts(self, name: str, records: Iterable[Record]) -> None:
        """See `JournalStore.replace_parts`."""
        ...

    async def redactions(self, name: str) -> int:
        """See `JournalStore.redactions`."""
        ...

    async def keep_snapshot(
        self, name: str, version: int, data: bytes, digest: str, *, redactions: int | None = None
    ) -> None:
        """See `JournalStore.keep_snapshot`."""
        ...

    async def snapshot(self, name: str, upto: int | None = None) -> Snapshot | None:
        """See `JournalStore.snapshot`."""
        ...

    async def drop_snapshots(self, name: str) -> None:
        """See `JournalStore.drop_snapshots`."""
        ...

    async def reclaim(self) -> None:
        """See `JournalStore.reclaim`."""
        ...

    async def close(self) -> None:
        """See `JournalStore.close`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None: ...
