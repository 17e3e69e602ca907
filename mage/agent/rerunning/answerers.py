"""Who answers in a run of what-if: the record, where it has the question; else somebody live, else nobody.

They are a model, a judge, a summarizer and an environment like any other, for an ordinary `Agent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast, final

import attrs

from mage.agent.rerunning.record import Paths, Record, question
from mage.agent.restore import Restorable
from mage.effects import (
    Act,
    Begin,
    Capabilities,
    CustomRestore,
    Decide,
    EffectError,
    Environment,
    JudgeRequest,
    NotRestored,
    Observed,
    Restore,
    Restored,
    SummaryRequest,
)
from mage.engine import Step, StepId, Tree
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.requests import Request
from mage.memory.revise import differing

Asked = TypeVar("Asked", bound=Request)
Answer = TypeVar("Answer")

_WHO: Final[dict[type[object], str]] = {
    Decide: "model",
    JudgeRequest: "judge",
    SummaryRequest: "summarizer",
    Begin: "environment",
    Act: "environment",
    Restore: "environment",
}


@final
@attrs.frozen
class Tally:
    """How often who was asked: `model`, `judge`, `summarizer` and `environment`."""

    model: int = 0
    judge: int = 0
    summarizer: int = 0
    environment: int = 0

    @property
    def all(self) -> int:
        """Questions to anybody."""
        return self.model + self.judge + self.summarizer + self.environment

    def one_more(self, who: str) -> Tally:
        """Return the tally with one more question to `who`."""
        return attrs.evolve(self, **{who: getattr(self, who) + 1})


@final
class Unanswered(Exception):
    """The record has no answer, and nobody was given who has: the run of what-if stops here."""


@final
class Answering:
    """The record of a run, the tree of the run that is answered from it, and who answered how often.

    Args:
        record: of the earlier run.
        tree: returns the tree of this one as it is now.
        anew: who is asked even what the record answers.

    Attributes:
        recorded: questions that the record has answered.
        asked: questions that somebody live was asked.
        parted: the first question that the record did not answer, in words; empty while there is none. A
            question to somebody who is asked anew is none.
    """

    def __init__(self, record: Record, tree: Callable[[], Tree], anew: frozenset[str]) -> None:
        self.recorded = Tally()
        self.asked = Tally()
        self.parted = ""
        self.tree = tree
        self._record = record
        self._anew = anew
        self._paths = Paths()

    def answer(self, request: Request, live: Callable[[], Answer] | None) -> Answer:
        """Return the answer of the record, or that of somebody live.

        Raises:
            EffectError: that is the answer.
            Unanswered: there is none.
        """
        who = _WHO[type(request)]
        found = None
        if who not in self._anew:
            found = self._record.take(question(request, self.tree(), self._paths), again=who == "environment")
            if found is None and not self.parted:
                self.parted = " is asked ".join(self._where(request))
        if found is None:
            if live is None:
                raise Unanswered(" would have to be asked ".join(self._where(request)))
            self.asked = self.asked.one_more(who)
            return live()
        self.recorded = self.recorded.one_more(who)
        if isinstance(found, EffectError):
            raise found
        return cast("Answer", found)  # the record keeps what was answered to a request of this type

    def _where(self, request: Request) -> tuple[str, str]:
        """Return in words who is asked, and what, where. No text of the run is in them."""
        place = f"at step {self.tree().step_head}"
        match request:
            case Decide():
                return "the model", place
            case JudgeRequest(steps=steps):
                return "the judge", f"about a summary of {len(steps)} steps {place}"
            case SummaryRequest(steps=steps):
                return "the summarizer", f"about {len(steps)} steps {place}"
            case Restore(path=path):
                return "the environment", f"to go back to step {path[-1].id if path else ROOT_STEP}"
            case _:
                return "the environment", f"to act {place}"


@final
class Answerer:
    """A model, a judge or a summarizer over a record.

    Args:
        answering: has the record.
        live: is asked what is not in it; None for nobody.
    """

    def __init__(self, answering: Answering, live: Callable[[Any], Any] | None) -> None:
        self._answering = answering
        self._live = live

    # Any: a model, a judge and a summarizer differ in what they are asked and answer, and in nothing here
    def __call__(self, request: Any, /) -> Any:
        """Return the answer.

        Raises:
            EffectError, Unanswered: there is none.
        """
        live = self._live
        return self._answering.answer(request, None if live is None else lambda: live(request))


@final
class RecordedEnvironment:
    """An `Environment` over a record. A live one is brought to where the run stands before it acts there.

    Args:
        answering: has the record.
        live: acts where the record does not say what came of it; None: nothing does.
        lasting: returns which steps of a path the record declares to last. They are never done again, so a live
            environment is not brought past them.
        recorded: what the model is told of the environment where there is no live one.

    Attributes:
        capabilities: those of the live one, but for how it is restored.
    """

    def __init__(
        self,
        answering: Answering,
        live: Environment | None,
        lasting: Callable[[Sequence[Step]], frozenset[StepId]],
        recorded: Capabilities,
    ) -> None:
        self._answering = answering
        self._live = None if live is None else Restorable(live)
        self._lasting = lasting
        self._is_here = False
        said = attrs.evolve(recorded, restoring="replay") if self._live is None else self._live.capabilities
        self.capabilities = attrs.evolve(said, restoring=CustomRestore(self._restore, said.repeatable))

    def reset(self) -> Observed:
        """See `Environment`."""
        return self._answer(Begin(), lambda live: live.reset())

    def act(self, action: str, /) -> Observed:
        """See `Environment`."""
        request = Act(action, self._answering.tree().step_head)
        return self._answer(request, lambda live: self._act(live, request))

    def _restore(self, request: Restore, /) -> Restored | NotRestored:
        # A live one that did not perform what is left behind cannot undo it: it is brought there from the start.
        plan = request.plan if self._is_here else ()
        return self._answer(request, lambda live: live.restore(attrs.evolve(request, plan=plan)))

    def _answer(self, request: Request, how: Callable[[Restorable], Answer]) -> Answer:
        live, before = self._live, self._answering.asked.environment
        was_here, self._is_here = self._is_here, False
        answer = self._answering.answer(
            request, None if live is None else lambda: self._live_answer(live, how, was_here)
        )
        self._is_here = self._answering.asked.environment > before
        return answer

    def _live_answer(self, live: Restorable, how: Callable[[Restorable], Answer], was_here: bool) -> Answer:
        self._is_here = was_here
        return how(live)

    def _act(self, live: Restorable, request: Act) -> Observed:
        if not self._is_here:
            path = tuple(trace(self._answering.tree(), ROOT_STEP, request.after))
            _require_same(live.restore(Restore(path, lasting=self._lasting(path))))
        return live.act(request.action)


def _require_same(answer: Restored | NotRestored) -> None:
    """Refuse to act in an environment that is not what the record says.

    Raises:
        EffectError: it is not.
    """
    if isinstance(answer, NotRestored):
        raise EffectError("environment", f"it cannot be brought to where the record ends: {answer.reason}")
    if answer.divergences:
        steps = ", ".join(str(divergence.step.id) for divergence in answer.divergences)
        raise EffectError("environment", f"it answers otherwise than it did in the record, at steps {steps}")
    told = differing(answer)
    if told is not None:
        raise EffectError("environment", f"brought to where the record ends, {told}")
