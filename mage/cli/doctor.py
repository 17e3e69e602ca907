"""`mage doctor`: look at everything that a store or a file keeps, name what is wrong, change nothing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn, final

import attrs
import typer
from returns.pipeline import is_successful

from mage.bundle import KeptBundle, decode_bundle, encode_bundle, pack, was_bundle
from mage.cli.files import exists, move_new, read_bytes, require_absent, write_new
from mage.cli.naming import InFile, InStore, StoreName, as_name, parse_reference
from mage.cli.output import AsJson, Refused, print_json, print_text
from mage.cli.sessions import Target, message_of, opened
from mage.codec import decode_journal, encode_journal
from mage.engine import Command, replay
from mage.render import printable
from mage.session.snapshots import read_packed
from mage.stores import MemoryStore, StoreError, open_store
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
    """What was found, and where what was salvaged is.

    Attributes:
        sessions: how many were looked at.
        findings: what is wrong.
        salvaged: of those that are not whole, what is sound and what is proved.
        repaired: the copy that was asked for.
        left_out: what is not in it.
        unmade: the copy that was asked for and not made, as nothing is sound that it could hold.
        rest: where that was written.
        chained: whether there are digests, which show what is missing or was changed.
    """

    sessions: int
    findings: tuple[Finding, ...]
    salvaged: tuple[Sound, ...] = ()
    repaired: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    rest: str | None = None
    unmade: str | None = None
    chained: bool = True


@final
@attrs.frozen
class _Wanted:
    """What is to be written: the copy of what is sound, and the rest."""

    repaired: str | None
    rest: Path | None


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

    Nothing is changed in place. Exit status: 0 where all is as it was written, 1 where anything is not.
    """
    wanted = _Wanted(repair_to, rest_to)
    if rest_to is not None:
        require_absent(rest_to)
    with removing_what_is_left():
        if isinstance(target, InFile):
            report = _of_file(target, expect_head or [], wanted)
        else:
            report = _of_store(target, expect_head or [], wanted)
    if as_json:
        print_json(_plain(str(target), report))
    else:
        print_text("".join(_lines(str(target), report)))
    if report.findings:
        raise typer.Exit(1)


def _of_store(target: InStore | StoreName, expected: list[str], wanted: _Wanted) -> _Report:
    store = target.store if isinstance(target, InStore) else target
    heads = [_expected(target, each) for each in expected]
    path = store.file
    if path is not None and not exists(path):
        raise Refused(f"{store}: there is no such file")
    into = None if wanted.repaired is None else place_of(wanted.repaired, stores=True, files=False)
    if isinstance(target, InStore) and target.name not in {name for name, _ in heads}:
        heads.append((target.name, 0))
    try:
        with kept_at(store.url) as kept:
            examined = examine(kept, unpack=read_packed)
            found = {row.name: row.head for row in kept.journals}
            return _salvaged(kept, examined, _short_heads(found, heads), into, wanted.rest)
    except StoreError as error:
        raise Refused(message_of(store, error)) from None


def _salvaged(
    kept: Kept, examined: Examined, more: list[Finding], into: StoreName | InFile | None, rest: Path | None
) -> _Report:
    """Write what is asked for, and report."""
    unmade = into if examined.findings and not any(sound.upto for sound in examined.sound) else None
    into = None if unmade is not None else into
    left = () if into is None else write_repaired(kept, examined, into)
    if rest is not None:
        write_rest(kept, examined, rest)
    return _Report(
        len(kept.journals),
        (*examined.findings, *more),
        tuple([sound for sound in examined.sound if not sound.is_whole]),
        None if into is None else str(into),
        left,
        None if rest is None else str(rest),
        None if unmade is None else str(unmade),
    )


def _expected(target: InStore | StoreName, given: str) -> tuple[str, int]:
    name, mark, version = given.rpartition("@")
    if not mark and isinstance(target, InStore):
        name = target.name
    elif not mark or not name:
        raise typer.BadParameter(f"{given!r}: name the session: NAME@VERSION", param_hint="--expect-head")
    return as_name(name) if mark else name, _version(version)


def _version(given: str) -> int:
    if not given.isdecimal() or not given.isascii() or len(given) > 15:
        raise typer.BadParameter(f"{given!r} is no version", param_hint="--expect-head")
    return int(given)


def _short_heads(heads: Mapping[object, object], expected: Iterable[tuple[str, int]]) -> list[Finding]:
    findings: list[Finding] = []
    for name, version in expected:
        head = heads.get(name)
        if name not in heads:
            had = f"; it had {version} versions" if version else ""
            findings.append(Finding(name, None, "lost session", f"it is not there{had}"))
        elif type(head) is not int or head < version:
            reason = f"version {version} is expected, and the head is {head!r}: what came after it is gone"
            findings.append(Finding(name, head + 1 if type(head) is int else None, "lost tail", reason))
    return findings


def _of_file(file: InFile, expected: list[str], wanted: _Wanted) -> _Report:
    data = read_bytes(file.path)
    if was_bundle(data):
        return _of_bundle(data, expected, wanted)
    if wanted.rest is not None:
        raise Refused(
            f"{file}: a journal has no digests, so nothing behind a damage can be proved; leave --rest out"
        )
    into = None if wanted.repaired is None else place_of(wanted.repaired, stores=False, files=True)
    commands, findings = _sound_commands(data)
    for each in expected:
        if len(commands) < _version(each):
            reason = f"version {each} is expected, and {len(commands)} are there and sound"
            findings.append(Finding(None, len(commands) + 1, "lost tail", reason))
    if isinstance(into, InFile) and commands:
        write_new(into.path, encode_journal(commands))
    repaired, unmade = (wanted.repaired, None) if commands else (None, wanted.repaired)
    return _Report(1, tuple(findings), repaired=repaired, unmade=unmade, chained=False)


def _of_bundle(data: bytes, expected: list[str], wanted: _Wanted) -> _Report:
    """Look at a bundle as at a store: a line that cannot be read hides no other."""
    split = [each.rpartition("@") for each in expected]
    versions = [(as_name(name) if mark else None, _version(version)) for name, mark, version in split]
    into = None if wanted.repaired is None else place_of(wanted.repaired, stores=True, files=True)
    kept = KeptBundle(data)
    examined = examine(kept)
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        named = Finding(None, None, "damaged bundle", str(decoded.failure()))
        examined = attrs.evolve(examined, findings=(named, *examined.findings))
    heads: dict[object, object] = {row.name: row.head for row in kept.journals}
    last = str(kept.journals[-1].name) if kept.journals else ""
    named_heads = [(last if name is None else name, version) for name, version in versions]
    return _salvaged(kept, examined, _short_heads(heads, named_heads), into, wanted.rest)


def _sound_commands(data: bytes) -> tuple[tuple[Command, ...], list[Finding]]:
    """Return the commands of a journal up to the first that is not sound, and what is wrong with that."""
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
        count = f"{report.sessions} session{'s' * (report.sessions != 1)}"
        lines.append(f"{printable(target)}: {count}, all as written\n")
    elif not report.findings:
        lines.append(
            f"{printable(target)}: every line is a command that can be carried out; a journal has no digests, so that"
            " none is missing or changed it cannot tell (a bundle can)\n"
        )
    return lines


def _plain(target: str, report: _Report) -> object:
    return {
        "target": target,
        "sessions": report.sessions,
        "sound": not report.findings,
        "chained": report.chained,
        "findings": [
            {
                "session": finding.journal,
                "version": finding.version,
                "fault": finding.fault,
                "reason": finding.reason,
            }
            for finding in report.findings
        ],
        "salvaged": [_plain_sound(sound) for sound in report.salvaged],
        "repaired": report.repaired,
        "left_out": [
            {"session": left.journal, "first": left.first, "last": left.last} for left in report.left_out
        ],
        "rest": report.rest,
    }


def _plain_sound(sound: Sound) -> dict[str, object]:
    carried = sound.carried
    return {
        "session": sound.name,
        "sound_up_to": sound.upto,
        "proved_from": sound.proved_from,
        "ends": sound.ends,
        "states": None if carried is None else {"from": carried.since, "to": carried.upto},
    }


# -- writing what is sound, and the rest --------------------------------------------------------------


def place_of(given: str, *, stores: bool, files: bool) -> StoreName | InFile:
    """Return where a repaired copy is to be written, where nothing stands.

    Raises:
        Refused: it cannot be written there.
    """
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
    """Write what is sound to a new file, which appears when it is complete, or into an empty database.

    Raises:
        Refused: something stands there, or it cannot be written; of a new file nothing is left then.
    """
    if isinstance(into, InFile):
        return _into_bundle(kept, examined, into.path)
    path = into.file
    if path is None:
        return _into_database(kept, examined, into)
    with _beside(path) as part:
        try:
            with open_store(f"sqlite:///{part}") as store:
                left = repair(kept, examined, store)
        except StoreError as error:
            raise Refused(message_of(into, error).replace(str(part), str(path))) from None
        move_new(part, path)
    return left


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give an empty file of the same name in a private folder beside its place."""
    try:
        with private_folder(_PREFIX, path.absolute().parent) as folder:
            part = folder / path.name
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            yield part
    except OSError as problem:
        raise Refused(f"{path}: {problem.strerror}") from None


def _into_database(kept: Kept, examined: Examined, into: StoreName) -> tuple[LeftOut, ...]:
    with opened(into, make=True) as store:
        names = {journal.name for journal in store.journals()}
        if UNFINISHED in names:
            raise Refused(f"{into}: a repair into it was cut short; drop its sessions, and try again")
        if names:
            raise Refused(f"{into}: there are sessions in it already; name an empty store")
        return repair(kept, examined, store)


def _into_bundle(kept: Kept, examined: Examined, path: Path) -> tuple[LeftOut, ...]:
    """Write the last session of a bundle of which anything is sound, with what it reads through."""
    sound = [each for each in examined.sound if each.upto]
    if not sound:
        raise Refused(f"{path}: nothing is sound that could be written there")
    with MemoryStore() as store:
        left = repair(kept, examined, store)
        write_new(path, encode_bundle(pack(store, sound[-1].name, lineage=True)))
    return left


def write_rest(kept: Kept, examined: Examined, path: Path) -> None:
    """Write to a new file what no session can hold.

    Raises:
        Refused: something stands there, or it cannot be written.
    """
    write_new(path, rest_of(kept, examined))


@contextmanager
def removing_what_is_left() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block by an exception, so that what it made for a while is removed.

    The process then ends with status 128 and the signal's number, as a shell says it. In a thread that is not the
    main one nothing is changed: only that one hears of signals.
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
