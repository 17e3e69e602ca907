"""Maintain in a run: when the judge is waited for, what follows from a verdict, and what if there is none."""

from __future__ import annotations

import pytest

from mage import Failed, Passed
from mage.agent import Policy, RunFinished, RunStopped
from mage.effects import Decision, EffectError, Metered, Usage
from mage.engine import (
    Accept,
    Accepted,
    Active,
    ApplyVerdict,
    Compress,
    Fault,
    Grow,
    Pending,
    Retext,
    Revise,
    StepId,
    Unverified,
    grow,
    start,
)
from mage.engine import compress as compressed
from mage.testing import ScriptedEnvironment
from tests.agent.playing import DONE, Played, acts, compress, lessons_of, revise, verdicts_of
from tests.agent.toys import TASK

BAD = Failed("The chair does not fit.")
VAGUE = Failed("Say which chair.", "summary")
DOWN = EffectError("unreachable", "nobody there")


def kinds(played: Played) -> list[type[object]]:
    """Return the kinds of the commands."""
    return [type(command) for command in played.commands]


def test_it_waits_for_the_judge() -> None:
    """A summary is judged right after it was made, against its steps, before the model is asked again."""
    played = Played(acts("a"), compress("did a"), DONE, verdicts=[Passed()])
    outcome = played.run()
    assert isinstance(outcome, RunFinished)
    assert kinds(played) == [Grow, Compress, ApplyVerdict]
    assert played.kinds == ["started", "decided", "acting", "decided", "judged", "decided", "ended"]
    assert played.verdicts.asked[0].text == "did a"
    assert [step.action for step in played.judged[0].steps] == ["a"]
    assert verdicts_of(played.decisions.asked[2].shown) == [Passed()]
    assert outcome.totals.summaries == 1


def test_a_failed_verdict_goes_back_with_the_feedback_as_lesson() -> None:
    """On a fault of the execution the agent goes back to the label, and the feedback is shown there."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), compress("did b"), DONE, verdicts=[BAD, Passed()]
    )
    outcome = played.run()
    assert kinds(played)[:4] == [Grow, Compress, ApplyVerdict, Revise]
    assert played.commands[3] == Revise(0, BAD.feedback)
    assert lessons_of(played.decisions.asked[2].shown) == [BAD.feedback]
    assert played.decisions.asked[2].shown.raw == ()
    assert outcome.totals.revisions == 1


def test_a_fault_of_the_summary_gets_a_new_text() -> None:
    """Where the text is wrong and the steps are right, the summarizer writes it anew, and it is judged again (D16)."""
    played = Played(acts("a"), compress("did"), DONE, verdicts=[VAGUE, Passed()], texts=["did a"])
    outcome = played.run()
    assert kinds(played) == [Grow, Compress, ApplyVerdict, Retext, ApplyVerdict]
    asked = played.summarized[0]
    assert (asked.rejected, asked.feedback) == ("did", VAGUE.feedback)
    assert [step.action for step in asked.steps] == ["a"]
    assert asked.limit == 100
    assert played.decisions.asked[2].shown.compressed[0].text == "did a"
    assert outcome.totals.revisions == 0


@pytest.mark.parametrize("late", [1, 2])
def test_without_waiting_a_late_pass_keeps_what_was_built_on_it(late: int) -> None:
    """The agent goes on while the judge thinks; a pass that comes later changes nothing else (D6)."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), acts("c"), DONE,
        verdicts=[Passed()], policy=Policy(wait=False), late=late,
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert isinstance(played.state, Active)
    assert [step.action for step in played.decisions.asked[-1].shown.raw] == ["b", "c"]
    assert played.kinds.count("verdict") == 1
    assert verdicts_of(played.decisions.asked[2].shown) == [Pending()]


def test_without_waiting_a_late_fail_drops_what_was_built_on_it() -> None:
    """A fail that comes late goes back to the label, and what was built on it goes too, from the world as well."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), acts("c"), DONE,
        verdicts=[BAD], policy=Policy(wait=False), late=1,
    )  # fmt: skip
    played.run()
    assert kinds(played) == [Grow, Compress, Grow, ApplyVerdict, Revise, Grow]
    last = played.decisions.asked[-1].shown
    assert (last.compressed, [step.action for step in last.raw]) == ((), ["c"])
    assert lessons_of(last) == [BAD.feedback]


def test_without_waiting_a_late_fault_of_the_summary_keeps_the_steps() -> None:
    """A late fault of the text gets a new text; the steps built on it stay."""
    played = Played(
        acts("a"), compress("did"), acts("b"), acts("c"), DONE,
        verdicts=[VAGUE, Passed()], texts=["did a"], policy=Policy(wait=False), late=1,
    )  # fmt: skip
    played.run()
    assert kinds(played) == [Grow, Compress, Grow, ApplyVerdict, Retext, Grow, ApplyVerdict]
    assert [step.action for step in played.decisions.asked[-1].shown.raw] == ["b", "c"]


def test_the_run_does_not_finish_over_a_verdict_that_fails() -> None:
    """`finish` waits for what is pending; where it fails, the run goes on and the model is told."""
    played = Played(
        acts("a"), compress("did a"), DONE, acts("b"), DONE, verdicts=[BAD], policy=Policy(wait=False), late=9
    )
    assert isinstance(played.run(), RunFinished)
    assert played.told[3] == ["revised", "failed"]
    assert [step.action for step in played.decisions.asked[4].shown.raw] == ["b"]


def test_a_second_compress_waits_for_the_first() -> None:
    """A compress over a pending head waits for its verdict; where that fails, the second is not made (D6)."""
    script = (acts("a"), compress("did a"), acts("b"), compress("did b"), DONE)
    for verdict, expected in ((Passed(), 2), (BAD, 1)):
        played = Played(*script, verdicts=[verdict, Passed()], policy=Policy(wait=False), late=9)
        played.run()
        assert kinds(played).count(Compress) == expected
        assert ("failed" in played.told[-1]) == (verdict == BAD)


def test_a_judge_that_is_down_stops_the_run() -> None:
    """Unless the policy says otherwise, the run stops where the judge does not answer, and can go on later."""
    played = Played(acts("a"), compress("did a"), verdicts=[DOWN])
    outcome = played.run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "judge_down"
    assert isinstance(played.state, Unverified)
    later = played.again(DONE, verdicts=[Passed()])
    assert isinstance(later.run(), RunFinished)
    assert isinstance(later.state, Active)


def test_a_judge_that_is_down_is_done_without() -> None:
    """The policy may accept openly: S says that nobody has judged it, and the model is told."""
    played = Played(acts("a"), compress("did a"), DONE, verdicts=[DOWN], policy=Policy(judge_down="accept"))
    played.run()
    assert played.state.tree.head_summary.verdict == Accepted()
    assert played.told[2] == ["judge"]


def test_a_judge_that_is_down_is_left_alone() -> None:
    """The policy may leave the summary pending: it is not asked again at every turn, and accepted at the latest
    where it cannot stay so.
    """
    played = Played(
        acts("a"), compress("did a"), acts("b"), compress("did b"), DONE,
        verdicts=[DOWN, DOWN, Passed()], policy=Policy(judge_down="leave"),
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert kinds(played) == [Grow, Compress, Grow, Accept, Compress, ApplyVerdict]
    assert played.told[2] == ["judge"]
    assert played.told[3] == []


@pytest.mark.parametrize("wait", [True, False])
def test_rubbish_from_a_judge_is_no_verdict(wait: bool) -> None:  # a parameter
    """A failed verdict without feedback is refused, and counts as no answer."""
    policy = Policy(judge_down="accept", wait=wait)
    played = Played(acts("a"), compress("did a"), DONE, verdicts=[Failed(" ")], policy=policy)
    assert isinstance(played.run(), RunFinished)
    assert played.state.tree.head_summary.verdict == Accepted()


def test_a_judge_that_fails_late_is_as_down_as_any() -> None:
    """Without waiting the judge's failure is found when it is looked for, and its tokens count."""
    error = EffectError("server", "500", usage=Usage(7, 1))
    played = Played(
        acts("a"), compress("did a"), acts("b"), DONE,
        verdicts=[error], policy=Policy(wait=False, judge_down="accept"), late=1,
    )  # fmt: skip
    outcome = played.run()
    assert outcome.totals.tokens["judge"] == Usage(7, 1)
    assert played.told[3] == ["judge"]


@pytest.mark.parametrize(("boundary", "most"), [(0, 0), (0, 2)])
def test_it_goes_back_as_often_as_allowed(boundary: int, most: int) -> None:
    """After `max_revisions` at one boundary the failed summary stays, openly, and the model is told (D13)."""
    tries = [turn for number in range(most + 1) for turn in (acts(f"a{number}"), compress("did"))]
    played = Played(*tries, DONE, verdicts=[BAD] * (most + 1), policy=Policy(max_revisions=most))
    outcome = played.run()
    assert outcome.totals.revisions == most
    assert played.state.tree.head_summary.verdict == Accepted(BAD)
    assert played.told[-1] == ["failed"]
    assert played.replay.counts.revisions.get(StepId(boundary), 0) == most


def test_exhausted_it_stops_if_the_policy_says_so() -> None:
    """Instead of accepting, the run may stop."""
    policy = Policy(max_revisions=0, exhausted="stop")
    outcome = Played(acts("a"), compress("did"), verdicts=[BAD], policy=policy).run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "exhausted"
    assert "[Step 0]" in outcome.detail


def test_a_text_is_written_anew_as_often_as_allowed() -> None:
    """After `max_retexts` of one summary it stays, openly."""
    played = Played(
        acts("a"),
        compress("did"),
        DONE,
        verdicts=[VAGUE] * 3,
        texts=["one", "two"],
        policy=Policy(max_retexts=2),
    )
    played.run()
    assert kinds(played).count(Retext) == 2
    assert played.state.tree.head_summary.verdict == Accepted(VAGUE)
    assert played.texts.left == 0


@pytest.mark.parametrize("text", [EffectError("refusal", "no"), " "])
def test_no_new_text_is_to_be_had(text: str | Exception) -> None:
    """Where the summarizer fails, or writes nothing, the summary is given up, and nothing blank is stored."""
    played = Played(acts("a"), compress("did"), DONE, verdicts=[VAGUE], texts=[text])
    played.run()
    assert kinds(played) == [Grow, Compress, ApplyVerdict, Accept]
    assert played.state.tree.head_summary.verdict == Accepted(VAGUE)


def test_on_fail_it_accepts_or_stops() -> None:
    """The policy may accept a failed summary openly, or stop."""
    played = Played(acts("a"), compress("did"), DONE, verdicts=[BAD], policy=Policy(on_fail="accept"))
    played.run()
    assert played.state.tree.head_summary.verdict == Accepted(BAD)
    outcome = Played(acts("a"), compress("did"), verdicts=[BAD], policy=Policy(on_fail="stop")).run()
    assert isinstance(outcome, RunStopped)
    assert outcome.reason == "failed_verdict"


def test_without_maintain_each_summary_is_accepted() -> None:
    """The ablation without Maintain asks no judge (D18)."""
    played = Played(acts("a"), compress("did"), DONE, policy=Policy(maintain=False))
    played.run()
    assert kinds(played) == [Grow, Compress, Accept]
    assert played.verdicts.asked == []


def test_without_revise_nothing_goes_back() -> None:
    """The ablation without Revise accepts what has failed, shows the feedback, and offers no boundary (D18)."""
    played = Played(
        acts("a"), compress("did"), revise(0, "no"), DONE, verdicts=[BAD], policy=Policy(revise=False)
    )
    played.run()
    assert kinds(played) == [Grow, Compress, ApplyVerdict, Accept]
    shown = played.decisions.asked[2]
    assert shown.boundaries == ()
    assert verdicts_of(shown.shown) == [Accepted(BAD)]
    assert played.told[3] == ["refused"]


def test_without_compress_the_steps_are_shown() -> None:
    """The ablation without Compress judges as ever, by every step since the root, and shows steps (D18)."""
    played = Played(
        acts("a"), compress("did a"), acts("b"), compress("did b"), DONE,
        verdicts=[Passed(), Passed()], policy=Policy(compress=False),
    )  # fmt: skip
    played.run()
    assert [step.action for step in played.judged[1].steps] == ["a", "b"]
    shown = played.decisions.asked[-1].shown
    assert shown.compressed == ()
    assert [step.action for step in shown.raw] == ["a", "b"]


def test_a_pending_head_is_written_anew_by_compress() -> None:
    """With nothing open, compress gives the pending head a new text; as often as the policy says (D13)."""
    policy = Policy(wait=False, max_retexts=1)
    played = Played(
        acts("a"), compress("one"), compress("two"), compress("three"), compress(" "), DONE,
        verdicts=[Passed()], policy=policy, late=9,
    )  # fmt: skip
    played.run()
    assert played.state.tree.head_summary.text == "two"
    assert played.told[4:6] == [["refused"], ["refused"]]
    assert kinds(played) == [Grow, Compress, Retext, ApplyVerdict]


def test_a_blank_text_for_a_pending_head_is_refused() -> None:
    """A blank new text is refused, and told once."""
    played = Played(
        acts("a"),
        compress("one"),
        compress(" "),
        DONE,
        verdicts=[Passed()],
        policy=Policy(wait=False),
        late=9,
    )
    played.run()
    assert played.told[3] == ["refused"]
    assert kinds(played) == [Grow, Compress, ApplyVerdict]


def test_the_verdict_keeps_who_gave_it_and_what_it_took() -> None:
    """Model, prompt and usage of the judge stand beside the verdict, and in the totals."""
    answer = Metered(Passed(), Usage(5, 2), "judge-1", "abc")
    played = Played(acts("a"), compress("did"), DONE, verdicts=[answer])
    outcome = played.run()
    meta = dict(played.journal[2].meta)
    assert (meta["model"], meta["prompt"], meta["usage"]) == ("judge-1", "abc", Usage(5, 2).document)
    assert outcome.totals.tokens["judge"] == Usage(5, 2)
    assert outcome.totals.usage.total == 7


def test_a_judge_that_is_down_late_stops_compress_and_finish() -> None:
    """Without waiting, the run stops where a verdict is needed and there is none to be had."""
    policy = Policy(wait=False)
    for last in (DONE, compress("did b")):
        played = Played(acts("a"), compress("did a"), acts("b"), last, verdicts=[DOWN], policy=policy, late=9)
        outcome = played.run()
        assert isinstance(outcome, RunStopped)
        assert outcome.reason == "judge_down"
        assert kinds(played) == [Grow, Compress, Grow]


def test_a_head_that_somebody_else_has_failed() -> None:
    """A failed verdict of somebody else is followed like one of the run's own judge."""
    state = compressed(grow(start(TASK), "a", "seen"), "did a").unwrap()
    assert isinstance(state, Unverified)
    failing = ApplyVerdict(BAD, state.digest)
    played = Played(acts("b"), DONE, verdicts=[Passed()], state=state, others={0: [failing]})
    assert isinstance(played.run(), RunFinished)
    assert played.commands[:2] == [failing, Revise(0, BAD.feedback)]


def test_a_head_that_was_left_alone_is_settled_in_the_end() -> None:
    """A late failure of a judge that is left alone is no reason to loop: the head is accepted where it must be."""
    policy = Policy(wait=False, judge_down="leave")
    played = Played(acts("a"), compress("did a"), DONE, verdicts=[DOWN], policy=policy, late=9)
    assert isinstance(played.run(), RunFinished)
    assert kinds(played) == [Grow, Compress, Accept]


def wrong_since(boundary: int) -> Failed:
    """Return a verdict that says where the mistake began."""
    return Failed("It began there.", boundary=StepId(boundary))


def test_back_to_where_the_judge_says_that_it_began() -> None:
    """A verdict that names a boundary leads there, with its words as the lesson; one that does not, to the label (D7).

    The boundary may be one of an interim account of the same subgoal, or one above the subgoal.
    """
    script = (acts("a"), compress("did a"), acts("b"), acts("c"), compress("both"))
    for boundary in (0, 1, 2, None):
        verdict = Failed("It began there.") if boundary is None else wrong_since(boundary)
        played = Played(
            *script, DONE, texts=["did b"], policy=Policy(high_water=1),
            verdicts=[*[Passed()] * 2, verdict],
        )  # fmt: skip
        played.run()
        assert played.judged[-1].boundaries == (0, 1, 2)
        assert [each.label for each in played.judged[-1].earlier] == [1]
        assert Revise(1 if boundary is None else boundary, "It began there.") in played.commands


@pytest.mark.parametrize(("fault", "boundary"), [("execution", 7), ("execution", 1), ("summary", 0)])
def test_a_boundary_that_is_none_is_left_out_of_the_verdict(fault: Fault, boundary: int) -> None:
    """A judge that names a step nobody can go back to has judged all the same; the model is told."""
    wrong = Failed("No.", fault, StepId(boundary))
    played = Played(acts("a"), compress("did a"), DONE, verdicts=[wrong, Passed()], texts=["did a once"])
    assert isinstance(played.run(), RunFinished)
    assert played.commands[2] == ApplyVerdict(Failed("No.", fault), played.verdicts.asked[0].digest)
    assert isinstance(played.commands[3], Revise if fault == "execution" else Retext)
    assert played.told[2] == ["judge", *["revised"] * (fault == "execution")]
    again = played.again()
    again.run()
    assert again.commands == played.commands


def test_it_goes_back_as_often_as_allowed_to_each_boundary() -> None:
    """How often it may go back counts by the boundary that a verdict names (D13)."""
    tries = [turn for number in range(3) for turn in (acts(f"b{number}"), compress("did b"))]
    played = Played(
        acts("a"), compress("did a"), *tries, acts("a again"), compress("did a again"), DONE,
        verdicts=[Passed(), BAD, BAD, wrong_since(0), Passed()], policy=Policy(max_revisions=2),
    )  # fmt: skip
    played.run()
    assert [command.boundary for command in played.commands if isinstance(command, Revise)] == [1, 1, 0]


@pytest.mark.parametrize("wait", [True, False])
def test_a_text_may_be_written_anew_without_end(wait: bool) -> None:  # a parameter
    """However often the policy lets a text be written anew, that is a loop, and no depth of calls."""
    often = 1_000
    texts = [f"text {number}" for number in range(often)]
    played = Played(
        acts("a"), compress("did"), DONE,
        verdicts=[VAGUE] * (often + 1), texts=texts, policy=Policy(max_retexts=often, wait=wait),
    )  # fmt: skip
    assert isinstance(played.run(), RunFinished)
    assert played.state.tree.head_summary.text == texts[-1]
    assert played.state.tree.head_summary.verdict == Accepted(VAGUE)


def test_without_compress_it_goes_back_to_the_same_boundaries() -> None:
    """In the ablation without Compress boundaries, and what may be compressed, are those of the state (D18)."""
    shown: list[list[tuple[object, bool]]] = []
    for policy in (Policy(), Policy(compress=False)):
        played = Played(
            acts("a"), compress("did a"), acts("b"), compress("did b"), DONE,
            verdicts=[Passed(), Passed()], policy=policy,
        )  # fmt: skip
        played.run()
        shown.append([(request.boundaries, request.may_compress) for request in played.decisions.asked])
    assert shown[0] == shown[1]
    assert shown[0][-1] == ((0, 1), False)


def test_a_subgoal_is_gone_back_in_only_so_often_in_all() -> None:
    """Whatever the boundaries that the judge names, revisions behind the label count together (D13)."""
    policy = Policy(max_revisions=9, max_subgoal_revisions=3)
    script = [
        acts(f"a{number}") if not place else compress("did a") for number in range(4) for place in range(2)
    ]
    played = Played(*script, DONE, verdicts=[BAD] * 4, policy=policy)
    played.run()
    assert kinds(played).count(Revise) == 3
    assert Accept in kinds(played)


def test_where_no_judge_reads_it_the_model_is_told_what_its_text_has_from_nowhere() -> None:
    """A price or an id that stands in no step is pointed out once; a text whose numbers are found is left alone."""
    for text, told in (("Bought it for $7,310.", ["judge"]), ("Bought it for $310 (C-11).", [])):
        played = Played(
            acts("buy[C-11]"), compress(text), DONE,
            environment=ScriptedEnvironment("Bought for $310."), policy=Policy(maintain=False),
        )  # fmt: skip
        played.run()
        assert played.told[2] == told
        if told:
            assert played.decisions.asked[2].notices[0].said == "7310"


def test_where_every_step_is_shown_a_value_of_any_of_them_is_known() -> None:
    """Without Compress the model still sees the code of an earlier part: to say that it stands in no step would be wrong."""
    script = (acts("search"), compress("Searched."), acts("buy[C-11]"), compress("Not Q-7310."), DONE)
    for policy, told in ((Policy(maintain=False, compress=False), []), (Policy(maintain=False), ["judge"])):
        played = Played(*script, environment=ScriptedEnvironment("C-11 and Q-7310", "Bought."), policy=policy)
        played.run()
        assert played.told[4] == told


def test_without_a_summarizer_the_model_is_asked_for_a_better_text() -> None:
    """Its own text is never replaced by an extract; where it gives none as often as allowed, its text stays (D16)."""
    policy = Policy(rewrite=False, max_retexts=1)
    played = Played(
        acts("a"), compress("did it"), compress("did a"), DONE, verdicts=[VAGUE, Passed()], policy=policy
    )
    played.run()
    assert played.summarized == []
    assert played.state.tree.head_summary.text == "did a"
    stubborn = Played(
        acts("a"),
        compress("did it"),
        compress("did!"),
        compress("did?"),
        DONE,
        verdicts=[VAGUE, VAGUE],
        policy=policy,
    )
    stubborn.run()
    assert stubborn.state.tree.head_summary.text == "did!"
    assert isinstance(stubborn.state.tree.head_summary.verdict, Accepted)


@pytest.mark.parametrize("move", [acts("b"), DONE])
def test_a_model_that_gives_no_better_text_is_asked_once_more_and_then_goes_on(move: Decision) -> None:
    """Nothing is performed above a failed text, nor does the run end, before the model has heard of it twice."""
    played = Played(
        acts("a"), compress("did it"), move, move, DONE, verdicts=[VAGUE], policy=Policy(rewrite=False)
    )
    assert isinstance(played.run(), RunFinished)
    assert kinds(played)[:4] == [Grow, Compress, ApplyVerdict, Accept]
    assert played.told[2] == ["failed"]
    assert "failed" in played.told[3]
    again = played.again()
    again.run()
    assert again.commands == played.commands
