"""Scripted judges and summarizers say what they were given, in order, and remember what they were asked."""

from __future__ import annotations

import asyncio

import pytest

from mage import Failed, JudgeRequest, Passed, view
from mage.effects import (
    EFFECT_FAULTS,
    RESET,
    Action,
    ActionEffect,
    AsyncEnvironment,
    AsyncJudge,
    AsyncModel,
    AsyncSummarizer,
    Compensable,
    CustomRestore,
    Decide,
    Decision,
    EffectError,
    EffectFault,
    Environment,
    Finish,
    Irreversible,
    Judge,
    Metered,
    Model,
    NoEffect,
    NotRestored,
    Observed,
    Restore,
    Restored,
    Reversible,
    Summarizer,
    SummaryRequest,
    Usage,
    lasts,
)
from mage.engine import Compress, Revise, StepId, compress, grow, judge_request, start
from mage.testing import (
    Recording,
    RecordingEnvironment,
    Scripted,
    ScriptedEnvironment,
    ScriptedJudge,
    ScriptedModel,
    ScriptedSummarizer,
    ScriptEnded,
)


def request() -> JudgeRequest:
    """Return what a judge is asked about one step."""
    return judge_request(compress(grow(start("t"), "a", "o"), "s").unwrap())


def test_a_scripted_judge_answers_in_order_and_remembers() -> None:
    """Answers come in order, an exception is raised, and the end of the script is an error of the test."""
    error = TimeoutError()
    scripted = ScriptedJudge(Passed(), error, Failed("no"))
    judge: Judge = scripted
    asked = request()
    assert judge(asked) == Passed()
    with pytest.raises(TimeoutError) as raised:
        judge(asked)
    assert raised.value is error
    assert scripted.left == 1
    assert judge(asked) == Failed("no")
    with pytest.raises(ScriptEnded, match="asked 4 times"):
        judge(asked)
    assert scripted.asked == [asked] * 4
    assert scripted.left == 0


def test_its_awaited_half_is_the_same_script() -> None:
    """`awaited` is an `AsyncJudge` that answers from the same script."""
    scripted = ScriptedJudge(Passed(), Failed("no"))
    judge: AsyncJudge = scripted.awaited

    async def story() -> None:
        assert await judge(request()) == Passed()

    asyncio.run(story())
    assert scripted.left == 1


def test_a_scripted_summarizer() -> None:
    """A summarizer is asked with everything that it needs, and answers with a text."""
    scripted = ScriptedSummarizer("bought", "sold")
    summarizer: Summarizer = scripted
    awaited: AsyncSummarizer = scripted.awaited
    asked = SummaryRequest(
        "t", ("be brief",), "fallback", (), tuple(grow(start("t"), "a", "o").tree.steps()), limit=20
    )
    assert summarizer(asked) == "bought"

    async def story() -> None:
        assert await awaited(asked) == "sold"

    asyncio.run(story())
    assert scripted.asked == [asked, asked]
    assert asked.steps[0].id == StepId(1)
    assert SummaryRequest("t", (), "subgoal", (), ()).limit is None


def question() -> Decide:
    """Return what a model is asked at the start."""
    return Decide(view(start("t")), (StepId(0),))


def test_a_scripted_model() -> None:
    """A model decides by its script, metered or not, called or awaited."""
    scripted = ScriptedModel(Decision.act("look"), Metered(Decision.finish("done")))
    model: Model = scripted
    awaited: AsyncModel = scripted.awaited
    assert model(question()) == Decision.act("look")

    async def story() -> None:
        assert await awaited(question()) == Metered(Decision.finish("done"))

    asyncio.run(story())
    assert scripted.asked == [question(), question()]


def test_a_scripted_environment() -> None:
    """It shows its opening and its observations in order, and comes back as its script says, else by replay."""
    scripted = ScriptedEnvironment(
        "a lamp",
        EffectError("environment", "no"),
        Observed("lit", over=True),
        opening="dark",
        restored=[NotRestored("no")],
    )
    environment: Environment = scripted
    restoring = scripted.capabilities.restoring
    assert isinstance(restoring, CustomRestore)
    assert environment.reset() == "dark"
    assert environment.act("look") == "a lamp"
    with pytest.raises(EffectError, match="no"):
        environment.act("jump")
    assert scripted.left == 1
    assert environment.act("light") == Observed("lit", over=True)
    assert restoring.restore(Restore(())) == NotRestored("no")
    assert restoring.restore(Restore(())) == Restored("replay")
    with pytest.raises(ScriptEnded):
        environment.act("again")
    assert scripted.actions == ["look", "jump", "light", "again"]
    assert scripted.asked == [RESET, "look", "jump", "light", Restore(()), Restore(()), "again"]


def test_the_awaited_half_of_a_scripted_environment() -> None:
    """`awaited` is an `AsyncEnvironment` of the same script, as repeatable as it is."""
    scripted = ScriptedEnvironment("a lamp", repeatable=False)
    environment: AsyncEnvironment = scripted.awaited
    restoring = environment.capabilities.restoring
    assert isinstance(restoring, CustomRestore)

    async def story() -> None:
        assert await environment.reset() == ""
        assert await environment.act("look") == "a lamp"
        assert await restoring.restore(Restore(())) == Restored("replay")

    asyncio.run(story())
    assert not environment.capabilities.repeatable
    assert scripted.actions == ["look"]


def test_a_recording_is_a_script() -> None:
    """What was asked and answered is kept, failures too, and answers the same again from a script."""
    recording: Recording[Decide, Decision | Metered[Decision]] = Recording(
        ScriptedModel(Decision.act("look"), EffectError("timeout", "late"))
    )
    model: Model = recording
    assert model(question()) == Decision.act("look")
    with pytest.raises(EffectError):
        model(question())
    again: Scripted[Decide, Decision | Metered[Decision]] = Scripted(*recording.answers)
    assert again(question()) == Decision.act("look")
    with pytest.raises(EffectError, match="late"):
        again(question())
    assert recording.asked == again.asked


def test_an_awaited_recording() -> None:
    """Who is awaited is recorded by `awaited`."""
    recording: Recording[JudgeRequest, object] = Recording(ScriptedJudge(Passed(), TimeoutError()).awaited)

    async def story() -> None:
        assert await recording.awaited(request()) == Passed()
        with pytest.raises(TimeoutError):
            await recording.awaited(request())

    asyncio.run(story())
    assert recording.answers[0] == Passed()
    assert len(recording.asked) == len(recording.answers) == 2


def test_a_recorded_environment() -> None:
    """A recorded environment is the one that it records, and keeps actions and restorings; awaited it is the same."""
    recording = RecordingEnvironment(ScriptedEnvironment("a lamp", "lit", opening="dark"))
    environment: Environment = recording
    restoring = environment.capabilities.restoring
    assert isinstance(restoring, CustomRestore)
    assert environment.reset() == "dark"
    assert environment.act("look") == "a lamp"
    assert restoring.restore(Restore(())) == Restored("replay")

    async def story() -> None:
        assert await recording.awaited.act("light") == "lit"

    asyncio.run(story())
    assert recording.resets.answers == ["dark"]
    assert recording.actions == ["look", "light"]
    assert recording.acts.answers == ["a lamp", "lit"]
    assert recording.restores.answers == [Restored("replay")]


def test_what_is_taken_adds_up() -> None:
    """Usages add up field by field, and `total` is what was read and written."""
    both = Usage(3, 1, 2) + Usage(4, 2, 0, 2)
    assert (both, both.total) == (Usage(7, 3, 2, 3), 10)


def test_decisions_by_name() -> None:
    """Each short form is the decision that it says."""
    assert Decision.compress("text", thought="why") == Decision((), Compress("text"), "why")
    assert Decision.revise(3, "no") == Decision((), Revise(3, "no"))
    assert Decision.finish("done") == Decision((), Finish("done"))
    assert Decision.act("a", "b").actions == (Action("a"), Action("b"))


@pytest.mark.parametrize("fault", EFFECT_FAULTS)
def test_which_faults_a_model_can_be_told_of(fault: EffectFault) -> None:
    """A reply that was useless can be told; where nobody has answered there is nobody to tell."""
    told = ("refusal", "empty", "truncated", "not_json", "wrong_schema", "unknown_tool", "too_many_calls")
    assert EffectError(fault, "said").unusable == (fault in told)


def test_what_lasts_is_what_was_declared_so() -> None:
    """What nobody can take back, or only by another action, lasts; what is not declared does not."""
    lasting: dict[ActionEffect, bool] = {
        Compensable("pay back"): True,
        Irreversible(): True,
        Reversible("undo"): False,
        NoEffect(): False,
    }
    assert {effect: lasts(effect) for effect in lasting} == lasting
    assert not lasts(None)
