"""Runs on a store, by both twins: how they are found, resumed, shared and refused, and what they leave behind."""

from __future__ import annotations

import json
import threading
from typing import Any, Final

import attrs
import pytest

from mage import Passed, Session
from mage.agent import Outcome, Policy, RunFailed, RunFinished, RunStopped, Totals, outcome_document
from mage.effects import Decide, Decision, EffectError, JudgeRequest, Tool, Usage, Verdict
from mage.engine import Accepted, Compress, FoldRequest
from mage.stores import MemoryStore
from mage.testing import ScriptedModel
from mage.tokens import EstimateCounter
from tests.agent.toys import TASK, Dial, Ground, Mistake, Parts, judge, model_of, parts_of
from tests.agent.twins import NAME, TWINS, Running, both, left_by, rerun
from tests.agent.ways import RestoredBy

MISTAKES: dict[int, Mistake] = {0: "wrong", 1: "noticed", 2: "vague", 3: "batch"}


def scripted(*decisions: Decision | Exception, **named: Any) -> Parts:
    """Return the parts of an agent whose model follows a script."""
    return Parts(ScriptedModel(*decisions), Dial(), **named)


@pytest.mark.parametrize("restoring", ["replay", "snapshot", "inverses"])
@pytest.mark.parametrize("high_water", [None, 60, 90])
def test_the_twins_leave_the_same_behind(restoring: RestoredBy, high_water: int | None) -> None:
    """Both twins come to the same outcome, tree and journal, notes included; and so does each of them offline."""
    lefts = []
    for run in TWINS:
        store, ground = MemoryStore(), Ground()
        policy = Policy(high_water=high_water)
        parts = parts_of(
            model_of(5, MISTAKES), policy, ground=ground, restoring=restoring, padding=" And so on." * 5
        )
        outcome = run(parts, store)
        left = left_by(store)
        durable, again = rerun(store)
        assert isinstance(outcome, RunFinished)
        assert again == outcome
        assert durable.state == left.state
        assert ground.value == 15
        lefts.append((outcome, left, ground))
    assert lefts[0] == lefts[1]


@both
def test_without_waiting_all_is_judged_in_the_end(run: Running) -> None:
    """While the judge thinks, the run goes on; in the end every summary of the path has passed."""
    store, ground = MemoryStore(), Ground()
    outcome = run(parts_of(model_of(4, MISTAKES), Policy(wait=False), ground=ground), store)
    assert isinstance(outcome, RunFinished)
    left = left_by(store)
    assert ground.value == 12
    tree = left.state.tree
    assert all(isinstance(tree.summary(each).verdict, Passed) for each in tree.summary_path()[1:])
    assert "verdict" in left.kinds
    assert rerun(store)[1] == outcome


def test_a_judge_in_a_thread_that_answers_late() -> None:
    """The judge of the agent that calls thinks in a thread: what is done meanwhile is dropped when it says no."""
    acted = threading.Event()
    world = Dial()
    done = world.act

    def act(action: str) -> Any:
        if action == "turn 7":
            acted.set()
        return done(action)

    world.act = act  # type: ignore[method-assign]  # a world that says when it was acted on

    def late(request: JudgeRequest | FoldRequest, /) -> Any:
        assert acted.wait(10)
        return judge(request)

    model = ScriptedModel(
        Decision.act("turn 1"), Decision.compress("Turned by 3."), Decision.act("turn 7"), Decision.finish(),
        Decision.act("turn 3"), Decision.compress("Turned by 3."), Decision.finish(),
    )  # fmt: skip
    store = MemoryStore()
    outcome = TWINS[0](Parts(model, world, judge=late, policy=Policy(wait=False)), store)
    assert isinstance(outcome, RunFinished)
    assert outcome.totals.revisions == 1
    assert world.ground.value == 3


@both
def test_a_judge_that_nobody_waits_for_any_more(run: Running) -> None:
    """A run that ends while its judge thinks leaves nothing behind that thinks on, and is resumed all the same."""
    store = MemoryStore()
    parts = scripted(
        Decision.act("turn 3"), Decision.compress("Turned by 3."), EffectError("timeout", "late"),
        policy=Policy(wait=False),
    )  # fmt: skip
    assert isinstance(run(parts, store), RunFailed)
    later = scripted(Decision.finish(), policy=Policy(wait=False))
    assert isinstance(run(later, store), RunFinished)
    assert isinstance(left_by(store).state.tree.head_summary.verdict, Passed)


@both
def test_a_judge_whose_question_was_overtaken(run: Running) -> None:
    """A question that was left behind with its summary is not waited for; the next one is."""
    store = MemoryStore()
    parts = scripted(
        Decision.act("turn 3"), Decision.compress("Turned by 3."), Decision.revise(0, "Other way."),
        Decision.act("turn 1"), Decision.act("turn 2"), Decision.compress("Turned by 3."), Decision.finish(),
        policy=Policy(wait=False),
    )  # fmt: skip
    assert isinstance(run(parts, store), RunFinished)


@both
def test_a_finished_run_is_not_run_again(run: Running) -> None:
    """Run again it says how it ended, writes nothing, and asks nobody."""
    store = MemoryStore()
    outcome = run(parts_of(model_of(2)), store)
    left = left_by(store)
    assert run(scripted(), store) == outcome
    assert left_by(store) == left


@both
def test_after_somebody_wrote_it_goes_on(run: Running) -> None:
    """A finished run goes on when somebody else has gone back, and the world follows."""
    store, ground = MemoryStore(), Ground()
    run(parts_of(model_of(2), ground=ground), store)
    with Session.open(store, NAME) as session:
        session.revise(session.state().compressed[1].label, "Do it again.")
    outcome = run(parts_of(model_of(2), ground=ground), store)
    assert isinstance(outcome, RunFinished)
    assert ground.value == 6
    assert outcome.totals.summaries == 3
    assert rerun(store)[1] == outcome


@both
@pytest.mark.parametrize("anew", [False, True])
def test_a_run_in_a_fork(run: Running, anew: bool) -> None:  # a parameter
    """A fork of a session goes on with its run from where the fork began; or with a new one that is begun there."""
    store = MemoryStore()
    run(parts_of(model_of(2)), store)
    with Session.open(store, NAME) as session:
        at = next(each.version for each in session.history() if isinstance(each.command, Compress))
        session.fork("other", at=at).close()
    whole = left_by(store).commands
    ground = Ground()
    outcome = run(parts_of(model_of(2), ground=ground), store, "other", anew=anew)
    assert isinstance(outcome, RunFinished)
    assert ground.value == 6
    assert left_by(store, "other").commands == whole
    assert left_by(store, "other").kinds.count("began") == 1 + anew
    assert rerun(store, "other")[1] == outcome


@both
def test_a_run_on_a_session_that_counts_failures(run: Running) -> None:
    """What a session's journal says of failures before the run counts (D13)."""
    store = MemoryStore()
    with Session.open(store, NAME, task=TASK) as session:
        session.grow("turn 1", "seen")
        for number in range(3):
            session.revise(0, f"lesson {number}")
            session.grow("turn 1", "seen")
        session.compress("Turned.", wait=False)
        session.retext("Turned by 1.", wait=False)
        session.accept()
    parts = scripted(Decision.revise(0, "again"), Decision.finish())
    assert isinstance(run(parts, store), RunFinished)
    assert [notice.kind for notice in parts.model.asked[1].notices] == ["refused"]  # type: ignore[attr-defined]


@both
def test_without_a_judge_the_policy_stays(run: Running) -> None:
    """An agent without a judge accepts openly; resumed without a policy it keeps the one that the run had."""
    store = MemoryStore()
    first = scripted(Decision.act("turn 1"), judge=None, policy=Policy(max_steps=2, high_water=None))
    assert isinstance(run(first, store), RunStopped)
    parts = scripted(Decision.compress("done"), judge=None)
    outcome = run(parts, store)
    assert isinstance(outcome, RunStopped)
    assert "policy" not in left_by(store).kinds
    more = scripted(Decision.compress("did"), Decision.finish(), judge=None, policy=Policy(max_steps=9))
    assert isinstance(run(more, store), RunFinished)
    assert left_by(store).state.tree.head_summary.verdict == Accepted()
    assert isinstance(run(scripted(judge=None), store), RunFinished)
    assert left_by(store).kinds.count("policy") == 1


@both
@pytest.mark.parametrize("wait", [True, False])
def test_resumed_without_the_judge_that_was_being_asked(run: Running, *, wait: bool) -> None:
    """A run that died while it asked its judge, and is resumed without one, comes to an end, and then goes on.

    A judge that was waited for is down; one that was not is no longer asked, and the summary is accepted openly.
    """

    def dying(_: JudgeRequest | FoldRequest, /) -> Verdict:
        raise RuntimeError("died")

    store = MemoryStore()
    policy = Policy(wait=wait)
    first = scripted(
        Decision.act("turn 3"), Decision.compress("x"), Decision.finish(), judge=dying, policy=policy
    )
    with pytest.raises(RuntimeError, match="died"):
        run(first, store)
    outcome = run(scripted(*([] if wait else [Decision.finish()]), judge=None), store)
    if wait:
        assert isinstance(outcome, RunStopped)
        assert outcome.reason == "judge_down"
        outcome = run(scripted(Decision.finish(), judge=None), store)
    assert isinstance(outcome, RunFinished)
    assert Session.open(store, "s").phase.tree.head_summary.verdict == Accepted(None)


@both
def test_without_a_summarizer_it_extracts(run: Running) -> None:
    """An agent that has no summarizer takes an extract for the fallback."""
    store = MemoryStore()
    parts = scripted(
        Decision.act("turn 1"),
        Decision.finish(),
        summarizer=None,
        judge=None,
        policy=Policy(high_water=1, judge_finish=False),
    )
    assert isinstance(run(parts, store), RunFinished)
    assert left_by(store).state.tree.head_summary.text.startswith("Extract of 1 step")


TOTALS = Totals(3, 2, 1).spent("judge", Usage(5, 2))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (RunFinished("yes", TOTALS), {"outcome": "finished", "reason": "finished", "answer": "yes"}),
        (RunStopped("idle", "why", TOTALS), {"outcome": "stopped", "reason": "idle", "detail": "why"}),
        (RunFailed("model", "timeout", "why", TOTALS), {"outcome": "failed", "reason": "model: timeout", "detail": "why"}),
    ],
)  # fmt: skip
def test_an_outcome_is_one_json_object(outcome: Outcome, said: dict[str, object]) -> None:
    """An outcome's document has how it ended, what was done, and tokens by kind of call."""
    document = json.loads(json.dumps(outcome_document(outcome)))
    assert {key: document[key] for key in said} == said
    assert (document["steps"], document["summaries"], document["revisions"]) == (3, 2, 1)
    assert document["tokens"]["judge"] == {"prompt": 5, "completion": 2, "cached": 0, "calls": 1}
    assert document["tokens"]["model"]["calls"] == 0
    assert attrs.evolve(outcome, totals=Totals()) != outcome


@both
def test_the_prompt_counts_against_the_mark(run: Running) -> None:
    """What a model sends with every call counts against the high-water mark, from the run's beginning on."""
    for words, fallbacks in ((1, 0), (100, 1)):
        model = Prompting(words, Decision.act("mutter"), Decision.act("mutter"), Decision.finish())
        store = MemoryStore()
        dial = Dial(padding=" And so on." * 20)
        parts = Parts(model, dial, judge=None, policy=Policy(high_water=200))
        assert isinstance(run(parts, store), RunFinished)
        left = left_by(store)
        assert left.notes[0].data["overhead"] == EstimateCounter().count(model.prompt_text((), "")) >= words
        assert (left.kinds.count("summarized") > 0) == (fallbacks > 0)


@both
def test_another_prompt_counts_from_where_the_run_goes_on_with_it(run: Running) -> None:
    """The model's room is that of its own prompt; the log says so, and plays the same without a model."""
    store, rooms, policy = MemoryStore(), list[int | None](), Policy(high_water=9_000, max_steps=2)
    outcome: Outcome | None = None
    for words in (1, 500, 500):
        model = Prompting(words, Decision.act("mutter"), Decision.act("mutter"), rooms=rooms)
        outcome = run(Parts(model, Dial(), judge=None, policy=policy), store)
        policy = attrs.evolve(policy, max_steps=(policy.max_steps or 0) + 2)
    assert rooms[0] is not None
    assert rooms[-1] is not None
    assert rooms[0] - rooms[-1] > 499
    assert left_by(store).kinds.count("counting") == 1
    assert rerun(store)[1] == outcome


class Prompting:
    """A model that says what it sends with every call."""

    mode: Final = "text"

    def __init__(self, words: int, *decisions: Decision, rooms: list[int | None] | None = None) -> None:
        self._words = words
        self._decisions = ScriptedModel(*decisions)
        self._rooms = [] if rooms is None else rooms

    def prompt_text(self, _tools: tuple[Tool, ...], _manual: str) -> str:
        return "word " * self._words

    def __call__(self, request: Decide, /) -> Any:
        self._rooms.append(request.room)
        return self._decisions(request)
