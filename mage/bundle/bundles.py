"""Bundles: a session as one file, to be kept, sent and imported into any store.

JSON Lines: a header, then each journal with its own records, a parent before its forks, the exported session
last; then the digest of all bytes before it.

    {"format":"mage-bundle","version":1,"journals":1}
    {"journal":"monday","parent":null,"forked_at":0,"head":{"version":2,"digest":"5c0f..."}}
    {"record":1,"body":{"op":"start"},"parts":["<salt>","Buy a desk","<salt>","{}"],"digest":"9a1e..."}
    {"record":2,"body":{"op":"grow"},"parts":[...],"digest":"5c0f..."}
    {"end":"03be..."}

Records go with their salts and digests, and no name is in a record's digest: what is imported, under any name
and into any store, has the digests of what was exported. Reading is strict and total: any bytes give a
`Bundle` whose chain was verified, or a `DecodeError` that says where.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, cast, final

import attrs
from returns.result import Failure, Result, Success

from mage.codec.problems import DecodeError, Json, Problem
from mage.codec.shapes import DIGEST, TEXT, WHOLE, Array, Leaf, Nullable, Object, header, header_problem
from mage.codec.strict_json import read_json, write_json
from mage.stores.checks import as_name, as_session_name
from mage.stores.errors import BadName, DamagedRecord, NameTaken, StoreError, UnknownJournal
from mage.stores.folding import fold
from mage.stores.protocol import JournalInfo, JournalStore
from mage.stores.records import NOTHING, Head, Record, Redacted, read_parts, verify

__all__ = [
    "BUNDLE_FORMAT",
    "JOURNAL",
    "RECORD",
    "Bundle",
    "Bundled",
    "decode_bundle",
    "encode_bundle",
    "is_bundle",
    "pack",
    "unpack",
]

BUNDLE_FORMAT: Final = "mage-bundle"
_VERSION: Final = 1
_BODY: Final = Leaf(
    "an object without arrays, objects and fractions in it",
    lambda value: (
        isinstance(value, dict) and all(isinstance(each, str | int | None) for each in value.values())
    ),
)
_HEADER: Final = Object({**header(BUNDLE_FORMAT), "journals": WHOLE})
_HEAD: Final = Object({"version": WHOLE, "digest": DIGEST})
JOURNAL: Final = Object({"journal": TEXT, "parent": Nullable(TEXT), "forked_at": WHOLE, "head": _HEAD})
"""The line of a journal."""
RECORD: Final = Object({"record": WHOLE, "body": _BODY, "parts": Array(TEXT), "digest": DIGEST})
"""The line of a record."""
_END: Final = Object({"end": DIGEST})


@final
@attrs.frozen
class Bundled:
    """A journal of a bundle.

    Attributes:
        name: its name where it was exported.
        parent: the name of the journal of the bundle that it reads through; None where it is no fork.
        forked_at: the last version that it has from its parent; 0 where it is no fork.
        records: its own records, in order.
        head: where it ends.
    """

    name: str
    parent: str | None
    forked_at: int
    records: tuple[Record, ...]
    head: Head


@final
@attrs.frozen
class Bundle:
    """A session that was exported, and the journals that it reads through, where they were exported too.

    Attributes:
        journals: a parent before its forks, the session last.
    """

    journals: tuple[Bundled, ...]

    @property
    def session(self) -> Bundled:
        """The journal that the bundle was made of."""
        return self.journals[-1]

    @property
    def flat(self) -> Bundle:
        """The same session as one journal that is no fork. Cost: O(records)."""
        records: list[Record] = []
        for journal in self.lineage:
            records = [*records[: journal.forked_at], *journal.records]
        session = self.session
        return Bundle((Bundled(session.name, None, 0, tuple(records), session.head),))

    @property
    def lineage(self) -> tuple[Bundled, ...]:
        """The session and what it reads through, oldest first. Cost: O(journals)."""
        named = {journal.name: journal for journal in self.journals}
        line = [self.session]
        while line[-1].parent is not None:
            line.append(named[line[-1].parent])
        return tuple(reversed(line))


def pack(store: JournalStore, name: str, *, lineage: bool = False) -> Bundle:
    """Return a session as a bundle, after every record of it was verified and carried out.

    Args:
        store: where it lives.
        name: the session.
        lineage: whether the journals that it reads through go with it, each as a journal; else it is one
            journal that holds all it reads.

    Raises:
        UnknownJournal: there is no such session.
        DamagedRecord: one of its records is not sound.
    """
    head = store.head(name)
    records = tuple(verify(NOTHING, store.read(name, upto=head.version), head))
    fold(records)
    if not lineage:
        return Bundle((Bundled(name, None, 0, records, head),))
    known = {journal.name: journal for journal in store.journals()}
    names = _ancestors(known, name)
    return Bundle(tuple([_packed(store, known[each]) for each in names]))


def _ancestors(known: Mapping[str, JournalInfo], name: str) -> list[str]:
    """Return the names of a session and of what it reads through, oldest first."""
    names: list[str] = []
    following: str | None = name
    while following is not None:
        if following not in known or following in names:
            raise UnknownJournal(following)
        names.append(following)
        following = known[following].parent
    names.reverse()
    return names


def _packed(store: JournalStore, journal: JournalInfo) -> Bundled:
    head = journal.head
    before = NOTHING
    if journal.forked_at:
        before = next(store.read(journal.name, journal.forked_at - 1, journal.forked_at)).head
    own = store.read(journal.name, after=journal.forked_at, upto=head.version)
    return Bundled(
        journal.name, journal.parent, journal.forked_at, tuple(verify(before, own, head)), journal.head
    )


def unpack(bundle: Bundle, store: JournalStore, name: str) -> Head:
    """Make the session of a bundle in a store, as `name`; the journals that it reads through keep theirs.

    Where such a journal is there already, with the same records up to the fork, the session is made a fork
    of that. Where something fails, what was made is deleted again, but for what others have written on.

    Returns:
        The session's head: that of the bundle.

    Raises:
        BadName: no session can have this name.
        NameTaken: there is a journal of this name, or another one with the name of one that it reads through.
        DamagedRecord: a record cannot be carried out after those before it; none is written.
    """
    name = as_session_name(name)
    fold(bundle.flat.session.records)
    made: dict[str, Head] = {}
    done = False
    try:
        for journal in bundle.journals:
            own = name if journal is bundle.session else journal.name
            if journal is bundle.session or not _is_there(store, bundle, journal):
                _make(store, journal, own, made)
        done = True
    finally:
        for each, head in () if done else reversed(made.items()):
            with suppress(StoreError):
                store.delete(each, expected=head)
    return bundle.session.head


def _is_there(store: JournalStore, bundle: Bundle, journal: Bundled) -> bool:
    """Tell whether a store has a journal already, with all that its forks in the bundle read through it."""
    needed = max(each.forked_at for each in bundle.journals if each.parent == journal.name)
    try:
        found = store.head(journal.name)
    except UnknownJournal:
        return False
    flat = Bundle((*bundle.journals[: bundle.journals.index(journal)], journal)).flat.session.records
    if (
        found.version < needed
        or next(store.read(journal.name, needed - 1, needed)).head != flat[needed - 1].head
    ):
        raise NameTaken(journal.name)
    return True


def _make(store: JournalStore, journal: Bundled, name: str, made: dict[str, Head]) -> None:
    if journal.parent is None:
        made[name] = store.create(name, journal.records)
        return
    made[name] = head = store.fork(journal.parent, name, journal.forked_at)
    if journal.records:
        made[name] = store.append(name, head, journal.records)


def encode_bundle(bundle: Bundle) -> Iterator[bytes]:
    """Yield the lines of a bundle, each with its newline. Cost: O(size), lazily."""
    digest = hashlib.sha256()
    for line in _lines(bundle):
        digest.update(line)
        yield line
    yield write_json({"end": digest.hexdigest()}) + b"\n"


def _lines(bundle: Bundle) -> Iterator[bytes]:
    yield _line({"format": BUNDLE_FORMAT, "version": _VERSION, "journals": len(bundle.journals)})
    for journal in bundle.journals:
        head = {"version": journal.head.version, "digest": journal.head.digest}
        yield _line(
            {
                "journal": journal.name,
                "parent": journal.parent,
                "forked_at": journal.forked_at,
                "head": head,
            }
        )
        for record in journal.records:
            parts = [
                text
                for part in record.parts
                for text in (("", part.digest) if isinstance(part, Redacted) else (part.salt, part.text))
            ]
            body = read_json(record.body.encode())
            yield _line({"record": record.version, "body": body, "parts": parts, "digest": record.digest})


def _line(document: object) -> bytes:
    return write_json(document) + b"\n"


def is_bundle(data: bytes) -> bool:
    """Tell whether bytes begin as a bundle does, whatever comes behind. Cost: O(length of the first line)."""
    document = read_json(data[: data.find(b"\n") + 1 or len(data)])
    return isinstance(document, dict) and document.get("format") == BUNDLE_FORMAT


def decode_bundle(data: bytes) -> Result[Bundle, DecodeError]:
    """Return the bundle that bytes say, its chain verified, or the first line that is wrong, and why.

    Any bytes. That the engine takes the commands is not asked here; `unpack` does. Cost: O(size).
    """
    reader = _Reader(data)
    try:
        return Success(reader.bundle())
    except _Wrong as wrong:
        return Failure(wrong.problem.at_line(reader.line, 0))


@final
class _Wrong(Exception):
    """The line that was read last is not what it should be."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


def _wrong(words: str) -> _Wrong:
    return _Wrong(Problem("", words))


@final
class _Reader:
    """Reads a bundle line by line, and knows where it is."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._start = 0
        self.line = 0

    def bundle(self) -> Bundle:
        first = self._document()
        problem = header_problem(first, BUNDLE_FORMAT) or _HEADER.problem(first)
        if problem is not None:
            raise _Wrong(problem)
        count = cast("int", cast("dict[str, Json]", first)["journals"])
        if count == 0:
            raise _wrong("a bundle has at least one journal")
        heads: dict[str, dict[int, Head]] = {}
        journals = tuple([self._journal(heads) for _ in range(count)])
        before = self._start
        end = self._shaped(_END)["end"]
        if end != hashlib.sha256(self._data[:before]).hexdigest():
            raise _wrong("some byte before this line is not the one that was written")
        if self._start != len(self._data):
            raise _wrong("something follows the end")
        bundle = Bundle(journals)
        if len(bundle.lineage) != count:
            raise _wrong("a journal stands above that the session does not read through")
        return bundle

    def _journal(self, known: dict[str, dict[int, Head]]) -> Bundled:
        """Read a journal; `known` has the heads at each version of those before, and then of this one."""
        document = self._shaped(JOURNAL)
        name, parent = cast("str", document["journal"]), cast("str | None", document["parent"])
        forked_at = cast("int", document["forked_at"])
        said = cast("dict[str, Json]", document["head"])
        head = Head(cast("int", said["version"]), cast("str", said["digest"]))
        try:
            as_name(name)
        except BadName as bad:
            raise _wrong(str(bad)) from bad
        if name in known:
            raise _wrong("a journal of this name stands above")
        before = self._fork_point(known, parent, forked_at)
        if head.version < max(1, forked_at):
            raise _wrong("its head is before its beginning")
        records: list[Record] = []
        try:
            records.extend(verify(before, self._records(head.version - forked_at), head))
        except DamagedRecord as damaged:
            raise _wrong(str(damaged)) from damaged
        shared = {} if parent is None else known[parent]
        own = {record.version: record.head for record in records}
        known[name] = {**{version: at for version, at in shared.items() if version <= forked_at}, **own}
        return Bundled(name, parent, forked_at, tuple(records), head)

    def _fork_point(self, known: dict[str, dict[int, Head]], parent: str | None, forked_at: int) -> Head:
        if parent is None:
            if forked_at:
                raise _wrong("it is a fork of nothing")
            return NOTHING
        if parent not in known:
            raise _wrong("the journal that it is a fork of does not stand above")
        if forked_at not in known[parent]:
            raise _wrong("the journal that it is a fork of has no such version")
        return known[parent][forked_at]

    def _records(self, count: int) -> Iterator[Record]:
        for _ in range(count):
            document = self._shaped(RECORD)
            parts = read_parts(write_json(document["parts"]))
            if isinstance(parts, Problem):
                raise _Wrong(parts.below(".parts"))
            body = write_json(document["body"]).decode()
            version, digest = cast("int", document["record"]), cast("str", document["digest"])
            yield Record(version, body, parts, digest)

    def _shaped(self, shape: Object) -> dict[str, Json]:
        document = self._document()
        problem = shape.problem(document)
        if problem is not None:
            raise _Wrong(problem)
        return cast("dict[str, Json]", document)

    def _document(self) -> Json:
        self.line += 1
        end = self._data.find(b"\n", self._start)
        if end == -1:
            rest = len(self._data) - self._start
            raise _wrong("the line is cut: no newline ends it" if rest else "the bundle ends too early")
        line = self._data[self._start : end]
        self._start = end + 1
        document = read_json(line)
        if isinstance(document, Problem):
            raise _Wrong(document)
        return document
