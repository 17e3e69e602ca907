"""The exact rerun: the program of the agent once more over the tape of a run, offline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, final

import attrs

from mage.agent.durable import Durable
from mage.agent.loop import program
from mage.agent.opening import Begun, begun, recorded, tape_entries
from mage.agent.performing import TellHooks
from mage.agent.reel import Recorded, TapeEnds
from mage.agent.rerunning.watching import Watcher, watched
from mage.agent.spelling import policy_in
from mage.agent.tape import BadTape, TapeEntry, tape_name
from mage.codec import encode_tree
from mage.effects.program import Ask, drive
from mage.engine import State
from mage.memory.outcomes import Outcome, Totals
from mage.memory.policy import Policy
from mage.memory.requests import End, Operate
from mage.memory.state import Run
from mage.render import Meter
from mage.session import Entry, Session
from mage.stores import JournalStore, UnknownJournal, open_store

__all__ = [
    "Found",
    "Rerun",
    "found_run",
    "has_tape",
    "policy_of",
    "remembered",
    "rerun",
    "rerun_found",
    "store_at",
]


@final
@attrs.frozen
class Rerun:
    """What a run comes to when its program is run again over its tape.

    Attributes:
        outcome: how it ended; None where its tape ends before it does, because it was interrupted.
        wanted: where the tape ends, the kind of entry that would come next, as in `mage.agent.tape`; else empty.
        state: where it stands.
        version: of the session, at that state.
        unread: how many commands the session holds after that, by others.
        differs: the versions that the program makes of other commands than the journal holds. Empty but for a
            session that was redacted, or meddled with.
        same: whether nothing differs and `encode_tree` of the state gives the bytes of the session's own.
        totals: what it did and took.
        policy: in force at its end.
        entries: how many entries the tape has.
    """

    outcome: Outcome | None
    wanted: str
    state: State
    version: int
    unread: int
    differs: tuple[int, ...]
    same: bool
    totals: Totals
    policy: Policy
    entries: int


def rerun(store: str | JournalStore, name: str) -> Rerun:
    """Run a run again, offline: nobody is asked, nothing is written (issue 5, replay).

    Args:
        store: a URL or a store.
        name: of the session.

    Returns:
        What it comes to. Cost: O(tape + journal), each record verified.

    Raises:
        UnknownJournal: there is no such session.
        BadTape: it has no tape, or one that cannot be read.
        TapeDiverged: the program asks something else than the tape answers; says where.
    """
    with store_at(store) as kept, found_run(kept, name) as found:
        return rerun_found(found)


def has_tape(store: JournalStore, name: str) -> bool:
    """Tell whether a session has been run by an agent."""
    try:
        store.head(tape_name(name))
    except UnknownJournal:
        return False
    return True


def policy_of(store: JournalStore, name: str) -> Policy | None:
    """Return the policy that a run would go on with; None where there is no such run. Cost: O(tape).

    Raises:
        BadTape: its tape cannot be read.
    """
    entries = _entries(store, name)
    if not entries:
        return None
    policies = [policy_in(entry.data) for entry in entries if entry.kind == "policy"]
    return policies[-1] if policies else begun(tape_name(name), entries).policy


def remembered(store: JournalStore, name: str) -> Mapping[str, object] | None:
    """Return what `Agent.run(..., remember=...)` has kept last with a run; None where there is no such run.

    Cost: O(tape).

    Raises:
        BadTape: its tape cannot be read.
    """
    entries = _entries(store, name)
    if not entries:
        return None
    kept = [entry.data for entry in entries if entry.kind == "remembered"]
    return kept[-1] if kept else begun(tape_name(name), entries).remembered


def _entries(store: JournalStore, name: str) -> Sequence[TapeEntry]:
    """Return the tape of a run; nothing where there is none."""
    if not has_tape(store, name):
        return ()
    with Session.open(store, tape_name(name), wait=False) as tape:
        return tape_entries(tape.name, tape.tree.task, tape.state().raw)


@contextmanager
def store_at(store: str | JournalStore) -> Iterator[JournalStore]:
    """Open a store that is named by its URL; one that is open stays so."""
    if not isinstance(store, str):
        yield store
        return
    with open_store(store) as opened:
        yield opened


@final
@attrs.frozen
class Found:
    """A run, as it is kept.

    Attributes:
        session: its session.
        first: what its tape begins with.
        recorded: what is there of it.
    """

    session: Session
    first: Begun
    recorded: Recorded


@contextmanager
def found_run(store: JournalStore, name: str) -> Iterator[Found]:
    """Open a run to be read.

    Raises:
        UnknownJournal, BadTape: see `rerun`.
    """
    with ExitStack() as stack:
        session = stack.enter_context(Session.open(store, name, wait=False, snapshot_every=None))
        if not has_tape(store, name):
            raise BadTape(
                f"the session {name!r} has no tape: no agent has run it (a fork or a copy takes none along)"
            )
        tape = stack.enter_context(Session.open(store, tape_name(name), wait=False, snapshot_every=None))
        entries = tape_entries(tape.name, tape.tree.task, tape.state().raw)
        if not entries:
            raise BadTape(f"the tape {tape.name!r} is empty: its run was interrupted before it began")
        first = begun(tape.name, entries)
        before = session.history(upto=first.version) if first.version > 1 else ()
        after = session.history(after=first.version) if session.version > first.version else ()
        state = session.at(first.version).phase
        yield Found(session, first, recorded(first, state, before, after, entries))


def rerun_found(found: Found, watching: Callable[[Durable], Watcher] | None = None) -> Rerun:
    """Run a run again that was opened; `watching` makes who hears of it, and may look where it stands."""
    durable = Durable(found.recorded, policy=None, repeatable=True, live=False)
    watcher = None if watching is None else watching(durable)
    run = Run(Meter(found.first.counter), found.first.overhead)
    comparing = _Comparing(durable, found.first.version, found.recorded.journal, watcher)
    wanted = ""
    outcome: Outcome | None
    try:
        outcome = drive(durable.run(watched(program(run), comparing)), _nobody)
    except TapeEnds as end:
        wanted = str(end)
        outcome = comparing.ended
    own = found.session.at(durable.version).phase
    return Rerun(
        outcome,
        wanted,
        durable.state,
        durable.version,
        found.session.version - durable.version,
        tuple(comparing.differs),
        not comparing.differs and encode_tree(durable.state) == encode_tree(own),
        run.totals,
        run.policy,
        len(found.recorded.tape) + 1,
    )


def _nobody(asked: Ask[Any]) -> object:
    """Answer what a run asks that must not go live: hooks heard it all before."""
    if isinstance(asked, TellHooks):
        return None
    raise AssertionError(f"a rerun has asked for {type(asked).__name__}")


@final
class _Comparing:
    """Compares the commands that a program gives with those of the journal: a durable run folds the latter."""

    def __init__(self, durable: Durable, base: int, journal: Sequence[Entry], other: Watcher | None) -> None:
        self.differs: list[int] = []
        self.ended: Outcome | None = None
        self._durable = durable
        self._base = base
        self._journal: Final = journal
        self._other = other
        self._version = base

    def asks(self, asked: Ask[Any], /) -> None:
        """See `Watcher`."""
        self._version = self._durable.version
        if self._other is not None:
            self._other.asks(asked)

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """See `Watcher`."""
        if isinstance(asked, Operate) and self._durable.version > self._version:
            if self._journal[self._version - self._base].command != asked.command:
                self.differs.append(self._durable.version)
        elif isinstance(asked, End):
            self.ended = asked.outcome
        if self._other is not None:
            self._other.answered(asked, answer)
