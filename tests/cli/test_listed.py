"""`mage sessions` and `mage tree` as a person reads them: the last changed first, the verdict first, at any width."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mage import Memory, Session
from mage.codec import encode_journal
from mage.engine import Accept, Command, Compress, Grow, Revise, Start, StepId
from tests.cli.children import place
from tests.cli.runner import mage
from tests.cli.test_sessions import story
from tests.cli.test_terminal import STYLE, at_terminal
from tests.memory.replies import buy, done, reply
from tests.stores.corrupted import sql

__all__ = ["place"]

LONG = "Find the invoices of the third quarter, compare each with its order, and write down what differs."


@pytest.fixture(autouse=True)
def work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a store with a run, a session that was written by a program, and a fork of that."""
    monkeypatch.delenv("MAGE_STORE", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    times = iter(range(10**15, 2 * 10**15, 60_000_000))
    with Session.open("sqlite:///work.db", "invoices", task=LONG, clock=lambda: next(times)) as session:
        session.grow("look", "42 invoices")
        session.compress("42 invoices were found")
    assert mage("fork", "work.db#invoices@2", "again").status == 0
    assert mage("run", "--offline", "--session", "work.db#study").status == 0


def test_the_last_changed_is_listed_first_with_how_it_ended() -> None:
    """A run has an outcome, a summary that waits says so."""
    listed = json.loads(mage("sessions", "work.db", "--json").out)["sessions"]
    assert [(each["name"], each["outcome"], each["versions"]) for each in listed] == [
        ("study", "finished", 64),
        ("again", "", 2),
        ("invoices", "unverified", 3),
    ]


def test_a_run_that_has_not_finished_says_why() -> None:
    """Stopped by a limit, and interrupted before it has ended."""
    mage("run", "--offline", "--session", "work.db#short", "--max-steps", "2")
    assert (
        json.loads(mage("sessions", "work.db", "--json").out)["sessions"][0]["outcome"]
        == "stopped: max steps"
    )
    mage("fork", "work.db#short@6", "cut")
    listed = json.loads(mage("sessions", "work.db", "--json").out)["sessions"]
    assert {each["name"]: each["outcome"] for each in listed}["cut"] == "not ended"
    mage("redact", "work.db#short", "max_steps")
    listed = json.loads(mage("sessions", "work.db", "--json").out)["sessions"]
    assert {each["name"]: each["outcome"] for each in listed}["short"] == "unreadable"


def test_a_run_behind_whose_end_somebody_went_back_has_not_ended() -> None:
    """All that it had finished is undone, and running it goes on from there."""
    assert mage("revise", "work.db#study", "0", "--lesson", "Ask first.").status == 0
    listed = json.loads(mage("sessions", "work.db", "--json").out)["sessions"]
    assert {each["name"]: each["outcome"] for each in listed}["study"] == "not ended"


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_terminal_of_any_width_gets_no_line_that_is_longer(columns: int) -> None:
    """Names are whole, tasks are cut where the terminal ends; a narrow one gives them lines of their own."""
    status, sent = at_terminal(Path.cwd(), "sessions", "work.db", columns=columns)
    lines = STYLE.sub("", sent).replace("\r", "").splitlines()
    assert status == 0
    assert max(map(len, lines)) <= columns
    assert len(lines) in (4, 7)
    for name in ("study", "again", "invoices"):
        assert any(line.startswith(f"{name} ") for line in lines)
    assert any("Find the invoices of" in line for line in lines)


def test_a_damaged_session_is_listed_as_damaged() -> None:
    """Whatever record of it: it is named, the others are told, and the status is 1; a fork of it is damaged too."""
    sql("UPDATE mage_records SET body = 'x' WHERE version = 1 AND journal = 1")(Path("work.db"))
    ran = mage("sessions", "work.db")
    assert (ran.status, ran.err) == (
        1,
        "mage: work.db is damaged: again, invoices; mage doctor work.db looks at all of it\n",
    )
    assert [line.split()[:2] for line in ran.out.splitlines()[1:]] == [
        ["study", "finished"],
        ["again", "damaged"],
        ["invoices", "damaged"],
    ]
    assert "record 1 is damaged" in ran.out
    told = json.loads(mage("sessions", "work.db", "--json").out)
    assert [each["damage"] is None for each in told["sessions"]] == [True, False, False]
    assert [each.split(":")[0] for each in told["damaged"]] == ["again", "invoices"]


def test_the_log_for_machines_has_every_value() -> None:
    """Actions, observations, texts and what goes with them; for people only where they are asked for."""
    records = json.loads(mage("log", "work.db#invoices", "--json").out)["records"]
    assert [each["texts"] for each in records] == [
        {"task": LONG},
        {"action": "look", "observation": "42 invoices"},
        {"text": "42 invoices were found"},
    ]
    assert [type(each["meta"]["at"]) for each in records] == [int] * 3
    assert "42 invoices" not in mage("log", "work.db#invoices").out
    assert "42 invoices" in mage("log", "work.db#invoices", "--texts").out


def nested(depth: int) -> list[Command]:
    """Return a journal of branches that lie in each other, all left, with a summary and a verdict on each step."""
    commands: list[Command] = [Start(LONG)]
    boundary = 0
    for number in range(depth):
        for which in ("left", "on"):
            commands += [
                Grow(f"{which} {number}", "o" * 99),
                Compress("a rather long summary " * 9),
                Accept(),
            ]
            if which == "left":
                commands.append(Revise(StepId(boundary), ""))
        boundary = 2 * number + 2
    return [*commands, Revise(StepId(0), "do something else"), Grow("now", "")]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_verdict_is_seen_however_deep_a_branch_lies(columns: int) -> None:
    """Indentation leaves room for it: a line says how deep it is instead."""
    Path("nested.jsonl").write_bytes(b"".join(encode_journal(nested(30))))
    status, sent = at_terminal(Path.cwd(), "tree", "nested.jsonl", "--full", columns=columns)
    lines = STYLE.sub("", sent).replace("\r", "").splitlines()
    assert status == 0
    assert max(map(len, lines)) <= columns
    assert len([line for line in lines if "■ accepted  [Step" in line]) == 60
    assert any("(30 deep)" in line for line in lines)


def test_the_verdict_is_seen_at_80_columns() -> None:
    """It stands before the text: passed, failed, with its own colour; what is cut is the end of a line."""
    Path("story.jsonl").write_bytes(b"".join(encode_journal(story())))
    sent = ""
    for arguments in (["tree", "story.jsonl"], ["tree", "work.db#study"]):
        status, sent = at_terminal(Path.cwd(), *arguments, columns=80)
        lines = STYLE.sub("", sent).replace("\r", "").splitlines()
        assert status == 0
        assert max(map(len, lines)) <= 80
        verdicts = [
            re.search(r"■ (passed|failed, \w+|accepted|unverified)  \[Step \d+\]", line) for line in lines
        ]
        assert len([each for each in verdicts if each]) == len([line for line in lines if "■" in line]) > 2
    assert "\x1b[32m  ■ passed" in sent
    assert "\x1b[1;31m│    ■ failed, execution" in sent


def test_without_colour_or_terminal_the_text_is_plain() -> None:
    """NO_COLOR and a pipe: no escape, and into a pipe no line is cut."""
    _, sent = at_terminal(Path.cwd(), "tree", "work.db#study", columns=80, NO_COLOR="1")
    assert "\x1b[32m" not in sent
    assert "\x1b[1;31m" not in sent
    piped = mage("tree", "work.db#study").out
    assert "\x1b" not in piped
    assert max(map(len, piped.splitlines())) > 80


def test_the_answer_of_a_memory_is_listed_until_something_comes_behind_it(tmp_path: Path) -> None:
    """Its notes belong to no run: a call that is being made is no end, and the answer is one only as the last record."""
    url = str(tmp_path / "memory.db")

    def listed() -> str:
        return str(json.loads(mage("sessions", url, "--json").out)["sessions"][0]["outcome"])

    with Memory.open(url, "m", task="Buy a desk.") as kept:
        kept.take(reply(buy("desk"), ids="a"), perform=done)
        assert listed() == ""
        kept.take(reply(text="Bought."))
        assert listed() == "answered"
        kept.instruct("And a lamp.")
        assert listed() == ""
