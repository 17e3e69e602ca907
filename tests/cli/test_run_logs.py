"""A run is notes in the journal of its session: it is forked, exported, redacted, renamed and dropped with the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from mage.agent import Agent, Policy, RunStopped, rerun
from mage.cli.sessions import LOOKS
from mage.demo.shop import Shop
from mage.effects import Decide, Decision
from mage.stores import open_store
from tests.cli.children import in_one_line, place
from tests.cli.runner import mage

__all__ = ["place"]

STORE: Final = "sqlite:///w.db"
RUN: Final = f"{STORE}#a"
SECRET: Final = 'sésame "42"'


@pytest.fixture(autouse=True)
def run(place: Path) -> None:
    """Have the demo's run in a store."""
    assert mage("run", "--offline", "--session", RUN, "--json").status == 0


def names() -> list[str]:
    """Return the names of the journals in the store."""
    with open_store(STORE) as store:
        return sorted(journal.name for journal in store.journals() if journal.name != LOOKS)


def telling(request: Decide, /) -> Decision:
    """Say a secret while acting, and say it again in the action."""
    return Decision.act(f"search[{SECRET}]", thought=f"The word is {SECRET}.")


def a_run_with_a_secret(name: str) -> None:
    """Have a run that has told a secret to the shop, and in its notes."""
    with open_store(STORE) as store:
        agent = Agent(model=telling, environment=Shop(), policy=Policy(max_steps=3))
        assert isinstance(agent.run(store, name, task="Tell."), RunStopped)


def test_a_run_is_one_journal() -> None:
    """A store with a run holds one journal, and the log shows the notes between the commands only where asked for."""
    assert names() == ["a"]
    log = json.loads(mage("log", RUN, "--json").out)["records"]
    assert "note" not in {each["operation"] for each in log}
    assert {each["run"] for each in log} == {True, False}
    every = json.loads(mage("log", RUN, "--notes", "--json").out)["records"]
    assert [each for each in every if each["operation"] != "note"] == log
    assert [each["version"] for each in every] == [*range(1, len(every) + 1)]
    assert {"began", "decided", "acting", "judged", "ended"} <= {each.get("kind") for each in every}
    assert " decided" in mage("log", RUN, "--notes").out
    assert " decided" not in mage("log", RUN).out


def test_redacting_a_session_redacts_its_run() -> None:
    """The secret is gone from every byte of the store, however a note spells it; other runs stay as they are."""
    a_run_with_a_secret("b")
    a_run_with_a_secret("c")
    pattern = "s.same \\W?42"
    assert b"same " in Path("w.db").read_bytes()  # with its blank: a salt may spell the word by chance
    dry = json.loads(mage("redact", f"{STORE}#b", pattern, "--dry-run", "--json").out)["redacted"]
    assert {each["session"] for each in dry} == {"b"}
    assert {each["text"] for each in dry} >= {"note", "action"}
    ran = mage("redact", f"{STORE}#b", pattern)
    assert ran.status == 0
    assert (
        "the run of b cannot be gone on with: its log was redacted; mage run --anew begins a new one"
        in ran.out
    )
    assert mage("redact", f"{STORE}#b", pattern).out == "nothing matches\n"
    assert in_one_line(mage("rerun", f"{STORE}#b"), "redacted")
    assert mage("rerun", f"{STORE}#c").status == 0
    assert mage("redact", STORE, pattern, "--json").status == 0
    assert b"same " not in Path("w.db").read_bytes()


def test_a_run_without_the_secret_can_be_followed() -> None:
    """What is redacted elsewhere costs a run nothing."""
    a_run_with_a_secret("b")
    mage("redact", f"{STORE}#a", "s.same")
    assert mage("rerun", RUN).status == 0
    assert mage("rerun", f"{STORE}#b").status == 0


def test_a_fork_takes_the_run_along() -> None:
    """A run of the fork goes on from where the fork begins; with --anew it begins a new one there."""
    middle = json.loads(mage("log", RUN, "--json").out)["records"][9]["version"]
    for name in ("b", "c"):
        mage("fork", f"{RUN}@{middle}", name)
    assert mage("rerun", f"{STORE}#b").status == 0
    assert "goes on" in mage("fork", "--help").out.replace("\n", " ")
    assert mage("run", "--session", f"{STORE}#b").status == 0
    assert mage("run", "--session", f"{STORE}#c", "--anew", "--offline").status in (0, 1)
    with open_store(STORE) as store:
        whole, on, anew = (rerun(store, name) for name in ("a", "b", "c"))
    assert on.outcome == whole.outcome
    assert anew.totals.steps < whole.totals.steps


def test_an_export_takes_the_run_along() -> None:
    """A run that was exported is imported as it was, and run again, byte for byte."""
    assert mage("export", RUN, "--out", "a.jsonl").status == 0
    assert mage("import", "a.jsonl", f"{STORE}#copy").status == 0
    assert mage("rerun", f"{STORE}#copy").out.replace("#copy", "#a") == mage("rerun", RUN).out


def test_a_run_is_renamed_and_removed_with_its_session() -> None:
    """Nothing of it is left under the old name, or at all."""
    assert mage("rename", RUN, "b").status == 0
    assert names() == ["b"]
    assert mage("rerun", f"{STORE}#b").status == 0
    assert mage("rm", f"{STORE}#b", "--yes").status == 0
    assert names() == []
