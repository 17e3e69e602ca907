"""`mage doctor`: look at everything that a store or a file keeps, name what is wrong, change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, final

import attrs
import typer
from returns.pipeline import is_successful

from mage.bundle import decode_bundle, is_bundle
from mage.cli.files import exists, read_bytes, require_absent, write_new
from mage.cli.naming import InFile, InStore, StoreName, Target, as_name, parse_store
from mage.cli.output import AsJson, Refused, print_json, print_text, printable
from mage.cli.stores import file_of, opened, said_of
from mage.codec import decode_journal, encode_journal
from mage.engine import Command, replay
from mage.session.snapshots import unpack
from mage.stores import StoreError
from mage.stores.doctor import Examined, Finding, Kept, LeftOut, examine, kept_at, repair

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("doctor")(doctor)


@final
@attrs.frozen
class _Report:
    """What was found, and where a repaired copy is.

    Attributes:
        sessions: how many were looked at.
        findings: what is wrong.
        repaired: the copy that was asked for.
        left_out: what is not in it.
    """

    sessions: int
    findings: tuple[Finding, ...]
    repaired: str | None = None
    left_out: tuple[LeftOut, ...] = ()


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
    as_json: AsJson = False,
) -> None:
    """Look at every record, head, fork and snapshot; name each fault with its record and its reason.

    Nothing is changed in place. Exit status: 0 where all is as it was written, 1 where anything is not.
    """
    if isinstance(target, InFile):
        report = _of_file(target, expect_head or [], repair_to)
    else:
        report = _of_store(target, expect_head or [], repair_to)
    if as_json:
        print_json(_plain(str(target), report))
    else:
        print_text("".join(_lines(str(target), report)))
    if report.findings:
        raise typer.Exit(1)


def _of_store(target: InStore | StoreName, expected: list[str], repair_to: str | None) -> _Report:
    store = target.store if isinstance(target, InStore) else target
    wanted = [_expected(target, each) for each in expected]
    path = file_of(store)
    if path is not None and not exists(path):
        raise Refused(f"{store}: there is no such file")
    into = None if repair_to is None else parse_store(repair_to)
    if into is not None and (place := file_of(into)) is not None:
        require_absent(place)
    try:
        with kept_at(store.url) as kept:
            examined = examine(kept, unpack=unpack)
            if isinstance(target, InStore) and target.name not in {name for name, _ in wanted}:
                wanted.append((target.name, 0))
            heads = {row.name: row.head for row in kept.journals}
            findings = (*examined.findings, *_short_heads(heads, wanted))
            left = () if into is None else _repaired(kept, examined, into)
            return _Report(len(kept.journals), findings, None if into is None else str(into), left)
    except StoreError as error:
        raise Refused(said_of(store, error)) from None


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


def _repaired(kept: Kept, examined: Examined, into: StoreName) -> tuple[LeftOut, ...]:
    with opened(into, make=True) as store:
        if store.journals():
            raise Refused(f"{into}: there are sessions in it already; name an empty store")
        return repair(kept, examined, store)


def _of_file(file: InFile, expected: list[str], repair_to: str | None) -> _Report:
    data = read_bytes(file.path)
    if is_bundle(data):
        if repair_to is not None:
            raise Refused(f"{file}: a bundle is read as a whole or not at all; export it again")
        return _of_bundle(data, expected)
    commands, findings = _sound_commands(data)
    for each in expected:
        if len(commands) < _version(each):
            reason = f"version {each} is expected, and {len(commands)} are there and sound"
            findings.append(Finding(None, len(commands) + 1, "lost tail", reason))
    if repair_to is not None:
        write_new(Path(repair_to), encode_journal(commands))
    return _Report(1, tuple(findings), repair_to)


def _of_bundle(data: bytes, expected: list[str]) -> _Report:
    split = [each.rpartition("@") for each in expected]
    wanted = [(as_name(name) if mark else None, _version(version)) for name, mark, version in split]
    decoded = decode_bundle(data)
    if not is_successful(decoded):
        return _Report(0, (Finding(None, None, "damaged bundle", str(decoded.failure())),))
    bundle = decoded.unwrap()
    heads: dict[object, object] = {journal.name: journal.head.version for journal in bundle.journals}
    named = [(bundle.session.name if name is None else name, version) for name, version in wanted]
    return _Report(len(bundle.journals), tuple(_short_heads(heads, named)))


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
    if report.repaired is not None:
        lines.append(f"what is sound was written to {printable(report.repaired)}\n")
    lines += [f"not in it: {printable(str(left))}\n" for left in report.left_out]
    if not report.findings:
        count = f"{report.sessions} session{'s' * (report.sessions != 1)}"
        lines.append(f"{printable(target)}: {count}, all as written\n")
    return lines


def _plain(target: str, report: _Report) -> object:
    return {
        "target": target,
        "sessions": report.sessions,
        "sound": not report.findings,
        "findings": [
            {
                "session": finding.journal,
                "version": finding.version,
                "fault": finding.fault,
                "reason": finding.reason,
            }
            for finding in report.findings
        ],
        "repaired": report.repaired,
        "left_out": [
            {"session": left.journal, "first": left.first, "last": left.last} for left in report.left_out
        ],
    }
