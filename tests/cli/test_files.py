"""Files that are written on or anew: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from mage.cli import files
from mage.cli.files import add_line, read_bytes, replace_file
from mage.cli.output import Refused
from tests.cli.runner import mage

WRITER = """
import sys
from pathlib import Path
from mage.cli.files import add_line, replace_file
from mage.cli.output import Refused

path, name, kind = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.stdin.readline()
for number in range(15):
    line = f"{name} {number}\\n".encode()
    while True:
        was = path.read_bytes()
        try:
            add_line(path, line, behind=len(was)) if kind == "add" else replace_file(path, [was, line], was=was)
        except Refused:
            continue
        break
"""


def test_a_line_is_added_at_the_end(tmp_path: Path) -> None:
    """And what was there stays."""
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    add_line(path, b"two\n", behind=4)
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_that_has_grown_meanwhile_is_left(tmp_path: Path) -> None:
    """Somebody else has written: nothing is added behind their words."""
    path = tmp_path / "a"
    path.write_bytes(b"one\nother\n")
    with pytest.raises(Refused, match="somebody else has written"):
        add_line(path, b"two\n", behind=4)
    assert path.read_bytes() == b"one\nother\n"


def test_a_line_that_cannot_be_kept_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk fails after half of it, the file is what it was."""
    path = tmp_path / "a"
    path.write_bytes(b"one\n")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Refused, match="Input/output error"):
        add_line(path, b"two\n", behind=4)
    assert path.read_bytes() == b"one\n"


def test_a_file_is_replaced_with_its_rights(tmp_path: Path) -> None:
    """The new content under the old name and mode; a link stays a link."""
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    replace_file(link, [b"ne", b"w"], was=b"old")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == (b"new", 0o600, True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "link"]


def test_a_file_that_has_changed_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """What somebody wrote since it was read stays, and nothing is left beside it."""
    path = tmp_path / "a"
    path.write_bytes(b"one\nother\n")
    with pytest.raises(Refused, match="somebody else has written"):
        replace_file(path, [b"new\n"], was=b"one\n")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"one\nother\n")]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks on files there")
def test_of_several_processes_none_loses_a_line_of_another(tmp_path: Path) -> None:
    """Two that add and two that replace, at once: every line that was acknowledged is there, once."""
    path = tmp_path / "a"
    path.write_bytes(b"")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, kind], stdin=subprocess.PIPE, text=True
        )
        for name, kind in (("a", "add"), ("b", "replace"), ("c", "add"), ("d", "replace"))
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0, 0]
    wanted = sorted(f"{name} {number}" for name in "abcd" for number in range(15))
    assert sorted(path.read_text().splitlines()) == wanted


def test_what_cannot_be_read_cannot_be_written_on(tmp_path: Path) -> None:
    """A folder, or nothing at all, is one line."""
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(Refused):
            add_line(path, b"x\n", behind=0)
        with pytest.raises(Refused):
            replace_file(path, [b"x\n"], was=b"")


READING = (
    ["show", "{file}"],
    ["tree", "{file}"],
    ["check", "{file}"],
    ["log", "{file}"],
    ["diff", "{file}", "{file}"],
    ["revise", "{file}", "0"],
    ["export", "{file}"],
    ["import", "{file}", "sqlite:///{new}#a"],
    ["redact", "{file}", "secret"],
    ["doctor", "{file}"],
    ["doctor", "sqlite:///{file}"],
    ["replay", "{file}"],
    ["run", "@{file}", "--offline"],
)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_device_is_refused_by_every_command(tmp_path: Path, command: list[str]) -> None:
    """One that never ends is not read at all: one line, no new file."""
    new = tmp_path / "new.db"
    for file in ("/dev/zero", tmp_path):
        ran = mage(*[each.format(file=file, new=new) for each in command])
        assert (ran.status in (1, 2), ran.out, "Traceback" in ran.err) == (True, "", False)
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """As a shell gives one, in place of a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(pipe.write_bytes, b"x" * 3_000_000)
        assert read_bytes(pipe) == b"x" * 3_000_000
        writing.result()


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
def test_what_has_no_end_is_read_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pipe no more than the limit is read; a file that says that it is longer is not read at all."""
    monkeypatch.setattr(files, "_MOST", 1 << 16)
    monkeypatch.setattr(files, "_AT_ONCE", 1 << 12)
    given = 0

    def chunks() -> Iterator[bytes]:
        nonlocal given
        while True:
            given += 1 << 12
            yield bytes(1 << 12)

    pipe, long = tmp_path / "pipe", tmp_path / "long"
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            for chunk in chunks():
                file.write(chunk)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        with pytest.raises(Refused, match="has no end"):
            read_bytes(pipe)
        writing.result()
    assert given < 1 << 20
    with long.open("wb") as file:
        file.truncate((1 << 16) + 1)
    with pytest.raises(Refused, match="has no end"):
        read_bytes(long)
    long.write_bytes(bytes(1 << 16))
    assert read_bytes(long) == bytes(1 << 16)
