"""`mage run` against a server that echoes what it is shown: nothing of it is kept, and nothing is printed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.agent.over_http.test_command import dial
from tests.agent.toys import TASK
from tests.cli.children import KEY, place
from tests.cli.runner import Ran, mage
from tests.llm.server import Answer, Completion, Request, ScriptedServer, Status, call_of, says

__all__ = ["dial", "place"]

RUN: Final = ("run", "--environment", "tests.agent.over_http.test_echoes:dial", "--model", "model")
PASSWORD: Final = "geheim42"
TOKEN: Final = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()


class _Echo:
    """A model that acts, compresses, goes back and finishes, and echoes in every word; its judge finds fault once."""

    def __init__(self) -> None:
        self._turn = self._judged = 0

    def __call__(self, request: Request) -> Answer:
        shown = request.authorization.rpartition(" ")[2]
        system = request.body["messages"][0]["content"]
        if system.startswith("You check"):
            self._judged += 1
            fault = "execution" if self._judged == 1 else "none"
            verdict = {"reasoning": shown, "passed": fault == "none", "fault": fault, "feedback": shown}
            return says(json.dumps(verdict))
        if system.startswith("You write"):
            return says(f"So far: {shown}")
        moves: list[tuple[str, dict[str, Any]]] = [
            ("act", {"action": f"look {shown}"}),
            (f"tool_{shown}", {}),
            ("compress", {"text": f"Looked at {shown}."}),
            ("revise", {"step": 0, "lesson": f"Do not look at {shown}."}),
            ("act", {"action": f"peek {shown}"}),
            ("compress", {"text": f"Peeked at {shown}."}),
            ("finish", {"answer": f"It is {shown}."}),
        ]
        name, arguments = moves[self._turn % len(moves)]
        self._turn += 1
        call = {**call_of(name, json.dumps(arguments)), "id": f"id_{shown}"}
        return Completion(
            {"content": f"I think {shown}", "reasoning": shown, "tool_calls": [call]}, model=f"m-{shown}"
        )


def _check(ran: Ran, folder: Path, shown: str) -> None:
    kept = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
    assert b"***" in kept, "the replies are there, and can be searched"
    for secret in (KEY, PASSWORD, TOKEN):
        assert secret.encode() not in kept
        assert secret not in ran.out + ran.err
    assert shown in (KEY, TOKEN)


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["told", "json"])
@pytest.mark.parametrize("user", ["", f"ada:{PASSWORD}@"], ids=["key", "password"])
def test_what_a_server_echoes_is_neither_kept_nor_printed(place: Path, user: str, as_json: list[str]) -> None:
    """Steps, ids, summaries, feedback, lessons, thoughts, the model's name and the answer, by no byte of the store."""
    with ScriptedServer(answering=_Echo()) as server:
        address = server.url.replace("http://", f"http://{user}")
        ran = mage(*RUN, TASK, "--base-url", address, "--session", "sqlite:///work.db#a", *as_json)
    assert ran.status == 0, ran.err
    assert "***" in ran.out
    _check(ran, place, server.requests[0].authorization.rpartition(" ")[2])


@pytest.mark.parametrize("user", [f"ada:{PASSWORD}@", f"{KEY}@", f":{PASSWORD}@"])
def test_how_to_go_on_is_told_without_a_password(place: Path, user: str) -> None:
    """A run that fails prints the line that goes on, in which the address has no name and no password; errors have none."""

    def failing(request: Request) -> Answer:
        shown = request.authorization.rpartition(" ")[2]
        message = f"no {shown} and no {base64.b64decode(shown).decode() if shown != KEY else shown}"
        return Status(400, {"error": {"message": message, "code": shown}}, {"X-Echo": shown})

    with ScriptedServer(answering=failing) as server:
        address = server.url.replace("http://", f"http://{user}")
        ran = mage(*RUN, TASK, "--base-url", address, "--session", "sqlite:///work.db#a")
    assert ran.status == 1
    assert f"--base-url 'http://***@{server.url.removeprefix('http://')}'" in ran.out
    _check(ran, place, server.requests[0].authorization.rpartition(" ")[2] if "ada" in user else KEY)


@pytest.mark.parametrize("address", [f"http://h/v1?key={PASSWORD}", f"http://h/v1#{PASSWORD}"])
def test_an_address_ends_with_its_path(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands behind it would be sent as a part of the path, and told as a part of the address: it is refused unquoted."""
    ran = mage(*RUN, TASK, "--base-url", address)
    assert (ran.status, len(ran.err.splitlines())) == (1, 1)
    assert "--base-url" in ran.err
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    ran = mage(*RUN, TASK)
    assert (ran.status, len(ran.err.splitlines())) == (1, 1)
    assert "OPENAI_BASE_URL" in ran.err
    assert PASSWORD not in ran.out + ran.err
