"""The end is judged: open steps are the last subgoal, the answer is its text, and a fail sends the agent back."""

from __future__ import annotations

import pytest

from mage import Verdict
from mage.agent import Policy, RunFinished, RunStopped
from mage.chat import memory_words, system_prompt
from mage.effects import Decision, Metered, Rules, Usage
from mage.engine import (
    Accept,
    Accepted,
    ApplyVerdict,
    Compress,
    Failed,
    Passed,
    Retext,
    Revise,
    Summary,
    view,
)
from mage.memory.state import ENDS
from mage.tokens import EstimateCounter
from tests.agent.playing import DONE, Played, acts, compress, finish, revise, verdicts_of

ANSWER = Decision.finish("Oak, $310.")


def test_the_answer_is_judged_with_the_steps_that_are_open() -> None:
    """It is compressed as the text of their subgoal; only then the run is over."""
    played = Played(acts("a"), ANSWER, verdicts=[Passed()], judge_finish=True)
    outcome = played.run()
    assert isinstance(outcome, RunFinished)
    assert outcome.answer == "Oak, $310."
    assert played.commands[1] == Compress(f"{ENDS}Oak, $310.")
    (request,) = played.judged
    assert ([step.action for step in request.steps], request.text) == (["a"], f"{ENDS}Oak, $310.")


def test_with_nothing_open_the_end_is_not_judged_again() -> None:
    """What was compressed was judged."""
    played = Played(acts("a"), compress("did"), ANSWER, verdicts=[Passed()], judge_finish=True)
    assert isinstance(played.run(), RunFinished)
    assert len(played.judged) == 1


def test_an_answer_to_wrong_steps_sends_the_agent_back() -> None:
    """As any failed verdict does: it revises, is told why, and goes on."""
    played = Played(
        acts("a"), ANSWER, acts("b"), ANSWER, verdicts=[Failed("chrome"), Passed()], judge_finish=True
    )
    assert isinstance(played.run(), RunFinished)
    assert played.commands[3] == Revise(0, "chrome")
    (notice,) = played.decisions.asked[2].notices
    assert notice.text.startswith("[Step 0] has failed (the hints say why), so you are back at [Step 0]")


def test_a_wrong_answer_to_right_steps_is_asked_for_again() -> None:
    """By the model, which alone can give it, also where a summarizer writes other texts; nothing else is done before."""
    wrong = Failed("It was $320.", "summary")
    played = Played(
        acts("a"), ANSWER, acts("b"), finish("Oak, $320."), verdicts=[wrong, Passed()], judge_finish=True
    )  # fmt: skip
    outcome = played.run()
    assert isinstance(outcome, RunFinished)
    assert outcome.answer == "Oak, $320."
    assert played.commands[3] == Retext(f"{ENDS}Oak, $320.")
    assert played.summarized == []
    assert played.told[2:] == [["failed"], ["failed", "refused"]]
    notice = played.decisions.asked[2].notices[0]
    assert (
        notice.text
        == "Your answer has failed, so the task goes on: give a better one. What is wrong with it:"
    )
    assert notice.said == "It was $320."


def test_from_a_wrong_answer_the_agent_may_go_back() -> None:
    """Or give its text by compress, after which the steps are a subgoal like others."""
    wrong = Failed("It was $320.", "summary")
    before = (acts("a"), compress("did"), acts("b"), ANSWER)
    played = Played(
        *before, revise(0, "no"), acts("c"), ANSWER, verdicts=[Passed(), wrong, Passed()], judge_finish=True
    )
    assert isinstance(played.run(), RunFinished)
    assert Revise(0, "no") in played.commands
    other = Played(
        *before, compress("Oak, $320."), acts("c"), compress("vague"), DONE,
        verdicts=[Passed(), wrong, Passed(), wrong, Passed()], texts=["clear"], judge_finish=True,
    )  # fmt: skip
    assert isinstance(other.run(), RunFinished)
    assert [request.rejected for request in other.summarized] == ["vague"]


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        (Policy(max_retexts=0), Failed("vague", "summary")),
        (Policy(max_revisions=0), Failed("chrome")),
        (Policy(on_fail="accept"), Failed("chrome")),
        (Policy(revise=False), Failed("chrome")),
    ],
)
def test_an_end_that_is_accepted_despite_its_verdict_is_one(policy: Policy, verdict: Failed) -> None:
    """Where the policy gives up or never goes back, the run ends, and S says what the judge said."""
    played = Played(acts("a"), ANSWER, verdicts=[verdict], policy=policy, judge_finish=True)
    assert isinstance(played.run(), RunFinished)
    (found,) = verdicts_of(view(played.state))
    assert found == Accepted(verdict)


def test_a_policy_that_stops_stops_at_the_end_too() -> None:
    """A failed answer is a failed verdict."""
    played = Played(
        acts("a"), ANSWER, verdicts=[Failed("no")], policy=Policy(on_fail="stop"), judge_finish=True
    )
    outcome = played.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "failed_verdict"


def test_without_a_judge_the_end_is_accepted_openly() -> None:
    """Nothing else changes; and with `judge_finish` off not even that is written."""
    played = Played(acts("a"), ANSWER, policy=Policy(maintain=False), judge_finish=True)
    assert isinstance(played.run(), RunFinished)
    assert played.commands[1:] == [Compress(f"{ENDS}Oak, $310."), Accept()]
    off = Played(acts("a"), ANSWER)
    assert isinstance(off.run(), RunFinished)
    assert len(off.commands) == 1


def test_a_blank_answer_does_not_go_unjudged() -> None:
    """A text of ours stands for it; the answer stays blank."""
    played = Played(acts("a"), finish(" "), verdicts=[Passed()], judge_finish=True)
    outcome = played.run()
    assert isinstance(outcome, RunFinished)
    assert outcome.answer == " "
    assert played.judged[0].text == f"{ENDS}none"


def test_a_long_answer_is_cut_in_the_summary_alone() -> None:
    """Both ends stand there, and how much is left out; what the run returns is whole."""
    played = Played(acts("a"), finish("oak " * 3_000), verdicts=[Passed()], judge_finish=True)
    outcome = played.run()
    assert isinstance(outcome, RunFinished)
    assert len(outcome.answer) == 12_000
    (line,) = view(played.state).compressed
    assert isinstance(line, Summary)
    assert EstimateCounter().count(line.text) <= Policy().longest_text
    assert "characters left out ...]" in line.text


def test_a_verdict_that_comes_late_is_waited_for_at_the_end() -> None:
    """With a policy that does not wait otherwise."""
    played = Played(
        acts("a"), ANSWER, verdicts=[Passed()], policy=Policy(wait=False), late=2, judge_finish=True
    )
    assert isinstance(played.run(), RunFinished)
    assert isinstance(played.commands[-1], ApplyVerdict)


def test_a_run_whose_end_is_judged_goes_on_where_it_was_interrupted() -> None:
    """At every place of its log; what was answered is not asked again."""
    verdicts: list[Metered[Verdict]] = [
        Metered(Failed("It was $320.", "summary"), Usage(5, 1)),
        Metered(Passed(), Usage(5, 1)),
    ]
    decisions = (acts("a"), ANSWER, finish("Oak, $320."))
    played = Played(*decisions, verdicts=verdicts, judge_finish=True)
    played.run()
    for length in range(len(played.log)):
        kinds = [getattr(each, "kind", "") for each in played.log[:length]]
        again = played.again(*decisions[kinds.count("decided") :], verdicts=verdicts[kinds.count("judged") :])
        again.log = played.log[:length]
        outcome = again.run()
        assert isinstance(outcome, RunFinished)
        assert outcome.answer == "Oak, $320."
        assert again.commands == played.commands


def test_a_model_is_told_that_its_answer_is_judged() -> None:
    """Where it is; not without a judge, nor where the policy says otherwise."""
    said = "Your answer is judged with the steps that are open."
    for words in (lambda rules: system_prompt("tools", rules=rules).text, memory_words):
        assert said in words(Policy().rules)
        assert said not in words(Policy(judge_finish=False).rules)
        assert said not in words(Policy(maintain=False).rules)
    assert Policy().rules == Rules()
