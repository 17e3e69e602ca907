"""What a store keeps, as it is found, before anything of it is believed; and the chain of a journal that may be damaged.

A record's digest follows from the digest before it and from its content; its column says it once more. So of a
record whose column alone was damaged, the record behind it, or the head, proves the content all the same: it was
made from the digest that follows from that content. And where a content was damaged, what stands behind it is
still chained to what its column says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Protocol, TypeAlias, final

import attrs

from mage.codec.problems import DecodeError, Problem
from mage.stores.records import Head, Part, Record, chained, read_parts

# -- values of any kind --------------------------------------------------------------------------------


@final
@attrs.frozen
class Finding:
    """Something in a store that is not as it was written.

    Attributes:
        journal: the name of the journal; None where it is the store itself.
        version: the record, or where it should be; None where it is the journal itself.
        fault: which kind of fault, in a word or two, such as `"missing record"`.
        reason: what was found.
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
    """The row of a journal; see `JournalInfo` for what the values should be. Digest is in bytes."""

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
    """Records that belong to a journal which is not there."""

    journal: object
    count: int


class Kept(Protocol):
    """What a store keeps, and what is wrong with what keeps it."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What is wrong with the file or the database itself, as far as that was seen by now."""
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
        """Return which records belong to no journal."""
        ...


# -- the chain -----------------------------------------------------------------------------------------


@final
@attrs.frozen
class Content:
    """What a row says of a record.

    Attributes:
        version: its place.
        body: as in `Record`.
        parts: as in `Record`.
        digest: what its column says, in hex; None where that is no digest.
    """

    version: int
    body: str
    parts: tuple[Part, ...]
    digest: str | None

    def behind(self, digest: str) -> str:
        """Return the digest that follows from this content behind a digest. Cost: O(length of its texts)."""
        return chained(digest, self.version, self.body, self.parts)

    def as_record(self, digest: str) -> Record:
        """Return the record of this content and a digest."""
        return Record(self.version, self.body, self.parts, digest)


def content_of(row: Row) -> Content | str:
    """Return what a row says, or why its content cannot be read. Cost: O(length of its texts)."""
    version, body, parts, _ = row
    if isinstance(body, DecodeError):  # in its place, where a line could not be read
        return str(body)
    if type(version) is not int or not isinstance(body, str) or not isinstance(parts, bytes):
        return "a column holds something of another kind"
    read = read_parts(parts)
    if isinstance(read, Problem):
        return f"its texts cannot be read: {read.as_error()}"
    return Content(version, body, read, digest_in(row))


def digest_in(row: Row) -> str | None:
    """Return what the column of the digest says, None where that is no digest."""
    return row[3].hex() if isinstance(row[3], bytes) and len(row[3]) == 32 else None


def chosen(rows: Iterable[Row], before: Iterable[str | None]) -> Row:
    """Return which of several rows of one version is the record: the first that is chained to a digest before it.

    Where none is, the first that can be read; else the first.
    """
    several = list(rows)
    if len(several) == 1:
        return several[0]
    contents = [(row, content) for row in several if isinstance(content := content_of(row), Content)]
    for digest in before:
        for row, content in contents:
            if digest is not None and content.behind(digest) == content.digest:
                return row
    return contents[0][0] if contents else several[0]


@final
@attrs.frozen
class Judged:
    """What a record, or the end, tells of records before it whose column did not fit their content.

    Attributes:
        proved: those whose content is proved: their columns alone were damaged.
        broken: those of which that is not proved.
    """

    proved: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()


@final
class Chain:
    """Goes along the records of one journal.

    Attributes:
        head: the last record's head, as it follows from the contents; None where nothing before is known.
        said: what the column of the last record says.
        begins: the first version from which each record is chained to the one before, up to the last.
        pending: the versions whose column does not fit their content, and of which nothing was told yet.

    Cost: O(length of its texts) for each record.
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

    def follow(self, content: Content) -> Judged:
        """Take the next record."""
        version, said = content.version, content.digest
        computed, column = self.before
        found = said if computed is None else content.behind(computed)
        if computed is None:  # nothing tells whether this is what was written: the next may
            judged = Judged()
            self.begins = version + 1
        elif found == said:
            judged = Judged(proved=self._settled())
        elif column not in (None, computed) and content.behind(str(column)) == said:
            judged, found = Judged(broken=self._settled()), said
            self.begins = version
        else:
            judged = Judged()
            self.pending.append(version)
        self.head, self.said = None if found is None else Head(version, found), said
        return judged

    def lose(self, version: int, digest: str | None) -> Judged:
        """Take a version whose content is lost, and what its column says."""
        self.head, self.said = None if digest is None else Head(version, digest), digest
        self.begins = version + 1
        return Judged(broken=self._settled())

    def end(self, digest: str | None) -> Judged:
        """Take what the journal says of its last record's digest."""
        proved = self.head is not None and self.head.digest == digest
        return Judged(proved=self._settled()) if proved else Judged(broken=self._settled())

    def _settled(self) -> tuple[int, ...]:
        """Return what was pending, of which it is now known what it is."""
        settled = tuple(self.pending)
        self.pending.clear()
        return settled


@final
@attrs.frozen
class Lost:
    """A record whose content cannot be read.

    Attributes:
        version: its place.
        row: what is there.
        reason: why.
    """

    version: int
    row: Row
    reason: str


def contents(kept: Kept, journal: object, before: Head | None, after: int) -> Iterator[Content | Lost]:
    """Yield what the own records of a journal say, each with the digest that follows from them.

    Args:
        kept: what the store keeps.
        journal: the id of the journal.
        before: the head that its own records go on from; None where that is not known.
        after: the version of that.

    Yields:
        One for each version that is there. Where the content is proved, its digest is the one that was written.
    """
    chain = Chain(before, after + 1)
    last = after
    for version, rows in groupby(kept.rows(journal), key=itemgetter(0)):
        if type(version) is not int or version <= last:
            continue
        if version > last + 1:
            chain.lose(version - 1, None)
        last = version
        row = chosen(rows, chain.before)
        content = content_of(row)
        if isinstance(content, str):
            chain.lose(version, digest_in(row))
            yield Lost(version, row, content)
            continue
        chain.follow(content)
        yield attrs.evolve(content, digest=None if chain.head is None else chain.head.digest)
