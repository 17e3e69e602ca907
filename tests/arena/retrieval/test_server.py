"""MemoryArena's memory server interface, both ends: a toy server, bad replies, a server that is not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import pytest

from benchmarks.arena.domains.results import Row
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings
from benchmarks.arena.retrieval.attached import Remembers, Spent, WriteRefused, wrapped
from benchmarks.arena.retrieval.chunks import Chunks, drawn
from benchmarks.arena.retrieval.server import MemoryServer, Remote
from benchmarks.arena.retrieval.wire import Address, NoAnswer, post
from mage.effects import Usage
from tests.arena.domains.cases import SMALL
from tests.llm.server import Answer, Dropped, Raw, Request, ScriptedServer, Status

PLAN = SMALL["shopping"].task(3, 0).plan


@final
class Toy:
    """Keeps everything, refuses what is long, and fails on a word."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def add_chunk(self, chunk: str, /) -> None:
        if len(chunk) > 100_000:
            raise WriteRefused("too long")
        if "fail" in chunk:
            raise OSError("the disk is full")
        self.kept.append(chunk)

    def wrap_user_prompt(self, question: str, /) -> str:
        return wrapped(self.kept, question)


@contextmanager
def serving(
    *, name: str = "toy", spent: Any = Spent, models: Any = tuple
) -> Iterator[tuple[str, dict[str, Toy]]]:
    """Serve toys, by user."""
    users: dict[str, Toy] = {}

    def make(user: str) -> Remembers:
        users[user] = Toy()
        return users[user]

    server = MemoryServer(make, name=name, spent=spent, models=models)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server.url, users
    finally:
        server.close()
        thread.join()


def ran(memory: str, out: Path, tasks: int = 1, **more: Any) -> list[Row]:
    settings = Settings(domain="shopping", memory=memory, size="small", seed=3, **more)
    return run_series(settings, tasks, out)


def test_tasks_run_beside_a_server_each_with_a_memory_of_its_own(tmp_path: Path) -> None:
    """Each task is another user, whose traces come back to it and to no other; the address stands in no row."""
    with serving() as (url, users):
        rows = ran(f"{url}#toy", tmp_path / "rows.jsonl", tasks=2)
    assert [row["sr"] for row in rows] == [1, 1]
    assert len(users) == 2
    first, second = (toy.kept for toy in users.values())
    assert len(first) == len(second) == len(PLAN) - 1
    assert set(first).isdisjoint(second)
    said: Any = rows[0]["memory_system"]
    assert said["retrieved_tokens"] > 0
    assert said["name"] == "server"
    assert "127.0.0.1" not in json.dumps(rows)
    assert rows[0]["settings"] == {**rows[0]["settings"], "memory": "server:toy"}  # type: ignore[dict-item]  # JSON


def test_what_a_server_says_that_it_has_taken_is_counted(tmp_path: Path) -> None:
    """`usage` in a reply is added to the tokens of the row, as a kind of call of its own."""
    taken = [0]

    def spent() -> Spent:
        taken[0] += 1
        return Spent(Usage(10 * taken[0], taken[0], calls=taken[0]))

    with serving(spent=spent) as (url, _):
        [row] = ran(url, tmp_path / "rows.jsonl")
    kinds: Any = row["tokens_by_call"]
    assert kinds["memory"]["prompt"] > 0
    assert row["tokens"] == sum(each["prompt"] + each["completion"] for each in kinds.values())


def test_a_server_may_say_that_no_model_wrote(tmp_path: Path) -> None:
    """Where it names a scripted one, the row is plumbing; where it names none, that is not known."""
    worth = []
    for models in (("scripted-1",), ("gpt-5",), ()):
        with serving(models=lambda models=models: models) as (url, _):
            [row] = ran(f"{url}#toy", tmp_path / f"{len(models)}{models}.jsonl")
        said: Any = row["memory_system"]
        worth.append(said["figures"].split(":")[0])
    assert worth == ["plumbing only", "tokens only", "tokens only"]


def test_a_server_that_is_not_there_fails_the_row_and_not_the_series(tmp_path: Path) -> None:
    """Both tasks are rows, worth 0, that say why, and not where."""
    with serving() as (url, _):
        pass
    rows = ran(f"{url.replace('http://', 'http://me:secret@')}#toy", tmp_path / "rows.jsonl", tasks=2)
    assert [(row["outcome"], row["sr"]) for row in rows] == [("failed", 0), ("failed", 0)]
    assert "the server cannot be reached" in str(rows[0]["detail"])
    assert "secret" not in json.dumps(rows)


def test_a_refused_write_is_counted(tmp_path: Path) -> None:
    """A server that answers 413 to a chunk has not taken it; the task goes on, and the row says how many."""

    def answer(request: Request) -> Answer:
        if request.path.endswith("/add"):
            return Status(413, {"error": "at most 10 characters"})
        return Raw(json.dumps({"prompt": request.body.get("question", "")}).encode())

    with ScriptedServer(answering=answer) as server:
        [row] = ran(server.url.removesuffix("/v1"), tmp_path / "rows.jsonl")
    said: Any = row["memory_system"]
    assert row["outcome"] == "finished"
    assert said["writes_refused"] == len(PLAN) - 1
    assert "at most 10 characters" in said["refused_because"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Raw(b"no"), "is no JSON"),
        (Raw(b"[]"), "is no JSON object"),
        (Raw(b'{"prompt": 7}'), "has no text `prompt`"),
        (Raw(b"{}"), "has no text `prompt`"),
        (Status(500, "broken"), "answers 500"),
        (Status(400, "what?"), "answers 400"),
        (Dropped(), "cannot be reached"),
        (Raw(b"x" * (16 * 1024 * 1024 + 2)), "is longer than"),
    ],
)
def test_a_bad_reply_is_a_refusal_in_words(answer: Answer, words: str) -> None:
    """Whatever a server answers to a question, it becomes a sentence."""
    with ScriptedServer(Raw(b"{}"), answer) as server:
        remote = Remote(server.url.removesuffix("/v1"), "toy", "me")
        with pytest.raises(NoAnswer, match=words):
            remote.wrap_user_prompt("?")


def test_the_interface_is_memory_arenas() -> None:
    """Three paths, and the fields of MemoryArena's public schema, in the order in which they are needed."""

    def answer(request: Request) -> Answer:
        return Raw(json.dumps({"prompt": request.body.get("question", "")}).encode())

    with ScriptedServer(answering=answer) as server:
        remote = Remote(server.url.removesuffix("/v1"), "toy", "me")
        remote.add_chunk("a trace")
        assert remote.wrap_user_prompt("a question") == "a question"
        sent = [(request.path, request.body) for request in server.requests]
    named = {"user_id": "me", "memory_system_name": "toy"}
    assert sent == [
        ("/memory/initialize", named),
        ("/memory/add", {**named, "chunk": "a trace"}),
        ("/memory/wrap_user_prompt", {**named, "question": "a question"}),
    ]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/memory/initialize", {}, 400),
        ("/memory/initialize", {"user_id": "a", "memory_system_name": "other"}, 400),
        ("/memory/add", {"user_id": "nobody", "chunk": "x"}, 404),
        ("/memory/add", {"user_id": "a", "chunk": 7}, 400),
        ("/memory/add", {"user_id": "a", "chunk": "x" * 100_001}, 422),
        ("/memory/add", {"user_id": "a", "chunk": "fail"}, 500),
        ("/memory/forget", {"user_id": "a"}, 404),
    ],
)
def test_our_server_refuses_in_words(path: str, body: dict[str, object], status: int) -> None:
    """No request ends it; each wrong one is answered by a status and a sentence."""
    with serving() as (url, users):
        post(Address.of(url), "/memory/initialize", {"user_id": "a", "memory_system_name": "toy"})
        with pytest.raises(NoAnswer, match=r"error") as refused:
            post(Address.of(url), path, body)
        assert refused.value.status == status
        post(Address.of(url), "/memory/add", {"user_id": "a", "chunk": "still there"})
        assert users["a"].kept == ["still there"]


def test_initializing_again_empties_a_memory() -> None:
    """A user that is begun anew remembers nothing, and no other user has lost anything."""
    with serving() as (url, _):
        first, second = (Remote(url, "toy", user) for user in ("a", "b"))
        first.add_chunk("one")
        second.add_chunk("two")
        assert "one" not in Remote(url, "toy", "a").wrap_user_prompt("?")
        assert "two" in second.wrap_user_prompt("?")


def test_the_command_serves_until_it_is_interrupted() -> None:
    """`serve` prints its address, gives back what was written, and ends by Ctrl-C without a traceback."""
    command = [sys.executable, "-m", "benchmarks.arena", "serve", "--memory", "random:k=2,chunk=subtask"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        url = server.stdout.readline().strip()
        remote = Remote(url, "", "me")
        remote.add_chunk("Instruction: Buy.\n")
        assert remote.wrap_user_prompt("?") == "Instruction: Buy.\n\n?"
        os.kill(server.pid, signal.SIGINT)
        assert server.wait(timeout=60) == 130
        assert "Traceback" not in server.stderr.read()


def test_a_server_gives_what_the_system_itself_gives() -> None:
    """Behind the interface or not, the same system wraps the same question alike."""
    here = Chunks(drawn(1), size="step", k=2)
    server = MemoryServer(lambda user: Chunks(drawn(1), size="step", k=2), name="random")
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        remote = Remote(server.url, "random", "me")
        for memory in (here, remote):
            for place in range(4):
                memory.add_chunk(f"Instruction: {place}\nAction: look\nObservation: {place}\n")
        assert remote.wrap_user_prompt("?") == here.wrap_user_prompt("?")
    finally:
        server.close()
        thread.join()
