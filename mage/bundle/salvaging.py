"""What is left of a damaged bundle: every line that is whole, as a `Kept`, to be examined and repaired.

Reading a bundle (`decode_bundle`) is all or nothing. Here a line that cannot be read hides no other: each record
carries its version and digest, so the doctor says what the chain still proves of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast, final

import attrs

from mage.bundle.bundles import JOURNAL, RECORD, is_bundle
from mage.codec.problems import DecodeError, Json, Problem
from mage.codec.strict_json import read_json, write_json
from mage.stores.doctor import Finding, KeptJournal, KeptSnapshot, Row, Stray
from mage.stores.folding import GROW

__all__ = ["KeptBundle", "was_bundle"]

_SIGNS: Final = (b'\n{"journal":', b'\n{"record":')


def was_bundle(data: bytes) -> bool:
    """Tell whether bytes are a bundle, or one whose first line was damaged. Cost: O(length)."""
    return is_bundle(data) or all(sign in data for sign in _SIGNS)


@final
@attrs.define
class _Journal:
    """A journal of a damaged bundle, as far as it was read."""

    id: int
    name: object = None
    parent: object = None
    forked_at: int | None = None
    head: object = None
    digest: object = None
    rows: list[Row] = attrs.field(factory=list)
    last: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether its last record, as its line says it, was read."""
        return isinstance(self.head, int) and self.last >= self.head

    def kept(self) -> KeptJournal:
        """Return its row; what a bundle does not say is as it should be."""
        payload = sum(len(row[2]) for row in self.rows if isinstance(row[2], bytes))
        grows = sum(row[1] == GROW for row in self.rows)
        named = (self.id, self.name, self.parent, self.forked_at or 0, self.head, self.digest)
        return KeptJournal(*named, payload, grows, created=0, changed=0)


@final
class KeptBundle:
    """A `Kept` of a bundle, which may be damaged anywhere. Any bytes. Cost: O(size)."""

    def __init__(self, data: bytes) -> None:
        self.findings: list[Finding] = []
        self._found: list[_Journal] = []
        self._ids: dict[object, int] = {}
        self._ends = False
        *lines, cut = data.split(b"\n")
        for number, line in enumerate(lines, start=1):
            self._read(number, line)
        if cut and not isinstance(read_json(cut), Problem):  # all of it but its newline
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
        if isinstance(document, Problem):
            problem: Problem | None = document
        elif isinstance(document, dict) and JOURNAL.problem(document) is None:
            return self._begin(document)
        elif isinstance(document, dict) and "end" in document:
            self._ends = True
            return None
        else:
            problem = RECORD.problem(document)
        if problem is None:
            return self._add(cast("dict[str, Json]", document))
        if number > 1:  # the first line says nothing that the others do not
            self._lose(problem, number)
        return None

    def _begin(self, document: dict[str, Json]) -> None:
        said = cast("dict[str, Json]", document["head"])
        name, parent = document["journal"], document["parent"]
        journal = _Journal(
            id=len(self._found),
            name=name,
            parent=parent if parent is None else self._ids.get(parent, parent),
            forked_at=cast("int", document["forked_at"]),
            head=said["version"],
            digest=bytes.fromhex(cast("str", said["digest"])),
            last=cast("int", document["forked_at"]),
        )
        self._ids[name] = journal.id
        self._found.append(journal)

    def _add(self, document: dict[str, Json]) -> None:
        journal = self._found[-1] if self._found else self._unnamed()
        version = cast("int", document["record"])
        if journal.forked_at is None:  # its own line was lost: it goes on from the one above
            journal.forked_at = max(version - 1, 0) if journal.parent is not None else 0
        journal.last = max(version, journal.last)
        body = write_json(document["body"]).decode(errors="surrogatepass")
        digest = bytes.fromhex(cast("str", document["digest"]))
        journal.rows.append((version, body, write_json(document["parts"]), digest))

    def _unnamed(self) -> _Journal:
        parent = self._found[-1].id if self._found else None
        self._found.append(_Journal(len(self._found), parent=parent))
        return self._found[-1]

    def _lose(self, problem: Problem, number: int) -> None:
        """Note a line that cannot be read: that of a journal where one is due, else that of a record."""
        error: DecodeError = problem.at_line(number, 0)
        if not self._found or self._found[-1].is_complete:
            self.findings.append(Finding(None, None, "damaged line", str(error)))
            self._unnamed()
            return
        journal = self._found[-1]
        journal.last += 1
        journal.rows.append((journal.last, error, None, None))

    def rows(self, journal: object) -> Iterator[Row]:
        """See `Kept.rows`."""
        found = next(each for each in self._found if each.id == journal)
        yield from sorted(found.rows, key=_version)

    def snapshots(self, journal: object) -> Iterator[KeptSnapshot]:
        """See `Kept.snapshots`: a bundle has none."""
        yield from ()

    def strays(self) -> Sequence[Stray]:
        """See `Kept.strays`: each record stands below its journal."""
        return ()


def _version(row: Row) -> int:
    return cast("int", row[0])
