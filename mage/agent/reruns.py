"""A run, run again offline over its log: exactly; and the record of what was asked in it, for `what_if`.

from mage.agent import rerun

again = rerun("sqlite:///work.db", "monday")
assert again.same                            # the same state, byte for byte; nothing was asked
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final, Protocol, assert_never, cast, final

import attrs

from mage.agent.cursor import LogEnds, TellHooks
from mage.agent.log import BadRunLog, RecordedRun, RunNote, encoded, find_run
from mage.agent.loop import program
from mage.agent.replay import Replay
from mage.codec import encode_tree
from mage.effects import (
    Act,
    Begin,
    ChapterRequest,
    Decide,
    EffectError,
    FoldRequest,
    JudgeRequest,
    Observed,
    Restore,
    SummaryRequest,
)
from mage.effects.program import Ask, Program, drive
from mage.engine import State, Step, StepId, Tree
from mage.engine.ids import ROOT_STEP
from mage.memory.journal import UNCERTAIN
from mage.memory.policy import Outcome, Policy, Totals
from mage.memory.requests import (
    AskVerdict,
    BeginJudging,
    Effect,
    End,
    Operate,
    Overtaken,
    Request,
    Twice,
    Uncertain,
)
from mage.memory.state import Run
from mage.session import Entry, Session
from mage.stores import JournalStore, open_store


@final
@attrs.frozen
class Rerun:
    """What a run comes to when its program is run again over its log.

    Attributes:
        outcome: how it ended; None where its log ends before that, because it was interrupted.
        wanted: where the log ends, the kind of note that would come next, as in `mage.agent.log`; else empty.
        state: where it stands.
        version: of the session, at that state.
        unread: how many commands of other writers the session holds after that.
        differs: the versions at which the program gives other commands than the journal holds. Empty but for a
            session whose texts were redacted, or whose journal was changed.
        same: whether nothing differs and `encode_tree` of the state gives the bytes of the session's own.
        totals: what it did and took.
        policy: in force at its end.
        notes: how many notes its log has, without those of `remember`.
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
    notes: int


def rerun(store: str | JournalStore, name: str) -> Rerun:
    """Run a run again, offline: nothing is asked, nothing is written.

    Args:
        store: a URL or a store.
        name: of the session.

    Returns:
        What it comes to. Cost: O(journal), each record verified.

    Raises:
        UnknownJournal: there is no such session.
        BadRunLog: no agent has run it, or its log cannot be read.
        RunDiverged: the program asks for something else than the log holds; says where.
    """
    with store_at(store) as kept, open_run(kept, name) as found:
        return rerun_found(found)


def policy_of(store: JournalStore, name: str) -> Policy | None:
    """Return the policy that a run would go on with; None where no agent has run the session. Cost: O(journal).

    Raises:
        UnknownJournal: there is no such session.
        BadRunLog: its log cannot be read.
    """
    found = run_of(store, name)
    return None if found is None else found.last_policy


def remembered(store: JournalStore, name: str) -> Mapping[str, object] | None:
    """Return what `Agent.run(..., remember=...)` has kept last with a run; None where no agent has run the session.

    Cost: O(journal).

    Raises:
        UnknownJournal: there is no such session.
        BadRunLog: its log cannot be read.
    """
    found = run_of(store, name)
    return None if found is None else found.remembered


def remember(store: JournalStore, name: str, kept: Mapping[str, object]) -> None:
    """Keep a JSON object with the run of a session, as `Agent.run(..., remember=...)` does."""
    with Session.open(store, name, wait=False) as session:
        session.note("remembered", encoded(kept))


def run_of(store: JournalStore, name: str) -> RecordedRun | None:
    """Return the run of a session; None where no agent has run it. Cost: O(journal).

    Raises:
        UnknownJournal, BadRunLog: see `remembered`.
    """
    with Session.open(store, name, wait=False) as session:
        return find_run(session.log())  # which verifies every record


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
class OpenRun:
    """A run, opened to be read.

    Attributes:
        session: its session.
        recorded: the run, as the journal has it.
    """

    session: Session
    recorded: RecordedRun


@contextmanager
def open_run(store: JournalStore, name: str) -> Iterator[OpenRun]:
    """Open a run to be read.

    Raises:
        UnknownJournal, BadRunLog: see `rerun`.
    """
    with Session.open(store, name, wait=False, snapshot_every=None) as session:
        found = find_run(session.log())
        if found is None:
            raise BadRunLog(
                f"no agent has run the session {name!r}: its journal has no note that a run began"
            )
        yield OpenRun(session, found)


def rerun_found(found: OpenRun, watching: Callable[[Replay], Watcher] | None = None) -> Rerun:
    """Run an open run again; `watching` makes a watcher, which may look where the replay stands."""
    recorded = found.recorded
    replay = Replay(recorded, policy=None, repeatable=True, live=False)
    watcher = None if watching is None else watching(replay)
    run = Run(recorded.meter, recorded.overhead)
    comparing = _Comparing(replay, recorded, watcher)
    wanted = ""
    outcome: Outcome | None
    try:
        outcome = drive(replay.run(watched(program(run), comparing)), _offline)
    except LogEnds as end:
        wanted = str(end)
        outcome = comparing.ended
    own = found.session.at(replay.version).phase
    commands = [each for each in recorded.log if isinstance(each, Entry)]
    return Rerun(
        outcome,
        wanted,
        replay.state,
        replay.version,
        sum(each.version > replay.version for each in commands),
        tuple(comparing.differs),
        not comparing.differs and encode_tree(replay.state) == encode_tree(own),
        run.totals,
        run.policy,
        sum(isinstance(each, RunNote) for each in recorded.log) + 1,
    )


def _offline(asked: Ask[Any]) -> object:
    """Answer what a run asks that must not go live: the hooks heard it all before."""
    if isinstance(asked, TellHooks):
        return None
    raise AssertionError(f"a rerun has asked for {type(asked).__name__}")


# -- watching a program ---------------------------------------------------------------------------------------


class Watcher(Protocol):
    """Hears what a program of the agent asks."""

    def asks(self, asked: Ask[Any], /) -> None:
        """Hear what is asked, before it is answered."""
        ...

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """Hear the answer: a value, or the `EffectError` or `Overtaken` that was raised in its place."""
        ...


async def watched(program: Program[Outcome], watcher: Watcher) -> Outcome:
    """Pass on what a program asks, and tell a watcher."""
    try:
        asked = program.send(None)
        while True:
            watcher.asks(asked)
            try:
                answer = await asked
            except (EffectError, Overtaken) as error:
                watcher.answered(asked, error)
                asked = program.throw(error)
            else:
                watcher.answered(asked, answer)
                asked = program.send(answer)
    except StopIteration as stop:
        return cast("Outcome", stop.value)
    finally:
        program.close()


@final
class _Comparing:
    """Compares the commands that a program gives with those of the journal, which a replay folds."""

    def __init__(self, replay: Replay, recorded: RecordedRun, other: Watcher | None) -> None:
        self.differs: list[int] = []
        self.ended: Outcome | None = None
        self._replay = replay
        self._commands = {each.version: each.command for each in recorded.log if isinstance(each, Entry)}
        self._other = other
        self._version = replay.version

    def asks(self, asked: Ask[Any], /) -> None:
        """See `Watcher`."""
        self._version = self._replay.version
        if self._other is not None:
            self._other.asks(asked)

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """See `Watcher`."""
        version = self._replay.version
        if isinstance(asked, Operate) and version > self._version:
            if self._commands[version] != asked.command:
                self.differs.append(version)
        elif isinstance(asked, End):
            self.ended = asked.outcome
        if self._other is not None:
            self._other.answered(asked, answer)


# -- the record of a run ----------------------------------------------------------------------------------------
#
# Two questions are the same
#
#     to the model        if S, the boundaries, the notices and whether there is something to compress are; the room
#                         that a mark leaves is left out, so that another mark alone asks nobody; so is the notice
#                         that the run was interrupted at an action, and so are tools and manual, which are the same
#                         in every question of a run
#     to judge, summarizer   if the whole requests are
#     to the environment  if the paths from the root are, as actions and observations, and so is the action; for
#                         going back, if also the steps that are left are
#
# Answers come in the order in which they were given. Those of a model, a judge or a summarizer each come once,
# for it may answer otherwise when it is asked again; an environment goes on giving the last that it gave at this place.

_BEGINNING: Final = b""


@final
class Paths:
    """Digests of the paths of one tree. Its nodes never change, so each is reckoned once."""

    def __init__(self) -> None:
        self._known: dict[StepId, bytes] = {ROOT_STEP: _BEGINNING}

    def to(self, tree: Tree, step: StepId) -> bytes:
        """Return the digest of the path from the root to a step. Cost: O(steps not seen before)."""
        todo: list[Step] = []
        while step not in self._known:
            todo.append(tree.step(step))
            step = todo[-1].parent
        digest = self._known[step]
        for each in reversed(todo):
            digest = self._known[each.id] = _on(digest, each)
        return digest


def _on(digest: bytes, step: Step) -> bytes:
    return sha256(digest + repr((step.action, step.observation)).encode()).digest()


def _along(path: Iterable[Step]) -> bytes:
    digest = _BEGINNING
    for step in path:
        if step.id != ROOT_STEP:
            digest = _on(digest, step)
    return digest


def question(request: Request, tree: Tree, paths: Paths) -> Hashable:
    """Return what makes a question the same as another, as a value that can be looked up.

    Args:
        request: the question.
        tree: where it is asked.
        paths: of that tree.
    """
    match request:
        case Decide(shown, boundaries, notices, may_compress, looked=looked):
            told = tuple(
                [(notice.kind, notice.text, notice.said) for notice in notices if notice.kind != "uncertain"]
            )
            return (Decide, shown, boundaries, told, may_compress, looked)
        case JudgeRequest() | FoldRequest() | SummaryRequest() | ChapterRequest():
            return request
        case Begin():
            return Begin
        case Act(action, after):
            return (Act, paths.to(tree, after), action)
        case Restore(path, plan):
            left = tuple([(undo.step.action, undo.step.observation) for undo in plan])
            return (Restore, _along(path), left)
        case _:
            assert_never(request)


@final
class Record:
    """Answers by question. An answer is a value, or the `EffectError` that stood for it."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, deque[object]] = {}

    def keep(self, asked: Hashable, answer: object) -> None:
        """Put an answer behind those that were given to this question before."""
        self._answers.setdefault(asked, deque()).append(answer)

    def drop_last(self, asked: Hashable) -> None:
        """Forget the last answer to a question."""
        answers = self._answers[asked]
        answers.pop()
        if not answers:
            del self._answers[asked]

    def take(self, asked: Hashable, *, again: bool = False) -> object | None:
        """Return the next answer to a question, None where there is none.

        Args:
            asked: the question.
            again: whether the last one may be given as often as asked for.
        """
        answers = self._answers.get(asked)
        if not answers:
            return None
        return answers[0] if again and len(answers) == 1 else answers.popleft()


@final
class Recording:
    """Hears a run that is run again, and keeps the record of what was asked outside.

    A failure that ended the run, which was resumed later, is no answer: the run went on without it.
    """

    def __init__(self, replay: Replay) -> None:
        self.record = Record()
        self._replay = replay
        self._paths = Paths()
        self._judging: JudgeRequest | None = None
        self._asked: Hashable = None
        self._failed: Hashable = None

    def asks(self, asked: Ask[Any], /) -> None:
        """See `Watcher`."""
        if isinstance(asked, Effect):
            self._asked = question(asked.request, self._replay.state.tree, self._paths)
        elif isinstance(asked, BeginJudging):
            self._judging = asked.request

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """See `Watcher`."""
        if isinstance(asked, Effect):
            self._keep(self._asked, answer)
        elif isinstance(asked, AskVerdict) and answer is not None:
            self._keep(self._judging, answer)
        elif isinstance(asked, End) and answer and self._failed is not None:
            self.record.drop_last(self._failed)
            self._failed = None

    def _keep(self, asked: Hashable, answer: object) -> None:
        if isinstance(answer, Overtaken):
            return
        self._failed = asked if isinstance(answer, EffectError) else None
        self.record.keep(asked, _as_answer(answer))


def _as_answer(answer: object) -> object:
    """Return an answer as an environment gives it: of what is known of an action beside that, nothing."""
    match answer:
        case Uncertain(effect):
            return Observed(UNCERTAIN, effect=effect)
        case Twice(observed):
            return observed
        case _:
            return answer
