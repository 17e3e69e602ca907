"""Recording what was done without reading what was done before: for a process that lives as long as one step.

Whether a step may be recorded, and whether it is a new one, the last records tell in nearly every case: behind a step
that was added there is none yet, and an operation says which phase it leads to. So neither is the journal folded nor a
snapshot read, and the cost does not grow with the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mage.engine.journal import Grow, Instruct
from mage.engine.text import is_blank
from mage.stores.errors import Conflict
from mage.stores.protocol import JournalStore
from mage.stores.records import Head, Record, Salts, draft, operation_of, random_salt, seal

_LOOKED_AT: Final = 32
"""Records at the end of a journal that are read."""
_STAYING: Final = frozenset({"compress", "retext", "pass", "accept", "fold"})
"""Operations behind which a step may be recorded, and that leave the step head where it is."""
_CHANGING_NOTHING: Final = frozenset({"note", "instruct"})


def record_behind(
    store: JournalStore,
    name: str,
    command: Grow | Instruct,
    meta: Mapping[str, object],
    *,
    salts: Salts = random_salt,
) -> Head | None:
    """Record what was done, or what was asked for, behind whatever is there; where others are faster, behind theirs.

    Args:
        store: the store.
        name: of the journal.
        command: what was done; a blank instruction is none, and is not recorded.
        meta: what goes with it, the time (`at`) too.
        salts: gives the salt of each text.

    Returns:
        The new head; None where the last records do not tell whether it may be recorded as it is: nothing is written
        then, and a session on the journal will say. Cost: O(1), and O(length of its texts).

    Raises:
        UnknownJournal: there is none of this name.
        BadMeta: `meta` is no JSON object.
    """
    while True:
        head = store.head(name)
        if isinstance(command, Instruct) and is_blank(command.text):
            return head
        last = list(store.read(name, max(0, head.version - _LOOKED_AT), head.version))
        if not last or last[-1].head != head or not _is_told(last):
            return None
        record = seal(head, draft(None, command, meta), salts)
        try:
            return store.append(name, head, [record])
        except Conflict:
            continue


def _is_told(last: Sequence[Record]) -> bool:
    """Tell whether the last records of a journal say that a step may follow, and that it is a new one."""
    may_follow = False
    for record in reversed(last):
        operation, _ = operation_of(record)
        if operation in ("grow", "start"):
            return True
        if operation in _STAYING:
            may_follow = True
        elif operation not in _CHANGING_NOTHING and not (operation == "fail" and may_follow):
            return False
    return False
