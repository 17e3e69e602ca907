"""Our own journals, as any other trace: the codec reads them, the engine says whether they replay."""

from __future__ import annotations

from typing import Final

from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from mage.codec import decode_journal
from mage.codec.journals import JOURNAL_FORMAT
from mage.engine import Compress, EmptyJournal, replay
from mage.trajectories.fields import Json
from mage.trajectories.trajectory import TraceError, Trajectory

__all__ = ["is_journal", "load_journal"]

_HEADER: Final = 1  # lines before the first command


def is_journal(first: Json) -> bool:
    """Tell whether a file's first line is that of a journal: its header, or a command whose header is lost."""
    return isinstance(first, dict) and (first.get("format") == JOURNAL_FORMAT or "op" in first)


def load_journal(data: bytes, file: str, stem: str) -> Result[tuple[Trajectory, ...], TraceError]:
    """Return one trajectory, named `stem`. Cost: that of decoding and of a replay."""
    decoded = decode_journal(data)
    if not is_successful(decoded):
        error = decoded.failure()
        place = error.path.removeprefix("$").removeprefix(".")
        line = f"line {error.line}" if error.line is not None else "$"
        return Failure(TraceError(file, f"{line}, {place}" if place else line, error.problem, error.good))
    commands = decoded.unwrap()
    replayed = replay(commands)
    if not is_successful(replayed):
        refused = replayed.failure()
        if isinstance(refused, EmptyJournal):
            return Failure(TraceError(file, "$", str(refused), 0))
        line = f"line {refused.version + _HEADER}"
        return Failure(TraceError(file, line, str(refused.reason), refused.version - 1))
    summarized = any(isinstance(command, Compress) for command in commands)
    return Success((Trajectory(stem, commands, summarized),))
