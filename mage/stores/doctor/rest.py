r"""What no session can hold: the records behind a damage, and the states that a snapshot carries across it.

One JSON object for each record that is there, and one for each journal whose state is known behind the damage:

    {"session":"main","record":13,"proved":true,"digest":"9a1e...","body":"{\"op\":\"grow\"}","parts":[...]}
    {"session":"main","record":12,"proved":false,"reason":"its texts cannot be read: ...","body":"...","parts_hex":"..."}
    {"session":"main","version":66,"from_snapshot":51,"tree":{"format":"mage-tree",...}}

A record is proved where the chain leads from it to the session's head without a gap: what it says was written
so. Others are merely there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from mage.codec import encode_tree
from mage.codec.strict_json import write_json
from mage.stores.doctor.chain import Content, Lost, contents
from mage.stores.doctor.examining import Examined, Sound
from mage.stores.doctor.kept import Kept
from mage.stores.records import NOTHING, write_parts

__all__ = ["rest_of"]


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
