"""A session named on the command line: the path of a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from returns.pipeline import is_successful

from mage.cli.files import read_bytes
from mage.cli.output import Refused
from mage.codec import decode_journal
from mage.engine import Command, State, replay
from mage.trajectories import detect

__all__ = ["Session", "load_commands", "state_at"]

Session = Annotated[
    Path, typer.Argument(help="A journal: the path of a .jsonl file.", readable=False, show_default=False)
]
_LARGEST_TO_LOOK_AT = 20_000_000  # bytes


def load_commands(session: Path) -> tuple[Command, ...]:
    """Return the commands of a journal.

    Raises:
        Refused: the file cannot be read, or is no sound journal; says where.
    """
    data = read_bytes(session)
    decoded = decode_journal(data)
    if not is_successful(decoded):
        raise Refused(f"{session}: {decoded.failure()}{_hint(data)}")
    return decoded.unwrap()


def _hint(data: bytes) -> str:
    """Return what to do where a trace was given as a session."""
    if len(data) > _LARGEST_TO_LOOK_AT or detect(data) in (None, "journal"):
        return ""
    return "; is this a trace? mage replay FILE --out SESSION.jsonl makes a session of it"


def state_at(session: Path, version: int | None = None) -> State:
    """Return the state that a journal leads to, at its end or at an earlier version.

    Raises:
        Refused: the journal is unsound, refuses one of its commands, or has no such version.
    """
    commands = load_commands(session)
    if version is not None and not 1 <= version <= len(commands):
        raise Refused(f"{session}: there is no version {version}; it has versions 1 to {len(commands)}")
    replayed = replay(commands[:version])
    if not is_successful(replayed):
        raise Refused(f"{session}: {replayed.failure()}")
    return replayed.unwrap()
