"""`mage run`, interrupted for real: by Ctrl-C, by the end of its process, in a terminal and in a pipe."""

from __future__ import annotations

import errno
import json
import os
import pty
import signal
import threading
from pathlib import Path

import pytest

from mage.cli import live
from tests.cli.children import KEY, child, exported, gate, interrupted, place
from tests.cli.gated import PAID
from tests.cli.runner import mage
from tests.llm.server import Answer, Request, ScriptedServer, Silent, calls

__all__ = ["gate", "place"]


@pytest.mark.parametrize("action", [1, 6, 8])
def test_a_killed_run_comes_to_the_same_end(gate: Path, action: int) -> None:
    """Killed inside an action (the first, the mistake, behind the revision), resumed: the tree of a whole run."""
    assert interrupted(gate, action, signal.SIGKILL).status == -signal.SIGKILL
    assert mage("run", "--environment", "shop", "--session", "sqlite:///w.db#a").status == 0
    mage("run", "--offline", "--session", "sqlite:///w.db#whole")
    assert exported("sqlite:///w.db#a") == exported("sqlite:///w.db#whole")
    assert mage("rerun", "sqlite:///w.db#a").status == 0


def test_what_is_known_to_last_is_done_once(gate: Path) -> None:
    """Killed inside a payment, and resumed by the command, a run has paid once: its environment says so beforehand."""
    paying = "tests.cli.gated:Posting"
    options = ("run", "--session", "sqlite:///w.db#a", "--environment", f"{paying}:{gate}=0")
    interrupted(gate, 3, signal.SIGKILL, "--max-steps", "3", environment="Posting")
    assert (gate / PAID).read_text() == "buy[D-2041]\n"
    ran = mage(*options, "--max-steps", "3", "--json")
    assert (json.loads(ran.out)["reason"], json.loads(ran.out)["steps"]) == ("max_steps", 3)
    assert (gate / PAID).read_text() == "buy[D-2041]\n"
    assert "Nobody knows" in mage("show", "sqlite:///w.db#a").out


@pytest.mark.parametrize("line", [1, 9, 20])
def test_a_run_killed_at_any_line_comes_to_the_same_end(line: int) -> None:
    """Killed when so many lines were seen, wherever that is, or finished by then: the tree of a whole run."""
    with child("--offline", "--session", "sqlite:///w.db#a") as process:
        assert process.stdout is not None
        for _ in range(line):
            process.stdout.readline()
        process.kill()
    assert mage("run", "--offline", "--session", "sqlite:///w.db#a").status == 0
    mage("run", "--offline", "--session", "sqlite:///w.db#whole")
    assert exported("sqlite:///w.db#a") == exported("sqlite:///w.db#whole")


def test_an_interrupted_run_says_how_to_go_on(gate: Path) -> None:
    """Ctrl-C: status 130, no traceback, and a command that goes on to the same end."""
    ran = interrupted(gate, 6, signal.SIGINT)
    assert (ran.status, ran.err) == (130, "")
    assert "stopped, interrupted" in ran.out
    assert "go on with: mage run --session 'sqlite:///w.db#a'\n" in ran.out
    assert mage("run", "--environment", "shop", "--session", "sqlite:///w.db#a").status == 0
    mage("run", "--offline", "--session", "sqlite:///w.db#whole")
    assert exported("sqlite:///w.db#a") == exported("sqlite:///w.db#whole")


def test_json_of_an_interrupted_run_counts_what_was_done(gate: Path) -> None:
    """One object, stopped and interrupted, with the steps up to there."""
    ran = interrupted(gate, 6, signal.SIGINT, "--json")
    told = json.loads(ran.out)
    assert ran.status == 130
    counts = (told["outcome"], told["reason"], told["steps"], told["summaries"])
    assert counts == ("stopped", "interrupted", 5, 1)
    assert told["tokens"]["model"]["calls"] == 7


def test_a_run_is_interrupted_while_it_waits_for_its_model() -> None:
    """Ctrl-C within a call: status 130; resumed, the model is asked the same again, and nothing else."""
    asked = threading.Event()

    def answering(request: Request) -> Answer:
        if asked.is_set():
            return calls("finish", answer="There is one.")
        if len(server.requests) == 1:
            return calls("act", action="search[oak desk]")
        asked.set()
        return Silent()

    options = ["--environment", "shop", "--model", "m", "--session", "sqlite:///w.db#a"]
    options += ["--policy", "judge_finish=false"]
    with ScriptedServer(answering=answering) as server:
        options += ["--base-url", server.url]
        with child("Find a desk.", *options) as process:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "")
        assert KEY not in out
        assert mage("run", *options).status == 0
        assert len(server.requests) == 3
        assert server.requests[1].body["messages"] == server.requests[2].body["messages"]


@pytest.mark.parametrize("problem", [BrokenPipeError(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_run_ends_when_nobody_can_read_it(problem: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C: nothing more is asked for a reader who has left, and the session alone goes on."""
    shown: list[str] = []

    def closing(text: str) -> None:
        shown.append(text)
        if len(shown) > 4:
            raise problem

    with monkeypatch.context() as patched:
        patched.setattr(live, "print_text", closing)
        told = mage("run", "--offline", "--session", "sqlite:///w.db#a")
    assert (told.status, len(shown)) == (130, 5)
    assert mage("run", "--session", "sqlite:///w.db#a").status == 0
    mage("run", "--offline", "--session", "sqlite:///w.db#whole")
    assert exported("sqlite:///w.db#a") == exported("sqlite:///w.db#whole")


def test_in_a_terminal_the_tree_is_drawn_and_taken_away() -> None:
    """A real terminal sees the task, the tree as it grows, and at last the whole of it."""
    ours, theirs = pty.openpty()
    with child("--offline", stdout=theirs, stdin=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65_536):
                seen += piece
        except OSError:  # as Linux says that the other end was closed
            pass
    os.close(ours)
    text = seen.decode()
    assert process.returncode == 0
    assert "finished: The study is furnished." in text
    assert "\x1b[?25h" in text  # the cursor is back


def test_a_judge_that_is_not_waited_for_does_not_hold_the_command_up() -> None:
    """Ctrl-C while a judge thinks in a thread and the model is asked: the command ends at once, status 130."""
    asked = [threading.Event(), threading.Event()]

    def answering(request: Request) -> Answer:
        if request.body["model"] == "j":
            asked[0].set()
            return Silent()
        if len(server.requests) > 2:
            asked[1].set()
            return Silent()
        named = {"act": {"action": "search[oak desk]"}, "compress": {"text": "Looked."}}
        name = list(named)[len(server.requests) - 1]
        return calls(name, **named[name])

    with ScriptedServer(answering=answering) as server:
        options = ["--environment", "shop", "--model", "m", "--judge", "j", "--base-url", server.url]
        with child("Find a desk.", *options, "--policy", "wait=false") as process:
            assert all(each.wait(60) for each in asked)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")


def test_a_run_that_died_before_anything_was_in_its_file_is_begun() -> None:
    """An empty file, as a killed process or a full disk leaves it, is no store yet: the same line makes it one."""
    Path("w.db").touch()
    assert mage("run", "--offline", "--session", "sqlite:///w.db#a").status == 0
    assert mage("check", "sqlite:///w.db#a").status == 0


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(6))
def test_a_run_killed_when_its_file_appears_is_begun_again(kill: int) -> None:
    """Killed as soon as anything of the file is there: the same line comes to the end."""
    with child("--offline", "--session", "sqlite:///w.db#a") as process:
        while not Path("w.db").exists() and process.poll() is None:
            pass
        process.kill()
    ran = mage("run", "--offline", "--session", "sqlite:///w.db#a")
    assert (ran.status, ran.err) == (0, "")
    assert "finished: The study is furnished." in ran.out
