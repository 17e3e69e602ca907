"""`mage gc`: drop sessions by name or age, never one that a living fork reads through, and give room back.

How old a session is cannot be taken from the times in it: they come from the clocks of those who wrote it, and one
that is wrong makes a session that is written every minute look years old. So each look of `gc` is kept in the store,
by the clock of whoever collects; and old is what two looks, so far apart, have found unchanged.

They are kept as what goes with the only record of a journal of its own, which no other command lists:

    {"seen":{"monday":[12,"5c0f...",1700000000000000]}}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import escape
from typing import Annotated, Final, final

import attrs
import typer

from mage.cli.naming import StoreName, as_name, spelled
from mage.cli.output import AsJson, Refused, print_json, print_text
from mage.cli.sessions import LOOKS, Store, opened
from mage.engine import Start
from mage.render import one_line, printable
from mage.render.to_json import Json
from mage.stores import (
    NOTHING,
    Conflict,
    DamagedRecord,
    HasForks,
    JournalInfo,
    JournalStore,
    NameTaken,
    UnknownJournal,
    command_of,
    draft,
    meta_of,
    now,
    random_salt,
    seal,
)

_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_AGE: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_TASK: Final = "What `mage gc` saw in this store, and since when. Nothing is lost with it but that."
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@final
@attrs.frozen
class Plan:
    """What is to become of sessions that were chosen.

    Attributes:
        drop: those to be dropped, forks before what they read through.
        keep: those that living forks read through, each with these forks; with none, one that somebody wrote
            on after it was chosen.
    """

    drop: tuple[JournalInfo, ...]
    keep: tuple[tuple[JournalInfo, tuple[str, ...]], ...]


def plan(journals: Iterable[JournalInfo], chosen: Collection[str]) -> Plan:
    """Return which of the `chosen` names can be dropped: those that no session left reads through.

    Cost: O(number of journals).
    """
    known = {journal.name: journal for journal in journals}
    forks: dict[str, list[str]] = {name: [] for name in known}
    for journal in known.values():
        if journal.parent in forks:
            forks[journal.parent].append(journal.name)
    left = {name: len(each) for name, each in forks.items()}
    todo = [name for name in known if name in chosen and not left[name]]
    drop: list[JournalInfo] = []
    while todo:
        journal = known[todo.pop()]
        drop.append(journal)
        if journal.parent in left:
            left[journal.parent] -= 1
            if not left[journal.parent] and journal.parent in chosen:
                todo.append(journal.parent)
    dropped = {journal.name for journal in drop}
    keep = [
        (journal, tuple([fork for fork in forks[name] if fork not in dropped]))
        for name, journal in known.items()
        if name in chosen and name not in dropped
    ]
    return Plan(tuple(drop), tuple(keep))


def gc(
    store: Store,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="PATTERN",
            help="Sessions with such a name, as mage sessions prints it, or with *, ?, \\[abc] in it; repeatable.",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Sessions that gc itself has seen unchanged for so long: 30d, 12h, 2w.",
        ),
    ] = None,
    trust_clocks: Annotated[
        bool,
        typer.Option(
            "--trust-clocks",
            help="With --older-than: believe the times in the sessions, which come from the clocks of their writers.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be dropped, and drop nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Drop sessions by name or age, and give their room back.

    A session that one which stays reads through is kept.

    Where a pattern fits nothing at all, nothing is dropped. With --name
    and --older-than, both must match. With neither nothing is dropped, and free room is given back. Each run with
    --older-than notes where every session ends; what a run at least so much earlier noted there too is old.
    """
    if trust_clocks and older_than is None:
        raise typer.BadParameter("it goes with --older-than", param_hint="--trust-clocks")
    time = now()
    before = None if older_than is None else time - _age(older_than)
    with opened(store) as found:
        everything = found.journals()
        journals = [journal for journal in everything if journal.name != LOOKS]
        _require_found(store, journals, name or ())
        looks = before is not None and not trust_clocks
        since = looked_at(found, journals, time) if looks else {each.name: each.changed for each in journals}
        chosen = _chosen(journals, name, since, before)
        planned = plan(journals, chosen)
        size = _size(store)
        if not dry_run:
            planned = _dropped(found, planned)
            if looks:
                gone = {journal.name for journal in planned.drop}
                keep_look(found, [each for each in everything if each.name not in gone], since)
            found.reclaim()
        young = _young(journals, name, since, before) if looks else ()
    told = _plain(store, planned, size, dry_run)
    if as_json:
        print_json({**told, "too_new_to_tell": [*young]})
    else:
        print_text("".join([*_lines(store, planned, size, dry_run), *_young_lines(young, older_than)]))


def _age(given: str) -> int:
    found = _AGE.fullmatch(given)
    if found is None:
        raise typer.BadParameter(f"{given!r} is no age: 30d, 12h, 90m, 2w", param_hint="--older-than")
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000


def _require_found(store: StoreName, journals: Sequence[JournalInfo], patterns: Iterable[str]) -> None:
    """Do nothing if each pattern fits a session.

    Raises:
        Refused: one fits none; says which.
    """
    missed = [each for each in patterns if not any(_is_like(journal.name, each) for journal in journals)]
    if missed:
        raise Refused(
            f"{store}: no session has a name such as {', '.join(missed)}; nothing was dropped,"
            f" mage sessions --all {store} lists the names"
        )


def _is_like(name: str, pattern: str) -> bool:
    """Tell whether a name is as a pattern says, in which `%XX` stands for what it does in a name, and for itself."""
    return fnmatchcase(name, _ESCAPES.sub(lambda found: escape(as_name(found[0])), pattern))


def _chosen(
    journals: Iterable[JournalInfo], names: list[str] | None, since: Mapping[str, int], before: int | None
) -> set[str]:
    if not names and before is None:
        return set()
    return {
        journal.name
        for journal in journals
        if _fits(journal, names) and (before is None or since[journal.name] <= before)
    }


def _fits(journal: JournalInfo, names: list[str] | None) -> bool:
    return not names or any(_is_like(journal.name, each) for each in names)


def _young(
    journals: Iterable[JournalInfo], names: list[str] | None, since: Mapping[str, int], before: int | None
) -> tuple[str, ...]:
    """Return which sessions say that they are old enough, and were not seen for so long."""
    return tuple(
        [
            journal.name
            for journal in journals
            if before is not None
            and _fits(journal, names)
            and journal.changed <= before < since[journal.name]
        ]
    )


def _young_lines(young: Sequence[str], older_than: str | None) -> list[str]:
    if not young:
        return []
    named = ", ".join(one_line(name, 40) for name in young[:8]) + ", ..." * (len(young) > 8)
    return [
        f"kept {named}: old by the clocks of those who wrote, which may be wrong; gc has not seen it unchanged for"
        f" {older_than}: run it again then, or with --trust-clocks\n"
    ]


def _dropped(store: JournalStore, planned: Plan) -> Plan:
    """Drop what is planned; what got forks meanwhile is kept with them, and so is what got records."""
    drop: list[JournalInfo] = []
    keep = list(planned.keep)
    for journal in planned.drop:
        try:
            store.delete(journal.name, expected=journal.head)
        except HasForks as forked:
            keep.append((journal, forked.forks))
        except Conflict:
            keep.append((journal, ()))
        except UnknownJournal:  # somebody else was faster
            continue
        else:
            drop.append(journal)
    return Plan(tuple(drop), tuple(keep))


def _size(store: StoreName) -> int | None:
    path = store.file
    try:
        return None if path is None else path.stat().st_size
    except OSError as problem:
        raise Refused(f"{store}: {problem.strerror}") from None


def _plain(store: StoreName, planned: Plan, size: int | None, dry_run: bool) -> dict[str, Json]:
    return {
        "store": str(store),
        "dry_run": dry_run,
        "dropped": [
            {"name": journal.name, "own_records": journal.records, "own_bytes": journal.payload}
            for journal in planned.drop
        ],
        "kept": [{"name": journal.name, "forks": [*forks]} for journal, forks in planned.keep],
        "file_before": size,
        "file_after": _size(store),
    }


def _lines(store: StoreName, planned: Plan, size: int | None, dry_run: bool) -> list[str]:
    word = "would drop" if dry_run else "dropped"
    lines = [
        f"{word} {spelled(journal.name)}: {journal.records:,} records, {journal.payload:,} bytes\n"
        for journal in planned.drop
    ]
    for journal, forks in planned.keep:
        names = ", ".join(spelled(fork) for fork in forks[:8]) + ", ..." * (len(forks) > 8)
        why = f"read through by {names}" if forks else "somebody has written on it meanwhile"
        lines.append(f"kept {spelled(journal.name)}: {why}\n")
    if not planned.drop:
        lines.append("nothing to drop\n")
    if size is not None and not dry_run:
        lines.append(f"{printable(str(store))}: {size:,} bytes before, {_size(store):,} after\n")
    return lines


# -- what gc saw, and since when ------------------------------------------------------------------------


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
