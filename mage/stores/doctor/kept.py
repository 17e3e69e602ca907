"""The content of a store before anything of it is believed, and the chain of a damaged journal.

A record's digest follows from the digest before it and from its content; its column says it once more. So where a
column alone was damaged, the record behind it, or the head, proves the content all the same: its own digest was made
from the one that follows from that content. And where a content was damaged, the records behind it are still chained
to the digest in its column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, Protocol, TypeAlias, final

import attrs

from mage.codec.strict_json import DecodeError, Problem
from mage.stores.records import Head, Record, chained, read_parts

# -- values of any kind --------------------------------------------------------------------------------


@final
@attrs.frozen
class Finding:
    """A fault: something in a store that is not as it was written.

    Attributes:
        journal: the name of the journal; None for a fault of the store itself.
        version: the record, or the place where one is missing; None for a fault of the journal itself.
        fault: the kind of fault, in a word or two, such as `"missing record"`.
        reason: the fault in a sentence.
    """

    journal: str | None
    version: int | None
    fault: str
    reason: str

    def __str__(self) -> str:
        place = "the store" if self.journal is None else f"session {self.journal!r}"
        place += "" if self.version is None else f", record {self.version}"
        return f"{place}: {self.fault}: {self.reason}"


@final
@attrs.frozen
class KeptJournal:
    """The row of a journal. `JournalInfo` says what its values should be; the digest is in bytes."""

    id: object
    name: object
    parent: object
    forked_at: object
    head: object
    digest: object
    payload: object
    grows: object
    created: object
    changed: object


@final
@attrs.frozen
class KeptSnapshot:
    """The row of a snapshot, which belongs to the journal with this id."""

    journal: object
    version: object
    data: object
    digest: object


Row: TypeAlias = tuple[object, object, object, object]
"""Version, body, parts and digest of a record."""


@final
@attrs.frozen
class Stray:
    """Records of a journal that the store does not have."""

    journal: object
    count: int


class Kept(Protocol):
    """The content of a store, and the faults of the file or database around it."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The faults of the file or the database itself that have shown so far."""
        ...

    @property
    def journals(self) -> Sequence[KeptJournal]:
        """The rows of journals, in the order in which they were made."""
        ...

    def rows(self, journal: object) -> Iterator[Row]:
        """Yield the rows of records of the journal with this id, in order of versions."""
        ...

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """Yield the rows of snapshots of the journal with this id."""
        ...

    def strays(self) -> Sequence[Stray]:
        """Return the records that belong to no journal."""
        ...


# -- the chain of one journal ----------------------------------------------------------------------------


@final
@attrs.frozen
class Lost:
    """A record whose content cannot be read, and the reason."""

    version: int
    row: Row
    reason: str


def content_of(row: Row) -> Record | str:
    """Return the record of a row with the digest in its column, or why it cannot be read. Cost: O(length of its texts)."""
    version, body, parts, _ = row
    if isinstance(body, DecodeError):  # the bundle puts it there for a line that cannot be read
        return str(body)
    if type(version) is not int or not isinstance(body, str) or not isinstance(parts, bytes):
        return "a column holds something of another kind"
    read = read_parts(parts)
    if isinstance(read, Problem):
        return f"its texts cannot be read: {read.as_error()}"
    return Record(version, body, read, digest_in(row) or "")


def _behind(digest: str, content: Record) -> str:
    """Return the digest that follows from a content behind a digest. Cost: O(length of its texts)."""
    return chained(digest, content.version, content.body, content.parts)


def digest_in(row: Row) -> str | None:
    """Return the digest in its column, in hex; None where the column holds none."""
    return row[3].hex() if isinstance(row[3], bytes) and len(row[3]) == 32 else None


def chosen(rows: Sequence[Row], before: Iterable[str | None]) -> Row:
    """Return the row, among several of one version, that is chained to a digest before it; else one that can be read."""
    if len(rows) == 1:
        return rows[0]
    contents = [(row, content) for row in rows if isinstance(content := content_of(row), Record)]
    for digest in before:
        for row, content in contents:
            if digest is not None and _behind(digest, content) == content.digest:
                return row
    return contents[0][0] if contents else rows[0]


class Judged(NamedTuple):
    """What a later record or the head says of contents that their columns did not fit: `proved` as written, or `broken`."""

    proved: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()


@final
class Chain:
    """The chain of one journal, which `follow` and `lose` take along its records. Cost of each: O(length of its texts).

    Attributes:
        head: the last record's head, as it follows from the contents; None where nothing before is known.
        said: the digest in the column of the last record.
        begins: the first version from which each record is chained to the one before, up to the last.
        pending: the versions whose column does not fit their content, and of which nothing is proved yet.
    """

    def __init__(self, head: Head | None, first: int) -> None:
        self.head = head
        self.said: str | None = None
        self.begins = first
        self.pending: list[int] = []

    @property
    def before(self) -> tuple[str | None, str | None]:
        """The digests that the next record can be chained to, the likelier first."""
        return (None if self.head is None else self.head.digest, self.said)

    def follow(self, content: Record) -> Judged:
        """Take the next record."""
        version, said = content.version, content.digest or None
        computed, column = self.before
        found, judged = said, Judged()
        if computed is None:  # nothing proves this content yet: the next record may
            self.begins = version + 1
        elif (found := _behind(computed, content)) == said:
            judged = Judged(proved=self._settled())
        elif column not in (None, computed) and _behind(str(column), content) == said:
            judged, found = Judged(broken=self._settled()), said
            self.begins = version
        else:
            self.pending.append(version)
        self.head, self.said = None if found is None else Head(version, found), said
        return judged

    def lose(self, version: int, digest: str | None) -> Judged:
        """Take a version whose content is lost, and the digest in its column."""
        self.head, self.said = None if digest is None else Head(version, digest), digest
        self.begins = version + 1
        return Judged(broken=self._settled())

    def end(self, digest: str | None) -> Judged:
        """Take the digest of the last record that the journal's row has."""
        proved = self.head is not None and self.head.digest == digest
        return Judged(proved=self._settled()) if proved else Judged(broken=self._settled())

    def _settled(self) -> tuple[int, ...]:
        """Return the versions that were pending, and forget them."""
        settled = tuple(self.pending)
        self.pending.clear()
        return settled


def contents(kept: Kept, journal: object, before: Head | None, after: int) -> Iterator[Record | Lost]:
    """Yield the content of each version behind `after` of which there is a row, of a journal with this id.

    Its own records go on from the head `before`, None where it is not known. The digest of each is the one that follows
    from the contents: that of a proved content is the one that was written; "" where none follows.
    """
    chain = Chain(before, after + 1)
    last = after
    for version, rows in groupby(kept.rows(journal), key=itemgetter(0)):
        if type(version) is not int or version <= last:
            continue
        if version > last + 1:
            chain.lose(version - 1, None)
        last = version
        row = chosen(list(rows), chain.before)
        content = content_of(row)
        if isinstance(content, str):
            chain.lose(version, digest_in(row))
            yield Lost(version, row, content)
            continue
        chain.follow(content)
        yield attrs.evolve(content, digest="" if chain.head is None else chain.head.digest)
