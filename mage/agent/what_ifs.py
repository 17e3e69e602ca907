"""What if: a new run in which only what was changed is asked, and the rest is answered from the record.

    from mage.agent import what_if

    other = what_if("sqlite:///work.db", "monday", judge=my_stricter_judge)
    print(other.difference, other.asked, other.recorded)

The record (`mage.agent.reruns`) answers as a model, a judge, a summarizer and an environment like any other, for an
ordinary `Agent`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeVar, cast, final

import attrs

from mage.agent.agent import Agent, fixed_prompt
from mage.agent.log import BEGAN, began_note, encoded
from mage.agent.replay import Replay
from mage.agent.reruns import (
    OpenRun,
    Paths,
    Record,
    Recording,
    Rerun,
    open_run,
    question,
    rerun,
    rerun_found,
    store_at,
)
from mage.agent.restore import Restorable, capabilities_of
from mage.effects import (
    Act,
    Begin,
    Capabilities,
    ChapterRequest,
    CustomRestore,
    Decide,
    EffectError,
    Environment,
    FoldRequest,
    Judge,
    JudgeRequest,
    Model,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Summarizer,
    SummaryRequest,
)
from mage.engine import State, Step, StepId, Tree, view
from mage.engine.ids import ROOT_STEP
from mage.engine.tree import trace
from mage.memory.journal import Tally
from mage.memory.parts import BadAgent, require_asked, require_json_object, require_policy
from mage.memory.policy import KindOfCall, Outcome, Policy, RunStopped
from mage.memory.requests import AgentHook, Request, heard_by
from mage.memory.revise import differing, lasting_of
from mage.render.values import Difference, compare_states
from mage.session import Session
from mage.stores import NOTHING, JournalStore, verify

_ANEW: Final[tuple[KindOfCall, ...]] = ("judge",)


@final
@attrs.frozen
class WhatIf:
    """What would have come of a run.

    Attributes:
        outcome: how the new run ended; `RunStopped("unanswered", ...)` where a question had no answer in the record, and nothing
            was given that could be asked.
        before: the state that the run came to.
        after: the state that the new one came to.
        difference: between what the agent is shown in the two, `before` on the left.
        recorded: how many questions were answered from the record.
        asked: how many were put to what was given.
        parted: the first question that the record did not answer, in words; empty where there was none.
        name: the session of the new run.
    """

    outcome: Outcome
    before: State
    after: State
    difference: Difference
    recorded: CallCounts
    asked: CallCounts
    parted: str
    name: str


def what_if(
    store: str | JournalStore,
    name: str,
    *,
    judge: Judge | None = None,
    model: Model | None = None,
    summarizer: Summarizer | None = None,
    environment: Environment | None = None,
    policy: Policy | None = None,
    anew: Collection[KindOfCall] = _ANEW,
    into: str | JournalStore = "memory:",
    into_name: str | None = None,
    on_event: AgentHook | Iterable[AgentHook] = (),
    remember: Mapping[str, object] | None = None,
) -> WhatIf:
    """Run a run again with something changed, and say what that changes (issue 5, what-if).

    A question that the run has answered gets the recorded answer (`mage.agent.reruns` says when two are
    the same, and in which order answers come). Any other is put to the model, judge, summarizer or
    environment that is given here; where none is, the new run stops there. So with `judge`, that judge is asked about each summary, and all else comes from the record,
    until the two runs part; with `model` and `environment` too, the new run goes on from there.

    What other writers gave to the session while it ran is not part of the new run. A run whose policy does not wait
    for its judge takes verdicts as soon as they are there; that may be earlier than in the record, and then the two part.

    Args:
        store: where the run is: a URL or a store.
        name: its session.
        judge: asked about each summary, also those that the record has a verdict on (see `anew`).
        model: asked what the record does not answer. It is told the tools and the manual of `environment`, else those
            that the run was begun with.
        summarizer: the same. (`mage.agent.extracted` asks no model.)
        environment: acts where the record does not say what came of it; it is brought there first.
        policy: of the new run; None for the one that the run ended with.
        anew: which of the three are asked even what the record answers, where they are given.
        into: where the new run is kept: a URL or a store.
        into_name: the name of its session; None for `name.what-if`.
        on_event: hears the new run.
        remember: kept with the new run, as by `Agent.run`; None for what the run has kept.

    Raises:
        UnknownJournal, BadRunLog, RunDiverged: as from `rerun`.
        NameTaken: there is a session of the new name.
        BadAgent, BadEnvironment, BadTool: an argument is of a wrong kind; nothing is kept then.

    What a model, judge, summarizer or environment raises, but for `EffectError`, is passed on.
    """
    given: dict[KindOfCall, object] = {"judge": judge, "model": model, "summarizer": summarizer}
    _require_sound(given, policy, anew)
    require_json_object("remember", remember)
    live = None if environment is None else capabilities_of(environment)
    asked_anew = frozenset(who for who in anew if given[who] is not None)
    new_name = f"{name}.what-if" if into_name is None else into_name
    hooks = heard_by(on_event)
    with ExitStack() as stack:
        source = stack.enter_context(store_at(store))
        target = stack.enter_context(store_at(into))
        found = stack.enter_context(open_run(source, name))
        record, before = _record(found)
        said = _introduced(found, model, live)
        remembered = found.recorded.remembered if remember is None else remember
        first = _first_note(found, policy or before.policy, fixed_prompt(model, said), said, remembered)
        _begin(source, target, new_name, found, first)
        looking = stack.enter_context(Session.open(target, new_name, wait=False))
        answering = Answering(record, lambda: _now(looking).tree, asked_anew)
        agent = Agent(
            model=Answerer(answering, model),
            environment=RecordedEnvironment(
                answering, environment, lambda path: _lasting(looking, path), said
            ),
            judge=None if judge is None and not found.recorded.judged else Answerer(answering, judge),
            summarizer=Answerer(answering, summarizer),
        )
        outcome = _run(agent, target, new_name, hooks)
        after = _now(looking)
    difference = compare_states(view(before.state), view(after))
    counted = (answering.recorded, answering.asked, answering.parted)
    return WhatIf(outcome, before.state, after, difference, *counted, new_name)


def _require_sound(
    given: Mapping[KindOfCall, object], policy: Policy | None, anew: Collection[KindOfCall]
) -> None:
    """Check the arguments.

    Raises:
        BadAgent: one of them cannot be used.
    """
    for who, each in given.items():
        if each is not None:
            require_asked(who, each)
    require_policy(policy)
    unknown = [who for who in anew if who not in given]
    if unknown:
        raise BadAgent(f"anew names {unknown[0]!r}, and may name {', '.join(given)}: anew=['judge']")


def _record(found: OpenRun) -> tuple[Record, Rerun]:
    """Return the record of a run, and what it came to."""
    made: list[Recording] = []

    def watching(replay: Replay) -> Recording:
        made.append(Recording(replay))
        return made[0]

    before = rerun_found(found, watching)
    return made[0].record, before


def _introduced(found: OpenRun, model: Model | None, live: Capabilities | None) -> Capabilities:
    """Return what a model is told of the environment."""
    if live is not None:
        return live
    return Capabilities() if model is None else found.recorded.introduced


def _first_note(
    found: OpenRun,
    policy: Policy,
    prompt: str,
    said: Capabilities,
    remembered: Mapping[str, object],
) -> dict[str, object]:
    """Return what the new run begins with; it counts tokens as the old one did."""
    recorded = found.recorded
    overhead = recorded.counter.count(prompt) if prompt else recorded.overhead
    return began_note(
        policy,
        recorded.counter,
        overhead,
        said,
        mode=recorded.mode,
        judged=recorded.judged,
        remembered=remembered,
    )


def _begin(
    source: JournalStore, target: JournalStore, name: str, found: OpenRun, first: Mapping[str, object]
) -> None:
    """Begin the new run where the old one was begun: a copy of the session up to there, then its first note.

    Raises:
        NameTaken: there is a session of this name.
    """
    before = source.read(found.session.name, upto=found.recorded.version - 1)
    target.create(name, list(verify(NOTHING, before, None)))
    with Session.open(target, name, wait=False) as session:
        session.note(BEGAN, encoded(first))


def _run(agent: Agent, target: JournalStore, name: str, hooks: Iterable[AgentHook]) -> Outcome:
    """Run the new run to its end, or to a question that the record does not answer and nothing is given for."""
    try:
        return agent.run(target, name, on_event=hooks)
    except Unanswered as end:
        return RunStopped("unanswered", str(end), rerun(target, name).totals)


def _lasting(session: Session, path: Sequence[Step]) -> frozenset[StepId]:
    """Return the steps of a path whose actions were declared to last. Cost: O(journal)."""
    session.refresh()
    tally = Tally()
    tally.add_all(session.history(), None)
    lasting = lasting_of(tally.effects)
    return frozenset(step.id for step in path if step.id in lasting)


def _now(session: Session) -> State:
    session.refresh()
    return session.phase


# -- the record as a model, a judge, a summarizer and an environment ---------------------------------------------

Asked = TypeVar("Asked", bound=Request)
Answer = TypeVar("Answer")

_WHO: Final[dict[type[object], str]] = {
    Decide: "model",
    JudgeRequest: "judge",
    FoldRequest: "judge",
    SummaryRequest: "summarizer",
    ChapterRequest: "summarizer",
    Begin: "environment",
    Act: "environment",
    Restore: "environment",
}


@final
@attrs.frozen
class CallCounts:
    """How often each was called: `model`, `judge`, `summarizer` and `environment`."""

    model: int = 0
    judge: int = 0
    summarizer: int = 0
    environment: int = 0

    @property
    def all(self) -> int:
        """All calls."""
        return self.model + self.judge + self.summarizer + self.environment

    def one_more(self, who: str) -> CallCounts:
        """Return the counts with one more question to `who`."""
        return attrs.evolve(self, **{who: getattr(self, who) + 1})


@final
class Unanswered(Exception):
    """The record has no answer to a question, and nothing was given that could be asked: the new run stops here."""


@final
class Answering:
    """The record of a run, the tree of the run that is answered from it, and how often each was called.

    Args:
        record: of the earlier run.
        tree: returns the tree of this one as it is now.
        anew: what is asked even where the record has an answer.

    Attributes:
        recorded: questions that the record has answered.
        asked: questions that were put to what was given.
        parted: the first question that the record did not answer, in words; empty while there is none. A
            question to what is asked anew is none.
    """

    def __init__(self, record: Record, tree: Callable[[], Tree], anew: frozenset[str]) -> None:
        self.recorded = CallCounts()
        self.asked = CallCounts()
        self.parted = ""
        self.tree = tree
        self._record = record
        self._anew = anew
        self._paths = Paths()

    def answer(self, request: Request, live: Callable[[], Answer] | None) -> Answer:
        """Return the answer of the record, or a new one.

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
        """Return in words what is asked, and where. No text of the run is in them."""
        place = f"at step {self.tree().step_head}"
        match request:
            case Decide():
                return "the model", place
            case JudgeRequest(steps=steps):
                return "the judge", f"about a summary of {len(steps)} steps {place}"
            case FoldRequest(lines=lines):
                return "the judge", f"about a chapter of {len(lines)} lines {place}"
            case SummaryRequest(steps=steps):
                return "the summarizer", f"about {len(steps)} steps {place}"
            case ChapterRequest(lines=lines):
                return "the summarizer", f"about {len(lines)} lines {place}"
            case Restore(path=path):
                return "the environment", f"to go back to step {path[-1].id if path else ROOT_STEP}"
            case _:
                return "the environment", f"to act {place}"


@final
class Answerer:
    """A model, a judge or a summarizer over a record.

    Args:
        answering: has the record.
        live: is asked where the record has no answer; None for nothing.
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
