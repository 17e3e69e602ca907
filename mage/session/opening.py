"""How a session begins: its settings, and the program that opens a journal or creates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, final

import attrs

from mage.engine import Start, apply
from mage.engine.text import as_text
from mage.session import events
from mage.session.asks import Create, HeadOf, Tell
from mage.session.errors import OtherTask
from mage.session.loading import Loaded, Slot, has_task, load, require_end
from mage.stores import NOTHING, BadMeta, Clock, Head, NameTaken, Salts, UnknownJournal, draft, seal
from mage.stores.protocol import as_name, checked_clock
from mage.stores.records import checked_salts

Meta: TypeAlias = Mapping[str, object]
"""What a host keeps beside a command: a JSON object."""

SNAPSHOT_EVERY: Final = 4096
"""Commands between snapshots at least: so many are replayed in about a tenth of a second."""


@final
@attrs.frozen
class Settings:
    """What a session was opened with.

    Attributes:
        name: the journal.
        judged: whether there is a judge to ask.
        clock: gives the time of each record; what is no time is refused, here and whenever it is asked.
        salts: gives the salt of each text; what is no salt is refused likewise.
        snapshot_every: the least number of commands between snapshots; None for none, and to read none.
    """

    name: str
    judged: bool
    clock: Clock = attrs.field(converter=checked_clock)
    salts: Salts = attrs.field(converter=checked_salts)
    snapshot_every: int | None

    @property
    def snapshots(self) -> bool:
        """Whether snapshots are read."""
        return self.snapshot_every is not None


def stamped(settings: Settings, meta: Meta | None) -> dict[str, object]:
    """Return what goes with a record: what the host gave, and the time.

    Raises:
        BadMeta: the host gave a time, or no mapping.
        BadSource: what the clock gives is no time.
    """
    if meta is not None and not isinstance(meta, Mapping):
        raise BadMeta(f"it is a {type(meta).__name__}")
    given = {} if meta is None else dict(meta)
    if "at" in given:
        raise BadMeta('"at" is the time, which comes from the session\'s clock')
    return {**given, "at": settings.clock()}


async def beginning(settings: Settings, task: str | None) -> Loaded:
    """Open a journal, or create it for `task`.

    Raises:
        UnknownJournal: there is none, and no task to create it for.
        BadName: it can have no such name.
        OtherTask: it is for another task.
        DamagedRecord: a record is not sound.
    """
    try:
        head = await HeadOf(settings.name)
    except UnknownJournal as error:
        if task is None:
            error.add_note("To begin a session, say what for: task=...")
            raise
        try:
            return await _created(settings, task)
        except NameTaken:  # somebody else was faster
            head = await HeadOf(settings.name)
    return await _found(settings, task, head)


async def _created(settings: Settings, task: str) -> Loaded:
    command = Start(as_text(task))
    record = seal(NOTHING, draft(None, command, stamped(settings, None)), settings.salts)
    state = apply(None, command).unwrap()
    head = await Create(as_name(settings.name), (record,))
    await Tell(events.Created(settings.name, head.version, len(command.task)))
    return Loaded(Slot(head, state), 0, 0)


async def _found(settings: Settings, task: str | None, head: Head) -> Loaded:
    name = settings.name
    loaded = await load(name, head.version, snapshots=settings.snapshots)
    require_end(loaded.slot, head)
    if task is not None and not (await has_task(name, loaded.slot.state, as_text(task))):
        raise OtherTask(name)
    await Tell(events.Opened(name, head.version, head.version - loaded.snapshot))
    return loaded
