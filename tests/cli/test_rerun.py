"""`mage rerun`: a run once more, and what a change would have made of it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any, Final

import pytest

from mage import Session
from mage.stores import open_store, operation_of, redacted
from tests.cli.children import STORY, exported, gate, in_one_line, interrupted, place
from tests.cli.runner import mage
from tests.llm.server import ScriptedServer, says

__all__ = ["gate", "place"]

RUN: Final = "sqlite:///w.db#a"


@pytest.fixture(autouse=True)
def run(place: Path) -> None:
    """Have the demo's run in a store."""
    assert mage("run", "--offline", "--session", RUN, "--json").status == 0


def verdict(*, passed: bool) -> Any:  # the server's answers have no common type
    """Return a judge's reply."""
    failed = {"fault": "execution", "feedback": "Not like this."}
    fault = {"fault": "none", "feedback": ""} if passed else failed
    return says(json.dumps({"reasoning": "So it is.", "passed": passed, **fault}))


def test_a_rerun_is_the_same_state_byte_for_byte() -> None:
    """Status 0, for people and for machines; the store is as it was."""
    before = Path("w.db").read_bytes()
    ran = mage("rerun", RUN)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(
        f"the same state, byte for byte: version 62 of {RUN}, from 38 notes of its log\n"
    )
    assert "finished: The study is furnished." in ran.out
    told = json.loads(mage("rerun", RUN, "--json").out)
    assert (told["same"], told["version"], told["differs"], told["unread"]) == (True, 62, [], 0)
    assert told["outcome"]["outcome"] == "finished"
    assert Path("w.db").read_bytes() == before


def test_it_says_where_the_session_differs() -> None:
    """A session whose text was taken out is not what the run makes: status 1, and the version."""
    with open_store("sqlite:///w.db") as store:
        grown = [record for record in store.read("a") if operation_of(record)[0] == "grow"]
        store.replace_parts("a", [redacted(grown[2], [0])])
    version = grown[2].version
    ran = mage("rerun", RUN)
    assert (ran.status, f"makes other commands of versions {version}" in ran.out) == (1, True)
    assert json.loads(mage("rerun", RUN, "--json").out)["differs"] == [version]


def test_it_says_where_an_interrupted_run_stands(gate: Path) -> None:
    """What was interrupted in an action has no end yet; the same state all the same."""
    os.remove("w.db")
    interrupted(gate, 6, signal.SIGKILL)
    ran = mage("rerun", RUN)
    assert (ran.status, "ends there, where the environment has not answered yet" in ran.out) == (0, True)
    assert json.loads(mage("rerun", RUN, "--json").out)["outcome"] is None


def test_what_others_wrote_is_told() -> None:
    """Commands behind the end of the run are counted."""
    with Session.open("sqlite:///w.db", "a") as session:
        session.grow("look", "A study.")
    assert "others have written 1 command after it" in mage("rerun", RUN).out


def test_another_policy_shows_what_it_changes() -> None:
    """Without Maintain the chrome chair stays: nobody but the script is asked, and the trees differ as in mage diff."""
    ran = mage("rerun", RUN, "--policy", "maintain=false", "--offline", "--into", "sqlite:///w.db#b")
    assert ran.status == 1
    assert "  + [Step 3] Product 2 purchased: C-1180" in ran.out
    assert "  - [Step 3] Product 2 purchased: C-2214" in ran.out
    assert "the two part where the model is asked at step 3" in ran.out
    assert "from the record: model 4, environment 7; asked: model 9, environment 3" in ran.out
    assert mage("rerun", "sqlite:///w.db#b").status == 0
    compared = mage("diff", RUN, "sqlite:///w.db#b")
    assert ran.out.startswith(compared.out)


def test_where_nobody_is_given_it_stops() -> None:
    """It says who would have to be asked; what was asked of the record is counted."""
    ran = mage("rerun", RUN, "--policy", "maintain=false", "--json")
    told = json.loads(ran.out)
    assert ran.status == 1
    assert told["outcome"]["reason"] == "unanswered"
    assert told["outcome"]["detail"] == "the model would have to be asked at step 3"
    assert told["recorded"] == {"model": 4, "judge": 0, "summarizer": 0, "environment": 4}
    assert told["asked"] == {"model": 0, "judge": 0, "summarizer": 0, "environment": 0}
    assert told["differ"]
    assert told["into"] is None


def test_a_change_that_changes_nothing_is_no_difference() -> None:
    """Status 0; nobody is asked."""
    ran = mage("rerun", RUN, "--policy", "max_steps=999")
    assert (ran.status, "nothing differs in C, R and H" in ran.out) == (0, True)
    assert "asked: nobody" in ran.out
    assert mage("rerun", RUN, "--offline").status == 0


def test_another_judge_is_asked_about_each_summary() -> None:
    """Over HTTP: one that agrees changes nothing, but for the one that failed; there the runs part."""
    with ScriptedServer(verdict(passed=True), verdict(passed=True)) as server:
        ran = mage("rerun", RUN, "--judge", "j", "--base-url", server.url)
        assert [request.body["model"] for request in server.requests] == ["j", "j"]
    assert ran.status == 1
    assert "stopped, unanswered: the model would have to be asked at step 6" in ran.out
    assert "asked: judge 2" in ran.out


def test_with_a_judge_the_script_goes_on() -> None:
    """--offline answers what the record does not; the judge alone is over HTTP."""
    with ScriptedServer(*[verdict(passed=True)] * 3) as server:
        ran = mage("rerun", RUN, "--judge", "j", "--offline", "--base-url", server.url, "--json")
    told = json.loads(ran.out)
    assert (told["outcome"]["outcome"], told["asked"]["judge"]) == ("finished", 3)
    assert told["outcome"]["revisions"] == 0


def test_a_world_that_raises_is_told() -> None:
    """What an environment of one's own raises where the record ends is no traceback."""
    options = ("--policy", "maintain=false", *STORY, "--environment", "tests.cli.gated:Broken")
    assert in_one_line(mage("rerun", RUN, *options), "KeyError", "asked to act")
    ran = mage("rerun", RUN, *options, "--into", "sqlite:///w.db#b")
    assert in_one_line(ran, "KeyError", "mage run --session 'sqlite:///w.db#b' goes on")
    assert mage("run", "--offline", "--environment", "shop", "--session", "sqlite:///w.db#b").status == 0


def test_without_a_key_it_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge needs one; an exact rerun does not."""
    monkeypatch.delenv("OPENAI_API_KEY")
    assert in_one_line(mage("rerun", RUN, "--judge", "j"), "OPENAI_API_KEY")
    assert mage("rerun", RUN).status == 0


def test_what_cannot_be_rerun_is_refused() -> None:
    """No session, no run, a file, a name that is taken, a policy and an environment that are none."""
    Session.open("sqlite:///w.db", "plain", task="t").close()
    assert in_one_line(mage("rerun", "sqlite:///w.db#none"), "no such session")
    assert in_one_line(mage("rerun", "sqlite:///none.db#a"), "no such file")
    assert in_one_line(mage("rerun", "sqlite:///w.db#plain"), "no agent has run the session")
    assert in_one_line(mage("rerun", "a.jsonl"), "a file holds no run")
    assert in_one_line(mage("rerun", RUN, "--policy", "nope=1"), "'nope'")
    assert in_one_line(mage("rerun", RUN, "--environment", "attic"), "attic")
    assert in_one_line(mage("rerun", RUN, "--policy", "wait=false", "--into", RUN), f"{RUN} is there already")
    assert in_one_line(mage("rerun", RUN, "--policy", "wait=false", "--into", "b.jsonl"), "--into")
    assert exported(RUN)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--into", "sqlite:///w.db#b"],
        ["--base-url", "http://h"],
        ["--offline", "--model", "m"],
        ["--mode", "x"],
        ["--mode", "text"],
        ["--mode", "text", "--judge", "j"],
        ["--offline", "--base-url", "http://h"],
        ["--judge", ""],
        ["--model", " "],
        ["--policy", "wait=false", "--judge", ""],
    ],
)
def test_options_that_do_nothing_are_usage_errors(arguments: list[str]) -> None:
    """Status 2; so are names of models that name none, which an empty variable of a shell gives."""
    assert mage("rerun", RUN, *arguments).status == 2


@pytest.mark.parametrize("session", ["sqlite:///w.db#none", "sqlite:///w.db#a.run", "sqlite:///w.db#plain"])
def test_what_cannot_be_changed_leaves_no_store(session: str) -> None:
    """A complaint about the run names its own store, and none is made for the changed one."""
    Session.open("sqlite:///w.db", "plain", task="t").close()
    ran = mage("rerun", session, "--policy", "wait=false", "--into", "sqlite:///new.db#b")
    assert in_one_line(ran, session)
    assert not Path("new.db").exists()


def test_where_a_stopped_run_parted_is_told() -> None:
    """A changed run that a limit stops has parted where it did all the same."""
    options = ("--policy", "maintain=false", "--policy", "max_steps=7", "--offline")
    ran = mage("rerun", RUN, *options)
    assert "stopped, max steps" in ran.out
    assert "the two part where the model is asked at step 3" in ran.out
