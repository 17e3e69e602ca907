"""SQLite keeps its log beside the database: no command takes it for something else, nor something else for it."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from mage import Session
from mage.cli.change import Place, Redaction
from mage.cli.naming import InStore, StoreName
from mage.cli.output import Refused
from mage.codec import encode_journal
from mage.engine import Start
from mage.stores import BadAddress, open_store
from tests.cli.runner import mage

SECRET = "hunter2"


class Linked(NamedTuple):
    """A store in use: its newest records are in its log only, and a link leads to its file."""

    file: Path
    link: Path


@pytest.fixture
def linked(tmp_path: Path) -> Iterator[Linked]:
    """Give a store that a session and a reader have open, so that nothing empties its log."""
    file, link = tmp_path / "real.db", tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(file)
    with (
        Session.open(f"sqlite:///{file}", "main", task="t") as session,
        closing(sqlite3.connect(file)) as reader,
    ):
        session.grow(f"login[{SECRET}]", "no")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM mage_records").fetchone()
        yield Linked(file, link)


def test_a_doctor_who_comes_by_a_link_sees_the_log(linked: Linked) -> None:
    """What is only in the log is there, by the name of the file and by that of a link to it."""
    for path in linked:
        ran = mage("doctor", f"sqlite:///{path}", "--expect-head", "main@2")
        assert (ran.status, ran.err) == (0, "")


def test_a_log_that_is_not_empty_is_told_by_a_link_too(linked: Linked) -> None:
    """Whoever has redacted by a link hears of the log behind it, as by the file itself."""
    places = [Place("main", 2, "action")]
    for path in linked:
        target = InStore(StoreName(f"sqlite:///{path}"), "main")
        with pytest.raises(Refused, match="db-wal: somebody has the store open"):
            Redaction(target, re.compile(SECRET), places, [], dry_run=False).require_gone()


@pytest.mark.slow
def test_a_secret_that_is_left_in_the_log_is_told_by_a_link_too(linked: Linked) -> None:
    """The same, redacted in earnest: which waits, twice as long as a store is waited for, for who reads it."""
    ran = mage("redact", f"sqlite:///{linked.link}#main", SECRET)
    assert ran.status == 1
    assert f"{linked.file}-wal: somebody has the store open" in ran.err
    assert SECRET.encode() in Path(f"{linked.file}-wal").read_bytes()


def test_a_session_by_a_link_and_one_by_the_file_are_one(linked: Linked) -> None:
    """Both write one log; nothing stands beside the link; where the link leads later changes nothing."""
    with (
        Session.open(f"sqlite:///{linked.link}", "main") as by_link,
        Session.open(f"sqlite:///{linked.file}", "main") as by_file,
    ):
        by_link.grow("a", "o")
        by_file.refresh()
        by_file.grow("b", "o")
        linked.link.unlink()
        by_link.refresh()
        by_link.grow("c", "o")
        assert by_link.version == 5
    assert list(linked.link.parent.iterdir()) == []


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_nothing_is_put_where_sqlite_keeps_its_own(tmp_path: Path, ending: str) -> None:
    """SQLite would drop it: no store has such a name, and no file is written beside a store under one."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    with Session.open(url, "main", task="t") as session:
        session.grow("a", "o")
    with pytest.raises(BadAddress, match="name it otherwise"):
        open_store(url + ending)
    ran = mage("export", f"{url}#main", "--out", tmp_path / f"work.db{ending}")
    assert ran.status == 1
    assert "SQLite keeps a file of this name" in ran.err
    other = tmp_path / f"other{ending}"
    assert mage("export", f"{url}#main", "--out", other).status == 0
    assert mage("show", other).status == 0


def test_what_is_no_file_is_no_store(tmp_path: Path) -> None:
    """No command waits at a pipe for ever, copies a device that has no end, or takes either for a store."""
    pipe = tmp_path / "pipe.db"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), Path("/dev/null"), tmp_path):
        for command in (["sessions", f"sqlite:///{path}"], ["doctor", f"sqlite:///{path}"]):
            ran = mage(*command)
            assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)
            assert "name a file" in ran.err


def test_a_command_that_looks_makes_no_store_of_an_empty_file(tmp_path: Path) -> None:
    """It says that nothing is in it, and leaves it empty; a command that writes makes it a store."""
    path, journal = tmp_path / "empty.db", tmp_path / "story.jsonl"
    path.touch()
    for command in ("sessions", "gc"):
        ran = mage(command, f"sqlite:///{path}")
        assert ran.status == 1
        assert "this file is empty" in ran.err
    assert [each.name for each in tmp_path.iterdir() if each.stat().st_size == 0] == ["empty.db"]
    journal.write_bytes(b"".join(encode_journal([Start("t")])))
    assert mage("import", journal, f"sqlite:///{path}#main").status == 0


def test_a_session_where_a_store_is_wanted_is_told(tmp_path: Path) -> None:
    """Who names a session to a command on stores hears how its store is named."""
    url = f"sqlite:///{tmp_path / 'work.db'}"
    with Session.open(url, "main", task="t"):
        pass
    for command in ("sessions", "gc"):
        ran = mage(command, f"{url}#main")
        assert ran.status == 1
        assert f"this names a session; name its store alone: {url}\n" in ran.err
        assert "names a session" not in mage(command, f"{url}x").err
