"""Tapes of runs among the journals of a store: they go with their sessions, and are no sessions to look at."""

from __future__ import annotations

from collections.abc import Iterable

from mage.cli.naming import InStore
from mage.cli.output import Refused
from mage.engine import Start
from mage.stores import JournalInfo, JournalStore, StoreError, command_of
from mage.stores.checks import TAPE

__all__ = ["is_tape", "refuse_tape", "tapes_of"]


def is_tape(store: JournalStore, name: str) -> bool:
    """Tell whether a journal is the tape of a run: by its name, and by what it begins with. Cost: O(1).

    One that cannot be read is none.
    """
    if not name.endswith(TAPE):
        return False
    from mage.agent.tape import TAPE_TASK  # noqa: PLC0415  # all of the agent, which most commands do without

    try:
        first = next(iter(store.read(name, upto=1)), None)
        return first is not None and command_of(None, first) == Start(TAPE_TASK)
    except StoreError:
        return False


def refuse_tape(store: JournalStore, named: InStore) -> None:
    """Do nothing if this is a session, or nothing yet. Cost: O(1).

    Raises:
        Refused: it is the tape of a run, which only its run writes on.
    """
    if is_tape(store, named.name):
        session = InStore(named.store, named.name.removesuffix(TAPE))
        raise Refused(f"{named}: that is the tape of the session {session}: name the session")


def tapes_of(store: JournalStore, journals: Iterable[JournalInfo]) -> dict[str, str]:
    """Return the names of the sessions that have a tape in this store, each with that of its tape."""
    names = {journal.name for journal in journals}
    return {
        name: f"{name}{TAPE}"
        for name in names
        if f"{name}{TAPE}" in names and is_tape(store, f"{name}{TAPE}")
    }
