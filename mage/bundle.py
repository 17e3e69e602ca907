"""Bundles: a session as one file, to be kept, sent and imported into any store; and what can be read of a damaged bundle.

A bundle is JSON Lines: a header, then each journal with its own records, a parent before its forks, the exported session
last; then the digest of all bytes before.

    {"format":"mage-bundle","version":1,"journals":1}
    {"journal":"monday","parent":null,"forked_at":0,"head":{"version":2,"digest":"5c0f..."}}
    {"record":1,"body":{"op":"start"},"parts":["<salt>","Buy a desk","<salt>","{}"],"digest":"9a1e..."}
    {"record":2,"body":{"op":"grow"},"parts":[...],"digest":"5c0f..."}
    {"end":"03be..."}

Records keep their salts and digests, and no name is in a record's digest: an imported session has, under any name and in any
store, the digests of the exported session. Reading is strict and total: any bytes give a `Bundle` with a verified chain, or a
`DecodeError` with the place. `KeptBundle` reads every whole line of a damaged file: each record has its version and digest, so
that the doctor can tell what the chain still proves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, cast, final  # `Any`: lines of JSON, each as its shape has found it

import attrs
from returns.result import Failure, Result, Success

from mage.codec.strict_json import (
    DIGEST,
    TEXT,
    WHOLE,
    Array,
    DecodeError,
    Json,
    Leaf,
    Nullable,
    Object,
    Problem,
    header,
    header_problem,
    read_json,
    write_json,
)
from mage.stores.doctor import Finding, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.errors import BadName, DamagedRecord, NameTaken, StoreError, UnknownJournal
from mage.stores.protocol import JournalInfo, JournalStore, as_name, name_beside
from mage.stores.records import GROW, NOTHING, Head, Record, flat_parts, fold, read_parts, verify

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
    """A journal of a bundle with its own records, under the name in the exporting store; see `JournalInfo`."""

    name: str
    parent: str | None
    forked_at: int
    records: tuple[Record, ...]
    head: Head


@final
@attrs.frozen
class Bundle:
    """An exported session, the last of the journals, behind the journals that it reads through, each a fork of the one before."""

    journals: tuple[Bundled, ...]

    @property
    def session(self) -> Bundled:
        """The journal of the exported session."""
        return self.journals[-1]

    @property
    def flat(self) -> Bundle:
        """The same session as one journal that is no fork. Cost: O(records)."""
        records: list[Record] = []
        for journal in self.journals:
            del records[journal.forked_at :]
            records += journal.records
        session = self.session
        return Bundle((Bundled(session.name, None, 0, tuple(records), session.head),))


def pack(store: JournalStore, name: str, *, lineage: bool = False) -> Bundle:
    """Return a session as a bundle. First, every record is verified and carried out.

    Args:
        store: the store of the session.
        name: the session.
        lineage: whether the journals that it reads through are journals of the bundle; else the bundle is one journal with
            all their records.

    Cost: O(records); with `lineage` also a call of the store for each journal that goes on behind its fork.

    Raises:
        UnknownJournal: there is no such session.
        DamagedRecord: a record of the session is not sound.
    """
    head = store.head(name)
    records = tuple(verify(NOTHING, store.read(name, upto=head.version), head))
    fold(records)
    if not lineage:
        return Bundle((Bundled(name, None, 0, records, head),))
    known = {journal.name: journal for journal in store.journals()}
    line = _ancestors(known, name)
    upto = [*(journal.forked_at for journal in line[1:]), head.version]
    packed = [_packed(store, journal, records, last) for journal, last in zip(line, upto, strict=True)]
    return Bundle(tuple(packed))


def _ancestors(known: Mapping[str, JournalInfo], name: str | None) -> list[JournalInfo]:
    """Return a session and the journals that it reads through, oldest first. Cost: O(their number)."""
    found: dict[str, JournalInfo] = {}
    while name is not None:
        if name not in known or name in found:
            raise UnknownJournal(name)
        found[name] = known[name]
        name = known[name].parent
    return list(reversed(found.values()))


def _packed(store: JournalStore, journal: JournalInfo, read: Sequence[Record], upto: int) -> Bundled:
    """Return a journal with its own records; `read` has all its records up to the version `upto`."""
    own = list(read[journal.forked_at : upto])
    if upto < journal.head.version:  # it goes on behind its fork, or has grown since
        rest = store.read(journal.name, upto, journal.head.version)
        own += verify(read[upto - 1].head, rest, journal.head)
    return Bundled(journal.name, journal.parent, journal.forked_at, tuple(own), journal.head)


def unpack(bundle: Bundle, store: JournalStore, name: str) -> Head:
    """Make the session of a bundle in a store, as `name`, and the journals that it reads through, as `names_for` names them.

    If the store has such a journal already, with the same records up to the fork, the session becomes a fork of that journal.
    After a failure the journals made so far are deleted, except one to which another writer has appended.

    Returns:
        The session's head: that in the bundle. Cost: O(records), and some calls of the store for each journal.

    Raises:
        BadName: no session can have this name.
        NameTaken: the store has a journal of this name, or another journal of a name in the bundle.
        DamagedRecord: a record cannot be carried out after those before; nothing is written.
    """
    names = names_for(bundle, as_name(name))
    fold(bundle.flat.session.records)
    made: dict[str, Head] = {}
    done = False
    try:
        for journal, shared in _with_shared(bundle):
            if shared is None or not _is_there(store, names[journal.name], shared):
                _make(store, journal, names, made)
        done = True
    finally:
        for each, head in () if done else reversed(made.items()):
            with suppress(StoreError):
                store.delete(each, expected=head)
    return bundle.session.head


def names_for(bundle: Bundle, name: str) -> dict[str, str]:
    """Return the new name of each journal of a bundle, by its name in the bundle, if the session is imported as `name`.

    The others keep their names, except one whose name the session takes: `name_beside` names that one.
    """
    names = {journal.name: journal.name for journal in bundle.journals[:-1]}
    if name in names:
        names[name] = name_beside(name, names)
    return {**names, bundle.session.name: name}


def _with_shared(bundle: Bundle) -> Iterator[tuple[Bundled, Head | None]]:
    """Yield each journal, a parent before its fork, and the head up to which the fork reads it; None for the session."""
    heads: list[Head] = []
    for journal, fork in pairwise(bundle.journals):
        del heads[journal.forked_at :]
        heads += [record.head for record in journal.records]
        yield journal, heads[fork.forked_at - 1]
    yield bundle.session, None


def _is_there(store: JournalStore, name: str, shared: Head) -> bool:
    """Tell whether a store has a journal with all records that its fork in the bundle reads."""
    try:
        found = store.head(name)
    except UnknownJournal:
        return False
    version = shared.version
    if found.version < version or next(store.read(name, version - 1, version)).head != shared:
        raise NameTaken(name)
    return True


def _make(store: JournalStore, journal: Bundled, names: Mapping[str, str], made: dict[str, Head]) -> None:
    name = names[journal.name]
    if journal.parent is None:
        made[name] = store.create(name, journal.records)
        return
    made[name] = head = store.fork(names[journal.parent], name, journal.forked_at)
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
        place = {"journal": journal.name, "parent": journal.parent, "forked_at": journal.forked_at}
        head = {"version": journal.head.version, "digest": journal.head.digest}
        yield _line({**place, "head": head})
        for record in journal.records:
            said = {"body": read_json(record.body.encode()), "parts": flat_parts(record.parts)}
            yield _line({"record": record.version, **said, "digest": record.digest})


def _line(document: object) -> bytes:
    return write_json(document) + b"\n"


def is_bundle(data: bytes) -> bool:
    """Tell whether a file begins with the first line of a bundle. Cost: O(length of the first line)."""
    document = read_json(data[: data.find(b"\n") + 1 or len(data)])
    return isinstance(document, dict) and document.get("format") == BUNDLE_FORMAT


def decode_bundle(data: bytes) -> Result[Bundle, DecodeError]:
    """Return the bundle in a file, its chain verified, or the first wrong line, and why. Takes any bytes.

    Whether the engine takes the commands is checked by `unpack`, not here. Cost: O(size).
    """
    reader = _Reader(data)
    try:
        return Success(reader.bundle())
    except _Wrong as wrong:
        return Failure(wrong.problem.as_error(reader.line))


@final
@attrs.define
class _Wrong(Exception):
    """The line that was read last is wrong."""

    problem: Problem


def _wrong(words: str) -> _Wrong:
    return _Wrong(Problem("", words))


@final
class _Reader:
    """Reads a bundle line by line, and counts the lines."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._start = 0
        self._names: dict[str, None] = {}  # of the journals so far, in order: each is a fork of the one above
        self._heads: list[Head] = []  # of the last journal, at each version
        self.line = 0

    def bundle(self) -> Bundle:
        first = self._document()
        problem = header_problem(first, BUNDLE_FORMAT) or _HEADER.problem(first)
        if problem is not None:
            raise _Wrong(problem)
        count = cast("dict[str, Any]", first)["journals"]
        if count == 0:
            raise _wrong("a bundle has at least one journal")
        journals = tuple([self._journal() for _ in range(count)])
        before = self._start
        if self._shaped(_END)["end"] != hashlib.sha256(self._data[:before]).hexdigest():
            raise _wrong("some byte before this line is not the one that was written")
        if self._start != len(self._data):
            raise _wrong("something follows the end")
        return Bundle(journals)

    def _journal(self) -> Bundled:
        document = self._shaped(JOURNAL)
        name, parent, forked_at = document["journal"], document["parent"], document["forked_at"]
        head = Head(document["head"]["version"], document["head"]["digest"])
        try:
            as_name(name)
        except BadName as bad:
            raise _wrong(str(bad)) from bad
        if name in self._names:
            raise _wrong("a journal of this name stands above")
        before = self._fork_point(parent, forked_at)
        if head.version < max(1, forked_at):
            raise _wrong("its head is before its beginning")
        try:
            records = tuple(verify(before, self._records(head.version - forked_at), head))
        except DamagedRecord as damaged:
            raise _wrong(str(damaged)) from damaged
        del self._heads[forked_at:]
        self._heads += [record.head for record in records]
        self._names[name] = None
        return Bundled(name, parent, forked_at, records, head)

    def _fork_point(self, parent: str | None, forked_at: int) -> Head:
        if parent is not None and parent not in self._names:
            raise _wrong("the journal that it is a fork of does not stand above")
        if parent != next(reversed(self._names), None):
            raise _wrong("a journal stands above that the session does not read through")
        if parent is None:
            if forked_at:
                raise _wrong("it is a fork of nothing")
            return NOTHING
        if not 1 <= forked_at <= len(self._heads):
            raise _wrong("the journal that it is a fork of has no such version")
        return self._heads[forked_at - 1]

    def _records(self, count: int) -> Iterator[Record]:
        for _ in range(count):
            document = self._shaped(RECORD)
            parts = read_parts(write_json(document["parts"]))
            if isinstance(parts, Problem):
                raise _Wrong(parts.below(".parts"))
            body = write_json(document["body"]).decode()
            yield Record(document["record"], body, parts, document["digest"])

    def _shaped(self, shape: Object) -> dict[str, Any]:
        document = self._document()
        problem = shape.problem(document)
        if problem is not None:
            raise _Wrong(problem)
        return cast("dict[str, Any]", document)

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


# -- damaged bundles -----------------------------------------------------------------------------------


_SIGNS: Final = (b'\n{"journal":', b'\n{"record":')


def was_bundle(data: bytes) -> bool:
    """Tell whether a file is a bundle, or one with a damaged first line. Cost: O(length)."""
    return is_bundle(data) or all(sign in data for sign in _SIGNS)


@final
@attrs.define
class _Journal:
    """A journal of a damaged bundle, as far as its lines could be read."""

    id: int
    name: object = None
    parent: object = None
    forked_at: int | None = None
    head: int | None = None
    digest: bytes | None = None
    rows: list[Row] = attrs.field(factory=list)
    last: int = 0

    def kept(self) -> KeptJournal:
        """Return the journal's row; values that a bundle does not have are such as raise no finding."""
        payload = sum(len(row[2]) for row in self.rows if isinstance(row[2], bytes))
        grows = sum(row[1] == GROW for row in self.rows)
        named = (self.id, self.name, self.parent, self.forked_at or 0, self.head, self.digest)
        return KeptJournal(*named, payload, grows, created=0, changed=0)


@final
class KeptBundle:
    """A `Kept` of a bundle, which may be damaged anywhere. Takes any bytes. Cost: O(size)."""

    def __init__(self, data: bytes) -> None:
        self.findings: list[Finding] = []
        self._found: list[_Journal] = []
        self._ids: dict[object, int] = {}
        self._ends = False
        *lines, cut = data.split(b"\n")
        for number, line in enumerate(lines, start=1):
            self._read(number, line)
        if cut and not isinstance(read_json(cut), Problem):  # only the newline is lost
            self._read(len(lines) + 1, cut)
        self._found = [journal for journal in self._found if journal.name is not None or journal.rows]
        self._look_at_count(lines[0] if lines else b"")
        self.journals: Sequence[KeptJournal] = tuple([journal.kept() for journal in self._found])

    def _look_at_count(self, first: bytes) -> None:
        document = read_json(first)
        said = document.get("journals") if isinstance(document, dict) else None
        if type(said) is int and said > len(self._found):
            reason = f"its first line says that there are {said}, and {len(self._found)} are there"
            self.findings.append(Finding(None, None, "lost session", reason))
        if not self._ends:
            self.findings.append(Finding(None, None, "lost end", "the line that ends a bundle is not there"))

    def _read(self, number: int, line: bytes) -> None:
        document = read_json(line)
        if not isinstance(document, Problem) and JOURNAL.problem(document) is None:
            self._begin(cast("dict[str, Any]", document))
        elif isinstance(document, dict) and "end" in document:
            self._ends = True
        else:
            problem = document if isinstance(document, Problem) else RECORD.problem(document)
            if problem is None:
                self._add(cast("dict[str, Any]", document))
            elif number > 1:  # the first line has nothing that the others do not have
                self._lose(problem, number)

    def _begin(self, document: dict[str, Any]) -> None:
        name, parent, forked_at = document["journal"], document["parent"], document["forked_at"]
        through = parent if parent is None else self._ids.get(parent, parent)
        head, digest = document["head"]["version"], bytes.fromhex(document["head"]["digest"])
        self._ids[name] = len(self._found)
        self._found.append(_Journal(len(self._found), name, through, forked_at, head, digest, last=forked_at))

    def _add(self, document: dict[str, Any]) -> None:
        journal = self._found[-1] if self._found else self._unnamed()
        version: int = document["record"]
        if journal.forked_at is None:  # the journal's own line was lost: its records go on from those above
            journal.forked_at = max(version - 1, 0) if journal.parent is not None else 0
        journal.last = max(version, journal.last)
        body = write_json(document["body"]).decode(errors="surrogatepass")
        parts, digest = write_json(document["parts"]), bytes.fromhex(document["digest"])
        journal.rows.append((version, body, parts, digest))

    def _unnamed(self) -> _Journal:
        parent = self._found[-1].id if self._found else None
        self._found.append(_Journal(len(self._found), parent=parent))
        return self._found[-1]

    def _lose(self, problem: Problem, number: int) -> None:
        """Note a line that cannot be read: a journal's line if all records of the last journal were read, else a record's."""
        error = problem.as_error(number)
        journal = self._found[-1] if self._found else None
        if journal is None or (journal.head is not None and journal.last >= journal.head):
            self.findings.append(Finding(None, None, "damaged line", str(error)))
            self._unnamed()
        else:
            journal.last += 1
            journal.rows.append((journal.last, error, None, None))

    def rows(self, journal: object) -> Iterator[Row]:
        found = next(each for each in self._found if each.id == journal)
        yield from sorted(found.rows, key=lambda row: cast("int", row[0]))

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """Yield nothing: a bundle has no snapshots."""
        yield from ()

    def strays(self) -> Sequence[Stray]:
        """Return nothing: each record stands below its journal."""
        return ()
