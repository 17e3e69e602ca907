"""`mage doctor --repair OUT` stopped anywhere: OUT is whole or not there, and nothing private is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from mage.stores import open_store
from mage.stores.doctor import UNFINISHED, examine, kept_at, private_folder
from tests.cli.runner import mage
from tests.stores.corrupted import acknowledged, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there a process is ended otherwise")

STOPPED: Final = """
import os, pathlib, signal, sys
from mage.__main__ import main
from mage.stores.sql import SqlStore

kind, left, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def stopping(work):
    def stopped(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), kind)
        return work(*given, **named)
    return stopped

for name in ("create", "fork", "append", "delete", "close"):
    setattr(SqlStore, name, stopping(getattr(SqlStore, name)))
pathlib.Path.rename = stopping(pathlib.Path.rename)
os.fsync = stopping(os.fsync)
sys.argv = ["mage", *sys.argv[4:]]
main()
"""
"""Runs the command, and sends itself a signal before so many steps of the repair."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store's file, and make the folder of temporary files."""
    path = tmp_path / "store" / "work.db"
    path.parent.mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "out").mkdir()
    with open_store(f"sqlite:///{path}") as opened:
        write(opened)
    return path


def stopped(store: Path, kind: signal.Signals, steps: int) -> int:
    """Repair a store in a process that sends itself a signal before so many steps, and return its status."""
    folder = store.parent.parent
    out = f"sqlite:///{folder / 'out' / 'new.db'}"
    arguments = [str(int(kind)), str(steps), "", "doctor", f"sqlite:///{store}", "--repair", out]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED, *arguments],
        env=environment,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert b"Traceback" not in ran.stderr
    return ran.returncode


def names_in(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(each.name for each in folder.iterdir())


def require_whole(out: Path) -> None:
    """Ask that a store is the whole of what was acknowledged."""
    assert mage("doctor", f"sqlite:///{out}").status == 0
    with open_store(f"sqlite:///{out}") as opened:
        assert {info.name: info.head for info in opened.journals()} == {
            name: heads[-1] for name, heads in acknowledged().items()
        }


def test_killed_at_any_step_it_leaves_no_half_store(store: Path) -> None:
    """OUT is not there before the last step; what was left is hidden by name, and the next run removes it."""
    folder = store.parent.parent
    for steps in range(1, 40, 2):
        status = stopped(store, signal.SIGKILL, steps)
        left = names_in(folder / "out")
        if status == 0:
            assert steps > 8
            break
        assert status == -signal.SIGKILL
        assert all(name == "new.db" or name.startswith(".mage-repair-") for name in left)
        assert len(left) <= 2
        assert len(names_in(folder / "tmp")) == 1
        if "new.db" in left:
            require_whole(folder / "out" / "new.db")
            (folder / "out" / "new.db").unlink()
    assert names_in(folder / "out") == ["new.db"]
    assert names_in(folder / "tmp") == []
    require_whole(folder / "out" / "new.db")


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_stop_it_removes_all_that_it_made(store: Path, kind: signal.Signals) -> None:
    """Neither OUT nor what stood beside it, nor the copy of the store's texts, is there then."""
    for steps in (1, 4):
        assert stopped(store, kind, steps) in (128 + kind, 1, -kind)
        assert names_in(store.parent.parent / "out") == []
        assert names_in(store.parent.parent / "tmp") == []


def test_the_repaired_copy_is_private_and_alone(store: Path) -> None:
    """It can be read by its owner only, and has no log beside it."""
    out = store.parent.parent / "out" / "new.db"
    before = os.umask(0)
    try:
        assert mage("doctor", f"sqlite:///{store}", "--repair", f"sqlite:///{out}").status == 0
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o600
    assert names_in(out.parent) == ["new.db"]


def test_what_cannot_be_written_leaves_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk refuses at the end, OUT is not there and nothing is beside it."""
    out = store.parent.parent / "out" / "new.db"

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    ran = mage("doctor", f"sqlite:///{store}", "--repair", f"sqlite:///{out}")
    assert (ran.status, ran.err) == (1, f"mage: {out}: No space left on device\n")
    assert names_in(out.parent) == []


def test_the_folder_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    """Only what nobody holds any more is removed, whatever its process's number is by now."""
    left = tmp_path / "a-left"
    left.mkdir()
    (left / "lock").touch()
    (tmp_path / "a-empty").mkdir()
    with private_folder("a-", tmp_path) as mine, private_folder("a-", tmp_path) as other:
        assert names_in(tmp_path) == sorted([mine.name, other.name])
        assert mine.stat().st_mode & 0o777 == 0o700
    assert names_in(tmp_path) == []


def test_a_repair_into_a_database_that_was_cut_short_is_named(store: Path) -> None:
    """There a journal stands until all is written: who finds it knows that the store is not whole."""
    url = f"sqlite:///{store}"
    with open_store(url) as opened:
        opened.create(UNFINISHED, list(opened.read("main", upto=1)))
    with kept_at(url) as kept:
        assert [each.fault for each in examine(kept).findings] == ["unfinished repair"]
