"""How a run is found in a store: its session, its tape, and where it was begun."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from mage.agent.asks import Counts
from mage.agent.policy import Policy
from mage.agent.reel import Recorded
from mage.agent.tape import TAPE_TASK, BadTape, TapeEntry, entries_of
from mage.engine import Command, Retext, Revise, State, Step, StepId, SummaryId, apply
from mage.session import Entry
from mage.tokens import ENCODINGS, EstimateCounter, ExactCounter, TokenCounter

__all__ = [
    "BEGAN",
    "PROGRAM",
    "Begun",
    "began",
    "begun",
    "counter_named",
    "counts_of",
    "policy_for",
    "policy_of",
    "recorded",
    "tape_entries",
]

BEGAN: Final = "began"
PROGRAM: Final = 1
"""The version of the program: it rises when a tape of before would no longer be followed."""


def began(version: int, policy: Policy, counter: TokenCounter, overhead: int) -> dict[str, object]:
    """Return the first entry of a tape."""
    return {
        "program": PROGRAM,
        "version": version,
        "policy": policy.document(),
        "counter": counter.name,
        "overhead": overhead,
    }


@final
@attrs.frozen
class Begun:
    """The first entry of a tape, understood.

    Attributes:
        version: of the session, at which the run was begun.
        policy: that it was begun with.
        counter: what counts its tokens.
        overhead: tokens of the system prompt and the tool schemas, when it was begun.
    """

    version: int
    policy: Policy
    counter: TokenCounter
    overhead: int


def begun(name: str, entries: Sequence[TapeEntry]) -> Begun:
    """Return what the first entry of a tape says.

    Raises:
        BadTape: it says nothing of the kind, or was made by a program that is not known here.
    """
    first = entries[0]
    if first.kind != BEGAN or not isinstance(first.data.get("version"), int):
        raise BadTape(f"the journal {name!r} is no tape of a run: it does not begin like one")
    if first.data.get("program") != PROGRAM:
        raise BadTape(
            f"the tape {name!r} was made by another version of mage: fork the session and run the fork"
        )
    counter = counter_named(str(first.data.get("counter")))
    return Begun(
        first.data["version"], Policy.of(first.data.get("policy", {})), counter, first.data["overhead"]
    )


def counter_named(name: str) -> TokenCounter:
    """Return the counter of this name: a run keeps the one it was begun with, so that it is told the same again.

    Raises:
        MissingTokenizer: it needs a package that is not installed.
        BadTape: there is none.
    """
    if name in ENCODINGS:
        return ExactCounter(name)
    if name == EstimateCounter().name:
        return EstimateCounter()
    raise BadTape(f"the tape counts tokens as {name!r}, which nobody here can")


def tape_entries(name: str, task: str, steps: Sequence[Step]) -> Sequence[TapeEntry]:
    """Return the entries of a journal that should be a tape.

    Raises:
        BadTape: it is none.
    """
    if task != TAPE_TASK:
        raise BadTape(
            f"the journal {name!r} is no tape of a run, but a session: choose another name for yours"
        )
    return entries_of(steps)


def counts_of(commands: Iterable[Command]) -> Counts:
    """Return how often a journal goes back and writes texts anew (D13). Cost: O(replaying it)."""
    state: State | None = None
    revisions: dict[StepId, int] = {}
    retexts: dict[SummaryId, int] = {}
    for command in commands:
        state = apply(state, command).unwrap()
        if isinstance(command, Revise):
            boundary = StepId(command.boundary)
            revisions[boundary] = revisions.get(boundary, 0) + 1
        elif isinstance(command, Retext):
            summary = state.tree.summary_head
            retexts[summary] = retexts.get(summary, 0) + 1
    return Counts(revisions, retexts)


def recorded(
    first: Begun, state: State, before: Sequence[Entry], after: Sequence[Entry], entries: Sequence[TapeEntry]
) -> Recorded:
    """Return what is there of a run.

    Args:
        first: what its tape begins with.
        state: of the session at that version.
        before: the commands up to that version.
        after: the commands after it.
        entries: the whole tape.
    """
    counts = counts_of(entry.command for entry in before)
    return Recorded(first.version, state, counts, after, entries[1:], first.policy)


def policy_of(found: Recorded) -> Policy:
    """Return the policy that a run has had last."""
    changed = (entry for entry in reversed(found.tape) if entry.kind == "policy")
    return next((Policy.of(entry.data) for entry in changed), found.policy)


def policy_for(given: Policy | None, *, judged: bool, had: Policy | None = None) -> Policy | None:
    """Return the policy of an agent, None for the one that its run `had`.

    One that has no judge cannot maintain, so its summaries are accepted openly.
    """
    if judged:
        return given
    return attrs.evolve(given or had or Policy(), maintain=False)
