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

from collections.abc import Mapping
from typing import Any, Final, assert_never, cast, final

import attrs

from mage.agent.answering import answered, failed, played, told
from mage.agent.ledger import Ledger
from mage.agent.performing import JudgeLater, TellHooks, VerdictOf
from mage.agent.reel import Recorded, Reel
from mage.agent.stage import Stage
from mage.effects import (
    Act,
    Begin,
    Decide,
    EffectError,
    Foresight,
    JudgeRequest,
    Metered,
    Restore,
    SummaryRequest,
    Verdict,
    metered,
)
from mage.effects.program import Ask, Program
from mage.engine import Digest, State
from mage.memory.events import AgentEvent, RunEnded
from mage.memory.outcomes import Outcome, RunFinished, outcome_document
from mage.memory.policy import Policy
from mage.memory.requests import (
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
)

__all__ = ["Durable"]

_ANSWERED: Final[Mapping[type[object], str]] = {
    Decide: "decided",
    JudgeRequest: "judged",
    SummaryRequest: "summarized",
}


@final
class Durable:
    """One run over what is there of it.

    Args:
        recorded: what is there.
        policy: in force from where it goes live; None for the one on the tape.
        repeatable: whether the world can be restored, so that an interrupted action may be repeated.
        live: False to stop where the tape ends (`TapeEnds`).
        foresees: what an action would do, as far as the world knows beforehand; one that may last is never
            repeated.
        remembered: see `Ledger`.
    """

    def __init__(
        self,
        recorded: Recorded,
        *,
        policy: Policy | None,
        repeatable: bool,
        live: bool = True,
        foresees: Foresight = lambda action: None,
        remembered: Mapping[str, object] | None = None,
    ) -> None:
        self._reel = Reel(recorded, live=live)
        self._ledger = Ledger(recorded, self._reel, policy, remembered)
        self._stage = Stage(self._reel, self._ledger, repeatable=repeatable, foresees=foresees)
        self._thinking: JudgeRequest | None = None
        self._is_thinking = False

    @property
    def state(self) -> State:
        """Where the program stands."""
        return self._ledger.state

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._ledger.policy

    @property
    def counts(self) -> Counts:
        """What its journal says of failures, up to there."""
        return self._ledger.counts

    @property
    def version(self) -> int:
        """The version of the session that the state is at."""
        return self._ledger.version

    async def run(self, program: Program[Outcome]) -> Outcome:
        """Run a program of the agent, answering what it asks.

        Raises:
            TapeDiverged: the program asks something else than the tape answers.
            TapeEnds: the tape has ended, and the run must not go live.
        """
        try:
            asked = program.send(None)
            while True:
                try:
                    answer = await self._answer(asked)
                except (EffectError, Overtaken) as error:
                    asked = program.throw(error)
                else:
                    asked = program.send(answer)
        except StopIteration as stop:
            return cast("Outcome", stop.value)
        finally:
            program.close()

    async def _answer(self, asked: Ask[Any]) -> object:
        match asked:
            case Effect(request):
                return await self._effect(request)
            case Operate(command, meta):
                return await self._ledger.operate(command, meta)
            case Look():
                return await self._look()
            case Tell(event):
                return await self._tell(event)
            case BeginJudging(request):
                return await self._begin_judging(request)
            case AskVerdict(digest, wait):
                return await self._verdict(digest, wait=wait)
            case IsDue(now):
                return self._was_due() if self._reel.is_behind else now
            case End(outcome):
                return await self._end(outcome)
            case _:
                raise TypeError(f"nobody answers a {type(asked).__name__}")

    async def _effect(self, request: Request) -> object:
        match request:
            case Decide() | JudgeRequest() | SummaryRequest():
                return await answered(self._reel, request, _ANSWERED[type(request)])
            case Begin():
                return await self._stage.begin(request)
            case Restore():
                return await self._stage.restore(request)
            case Act():
                return await self._stage.act(request)
            case _:
                assert_never(request)

    async def _look(self) -> Seen:
        """Look, and in a new process let the world come first to where the agent stands.

        Where somebody else has written, the program lets the world follow, and it is not brought back twice.
        """
        seen = await self._ledger.look()
        if not self._reel.live or self._reel.is_behind or seen.followed:
            return seen
        await self._stage.bring_back()
        return attrs.evolve(seen, news=(*seen.news, *self._ledger.news()))

    def _was_due(self) -> bool:
        """Tell whether what follows is neither the model's decision nor the next action of one."""
        entry = self._reel.peek()
        if entry is None:
            return True
        return entry.kind not in ("decided", "acting") and entry.data.get("instead") != "act"

    async def _tell(self, event: AgentEvent) -> object:
        if self._reel.has_ended:  # what was replayed was told before
            await TellHooks(event)
        return None

    async def _end(self, outcome: Outcome) -> bool:
        document = outcome_document(outcome)
        if self._reel.next("ended") is None:
            await self._reel.note("ended", document)
            await TellHooks(RunEnded(str(document["outcome"]), str(document["reason"])))
            return False
        if self._reel.is_behind:
            return True
        return self._reel.live and (self._reel.unread or not isinstance(outcome, RunFinished))

    # -- the judge that is not waited for ----------------------------------------------------------------

    async def _begin_judging(self, request: JudgeRequest) -> object:
        self._thinking, self._is_thinking = request, False
        if self._reel.peek() is None and self._reel.live:
            await self._let_think()
        return None

    async def _let_think(self) -> None:
        if self._thinking is not None and not self._is_thinking:
            self._is_thinking = True
            await JudgeLater(self._thinking)

    async def _verdict(self, digest: Digest, *, wait: bool) -> Metered[Verdict] | None:
        reel = self._reel
        if not wait and reel.is_behind and not reel.is_next("verdict"):
            return None
        entry = reel.next("verdict")
        if entry is not None:
            return played("verdict", entry)
        await self._let_think()
        try:
            answer = await VerdictOf(digest, wait)
        except EffectError as error:
            await failed(reel, "verdict", error)
            raise
        return None if answer is None else (await told(reel, "verdict", metered(answer)))
