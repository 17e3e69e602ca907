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
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from mage.cli.naming import InFile, InStore, StoreName, Target
from mage.cli.output import AsJson, Refused, print_json, print_text
from mage.cli.readings import Place, matches, redacted_records
from mage.cli.redacted_files import redact_file
from mage.cli.stores import file_of, opened
from mage.cli.tapes import is_tape, tapes_of
from mage.cli.withheld import lines_of_places, lines_of_runs, plain_redaction, withheld
from mage.stores import (
    NOTHING,
    DamagedStore,
    Head,
    JournalInfo,
    JournalStore,
    Record,
    StoreError,
    UnknownJournal,
    verify,
)
from mage.stores.checks import TAPE

__all__ = ["family", "redact_run", "redact_store", "register"]

_ROUNDS: Final = 8  # of looking and replacing, where others write the secret at the same time


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("redact")(redact)


_Changed: TypeAlias = dict[str, list[Record]]
"""Records with texts taken out, by their journals, in order."""


def family(journals: Iterable[JournalInfo], *names: str) -> list[JournalInfo]:
    """Return sessions, all they read through and all that reads through these: parents before forks.

    Cost: O(number of journals).

    Raises:
        UnknownJournal: a session is not among them.
        DamagedStore: parents lead in a circle.
    """
    known = {journal.name: journal for journal in journals}
    forks: dict[str | None, list[JournalInfo]] = {}
    for journal in known.values():
        forks.setdefault(journal.parent, []).append(journal)
    found: list[JournalInfo] = []
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            at = len(found)
            found.append(_root_of(known, name))
            while at < len(found):
                seen.add(found[at].name)
                found.extend(forks.get(found[at].name, ()))
                at += 1
    return found


def _root_of(known: Mapping[str, JournalInfo], name: str) -> JournalInfo:
    if name not in known:
        raise UnknownJournal(name)
    root = known[name]
    for _ in known:
        if root.parent is None:
            return root
        if root.parent not in known:
            raise UnknownJournal(root.parent)
        root = known[root.parent]
    raise DamagedStore(f"{name!r} reads through itself, by its parents")


def redact_store(
    store: JournalStore, name: str | None, pattern: re.Pattern[str], *, dry_run: bool = False
) -> list[Place]:
    """Redact every text that matches, in a session's family or in every session, and say where they were.

    What was forked from one session is looked through first, and then changed. Cost: O(records of these) and
    some calls of the store for each session.

    Raises:
        UnknownJournal: there is no such session.
        DamagedRecord: a record is not sound; nothing of what was forked from the same session was changed.
        Refused: others write what matches as fast as it is taken out.
    """

    def chosen(journals: Sequence[JournalInfo]) -> list[JournalInfo]:
        return family(journals, *([each.name for each in journals] if name is None else [name]))

    return _redact(store, name, chosen, pattern, dry_run=dry_run)


def redact_run(
    store: JournalStore, name: str, pattern: re.Pattern[str], *, dry_run: bool = False
) -> list[Place]:
    """Redact a session's family, and the tapes of their runs: what an agent was told stands there too.

    Raises:
        UnknownJournal, DamagedRecord, Refused: as `redact_store`.
    """

    def chosen(journals: Sequence[JournalInfo]) -> list[JournalInfo]:
        tapes = tapes_of(store, journals)
        sessions = [journal.name for journal in family(journals, name)]
        return family(journals, *sessions, *(tapes[each] for each in sessions if each in tapes))

    return _redact(store, name, chosen, pattern, dry_run=dry_run)


def _redact(
    store: JournalStore,
    name: str | None,
    chosen: Callable[[Sequence[JournalInfo]], list[JournalInfo]],
    pattern: re.Pattern[str],
    *,
    dry_run: bool,
) -> list[Place]:
    if name is not None:
        store.head(name)  # says so where there is none
    found: list[Place] = []
    for _ in range(_ROUNDS):
        new: list[Place] = []
        for tree in _trees(chosen(store.journals())):
            changed, places = _looked_through(store, tree, pattern)
            new += places
            if not dry_run:
                _replace(store, tree, changed)
        found += new
        if dry_run or not new:
            return found
    raise Refused(
        f"{len(found):,} texts were taken out, and others write what matches again and again: stop them, and redact again"
    )


def _trees(journals: Iterable[JournalInfo]) -> Iterator[list[JournalInfo]]:
    """Yield the journals, each that is no fork with all that was forked from it, in order."""
    tree: list[JournalInfo] = []
    for journal in journals:
        if journal.parent is None and tree:
            yield tree
            tree = []
        tree.append(journal)
    if tree:
        yield tree


def _looked_through(
    store: JournalStore, tree: Iterable[JournalInfo], pattern: re.Pattern[str]
) -> tuple[_Changed, list[Place]]:
    """Return the records that match, redacted, and where they do, after each record was verified once."""
    changed: _Changed = {}
    places: list[Place] = []
    begin_at: dict[str | None, set[int]] = {}
    for journal in tree:
        begin_at.setdefault(journal.parent, set()).add(journal.forked_at)
    heads: dict[tuple[str | None, int], Head] = {(None, 0): NOTHING}
    for journal in tree:
        wanted = begin_at.get(journal.name, set())
        with suppress(UnknownJournal):  # somebody has dropped it meanwhile, and all its texts
            sound = _noting(_own(store, journal, heads), journal.name, wanted, heads)
            own, found = redacted_records(journal.name, sound, pattern)
            changed[journal.name] = [*own.values()]
            places += found
    return changed, places


def _own(
    store: JournalStore, journal: JournalInfo, heads: Mapping[tuple[str | None, int], Head]
) -> Iterator[Record]:
    """Yield the records of a journal's own, verified from where it was forked."""
    before = heads.get((journal.parent, journal.forked_at))
    if before is None:
        before = next(store.read(journal.name, journal.forked_at - 1, journal.forked_at)).head
    return verify(before, store.read(journal.name, journal.forked_at, journal.head.version), journal.head)


def _noting(
    records: Iterable[Record],
    name: str,
    wanted: Container[int],
    heads: dict[tuple[str | None, int], Head],
) -> Iterator[Record]:
    for record in records:
        if record.version in wanted:
            heads[name, record.version] = record.head
        yield record


def _replace(store: JournalStore, tree: Sequence[JournalInfo], changed: _Changed) -> None:
    """Replace what has changed: all that a session reads in one call, so that a chain of forks takes one."""
    known = {journal.name: journal for journal in tree}
    done: dict[str, int] = {}
    for journal in reversed(tree):
        taken = _taken(known, journal, changed, done)
        if not taken:
            continue
        try:
            store.replace_parts(journal.name, [record for _, record in taken])
        except (
            UnknownJournal
        ):  # somebody has dropped it meanwhile; not what it read through, which others may read
            for name, record in taken:
                with suppress(UnknownJournal):
                    store.replace_parts(name, [record])


def _taken(
    known: Mapping[str, JournalInfo], journal: JournalInfo, changed: _Changed, done: dict[str, int]
) -> list[tuple[str, Record]]:
    """Return what has changed of all that a session reads and is not `done`, each with the journal that it lies in.

    Args:
        known: the journals by their names.
        journal: the session.
        changed: all that has changed.
        done: of each journal up to which version that was returned; it is moved on.
    """
    taken: list[tuple[str, Record]] = []
    upto: int = journal.head.version
    above: JournalInfo | None = journal
    while above is not None and upto > done.get(above.name, 0):
        begun = above.name in done
        after = done.get(above.name, 0)
        own = changed.get(above.name, [])
        some = own[bisect_right(own, after, key=_version) : bisect_right(own, upto, key=_version)]
        taken += [(above.name, record) for record in some]
        done[above.name] = upto
        upto = above.forked_at
        above = None if begun or above.parent is None else known.get(above.parent)
    return taken


def _version(record: Record) -> int:
    return record.version


def _ended(store: JournalStore, places: list[Place]) -> list[str]:
    """Return the sessions whose runs cannot be followed any more, because their tapes are redacted."""
    journals = {place.journal for place in places}
    return sorted(name.removesuffix(TAPE) for name in journals if is_tape(store, name))


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
        places, names = redact_file(target, compiled, dry_run=dry_run)
    else:
        place = target.store if isinstance(target, InStore) else target
        name = target.name if isinstance(target, InStore) else None
        with opened(place) as store:
            if name is None:
                places = redact_store(store, None, compiled, dry_run=dry_run)
            else:
                places = redact_run(store, name, compiled, dry_run=dry_run)
            runs = _ended(store, places)
            names = [journal.name for journal in store.journals() if matches(compiled, journal.name)]
            if places and not dry_run:
                _reclaim(place, store)
    if as_json:
        print_json(plain_redaction(target, places, names, compiled, dry_run=dry_run))
    else:
        print_text("".join(lines_of_places(target, places, compiled, dry_run=dry_run)))
        print_text("".join(lines_of_runs(runs, compiled, dry_run=dry_run)))
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
        shown = ", ".join(withheld(name, pattern) for name in names[:8])
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
