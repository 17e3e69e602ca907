"""Replay: the program of a run over its log.

The same code begins a run, resumes it after a crash at any point, and runs it again offline. As long as the log has
records, `Replay` answers each ask from the log: a question by its note, a command by the recorded command. Where the
log ends, the run goes live: `Replay` performs the ask, appends the answer, and only then gives it to the program.

    A question that was answered is never asked again.
    An action is noted before it is performed; the step behind the note has its result.
    An action during which the process died is performed again only in a restored environment; else its result is
    `Uncertain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, assert_never, final

import attrs
from returns.pipeline import is_successful

from mage.agent.cursor import (
    Commit,
    Cursor,
    JudgeLater,
    Perform,
    Refresh,
    TellHooks,
    VerdictOf,
    expected,
    recorded_answer,
)
from mage.agent.log import (
    BadRunLog,
    Counting,
    RecordedRun,
    RunNote,
    decode,
    decode_observed,
    decode_policy,
    encode,
)
from mage.agent.restore import foreseen
from mage.effects import (
    Act,
    ActionEffect,
    Begin,
    ChapterRequest,
    Decide,
    EffectError,
    FoldRequest,
    Foresight,
    Irreversible,
    JudgeRequest,
    Metered,
    NoEffect,
    Notice,
    NotRestored,
    Observed,
    Restore,
    Restored,
    SummaryRequest,
    Verdict,
    lasts,
    metered,
)
from mage.effects.questions import Ask, Program, drive_awaited
from mage.engine import Digest, Grow, Refusal, State, Step, StepId, apply
from mage.engine.ids import ROOT_STEP
from mage.engine.journal import Operation
from mage.engine.tree import trace
from mage.memory.journal import RUN, BadEffect
from mage.memory.policy import Outcome, Policy, RunFinished, outcome_document
from mage.memory.requests import (
    AgentEvent,
    AskVerdict,
    BeginJudging,
    Counts,
    Effect,
    End,
    IsDue,
    IsHarmless,
    Look,
    Operate,
    Overtaken,
    Request,
    RunEnded,
    Seen,
    Tell,
    Twice,
    Uncertain,
)
from mage.memory.revise import differing, lasting_of, performed
from mage.memory.state import told_once
from mage.session import Conflict, Entry, Refused

# -- the session and the environment of a run -----------------------------------------------------------------------

_ACT: Final = "act"
_KINDS: Final[Mapping[type[object], str]] = {
    Decide: "decided",
    JudgeRequest: "judged",
    FoldRequest: "judged",
    SummaryRequest: "summarized",
    ChapterRequest: "chapter",
}


@final
class _Session:
    """The session of a run: finds commands in the log or gives them to the session, and reads other writers' commands.

    Attributes:
        state: the state at which the program stands.
        version: the version of the journal at that state.
        policy: the policy in force.
        counts: how many revises and rewritten texts the journal has.
        effects: by step, the declared effect of its action.
        lasting: the steps whose effects last: their actions must never be performed again.
    """

    def __init__(
        self,
        recorded: RecordedRun,
        cursor: Cursor,
        policy: Policy | None,
        counting: Counting | None,
        remember: Mapping[str, object] | None,
    ) -> None:
        self.state = recorded.state
        self.version = recorded.version
        self.policy = recorded.policy
        self._cursor = cursor
        self._next_policy = policy
        self._counting, self._next_counting = Counting(recorded.overhead, recorded.mode), counting
        self._meter_in = recorded.meter_in
        self._remembered = recorded.remembered
        self._remember = remember
        self._tally = recorded.tally.copy()
        self.counts = self._tally.counts
        self.effects = self._tally.effects
        self.lasting = set(lasting_of(self.effects))
        self._news = [_uncertain(recorded.interrupted)] if recorded.interrupted else []

    async def operate(self, command: Operation, meta: Mapping[str, object]) -> State | Refusal:
        """Find a command in the log, or give it to the session; return the new state, or the refusal.

        Raises:
            Overtaken: another writer's command came first; the log says so from then on.
            RunDiverged: the log continues with another record.
        """
        result = apply(self.state, command)
        if not is_successful(result):
            return result.failure()
        if result.unwrap() is self.state:
            return self.state
        if self._cursor.is_next("conflict"):
            self._cursor.take()
            raise Overtaken
        entry = self._cursor.next_command(type(command))
        if entry is None:
            if not self._cursor.goes_live("command"):
                raise self._cursor.diverged(type(command).__name__)
            entry = await self._give(command, meta)
        self._fold(entry)  # the recorded command: its texts may have been redacted
        return self.state

    async def _give(self, command: Operation, meta: Mapping[str, object]) -> Entry:
        try:
            if self._cursor.is_overtaken:
                raise Overtaken
            return Entry(await Commit(command, {**meta, RUN: True}), command, None, meta)
        except (
            Conflict,
            Overtaken,
            Refused,
        ):  # Refused: texts were redacted meanwhile, so the state differs
            observation = {"observation": command.observation} if isinstance(command, Grow) else {}
            await self._cursor.append("conflict", {**meta, **observation})
            raise Overtaken from None

    def _fold(self, entry: Entry) -> None:
        self.state = apply(self.state, entry.command).unwrap()
        self.version = entry.version
        try:
            self._tally.add(entry.command, entry.meta, self.state)
        except BadEffect as error:
            raise BadRunLog(str(error)) from error
        step = self.state.tree.step_head
        if lasts(self.effects.get(step)):
            self.lasting.add(step)

    async def look(self) -> Seen:
        """Return where the program stands, after reading changes from outside: other writers, policy, counting."""
        cursor = self._cursor
        followed = False
        before = self._counting
        while any(map(cursor.is_next, ("taken", "policy", "counting"))):
            note = cursor.take()
            if note.kind == "policy":
                self.policy = decode_policy(note.data)
            elif note.kind == "counting":
                self._counting = decode("counting", note.data)
            else:
                self._take([each for each in cursor.others if each.version <= note.data["version"]])
                followed = True
        if cursor.live and cursor.peek() is None:  # else this look of the earlier run found no change
            followed |= await self._look_around()
        news, tally = self.news(), self._tally
        now = self._counting
        return Seen(
            *(
                self.state,
                self.policy,
                self.counts,
                news,
                followed,
                self.effects,
                tally.beside,
                tally.thoughts,
            ),
            counting=None if now == before else (self._meter_in(now.mode), now.overhead),
        )

    async def _look_around(self) -> bool:
        """Read changes from outside, and append them to the log; tell whether other writers have given commands."""
        cursor = self._cursor
        if self._next_policy is not None and self._next_policy != self.policy:
            await cursor.append("policy", self._next_policy.document())
            self.policy = self._next_policy
        if self._next_counting is not None and self._next_counting != self._counting:
            await cursor.append("counting", encode("counting", self._next_counting))
            self._counting = self._next_counting
        if self._remember is not None and self._remember != self._remembered:
            await cursor.append("remembered", self._remember)
            self._remembered = self._remember
        found = await Refresh(self.version)
        if found.state is not None:
            self.state = found.state
        if not found.entries:
            return False
        cursor.others[:], cursor.is_behind_others = found.entries, False
        await cursor.append("taken", {"version": found.entries[-1].version})
        self._take(found.entries)
        return True

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._fold(entry)
        del self._cursor.others[: len(entries)]

    def news(self) -> tuple[Notice, ...]:
        """Return, once, notices about the environment: an uncertain action, and a restore that failed."""
        news, self._news = self._news, []
        resumed, self._cursor.resumed = self._cursor.resumed, []
        return (*news, *[notice for answer in resumed for notice in _news_of(answer)])

    def lasting_on(self, path: Iterable[Step]) -> frozenset[StepId]:
        """Return the steps of a path whose effects last. Cost: O(length of the path)."""
        return frozenset(step.id for step in path if step.id in self.lasting)


def _uncertain(action: str) -> Notice:
    text = "An earlier run was interrupted at this action: find out whether it was done:"
    return told_once("uncertain", text, action)


def _news_of(answer: Restored | NotRestored) -> Sequence[Notice]:
    if isinstance(answer, NotRestored):
        text = "The run was resumed, and the world could not be brought back:"
        return (told_once("diverged", text, answer.reason),)
    differs = differing(answer)
    return () if differs is None else (told_once("diverged", f"The run was resumed, and {differs}."),)


@final
class _Environment:
    """The environment of a run: notes each action before performing it, and repeats none without a record (D14)."""

    def __init__(self, cursor: Cursor, session: _Session, *, repeatable: bool, foresees: Foresight) -> None:
        self._cursor = cursor
        self._session = session
        self._repeatable = repeatable
        self._foresees = foresees
        self._began = False
        self._is_here = False  # whether this process has brought it to where the program stands

    async def begin(self, request: Begin) -> object:
        """Reset the environment."""
        return await self._placed(request, "started")

    async def restore(self, request: Restore) -> object:
        """Restore the environment; leave it alone where an earlier restore was interrupted and cannot be repeated."""
        request = attrs.evolve(request, lasting=self._session.lasting_on(request.path))
        cursor = self._cursor
        if cursor.next("restoring") is None:
            await cursor.append("restoring", {"steps": len(request.plan)})
        elif cursor.peek() is None and request.plan and not self._repeatable:
            cursor.goes_live("restored")
            half_way = NotRestored("the run was interrupted while it was brought back; it may be half way")
            return (await cursor.append_answer("restored", Metered(half_way))).value
        return await self._placed(request, "restored")

    async def _placed(self, request: Begin | Restore, kind: str) -> object:
        is_new = self._cursor.peek() is None
        self._began = True
        answer = await self._cursor.answer(request, kind)
        self._is_here |= is_new
        return answer.value

    async def act(self, request: Act) -> Observed | Uncertain | Twice:
        """Perform an action, or return its recorded result. Repeat an interrupted action only after a restore.

        Raises:
            Overtaken: the environment was not where the model decided, so the action was not performed.
            EffectError: the environment could not perform the action.
            RunDiverged: the log has another action here, or this action behind another step.
        """
        cursor = self._cursor
        if self._was_not_performed():
            raise Overtaken
        intent = cursor.next("acting")
        if intent is None:
            return await self._intended(request)
        if (intent.data["action"], intent.data["after"]) != (request.action, request.after):
            raise cursor.diverged("acting", "acting otherwise")
        is_repeated = self._was_repeated()
        if cursor.is_next("act_failed"):
            recorded_answer(cursor.take())  # raises the recorded `EffectError`
        result = self._result()
        if result is not None:
            return _told(result, is_repeated=is_repeated)
        if not cursor.goes_live("act_failed"):
            raise cursor.diverged("grow")
        if self._may_last(request.action, is_foreseen=intent.data.get("lasts") is True):
            return Uncertain(Irreversible("it is not known whether it was done"))
        if cursor.is_overtaken or not self._repeatable or not (await self.bring_back()):
            return Uncertain()
        await cursor.append("again", {"action": request.action})
        return _told((await self._performed(request)), is_repeated=True)

    def is_harmless(self, action: str) -> bool:
        """Tell whether the environment foresees no effect; in the log, whether the action was performed here."""
        following = self._cursor.peek()
        if following is None:
            return isinstance(self._foreseen(action), NoEffect)
        if not isinstance(following, RunNote):
            return False
        return following.kind == "acting" or following.data.get("instead") == _ACT

    def _was_not_performed(self) -> bool:
        note = self._cursor.peek()
        if not isinstance(note, RunNote) or note.kind != "conflict" or note.data.get("instead") != _ACT:
            return False
        self._cursor.take()
        return True

    async def _intended(self, request: Act) -> Observed:
        """Note a new action, and whether its effect is foreseen to last; then perform it."""
        if not (await self.bring_back()):
            await self._cursor.append("conflict", {"instead": _ACT})
            raise Overtaken
        intent: dict[str, object] = {"action": request.action, "after": request.after}
        if lasts(self._foreseen(request.action)):
            intent["lasts"] = True  # in a later process the environment may no longer foresee it
        await self._cursor.append("acting", intent)
        return await self._performed(request)

    def _was_repeated(self) -> bool:
        """Take the `again` notes of an action; tell whether there was one."""
        is_repeated = False
        while self._cursor.is_next("again"):
            self._cursor.take()
            is_repeated = True
        return is_repeated

    def _may_last(self, action: str, *, is_foreseen: bool) -> bool:
        """Tell whether the effect of an interrupted action may last, so that the action must not be repeated.

        It may where the environment foresees so, or where the same action lasted before. Where the environment does
        not foresee the effect, it may if an action lasted before that was not foreseen to last either.
        """
        tree, lasting = self._session.state.tree, self._session.lasting
        effect = self._foreseen(action)
        lasted = {tree.step(step).action for step in lasting}
        if is_foreseen or lasts(effect) or action in lasted:
            return True
        return effect is None and not all(lasts(self._foreseen(each)) for each in lasted)

    def _foreseen(self, action: str) -> ActionEffect | None:
        return foreseen(self._foresees, action)

    async def _performed(self, request: Act) -> Observed:
        try:
            observed: Observed = expected("started", (await Perform(request)))
        except EffectError as error:
            await self._cursor.append_failure("act_failed", error)
            raise
        return observed

    def _result(self) -> Observed | Uncertain | None:
        """Return the result of an action in the log, from the step behind it or from the conflict in its place."""
        match self._cursor.peek():
            case RunNote("conflict", data):
                return decode_observed(str(data.get("observation", "")), data)
            case Entry(command=Grow(observation=observation), meta=meta):
                return decode_observed(observation, meta)
            case _:
                return None

    async def bring_back(self) -> bool:
        """In a new process, restore the environment to where the program stands; tell whether it is there.

        An environment that cannot be restored counts as being there: it has kept its own state meanwhile.
        """
        if self._is_here or not self._began or not self._repeatable:
            return True
        self._is_here = True
        tree = self._session.state.tree
        path = performed(trace(tree, ROOT_STEP, tree.step_head), self._session.effects)
        request = Restore(path, lasting=self._session.lasting_on(path))
        answer: Restored | NotRestored
        try:
            answer = expected("restored", (await Perform(request)))
        except EffectError as error:
            answer = NotRestored(str(error))
        await self._cursor.append("resumed", encode("resumed", answer))
        self._cursor.resumed.append(answer)
        return isinstance(answer, Restored) and differing(answer) is None


def _told(answer: Observed | Uncertain, *, is_repeated: bool) -> Observed | Uncertain | Twice:
    """Return an answer; as `Twice` where the action was repeated and its effect lasts."""
    if is_repeated and isinstance(answer, Observed) and lasts(answer.effect):
        return Twice(answer)
    return answer


# -- the program over its log ---------------------------------------------------------------------------------------


@final
class Replay:
    """One run over its log.

    Args:
        recorded: the run, read from its journal.
        policy: in force from where the run goes live; None for the policy of the log.
        counting: how tokens are counted from there; None for the counting of the log.
        repeatable: whether the environment can be restored, so that an interrupted action may be repeated.
        live: False to stop where the log ends (`LogEnds`).
        foresees: returns the effect that the environment foresees of an action; an action whose effect may last is
            never repeated.
        remember: kept in the log from there on (`Agent.run`); None to keep the value of the log.
    """

    def __init__(
        self,
        recorded: RecordedRun,
        *,
        policy: Policy | None,
        repeatable: bool,
        live: bool = True,
        foresees: Foresight = lambda action: None,
        counting: Counting | None = None,
        remember: Mapping[str, object] | None = None,
    ) -> None:
        self._cursor = Cursor(recorded.log, live=live)
        self._session = _Session(recorded, self._cursor, policy, counting, remember)
        self._environment = _Environment(
            self._cursor, self._session, repeatable=repeatable, foresees=foresees
        )
        self._judging: JudgeRequest | None = None
        self._is_judging = False

    @property
    def state(self) -> State:
        """The state at which the program stands."""
        return self._session.state

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._session.policy

    @property
    def counts(self) -> Counts:
        """How many revises and rewritten texts the journal has up to there."""
        return self._session.counts

    @property
    def version(self) -> int:
        """The version of the journal at that state."""
        return self._session.version

    async def run(self, program: Program[Outcome]) -> Outcome:
        """Run a program of the agent and answer its asks.

        Raises:
            RunDiverged: the program asks for something else than the log has next.
            LogEnds: the log has ended, and `live` is False.
        """
        return await drive_awaited(program, self._answer)

    async def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Effect(request):
                return await self._effect(request)
            case Operate(command, meta):
                return await self._session.operate(command, meta)
            case Look():
                return await self._look()
            case Tell(event):
                return await self._tell(event)
            case BeginJudging(request):
                return await self._begin_judging(request)
            case AskVerdict(digest, wait):
                return await self._verdict(digest, wait=wait)
            case IsDue(now, what):
                return now if self._cursor.peek() is None else self._was_due(what)
            case IsHarmless(action):
                return self._environment.is_harmless(action)
            case End(outcome):
                return await self._end(outcome)
            case _:
                raise TypeError(f"nothing answers a {type(asked).__name__}")

    async def _effect(self, request: Request) -> object:
        match request:
            case Decide() | JudgeRequest() | FoldRequest() | SummaryRequest() | ChapterRequest():
                return await self._cursor.answer(request, _KINDS[type(request)])
            case Begin():
                return await self._environment.begin(request)
            case Restore():
                return await self._environment.restore(request)
            case Act():
                return await self._environment.act(request)
            case _:
                assert_never(request)

    async def _look(self) -> Seen:
        """Look at the session; in a new process, also restore the environment to where the agent stands.

        Not where other writers have given commands: then the program itself restores the environment.
        """
        seen = await self._session.look()
        if not self._cursor.live or self._cursor.peek() is not None or seen.followed:
            return seen
        await self._environment.bring_back()
        return attrs.evolve(seen, news=(*seen.news, *self._session.news()))

    def _was_due(self, what: Literal["segment", "chapter", "rest"]) -> bool:
        """Tell whether a chapter was due (its text follows), or the segment (no decision, action or chapter follows).

        The rest of a reply was held back where no action follows; a note of the model has no `acting` before it.
        """
        each = self._cursor.peek()
        if what == "chapter":
            return isinstance(each, RunNote) and each.kind == what
        if not isinstance(each, RunNote):
            return True
        acts = each.kind == "acting" or each.data.get("instead") == _ACT
        return not acts and (what == "rest" or each.kind not in ("decided", "chapter"))

    async def _tell(self, event: AgentEvent) -> object:
        if self._cursor.has_ended:  # replayed events are not new: the hooks were called when they happened
            await TellHooks(event)
        return None

    async def _end(self, outcome: Outcome) -> bool:
        cursor = self._cursor
        document = outcome_document(outcome)
        if cursor.next("ended") is None:
            await cursor.append("ended", document)
            await TellHooks(RunEnded(str(document["outcome"]), str(document["reason"])))
            return False
        if cursor.peek() is not None:
            return True
        return cursor.live and (cursor.is_overtaken or not isinstance(outcome, RunFinished))

    # -- the judge that thinks in the background -------------------------------------------------------------

    async def _begin_judging(self, request: JudgeRequest) -> object:
        self._judging, self._is_judging = request, False
        if self._cursor.peek() is None and self._cursor.live:
            await self._let_judge()
        return None

    async def _let_judge(self) -> None:
        if self._judging is not None and not self._is_judging:
            self._is_judging = True
            await JudgeLater(self._judging)

    async def _verdict(self, digest: Digest, *, wait: bool) -> Metered[Verdict] | None:
        cursor = self._cursor
        if not wait and cursor.peek() is not None and not cursor.is_next("verdict"):
            return None
        note = cursor.next("verdict")
        if note is not None:
            return recorded_answer(note)
        await self._let_judge()
        try:
            answer = await VerdictOf(digest, wait)
        except EffectError as error:
            await cursor.append_failure("verdict", error)
            raise
        return None if answer is None else (await cursor.append_answer("verdict", metered(answer)))
