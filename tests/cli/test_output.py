"""Output: nothing a trace holds is obeyed by a terminal, and no broken stream ends in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mage.cli.output import Refused, write_new
from mage.codec import encode_journal
from mage.engine import Grow, Start
from tests.cli.runner import mage

HOSTILE = ["[/]", "[red]x[/red]", "\x1b[31mX\x1b]0;pwn\x07\n\u202e", "x" * 500]


def ran(*arguments: object, **streams: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own, with these streams."""
    command = [sys.executable, "-m", "mage", *map(str, arguments)]
    return subprocess.run(command, check=False, stderr=subprocess.PIPE, **streams)  # type: ignore[call-overload,no-any-return]  # streams


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Return a small session."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(
        b"".join(encode_journal([Start("task"), *(Grow(f"a{n}", "o" * 99) for n in range(900))]))
    )
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_from_a_trace_is_shown_and_not_obeyed(tmp_path: Path, name: str) -> None:
    """Markup, escapes and length of a task's name break neither the table nor a complaint."""
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"}]
    runs = [{"task_id": each, "trial": 0, "reward": 0, "info": {}, "traj": chat} for each in (name, "b")]
    path = tmp_path / "tau.json"
    path.write_text(json.dumps(runs), encoding="utf-8")
    shown, refused = mage("replay", path), mage("replay", path, "--task", "zz")
    assert (shown.status, refused.status) == (0, 1)
    for text in (shown.out, refused.err):
        assert all(line.isprintable() for line in text.splitlines())
        assert name[:8] in text or not name.isprintable()
    assert len(refused.err.splitlines()) == 1


@pytest.mark.parametrize("task", ["9" * 5000, "", "\x1b", "-1", "٣"])
def test_an_odd_task_is_refused_in_one_line(session: Path, task: str) -> None:
    """Whatever is asked for, the answer names what there is."""
    refused = mage("replay", session, "--task", task)
    assert refused.status == 1
    assert "it holds 1: session" in refused.err


def test_a_file_name_is_not_obeyed(tmp_path: Path) -> None:
    """An escape in a file's name is shown in the complaint and in the success."""
    path = tmp_path / "\x1b[31mesc.jsonl"
    assert "\x1b" not in mage("check", path).err
    path.write_bytes(b"".join(encode_journal([Start("task")])))
    assert "\x1b" not in mage("check", path).out


def test_who_wants_no_colour_gets_plain_text(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `NO_COLOR` a terminal is sent no escape at all, so neither bold nor italic; without it is."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal would have it
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in mage("tree", session).out
    monkeypatch.setenv("NO_COLOR", "1")
    plain = mage("tree", session).out
    assert "\x1b" not in plain
    assert "● 1 a0" in plain


@pytest.mark.parametrize("command", ["tree", "show", "check"])
def test_a_full_disk_is_one_line(session: Path, command: str) -> None:
    """What cannot be written is said on standard error, with status 1."""
    with open("/dev/full", "wb") as full:
        done = ran(command, session, stdout=full)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["mage: standard output: No space left on device"]


def test_a_reader_that_leaves_is_no_fault(session: Path) -> None:
    """Into a pipe that nobody reads, the command ends without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = ran("show", session, stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert done.stderr == b""


def test_a_closed_output_is_no_fault(session: Path) -> None:
    """A shell may have closed standard output."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m mage check '{session}' >&-"],
        check=False,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_without_blocks_gets_ascii(session: Path) -> None:
    """A chart is readable in any encoding."""
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = ran("demo", "--pace", 0, stdout=subprocess.PIPE, env=ascii_only)
    assert done.returncode == 0
    assert b"shown |.--" in done.stdout


def test_a_trace_given_as_a_session_is_told_what_to_do(tmp_path: Path) -> None:
    """The obvious first mistake: the error names the command that helps."""
    path = tmp_path / "chat.json"
    path.write_text(
        '[{"role":"user","content":"hi"},{"role":"assistant","content":"yes?"}]\n', encoding="utf-8"
    )
    assert "--out SESSION.jsonl makes a session file" in mage("tree", path).err


@pytest.mark.parametrize("name", ["a" * 251 + ".x", "a" * 300, "none/out.jsonl"])
def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path, session: Path, name: str) -> None:
    """A name too long, or in no folder, ends in one line or in a file; nothing else is left behind."""
    done = mage("replay", session, "--out", tmp_path / name)
    assert done.status == (0 if len(name) == 253 else 1)
    assert len(done.err.splitlines()) == done.status
    assert {path.name for path in tmp_path.iterdir()} <= {session.name, name}


def test_a_file_system_without_links_is_written_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a link is not permitted the file is renamed into place, and still overwrites nothing."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_new(tmp_path / "new", [b"a", b"b"])
    assert (tmp_path / "new").read_bytes() == b"ab"
    with pytest.raises(Refused, match="something already"):
        write_new(tmp_path / "new", [b"c"])
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
