"""Every way in which a reply can be wrong or missing has its end, the same in both twins."""

from __future__ import annotations

from functools import cache

import pytest

from mage.effects import EFFECT_FAULTS
from tests.llm.cases import NONE, ONE, STREAMS, UNANSWERED, USELESS
from tests.llm.requests import SECRET
from tests.llm.server import Status, calls
from tests.llm.twins import KEY, Outcome, decided


@cache
def _outcome(name: str) -> Outcome:
    """Return what a case came to; asked once for all tests."""
    _, answer = {**USELESS, **UNANSWERED, **STREAMS}[name]
    return decided(answer, stream=name in STREAMS)


@pytest.mark.parametrize("name", USELESS)
def test_a_useless_reply_has_its_fault_and_is_counted(name: str) -> None:
    """What a model said and nobody can use is an error with its fault and what it took, after one request."""
    fault, _ = USELESS[name]
    outcome = _outcome(name)
    assert (outcome.fault, outcome.usage) == (fault, ONE)
    assert len(outcome.bodies) == 1


@pytest.mark.parametrize("name", UNANSWERED)
def test_a_missing_reply_has_its_fault(name: str) -> None:
    """What keeps a reply from coming is an error with its fault; nobody has written, so nothing is counted."""
    fault, _ = UNANSWERED[name]
    outcome = _outcome(name)
    assert (outcome.fault, outcome.usage) == (fault, NONE)
    assert len(outcome.bodies) == 1


@pytest.mark.parametrize("name", STREAMS)
def test_a_broken_stream_has_its_fault(name: str) -> None:
    """The same for replies that are taken in pieces; a stream that just ends raises nothing in the client."""
    fault, _ = STREAMS[name]
    outcome = _outcome(name)
    assert outcome.fault == fault
    assert [body["stream"] for body in outcome.bodies] == [True]


@pytest.mark.parametrize("name", [*USELESS, *UNANSWERED, *STREAMS])
def test_an_error_gives_nothing_away(name: str) -> None:
    """One line, without the key and without a word of what was sent, also where the provider echoes them."""
    outcome = _outcome(name)
    assert outcome.detail
    assert outcome.detail.isprintable()
    for hidden in (KEY, SECRET, "surprise party"):
        assert hidden not in outcome.detail


def test_a_providers_words_are_kept_where_they_help_and_give_nothing_away() -> None:
    """Its message is in the error, with the key taken out; not where it quotes the prompt or is about a key."""
    for name, detail in (
        ("a failure", "the provider has failed (HTTP 500, some_error): oops"),
        (
            "a key that is echoed",
            "the provider takes no such request (HTTP 400, some_error): no such key: *** (sorry)",
        ),
        ("a prompt that is echoed", "the provider takes no such request (HTTP 422, some_error)"),
        ("a wrong key", "the provider does not accept the key for this model (HTTP 401, invalid_api_key)"),
    ):
        assert _outcome(name).detail == detail


@pytest.mark.parametrize(
    "body",
    [
        {"error": "no such thing"},
        {"message": "no such thing"},
        {"detail": "no such thing"},
        {"detail": [{"loc": ["body"], "msg": "no such thing"}]},
        "no such thing",
        '[{"error": {"message": "no such thing"}}]',
    ],
    ids=str,
)
def test_a_providers_words_are_found_wherever_they_stand(body: dict[str, object] | str) -> None:
    """OpenAI's shape is one of many: a text, a list, and what web frameworks make of an error."""
    assert decided(Status(400, body)).detail == "the provider takes no such request (HTTP 400): no such thing"


def test_every_fault_of_a_model_has_a_case() -> None:
    """No fault is without a case here, but for the world's and a server that is not there."""
    cases = {fault for fault, _ in [*USELESS.values(), *UNANSWERED.values(), *STREAMS.values()]}
    assert cases | {"environment", "unreachable"} == set(EFFECT_FAULTS)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Sat, 28 Nov 2026 10:00:30 GMT", "Date": "Sat, 28 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"Retry-After": "Sat, 28 Nov 2026 09:00:00 GMT", "Date": "Sat, 28 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "9" * 400}, None),
        (
            {
                "Retry-After": f"Sat, 28 Nov 2026 10:00:30 +{'9' * 20}",
                "Date": "Sat, 28 Nov 2026 10:00:00 GMT",
            },
            None,
        ),
        ({}, None),
    ],
    ids=str,
)
def test_what_is_left_of_a_rate_limit_says_when_to_ask_again(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Retry-After is in the error, in seconds, however it was spelled; a date counts by the provider's own clock."""
    body = {"error": {"message": "slow down", "type": "x", "code": None}}
    assert decided(Status(429, body, headers)).retry_after == seconds


def test_a_provider_that_wants_a_long_rest_is_not_waited_for() -> None:
    """More than two minutes: one request, whatever retries are allowed, and the error says how long, also in words."""
    outcome = decided(Status(429, headers={"Retry-After": "300"}), retries=2)
    assert (outcome.fault, outcome.retry_after, len(outcome.bodies)) == ("rate_limit", 300.0, 1)
    assert "wants to be left alone for 300 s" in outcome.detail


def test_the_client_retries_and_only_what_is_left_is_an_error() -> None:
    """With retries allowed, a rate limit and a failure are asked again, no sooner than the server wants."""
    soon = {"retry-after-ms": "1"}
    outcome = decided(
        Status(429, headers=soon), Status(500, headers=soon), calls("act", action="look"), retries=2
    )
    assert (outcome.fault, outcome.usage, len(outcome.bodies)) == (None, ONE, 3)
    outcome = decided(*[Status(429, headers=soon)] * 3, retries=2)
    assert (outcome.fault, outcome.retry_after, len(outcome.bodies)) == ("rate_limit", 0.001, 3)
