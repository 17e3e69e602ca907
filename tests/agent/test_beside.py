"""Others at work beside a run: another life of it, somebody who redacts, deletes, or gives it back with a judge."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast  # Any: what is answered here is wrong on purpose

import pytest

from mage import JudgeRequest, Passed, Session
from mage.agent import Agent, BadRunLog, Policy, RunFailed, RunFinished, rerun
from mage.agent.cursor import BadAnswer
from mage.cli.change import redact_store
from mage.effects import Decide, Decision, EffectError, Model
from mage.engine import FoldRequest
from mage.stores import MemoryStore
from mage.testing import ScriptedJudge, ScriptedModel
from mage.tokens import EstimateCounter
from tests.agent.toys import TASK, Dial, Parts, judge
from tests.agent.twins import NAME, Running, both


def following(*decisions: Decision | Callable[[], Decision]) -> Model:
    """Return a model that follows a script, some of whose lines do something first."""
    script = iter(decisions)

    def decide(request: Decide, /) -> Decision:
        line = next(script)
        return line if isinstance(line, Decision) else line()

    return decide


def test_another_life_of_the_run_at_the_same_time_harms_nothing() -> None:
    """The one that acts first is overtaken or fails by name; the run goes on, and is run again to the same state."""
    store = MemoryStore()
    last = Agent(model=ScriptedModel(Decision.act("turn 1"), Decision.finish()), environment=Dial())

    class Slow(Dial):
        """While it acts, another life of the same run goes all the way."""

        def act(self, action: str) -> Any:
            if not isinstance(last.run(store, NAME), RunFinished):
                raise AssertionError("the other life has not finished")
            return super().act(action)

    first = Agent(model=ScriptedModel(Decision.act("turn 2")), environment=Slow())
    outcome = first.run(store, NAME, task=TASK)
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "store: conflict"
    assert rerun(store, NAME).same
    assert isinstance(Agent(model=ScriptedModel(), environment=Dial()).run(store, NAME), RunFinished)


def test_what_is_redacted_beside_a_run_is_gone_for_the_run_too() -> None:
    """Having lost a text, a step is another one: the same content grows a new step, in memory as in the journal."""
    store = MemoryStore()

    def redacting() -> Decision:
        redact_store(store, NAME, re.compile("turn 1"))
        return Decision.revise(0, "again")

    script = following(
        Decision.act("turn 1"), redacting, Decision.act("turn 1"), Decision.act("look"), Decision.finish()
    )
    shown: list[Decide] = []

    def decide(request: Decide, /) -> Any:
        shown.append(request)
        return script(request)

    outcome = Agent(model=decide, environment=Dial(), policy=Policy(point_out=False, judge_finish=False)).run(
        store, NAME, task=TASK
    )
    assert isinstance(outcome, RunFinished)
    assert shown[-1].shown == Session.open(store, NAME).state()


def test_a_summary_that_is_redacted_while_its_judge_thinks_is_asked_about_again() -> None:
    """The verdict is about another text by then: it lands nowhere, and nothing is raised."""
    store = MemoryStore()

    def thinking(request: JudgeRequest | FoldRequest, /) -> Passed:
        if "secret" in request.text:
            redact_store(store, NAME, re.compile("secret"))
        return Passed()

    model = following(
        Decision.act("look"), Decision.compress("a secret"), Decision.act("look"), Decision.finish()
    )
    outcome = Agent(model=model, environment=Dial(), judge=thinking).run(store, NAME, task=TASK)
    assert isinstance(outcome, RunFinished)
    assert "secret" not in str(Session.open(store, NAME).state())


def test_a_session_that_is_deleted_and_made_anew_is_not_written_to() -> None:
    """A run whose session was replaced by another of its name fails, and leaves the other one alone."""
    store = MemoryStore()

    def replacing() -> Decision:
        store.delete(NAME)
        with Session.open(store, NAME, task="another task") as other:
            for number in range(10):
                other.grow("theirs", str(number))
        return Decision.act("look")

    outcome = Agent(model=following(Decision.act("look"), replacing), environment=Dial()).run(
        store, NAME, task=TASK
    )
    assert isinstance(outcome, RunFailed)
    assert outcome.reason == "store: conflict"
    assert [step.action for step in Session.open(store, NAME).state().raw] == ["theirs"] * 10


@both
def test_a_run_that_gets_a_judge_asks_it(run: Running) -> None:
    """Begun without a judge, a run that is resumed with one has its summaries judged from there on."""
    store = MemoryStore()
    broken = EffectError("timeout", "late")
    run(Parts(ScriptedModel(Decision.act("look"), Decision.compress("one"), broken), Dial()), store)
    asked = ScriptedJudge(Passed())
    model = ScriptedModel(Decision.act("look"), Decision.compress("two"), Decision.finish())
    assert isinstance(run(Parts(model, Dial(), judge=asked), store), RunFinished)
    assert [request.text for request in asked.asked] == ["two"]


def test_a_counter_of_ones_own_is_kept() -> None:
    """A run counts with the counter that it was begun with; without that one it is refused by name."""

    class Words:
        name = "words"

        def count(self, text: str) -> int:
            return len(text.split())

    store = MemoryStore()
    broken = ScriptedModel(EffectError("timeout", "late"))
    Agent(model=broken, environment=Dial(), counter=Words()).run(store, NAME, task=TASK)
    done = ScriptedModel(Decision.finish())
    with pytest.raises(BadRunLog, match="'words'"):
        Agent(model=done, environment=Dial(), counter=EstimateCounter()).run(store, NAME)
    assert isinstance(Agent(model=done, environment=Dial(), counter=Words()).run(store, NAME), RunFinished)


RUBBISH: list[object] = [None, "text", 5, {"action": "x"}, True, ["x"]]


@both
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("rubbish", RUBBISH, ids=repr)
def test_an_answer_of_a_wrong_type_is_refused_by_name(run: Running, rubbish: object, wait: bool) -> None:
    """Whoever gives it is named, nothing of it is kept, and the run goes on with a better answer."""
    policy = Policy(wait=wait)
    work = (Decision.act("look"), Decision.compress("done"), Decision.act("look"), Decision.finish())
    bad = cast("Any", rubbish)
    store = MemoryStore()
    with pytest.raises(BadAnswer, match="the model should answer Decision"):
        run(Parts(ScriptedModel(bad), Dial(), judge=judge, policy=policy), store)
    with pytest.raises(BadAnswer, match="the judge should answer Passed or Failed"):
        run(Parts(ScriptedModel(*work), Dial(), judge=lambda request: bad, policy=policy), store)
    left = ScriptedModel(*work[2:])
    assert isinstance(
        run(Parts(left, Dial(), judge=lambda request: Passed(), policy=policy), store), RunFinished
    )
