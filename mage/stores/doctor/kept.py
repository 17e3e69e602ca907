r"""The content of a store before anything of it is believed, the chain of a damaged journal, and the repaired copy.

A record's digest follows from the digest before it and from its content; its column says it once more. So of a
record whose column alone was damaged, the record behind it, or the head, proves the content all the same: its own
digest was made from the one that follows from that content. And where a content was damaged, the records behind it
are still chained to the digest in its column.

A repair writes the sound part of a store into another store. No session can hold the records behind a damage, nor the
states that a snapshot carries across it: `rest_of` yields one JSON object for each such record, and one for each
journal whose state is known behind the damage:

    {"session":"main","record":13,"proved":true,"digest":"9a1e...","body":"{\"op\":\"grow\"}","parts":[...]}
    {"session":"main","record":12,"proved":false,"reason":"its texts cannot be read: ...","body":"...","parts_hex":"..."}
    {"session":"main","version":66,"from_snapshot":51,"tree":{"format":"mage-tree",...}}

A record is proved where the chain leads from it to the session's head without a gap: its content is the one that was
written. The others are merely there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Final, Protocol, TypeAlias, final

import attrs

from mage.codec import encode_tree
from mage.codec.problems import DecodeError, Problem
from mage.codec.strict_json import write_json
from mage.engine import Start, State
from mage.stores.folding import draft
from mage.stores.protocol import JournalStore
from mage.stores.records import (
    NOTHING,
    Head,
    Part,
    Record,
    chained,
    random_salt,
    read_parts,
    seal,
    write_parts,
)

UNFINISHED: Final = "mage doctor: unfinished repair"
"""The name of the journal that stands in a database while a repair is written into it."""
_AT_ONCE: Final = 1000

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


@final
@attrs.frozen
class Carried:
    """The states behind a damage, which a sound snapshot carries across it.

    Attributes:
        since: the version of the snapshot.
        upto: the last version whose command could be carried out behind the snapshot.
        state: the state of that version.
    """

    since: int
    upto: int
    state: State


@final
@attrs.frozen
class Sound:
    """The sound part of a journal: its records up to a version, read through the lineage.

    Attributes:
        id: the id of its row.
        name: its name, or a stand-in where its own cannot be used.
        parent: the name of the journal that it reads through; None for no fork.
        forked_at: the last version that it has from its parent, as far as the parent is sound.
        upto: the last version up to which everything is sound; 0 where nothing is.
        ends: the last version that its row or a record names.
        proved_from: behind a damage, the first version from which the chain leads to the head without a gap: these
            contents are as they were written, though no journal can hold them without those before. None for none.
        carried: the states behind a damage that a snapshot of such a version has; None for none.
        first: the version that its own records go on from, as its row says it.
    """

    id: object
    name: str
    parent: str | None
    forked_at: int
    upto: int
    ends: int
    proved_from: int | None = None
    carried: Carried | None = None
    first: int = 0

    def __str__(self) -> str:
        said = [f"records 1 to {self.upto} are sound" if self.upto else "no record is sound from the start"]
        if self.proved_from is not None:
            said.append(
                f"{self.proved_from} to {self.ends} stand behind the damage and are proved: the chain leads from them"
                " to the head"
            )
        else:
            said.append("what is there of the others is not proved")
        if self.carried is not None:
            since, upto = self.carried.since, self.carried.upto
            said.append(
                f"the states of versions {since} to {upto} are proved by the snapshot of version {since}"
            )
        return f"session {self.name!r}: {'; '.join(said)}"

    @property
    def is_whole(self) -> bool:
        """Whether every record up to `ends` is sound."""
        return self.upto >= self.ends


@final
@attrs.frozen
class Examined:
    """The result of an examination.

    Attributes:
        findings: each fault; none where all is as it was written.
        sound: the sound part of each journal, a parent before its forks.
    """

    findings: tuple[Finding, ...]
    sound: tuple[Sound, ...]


# -- the chain -----------------------------------------------------------------------------------------


@final
@attrs.frozen
class Content:
    """The content of a record's row.

    Attributes:
        version: its place.
        body: as in `Record`.
        parts: as in `Record`.
        digest: the digest in its column, in hex; None where the column holds none.
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
    """Return the content of a row, or why it cannot be read. Cost: O(length of its texts)."""
    version, body, parts, _ = row
    if isinstance(body, DecodeError):  # the bundle puts it there for a line that cannot be read
        return str(body)
    if type(version) is not int or not isinstance(body, str) or not isinstance(parts, bytes):
        return "a column holds something of another kind"
    read = read_parts(parts)
    if isinstance(read, Problem):
        return f"its texts cannot be read: {read.as_error()}"
    return Content(version, body, read, digest_in(row))


def digest_in(row: Row) -> str | None:
    """Return the digest in its column, None where the column holds none."""
    return row[3].hex() if isinstance(row[3], bytes) and len(row[3]) == 32 else None


def chosen(rows: Iterable[Row], before: Iterable[str | None]) -> Row:
    """Return the row among several of one version that is the record: the first that is chained to a digest before it.

    Where none is chained, it is the first that can be read; else the first.
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
    """What a record, or the head, proves of records before it whose column did not fit their content.

    Attributes:
        proved: the versions whose content is proved: their columns alone were damaged.
        broken: the versions whose content is not proved.
    """

    proved: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()


@final
class Chain:
    """The chain of one journal, which `follow` and `lose` take along its records.

    Attributes:
        head: the last record's head, as it follows from the contents; None where nothing before is known.
        said: the digest in the column of the last record.
        begins: the first version from which each record is chained to the one before, up to the last.
        pending: the versions whose column does not fit their content, and of which nothing is proved yet.

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
        if computed is None:  # nothing proves this content yet: the next record may
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


@final
@attrs.frozen
class Lost:
    """A record whose content cannot be read.

    Attributes:
        version: its place.
        row: its row.
        reason: why it cannot be read.
    """

    version: int
    row: Row
    reason: str


def contents(kept: Kept, journal: object, before: Head | None, after: int) -> Iterator[Content | Lost]:
    """Yield the content of a journal's own records, each with the digest that follows from the contents.

    Args:
        kept: the content of the store.
        journal: the id of the journal.
        before: the head that its own records go on from; None where it is not known.
        after: the version of that head.

    Yields:
        One for each version of which there is a row. The digest of a proved content is the one that was written.
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


# -- the repaired copy ---------------------------------------------------------------------------------


@final
@attrs.frozen
class LeftOut:
    """Records that are not in the repaired copy.

    Attributes:
        journal: the name of their journal.
        first: the first version that is left out.
        last: the last one.
    """

    journal: str
    first: int
    last: int

    def __str__(self) -> str:
        which = f"record {self.first}" if self.first == self.last else f"records {self.first} to {self.last}"
        return f"session {self.journal!r}: {which} left out"


def repair(kept: Kept, examined: Examined, into: JournalStore) -> tuple[LeftOut, ...]:
    """Write the sound beginning of every journal into an empty store, and return the records that are left out.

    Until all is written the store has a journal called `UNFINISHED`, which an examination reports. Records behind
    a damage cannot be written, because a journal has no gap; `rest_of` yields them. Snapshots are not written: they
    are caches. Cost: O(size).

    Raises:
        NameTaken: another repair writes into this store, or a repair into it was cut short.
    """
    into.create(UNFINISHED, [seal(NOTHING, draft(None, Start(UNFINISHED), {}), random_salt)])
    left: list[LeftOut] = []
    for sound in examined.sound:
        if sound.name == UNFINISHED:  # left in the examined store by a repair into that one
            continue
        if sound.upto:
            _write(kept, sound, into)
        if not sound.is_whole:
            left.append(LeftOut(sound.name, sound.upto + 1, sound.ends))
    into.delete(UNFINISHED)
    return tuple(left)


def _write(kept: Kept, sound: Sound, into: JournalStore) -> None:
    if sound.parent is None:
        records = _records(kept, sound, NOTHING)
        head = into.create(sound.name, list(islice(records, _AT_ONCE)))
    else:
        head = into.fork(sound.parent, sound.name, sound.forked_at)
        records = _records(kept, sound, head)
    while chunk := list(islice(records, _AT_ONCE)):
        head = into.append(sound.name, head, chunk)


def _records(kept: Kept, sound: Sound, before: Head) -> Iterator[Record]:
    """Yield the sound records that a journal has of its own, each with the digest that its content proves."""
    if sound.upto <= sound.forked_at:
        return
    for content in contents(kept, sound.id, before, sound.forked_at):
        if isinstance(content, Content) and content.digest is not None:
            yield content.as_record(content.digest)
        if content.version >= sound.upto:
            return


def rest_of(kept: Kept, examined: Examined) -> Iterator[bytes]:
    """Yield lines of JSON, each with its newline: the records of every journal behind its sound part.

    Cost: O(size), lazily; for a state O(size of its tree).
    """
    for sound in examined.sound:
        if not sound.is_whole:
            for found in contents(kept, sound.id, None if sound.forked_at else NOTHING, sound.first):
                if found.version > sound.upto:
                    yield write_json(_document(sound, found)) + b"\n"
            if sound.carried is not None:
                yield write_json(_state(sound)) + b"\n"


def _document(sound: Sound, found: Content | Lost) -> dict[str, object]:
    place = {"session": sound.name, "record": found.version}
    if isinstance(found, Lost):
        _, body, parts, _ = found.row
        return {
            **place,
            "proved": False,
            "reason": found.reason,
            "body": body if isinstance(body, str) else None,
            "parts_hex": parts.hex() if isinstance(parts, bytes) else None,
        }
    return {
        **place,
        "proved": sound.proved_from is not None and found.version >= sound.proved_from,
        "digest": found.digest,
        "body": found.body,
        "parts": json.loads(write_parts(found.parts)),
    }


def _state(sound: Sound) -> dict[str, object]:
    if sound.carried is None:
        return {}
    tree = json.loads(encode_tree(sound.carried.state))
    return {
        "session": sound.name,
        "version": sound.carried.upto,
        "from_snapshot": sound.carried.since,
        "tree": tree,
    }
