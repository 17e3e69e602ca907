"""The paper's case studies: the last choice follows from the state that is shown, and from nothing else."""

from __future__ import annotations

import re

import pytest

from mage import view
from mage.chat import Assistant, System, decide_messages, system_prompt
from mage.effects import Decide
from mage.engine import State
from tests.agent.case_studies import CASE_A, CASE_B, Case, choose, state_of

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
