"""Begin a session, or read its state from a store: the newest fitting snapshot, then records, verified and folded.

A snapshot is a cache, and no format for exchange (`mage.codec` has those). It is JSON of arrays, not of objects: 100,000
steps are read in a quarter of a second. (Compression would halve the size, and take half as long again.) A reader first
checks the digest, which ties a snapshot to the records that it was made from. So `unpack` trusts the bytes, and checks only
that no walk along the tree is endless.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from operator import lt
from typing import Any, Final, TypeAlias, cast, final

import attrs

from mage.codec.commands import SUMMARY_VERDICT, summary_verdict_document, summary_verdict_of
from mage.codec.strict_json import write_json
from mage.engine import Command, Start, State, apply
from mage.engine.assemble import assemble, in_phase
from mage.engine.ids import ROOT_STEP, Digest, StepId, SummaryId
from mage.engine.nodes import Chapter, Instruction, Passed, Step, Summary, as_kind
from mage.engine.text import as_text
from mage.session import events
from mage.session.drivers import (
    Create,
    HeadOf,
    NewestSnapshot,
    OtherTask,
    ReadRecords,
    Redactions,
    Tell,
    collector_paused,
)
from mage.stores import (
    NOTHING,
    BadMeta,
    Clock,
    DamagedRecord,
    Head,
    NameTaken,
    Note,
    Record,
    Redacted,
    Salts,
    UnknownJournal,
    command_of,
    draft,
    fold,
    meta_of,
    seal,
    snapshot_digest,
    verify,
)
from mage.stores.protocol import as_name, checked_clock
from mage.stores.records import checked_salts

# -- a state as the bytes of a snapshot ---------------------------------------------------------------------


_FORMAT: Final = "mage-snapshot-1"
_BEGINNING: Final = f'["{_FORMAT}",'.encode()
_PASSED: Final = summary_verdict_document(Passed())


def pack(state: State) -> bytes:
    """Return a state as bytes. Cost: O(size of the tree)."""
    tree = state.tree
    parents: list[int] = []
    texts: list[str] = []
    for step in tree.steps():
        parents.append(step.parent)
        texts += step.content
    places = [StepId(number) for number in range(ROOT_STEP, tree.next_step)]
    document = [
        _FORMAT,
        [tree.task, tree.step_head, tree.summary_head],
        parents,
        texts,
        [_packed(summary) for summary in tree.summaries()],
        [[step, left] for step in places if (left := tree.lessons_at(step))],
        [
            [step, [[each.text, each.standing] for each in placed]]
            for step in places
            if (placed := tree.instructions_at(step))
        ],
        [attrs.astuple(chapter) for summary in tree.summaries() for chapter in tree.chapters_at(summary.id)],
    ]
    return write_json(document)


def _packed(summary: Summary) -> list[object]:
    place = [summary.parent, summary.after, summary.label, summary.covers]
    return [*place, summary.text, summary.kind, summary_verdict_document(summary.verdict)]


def unpack(data: bytes) -> State | str | None:
    """Return the state that `pack` has encoded, or why the bytes have none; None for another format. Cost: O(size).

    Takes any bytes. All parents and ids are checked first, so that every walk along the state's tree ends.
    """
    try:
        with collector_paused():
            return _unpacked(json.loads(data)) if data.startswith(_BEGINNING) else None
    except _Odd as odd:
        return str(odd)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return f"it cannot be read: {type(error).__name__}"


@final
class _Odd(Exception):
    """The decoded values form no tree."""


def _unpacked(document: list[Any]) -> State:
    _, (task, step_head, summary_head), parents, texts, summaries, lessons, instructions, chapters = document
    _require_steps(task, step_head, parents, texts)
    numbers = map(StepId, range(1, len(parents) + 1))
    steps = list(map(Step, numbers, parents, texts[::2], texts[1::2]))
    found = [_summary(number, packed) for number, packed in enumerate(summaries, 1)]
    _require_covers(found, parents)
    _require_heads(found, parents, step_head, summary_head)
    tree = assemble(
        task,
        steps=steps,
        summaries=found,
        lessons={_place(step, parents): _texts(left) for step, left in lessons},
        instructions={
            _place(step, parents): tuple(
                [Instruction(text, standing) for text, standing in placed if _texts([text])]
            )
            for step, placed in instructions
        },
        step_head=StepId(step_head),
        summary_head=SummaryId(summary_head),
        chapters=_chapters(found, chapters),
    )
    return in_phase(tree)


def _chapters(summaries: list[Summary], packed: list[list[Any]]) -> dict[SummaryId, tuple[Chapter, ...]]:
    """Return the chapters by their last summary; check that each begins above its last summary."""
    chapters: dict[SummaryId, tuple[Chapter, ...]] = {}
    for label, boundary, text, accepted, first, last in packed:
        _require(_is_id(last, 2, len(summaries)) and _is_id(first, 1, last - 1), "a chapter has no summaries")
        _require(type(text) is str and type(accepted) is int, "a chapter has no text")
        ends = summaries[first - 1].label, summaries[last - 1].boundary
        _require(ends == (label, boundary), "a chapter does not end where its summaries do")
        chapter = Chapter(label, boundary, text, accepted, first, last)
        chapters[last] = (*chapters.get(last, ()), chapter)
    return chapters


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise _Odd(what)


def _is_id(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _texts(given: list[str]) -> list[str]:
    _require(set(map(type, given)) <= {str}, "a text is none")
    return given


def _place(step: object, parents: list[int]) -> StepId:
    _require(_is_id(step, 0, len(parents)), f"there is no step {step!r}")
    return StepId(cast("int", step))


def _require_steps(task: object, step_head: object, parents: list[int], texts: list[str]) -> None:
    """Require that the parent of each step is an earlier step, so that every walk upwards ends (I1)."""
    _require(type(task) is str, "the task is no text")
    _require(len(_texts(texts)) == 2 * len(parents), "texts and steps do not match")
    _require(set(map(type, parents)) <= {int}, "a parent is no id")
    _require(min(parents, default=0) >= 0, "a step has a parent before the root")
    _require(all(map(lt, parents, count(1))), "steps are their own ancestors")
    _require(_is_id(step_head, 0, len(parents)), "there is no such step as the step head")


def _require_covers(summaries: list[Summary], parents: list[int]) -> None:
    """Require that each summary covers steps that run down from the boundary of its parent (I3)."""
    above: list[int] = [0, *parents]
    ends: list[int] = [0]
    for number, summary in enumerate(summaries, 1):
        covers = summary.covers
        _require(_is_id(summary.parent, 0, number - 1), f"summary {number} is its own ancestor")
        ids = set(map(type, covers)) <= {int} and min(covers) > 0 and max(covers) < len(above)
        _require(ids, f"summary {number} covers what is no step")
        end = ends[summary.parent]
        runs = summary.label == end and [above[step] for step in covers] == [end, *covers[:-1]]
        _require(runs, f"summary {number} does not run on from where its parent ends")
        ends.append(covers[-1])


def _require_heads(
    summaries: list[Summary], parents: list[int], step_head: int, summary_head: object
) -> None:
    """Require that the step head stands below the boundary of the summary head (I5)."""
    _require(_is_id(summary_head, 0, len(summaries)), "there is no such summary as the summary head")
    boundary = summaries[cast("int", summary_head) - 1].covers[-1] if summary_head else 0
    step = step_head
    while step > boundary:
        step = parents[step - 1]
    _require(step == boundary, "the step head is not below the summary head")
    _require_way(summaries, cast("int", summary_head))


def _require_way(summaries: list[Summary], head: int) -> None:
    """Require that the way leads from the head to the root, through all summaries of the summary path (I11)."""
    way, summary = {0}, head
    while summary:
        _require(summary not in way, "the way is a circle")
        way.add(summary)
        summary = summaries[summary - 1].after
    while head:
        _require(head in way, "the way leaves out summaries of the summary path")
        head = summaries[head - 1].parent


def _summary(number: int, packed: Any) -> Summary:
    parent, after, label, covers, text, kind, verdict = packed
    if verdict != _PASSED and SUMMARY_VERDICT.problem(verdict) is not None:  # nearly all have passed
        raise _Odd(f"summary {number} has no verdict")
    _require(type(text) is str, f"summary {number} has no text")
    _require(type(after) is int and after >= 0, f"summary {number} came after none")
    after = SummaryId(after)
    steps = tuple(covers)
    found = Passed() if verdict == _PASSED else summary_verdict_of(verdict)
    own = SummaryId(number)
    return Summary(own, parent, after, label, steps, text, as_kind(kind), found, own, Digest(""))


# -- how a session begins -----------------------------------------------------------------------------------


Meta: TypeAlias = Mapping[str, object]
"""A JSON object that a host keeps beside a command."""

SNAPSHOT_EVERY: Final = 4096
"""The least number of commands between snapshots: replaying as many takes about a tenth of a second."""
_AT_ONCE: Final = 1024
"""The most records in memory at a time."""


@final
@attrs.frozen
class Settings:
    """The arguments of `open`. Clock and salts are checked here, and each of their values when it is used.

    Attributes:
        name: the name of the journal.
        judged: whether there is a judge.
        snapshot_every: the least number of commands between snapshots; None to write and read no snapshot.
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


@final
@attrs.frozen
class Slot:
    """The position of a session: the head of its journal, and the state at that head."""

    head: Head
    state: State


@final
@attrs.frozen
class Loaded:
    """A state that was read from a store.

    Attributes:
        slot: head and state at the version asked for.
        snapshot: the version of the snapshot that it was read from, 0 for none.
        redactions: the least number of redactions of the journal at the time of reading.
    """

    slot: Slot
    snapshot: int
    redactions: int


@final
@attrs.frozen
class Entry:
    """One command of a history, with its time and meta.

    Attributes:
        version: the version of the journal that the command made.
        command: the command, for `mage.engine.apply`.
        at: the time, in microseconds since 1970 in UTC; None where it was redacted.
        meta: the JSON object that the host gave with it, such as call ids, usage and references.
    """

    version: int
    command: Command
    at: int | None
    meta: Mapping[str, object]


@final
@attrs.frozen
class Noted:
    """One note of a log, which did not change the state; the other attributes are as in `Entry`."""

    version: int
    note: Note
    at: int | None
    meta: Mapping[str, object]


# -- opened or created -----------------------------------------------------------------------------------


def stamped(settings: Settings, meta: Meta | None) -> dict[str, object]:
    """Return the meta of a record: the host's and the time; raise `BadMeta` or `BadSource` where one is not valid."""
    if meta is not None and not isinstance(meta, Mapping):
        raise BadMeta(f"it is a {type(meta).__name__}")
    given = {} if meta is None else dict(meta)
    if "at" in given:
        raise BadMeta('"at" is the time, which comes from the session\'s clock')
    return {**given, "at": settings.clock()}


async def beginning(settings: Settings, task: str | None) -> Loaded:
    """Open a journal, or create it for `task`. Raises as `Session.open` does, and `BadName`."""
    try:
        head = await HeadOf(settings.name)
    except UnknownJournal:
        if task is None:
            remedy = "give its task to begin it (task=...); `journals()` lists those that are"
            raise UnknownJournal(settings.name, remedy) from None
        try:
            return await _created(settings, task)
        except NameTaken:  # another session has created it meanwhile
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
    loaded = await load(name, head, snapshots=settings.snapshots)
    if task is not None and loaded.slot.state.tree.task != as_text(task):
        first = await record_at(name, 1)
        if not isinstance(first.parts[0], Redacted):  # a task that was redacted may be this one
            raise OtherTask(name)
    await Tell(events.Opened(name, head.version, head.version - loaded.snapshot))
    return loaded


# -- read, verified and folded ---------------------------------------------------------------------------


async def load(name: str, at: Head | int, *, snapshots: bool) -> Loaded:
    """Read the state of a journal at a version or head. Cost: O(size of the snapshot + records after it).

    Where a snapshot does not fit its record, the one before is read, and without any snapshot all records.

    Raises:
        DamagedRecord: a record that is read is damaged, or the records lead to another head.
        UnknownJournal, UnknownVersion: there is no such journal or version.
    """
    redactions = await Redactions(name)  # before reading texts, which may be redacted meanwhile
    version = at if isinstance(at, int) else at.version
    known = (await _fitting_snapshot(name, version)) if snapshots else None
    slot = await fold_on(name, known, at)
    return Loaded(slot, 0 if known is None else known.head.version, redactions)


async def _fitting_snapshot(name: str, version: int) -> Slot | None:
    while version > 0:
        snapshot = await NewestSnapshot(name, version)
        if snapshot is None or not 0 < snapshot.version <= version:
            return None
        head = (await record_at(name, snapshot.version)).head
        if snapshot.digest == snapshot_digest(head, snapshot.data):
            state = unpack(snapshot.data)
            if isinstance(state, State):
                return Slot(head, state)
        version = snapshot.version - 1
    return None


async def record_at(name: str, version: int) -> Record:
    """Read one record; raise `DamagedRecord` where the record is missing."""
    for record in await ReadRecords(name, version - 1, version):
        return record
    raise DamagedRecord(version, "it is missing")


async def fold_on(name: str, before: Slot | None, end: Head | int) -> Slot:
    """Fold the records from a slot (None: the start) to a version or head; raise `DamagedRecord` if they do not lead there."""
    state, head = (None, NOTHING) if before is None else (before.state, before.head)
    last = end if isinstance(end, int) else end.version
    while head.version < last:
        upto = min(head.version + _AT_ONCE, last)
        records = await ReadRecords(name, head.version, upto)
        with collector_paused():
            state = fold(verify(head, records), state)
        head = records[-1].head if records else head
        if head.version != upto:
            raise DamagedRecord(head.version + 1, "it is missing")
    if isinstance(end, Head) and head != end:
        raise DamagedRecord(last, f"it leads to {head}, but the head says {end}")
    return Slot(head, cast("State", state))  # versions begin at 1, so a record was folded


async def read_entries(name: str, before: Slot | None, upto: int) -> tuple[Entry | Noted, ...]:
    """Read commands and notes, from a slot (None: the start) to a version; raise `DamagedRecord` for a damaged one."""
    entries: list[Entry | Noted] = []
    state, head = (None, NOTHING) if before is None else (before.state, before.head)
    while head.version < upto:
        last = min(head.version + _AT_ONCE, upto)
        for record in verify(head, (await ReadRecords(name, head.version, last))):
            entries.append(_entry(state, record))
            state, head = fold([record], state), record.head
        if head.version != last:
            raise DamagedRecord(head.version + 1, "it is missing")
    return tuple(entries)


def _entry(state: State | None, record: Record) -> Entry | Noted:
    meta = meta_of(record)
    at = meta.pop("at", None)
    time = at if isinstance(at, int) else None
    said = command_of(state, record)
    if isinstance(said, Note):
        return Noted(record.version, said, time, meta)
    return Entry(record.version, said, time, meta)
