"""Judge and summarizer within their own context: a question that does not fit is made shorter and put again."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from mage import Passed
from mage.chat import shorter
from mage.effects import JudgeRequest, SummaryRequest
from mage.engine import Earlier, Step, StepId
from tests.llm.requests import JUDGE, SUMMARY
from tests.llm.server import Answer, Status, says
from tests.llm.twins import Outcome, judged, summarized

LONG: Final = Step(StepId(3), StepId(2), "read", f"begin {'word ' * 4000} end")
TOO_LONG: Final = Status(
    400, {"error": {"message": "maximum context length is 8 tokens", "code": "context_length_exceeded"}}
)
PASSED: Final = says('{"reasoning": "", "passed": true, "fault": "none", "boundary": null, "feedback": ""}')


def _asked(outcome: Outcome) -> list[str]:
    return [body["messages"][-1]["content"] for body in outcome.bodies]


def _question(kind: str) -> Any:
    asked: JudgeRequest | SummaryRequest = JUDGE if kind == "judge" else SUMMARY
    return attrs.evolve(asked, steps=(*asked.steps, LONG))


def _put(kind: str, *script: Answer, request: Any, **settings: Any) -> Outcome:
    if kind == "judge":
        return judged(*script, requests=(request,), **settings)
    return summarized(*script, request=request, **settings)


@pytest.mark.parametrize("kind", ["judge", "summarizer"])
def test_what_does_not_fit_is_cut_in_its_middle_and_put_again(kind: str) -> None:
    """As often as the server says so; both ends of a long observation stay, and what is left out is said."""
    answer = PASSED if kind == "judge" else says("did it")
    outcome = _put(kind, TOO_LONG, TOO_LONG, answer, request=_question(kind))
    assert outcome.fault is None
    lengths = [len(text) for text in _asked(outcome)]
    assert lengths[0] > 1.8 * lengths[1] > 3 * lengths[2]
    assert "begin word" in _asked(outcome)[2]
    assert "characters left out" in _asked(outcome)[2]
    assert " end\n" in _asked(outcome)[2]


@pytest.mark.parametrize("kind", ["judge", "summarizer"])
def test_a_known_window_is_kept_without_asking(kind: str) -> None:
    """Where the window is given, the first prompt fits already."""
    answer = PASSED if kind == "judge" else says("did it")
    outcome = _put(kind, answer, request=_question(kind), window=2_000)
    assert len(outcome.bodies) == 1
    assert "characters left out" in _asked(outcome)[0]


def test_what_cannot_be_made_shorter_is_an_overflow() -> None:
    """After the last cut there is no further call."""
    outcome = judged(*[TOO_LONG] * 30, requests=(_question("judge"),))
    assert outcome.fault == "overflow"
    assert 0 < outcome.left < 30


def test_a_long_manual_is_cut_like_a_long_step() -> None:
    """An agent hands its environment's manual to a judge of another window; the judge still answers."""
    request = attrs.evolve(JUDGE, manual="Each shelf has a number. " * 2_000)
    outcome = judged(PASSED, requests=(request,), window=2_000)
    assert "characters left out" in outcome.bodies[0]["messages"][0]["content"]
    assert outcome.fault is None


def test_earlier_parts_stand_by_their_accounts_first() -> None:
    """Before anything is cut, the steps that an interim account covers are left to it."""
    steps = tuple([Step(StepId(number), StepId(number - 1), f"a{number}", "seen") for number in range(1, 5)])
    request = attrs.evolve(
        JUDGE, steps=steps, earlier=(Earlier(StepId(0), StepId(2), "did a1, a2", Passed()),)
    )
    once = shorter(request)
    assert isinstance(once, JudgeRequest)
    assert [step.action for step in once.steps] == ["a3", "a4"]
    assert shorter(once) is None


def test_a_judge_hears_criteria_and_the_manual() -> None:
    """Behind the fixed words of its prompt, in blocks of their own."""
    system = judged(PASSED, criteria="Be strict.\nVery.", manual="A shop.").bodies[0]["messages"][0][
        "content"
    ]
    assert system.endswith("\nEnvironment: A shop.\n\nCriteria: Be strict.\n Very.\n")
    assert "Criteria" not in judged(PASSED).bodies[0]["messages"][0]["content"]
