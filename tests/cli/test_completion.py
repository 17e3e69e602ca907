"""Completion in the shell: sessions, stores, files and environments, and never an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mage.cli.sessions import complete_session, complete_store
from mage.cli.setup import complete_environment
from mage.codec import encode_journal
from mage.stores import open_store
from tests.cli.children import ROOT, place
from tests.cli.runner import mage
from tests.cli.test_sessions import story
from tests.stores.corrupted import FAULTS, write

__all__ = ["place"]


@pytest.fixture(autouse=True)
def work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a store with sessions, a run among them, a session file and folders."""
    monkeypatch.delenv("MAGE_STORE", raising=False)
    Path("story.jsonl").write_bytes(b"".join(encode_journal(story())))
    for name in ("monday", "mo%23re", "tuesday"):
        assert mage("import", "story.jsonl", f"work.db#{name}").status == 0
    mage("run", "--offline", "--session", "work.db#study")
    mage("gc", "work.db", "--older-than", "1d")
    Path("folder").mkdir()
    Path("folder/old.sqlite").touch()
    Path(".hidden").mkdir()


def completed(*words: str) -> list[str]:
    """Return what a shell is told that the last word may become."""
    line = " ".join(["mage", *words])
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_MAGE_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": line,
    }
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; from mage.__main__ import main; sys.argv = ['mage']; main()"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_a_shell_completes_commands_sessions_and_environments() -> None:
    """In a process of its own, as a shell asks."""
    assert any("sessions" in line for line in completed("se"))
    assert any("work.db#tuesday" in line for line in completed("tree", "work.db#t"))
    assert any("shop" in line for line in completed("run", "--environment", "s"))
    assert any("work.db#study" in line for line in completed("run", "--session", "work.db#s"))


def test_what_is_not_asked_for_is_not_loaded_for_a_completion() -> None:
    """The names of commands need no agent and no store; they come from the sources alone."""
    code = (
        "import os, sys; os.environ.update(_MAGE_COMPLETE='complete_zsh', _TYPER_COMPLETE_ARGS='mage ')\n"
        "from mage.__main__ import main; sys.argv = ['mage']\n"
        "try: main()\n"
        "finally: print([name for name in ('mage.agent', 'mage.stores', 'sqlite3') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.endswith("[]\n")
    assert "sessions" in ran.stdout


def test_sessions_are_completed_as_they_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a store, or alone with MAGE_STORE; what gc saw is none; names are spelled as they are printed."""
    assert complete_session("work.db#") == [
        f"work.db#{each}" for each in ("mo%23re", "monday", "study", "tuesday")
    ]
    assert complete_session("work.db#mo") == ["work.db#mo%23re", "work.db#monday"]
    assert complete_session("sqlite:///work.db#s") == ["sqlite:///work.db#study"]
    assert complete_session("work.db") == [
        *(f"work.db#{each}" for each in ("mo%23re", "monday", "study", "tuesday")),
        "work.db",
    ]
    assert complete_session("s") == ["story.jsonl"]
    monkeypatch.setenv("MAGE_STORE", "work.db")
    assert complete_session("s") == ["study", "story.jsonl"]
    assert complete_session("#s") == ["#study"]


def test_paths_are_completed_too() -> None:
    """Folders, stores and, for a session, session files; what is hidden only where it is asked for."""
    assert complete_session("") == ["folder/", "story.jsonl", "work.db"]
    assert complete_store("") == ["folder/", "work.db"]
    assert complete_store("folder/") == ["folder/old.sqlite"]
    assert complete_store("./w") == ["./work.db"]
    assert complete_session(".h") == [".hidden/"]
    assert complete_environment("") == ["shop"]
    assert complete_environment("x") == []


@pytest.mark.parametrize(
    "word",
    [
        "no/where/",
        "nothing.db#",
        "folder#",
        "story.jsonl#a",
        "postgresql://no.host/x#",
        "memory:#",
        "#",
        "%ff#%ff",
        "\0",
    ],
)
def test_a_word_that_leads_nowhere_becomes_nothing(word: str) -> None:
    """No error, no store that is made by looking."""
    before = sorted(Path.cwd().rglob("*"))
    assert complete_session(word) == []
    assert [each for each in complete_store(word) if "#" in each] == []
    assert sorted(Path.cwd().rglob("*")) == before


@pytest.mark.parametrize("name", {fault.fault: name for name, fault in FAULTS.items()}.values())
def test_a_damaged_store_is_completed_as_far_as_it_can_be_read(name: str) -> None:
    """One fault of each kind: what comes are sessions of it, or nothing."""
    with open_store("sqlite:///bad.db") as store:
        write(store)
    FAULTS[name].make(Path("bad.db"))
    assert set(complete_session("bad.db#")) <= {"bad.db#main", "bad.db#try", "bad.db#try%20again"}
