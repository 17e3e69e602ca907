"""What if: a new run that asks only the changed parts; the record of the old run answers all other questions.

    from mage.agent import what_if

    other = what_if("sqlite:///work.db", "monday", judge=my_stricter_judge)
    print(other.difference, other.asked, other.recorded)

The record (`mage.agent.reruns`) takes the place of model, judge, summarizer and environment of an ordinary `Agent`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeVar, cast, final

import attrs

from mage.agent.agent import Agent, fixed_prompt
from mage.agent.log import BEGAN, Counting, began_note
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
from mage.memory.policy import KindOfCall, Outcome, Policy, RunStopped
from mage.memory.requests import AgentHook, BadAgent, Request, heard_by, require_json_object, require_part
from mage.memory.revise import differing, lasting_of
from mage.render.forms import Difference, compare_states
from mage.session import Session
from mage.stores import NOTHING, JournalStore, verify

_ANEW: Final[tuple[KindOfCall, ...]] = ("judge",)


@final
@attrs.frozen
class WhatIf:
    """The result of a run with changed parts.

    Attributes:
        outcome: how the new run ended; `RunStopped("unanswered", ...)` where the record had no answer to a question,
            and no part was given to ask.
        before: the last state of the old run.
        after: the last state of the new run.
        difference: between the execution states of both, `before` on the left.
        recorded: how many questions the record answered.
        asked: how many questions the given parts answered.
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
    """Run a run again with changed parts, and return what the change leads to (issue 5, what-if).

    A question of the old run gets its recorded answer (`mage.agent.reruns` says when two questions are the same,
    and in which order answers come). Any other question goes to the model, judge, summarizer or environment given
    here; the new run stops where that part was not given. So a given `judge` is asked about each summary, and the
    record answers all other questions until the runs differ; a given `model` and `environment` continue from there.

    The new run has no commands of other writers. A run whose policy does not wait for its judge takes a verdict as
    soon as it arrives; where that is earlier than in the record, the runs differ from there on.

    Args:
        store: the store of the old run: a URL or a store.
        name: the session of the old run.
        judge: is asked about each summary, even where the record has a verdict (see `anew`).
        model: is asked where the record has no answer. It is told the tools and the manual of `environment`, else
            those of the old run.
        summarizer: is asked where the record has no answer. (`mage.agent.extracted` asks no model.)
        environment: acts where the record has no result, after it was restored to that place.
        policy: the policy of the new run; None for the last policy of the old run.
        anew: which of `model`, `judge` and `summarizer`, where given, are asked even where the record has an answer.
        into: the store of the new run: a URL or a store.
        into_name: the name of its session; None for `name.what-if`.
        on_event: is called with the events of the new run.
        remember: kept with the new run, as by `Agent.run`; None for the value of the old run.

    Raises:
        UnknownJournal, BadRunLog, RunDiverged: as from `rerun`.
        NameTaken: a session of the new name exists.
        BadAgent, BadEnvironment, BadTool: an argument is of a wrong kind; no new run is kept then.

    Any exception of model, judge, summarizer or environment except `EffectError` is raised again.
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
        prompt = fixed_prompt(model, said)
        overhead = found.recorded.counter.count(prompt) if prompt else found.recorded.overhead
        first = began_note(
            policy or before.policy,
            found.recorded.counter,
            Counting(overhead, found.recorded.mode),
            said,
            judged=found.recorded.judged,
            remembered=remembered,
        )
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
        BadAgent: an argument has the wrong type or value.
    """
    for who, each in (*given.items(), ("policy", policy)):
        if each is not None:
            require_part(who, each)
    unknown = [who for who in anew if who not in given]
    if unknown:
        raise BadAgent(f"anew names {unknown[0]!r}, and may name {', '.join(given)}: anew=['judge']")


def _record(found: OpenRun) -> tuple[Record, Rerun]:
    """Return the record of a run, and the result of running it again."""
    made: list[Recording] = []

    def watching(replay: Replay) -> Recording:
        made.append(Recording(replay))
        return made[0]

    before = rerun_found(found, watching)
    return made[0].record, before


def _introduced(found: OpenRun, model: Model | None, live: Capabilities | None) -> Capabilities:
    """Return the capabilities whose tools and manual the model is told."""
    if live is not None:
        return live
    return Capabilities() if model is None else found.recorded.introduced


def _begin(source: JournalStore, target: JournalStore, name: str, found: OpenRun, first: str) -> None:
    """Begin the new run where the old one began: copy the session up to there, then append `began`.

    Raises:
        NameTaken: a session of this name exists.
    """
    before = source.read(found.session.name, upto=found.recorded.version - 1)
    target.create(name, list(verify(NOTHING, before, None)))
    with Session.open(target, name, wait=False) as session:
        session.note(BEGAN, first)


def _run(agent: Agent, target: JournalStore, name: str, hooks: Iterable[AgentHook]) -> Outcome:
    """Run the new run to its end, or to a question that neither the record nor a given part can answer."""
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
    """How many questions `model`, `judge`, `summarizer` and `environment` were asked."""

    model: int = 0
    judge: int = 0
    summarizer: int = 0
    environment: int = 0

    @property
    def all(self) -> int:
        """The sum of all four."""
        return self.model + self.judge + self.summarizer + self.environment

    def one_more(self, who: str) -> CallCounts:
        """Return the counts with one more question to `who`."""
        return attrs.evolve(self, **{who: getattr(self, who) + 1})


@final
class Unanswered(Exception):
    """The record has no answer to a question, and no part was given to ask: the new run stops here."""


@final
class Answering:
    """Answers the questions of a new run from the record of an old one, and counts them.

    Args:
        record: the record of the old run.
        tree: returns the present tree of the new run.
        anew: the parts that are asked even where the record has an answer.

    Attributes:
        recorded: the number of questions that the record has answered.
        asked: the number of questions that the given parts have answered.
        parted: the first question that the record did not answer, in words; empty while there is none. Questions
            to the parts in `anew` do not count.
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
        """Return the answer of the record, or that of the given part `live`.

        Raises:
            EffectError: the recorded or new answer is this error.
            Unanswered: the record has no answer, and `live` is None.
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
        return cast("Answer", found)  # the record returns only answers to a request of this type

    def _where(self, request: Request) -> tuple[str, str]:
        """Return in words which part is asked, and where, without any text of the run."""
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
        live: is asked where the record has no answer; None for no such part.
    """

    def __init__(self, answering: Answering, live: Callable[[Any], Any] | None) -> None:
        self._answering = answering
        self._live = live

    # Any: a model, a judge and a summarizer differ only in the types of request and answer
    def __call__(self, request: Any, /) -> Any:
        """Return the answer to a request.

        Raises:
            EffectError, Unanswered: see `Answering.answer`.
        """
        live = self._live
        return self._answering.answer(request, None if live is None else lambda: live(request))


@final
class RecordedEnvironment:
    """An `Environment` over a record. A live one is restored to where the run stands before it acts there.

    Args:
        answering: has the record.
        live: acts where the record has no result; None for no live environment.
        lasting: returns the steps of a path whose effects are declared to last. Their actions are never performed
            again, so a live environment cannot be restored past them.
        recorded: the capabilities that the model is told where there is no live environment.

    Attributes:
        capabilities: those of the live environment, except `restoring`.
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
        # A live environment that did not perform the abandoned steps cannot undo them: it is restored from the reset.
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
    """Refuse to act in an environment that is not at the place of the record.

    Raises:
        EffectError: the environment was not restored, or answered otherwise.
    """
    if isinstance(answer, NotRestored):
        raise EffectError("environment", f"it cannot be brought to where the record ends: {answer.reason}")
    if answer.divergences:
        steps = ", ".join(str(divergence.step.id) for divergence in answer.divergences)
        raise EffectError("environment", f"it answers otherwise than it did in the record, at steps {steps}")
    told = differing(answer)
    if told is not None:
        raise EffectError("environment", f"brought to where the record ends, {told}")
