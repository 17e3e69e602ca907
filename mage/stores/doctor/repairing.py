r"""Write what is sound of a store into another one, elsewhere, and what no session can hold as lines of JSON.

The store itself is not touched. No session can hold the records behind a damage, nor the states that a snapshot carries
across it: `rest_of` gives one JSON object for each record that is there, and one for each journal whose state is known
behind the damage:

    {"session":"main","record":13,"proved":true,"digest":"9a1e...","body":"{\"op\":\"grow\"}","parts":[...]}
    {"session":"main","record":12,"proved":false,"reason":"its texts cannot be read: ...","body":"...","parts_hex":"..."}
    {"session":"main","version":66,"from_snapshot":51,"tree":{"format":"mage-tree",...}}

A record is proved where the chain leads from it to the session's head without a gap: what it says was written
so. Others are merely there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Final, final

import attrs

from mage.codec import encode_tree
from mage.codec.strict_json import write_json
from mage.engine import Start
from mage.stores.doctor.examining import UNFINISHED, Examined, Sound
from mage.stores.doctor.kept import Content, Kept, Lost, contents
from mage.stores.folding import draft
from mage.stores.protocol import JournalStore
from mage.stores.records import NOTHING, Head, Record, seal, write_parts
from mage.stores.sources import random_salt

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


def rest_of(kept: Kept, examined: Examined) -> Iterator[bytes]:
    """Yield lines of JSON, each with its newline: what is there of every journal beyond what is sound of it.

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
