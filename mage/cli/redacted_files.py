"""Texts that match, taken out of a file: a journal or a bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs
from returns.pipeline import is_successful

from mage.bundle import Bundle, Bundled, decode_bundle, encode_bundle, is_bundle
from mage.cli.files import read_bytes, replace_file
from mage.cli.naming import InFile
from mage.cli.output import Refused
from mage.cli.readings import Place, matches, redacted_records
from mage.cli.sessions import load_commands, recorded
from mage.codec import encode_journal
from mage.engine import Command, State
from mage.stores import command_of, fold

__all__ = ["redact_file"]


def redact_file(file: InFile, pattern: re.Pattern[str], *, dry_run: bool) -> tuple[list[Place], list[str]]:
    """Redact a journal or a bundle; return where it matched, and the names in it that do."""
    data = read_bytes(file.path)
    names: list[str] = []
    if is_bundle(data):
        bundle, places = _redact_bundle(file, data, pattern)
        lines = encode_bundle(bundle)
        names = [journal.name for journal in bundle.journals if matches(pattern, journal.name)]
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
        changed, found = redacted_records(journal.name, journal.records, pattern)
        places.extend(found)
        records = tuple([changed.get(record.version, record) for record in journal.records])
        journals.append(attrs.evolve(journal, records=records))
    return Bundle(tuple(journals)), places


def _redact_journal(file: InFile, pattern: re.Pattern[str]) -> tuple[Iterator[bytes], list[Place]]:
    records = recorded(file, load_commands(file))
    changed, places = redacted_records(file.path.stem, records, pattern)
    commands: list[Command] = []
    state: State | None = None
    for record in records:
        now = changed.get(record.version, record)
        commands.append(command_of(state, now))
        state = fold([now], state)
    return encode_journal(commands), places
