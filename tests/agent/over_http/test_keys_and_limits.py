"""Over real HTTP: the key is kept nowhere, Retry-After is honoured, and a busy provider costs no state."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import pytest

from mage.agent import RunFailed, RunFinished
from mage.stores import open_store
from tests.agent.over_http.lives import POLICY, TWINS, Life, Place, Twin, lived, unbroken
from tests.agent.over_http.mind import KINDS, Kind
from tests.agent.over_http.provider import Fault, Provider
from tests.agent.over_http.test_model_faults import WHOLE, check_it_went_on
from tests.llm.server import Answer, Dropped, ScriptedServer, Status
from tests.llm.twins import KEY

_BUSY: Final = {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}
SOON: Final = Status(429, _BUSY, {"Retry-After": "0.01"})
_ECHO: Final = f"Incorrect API key provided: {KEY}."
ECHOES: Final[list[Answer]] = [
    Status(401, {"error": {"message": _ECHO, "code": "invalid_api_key"}}),
    Status(400, {"error": {"message": _ECHO, "code": KEY}}),
    Status(500, _ECHO),
    Dropped(),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_asks_again_when_it_may(kind: Kind) -> None:
    """Twice it is told to wait a moment, the third time it is answered: the run is as if nothing had been."""
    ran = lived(Life(Fault(kind, SOON, times=2), retries=2))
    assert len(ran.seen[0]) == WHOLE + 2
    asked = [body for body in ran.seen[0] if body["model"] == kind]
    assert asked[0] == asked[1] == asked[2]
    check_it_went_on(ran)


def test_what_a_provider_wants_to_be_waited_for_is_in_the_log() -> None:
    """Where the client has asked often enough, the run fails, and says how long to wait."""
    ran = lived(Life(Fault("model", SOON), retries=1), Life())
    assert isinstance(ran.outcomes[0], RunFailed)
    assert ran.outcomes[0].reason == "model: rate_limit"
    assert len(ran.seen[0]) == 2
    failed = [entry.data["failed"] for entry in ran.left.notes if "failed" in entry.data]
    assert [(one["fault"], one["retry_after"]) for one in failed] == [("rate_limit", 0.01)]
    check_it_went_on(ran)


@pytest.mark.parametrize("twin", TWINS, ids=["Agent", "AsyncAgent"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_key_is_kept_nowhere(
    kind: Kind, twin: Twin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not by a server that echoes it: not in the store's bytes, outcomes, or logs of any level."""
    caplog.set_level(logging.DEBUG)
    with open_store(f"sqlite:///{tmp_path / 'work.db'}") as store:
        place = Place(store)
        for answer in ECHOES:
            with ScriptedServer(answering=Provider(Fault(kind, answer))) as server:
                outcome = twin(server.url, place, Life(), POLICY)
            assert not isinstance(outcome, RunFinished)
            assert KEY not in repr(outcome)
        with ScriptedServer(answering=Provider()) as server:
            outcome = twin(server.url, place, Life(), POLICY)
        assert isinstance(outcome, RunFinished)
        assert server.requests[0].authorization == f"Bearer {KEY}"
        assert KEY not in repr((place, outcome))
        written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"could not" in written or b"provider" in written  # the failures are there, and can be searched
    assert KEY.encode() not in written
    assert KEY not in caplog.text


def test_usage_is_counted_in_pieces_too() -> None:
    """A stream's price is that of the whole reply."""
    ran = lived(Life(stream=True))
    assert ran.outcome == unbroken().outcome
    check_it_went_on(ran)
