"""What `mage redact` says of what it found: where it was, and never what it was."""

from __future__ import annotations

import re
from typing import Final

from mage.cli.naming import InFile, InStore, Target, spelled
from mage.cli.output import printable
from mage.cli.readings import Place, matches

__all__ = ["lines_of_places", "lines_of_runs", "plain_redaction", "withheld"]

_ELSEWHERE: Final = (
    "the server's write-ahead log, its archives, replicas and backups keep the bytes until they are recycled"
)
_WITHHELD: Final = "[...]"


def withheld(name: str, pattern: re.Pattern[str]) -> str:
    """Return a name as every command takes it; where it matches, without what does, and so taken by none."""
    return printable(_without(name, pattern)) if matches(pattern, name) else spelled(name)


def _without(name: str, pattern: re.Pattern[str]) -> str:
    """Return a name without what matches in it; nothing of it where it still does, as JSON reads it."""
    left = pattern.sub("", name)
    return _WITHHELD if matches(pattern, left) else pattern.sub(_WITHHELD, name)


def _elsewhere(target: Target) -> str | None:
    """Return where the bytes stay beyond our reach; None where they are gone from all that we write."""
    if isinstance(target, InFile):
        return None
    store = target.store if isinstance(target, InStore) else target
    return _ELSEWHERE if store.url.startswith("postgresql:") else None


def lines_of_places(
    target: Target, places: list[Place], pattern: re.Pattern[str], *, dry_run: bool
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
        "could not be gone on with: its tape would be" if dry_run else "cannot be gone on with: its tape was"
    )
    return [
        f"the run of {withheld(name, pattern)} {cannot} redacted; fork it, and run the fork\n"
        for name in runs
    ]


def _target(target: Target, pattern: re.Pattern[str]) -> str:
    if isinstance(target, InStore) and matches(pattern, target.name):
        return f"{target.store}#{_without(target.name, pattern)}"
    return str(target)


def plain_redaction(
    target: Target, places: list[Place], names: list[str], pattern: re.Pattern[str], *, dry_run: bool
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
