"""The paper's case studies: the last choice follows from the state that is shown, and from nothing else."""

from __future__ import annotations

import re

import pytest

from mage import Failed, Passed, engine, view
from mage.chat import Assistant, System, User, decide_messages, judge_messages, system_prompt
from mage.effects import Decide
from mage.engine import State
from tests.agent.case_studies import CASE_A, CASE_B, Case, bought, choose, judged, state_of

both = pytest.mark.parametrize("case", [CASE_A, CASE_B], ids=["A", "B"])


def prompt_of(state: State) -> str:
    """Return the text of the prompt that asks what to do next."""
    shown = view(state)
    boundaries = tuple(summary.label for summary in shown.compressed)
    messages = decide_messages(
        Decide(shown, boundaries), system=system_prompt("text", manual="open[id], buy[id]"), mode="text"
    )
    return "\n".join(
        message.text for message in messages if not isinstance(message, Assistant | System) or message.text
    )


def labelled(prompt: str) -> dict[int, str]:
    """Return the lines at the left margin that begin with a label."""
    return {int(label): text for label, text in re.findall(r"(?m)^\[Step (\d+)\] (.*)$", prompt)}


def test_case_a_shows_what_was_purchased_under_its_labels() -> None:
    """[Step 0], [Step 24] and [Step 31] are there with their purchases; none of the steps they cover is."""
    prompt = prompt_of(state_of(CASE_A))
    shown = labelled(prompt)
    assert list(shown) == [0, 24, 31]
    for text, asin, price in zip(
        shown.values(),
        ("B00T6NA7PA", "B003GQP06O", "B071S91WRZ"),
        ("$14.99", "$34.27", "$16.00"),
        strict=True,
    ):
        assert asin in text
        assert price in text
    assert "AmeriColor Tulip Red" in shown[31]
    assert "look[" not in prompt


def test_case_b_shows_the_final_purchase_and_no_candidate() -> None:
    """[Step 0] has the loveseat that was bought; what was looked at on the way is not shown."""
    prompt = prompt_of(state_of(CASE_B))
    shown = labelled(prompt)
    assert list(shown) == [0]
    assert "Leather" in shown[0]
    assert "B09H15V1KF" in shown[0]
    assert "look[" not in prompt


@both
def test_the_last_purchase_follows_from_the_prompt(case: Case) -> None:
    """Read by the notes alone, the prompt leads to the paper's ground truth."""
    assert choose(prompt_of(state_of(case))) == f"buy[{case.right}]"


@both
def test_another_last_purchase_would_have_led_elsewhere(case: Case) -> None:
    """Were a candidate taken for the last purchase, as a memory of fragments does, another product would be bought."""
    wrong = choose(prompt_of(state_of(case, last=case.misleading)))
    assert wrong != f"buy[{case.right}]"
    assert wrong == {"A": "buy[B07YTFYGXL]", "B": "buy[B08QYLGB9R]"}["A" if case is CASE_A else "B"]


def judge_prompt_of(state: State) -> str:
    """Return what a judge reads of the summary that is to be judged."""
    assert isinstance(state, engine.Unverified)
    (_, user) = judge_messages(engine.judge_request(state))
    assert isinstance(user, User)
    return user.text


@both
def test_the_judge_fails_the_wrong_purchase_with_where_it_began(case: Case) -> None:
    """From its prompt alone: what was bought before stands in it, with all prices, and each part with its boundary.

    Judged by the covered steps, as in version 1, the wrong topping fits as well as the right one.
    """
    before = state_of(case)
    wrong = {"A": "B07YTFYGXL", "B": "B08QYLGB9R"}["A" if case is CASE_A else "B"]
    pending = bought(case, before, wrong)
    prompt = judge_prompt_of(pending)
    assert all(part.text in prompt for part in case.parts)
    verdict = judged(prompt)
    assert isinstance(verdict, Failed)
    assert (verdict.boundary, case.right in verdict.feedback) == (before.tree.step_head, True)
    assert isinstance(pending, engine.Unverified)
    rejected = engine.apply_verdict(pending, verdict, pending.digest).unwrap()
    assert verdict.boundary is not None
    revised = engine.revise(rejected, verdict.boundary, verdict.feedback).unwrap()
    assert [line.text for line in view(revised.state).compressed][-1] == "Looked at all options."
    assert judged(judge_prompt_of(bought_again(revised.state, case))) == Passed()


def bought_again(state: State, case: Case) -> State:
    """Return the state in which the right product was bought after going back, and is to be judged."""
    assert isinstance(state, engine.Active)
    done = engine.grow(state, f"buy[{case.right}]", "Thank you for shopping with us!")
    text = f"Product {len(case.parts) + 1} purchased. ASIN: {case.right}."
    return engine.compress(done, text).unwrap()


@both
def test_the_judge_passes_the_right_purchase(case: Case) -> None:
    """The same reader passes what the notes lead to."""
    assert judged(judge_prompt_of(bought(case, state_of(case), case.right))) == Passed()


@pytest.mark.parametrize("stands_in", ["lesson", "text"])
def test_a_price_from_an_undone_branch_may_be_relied_on(stands_in: str) -> None:
    """What was found on a branch that was undone stands in a lesson, or in the text of the summary that was left there.

    A judge that wants every price of a claim shown, and reads its prompt alone, passes a claim that did not look the
    price up again; the covered steps alone would have failed it.
    """
    state = engine.grow(engine.start("Buy the cheaper of two lamps."), "open[A]", "Lamp A. Price: $84.")
    told = "Looked at lamp A, $84, and at nothing else." if stands_in == "text" else "Looked at one lamp."
    looked = engine.compress(state, told).unwrap()
    failed = engine.apply_verdict(looked, Failed("Look at both."), looked.digest).unwrap()
    lesson = "Lamp A is $84: look at B." if stands_in == "lesson" else "Look at B."
    back = engine.revise(failed, 0, lesson).unwrap().state
    assert isinstance(back, engine.Active)
    cheaper = engine.grow(engine.grow(back, "open[B]", "Lamp B. Price: $60."), "buy[B]", "Bought B for $60.")
    claim = engine.compress(cheaper, "Bought lamp B for $60, as lamp A is $84.").unwrap()
    request = engine.judge_request(claim)
    assert not any("$84" in text for step in request.steps for text in step.content)
    shown, _, claimed = judge_prompt_of(claim).partition("Summary to judge: ")
    assert all(price in shown for price in re.findall(r"\$\d+", claimed))
    assert "Tried and undone:" in shown
