"""Commands that look at stores and journals: `sessions`, `log`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, final

import attrs
import typer
from rich.cells import cell_len as _wide

from mage.cli.draw import one_line
from mage.cli.looks import LOOKS
from mage.cli.naming import Session, Store, StoreName, spelled
from mage.cli.output import AsJson, print_json, print_text, printable, say
from mage.cli.plain import Json
from mage.cli.sessions import Opened, opened_session, records_of, slot_at
from mage.cli.stores import opened
from mage.cli.tapes import is_tape
from mage.engine import State
from mage.engine.tree import trace
from mage.stores import DamagedJournals, JournalInfo, Record, Redacted, fold, meta_of, text_names, verify

__all__ = ["Entry", "entries", "register", "time_of"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TITLES: Final = ("session", "versions", "steps", "size", "forked from", "head", "last change")
_NUMBERS: Final = ("versions", "steps", "size")
_WIDEST: Final = 40  # of a column: what is longer stands out of it
_FAR: Final = 8 * 10**15  # microseconds, in the year 2223: what says a later one is no time of a record


def register(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.command("sessions")(sessions)
    app.command("log")(log)


def sessions(
    store: Store,
    every: Annotated[bool, typer.Option("--all", help="Also the tapes of runs, and what gc saw.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the sessions of a store: what they hold of their own, where they were forked, and their heads.

    Steps and size are a session's own: what a fork reads from its parent is counted there. A damaged one is
    named, and the others are listed. --json has the tapes of runs too, marked as such.
    """
    with opened(store) as found:
        try:
            journals, damaged = found.journals(), None
        except DamagedJournals as damage:
            journals, damaged = tuple(damage.sound), damage
        if not every:
            journals = tuple([journal for journal in journals if journal.name != LOOKS])
        tapes = {journal.name for journal in journals if is_tape(found, journal.name)}
        if as_json:
            listed: list[Json] = [_plain_journal(journal, tape=journal.name in tapes) for journal in journals]
            named = () if damaged is None else damaged.damaged
            print_json({"store": str(store), "sessions": listed, "damaged": [*named]})
        else:
            _list(store, [each for each in journals if every or each.name not in tapes], damaged is None)
            if tapes and not every:
                print_text(_unlisted(len(tapes)))
        if damaged is not None:
            raise damaged


def _list(store: StoreName, journals: Sequence[JournalInfo], sound: bool) -> None:
    if journals:
        for number, line in enumerate(_table(journals)):
            say(line, "" if number else "bold")
    elif sound:
        print_text(f"{printable(str(store))} holds no session\n")


def _unlisted(tapes: int) -> str:
    said = "1 tape of a run is" if tapes == 1 else f"{tapes:,} tapes of runs are"
    return f"{said} not listed; --all lists {'it' if tapes == 1 else 'them'}\n"


def _table(journals: Iterable[JournalInfo]) -> list[str]:
    """Return a line of titles and one for each session; a name is never cut or broken, so that it can be pasted."""
    rows = [_TITLES, *map(_cells, journals)]
    widths = [max(min(_wide(cell), _WIDEST) for cell in column) for column in zip(*rows, strict=True)]
    return [_row(row, widths) for row in rows]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded: list[str] = []
    for title, cell, width in zip(_TITLES, cells, widths, strict=True):
        room = " " * (width - _wide(cell))
        padded.append(room + cell if title in _NUMBERS else cell + room)
    return "  ".join(padded).rstrip()


def _cells(journal: JournalInfo) -> tuple[str, ...]:
    parent = "" if journal.parent is None else f"{spelled(journal.parent)}@{journal.forked_at}"
    return (
        spelled(journal.name),
        f"{journal.head.version:,}",
        f"{journal.grows:,}",
        _size(journal.payload),
        parent,
        journal.head.digest[:12],
        time_of(journal.changed) or "",
    )


def _plain_journal(journal: JournalInfo, *, tape: bool) -> Json:
    return {
        "name": journal.name,
        "spelled": spelled(journal.name),
        "tape": tape,
        "versions": journal.head.version,
        "own_records": journal.records,
        "own_steps": journal.grows,
        "own_bytes": journal.payload,
        "parent": journal.parent,
        "forked_at": journal.forked_at,
        "head": journal.head.digest,
        "created": time_of(journal.created),
        "changed": time_of(journal.changed),
    }


def _size(count: int) -> str:
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count} B"


def time_of(microseconds: object) -> str | None:
    """Return a time as ISO 8601 has it, in UTC and to the second; None for what is no time."""
    if type(microseconds) is not int or not 0 <= microseconds < _FAR:
        return None
    return (_EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@final
@attrs.frozen
class Entry:
    """A record, and what it did.

    Attributes:
        record: the record.
        operation: what its body names.
        did: ids and names: the step or summary that it made or changed, the boundary that it went back to.
        time: when, where its meta says so.
        meta: what goes with it.
    """

    record: Record
    operation: str
    did: dict[str, Json]
    time: str | None
    meta: dict[str, object]

    @property
    def texts(self) -> dict[str, str]:
        """Its texts by name, without its meta."""
        named = zip(text_names(self.record), self.record.parts, strict=True)
        return {name: part.text for name, part in named if name != "meta"}

    @property
    def redacted(self) -> list[str]:
        """The names of what was taken out of it."""
        named = zip(text_names(self.record), self.record.parts, strict=True)
        return [name for name, part in named if isinstance(part, Redacted)]


def entries(records: Iterator[Record], state: State | None = None) -> Iterator[Entry]:
    """Yield what each record of a journal did.

    Args:
        records: in order, verified.
        state: the state before them; None where the first is the start.

    Raises:
        DamagedRecord: at the first that cannot be carried out.
    """
    for record in records:
        before, state = state, fold([record], state)
        operation, did = _did(record, before, state)
        meta = meta_of(record)
        yield Entry(record, operation, did, time_of(meta.get("at")), meta)


def _did(record: Record, before: State | None, after: State) -> tuple[str, dict[str, Json]]:
    """Return the operation of a record, and what it did."""
    operation = record.body.split('"', 4)[3]  # {"op":"grow", as folding has checked
    tree = after.tree
    head = tree.head_summary
    match operation:
        case "start":
            return operation, {}
        case "grow" | "walk" | "instruct":
            return operation, {"step": tree.step_head}
        case "revise":
            left = 0 if before is None else len(trace(before.tree, tree.step_head, before.tree.step_head))
            return operation, {"boundary": tree.step_head, "abandoned": left}
        case "compress" | "retext":
            covers: list[Json] = [head.covers[0], head.covers[-1]]
            return operation, {"summary": head.id, "covers": covers, "kind": head.kind}
        case _:
            return operation, {"summary": head.id}


def log(
    session: Session,
    payload: Annotated[bool, typer.Option("--payload", help="Show the texts too.")] = False,
    last: Annotated[
        int | None, typer.Option("--last", min=1, metavar="N", help="Only the last so many records.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the records of a session: version, time, operation, what it did, and what goes with it."""
    with opened_session(session) as found:
        told = entries(records_of(found)) if last is None else _last_entries(found, last)
        if as_json:
            print_json({"session": str(session), "records": [_plain_entry(each, payload) for each in told]})
            return
        for entry in told:
            print_text(_line(entry))
            if payload:
                print_text(
                    "".join(f"        {name}: {printable(text)}\n" for name, text in entry.texts.items())
                )


def _last_entries(found: Opened, last: int) -> Iterator[Entry]:
    """Yield what the last records did; those before are read as a session reads them, from a snapshot on."""
    head = found.store.head(found.name)
    after = head.version - last
    if after <= 0:
        return entries(records_of(found))
    before = slot_at(found.store, found.name, head, after)
    records = found.store.read(found.name, after, head.version)
    return entries(verify(before.head, records, head), before.state)


def _line(entry: Entry) -> str:
    did = " ".join(f"{name} {_range(value)}" for name, value in entry.did.items())
    keys = sorted(key for key in entry.meta if key != "at")
    words = [f"{entry.record.version:>6}", entry.time or "-" * 20, f"{entry.operation:<8}", did]
    if keys:
        words.append("{" + ", ".join(one_line(key, 24) for key in keys) + "}")
    if entry.redacted:
        words.append(f"(redacted: {', '.join(entry.redacted)})")
    return "  ".join(word for word in words if word).rstrip() + "\n"


def _range(value: Json) -> str:
    if isinstance(value, list):
        return f"{value[0]}-{value[1]}" if value[0] != value[1] else f"{value[0]}"
    return f"{value}"


def _plain_entry(entry: Entry, payload: bool) -> Json:
    plain: dict[str, Json] = {
        "version": entry.record.version,
        "time": entry.time,
        "operation": entry.operation,
        **entry.did,
        "meta": [*sorted(entry.meta)],
        "redacted": [*entry.redacted],
        "digest": entry.record.digest,
    }
    if payload:
        plain["texts"] = dict(entry.texts)
    return plain
