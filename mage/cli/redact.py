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
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, final

import attrs
import typer

from mage.cli.naming import InStore, StoreName, spelled
from mage.cli.output import AsJson, Refused, print_json, print_text
from mage.cli.sessions import complete_session, opened, parse_stored_target
from mage.engine.text import as_text, is_blank
from mage.render import printable
from mage.stores import (
    NOTHING,
    DamagedRecord,
    DamagedStore,
    Head,
    JournalInfo,
    JournalStore,
    Plain,
    Record,
    StoreError,
    UnknownJournal,
    redacted,
    text_names,
    verify,
)

_ROUNDS: Final = 8  # of looking and replacing, where others write the secret at the same time


_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4}))')
_QUOTED: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""A run up to a quote that no backslash stands before: each string of JSON is one, and what is between two is too."""
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST: Final = 64
"""Stages of unescaping that are looked at one by one. What doubles its backslashes has fewer, whatever its length."""
_ELSEWHERE: Final = (
    "the server's write-ahead log, its archives, replicas and backups keep the bytes until they are recycled"
)
_WITHHELD: Final = "[...]"

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
            try:
                own, found = redacted_records(journal.name, sound, pattern)
            except DamagedRecord as damage:
                damage.add_note(journal.name)
                raise
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


def _ended(places: list[Place]) -> list[str]:
    """Return the sessions whose runs cannot be followed any more, because a note of theirs is redacted."""
    return sorted({place.journal for place in places if place.text == "note"})


# -- where a pattern matches, however a text is unescaped ------------------------------------------------


# What goes with a record, a note of a run, the arguments of a call and many an observation hold JSON: a whole
# document, lines of it, or a piece amid prose or cut in two. In it a secret may be spelled with escapes, and JSON in
# a string of JSON has escapes of these. So no document is parsed: escapes are undone wherever they stand, again and
# again until none is left, and each stage is searched.


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


def redacted_records(
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


def places_in(record: Record, pattern: re.Pattern[str]) -> list[int]:
    """Return which parts of a record match, as `matches` says.

    A blank text never matches: that nothing was said is no secret, and it cannot be redacted.
    """
    return [
        place
        for place, part in enumerate(record.parts)
        if isinstance(part, Plain) and not is_blank(part.text) and matches(pattern, part.text)
    ]


def matches(pattern: re.Pattern[str], text: str) -> bool:
    """Tell whether a pattern matches a text as it stands, or with the escapes of JSON in it undone, at any depth.

    Whatever stands between two quotes is looked at alone too, so that `^` and `$` fit a string of JSON.
    Cost: that of searching the text, times the depth of its escapes, at most 66.
    """
    return any(pattern.search(reading) for reading in _readings(text))


def _readings(text: str) -> Iterator[str]:
    """Yield a text and what it says to its readers: all of it at each stage, and its strings at each stage."""
    yield text
    strings = _strings([text])
    yield from strings
    for _ in range(_DEEPEST):
        after = _unescaped(text)
        if after == text:
            return
        text = after
        yield text
        strings = _strings(strings)
        yield from strings
    yield _unescaped_at_once(text)


def _strings(texts: list[str]) -> list[str]:
    """Return what stands between quotes in texts that have some or escapes, unescaped. Not longer than they are."""
    return [
        _unescaped(found)
        for text in texts
        if '"' in text or "\\" in text
        for found in _QUOTED.findall(text)
        if found
    ]


def _unescaped(text: str) -> str:
    """Return a text with every escape of JSON in it undone once, from left to right. Cost: O(length)."""
    return as_text(_ESCAPE.sub(_meant, text)) if "\\" in text else text


def _meant(found: re.Match[str]) -> str:
    short, code = found.groups()
    return chr(int(code, 16)) if short is None else _SHORT.get(short, short)


def _unescaped_at_once(text: str) -> str:
    """Return a text in which no escape is left, each undone as soon as its last character is there.

    Cost: O(length): what an escape stands for may end another one, and each is shorter than before.
    """
    done: list[str] = []
    for char in text:
        done.append(char)
        while (length := _length_of_last_escape(done)) and (found := _ESCAPE.match("".join(done[-length:]))):
            done[-length:] = _meant(found)
    return as_text("".join(done))


def _length_of_last_escape(chars: list[str]) -> int:
    """Return how many characters at the end may be one escape, 0 where none is."""
    if len(chars) > 1 and chars[-2] == "\\" and chars[-1] in '"\\/bfnrt':
        return 2
    return 6 if chars[-6:-4] == ["\\", "u"] else 0


# -- the command -----------------------------------------------------------------------------------------

if TYPE_CHECKING:
    StoredTarget: TypeAlias = InStore | StoreName
else:
    StoredTarget = Annotated[
        object,
        typer.Argument(
            parser=parse_stored_target,
            metavar="SESSION|STORE",
            autocompletion=complete_session,
            help="A session in a store; or a store, for every session in it.",
            show_default=False,
        ),
    ]


def _store_of(target: InStore | StoreName) -> StoreName:
    return target.store if isinstance(target, InStore) else target


def redact(
    target: StoredTarget,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="A regular expression; - reads it from standard input.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say where, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take every text that matches out of a session and its forks.

    It is taken out of what the session was forked from, of all forks of that and of their runs too, and cannot be
    brought back. A run cannot be gone on with then, but a fork of its session can be run. Where a store is named
    alone, every session in it is redacted.
    """
    compiled = _compiled(pattern)
    with opened(target) as store:
        name = target.name if isinstance(target, InStore) else None
        places = redact_store(store, name, compiled, dry_run=dry_run)
        runs = _ended(places)
        names = [journal.name for journal in store.journals() if matches(compiled, journal.name)]
        if places and not dry_run:
            _reclaim(_store_of(target), store)
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
    target: InStore | StoreName,
    names: list[str],
    pattern: re.Pattern[str],
    *,
    places: list[Place],
    dry_run: bool,
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
    if dry_run or not places:
        return
    store = _store_of(target)
    path = store.file
    log = None if path is None else Path(f"{os.path.realpath(path)}-wal")
    if log is not None and log.exists() and log.stat().st_size:
        raise Refused(
            f"{log}: somebody has the store open, so this log still holds what was taken out;"
            f" run mage gc {store} when nobody has"
        )


# -- what is said of it: where it was, and never what it was ---------------------------------------------


def withheld(name: str, pattern: re.Pattern[str]) -> str:
    """Return a name as every command takes it; where it matches, without what does, and so taken by none."""
    return printable(_without(name, pattern)) if matches(pattern, name) else spelled(name)


def _without(name: str, pattern: re.Pattern[str]) -> str:
    """Return a name without what matches in it; nothing of it where it still does, as JSON reads it."""
    left = pattern.sub("", name)
    return _WITHHELD if matches(pattern, left) else pattern.sub(_WITHHELD, name)


def _elsewhere(target: InStore | StoreName) -> str | None:
    """Return where the bytes stay beyond our reach; None where they are gone from all that we write."""
    return _ELSEWHERE if _store_of(target).url.startswith("postgresql:") else None


def lines_of_places(
    target: InStore | StoreName, places: list[Place], pattern: re.Pattern[str], *, dry_run: bool
) -> list[str]:
    """Return the lines that say where it was, or is."""
    if not places:
        return ["nothing matches\n"]
    word = "would be redacted" if dry_run else "redacted"
    lines = [
        f"{word}: {withheld(place.journal, pattern)} version {place.version} {place.text}\n"
        for place in places
    ]
    elsewhere = _elsewhere(target)
    return lines if elsewhere is None else [*lines, f"{elsewhere}\n"]


def lines_of_runs(runs: list[str], pattern: re.Pattern[str], *, dry_run: bool) -> list[str]:
    """Return the lines that say which runs cannot be gone on with."""
    cannot = (
        "could not be gone on with: its log would be" if dry_run else "cannot be gone on with: its log was"
    )
    return [
        f"the run of {withheld(name, pattern)} {cannot} redacted; mage run --anew begins a new one there\n"
        for name in runs
    ]


def _target(target: InStore | StoreName, pattern: re.Pattern[str]) -> str:
    if isinstance(target, InStore) and matches(pattern, target.name):
        return f"{target.store}#{_without(target.name, pattern)}"
    return str(target)


def plain_redaction(
    target: InStore | StoreName,
    places: list[Place],
    names: list[str],
    pattern: re.Pattern[str],
    *,
    dry_run: bool,
) -> object:
    """Return the same as JSON has it."""
    return {
        "target": _target(target, pattern),
        "dry_run": dry_run,
        "redacted": [
            {
                "session": _without(place.journal, pattern),
                "version": place.version,
                "text": place.text,
            }
            for place in places
        ],
        "names_that_match": len(names),
        "kept_elsewhere": _elsewhere(target),
    }
