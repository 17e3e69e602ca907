"""`mage run` over real HTTP: the address and the key come from the environment, and a faulty server costs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.agent.over_http.provider import Fault, Provider
from tests.agent.toys import GOAL, TASK, Dial
from tests.cli.children import KEY, exported, place
from tests.cli.runner import mage
from tests.llm.server import ScriptedServer, Status

__all__ = ["dial", "place"]

RUN: Final = ("run", "--environment", "tests.agent.over_http.test_command:dial", "--model", "model", "--json")
BROKEN: Final = "sqlite:///work.db#broken"
WHOLE: Final = "sqlite:///work.db#whole"


def dial() -> Dial:
    """Return the environment, as the command makes it."""
    return Dial()


def test_a_run_goes_on_when_its_server_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails with status 1 and why; run again it finishes, as a run that never failed, with all tokens counted."""
    judge, one = ("--judge", "judge"), Provider(Fault("model", Status(401), first=2))
    with ScriptedServer(answering=one) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        failed = mage(*RUN, *judge, TASK, "--session", BROKEN)
    told = json.loads(failed.out)
    assert (failed.status, told["outcome"], told["reason"]) == (1, "failed", "model: rejected")
    two, whole = Provider(), Provider()
    with ScriptedServer(answering=two) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        went_on = mage(*RUN, *judge, "--session", BROKEN)
    with ScriptedServer(answering=whole) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        unbroken = mage(*RUN, *judge, TASK, "--session", WHOLE)
    ends = json.loads(went_on.out), json.loads(unbroken.out)
    assert [(end["outcome"], end["steps"], end["summaries"], end["revisions"]) for end in ends] == [
        ("finished", 4, 3, 1)
    ] * 2
    spent = [one.billed[kind] + two.billed[kind] for kind in ("model", "judge", "summarizer")]
    assert sum(usage["prompt"] for usage in ends[0]["tokens"].values()) == sum(
        usage.prompt for usage in spent
    )
    assert f'"Turned by {GOAL}."' in exported(WHOLE)
    assert exported(BROKEN) == exported(WHOLE)
    assert KEY.encode() not in Path("work.db").read_bytes()
    assert KEY not in failed.out + failed.err + went_on.out
