"""`mage show --inside`: what a line of C stands for, down to the raw steps; and the demo's story over fallbacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from mage import Session
from tests.cli.children import place
from tests.cli.runner import mage

__all__ = ["place"]

STORE: Final = "sqlite:///w.db#a"


@pytest.fixture(autouse=True)
def _session(place: Path) -> None:
    """Keep a session whose C shows a chapter of two subgoals."""
    del place
    with Session.open("sqlite:///w.db", "a", task="t") as session:
        for number in range(2):
            session.grow(f"act {number}", "seen")
            session.compress(f"did {number}", wait=False)
            session.accept()
        session.fold(0, 2, "did both")


def test_a_chapter_shows_its_lines_and_a_line_in_it_its_steps() -> None:
    """By N, and by N..M for what stands inside."""
    shown = mage("show", STORE, "--inside", "0")
    assert (shown.status, "[Step 1..2] did 1" in shown.out, "Action" in shown.out) == (0, True, False)
    inner = mage("show", STORE, "--inside", "1..2")
    assert inner.out.endswith("stands for\nAction: act 1\nObservation: seen\n")


def test_inside_speaks_json() -> None:
    """The line, and what it stands for."""
    said = json.loads(mage("show", STORE, "--inside", "1..2", "--json").out)
    assert (said["line"]["text"], said["lines"], [step["action"] for step in said["steps"]]) == (
        "did 1",
        [],
        ["act 1"],
    )


@pytest.mark.parametrize(("named", "status", "said"), [("7", 1, "[Step 0..2]"), ("0..1..2", 2, "expected N")])
def test_what_there_is_not_is_refused(named: str, status: int, said: str) -> None:
    """A line that there is not is answered by those that there are; what is no line at all is a mistake of usage."""
    ran = mage("show", STORE, "--inside", named)
    assert (ran.status, said in ran.err) == (status, True)


def test_over_fallbacks_each_thing_is_bought_once_and_has_one_line() -> None:
    """At a mark that cuts each subgoal the lesson stands where it is needed, and C has a line for each purchase."""
    ran = mage(
        "run", "--offline", "--policy", "high_water=200", "--session", "sqlite:///w.db#story", "--json"
    )
    assert ran.status == 0
    log = mage("log", "sqlite:///w.db#story", "--texts").out
    assert log.count("buy[C-1180]") == 1
    lines = json.loads(mage("show", "sqlite:///w.db#story", "--json").out)["compressed"]
    assert [line["text"].partition(" purchased")[0] for line in lines] == [
        "Product 1",
        "Product 2",
        "Product 3",
    ]
