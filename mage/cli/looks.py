"""What `mage gc` saw: which sessions there were, where each ended, and since when it has been seen there.

How old a session is cannot be taken from the times in it: they come from the clocks of those who wrote it, and one
that is wrong makes a session that is written every minute look years old. So each look of `gc` is kept in the store,
by the clock of whoever collects; and old is what two looks, so far apart, have found unchanged.

They are kept as what goes with the only record of a journal of its own, which no other command lists:

    {"seen":{"monday":[12,"5c0f...",1700000000000000]}}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from mage.cli.output import Refused
from mage.engine import Start
from mage.stores import (
    NOTHING,
    Conflict,
    DamagedRecord,
    JournalInfo,
    JournalStore,
    NameTaken,
    UnknownJournal,
    command_of,
    draft,
    meta_of,
    random_salt,
    seal,
)

__all__ = ["LOOKS", "keep_look", "looked_at"]

LOOKS: Final = "mage gc: looks"
"""The name of the journal that keeps them."""

_TASK: Final = "What `mage gc` saw in this store, and since when. Nothing is lost with it but that."


def looked_at(store: JournalStore, journals: Iterable[JournalInfo], time: int) -> dict[str, int]:
    """Return since when each session has been seen where it ends now; for one that has moved, that is `time`.

    A look that cannot be read, or lies ahead of `time`, tells nothing: then less is old, never more.

    Raises:
        Refused: somebody else's session has the name under which looks are kept.
    """
    seen = _seen(store)
    return {
        journal.name: _since(seen.get(journal.name), journal, time)
        for journal in journals
        if journal.name != LOOKS
    }


def _since(look: object, journal: JournalInfo, time: int) -> int:
    if not isinstance(look, list) or look[:2] != [journal.head.version, journal.head.digest]:
        return time
    since = look[2] if len(look) == 3 else None
    return since if type(since) is int and 0 <= since <= time else time


def _seen(store: JournalStore) -> Mapping[str, object]:
    try:
        first = next(iter(store.read(LOOKS, upto=1)), None)
        if first is None or command_of(None, first) != Start(_TASK):
            raise Refused(
                f"{LOOKS!r} is the name under which gc keeps what it saw, and a session has it: rename that"
            )
        seen = meta_of(first).get("seen")
    except (UnknownJournal, DamagedRecord):
        return {}
    return seen if isinstance(seen, dict) else {}


def keep_look(store: JournalStore, journals: Iterable[JournalInfo], since: Mapping[str, int]) -> None:
    """Keep a look in the place of the one before. Where another `gc` does so at this moment, one of the two stays.

    Args:
        store: the store.
        journals: what is there.
        since: what `looked_at` said.
    """
    seen = {
        journal.name: [journal.head.version, journal.head.digest, since[journal.name]]
        for journal in journals
        if journal.name in since
    }
    record = seal(NOTHING, draft(None, Start(_TASK), {"seen": seen}), random_salt)
    with suppress(NameTaken, Conflict, UnknownJournal):
        if any(journal.name == LOOKS for journal in journals):
            store.delete(LOOKS)
        store.create(LOOKS, [record])
