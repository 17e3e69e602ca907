"""`mage run`: an agent from the command line, its end as a value, and no traceback for anything a user does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from mage import Session
from mage.agent import Outcome, Policy
from mage.agent.log import RecordedRun, find_run
from mage.agent.reruns import run_of
from mage.cli import run as run_module
from mage.demo import shop
from mage.session import Entry, Noted
from mage.stores import Conflict, Head, open_store
from mage.tokens import TokenCounter
from tests.cli.children import KEY, PLAYED, exported, in_one_line, place
from tests.cli.runner import mage
from tests.llm.server import Answer, Request, ScriptedServer, Status, calls, says

__all__ = ["place"]

KINDS: Final = {"model", "judge", "summarizer"}


# -- offline ------------------------------------------------------------------------------------------------


def test_an_offline_run_tells_the_demos_story() -> None:
    """One mistake, one revision; a line for each event, the tree, how it ended, and no file."""
    ran = mage("run", "--offline")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "  ✓ the judge: passed" in lines
    assert [line for line in lines if line.startswith("  ✗ the judge: The desk is oak and oak avoids chrome")]
    assert [line for line in lines if line.startswith("  ↶ revise to [Step 3], 3 steps left, lesson: ")]
    assert "finished: The study is furnished." in lines
    counts = "12 steps, 4 summaries, 1 revision; model 17 calls, 0 tokens; judge 4 calls, 0 tokens"
    assert f"{counts}; in all 21 calls, 0 tokens" in lines
    assert list(Path.cwd().iterdir()) == []


def test_a_word_of_a_policy_may_be_none() -> None:
    """`none` is a word where it is one of a few, and no limit where a number stands."""
    assert mage("run", "--offline", "--policy", "thoughts=none", "--policy", "fold_at=none").status == 0


def test_json_is_one_object_with_the_outcome() -> None:
    """Outcome, reason, counts, tokens by kind of call; nothing beside it."""
    ran = mage("run", "--offline", "--json")
    told = json.loads(ran.out)
    counts = (told["outcome"], told["reason"], told["steps"], told["summaries"], told["revisions"])
    assert counts == ("finished", "finished", 12, 4, 1)
    assert set(told) == {
        *("outcome", "reason", "answer", "steps", "summaries", "revisions", "tokens", "models", "session")
    }
    assert set(told["tokens"]) == KINDS
    assert all(set(usage) == {"prompt", "completion", "cached", "calls"} for usage in told["tokens"].values())


def test_a_run_that_is_stopped_goes_on_where_it_was() -> None:
    """Status 1 and why; the same session goes on without a task, under the policy it had but for what is changed."""
    url = "sqlite:///w.db#a"
    first = mage(
        "run", "--offline", "--session", url, "--max-steps", 5, "--policy", "max_revisions=2", "--json"
    )
    told = json.loads(first.out)
    assert (first.status, told["outcome"], told["reason"], told["steps"]) == (1, "stopped", "max_steps", 5)
    assert told["session"] == url
    stopped = mage("run", "--offline", "--session", url)
    assert (stopped.status, "going on at version" in stopped.out) == (1, True)
    assert f"go on with: mage run --session '{url}' --policy max_steps=none\n" in stopped.out
    last = mage("run", "--offline", "--session", url, "--policy", "max_steps=none")
    assert (last.status, "12 steps" in last.out) == (0, True)
    with open_store("sqlite:///w.db") as store:
        found = run_of(store, "a")
        assert found is not None
        assert found.last_policy == Policy(max_steps=None, max_revisions=2)
    mage("run", "--offline", "--session", "sqlite:///w.db#whole")
    assert exported(url) == exported("sqlite:///w.db#whole")


def test_a_finished_run_says_again_how_it_ended() -> None:
    """Nobody is asked anything; the session stays as it is."""
    url = "sqlite:///w.db#a"
    mage("run", "--offline", "--session", url)
    before = Path("w.db").stat().st_size
    assert mage("run", "--offline", "--session", url).status == 0
    assert Path("w.db").stat().st_size == before


def test_a_run_that_goes_on_reads_its_log_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was run with and what it does next come of one reading; where a run begins, there is none before."""
    read: list[int] = []

    def counted(log: Sequence[Entry | Noted], counter: TokenCounter | None = None) -> RecordedRun | None:
        read.append(len(log))
        return find_run(log, counter)

    monkeypatch.setattr("mage.agent.agent.find_run", counted)
    monkeypatch.setattr("mage.cli.run.find_run", counted)
    mage("run", "--offline", "--session", "w.db#a", "--max-steps", 3)
    assert read == [1, 2]  # the task alone, then the note that the run has begun
    mage("run", "--session", "w.db#a", "--policy", "max_steps=none")
    assert len(read) == 3


def test_what_is_redacted_while_a_run_is_taken_up_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A redaction leaves the head as it is: the run that was read before it is read again, without the text."""
    mage("run", "--offline", "--session", "w.db#a", "--max-steps", 3)
    read: list[bool] = []

    def counted(log: Sequence[Entry | Noted], counter: TokenCounter | None = None) -> RecordedRun | None:
        read.append("Halden" in str(log))
        return find_run(log, counter)

    def redacting(*arguments: Any) -> Any:  # Any: what the function that it stands for takes and returns
        assert mage("redact", "w.db#a", "Halden").status == 0
        return made(*arguments)

    made = run_module._agent
    monkeypatch.setattr(run_module, "_agent", redacting)
    monkeypatch.setattr("mage.agent.agent.find_run", counted)
    monkeypatch.setattr("mage.cli.run.find_run", counted)
    mage("run", "--session", "w.db#a", "--policy", "max_steps=5")
    assert read == [True, False]


def test_the_task_is_given_in_one_of_two_ways() -> None:
    """As an argument, or as a file behind an @; what is kept is the text without its last line break."""
    Path("task.txt").write_text("Furnish a study, quickly.\n", encoding="utf-8")
    for number, given in enumerate(("Furnish a study, quickly.", "@task.txt")):
        assert mage("run", given, "--offline", "--session", f"sqlite:///w.db#{number}").status == 0
        with Session.open("sqlite:///w.db", str(number)) as session:
            assert session.tree.task == "Furnish a study, quickly."


# -- with a model -----------------------------------------------------------------------------------------------


def test_a_run_with_a_model_is_kept_in_a_file_of_its_own() -> None:
    """Over HTTP: its calls are counted, its end is judged, the file is named, and the key is nowhere."""
    passed = '{"reasoning": "", "passed": true, "fault": "none", "boundary": null, "feedback": ""}'
    acted = (calls("act", action="search[oak desk]"), calls("finish", answer="There is one."))
    script = (*acted, says(passed))
    with ScriptedServer(*script) as server:
        ran = mage("run", "Find a desk.", "--environment", "shop", "--model", "m", "--base-url", server.url)
        assert [request.body["model"] for request in server.requests] == ["m"] * 3
    (file,) = Path.cwd().glob("mage-run-*.db")
    assert (ran.status, ran.err) == (0, "")
    assert f"made session {file.name}#run" in ran.out
    assert "finished: There is one." in ran.out
    assert "model 2 calls, 220 tokens" in ran.out
    assert KEY not in ran.out
    assert KEY.encode() not in file.read_bytes()


def test_judge_and_summarizer_are_models_too() -> None:
    """A compress is judged by the judge's model, and tokens are told by kind of call."""
    verdict = {"reasoning": "It is true.", "passed": True, "fault": "none", "feedback": ""}
    asked: list[str] = []

    def answering(request: Request) -> Answer:
        asked.append(request.body["model"])
        if asked[-1] == "j":
            return says(json.dumps(verdict))
        return (
            calls("act", action="search[oak desk]"),
            calls("compress", text="Looked for a desk."),
            calls("finish", answer="Done."),
        )[asked.count("m") - 1]

    with ScriptedServer(answering=answering) as server:
        options = ("--environment", "shop", "--model", "m", "--judge", "j", "--base-url", server.url)
        ran = mage("run", "Find a desk.", *options, "--json")
    told = json.loads(ran.out)
    assert asked == ["m", "m", "j", "m"]
    assert (ran.status, told["summaries"]) == (0, 1)
    assert told["tokens"]["judge"] == {"prompt": 100, "completion": 10, "cached": 60, "calls": 1}
    assert told["tokens"]["model"]["calls"] == 3


def test_a_model_that_is_not_there_fails_the_run() -> None:
    """404: status 1, failed and why, for people and for machines; the run can go on with another model."""
    with ScriptedServer(Status(404), Status(404), calls("finish", answer="yes")) as server:
        options = ("--environment", "shop", "--base-url", server.url, "--session", "sqlite:///w.db#a")
        ran = mage("run", "Find a desk.", *options, "--model", "nope", "--json")
        told = json.loads(ran.out)
        assert (ran.status, told["outcome"], told["reason"]) == (1, "failed", "model: rejected")
        assert "'nope'" in told["detail"]
        ran = mage("run", *options, "--model", "nope")
        assert "failed, model: rejected: the provider knows no model 'nope'" in ran.out
        assert "go on with: mage run --session 'sqlite:///w.db#a', or with another --model\n" in ran.out
        assert mage("run", *options, "--model", "m").status == 0


def test_nobody_at_an_address_fails_the_run() -> None:
    """An address where nobody listens: unreachable."""
    with ScriptedServer() as server:
        gone = server.url
    ran = mage("run", "Find a desk.", "--environment", "shop", "--model", "m", "--base-url", gone, "--json")
    assert (ran.status, json.loads(ran.out)["reason"]) == (1, "model: unreachable")


# -- what is refused --------------------------------------------------------------------------------------------


def test_without_a_key_it_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, and no file is made."""
    monkeypatch.delenv("OPENAI_API_KEY")
    ran = mage("run", "task", "--environment", "shop", "--model", "m")
    assert in_one_line(ran, "OPENAI_API_KEY", "--offline")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("proxy", ["socks5://u:geheim@127.0.0.1:1", "gopher://u:geheim@h"])
def test_a_proxy_that_cannot_be_used_is_refused(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that says where it was found and quotes nothing of it, before a file is made."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sesame")
    monkeypatch.setenv("ALL_PROXY", proxy)
    ran = mage("run", "task", "--environment", "shop", "--model", "m")
    assert in_one_line(ran, "ALL_PROXY", "socks")
    assert "geheim" not in ran.err
    assert list(Path.cwd().iterdir()) == []


def test_a_key_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that names the variable and quotes nothing of it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-s\u00e9same\n")
    ran = mage("run", "task", "--environment", "shop", "--model", "m")
    assert in_one_line(ran, "OPENAI_API_KEY", "not ASCII")
    assert "same" not in ran.err.replace("sk-", "")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    "address",
    ["nonsense", "ftp://host", "http://", "http://[::1", "http://h:99999/v1", "http://.h", "http://h/\x7f"],
)
def test_an_address_that_is_none_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the option or the variable, named by where it stands; it is not repeated, it may hold a password."""
    options = ("run", "task", "--environment", "shop", "--model", "m")
    ran = mage(*options, "--base-url", address)
    assert in_one_line(ran, "--base-url", "http://")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    assert in_one_line(mage(*options), "OPENAI_BASE_URL", "http://")


def test_who_runs_a_session_beside_another_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether both began it at once or the other came later: somebody else is running it."""
    env = "tests.cli.gated:Beside:sqlite:///w.db#a"
    ran = mage("run", *PLAYED, "--environment", env, "--session", "sqlite:///w.db#a", "--json")
    told = json.loads(ran.out)
    assert (ran.status, told["outcome"], told["reason"]) == (1, "failed", "store: conflict")
    assert "somebody else is running this session" in told["detail"]

    def beaten(*_: object, **__: object) -> Outcome:
        """Begin, too late."""
        raise Conflict(Head(1, "a"), Head(2, "b"))

    monkeypatch.setattr("mage.cli.run.run_in", beaten)
    assert in_one_line(mage("run", "--offline"), "somebody else is running this session")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("max_turns=3", "'max_turns'"),
        ("wait=maybe", "wait must be true or false"),
        ("max_steps=-1", "max_steps must be"),
        ("max_steps=1.5", "max_steps must be"),
        ("on_fail=cry", "revise, accept, stop"),
        ("wait", "KEY=VALUE"),
        ("=", "''"),
        ("max_steps=[1]", "max_steps must be"),
        (f"max_steps={'[' * 100_000}", "max_steps must be"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(given: str, said: str) -> None:
    """It names the choice, and those that there are."""
    ran = mage("run", "--offline", "--policy", given)
    assert in_one_line(ran, said)
    assert given != "max_turns=3" or "max_revisions" in ran.err


def test_a_session_for_another_task_is_refused() -> None:
    """It says to leave the task out; nothing is changed."""
    mage("run", "--offline", "--session", "sqlite:///w.db#a", "--max-steps", 3)
    before = exported("sqlite:///w.db#a")
    ran = mage("run", "Another task.", "--offline", "--session", "sqlite:///w.db#a")
    assert in_one_line(ran, "another task", "leave the task out")
    assert exported("sqlite:///w.db#a") == before


def test_a_log_that_cannot_be_followed_is_refused() -> None:
    """A run of another version is refused in one line that says what does; with --anew a new one begins there."""
    url = "sqlite:///w.db#b"
    with Session.open("sqlite:///w.db", "b", task=shop.TASK) as session:
        session.note("began", '{"program": 99}')
    assert in_one_line(
        mage("run", "--offline", "--session", url), "another version of mage", "mage run --anew"
    )
    assert in_one_line(mage("rerun", url), "another version of mage", "begin a new one")
    assert mage("run", "--offline", "--environment", "shop", "--session", url, "--anew").status == 0
    assert mage("rerun", url).status == 0


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ("work.jsonl", "--session work.db#NAME"),
        ("sqlite:///w.db#a@3", "leave out @3"),
        ("memory:#a", "gone when the command ends"),
        ("sqlite:///none/w.db#a", "none"),
        ("mysql://host/db#a", "mysql"),
        ("sqlite:///w.db#%ff", "UTF-8"),
        (f"sqlite:///w.db#{'n' * 300}", "255"),
    ],
)
def test_a_session_that_cannot_be_kept_is_refused(session: str, said: str) -> None:
    """In one line, before anything is run."""
    assert in_one_line(mage("run", "--offline", "--session", session), said)


def test_a_byte_order_mark_is_no_part_of_the_task() -> None:
    """Editors of Windows put one before what they save as UTF-8."""
    Path("task").write_bytes("Tidy up.\r\n".encode("utf-8-sig"))
    assert mage("run", "@task", "--offline", "--session", "sqlite:///w.db#a").status == 0
    with Session.open("sqlite:///w.db", "a") as session:
        assert session.tree.task == "Tidy up."


def test_a_task_that_is_none_is_refused() -> None:
    """A blank one, a file that is not there, one that is no text."""
    Path("blank").write_text(" \n", encoding="utf-8")
    Path("bytes").write_bytes(b"\xff\xfe")
    assert in_one_line(mage("run", " ", "--offline"), "blank")
    assert in_one_line(mage("run", "@blank", "--offline"), "blank", "blank: the task is blank")
    assert in_one_line(mage("run", "@none", "--offline"), "none")
    Path("marked").write_bytes(b"\xef\xbb\xbf\r\n")
    assert in_one_line(mage("run", "@marked", "--offline"), "marked: the task is blank")
    assert in_one_line(mage("run", "@bytes", "--offline"), "UTF-8", "byte 0")


@pytest.mark.parametrize(
    "arguments",
    [
        ["task"],
        ["task", "--environment", "shop"],
        ["task", "--model", "m"],
        ["--environment", "shop", "--model", "m"],
        ["--environment", "shop", "--model", "m", "--session", "sqlite:///w.db#new"],
        ["--offline", "--model", "m"],
        ["--offline", "--base-url", "http://localhost"],
        ["--offline", "--max-steps", "-1"],
        ["--offline", "--mode", "json"],
        ["--offline", "--nope"],
    ],
)
def test_what_is_not_said_is_a_usage_error(arguments: list[str]) -> None:
    """Status 2, and no file is made."""
    assert mage("run", *arguments).status == 2
    assert list(Path.cwd().iterdir()) == []
