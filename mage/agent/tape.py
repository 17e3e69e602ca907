"""The tape of a run: every answer that its program was given, beside the journal of its session.

A run's session holds what was done; its tape holds what was answered, and what was intended before it was
done. Both are journals of one store. The tape of the session `monday` is the journal `monday.run`: a session
itself, whose steps are the entries (kind and JSON), so that all that holds for sessions holds for it too. The
program can be run again over the tape, without a model, to the same state (`mage.agent.durable`).

    began        a run was begun at a version of the session: its policy, and what counts its tokens
    decided      the model's answer, or why there is none; so for summarized, judged, verdict (of a judge that
                 was not waited for), started and restored (of the world)
    acting       an action is about to be performed; what came of it is the step that is grown next, or act_failed
    again        an action that was interrupted is about to be performed once more
    restoring    the world is about to be brought back
    overtaken    a command was not recorded, because somebody else had written
    taken        what somebody else has written was taken, up to a version
    policy       another policy is in force from here on
    remembered   something else is kept from here on for whoever resumes the run
    resumed      the world was brought to where the run stood
    ended        how the run ended, unless it was resumed
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, final

import attrs

from mage.engine import Step
from mage.engine.errors import MageError

__all__ = ["TAPE", "TAPE_TASK", "BadTape", "TapeDiverged", "TapeEntry", "encoded", "entries_of", "tape_name"]

TAPE: Final = ".run"
TAPE_TASK: Final = "The tape of a run of mage: what was asked and answered beside the session of this name."


@final
class BadTape(MageError, ValueError):
    """What should be a tape is none, or an entry of it cannot be read; the message says which and why."""


@final
class TapeDiverged(MageError):
    """The program asks something else than the tape answers.

    It was recorded by another version of mage, or its session has lost commands. Begin a new run, in a fork.
    """

    def __init__(self, place: int, asked: str, found: str) -> None:
        self.place = place
        self.asked = asked
        self.found = found
        super().__init__(place, asked, found)

    def __str__(self) -> str:
        return (
            f"entry {self.place + 1} of the tape is {self.found!r}, where the run asks for {self.asked!r}: it was"
            " made by another version of mage, or its session has lost commands. Fork the session and run the fork"
        )


@final
@attrs.frozen
class TapeEntry:
    """One entry.

    Attributes:
        kind: what it is, as above.
        data: its JSON object.
    """

    kind: str
    data: Mapping[str, Any]


def tape_name(session: str) -> str:
    """Return the name of the tape of a session."""
    return f"{session}{TAPE}"


def encoded(data: Mapping[str, object]) -> str:
    """Return the JSON of an entry: ASCII, keys sorted."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def entries_of(steps: Iterable[Step]) -> Sequence[TapeEntry]:
    """Return the entries of a tape from its steps. Cost: O(size).

    Raises:
        BadTape: a step is no entry.
    """
    return [_entry_of(step) for step in steps]


def _entry_of(step: Step) -> TapeEntry:
    try:
        data = json.loads(step.observation)
    except (ValueError, RecursionError):  # nested deeper than anybody has written
        data = None
    if not isinstance(data, dict):
        raise BadTape(
            f"entry {step.id} of the tape ({step.action[:40]!r}) is no JSON object: it was redacted, or is no tape"
        )
    return TapeEntry(step.action, data)
