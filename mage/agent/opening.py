"""How a run is found in a store: its session, its tape, and where it was begun."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

import attrs

from mage.agent.forms import Began
from mage.agent.reel import Recorded
from mage.agent.spelling import policy_in, understood
from mage.agent.tape import TAPE_TASK, BadTape, TapeEntry, entries_of
from mage.effects import Capabilities
from mage.engine import State, Step
from mage.memory.journal import BadEffect, Tally
from mage.memory.policy import Policy
from mage.session import Entry
from mage.tokens import ENCODINGS, EstimateCounter, ExactCounter, TokenCounter

__all__ = [
    "BEGAN",
    "PROGRAM",
    "Begun",
    "began",
    "begun",
    "counter_named",
    "first_policy",
    "next_policy",
    "policy_of",
    "recorded",
    "remembered_by",
    "require_no_tape",
    "tally_of",
    "tape_entries",
]

BEGAN: Final = "began"
PROGRAM: Final = 2
"""The version of the program: it rises when a tape of before would no longer be followed."""


def began(
    version: int,
    policy: Policy,
    counter: TokenCounter,
    overhead: int,
    capabilities: Capabilities,
    *,
    judged: bool,
    remembered: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return the first entry of a tape."""
    said = {
        "remembered": dict(remembered or {}),
        "tools": [attrs.asdict(tool, recurse=False) for tool in capabilities.tools],
        "manual": capabilities.manual,
    }
    return {
        "program": PROGRAM,
        "version": version,
        "policy": policy.document(),
        "counter": counter.name,
        "overhead": overhead,
        "judged": judged,
        **{name: value for name, value in said.items() if value},
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
        judged: whether it was begun with a judge.
        introduced: what the model was told of the environment: its tools and its manual.
        remembered: what was kept for whoever resumes the run, when it was begun.
    """

    version: int
    policy: Policy
    counter: TokenCounter
    overhead: int
    judged: bool = True
    introduced: Capabilities = attrs.field(factory=Capabilities)
    remembered: Mapping[str, object] = attrs.field(factory=dict)


def begun(name: str, entries: Sequence[TapeEntry], *, counter: TokenCounter | None = None) -> Begun:
    """Return what the first entry of a tape says; `counter` counts, if it is the one that is named there.

    Raises:
        BadTape: it says nothing of the kind, or was made by a program that is not known here.
    """
    if not entries:
        raise BadTape(
            f"the tape {name!r} is empty: somebody went back in it; fork the session and run the fork"
        )
    first = entries[0]
    if first.kind != BEGAN:
        raise BadTape(f"the journal {name!r} is no tape of a run: it does not begin like one")
    if first.data.get("program") != PROGRAM:
        raise BadTape(
            f"the tape {name!r} was made by another version of mage: fork the session and run the fork"
        )
    said: Began = understood(BEGAN, first.data)
    if counter is None or counter.name != said.counter:
        counter = counter_named(said.counter)
    introduced = Capabilities(tools=said.tools, manual=said.manual)
    return Begun(
        said.version,
        policy_in(said.policy),
        counter,
        said.overhead,
        said.judged,
        introduced,
        said.remembered,
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
    raise BadTape(
        f"the tape counts tokens as {name!r}: give the agent that counter, as when the run was begun"
    )


def require_no_tape(name: str, task: str) -> None:
    """Refuse to run an agent in a session that is the tape of another one.

    Raises:
        BadTape: it is one.
    """
    if task == TAPE_TASK:
        raise BadTape(f"{name!r} is the tape of a run: name the session that it belongs to")


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


def tally_of(entries: Iterable[Entry]) -> Tally:
    """Return what a journal says beside its state. Cost: O(replaying it).

    Raises:
        BadTape: what is kept beside a step is no effect.
    """
    tally = Tally()
    try:
        tally.add_all(entries, None)
    except BadEffect as error:
        raise BadTape(str(error)) from error
    return tally


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
    tally = tally_of(before)
    return Recorded(
        first.version,
        state,
        tally.counts,
        after,
        entries[1:],
        first.policy,
        tally.effects,
        first.remembered,
    )


def policy_of(found: Recorded) -> Policy:
    """Return the policy that a run has had last."""
    changed = (entry for entry in reversed(found.tape) if entry.kind == "policy")
    return next((policy_in(entry.data) for entry in changed), found.policy)


def remembered_by(found: Recorded) -> Mapping[str, object]:
    """Return what was kept last for whoever resumes a run."""
    kept = (entry.data for entry in reversed(found.tape) if entry.kind == "remembered")
    return next(kept, found.remembered)


def first_policy(given: Policy | None, *, judged: bool) -> Policy:
    """Return the policy that a run begins with; without a judge its summaries are accepted openly."""
    policy = given or Policy()
    return policy if judged else attrs.evolve(policy, maintain=False)


def next_policy(given: Policy | None, had: Policy, first: Begun, *, judged: bool) -> Policy:
    """Return the policy that a run goes on with: the given one, else the one that it had.

    Whether it maintains depends on whether there is a judge now; one that was begun without a judge, and has
    one now, maintains from here on.
    """
    if not judged:
        return attrs.evolve(given or had, maintain=False)
    if given is not None or had.maintain:
        return given or had
    return attrs.evolve(had, maintain=first.policy.maintain or not first.judged)
