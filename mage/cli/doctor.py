"""Commands that care for a store: `doctor` names the faults in it, or in a file; `gc` drops sessions.

`doctor` changes nothing in place. `gc` drops sessions by name or age, never one that a living fork reads through, and
gives their room back. The times in a session do not show how old it is: they come from the clocks of its writers, and
a wrong clock makes a session that is written every minute look years old. So each look of `gc` is kept in the store, by
the clock of the process that runs it, and a session is old when two looks, so far apart, have found it unchanged. A look
is the meta of the only record of a separate journal, which no other command lists:

    {"seen":{"monday":[12,"5c0f...",1700000000000000]}}
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn, final

import attrs
import typer
from returns.pipeline import is_successful

from mage.bundle import KeptBundle, decode_bundle, encode_bundle, pack, was_bundle
from mage.cli.naming import InFile, InStore, StoreName, as_name, parse_reference, spelled
from mage.cli.output import (
    AsJson,
    Refused,
    exists,
    move_new,
    numbered,
    print_answer,
    read_bytes,
    refusing,
    require_absent,
    some_of,
    write_new,
)
from mage.cli.sessions import LOOKS, Store, Target, listed_names, message_of, opened, sessions_in, store_of
from mage.codec import decode_journal, encode_journal
from mage.engine import Command, Start, replay
from mage.render import one_line, printable
from mage.render.forms import Json
from mage.session import loading
from mage.stores import (
    NOTHING,
    Conflict,
    DamagedRecord,
    HasForks,
    JournalInfo,
    JournalStore,
    MemoryStore,
    NameTaken,
    StoreError,
    UnknownJournal,
    command_of,
    draft,
    meta_of,
    now,
    open_store,
    random_salt,
    seal,
)
from mage.stores.doctor import (
    UNFINISHED,
    Examined,
    Finding,
    Kept,
    LeftOut,
    Sound,
    examine,
    kept_at,
    private_folder,
    repair,
    rest_of,
)

_PREFIX: Final = ".mage-repair-"


@final
@attrs.frozen
class _Report:
    """The findings in a number of sessions, and the files that were written.

    Attributes:
        salvaged: the sessions that are not whole, each with its sound and its proved versions.
        left_out: the versions that are not in the copy.
        repaired: the copy; None where the options ask for none, or none was made.
        unmade: the copy that was not made, because nothing is sound that it could hold.
        rest: the file with the records that no session can hold.
        chained: whether the records have digests, which show that one is missing or was changed.
    """

    sessions: int
    findings: Sequence[Finding]
    salvaged: Sequence[Sound] = ()
    left_out: Sequence[LeftOut] = ()
    repaired: str | None = None
    unmade: str | None = None
    rest: str | None = None
    chained: bool = True


def doctor(
    target: Target,
    expect_head: Annotated[
        list[str] | None,
        typer.Option(
            "--expect-head",
            metavar="[NAME@]VERSION",
            help="A version that a session had at least, so that a lost tail shows; repeatable.",
        ),
    ] = None,
    repair_to: Annotated[
        str | None,
        typer.Option(
            "--repair", metavar="OUT", help="Write what is sound to a new store (or file), elsewhere."
        ),
    ] = None,
    rest_to: Annotated[
        Path | None,
        typer.Option(
            "--rest",
            metavar="FILE",
            help="Write what no session can hold: records behind a damage, and whether each is proved.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look at every record, head, fork and snapshot; name each fault.

    Nothing is changed in place. Exit status: 0 where every record is as it was written, else 1.
    """
    if rest_to is not None:
        require_absent(rest_to)
    with removing_what_is_left():
        if isinstance(target, InFile):
            report = _of_file(target, expect_head or [], repair_to, rest_to)
        else:
            report = _of_store(target, expect_head or [], repair_to, rest_to)
    print_answer(as_json, _as_json(str(target), report), _lines(str(target), report))
    if report.findings:
        raise typer.Exit(1)


def _of_store(
    target: InStore | StoreName, expected: list[str], repair_to: str | None, rest_to: Path | None
) -> _Report:
    store = store_of(target)
    heads = [_expected(each, target.name if isinstance(target, InStore) else None) for each in expected]
    if store.file is not None and not exists(store.file):
        raise Refused(f"{store}: there is no such file")
    into = None if repair_to is None else place_of(repair_to, stores=True, files=False)
    if isinstance(target, InStore) and target.name not in {name for name, _ in heads}:
        heads.append((target.name, 0))
    try:
        with kept_at(store.url) as kept:
            return _salvaged(kept, examine(kept, unpack=loading.unpack), heads, into, rest_to)
    except StoreError as error:
        raise Refused(message_of(store, error)) from None


def _of_file(file: InFile, expected: list[str], repair_to: str | None, rest_to: Path | None) -> _Report:
    data = read_bytes(file.path)
    if not was_bundle(data):
        return _of_journal(file, data, expected, repair_to, rest_to)
    kept = KeptBundle(data)
    heads = [_expected(each, str(kept.journals[-1].name) if kept.journals else "") for each in expected]
    into = None if repair_to is None else place_of(repair_to, stores=True, files=True)
    examined = examine(kept)  # as a store: a line that cannot be read hides no other
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        named = Finding(None, None, "damaged bundle", str(decoded.failure()))
        examined = attrs.evolve(examined, findings=(named, *examined.findings))
    return _salvaged(kept, examined, heads, into, rest_to)


def _of_journal(
    file: InFile, data: bytes, expected: list[str], repair_to: str | None, rest_to: Path | None
) -> _Report:
    if rest_to is not None:
        raise Refused(
            f"{file}: a journal has no digests, so nothing behind a damage can be proved; leave --rest out"
        )
    into = None if repair_to is None else place_of(repair_to, stores=False, files=True)
    commands, findings = _sound_commands(data)
    for each in expected:
        if len(commands) < _version(each):
            reason = f"version {each} is expected, and {len(commands)} are there and sound"
            findings.append(Finding(None, len(commands) + 1, "lost tail", reason))
    if isinstance(into, InFile) and commands:
        write_new(into.path, encode_journal(commands))
    repaired, unmade = (repair_to, None) if commands else (None, repair_to)
    return _Report(1, findings, repaired=repaired, unmade=unmade, chained=False)


def _salvaged(
    kept: Kept,
    examined: Examined,
    heads: Iterable[tuple[str, int]],
    into: StoreName | InFile | None,
    rest: Path | None,
) -> _Report:
    """Write the copy and the rest, and report; `heads` are versions that sessions should have at least."""
    is_sound = not examined.findings or any(sound.upto for sound in examined.sound)
    left = write_repaired(kept, examined, into) if into is not None and is_sound else ()
    if rest is not None:
        write_new(rest, rest_of(kept, examined))
    named = None if into is None else str(into)
    return _Report(
        len(kept.journals),
        (*examined.findings, *_short_heads({row.name: row.head for row in kept.journals}, heads)),
        [sound for sound in examined.sound if not sound.is_whole],
        left,
        named if is_sound else None,
        None if is_sound else named,
        None if rest is None else str(rest),
    )


def _expected(given: str, default: str | None) -> tuple[str, int]:
    """Return the session and the version that `--expect-head` says; without a name it says the default session."""
    name, mark, version = given.rpartition("@")
    if not mark and default is not None:
        return default, _version(version)
    if not name:
        raise typer.BadParameter(f"{given!r}: name the session: NAME@VERSION", param_hint="--expect-head")
    return as_name(name), _version(version)


def _version(given: str) -> int:
    if not given.isdecimal() or not given.isascii() or len(given) > 15:
        raise typer.BadParameter(f"{given!r} is no version", param_hint="--expect-head")
    return int(given)


def _short_heads(heads: Mapping[object, object], expected: Iterable[tuple[str, int]]) -> Iterator[Finding]:
    for name, version in expected:
        head = heads.get(name)
        if name not in heads:
            had = f"; it had {version} versions" if version else ""
            yield Finding(name, None, "lost session", f"it is not there{had}")
        elif type(head) is not int or head < version:
            reason = f"version {version} is expected, and the head is {head!r}: what came after it is gone"
            yield Finding(name, head + 1 if type(head) is int else None, "lost tail", reason)


def _sound_commands(data: bytes) -> tuple[tuple[Command, ...], list[Finding]]:
    """Return the commands of a journal up to the first that is not sound, and the fault of that."""
    findings: list[Finding] = []
    decoded = decode_journal(data)
    if not is_successful(decoded):
        error = decoded.failure()
        findings.append(Finding(None, error.good + 1, "damaged journal", str(error)))
        lines = data.split(b"\n")[: (error.line or 1) - 1]
        decoded = decode_journal(b"".join([line + b"\n" for line in lines]))
    commands = decoded.value_or(())
    replayed = replay(commands)
    if not is_successful(replayed):
        refused = replayed.failure()
        version = getattr(refused, "version", 1)
        findings.append(Finding(None, version, "refused command", str(refused)))
        commands = commands[: version - 1]
    return commands, findings


def _lines(target: str, report: _Report) -> list[str]:
    lines = [f"{printable(str(finding))}\n" for finding in report.findings]
    lines += [f"{printable(str(sound))}\n" for sound in report.salvaged]
    if report.repaired is not None:
        lines.append(f"what is sound was written to {printable(report.repaired)}\n")
    if report.unmade is not None:
        lines.append(f"nothing is sound, so {printable(report.unmade)} was not made\n")
    lines += [f"not in it: {printable(str(left))}\n" for left in report.left_out]
    if report.rest is not None:
        lines.append(f"what no session can hold was written to {printable(report.rest)}\n")
    elif any(sound.proved_from is not None for sound in report.salvaged):
        lines.append("--rest FILE writes what stands behind a damage\n")
    if not report.findings and report.chained:
        lines.append(f"{printable(target)}: {numbered(report.sessions, 'session')}, all as written\n")
    elif not report.findings:
        lines.append(
            f"{printable(target)}: every line is a command that can be carried out; a journal has no digests, so that"
            " none is missing or changed it cannot tell (a bundle can)\n"
        )
    return lines


def _as_json(target: str, report: _Report) -> object:
    return {
        "target": target,
        "sessions": report.sessions,
        "sound": not report.findings,
        "chained": report.chained,
        "findings": [
            {"session": each.journal, "version": each.version, "fault": each.fault, "reason": each.reason}
            for each in report.findings
        ],
        "salvaged": [
            {
                "session": sound.name,
                "sound_up_to": sound.upto,
                "proved_from": sound.proved_from,
                "ends": sound.ends,
                "states": sound.carried and {"from": sound.carried.since, "to": sound.carried.upto},
            }
            for sound in report.salvaged
        ],
        "repaired": report.repaired,
        "left_out": [
            {"session": left.journal, "first": left.first, "last": left.last} for left in report.left_out
        ],
        "rest": report.rest,
    }


# -- writing what is sound, and the rest --------------------------------------------------------------


def place_of(given: str, *, stores: bool, files: bool) -> StoreName | InFile:
    """Return where to write a repaired copy, or refuse a place that has no such copy, or where something stands."""
    said = parse_reference(given)
    place = said.place
    if said.name is not None or said.version is not None:
        raise Refused(f"{given}: this names a session; name a new store or file alone: {place}")
    if isinstance(place, InFile):
        if not files:
            hint = Path(given).with_suffix(".db")
            raise Refused(f"{given}: sessions of a store are repaired into a new store, such as {hint}")
        require_absent(place.path)
        return place
    if not stores:
        raise Refused(f"{given}: a journal is repaired into a file; mage import makes a session of that")
    if (path := place.file) is not None:
        require_absent(path)
    return place


def write_repaired(kept: Kept, examined: Examined, into: StoreName | InFile) -> tuple[LeftOut, ...]:
    """Write the sound records to a new file, which appears when it is complete, or into an empty database.

    Raises:
        Refused: something stands there, or the copy cannot be written; then no part of a new file is left.
    """
    if isinstance(into, InFile):
        return _into_bundle(kept, examined, into.path)
    path = into.file
    if path is None:
        return _into_database(kept, examined, into)
    with refusing(path), private_folder(_PREFIX, path.absolute().parent) as folder:
        part = folder / path.name
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with open_store(f"sqlite:///{part}") as store:
                left = repair(kept, examined, store)
        except StoreError as error:
            raise Refused(message_of(into, error).replace(str(part), str(path))) from None
        move_new(part, path)
    return left


def _into_database(kept: Kept, examined: Examined, into: StoreName) -> tuple[LeftOut, ...]:
    with opened(into, make=True) as store:
        names = {journal.name for journal in store.journals()}
        if UNFINISHED in names:
            raise Refused(f"{into}: a repair into it was cut short; drop its sessions, and try again")
        if names:
            raise Refused(f"{into}: there are sessions in it already; name an empty store")
        return repair(kept, examined, store)


def _into_bundle(kept: Kept, examined: Examined, path: Path) -> tuple[LeftOut, ...]:
    """Write the last session of a bundle that has a sound record, with the sessions that it reads through."""
    sound = [each for each in examined.sound if each.upto]
    if not sound:
        raise Refused(f"{path}: nothing is sound that could be written there")
    with MemoryStore() as store:
        left = repair(kept, examined, store)
        write_new(path, encode_bundle(pack(store, sound[-1].name, lineage=True)))
    return left


@contextmanager
def removing_what_is_left() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block by an exception, so that its temporary files are removed.

    The process then ends with status 128 plus the signal's number, as shells have it. Only the main thread receives
    signals: in another thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
    before = {kind: signal.signal(kind, _end) for kind in kinds if signal.getsignal(kind) == signal.SIG_DFL}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # the second one would stop the removing
    sys.exit(128 + number)


# -- gc --------------------------------------------------------------------------------------------------

_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_AGE: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_TASK: Final = "What `mage gc` saw in this store, and since when. Nothing is lost with it but that."
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@final
@attrs.frozen
class Plan:
    """The sessions that were chosen, divided.

    Attributes:
        drop: sessions to drop, each fork before the session that it reads through.
        keep: sessions that living forks read through, each with these forks; a session without forks was written by
            another process after it was chosen.
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
    left = {name: set(each) for name, each in forks.items()}
    todo = [name for name in known if name in chosen and not left[name]]
    drop: dict[str, JournalInfo] = {}
    while todo:
        name = todo.pop()
        drop[name] = known[name]
        parent = known[name].parent
        if parent in left:
            left[parent].discard(name)
            if not left[parent] and parent in chosen:
                todo.append(parent)
    kept = [name for name in known if name in chosen and name not in drop]
    return Plan(
        tuple(drop.values()),
        tuple([(known[name], tuple([fork for fork in forks[name] if fork not in drop])) for name in kept]),
    )


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

    A session is kept while a session that is not dropped reads through it.

    Where a pattern fits no session, nothing is dropped. With --name and --older-than, both must match; with neither, no
    session is dropped, and free room is given back. Each run with --older-than notes where every session ends: a session
    is old if a run at least so long ago has noted the same end.
    """
    if trust_clocks and older_than is None:
        raise typer.BadParameter("it goes with --older-than", param_hint="--trust-clocks")
    time = now()
    before = None if older_than is None else time - _age(older_than)
    looks = before is not None and not trust_clocks
    with opened(store) as found:
        journals = sessions_in(found)
        named = _named(store, journals, name or ())
        since = looked_at(found, journals, time) if looks else {each.name: each.changed for each in journals}
        chosen = {each.name for each in named if before is None or since[each.name] <= before}
        planned = plan(journals, chosen if name or before is not None else ())
        size = _size(store)
        if not dry_run:
            planned = _dropped(found, planned)
            if looks:
                gone = {journal.name for journal in planned.drop}
                keep_look(found, [each for each in journals if each.name not in gone], since)
            found.reclaim()
    young = [each.name for each in named if before is not None and each.changed <= before < since[each.name]]
    document = {**_plan_as_json(store, planned, size, dry_run), "too_new_to_tell": young}
    lines = _lines_of_plan(store, planned, size, dry_run)
    print_answer(as_json, document, [*lines, *_lines_of_young(young, older_than)])


def _age(given: str) -> int:
    found = _AGE.fullmatch(given)
    if found is None:
        raise typer.BadParameter(f"{given!r} is no age: 30d, 12h, 90m, 2w", param_hint="--older-than")
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000


def _named(
    store: StoreName, journals: Sequence[JournalInfo], patterns: Sequence[str]
) -> Sequence[JournalInfo]:
    """Return the sessions that a pattern fits, all without patterns; refuse a pattern that fits no session."""
    missed = [each for each in patterns if not any(_is_like(journal.name, each) for journal in journals)]
    if missed:
        raise Refused(
            f"{store}: no session has a name such as {', '.join(missed)}; nothing was dropped,"
            f" mage sessions {store} lists the names"
        )
    return [each for each in journals if not patterns or any(_is_like(each.name, like) for like in patterns)]


def _is_like(name: str, pattern: str) -> bool:
    """Tell whether a pattern fits a name; `%XX` in a pattern stands for the same as in a name, and never for a `*`."""
    return fnmatchcase(name, _ESCAPES.sub(lambda found: escape(as_name(found[0])), pattern))


def _dropped(store: JournalStore, planned: Plan) -> Plan:
    """Carry out a plan; a session that has got forks or records meanwhile is kept."""
    drop: list[JournalInfo] = []
    keep = list(planned.keep)
    for journal in planned.drop:
        try:
            store.delete(journal.name, expected=journal.head)
        except HasForks as forked:
            keep.append((journal, forked.forks))
        except Conflict:
            keep.append((journal, ()))
        except UnknownJournal:  # another process was faster
            continue
        else:
            drop.append(journal)
    return Plan(tuple(drop), tuple(keep))


def _size(store: StoreName) -> int | None:
    with refusing(store):
        return None if store.file is None else store.file.stat().st_size


def _plan_as_json(store: StoreName, planned: Plan, size: int | None, dry_run: bool) -> dict[str, Json]:
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


def _lines_of_plan(store: StoreName, planned: Plan, size: int | None, dry_run: bool) -> list[str]:
    word = "would drop" if dry_run else "dropped"
    lines = [
        f"{word} {spelled(journal.name)}: {journal.records:,} records, {journal.payload:,} bytes\n"
        for journal in planned.drop
    ]
    for journal, forks in planned.keep:
        why = f"read through by {listed_names(forks)}" if forks else "somebody has written on it meanwhile"
        lines.append(f"kept {spelled(journal.name)}: {why}\n")
    if not planned.drop:
        lines.append("nothing to drop\n")
    if size is not None and not dry_run:
        lines.append(f"{printable(str(store))}: {size:,} bytes before, {_size(store):,} after\n")
    return lines


def _lines_of_young(young: Sequence[str], older_than: str | None) -> Iterator[str]:
    if young:
        named = some_of([one_line(each, 40) for each in young])
        yield (
            f"kept {named}: old by the clocks of those who wrote, which may be wrong; gc has not seen it unchanged for"
            f" {older_than}: run it again then, or with --trust-clocks\n"
        )


# -- what gc saw, and since when ------------------------------------------------------------------------


def looked_at(store: JournalStore, journals: Iterable[JournalInfo], time: int) -> dict[str, int]:
    """Return since when each session has ended where it ends now, as `gc` saw; `time` for a session that has moved.

    A look that cannot be read, or lies ahead of `time`, is passed over: then fewer sessions are old, never more.

    Raises:
        Refused: a session has the name under which looks are kept.
    """
    seen = _seen(store)
    since: dict[str, int] = {}
    for journal in journals:
        match seen.get(journal.name):
            case [version, digest, at] if (version, digest) == (journal.head.version, journal.head.digest):
                since[journal.name] = at if type(at) is int and 0 <= at <= time else time
            case _:
                since[journal.name] = time
    return since


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
    """Keep a look in place of the one before; `since` is from `looked_at`. Of two `gc` at once, one look stays."""
    seen = {
        journal.name: [journal.head.version, journal.head.digest, since[journal.name]] for journal in journals
    }
    record = seal(NOTHING, draft(None, Start(_TASK), {"seen": seen}), random_salt)
    with suppress(NameTaken, Conflict):
        with suppress(UnknownJournal):  # the first look of this store
            store.delete(LOOKS)
        store.create(LOOKS, [record])
