"""What a store keeps, as it is found: values of any kind, before anything of them is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias, final

import attrs

__all__ = ["Finding", "Kept", "KeptJournal", "KeptSnapshot", "Row", "Stray"]


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
