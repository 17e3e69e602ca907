"""Run a run again over its log, offline and exactly; and the record of its questions and answers, for `what_if`.

from mage.agent import rerun

again = rerun("sqlite:///work.db", "monday")
assert again.same                            # the same state, byte for byte; no model was called
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final, Protocol, assert_never, final

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
from mage.effects.questions import Ask, Program, drive, drive_awaited
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
    """The result of running a run again over its log.

    Attributes:
        outcome: how the run ended; None where its log ends earlier, because the run was interrupted.
        wanted: where the log ends, the kind of note that would come next, as in `mage.agent.log`; else empty.
        state: the last state of the run.
        version: the version of the session at that state.
        unread: how many commands of other writers the session has after that version.
        differs: the versions at which the program gives other commands than the journal has. Empty, except where
            texts of the session were redacted, or its journal was changed.
        same: whether `differs` is empty and `encode_tree` gives the same bytes for `state` and the session's state.
        totals: the steps and tokens of the run.
        policy: the policy in force at the end.
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
    """Run a run again, offline: no part is asked, and nothing is written.

    Args:
        store: a URL or a store.
        name: the name of the session.

    Returns:
        The result. Cost: O(journal), each record verified.

    Raises:
        UnknownJournal: there is no such session.
        BadRunLog: no agent has run the session, or its log cannot be read.
        RunDiverged: the program asks for something else than the log has; the error says where.
    """
    with store_at(store) as kept, open_run(kept, name) as found:
        return rerun_found(found)


def remembered(store: JournalStore, name: str) -> Mapping[str, object] | None:
    """Return the newest value of `Agent.run(..., remember=...)`; None where no agent has run the session.

    Cost: O(journal).

    Raises:
        UnknownJournal: there is no such session.
        BadRunLog: the log of the run cannot be read.
    """
    found = run_of(store, name)
    return None if found is None else found.remembered


def remember(store: JournalStore, name: str, kept: Mapping[str, object]) -> None:
    """Keep a JSON object with the run of a session, as `Agent.run(..., remember=...)` does."""
    with Session.open(store, name, wait=False) as session:
        session.note("remembered", encoded(kept))


def run_of(store: JournalStore, name: str) -> RecordedRun | None:
    """Return the run of a session; None where no agent has run the session. Cost: O(journal).

    Raises:
        UnknownJournal, BadRunLog: see `remembered`.
    """
    with Session.open(store, name, wait=False) as session:
        return find_run(session.log())  # `log` verifies every record


@contextmanager
def store_at(store: str | JournalStore) -> Iterator[JournalStore]:
    """Open a store by its URL, and close it afterwards; a store that is given stays open."""
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
        session: the session of the run.
        recorded: the run, read from the journal.
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
    """Run an open run again; `watching` makes a watcher, which may read the state of the replay."""
    recorded = found.recorded
    replay = Replay(recorded, policy=None, repeatable=True, live=False)
    run = Run(recorded.meter, recorded.overhead)
    running = program(run) if watching is None else watched(program(run), watching(replay))
    comparing = _Comparing(replay, recorded)
    wanted = ""
    outcome: Outcome | None
    try:
        outcome = drive(replay.run(watched(running, comparing)), _offline)
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
    """Answer an ask of an offline run: it only calls hooks, and those were called in the recorded run."""
    if isinstance(asked, TellHooks):
        return None
    raise AssertionError(f"a rerun has asked for {type(asked).__name__}")


# -- watching a program ---------------------------------------------------------------------------------------


class Watcher(Protocol):
    """Is called with the asks of a program of the agent and their answers."""

    def asks(self, asked: Ask[Any], /) -> None:
        """Receive an ask, before it is answered."""
        ...

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """Receive the answer: a value, or the `EffectError` or `Overtaken` that was raised in its place."""
        ...


async def watched(program: Program[Outcome], watcher: Watcher) -> Outcome:
    """Run a program, and give each ask and its answer to a watcher."""

    async def passed_on(asked: Ask[Any]) -> object:
        watcher.asks(asked)
        try:
            answer: object = await asked
        except (EffectError, Overtaken) as error:
            watcher.answered(asked, error)
            raise
        watcher.answered(asked, answer)
        return answer

    return await drive_awaited(program, passed_on)


@final
class _Comparing:
    """Compares the commands that a program gives with the commands that the journal has."""

    def __init__(self, replay: Replay, recorded: RecordedRun) -> None:
        self.differs: list[int] = []
        self.ended: Outcome | None = None
        self._replay = replay
        self._commands = {each.version: each.command for each in recorded.log if isinstance(each, Entry)}
        self._version = replay.version

    def asks(self, asked: Ask[Any], /) -> None:
        """See `Watcher`."""
        self._version = self._replay.version

    def answered(self, asked: Ask[Any], answer: object, /) -> None:
        """See `Watcher`."""
        version = self._replay.version
        if isinstance(asked, Operate) and version > self._version:
            if self._commands[version] != asked.command:
                self.differs.append(version)
        elif isinstance(asked, End):
            self.ended = asked.outcome


# -- the record of a run ----------------------------------------------------------------------------------------
#
# Two questions are the same
#
#     to the model        if S, the boundaries, the notices and `may_compress` are equal. Not compared: the room below
#                         the mark, so that another mark alone does not call the model; the notice that the run was
#                         interrupted at an action; tools and manual, which are the same in every question of a run
#     to judge, summarizer   if the whole requests are equal
#     to the environment  if the actions and observations of the paths from the root are equal, and the action is; for
#                         a restore, if the abandoned steps are equal too
#
# Answers come in the order in which they were given. Each answer of a model, a judge or a summarizer is used once,
# because the same question may have another answer later; the last answer of an environment at a place is used again
# and again.

_BEGINNING: Final = b""


@final
class Paths:
    """Digests of the paths of one tree. Nodes never change, so each digest is computed once."""

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
    """Return a hashable value that is equal for two questions that are the same (see above).

    Args:
        request: the question.
        tree: the tree of the run when it is asked.
        paths: the digests of that tree.
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
    """Answers by question. An answer is a value, or the `EffectError` in its place."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, deque[object]] = {}

    def keep(self, asked: Hashable, answer: object) -> None:
        """Add an answer behind the earlier answers to the same question."""
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
            again: whether the last answer is returned again and again.
        """
        answers = self._answers.get(asked)
        if not answers:
            return None
        return answers[0] if again and len(answers) == 1 else answers.popleft()


@final
class Recording:
    """The watcher of a run that is run again; it keeps the record of questions and answers.

    A failure that ended the run is not kept as an answer where the run was resumed later.
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
    """Return an answer as an environment gives it: as an `Observed` instead of `Uncertain` or `Twice`."""
    match answer:
        case Uncertain(effect):
            return Observed(UNCERTAIN, effect=effect)
        case Twice(observed):
            return observed
        case _:
            return answer
