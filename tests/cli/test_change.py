"""Sessions that are renamed, removed and forked: never one that a fork reads through, never behind a damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mage.codec import encode_journal
from mage.stores import open_store
from tests.cli.children import exported, in_one_line, place
from tests.cli.runner import mage
from tests.cli.test_sessions import story
from tests.cli.test_terminal import at_terminal
from tests.stores.corrupted import sql

__all__ = ["place"]


@pytest.fixture(autouse=True)
def work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a store with the story."""
    monkeypatch.delenv("MAGE_STORE", raising=False)
    Path("story.jsonl").write_bytes(b"".join(encode_journal(story())))
    assert mage("import", "story.jsonl", "work.db#main").status == 0


def names() -> list[str]:
    """Return the names of the journals in the store."""
    with open_store("sqlite:///work.db") as store:
        return [info.name for info in store.journals()]


def test_a_session_is_renamed_with_all_that_it_holds() -> None:
    """The same records under the new name, said to people and to machines; the old name is free."""
    before = exported("work.db")
    assert mage("rename", "work.db", "a%23b").out == "renamed work.db#main to work.db#a%23b\n"
    assert names() == ["a#b"]
    assert exported("work.db#a%23b") == before
    assert json.loads(mage("rename", "work.db", "c", "--json").out) == {
        "session": "work.db#c",
        "was": "work.db#a%23b",
    }
    assert in_one_line(mage("tree", "work.db#main"), "there is no such session")


def test_a_run_is_renamed_and_removed_with_its_session() -> None:
    """It is run again under the new name, to the same state; and nothing of it is left when it is removed."""
    mage("run", "--offline", "--session", "work.db#study")
    assert mage("rename", "work.db#study", "den").status == 0
    assert mage("rerun", "work.db#den").out.startswith("the same state, byte for byte")
    assert mage("rm", "work.db#den", "--yes").status == 0
    assert names() == ["main"]


def test_a_name_that_is_taken_stays() -> None:
    """Also by the session itself; nothing is renamed."""
    mage("fork", "work.db@3", "other")
    for new in ("main", "other"):
        assert in_one_line(mage("rename", "work.db#other", new), f"work.db#{new} is there already")
    assert names() == ["main", "other"]


def test_what_a_fork_reads_through_keeps_its_name_and_its_records() -> None:
    """The refusal says which forks; when they are gone, it can be renamed and removed."""
    for name in ("try", "%23"):
        mage("fork", "work.db#main@8", name)
    for command, done in (
        (["rename", "work.db#main", "x"], "renamed"),
        (["rm", "work.db#main", "-y"], "removed"),
    ):
        assert in_one_line(mage(*command), f"cannot be {done}", "%23, try", "remove these first")
    for name in ("try", "%23"):
        assert mage("rm", f"work.db#{name}", "--yes").status == 0
    assert mage("rename", "work.db#main", "x").status == 0
    assert mage("rm", "work.db#x", "--yes").out == "removed work.db#x with its 13 versions\n"
    assert names() == []


def test_nothing_is_removed_without_a_yes() -> None:
    """Where nobody can be asked, --yes is needed; at a terminal the answer counts."""
    for options in ([], ["--json"]):
        assert in_one_line(mage("rm", "work.db", *options), "add --yes")
    status, sent = at_terminal(Path.cwd(), "rm", "work.db", typed=b"n\n")
    assert (status, names()) == (1, ["main"])
    assert "Remove work.db#main with its 13 versions for good? [y/N]" in sent
    assert "Traceback" not in sent
    assert at_terminal(Path.cwd(), "rm", "work.db", typed=b"y\n")[0] == 0
    assert names() == []


def damage(version: int) -> None:
    """Change a record of the story behind its store's back."""
    change = f'UPDATE mage_records SET body = \'{{"op":"accept"}}\' WHERE version = {version}'
    sql(change)(Path("work.db"))


@pytest.mark.parametrize("at", ["", "@6", "@13"])
def test_no_fork_is_made_behind_a_damage(at: str) -> None:
    """The refusal names session, record and the last version at which a fork can begin; there it does."""
    damage(6)
    said = mage("fork", f"work.db{at}", "new")
    assert in_one_line(said, "work.db#main: record 6 is damaged", "mage fork work.db#main@5 new")
    assert names() == ["main"]
    assert mage("fork", "work.db#main@5", "new").status == 0
    assert mage("show", "work.db#new").status == mage("log", "work.db#new").status == 0


def test_no_fork_is_made_where_nothing_is_sound() -> None:
    """Then no version is named."""
    sql("UPDATE mage_records SET body = 'x' WHERE version = 1")(Path("work.db"))
    assert in_one_line(mage("fork", "work.db", "new"), "record 1 is damaged", "there is nothing before it")


@pytest.mark.parametrize(
    "command",
    [
        ["tree", "{}"],
        ["show", "{}"],
        ["log", "{}"],
        ["log", "{}", "--last", "2"],
        ["check", "{}"],
        ["diff", "{}", "story.jsonl"],
        ["diff", "story.jsonl", "{}"],
        ["export", "{}"],
        ["export", "{}", "--to", "journal"],
        ["export", "{}", "--to", "dot"],
        ["revise", "{}", "0"],
        ["fork", "{}", "new"],
        ["redact", "{}", "desk"],
        ["redact", "work.db", "desk"],
        ["run", "--offline", "--environment", "shop", "--session", "{}"],
    ],
    ids=" ".join,
)
def test_a_damaged_record_is_one_of_a_session(command: list[str]) -> None:
    """Every command that meets it says of which session it is, and who looks at all of the store."""
    mage("fork", "work.db#main@3", "other")
    damage(13)
    ran = mage(*[each.format("work.db#main") for each in command])
    assert ran.status == 1
    assert "work.db#main: record 13 is damaged" in ran.err
    assert "mage " in ran.err.split("record 13")[1]
    assert len(ran.err.splitlines()) == 1
