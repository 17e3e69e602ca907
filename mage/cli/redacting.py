"""`mage redact`: take a secret out of every text that holds it, in every record, fork and snapshot.

A text that matches is replaced as a whole by a marker that tells nothing of it. The digests of records go over
digests of texts, which stay, so the chain still verifies; markers differ, so ids and branches stay as they are. (One
thing hangs on two texts being equal: an instruction given twice at one step counts once. No session records
the second; a journal that is imported keeps both, with one salt and so with one marker.)
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer
from returns.pipeline import is_successful

from mage.bundle import Bundle, Bundled, decode_bundle, encode_bundle, is_bundle
from mage.cli.draw import one_line
from mage.cli.files import read_bytes, replace_file
from mage.cli.naming import InFile, InStore, StoreName, Target
from mage.cli.output import AsJson, Refused, print_json, print_text
from mage.cli.readings import places_in
from mage.cli.sessions import load_commands, recorded
from mage.cli.stores import file_of, opened
from mage.cli.tapes import is_tape, tapes_of
from mage.codec import encode_journal
from mage.engine import Command, State
from mage.stores import (
    NOTHING,
    DamagedStore,
    JournalInfo,
    JournalStore,
    Record,
    StoreError,
    UnknownJournal,
    command_of,
    fold,
    redacted,
    text_names,
    verify,
)
from mage.stores.checks import TAPE

__all__ = ["Place", "family", "redact_run", "redact_store", "register"]

_ROUNDS: Final = 8  # of looking and replacing, where others write the secret at the same time
_ELSEWHERE: Final = (
    "the server's write-ahead log, its archives, replicas and backups keep the bytes until they are recycled"
)
_WITHHELD: Final = "[...]"


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("redact")(redact)


@final
@attrs.frozen
class Place:
    """Where a text is that matches.

    Attributes:
        journal: the session whose own record it is in.
        version: the record.
        text: which of its texts, by name.
    """

    journal: str
    version: int
    text: str


def family(journals: Iterable[JournalInfo], name: str) -> list[JournalInfo]:
    """Return a session, all it reads through and all that reads through these: parents before forks.

    Cost: O(number of journals).

    Raises:
        UnknownJournal: the session is not among them.
        DamagedStore: parents lead in a circle.
    """
    known = {journal.name: journal for journal in journals}
    if name not in known:
        raise UnknownJournal(name)
    forks: dict[str | None, list[JournalInfo]] = {}
    for journal in known.values():
        forks.setdefault(journal.parent, []).append(journal)
    root = known[name]
    for _ in known:
        root = root if root.parent is None else known[root.parent]
    if root.parent is not None:
        raise DamagedStore(f"{name!r} reads through itself, by its parents")
    found = [root]
    for journal in found:  # grows while it is walked
        found.extend(forks.get(journal.name, ()))
    return found


def redact_store(
    store: JournalStore, name: str | None, pattern: re.Pattern[str], *, dry_run: bool = False
) -> list[Place]:
    """Redact every text that matches, in a session's family or in every session, and say where they were.

    Raises:
        UnknownJournal: there is no such session.
        DamagedRecord: a record is not sound; nothing of its journal was changed.
        Refused: others write what matches as fast as it is taken out.
    """
    if name is not None:
        store.head(name)  # says so where there is none
    found: list[Place] = []
    for _ in range(_ROUNDS):
        journals = store.journals()
        new: list[Place] = []
        for journal in journals if name is None else family(journals, name):
            with suppress(UnknownJournal):  # somebody has dropped it meanwhile, and all its texts
                new += _redact_own(store, journal, pattern, dry_run=dry_run)
        found.extend(new)
        if dry_run or not new:
            return found
    raise Refused(
        f"{len(found):,} texts were taken out, and others write what matches again and again: stop them, and redact again"
    )


def redact_run(
    store: JournalStore, name: str, pattern: re.Pattern[str], *, dry_run: bool = False
) -> list[Place]:
    """Redact a session's family, and the tapes of their runs: what an agent was told stands there too.

    Raises:
        UnknownJournal, DamagedRecord, Refused: as `redact_store`.
    """
    found = redact_store(store, name, pattern, dry_run=dry_run)
    journals = store.journals()
    tapes = tapes_of(store, journals)
    for journal in family(journals, name):
        if journal.name in tapes:
            found += redact_store(store, tapes[journal.name], pattern, dry_run=dry_run)
    return found


def _redact_own(
    store: JournalStore, journal: JournalInfo, pattern: re.Pattern[str], *, dry_run: bool
) -> list[Place]:
    before = NOTHING
    if journal.forked_at:
        before = next(store.read(journal.name, journal.forked_at - 1, journal.forked_at)).head
    own = store.read(journal.name, journal.forked_at, journal.head.version)
    changed, places = _redacted(journal.name, verify(before, own, journal.head), pattern)
    if changed and not dry_run:
        store.replace_parts(journal.name, list(changed.values()))
    return places


def _redacted(
    name: str, records: Iterable[Record], pattern: re.Pattern[str]
) -> tuple[dict[int, Record], list[Place]]:
    """Return the records that match, redacted, by version; and where they do."""
    changed: dict[int, Record] = {}
    places: list[Place] = []
    for record in records:
        if matching := places_in(record, pattern):
            changed[record.version] = redacted(record, matching)
            names = text_names(record)
            places.extend(Place(name, record.version, names[place]) for place in matching)
    return changed, places


def redact(
    target: Target,
    pattern: Annotated[
        str,
        typer.Argument(help="A regular expression; - reads it from standard input.", show_default=False),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say where, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take every text that matches out of a session, of what it was forked from and of all their forks.

    The tapes of their runs are redacted too: a run cannot be gone on with then, but a fork of it can be run. It cannot be brought back. Named by a store alone, every session in it is redacted.
    """
    compiled = _compiled(pattern)
    names: list[str] = []
    runs: list[str] = []
    if isinstance(target, InFile):
        places, names = _redact_file(target, compiled, dry_run=dry_run)
    else:
        place = target.store if isinstance(target, InStore) else target
        name = target.name if isinstance(target, InStore) else None
        with opened(place) as store:
            if name is None:
                places = redact_store(store, None, compiled, dry_run=dry_run)
            else:
                places = redact_run(store, name, compiled, dry_run=dry_run)
            runs = _ended(store, places)
            names = [journal.name for journal in store.journals() if compiled.search(journal.name)]
            if places and not dry_run:
                _reclaim(place, store)
    if as_json:
        print_json(_plain(target, places, names, compiled, dry_run=dry_run))
    else:
        print_text("".join(_lines(target, places, compiled, dry_run=dry_run)))
        print_text("".join(_lines_of_runs(runs, compiled, dry_run=dry_run)))
    _require_gone(target, names, compiled, places=places, dry_run=dry_run)


def _reclaim(place: StoreName, store: JournalStore) -> None:
    try:
        store.reclaim()
    except StoreError as error:
        raise Refused(
            f"{place}: what matches was taken out of every record, but the room where it stood was not given"
            f" back, so its bytes may still be there: {error}; then run mage gc {place}"
        ) from None


def _compiled(given: str) -> re.Pattern[str]:
    text = sys.stdin.readline().rstrip("\n") if given == "-" else given
    try:
        compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused(f"this is no regular expression: {error}") from None
    if compiled.search(""):
        raise Refused("the pattern matches the empty text, so it would take out everything")
    return compiled


def _require_gone(
    target: Target, names: list[str], pattern: re.Pattern[str], *, places: list[Place], dry_run: bool
) -> None:
    """Say what still holds the secret.

    Raises:
        Refused: something does.
    """
    if names:
        shown = ", ".join(one_line(pattern.sub(_WITHHELD, name), 40) for name in names[:8])
        raise Refused(
            f"names of sessions match too, and are not changed: {shown};"
            " export such a session, import it under another name, and drop it"
        )
    if dry_run or not places or isinstance(target, InFile):
        return
    store = target.store if isinstance(target, InStore) else target
    path = file_of(store)
    log = None if path is None else Path(f"{os.path.realpath(path)}-wal")
    if log is not None and log.exists() and log.stat().st_size:
        raise Refused(
            f"{log}: somebody has the store open, so this log still holds what was taken out;"
            f" run mage gc {store} when nobody has"
        )


def _redact_file(file: InFile, pattern: re.Pattern[str], *, dry_run: bool) -> tuple[list[Place], list[str]]:
    """Redact a journal or a bundle; return where it matched, and the names in it that do."""
    data = read_bytes(file.path)
    names: list[str] = []
    if is_bundle(data):
        bundle, places = _redact_bundle(file, data, pattern)
        lines = encode_bundle(bundle)
        names = [journal.name for journal in bundle.journals if pattern.search(journal.name)]
    else:
        lines, places = _redact_journal(file, pattern)
    if places and not dry_run:
        replace_file(file.path, lines, was=data)
    return places, names


def _redact_bundle(file: InFile, data: bytes, pattern: re.Pattern[str]) -> tuple[Bundle, list[Place]]:
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        raise Refused(f"{file}: {decoded.failure()}")
    journals: list[Bundled] = []
    places: list[Place] = []
    for journal in decoded.unwrap().journals:
        changed, found = _redacted(journal.name, journal.records, pattern)
        places.extend(found)
        records = tuple([changed.get(record.version, record) for record in journal.records])
        journals.append(attrs.evolve(journal, records=records))
    return Bundle(tuple(journals)), places


def _redact_journal(file: InFile, pattern: re.Pattern[str]) -> tuple[Iterator[bytes], list[Place]]:
    records = recorded(file, load_commands(file))
    changed, places = _redacted(file.path.stem, records, pattern)
    commands: list[Command] = []
    state: State | None = None
    for record in records:
        now = changed.get(record.version, record)
        commands.append(command_of(state, now))
        state = fold([now], state)
    return encode_journal(commands), places


def _elsewhere(target: Target) -> str | None:
    """Return where the bytes stay beyond our reach; None where they are gone from all that we write."""
    if isinstance(target, InFile):
        return None
    store = target.store if isinstance(target, InStore) else target
    return _ELSEWHERE if store.url.startswith("postgresql:") else None


def _lines(target: Target, places: list[Place], pattern: re.Pattern[str], *, dry_run: bool) -> list[str]:
    if not places:
        return ["nothing matches\n"]
    word = "would be redacted" if dry_run else "redacted"
    lines = [
        f"{word}: {one_line(pattern.sub(_WITHHELD, place.journal), 60)} version {place.version} {place.text}\n"
        for place in places
    ]
    elsewhere = _elsewhere(target)
    return lines if elsewhere is None else [*lines, f"{elsewhere}\n"]


def _ended(store: JournalStore, places: list[Place]) -> list[str]:
    """Return the sessions whose runs cannot be followed any more, because their tapes are redacted."""
    journals = {place.journal for place in places}
    return sorted(name.removesuffix(TAPE) for name in journals if is_tape(store, name))


def _lines_of_runs(runs: list[str], pattern: re.Pattern[str], *, dry_run: bool) -> list[str]:
    cannot = (
        "could not be gone on with: its tape would be" if dry_run else "cannot be gone on with: its tape was"
    )
    return [
        f"the run of {one_line(pattern.sub(_WITHHELD, name), 60)} {cannot} redacted; fork it, and run the fork\n"
        for name in runs
    ]


def _plain(
    target: Target, places: list[Place], names: list[str], pattern: re.Pattern[str], *, dry_run: bool
) -> object:
    return {
        "target": str(target) if isinstance(target, InFile) else pattern.sub(_WITHHELD, str(target)),
        "dry_run": dry_run,
        "redacted": [
            {
                "session": pattern.sub(_WITHHELD, place.journal),
                "version": place.version,
                "text": place.text,
            }
            for place in places
        ],
        "names_that_match": len(names),
        "kept_elsewhere": _elsewhere(target),
    }
