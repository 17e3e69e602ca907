"""Write what is sound of a store into another one, elsewhere. The store itself is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, final

import attrs

from mage.stores.doctor.chain import Content, contents
from mage.stores.doctor.examining import Examined, Sound
from mage.stores.doctor.kept import Kept
from mage.stores.protocol import JournalStore
from mage.stores.records import NOTHING, Head, Record

__all__ = ["LeftOut", "repair"]

_AT_ONCE: Final = 1000


@final
@attrs.frozen
class LeftOut:
    """Records that are not in the repaired copy.

    Attributes:
        journal: whose.
        first: the first version that is not there.
        last: the last.
    """

    journal: str
    first: int
    last: int

    def __str__(self) -> str:
        which = f"record {self.first}" if self.first == self.last else f"records {self.first} to {self.last}"
        return f"session {self.journal!r}: {which} left out"


def repair(kept: Kept, examined: Examined, into: JournalStore) -> tuple[LeftOut, ...]:
    """Write the sound beginning of every journal into an empty store, and return what is left out.

    Snapshots are not written: they are caches. Cost: O(size).
    """
    left: list[LeftOut] = []
    for sound in examined.sound:
        if sound.upto:
            _write(kept, sound, into)
        if sound.ends > sound.upto:
            left.append(LeftOut(sound.name, sound.upto + 1, sound.ends))
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
