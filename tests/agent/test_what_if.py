"""A run with something changed: only what that changes is asked, and the rest comes from the record."""

from __future__ import annotations

from typing import Any, TypeVar

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage import Failed, JudgeRequest, Passed, Session, Verdict
from mage.agent import Agent, Outcome, Policy, RunFinished, RunStopped, extracted, rerun, what_if
from mage.codec import encode_tree
from mage.effects import BadEnvironment, Decide, Decision, EffectError, Metered, Tool
from mage.engine import FoldRequest, Grow, Start
from mage.stores import MemoryStore, NameTaken
from mage.testing import RecordingEnvironment, ScriptedEnvironment, ScriptedModel
from tests.agent.recorded import ALL_MISTAKES, MISTAKES, POLICIES, a_run, counting, interrupted_after
from tests.agent.toys import TASK, Dial, Ground, Mistake, judge, model_of, parts_of, summarizer, world_of
from tests.agent.twins import NAME, TWINS, left_by
from tests.agent.ways import RestoredBy

Request = TypeVar("Request")
Answer = TypeVar("Answer")


def lenient(_: JudgeRequest | FoldRequest) -> Verdict:
    """Let everything pass."""
    return Passed()


@settings(max_examples=25, deadline=None)
@given(mistakes=MISTAKES, policy=POLICIES, which=st.integers(0, 1))
def test_with_nothing_changed_nobody_is_asked(
    mistakes: dict[int, Mistake], policy: Policy, which: int
) -> None:
    """The record answers it all: the same tree, byte for byte, the same outcome."""
    store = MemoryStore()
    outcome = TWINS[which](parts_of(model_of(4, mistakes), policy), store)
    found = what_if(store, NAME)
    assert encode_tree(found.after) == encode_tree(found.before) == left_by(store).tree
    assert (found.outcome, found.parted, found.asked.all) == (outcome, "", 0)
    assert not found.difference.differ


@settings(max_examples=15, deadline=None)
@given(decisions=st.integers(0, 20), restoring=st.sampled_from(["replay", "snapshot", "inverses"]))
def test_what_was_interrupted_and_resumed_is_answered_too(decisions: int, restoring: RestoredBy) -> None:
    """An interruption leaves nothing on the record that asks somebody again."""
    store = interrupted_after(decisions, restoring)
    TWINS[0](parts_of(model_of(4, ALL_MISTAKES), ground=Ground()), store)
    found = what_if(store, NAME)
    assert encode_tree(found.after) == left_by(store).tree
    assert found.asked.all == 0


def test_a_failure_that_a_run_was_resumed_after_is_no_answer() -> None:
    """What ended the run for a time does not end the new one."""
    store, (model, asked) = MemoryStore(), counting(model_of(1))

    def failing(request: Decide) -> Metered[Decision] | Decision:
        if len(asked) == 2:
            asked.append(request)
            raise EffectError("timeout", "nobody answers")
        return model(request)

    TWINS[0](parts_of(failing), store)
    outcome = TWINS[0](parts_of(failing), store)
    assert isinstance(outcome, RunFinished)
    found = what_if(store, NAME)
    assert isinstance(found.outcome, RunFinished)
    assert encode_tree(found.after) == left_by(store).tree


def test_a_reply_that_could_not_be_used_is_an_answer_too() -> None:
    """The new run is told the same of it, and goes on as the old one did."""
    store, (model, asked) = MemoryStore(), counting(model_of(1))

    def rambling(request: Decide) -> Metered[Decision] | Decision:
        if len(asked) == 1:
            asked.append(request)
            raise EffectError("not_json", "it rambles")
        return model(request)

    TWINS[0](parts_of(rambling), store)
    assert "unusable" in str(asked)
    found = what_if(store, NAME)
    assert encode_tree(found.after) == left_by(store).tree
    assert (found.asked.all, found.recorded.model) == (0, len(asked))


def test_a_new_summary_needs_a_judge() -> None:
    """Going on past the record, a model makes a summary that nobody has judged: the run stops and says so."""
    found = what_if(a_run({1: "wrong"}), NAME, policy=Policy(high_water=60), summarizer=extracted)
    assert isinstance(found.outcome, RunStopped)
    assert "the judge would have to be asked about a summary of" in found.outcome.detail


def test_another_judge_is_asked_about_each_summary_until_the_runs_part() -> None:
    """One that says the same is asked as often as the first; of a lenient one the model's next turn is new."""
    store = a_run({1: "wrong"})
    same, asked = counting(judge)
    found = what_if(store, NAME, judge=same)
    assert found.asked.judge == len(asked) == found.before.tree.next_summary - 1
    assert (found.asked.all, found.recorded.judge) == (len(asked), 0)
    assert not found.difference.differ
    other, asked = counting(lenient)
    found = what_if(store, NAME, judge=other)
    assert len(asked) == 2  # the first goal, and the wrong second one
    assert isinstance(found.outcome, RunStopped)
    assert found.outcome.reason == "unanswered"
    assert found.outcome.detail.startswith("the model would have to be asked")
    assert found.outcome.totals.summaries == 2
    assert found.difference.differ


def test_who_is_given_goes_on_where_the_record_ends() -> None:
    """With a model and a world the new run comes to its own end, and its world is brought there first."""
    store, ground = a_run({1: "wrong"}), Ground()
    found = what_if(store, NAME, judge=lenient, model=model_of(4, {1: "wrong"}), environment=world_of(ground))
    assert isinstance(found.outcome, RunFinished)
    assert found.parted.startswith("the model is asked")
    assert found.recorded.model
    assert found.asked.model
    assert ground.value == 13  # 3, 4 in place of 3, and twice 3
    assert (
        found.asked.environment == len(ground.performed) - found.recorded.environment + 1
    )  # the beginning was recorded


def test_a_judge_may_be_asked_only_what_is_new() -> None:
    """Not asked anew, it is not asked about what the record has a verdict on."""
    found = what_if(a_run({}), NAME, judge=lenient, anew=())
    assert found.asked.all == 0
    assert found.recorded.judge == 4


def test_a_changed_mark_asks_the_summarizer_alone() -> None:
    """Until the first fallback nothing is asked: the room that is left is no other question."""
    store = a_run({})
    found = what_if(store, NAME, policy=Policy(high_water=9_000))
    assert found.asked.all == 0
    assert not found.difference.differ
    found = what_if(store, NAME, policy=Policy(high_water=60))
    assert isinstance(found.outcome, RunStopped)
    assert "summarizer would have to be asked" in found.outcome.detail
    found = what_if(store, NAME, policy=Policy(high_water=60), summarizer=extracted)
    assert found.asked.summarizer == 1
    assert "would have to be asked" in str(found.outcome)


def test_a_world_that_is_another_one_is_not_acted_in() -> None:
    """One that cannot be brought to where the record ends, or answers otherwise on the way, fails the run."""
    store = a_run({1: "wrong"})
    model = model_of(4, {1: "wrong"})
    for world, said in (
        (world_of(Ground(), "inverses"), "cannot be brought"),
        (world_of(Ground(), padding="!"), "answers otherwise"),
    ):
        found = what_if(store, NAME, judge=lenient, model=model, environment=world)
        assert found.outcome.reason == "environment: environment"  # type: ignore[union-attr]  # it has failed
        assert said in found.outcome.detail  # type: ignore[union-attr]  # as above


def test_a_world_is_brought_where_the_run_stands_once() -> None:
    """It is restored to the path before its first action, and not again while it alone acts."""
    world = RecordingEnvironment(world_of(Ground()))
    what_if(a_run({1: "wrong"}), NAME, judge=lenient, model=model_of(4), environment=world)
    assert (len(world.restores.asked), world.resets.asked) == (1, [])
    assert world.actions


def test_a_strict_judge_sends_a_world_back_that_did_not_act_yet() -> None:
    """What is left behind was done in the record alone: the live world is brought to the boundary from its start."""

    def strict(request: JudgeRequest | FoldRequest) -> Verdict:
        is_wrong = isinstance(request, JudgeRequest) and len(request.steps) == 3
        return Failed("Not like this.") if is_wrong else Passed()

    world = RecordingEnvironment(world_of(Ground()))
    found = what_if(
        a_run({}), NAME, judge=strict, model=model_of(4), environment=world, policy=Policy(max_revisions=1)
    )
    assert isinstance(found.outcome, RunFinished)
    assert world.restores.asked[0].plan == ()


def test_the_new_run_is_a_run_like_any_other() -> None:
    """It is kept where one says, can be run again, and taken further; a name that is taken is refused."""
    store = a_run({1: "wrong"})
    found = what_if(store, NAME, judge=lenient, into=store)
    assert found.name == f"{NAME}.what-if"
    assert rerun(store, found.name).same
    outcome: Outcome = Agent(
        model=model_of(4), environment=Dial(Ground()), judge=judge, summarizer=summarizer
    ).run(store, found.name)
    assert isinstance(outcome, RunFinished)
    assert rerun(store, found.name).same
    with pytest.raises(NameTaken):
        what_if(store, NAME, into=store)


def test_a_model_is_told_what_the_run_was_begun_with() -> None:
    """Without a live environment another model is offered the recorded tools, and so is it in a what-if of that."""
    tools, manual = (Tool.of("look", "Look.", at={"type": "string"}),), "Look, then stop."
    environment = ScriptedEnvironment("seen", tools=tools, manual=manual)
    store = MemoryStore()
    model = ScriptedModel(Decision.act("look {}"), Decision.finish())
    assert isinstance(Agent(model=model, environment=environment).run(store, NAME, task=TASK), RunFinished)
    for name in (NAME, f"{NAME}.what-if"):
        other = ScriptedModel(Decision.act("look {}"), Decision.finish("otherwise"))
        found = what_if(store, name, model=other, anew=["model"], into=store)
        assert isinstance(found.outcome, RunFinished)
        assert {(asked.tools, asked.manual) for asked in other.asked} == {(tools, manual)}
        assert found.asked.environment == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"judge": "gpt-5"}, "judge is a str"),
        ({"model": 3}, "model is a int"),
        ({"summarizer": 3}, "summarizer is a int"),
        ({"policy": {"max_steps": 3}}, "policy is a dict"),
        ({"anew": ["jugde"]}, "anew names 'jugde', and may name judge, model, summarizer"),
        ({"environment": Dial}, "is the class Dial"),
        ({"on_event": 3}, "a hook is called with each event"),
    ],
)
def test_who_is_given_is_looked_at_first(wrong: Any, said: str) -> None:
    """What cannot be a judge, a policy and so on is told in words, and no half of a new run is left."""
    store = a_run({})
    before = [journal.name for journal in store.journals()]
    with pytest.raises(TypeError if "environment" not in wrong else BadEnvironment, match=said):
        what_if(store, NAME, into=store, **wrong)
    assert [journal.name for journal in store.journals()] == before


def test_a_run_that_was_begun_later_is_begun_there_again() -> None:
    """The new session holds what stood before the run, and nothing of what came after."""
    store, into = MemoryStore(), MemoryStore()
    with Session.open(store, NAME, task=TASK) as session:
        session.grow("look", "Dark.")
    TWINS[0](parts_of(model_of(1)), store)
    what_if(store, NAME, into=into, into_name="new")
    with Session.open(into, "new") as session:
        first, second = session.history(upto=2)
    assert (first.command, second.command) == (Start(TASK), Grow("look", "Dark."))


def test_urls_name_stores(tmp_path: Any) -> None:
    """Both take a store by its URL, and close it."""
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    parts = parts_of(model_of(2, {0: "wrong"}))
    Agent(model=parts.model, environment=parts.environment, judge=judge).run(url, NAME, task=TASK)
    assert rerun(url, NAME).same
    assert what_if(url, NAME, into=url, into_name="other").asked.all == 0
    assert rerun(url, "other").same


def test_a_judge_that_is_not_waited_for_is_on_the_record_too() -> None:
    """Its verdicts are found by what they are about; they may come earlier than they did, and the runs then part."""
    store = a_run({}, Policy(wait=False), goals=1)
    assert rerun(store, NAME).same
    found = what_if(store, NAME)
    assert found.recorded.judge == 1
    assert attrs.evolve(found.recorded, judge=0).all > 0
