"""Our own journals, as any other trace: the codec reads them, the engine says whether they replay."""

from __future__ import annotations

from typing import Final

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from mage.codec import DecodeError, decode_journal
from mage.codec.journals import JOURNAL_FORMAT
from mage.engine import Compress, EmptyJournal, replay
from mage.trajectories.fields import Json
from mage.trajectories.trajectory import Entry, Made, TraceError, Trajectory, made_of

__all__ = ["is_journal", "load_journal", "undecoded"]

_HEADER: Final = 1  # lines before the first command


def is_journal(first: Json) -> bool:
    """Tell whether a file's first line is that of a journal: its header, or a command whose header is lost."""
    return isinstance(first, dict) and (first.get("format") == JOURNAL_FORMAT or "op" in first)


def undecoded(file: str, error: DecodeError) -> TraceError:
    """Return what a file of ours that cannot be read is refused with."""
    place = error.path.removeprefix("$").removeprefix(".")
    line = f"line {error.line}" if error.line is not None else "$"
    return TraceError(file, f"{line}, {place}" if place else line, error.problem, error.good)


def load_journal(data: bytes, file: str, stem: str) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return one trajectory, named `stem`. Cost: that of decoding and of a replay."""
    decoded = decode_journal(data)
    if not is_successful(decoded):
        return Failure(undecoded(file, decoded.failure()))
    commands = decoded.unwrap()
    replayed = replay(commands)
    if not is_successful(replayed):
        refused = replayed.failure()
        if isinstance(refused, EmptyJournal):
            return Failure(TraceError(file, "$", str(refused), 0))
        line = f"line {refused.version + _HEADER}"
        return Failure(TraceError(file, line, str(refused.reason), refused.version - 1))
    summarized = any(isinstance(command, Compress) for command in commands)
    made = [
        Made(command, (Entry(f"line {place + 1 + _HEADER}", place),))
        for place, command in enumerate(commands)
    ]
    return Success((made_of(stem, made, summarized=summarized),))
