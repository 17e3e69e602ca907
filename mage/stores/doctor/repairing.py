"""Write what is sound of a store into another one, elsewhere. The store itself is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, final

import attrs

from mage.engine import Start
from mage.stores.doctor.chain import Content, contents
from mage.stores.doctor.examining import UNFINISHED, Examined, Sound
from mage.stores.doctor.kept import Kept
from mage.stores.folding import draft
from mage.stores.protocol import JournalStore
from mage.stores.records import NOTHING, Head, Record, seal
from mage.stores.sources import random_salt

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

    Until all is written a journal called `UNFINISHED` stands there: an examination of a store that holds it says
    so. What stands behind a damage cannot be written: a journal has no gap (`rest_of` gives it). Snapshots are not
    written: they are caches. Cost: O(size).

    Raises:
        NameTaken: somebody else repairs into it, or a repair into it was cut short.
    """
    into.create(UNFINISHED, [seal(NOTHING, draft(None, Start(UNFINISHED), {}), random_salt)])
    left: list[LeftOut] = []
    for sound in examined.sound:
        if sound.name == UNFINISHED:  # that of the store which is examined: it says nothing of this one
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
