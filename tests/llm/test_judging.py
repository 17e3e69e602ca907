"""A judge over HTTP: reasoning before the verdict, asked again when useless, the same in both twins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mage.chat.words import JUDGE_FALLBACK, JUDGE_SUBGOAL
from mage.effects import Usage
from mage.engine import Failed, Passed, StepId
from tests.llm.requests import FALLBACK, JUDGE
from tests.llm.server import USAGE, Answer, Raw, Status, says
from tests.llm.twins import judged

FORMAT = Status(400, {"error": {"message": "Unrecognized request argument: response_format"}})


def verdict(passed: Any, fault: Any = "none", feedback: Any = "", **more: Any) -> Raw:
    """Return a reply with a verdict."""
    return says(
        json.dumps({"reasoning": "r", "passed": passed, "fault": fault, "feedback": feedback, **more})
    )


PASS = verdict(True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (PASS, Passed()),
        (verdict(True, "summary", "nothing"), Passed()),
        (verdict(False, "execution", " Too dear. "), Failed("Too dear.", "execution")),
        (verdict(False, "summary", "The price is missing."), Failed("The price is missing.", "summary")),
        (verdict(False, "execution", "No.", boundary=4), Failed("No.", "execution", StepId(4))),
        (verdict(False, "execution", "No.", boundary=None), Failed("No.", "execution")),
        (verdict(False, "execution", "No.", boundary="[Step 4]"), Failed("No.", "execution", StepId(4))),
        (verdict(False, "summary", "No.", boundary=4), Failed("No.", "summary")),
        (says('I think {so}. ```json\n{"passed": true}\n```'), Passed()),
        (says('<think>{"passed": false}</think>{"passed": true}'), Passed()),
    ],
    ids=[
        "passed",
        "passed beside a fault",
        "execution",
        "summary",
        "began",
        "nowhere",
        "in words",
        "a text begins nowhere",
        "in a text",
        "after thinking",
    ],
)
def test_a_verdict_is_read(answer: Raw, expected: object) -> None:
    """What a judge says is a verdict, with what the one call took."""
    outcome = judged(answer)
    assert (outcome.value, outcome.usage) == (expected, Usage(100, 10, 60))


def test_the_reasoning_is_written_before_the_verdict() -> None:
    """The schema is strict, and its first key is the reasoning: a verdict given first is a worse one."""
    (body,) = judged(PASS).bodies
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert list(schema["schema"]["properties"]) == [
        "reasoning",
        "passed",
        "fault",
        "boundary",
        "feedback",
    ]
    assert body["messages"][0]["content"] == JUDGE_SUBGOAL.text


def test_a_fallback_is_judged_for_its_text_only() -> None:
    """The steps of a fallback are never at fault, whatever a server without schemas lets through (D12)."""
    outcome = judged(verdict(False, "execution", "x"), requests=(FALLBACK,))
    assert outcome.value == Failed("x", "summary")
    (body,) = outcome.bodies
    assert body["messages"][0]["content"] == JUDGE_FALLBACK.text
    assert body["response_format"]["json_schema"]["schema"]["properties"]["fault"]["enum"] == [
        "none",
        "summary",
    ]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (says(None, refusal="no"), "refusal"),
        (says(""), "empty"),
        (says('{"reasoning": "it is', finish="length"), "truncated"),
        (says("Looks good to me!"), "not_json"),
        (says('{"reasoning": "fine"}'), "wrong_schema"),
        (verdict("yes"), "wrong_schema"),
        (verdict(False, "execution", "  "), "wrong_schema"),
        (verdict(False, "none", "Too dear."), "wrong_schema"),
        (verdict(False, "weather", "Too dear."), "wrong_schema"),
        (verdict(False, "execution", "No.", boundary="at the start"), "wrong_schema"),
        (verdict(False, "execution", "No.", boundary=True), "wrong_schema"),
    ],
    ids=[
        "refusal",
        "empty",
        "truncated",
        "text",
        "no verdict",
        "yes",
        "no feedback",
        "no fault",
        "odd fault",
        "a boundary in words",
        "a boundary that is no number",
    ],
)
def test_a_useless_verdict_is_asked_for_again_at_most_twice(answer: Answer, fault: str) -> None:
    """The judge is told what was wrong; a third useless reply is an error, and all three are counted."""
    outcome = judged(answer, verdict(False, "execution", "Too dear."))
    assert (outcome.value, outcome.usage.calls, outcome.usage.prompt) == (Failed("Too dear."), 2, 200)
    first, second = (body["messages"][1]["content"] for body in outcome.bodies)
    assert "\nYour last reply could not be used: " in second
    assert second.startswith(first)
    outcome = judged(*[answer] * 4)
    assert (outcome.fault, outcome.usage.calls, outcome.left) == (fault, 3, 1)


def test_nobody_answering_is_not_asked_again() -> None:
    """A judge that cannot be reached is down at once (the client has retried); what was spent before is counted."""
    outcome = judged(says(""), Status(503, headers={"Retry-After": "3"}), PASS)
    assert (outcome.fault, outcome.retry_after, outcome.usage.calls, outcome.left) == ("server", 3.0, 1, 1)


def test_a_server_without_response_format_is_asked_without_from_then_on() -> None:
    """One rejected try, then plain JSON in a text, and the next request does not try again."""
    outcome = judged(FORMAT, PASS, PASS, requests=(JUDGE, JUDGE))
    assert outcome.value == Passed()
    assert ["response_format" in body for body in outcome.bodies] == [True, False, False]


def test_a_request_that_is_rejected_either_way_is_rejected() -> None:
    """Where the schema was not the reason, the error is said, and nothing is remembered of it."""
    outcome = judged(FORMAT, FORMAT)
    assert (outcome.fault, len(outcome.bodies)) == ("rejected", 2)


def test_a_server_that_took_a_schema_is_not_asked_without() -> None:
    """A later rejection has another reason: it is not tried again."""
    outcome = judged(PASS, FORMAT, PASS, requests=(JUDGE, JUDGE))
    assert (outcome.fault, outcome.left) == ("rejected", 1)


def test_overflow_is_not_taken_for_a_schema_that_is_not_enforced() -> None:
    """Steps that do not fit into the judge's context are said to be so, after one try."""
    outcome = judged(Status(400, {"error": {"message": "x", "code": "context_length_exceeded"}}), PASS)
    assert (outcome.fault, outcome.left) == ("overflow", 1)


def test_replies_that_were_billed_are_counted() -> None:
    """Usage adds up over the useless replies: none is free."""
    outcome = judged(says("no"), says(""), PASS)
    assert outcome.usage == Usage(3 * USAGE["prompt_tokens"], 3 * USAGE["completion_tokens"], 180, 3)
