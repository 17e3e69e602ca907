"""Tapes of runs among the sessions of a store: no command takes one for a session, nor leaves one behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from mage import Session
from mage.agent import Agent, Policy, RunStopped, rerun
from mage.cli.sessions import LOOKS
from mage.demo.shop import Shop
from mage.effects import Decide, Decision
from mage.stores import open_store
from tests.cli.children import exported, in_one_line, place
from tests.cli.runner import mage

__all__ = ["place"]

STORE: Final = "sqlite:///w.db"
RUN: Final = f"{STORE}#a"
SECRET: Final = 'sésame "42"'


@pytest.fixture(autouse=True)
def run(place: Path) -> None:
    """Have the demo's run in a store."""
    assert mage("run", "--offline", "--session", RUN, "--json").status == 0


def names(*arguments: str) -> list[str]:
    """Return the names of the journals in the store."""
    listed = json.loads(mage("sessions", STORE, "--all", "--json", *arguments).out)["sessions"]
    return sorted(each["name"] for each in listed if each["name"] != LOOKS)


def telling(request: Decide, /) -> Decision:
    """Say a secret while acting, and say it again in the action."""
    return Decision.act(f"search[{SECRET}]", thought=f"The word is {SECRET}.")


def a_run_with_a_secret(name: str) -> None:
    """Have a run that has told a secret to the shop, and to its tape."""
    with open_store(STORE) as store:
        agent = Agent(model=telling, environment=Shop(), policy=Policy(max_steps=3))
        assert isinstance(agent.run(store, name, task="Tell."), RunStopped)


def test_a_tape_is_listed_where_it_is_asked_for() -> None:
    """Neither people nor machines are shown one as a session; with --all it is told apart."""
    assert "a.run" not in mage("sessions", STORE).out
    assert "a.run" in mage("sessions", STORE, "--all").out
    for options, tapes in (((), {"a": False}), (("--all",), {"a": False, "a.run": True})):
        listed = json.loads(mage("sessions", STORE, "--json", *options).out)["sessions"]
        assert {each["name"]: each["tape"] for each in listed} == tapes


def test_a_session_that_is_named_like_a_tape_is_a_session() -> None:
    """It is listed, and goes with nobody: neither dropped nor redacted with its neighbour."""
    with Session.open(STORE, "b", task="t") as session, Session.open(STORE, "b.run", task="mine") as mine:
        session.grow("say", "xyzzy")
        mine.grow("say", "xyzzy")
    assert "b.run" in mage("sessions", STORE).out
    mage("redact", f"{STORE}#b", "xyzzy")
    assert "xyzzy" in exported(f"{STORE}#b.run")
    mage("gc", STORE, "--name", "b")
    assert names() == ["a", "a.run", "b.run"]


def test_redacting_a_session_redacts_its_tape() -> None:
    """The secret is gone from every byte of the store, however the tape spells it; other runs stay as they are."""
    a_run_with_a_secret("b")
    a_run_with_a_secret("c")
    pattern = "s.same \\W?42"
    assert b"same " in Path("w.db").read_bytes()  # with its blank: a salt may spell the word by chance
    dry = json.loads(mage("redact", f"{STORE}#b", pattern, "--dry-run", "--json").out)["redacted"]
    assert {each["session"] for each in dry} == {"b", "b.run"}
    ran = mage("redact", f"{STORE}#b", pattern)
    assert ran.status == 0
    assert "the run of b cannot be gone on with: its tape was redacted; fork it, and run the fork" in ran.out
    assert mage("redact", f"{STORE}#b", pattern).out == "nothing matches\n"
    assert in_one_line(mage("rerun", f"{STORE}#b"), "redacted")
    assert mage("rerun", f"{STORE}#c").status == 0
    assert mage("redact", STORE, pattern, "--json").status == 0
    assert b"same " not in Path("w.db").read_bytes()


def test_a_session_without_the_secret_keeps_a_tape_that_can_be_followed() -> None:
    """What is redacted elsewhere costs a run nothing."""
    a_run_with_a_secret("b")
    mage("redact", f"{STORE}#a", "s.same")
    assert mage("rerun", RUN).status == 0
    assert mage("rerun", f"{STORE}#b").status == 0


def test_a_session_is_dropped_with_its_tape() -> None:
    """By its name, and by its age; a dry run says both."""
    assert "a.run" in mage("gc", STORE, "--name", "a", "--dry-run").out
    dropped = json.loads(mage("gc", STORE, "--name", "a", "--json").out)["dropped"]
    assert {each["name"] for each in dropped} == {"a", "a.run"}
    assert names() == []
    mage("run", "--offline", "--session", RUN)
    mage("gc", STORE, "--older-than", "0s")
    assert names() == []


def test_a_session_that_is_kept_keeps_its_tape() -> None:
    """One that a fork reads through stays, and can be rerun."""
    mage("fork", f"{RUN}@5", "b")
    kept = json.loads(mage("gc", STORE, "--name", "a*", "--json").out)
    assert [each["name"] for each in kept["dropped"]] == []
    assert [each["name"] for each in kept["kept"]] == ["a"]
    assert mage("rerun", RUN).status == 0


def test_a_tape_alone_is_dropped_when_it_is_named() -> None:
    """By its whole name; its session stays, and a run of it begins anew."""
    mage("gc", STORE, "--name", "a.run")
    assert names() == ["a"]
    assert in_one_line(mage("rerun", RUN), "no agent has run it")
    assert mage("run", "--offline", "--environment", "shop", "--session", RUN).status == 0
    assert names() == ["a", "a.run"]


def test_a_fork_takes_no_tape_along() -> None:
    """A run of the fork begins a new one, at the version where the fork begins."""
    mage("fork", f"{RUN}@9", "b")
    assert names() == ["a", "a.run", "b"]
    assert "begins a new one" in mage("fork", "--help").out.replace("\n", " ")
    assert mage("run", "--offline", "--environment", "shop", "--session", f"{STORE}#b").status == 0
    with open_store(STORE) as store:
        again = rerun(store, "b")
        assert again.same
        assert again.entries < rerun(store, "a").entries


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--offline", "--session", f"{RUN}.run"),
        ("run", "Another task.", "--offline", "--session", f"{RUN}.run"),
        ("revise", f"{RUN}.run", "0"),
        ("fork", f"{RUN}.run", "b"),
    ],
)
def test_nothing_writes_on_a_tape_but_its_run(command: tuple[str, ...]) -> None:
    """Whoever types the tape's name is told the session's, in one line, and the tape stays as it is."""
    before = exported(f"{RUN}.run")
    ran = mage(*command)
    assert in_one_line(ran, f"that is the tape of the session {RUN}: name the session")
    assert exported(f"{RUN}.run") == before
    assert names() == ["a", "a.run"]


def test_a_pattern_takes_no_tape_from_a_session_that_stays() -> None:
    """What fits tapes alone drops nothing, so that the run can still go on; what fits both drops both."""
    assert "nothing to drop" in mage("gc", STORE, "--name", "*.run").out
    assert names() == ["a", "a.run"]
    mage("gc", STORE, "--name", "a*")
    assert names() == []
