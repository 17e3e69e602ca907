"""Every command on every corrupted store: no traceback, at most one line of complaint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import attrs
import pytest

from mage.cli.change import families
from mage.stores import DamagedStore, open_store
from tests.cli.runner import mage
from tests.stores.corrupted import FAULTS, sql, write

LOOKING = (
    ["sessions", "{url}"],
    ["sessions", "{url}", "--json"],
    ["log", "{url}#main", "--texts"],
    ["tree", "{url}#try"],
    ["show", "{url}#try again", "--json"],
    ["show", "{url}#main@30"],
    ["check", "{url}#main"],
    ["diff", "{url}#main", "{url}#try again@41"],
    ["export", "{url}#try again", "--lineage"],
    ["redact", "{url}", "chair", "--dry-run"],
    ["gc", "{url}", "--name", "*", "--dry-run"],
)
WRITING = (
    ["fork", "{url}#main@30", "new"],
    ["revise", "{url}#main", "0", "--lesson", "again"],
    ["redact", "{url}#try", "chair"],
    ["gc", "{url}", "--name", "*"],
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a sound store's file."""
    path = tmp_path_factory.mktemp("sound") / "work.db"
    with open_store(f"sqlite:///{path}") as store:
        write(store)
    return path


def misbehaving(path: Path, commands: Iterable[list[str]]) -> list[str]:
    """Run commands on a store; return those that neither work nor say in one line why they do not."""
    wrong: list[str] = []
    for command in commands:
        ran = mage(*[each.format(url=f"sqlite:///{path}") for each in command])
        lines = len(ran.err.splitlines())
        said = lines == (0 if command[0] == "diff" and not ran.err else 1)
        if not (ran.status == 1 and said) and (ran.status, lines) != (0, 0):
            wrong.append(f"{command}: {ran.status} {ran.err}")
    return wrong


KINDS = {fault.fault: name for name, fault in FAULTS.items()}
"""One way to corrupt a store for each name that the doctor has."""


@pytest.mark.parametrize("name", KINDS.values())
def test_no_command_ends_in_a_traceback(sound: Path, tmp_path: Path, name: str) -> None:
    """What a command cannot do it says in one line, with status 1; also the commands that write."""
    path = tmp_path / "work.db"
    shutil.copy(sound, path)
    FAULTS[name].make(path)
    commands = (LOOKING[0], LOOKING[4], LOOKING[8], LOOKING[9], WRITING[0], WRITING[3])
    assert misbehaving(path, commands) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_no_command_ends_in_a_traceback_on_any_of_them(sound: Path, tmp_path: Path, name: str) -> None:
    """Every command on every corrupted store."""
    path = tmp_path / "work.db"
    shutil.copy(sound, path)
    FAULTS[name].make(path)
    assert misbehaving(path, (*LOOKING, *WRITING)) == []


def test_a_damaged_session_is_named_and_the_others_are_listed(sound: Path, tmp_path: Path) -> None:
    """`mage sessions` lists what it can, names what it cannot, says who looks at all of it, and exits with 1."""
    path = tmp_path / "work.db"
    shutil.copy(sound, path)
    sql("UPDATE mage_journals SET digest = x'00' WHERE name = 'try'")(path)
    ran = mage("sessions", f"sqlite:///{path}")
    assert ran.status == 1
    told = [line.split("  ")[0] for line in ran.out.splitlines()]
    assert (told[:2], sorted(told[2:])) == (["session", "?"], ["main", "try%20again"])
    assert "the journal 'try': the row of a journal says no head" in ran.err
    assert f"mage doctor sqlite:///{path} looks at all of it" in ran.err
    listed = json.loads(mage("sessions", f"sqlite:///{path}", "--json").out)
    assert sorted(each["name"] for each in listed["sessions"]) == ["main", "try again"]
    assert listed["damaged"] == ["the journal 'try': the row of a journal says no head"]


def test_parents_in_a_circle_end(sound: Path) -> None:
    """A family is not looked for without end."""
    with open_store(f"sqlite:///{sound}") as store:
        journals = store.journals()
    circle = [
        attrs.evolve(info, parent="try again" if info.name == "try" else info.parent) for info in journals
    ]
    assert [info.name for info in families(journals, "try again")[0]] == ["main", "try", "try again"]
    with pytest.raises(DamagedStore, match="through itself"):
        families(circle, "try again")


def test_of_what_has_nothing_sound_no_copy_is_made(tmp_path: Path) -> None:
    """A file of which nothing can be read, and a text that is no journal: it is said, and nothing stands there."""
    (tmp_path / "no.db").write_bytes(b"no database\n" * 999)
    (tmp_path / "no.jsonl").write_text("no journal\n")
    for damaged, repaired in (("sqlite:///{}/no.db", "sqlite:///{}/r.db"), ("{}/no.jsonl", "{}/r.jsonl")):
        ran = mage("doctor", damaged.format(tmp_path), "--repair", repaired.format(tmp_path))
        assert ran.status == 1
        assert "nothing is sound, so" in ran.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["no.db", "no.jsonl"]
