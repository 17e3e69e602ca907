"""Files that are written on or anew: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mage.cli.files import add_line, replace_file
from mage.cli.output import Refused

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
