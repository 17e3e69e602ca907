"""A program run over its tape: what was answered before is answered again, what is new is asked and noted.

The same code begins a run, resumes it after a crash at any point, and runs it again offline. While the tape
lasts, each ask of the program is answered from it, and each command is found in the journal. Where the tape
ends, the run goes live: an ask is performed, its answer noted, and only then given to the program. So

    what was answered is never asked again,
    an action is noted as intended before it is performed; whether it was is told by the step behind it,
    a run that died inside an action repeats it only in a world that was restored, else says so (`Uncertain`).

Own commands are told from those of others by the place on the tape that stands in their meta.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, assert_never, cast, final

import attrs
from returns.pipeline import is_successful

from mage.agent.asks import (
    AskVerdict,
    BeginJudging,
    Counts,
    Effect,
    End,
    IsDue,
    Look,
    Operate,
    Overtaken,
    Request,
    Seen,
    Tell,
    Uncertain,
)
from mage.agent.events import AgentEvent, RunEnded
from mage.agent.observations import observed_of
from mage.agent.outcomes import Outcome, RunFinished, outcome_document
from mage.agent.performing import Commit, JudgeLater, Note, Perform, Refresh, TellHooks, VerdictOf
from mage.agent.policy import Policy
from mage.agent.spelling import (
    failure_document,
    failure_of,
    metered_document,
    metered_of,
    spelled,
    understood,
)
from mage.agent.tape import TapeDiverged, TapeEntry, encoded
from mage.effects import (
    Act,
    Begin,
    Decide,
    EffectError,
    JudgeRequest,
    Metered,
    Notice,
    NotRestored,
    Observed,
    Restore,
    Restored,
    SummaryRequest,
    Verdict,
    metered,
)
from mage.engine import (
    Command,
    Digest,
    Grow,
    Refusal,
    Retext,
    Revise,
    State,
    StepId,
    SummaryId,
    apply,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.journal import Operation
from mage.engine.tree import trace
from mage.session import Conflict, Entry
from mage.session.asks import Ask, Program, ask

__all__ = ["Durable", "Recorded", "TapeEnds"]

Answer = TypeVar("Answer")
_PLACE: Final = "tape"
_ANSWERED: Final[Mapping[type[object], str]] = {
    Decide: "decided",
    JudgeRequest: "judged",
    SummaryRequest: "summarized",
    Begin: "started",
    Restore: "restored",
}


@final
class TapeEnds(Exception):
    """The tape has ended, and nobody may be asked: raised where a run is run again offline."""


@final
@attrs.frozen
class Recorded:
    """What is there of a run.

    Attributes:
        version: of the session, at which the run was begun.
        state: of the session at that version.
        counts: what its journal says of failures up to there, which is counted on.
        journal: what the session holds after that version.
        tape: the entries, without `began`.
        policy: the policy that the run was begun with.
    """

    version: int
    state: State
    counts: Counts
    journal: Sequence[Entry]
    tape: Sequence[TapeEntry]
    policy: Policy


@final
class Durable:
    """One run over what is there of it.

    Args:
        recorded: what is there.
        policy: in force from where it goes live; None for the one on the tape.
        repeatable: whether the world can be restored, so that an interrupted action may be repeated.
        live: False to stop where the tape ends (`TapeEnds`).
    """

    def __init__(
        self, recorded: Recorded, *, policy: Policy | None, repeatable: bool, live: bool = True
    ) -> None:
        self.state = recorded.state
        self._base = recorded.version
        self._done = 0
        self._journal = recorded.journal
        self._tape = list(recorded.tape)
        self._place = 0
        self._answers = 0
        self._given = policy
        self._policy = recorded.policy
        self._revisions: dict[StepId, int] = dict(recorded.counts.revisions)
        self._retexts: dict[SummaryId, int] = dict(recorded.counts.retexts)
        self._counts = Counts(self._revisions, self._retexts)
        self._repeatable = repeatable
        self._live = live
        self._world_is_here = False
        self._news: list[Notice] = []
        self._thinking: JudgeRequest | None = None
        self._is_thinking = False

    @property
    def version(self) -> int:
        """The version of the session that the state is at."""
        return self._base + self._done

    def run(self, program: Program[Outcome]) -> Program[Outcome]:
        """Run a program of the agent, answering what it asks.

        Raises:
            TapeDiverged: the program asks something else than the tape answers.
            TapeEnds: the tape has ended, and the run must not go live.
        """
        try:
            asked = next(program)
            while True:
                try:
                    answer = yield from self._answer(asked)
                except (EffectError, Overtaken) as error:
                    asked = program.throw(error)
                else:
                    asked = program.send(answer)
        except StopIteration as stop:
            return cast("Outcome", stop.value)
        finally:
            program.close()

    def _answer(self, asked: Ask[Any]) -> Program[object]:
        match asked:
            case Effect(request):
                return (yield from self._effect(request))
            case Operate(command, meta):
                return (yield from self._operate(command, meta))
            case Look():
                return (yield from self._look())
            case Tell(event):
                return (yield from self._tell(event))
            case BeginJudging(request):
                return (yield from self._begin_judging(request))
            case AskVerdict(digest, wait):
                return (yield from self._verdict(digest, wait=wait))
            case IsDue(now):
                return not self._is_next("decided") if self._is_behind else now
            case End(outcome):
                return (yield from self._end(outcome))
            case _:
                raise TypeError(f"nobody answers a {type(asked).__name__}")

    def _tell(self, event: AgentEvent) -> Program[object]:
        if self._place == len(self._tape):  # what was replayed was told before
            yield from ask(TellHooks(event))
        return None

    # -- the tape --------------------------------------------------------------------------------------

    def _peek(self) -> TapeEntry | None:
        """Return the next entry that answers something; None where the tape has ended."""
        while self._place < len(self._tape):
            entry = self._tape[self._place]
            if entry.kind != "resumed":
                return entry
            self._place += 1
            self._resumed_with(understood("resumed", entry.data))
        return None

    def _is_next(self, kind: str) -> bool:
        entry = self._peek()
        return entry is not None and entry.kind == kind

    def _next(self, kind: str) -> TapeEntry | None:
        """Take the next entry, which must be of this kind; None where the run goes live.

        Raises:
            TapeDiverged: it is of another kind.
            TapeEnds: the tape has ended, and the run must not go live.
        """
        if self._goes_live(kind):
            return None
        entry = self._tape[self._place]
        if entry.kind != kind:
            raise TapeDiverged(self._place, kind, entry.kind)
        self._place += 1
        self._answers += 1
        return entry

    def _goes_live(self, kind: str) -> bool:
        """Tell whether the tape has ended, where the next would be of this kind, and whether one may go on."""
        if self._peek() is not None:
            return False
        if not self._live:
            raise TapeEnds(kind)
        return True

    def _note(self, kind: str, data: Mapping[str, object]) -> Program[None]:
        yield from ask(Note(kind, data))
        self._tape.append(TapeEntry(kind, data))
        self._place += 1
        self._answers += kind != "resumed"

    # -- effects ---------------------------------------------------------------------------------------

    def _effect(self, request: Request) -> Program[object]:
        match request:
            case Decide() | JudgeRequest() | SummaryRequest():
                return (yield from self._answered(request, _ANSWERED[type(request)]))
            case Begin():
                return (yield from self._answered(request, "started")).value
            case Restore():
                return (yield from self._restored(request))
            case Act():
                return (yield from self._acted(request))
            case _:
                assert_never(request)

    def _answered(self, request: Request, kind: str) -> Program[Metered[Any]]:
        entry = self._next(kind)
        return (yield from self._asked(request, kind)) if entry is None else _played(kind, entry)

    def _asked(self, request: Request, kind: str) -> Program[Metered[Any]]:
        """Ask, and note the answer before anybody sees it."""
        try:
            answer = metered((yield from ask(Perform(request))))
        except EffectError as error:
            yield from self._note(kind, failure_document(error))
            raise
        self._world_is_here |= isinstance(request, Begin | Restore)
        return (yield from self._told(kind, answer))

    def _told(self, kind: str, answer: Metered[Any]) -> Program[Metered[Any]]:
        """Note an answer, and return it as a resumed run will read it; what cannot be read again is not noted."""
        document = metered_document(kind, answer)
        told = metered_of(kind, json.loads(encoded(document)))
        yield from self._note(kind, document)
        return told

    def _restored(self, request: Restore) -> Program[object]:
        if self._next("restoring") is None:
            yield from self._note("restoring", {"steps": len(request.plan)})
        elif self._peek() is None and request.plan and not self._repeatable:
            self._goes_live("restored")
            half_way = NotRestored("the run was interrupted while it was brought back; it may be half way")
            yield from self._note("restored", metered_document("restored", Metered(half_way)))
            return half_way
        return (yield from self._answered(request, "restored")).value

    def _acted(self, request: Act) -> Program[Observed | Uncertain]:
        if self._next("acting") is None:
            yield from self._bring_back_the_world()
            yield from self._note("acting", {"action": request.action, "after": request.after})
            return (yield from self._performed(request))
        failed = self._next("act_failed") if self._is_next("act_failed") else None
        if failed is not None:
            _played("act_failed", failed)  # raises, as it did
        there = self._what_came_of_it()
        if there is not None:
            return there
        if not self._goes_live("act_failed"):
            raise TapeDiverged(self._place, "grow", self._tape[self._place].kind)
        if self._unread or not self._repeatable:
            return Uncertain()
        yield from self._bring_back_the_world()
        return (yield from self._performed(request))

    def _performed(self, request: Act) -> Program[Observed]:
        try:
            return cast("Observed", (yield from ask(Perform(request))))
        except EffectError as error:
            yield from self._note("act_failed", failure_document(error))
            raise

    def _what_came_of_it(self) -> Observed | Uncertain | None:
        """Return what an action of the tape came to: the step that was grown behind it tells."""
        entry = self._own_entry(Grow)
        if entry is not None and isinstance(entry.command, Grow):
            return observed_of(entry.command.observation, entry.meta)
        if self._is_next("overtaken"):  # it, and not a command behind the step
            data = self._tape[self._place].data
            return observed_of(str(data.get("observation", "")), data)
        return None

    def _bring_back_the_world(self) -> Program[None]:
        """In a new process, let the world become what the path says, before anything is done in it."""
        if self._world_is_here:
            return
        self._world_is_here = True
        path = tuple(trace(self.state.tree, ROOT_STEP, self.state.tree.step_head))
        try:
            answer = yield from ask(Perform(Restore(path)))
        except EffectError as error:
            answer = NotRestored(str(error))
        yield from self._note("resumed", spelled("resumed", answer))
        self._resumed_with(answer)

    def _resumed_with(self, answer: object) -> None:
        if isinstance(answer, NotRestored):
            told = f"The run was resumed, and the world could not be brought back: {answer.reason}."
            self._news.append(Notice("diverged", told))
        elif isinstance(answer, Restored) and answer.divergences:
            steps = ", ".join(str(divergence.step.id) for divergence in answer.divergences)
            told = f"The run was resumed, and the world answered otherwise than before at steps {steps}."
            self._news.append(Notice("diverged", told))

    # -- the judge that is not waited for ----------------------------------------------------------------

    def _begin_judging(self, request: JudgeRequest) -> Program[object]:
        self._thinking, self._is_thinking = request, False
        if self._peek() is None and self._live:
            yield from self._let_think()
        return None

    def _let_think(self) -> Program[None]:
        if self._thinking is not None and not self._is_thinking:
            self._is_thinking = True
            yield from ask(JudgeLater(self._thinking))

    def _verdict(self, digest: Digest, *, wait: bool) -> Program[Metered[Verdict] | None]:
        if not wait and self._is_behind and not self._is_next("verdict"):
            return None
        entry = self._next("verdict")
        if entry is not None:
            return _played("verdict", entry)
        yield from self._let_think()
        try:
            answer = yield from ask(VerdictOf(digest, wait))
        except EffectError as error:
            yield from self._note("verdict", failure_document(error))
            raise
        if answer is None:
            return None
        return (yield from self._told("verdict", metered(answer)))

    # -- the session -------------------------------------------------------------------------------------

    @property
    def _unread(self) -> bool:
        """Whether the journal holds commands that were not come to yet."""
        return self._done < len(self._journal)

    @property
    def _is_behind(self) -> bool:
        """Whether there is more that this run has answered or done: on the tape, or in the journal at this place."""
        return self._peek() is not None or self._next_own() is not None

    def _next_own(self) -> Entry | None:
        """Return the next entry of the journal, if it is a command that was given at this place."""
        entry = self._journal[self._done] if self._unread else None
        return None if entry is None or entry.meta.get(_PLACE) != self._answers else entry

    def _own_entry(self, kind: type[Operation]) -> Entry | None:
        """Return the next entry of the journal, if it is a command of this kind that was given at this place."""
        entry = self._next_own()
        return None if entry is None or type(entry.command) is not kind else entry

    def _operate(self, command: Operation, meta: Mapping[str, object]) -> Program[State | Refusal]:
        result = apply(self.state, command)
        if not is_successful(result):
            return result.failure()
        if result.unwrap() is self.state:
            return self.state
        entry = self._own_entry(type(command))
        if entry is not None:
            self._fold(entry.command)  # as recorded: its texts may have been redacted
            return self.state
        if self._is_next("overtaken"):
            self._next("overtaken")
            raise Overtaken
        if not self._goes_live("command"):
            raise TapeDiverged(self._place, type(command).__name__, self._tape[self._place].kind)
        try:
            if self._unread:
                raise Overtaken
            yield from ask(Commit(command, {**meta, _PLACE: self._answers}))
        except (Conflict, Overtaken):
            observation = {"observation": command.observation} if isinstance(command, Grow) else {}
            yield from self._note("overtaken", {**meta, **observation})
            raise Overtaken from None
        self._fold(command)
        return self.state

    def _fold(self, command: Command) -> None:
        before = self.state
        self.state = apply(before, command).unwrap()
        self._done += 1
        if isinstance(command, Revise):
            boundary = StepId(command.boundary)
            self._revisions[boundary] = self._revisions.get(boundary, 0) + 1
        elif isinstance(command, Retext):
            summary = self.state.tree.summary_head
            self._retexts[summary] = self._retexts.get(summary, 0) + 1

    def _look(self) -> Program[Seen]:
        followed = False
        while (entry := self._peek()) is not None and entry.kind in ("taken", "policy"):
            self._next(entry.kind)
            if entry.kind == "policy":
                self._policy = Policy.of(entry.data)
            else:
                self._take(self._journal[self._done : entry.data["version"] - self._base])
                followed = True
        if self._live and not self._is_behind:  # else it was looked, and nothing was seen
            followed |= yield from self._look_around()
        news, self._news = tuple(self._news), []
        return Seen(self.state, self._policy, self._counts, news, followed)

    def _look_around(self) -> Program[bool]:
        """See what has changed outside, and note it; tell whether somebody else has written."""
        if self._given is not None and self._given != self._policy:
            yield from self._note("policy", self._given.document())
            self._policy = self._given
        found = yield from ask(Refresh(self.version))
        if not found:
            return False
        yield from self._note("taken", {"version": found[-1].version})
        self._take(found)
        return True

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._fold(entry.command)

    def _end(self, outcome: Outcome) -> Program[bool]:
        document = outcome_document(outcome)
        if self._next("ended") is None:
            yield from self._note("ended", document)
            yield from ask(TellHooks(RunEnded(str(document["outcome"]), str(document["reason"]))))
            return False
        if self._is_behind:
            return True
        return self._live and (self._unread or not isinstance(outcome, RunFinished))


def _played(kind: str, entry: TapeEntry) -> Metered[Any]:
    """Return the answer of an entry, or raise why there is none."""
    failure = failure_of(entry.data)
    if failure is not None:
        raise failure
    return metered_of(kind, entry.data)
